import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.datasets import TARGET, feature_specs
from trainlaw.formulas import Formula, parse_text
from trainlaw.validate.applicability import JointRange, stored_joint_range

GROUPS = np.repeat(list("abcdef"), 40)


def proportional_columns(seed=0):
    """Two features that rise together over four decades; shape (240,)."""
    random = np.random.default_rng(seed)
    first = 10.0 ** random.uniform(-4, 0, len(GROUPS))
    return {"first": first, "second": first * random.uniform(0.5, 2.0, len(GROUPS))}


def test_an_unusual_combination_within_both_ranges_is_outside():
    columns = proportional_columns()
    joint = JointRange.fit(columns, GROUPS)
    corner = {"first": [columns["first"].min()], "second": [columns["second"].max()]}
    assert joint.outside(corner).tolist() == [True]
    usual = {"first": [0.01], "second": [0.01]}
    assert joint.outside(usual).tolist() == [False]


def test_nine_tenths_of_the_training_rows_are_inside():
    columns = proportional_columns()
    inside = ~JointRange.fit(columns, GROUPS).outside(columns)
    assert 0.8 <= inside.mean() <= 1.0


def test_json_keeps_seven_digits():
    columns = proportional_columns()
    joint = JointRange.fit(columns, GROUPS)
    again = JointRange.from_json(json.loads(json.dumps(joint.to_json())))
    assert again.distance(columns) == pytest.approx(joint.distance(columns), rel=1e-4)
    assert again.names == joint.names


@given(st.floats(1e-3, 1e3))
def test_the_unit_of_a_feature_does_not_matter(scale):
    columns = proportional_columns()
    scaled = {**columns, "first": columns["first"] * scale}
    usual, other = (JointRange.fit(table, GROUPS).distance(table) for table in (columns, scaled))
    assert other == pytest.approx(usual, rel=1e-6)


def test_zeros_have_a_place_and_constant_features_are_left_out():
    columns = {**proportional_columns(), "flag": np.ones(len(GROUPS))}
    columns["second"] = np.where(np.arange(len(GROUPS)) % 3 == 0, 0.0, columns["second"])
    # Of 240 rows 12 are one in twenty, which is frequent enough.
    columns |= {name: (np.arange(len(GROUPS)) < rows).astype(float) for name, rows in (("a", 12), ("b", 11))}
    joint = JointRange.fit(columns, GROUPS)
    assert joint.names == ("first", "second", "a")
    assert np.isfinite(joint.distance(columns)).all()
    # What takes the place of a zero is small: a twentieth of the other values is smaller.
    positive = columns["second"][columns["second"] > 0]
    assert joint.floors[1] == pytest.approx(np.quantile(positive, 0.05))


def test_a_formula_carries_it():
    name = "conv_output_memory_s"
    columns = {name: np.geomspace(1e-5, 1e-2, len(GROUPS))}
    joint = JointRange.fit(columns, np.tile(list("abcd"), 60))
    formula = Formula(
        parse_text(f"3 * {name}"), feature_specs([name]), TARGET, errors={"joint_range": joint.to_json()}
    )
    assert stored_joint_range(formula).names == (name,)
    assert stored_joint_range(formula).outside({name: [1e-3, 1e3]}).tolist() == [False, True]
    bare = Formula(parse_text(f"3 * {name}"), feature_specs([name]), TARGET)
    assert stored_joint_range(bare) is None


@pytest.mark.parametrize(("level", "inside"), [(0.9, 9), (0.5, 5), (0.91, 10), (0.89, 9), (1.0, 10)])
def test_the_limit_is_the_quantile_of_the_distances_between_groups(level, inside):
    """Ten groups of one row each: at an exact multiple of a tenth, the limit is the distance of that row."""
    values = np.exp(np.array([0.0, 0.1, 0.3, 0.6, 1.0, 1.5, 2.1, 2.8, 3.6, 4.5]))
    joint = JointRange.fit({"x": values}, list("abcdefghij"), level)
    logs = np.log(values + joint.floors)
    others = [np.delete(logs, row) for row in range(10)]
    # One feature: its scatter and the ridge, a twentieth of it.
    distances = [
        abs(one - rest.mean()) / np.sqrt(1.05 * rest.var()) for one, rest in zip(logs, others, strict=True)
    ]
    assert joint.limit == pytest.approx(sorted(distances)[inside - 1])


def test_each_group_weighs_the_same_in_the_limit():
    near, far = np.linspace(1.0, 1.1, 30), np.array([50.0])
    columns = {"x": np.concatenate([near, near, far])}
    groups = ["a"] * 30 + ["b"] * 30 + ["c"]
    limits = [JointRange.fit(columns, groups, level).limit for level in (0.6, 0.7)]
    assert limits[1] > 10.0 * limits[0]
