import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.app.models.multi_gpu import formula_of_choices
from trainlaw.app.models.terms import (
    mean_shares,
    part_values,
    terms_of,
    with_named_constants,
)
from trainlaw.app.models.user_formula import with_groups
from trainlaw.datasets import TARGET, feature_specs, load
from trainlaw.formulas import (
    DIMENSIONLESS,
    SECOND,
    Apply,
    Constant,
    FeatureSpec,
    Formula,
    GroupedConstant,
    Variable,
    evaluate,
    parse_text,
    to_text,
)

leaves = st.one_of(st.floats(0.5, 4).map(Constant), st.sampled_from("abc").map(Variable))
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["add", "sub", "mul", "div", "max"]), inner, inner).map(
            lambda t: Apply(t[0], t[1:])
        ),
        inner.map(lambda e: Apply("neg", (e,))),
    ),
    max_leaves=12,
)
POINT = {"a": np.array([1.3]), "b": np.array([0.7]), "c": np.array([2.9])}


SPECS = tuple(FeatureSpec(name, name, SECOND, name) for name in "abc")
FACTOR = FeatureSpec("f", "f", DIMENSIONLESS, "a factor")


def written(text_or_expression):
    expression = parse_text(text_or_expression) if isinstance(text_or_expression, str) else text_or_expression
    return terms_of(Formula(expression, (*SPECS, FACTOR), TARGET))


@given(expressions)
def test_terms_add_up_to_the_expression(expression):
    whole, valid = evaluate(expression, POINT)
    parts = [evaluate(term, POINT) for term in written(expression)]
    if valid[0]:
        assert all(ok[0] for _, ok in parts)
        size = sum(abs(value[0]) for value, _ in parts)
        assert abs(sum(value[0] for value, _ in parts) - whole[0]) <= 1e-12 * max(size, 1e-300)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(2 * a + b) * exp(f) + c", ["2 * a * exp(f)", "b * exp(f)", "c"]),
        ("(a + b) * (f + 0.5)", ["a * (f + 0.5)", "b * (f + 0.5)"]),
        ("(a - b) / (f + 1)", ["a / (f + 1)", "-b / (f + 1)"]),
        ("-(a + 3)", ["-a", "-3"]),
        ("max(a + b, c)", ["max(a + b, c)"]),
        ("f + 1", ["f + 1"]),
    ],
)
def test_sums_of_times_are_written_out_and_factors_are_not(text, expected):
    assert [to_text(term) for term in written(text)] == expected


def test_products_are_not_written_out_without_end():
    many = "(" + " + ".join("abcabcabc") + ")"
    assert len(written(f"{many} * {many}")) == 1


def test_constants_get_names_units_and_keep_their_values(formula):
    named, constants = with_named_constants(formula)
    values = {constant.name: np.array([constant.value]) for constant in constants}
    columns = dict(load("fp32-2026").features([spec.name for spec in formula.features]).iloc[:1])
    given_values = evaluate(named, {**{k: v.to_numpy() for k, v in columns.items()}, **values})[0]
    assert given_values[0] == formula.predict(columns)[0]
    assert str(constants[0].unit) == "1"
    assert len({constant.name for constant in constants}) == len(constants)


def test_formula_that_mixes_units_still_has_named_constants():
    mixed = Formula(parse_text("2 * (macs + params)"), feature_specs(["macs", "params"]), TARGET)
    assert [constant.unit for constant in with_named_constants(mixed)[1]] == [None]


def test_name_of_a_constant_does_not_hide_a_feature():
    spec = FeatureSpec("constant_1", "c", DIMENSIONLESS, "a feature with a bad name")
    named, constants = with_named_constants(Formula(parse_text("2 * constant_1"), (spec,), spec))
    assert constants[0].name == "constant_2"
    assert to_text(named) == "constant_2 * constant_1"


def test_grouped_constant_takes_its_default():
    spec = FeatureSpec("x", "x", DIMENSIONLESS, "x")
    grouped = GroupedConstant("C[harness]", "harness", {"tf": 1.2}, 1.05)
    formula = Formula(parse_text("C[harness] * x"), (spec,), spec, (grouped,))
    assert to_text(formula.ungrouped) == "1.05 * x"
    chosen = with_groups(formula, ["harness=tf"])
    assert to_text(formula_of_choices(chosen, "page").expression) == "1.2 * x"


def test_shares_add_up(formula):
    columns = load("fp32-2026").features([spec.name for spec in formula.features])
    values = part_values(formula, {name: columns[name].to_numpy() for name in columns})
    np.testing.assert_allclose(values.sum(axis=0), formula.predict(columns), rtol=1e-12)
    shares = mean_shares(formula, {name: columns[name].to_numpy() for name in columns})
    assert len(shares) == len(values)
    assert all(0 <= share <= 1 for share in shares)
    assert sum(shares) == pytest.approx(1)
