import json
import math

import numpy as np
import pytest
from trainlaw.validate.class_intervals import ClassIntervals
from trainlaw.validate.conformal import ConformalInterval, group_quantile

WIDTHS = {"fp32": 0.1, "amp": 0.3, "fp16": 0.6}


def drawn(seed, n_groups=40, n_rows=15, widths=WIDTHS):
    """Measured and predicted seconds, groups and classes; errors of a class have its width."""
    random = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), n_rows * len(widths)).astype(str)
    classes = np.tile(np.repeat(list(widths), n_rows), n_groups)
    width = np.array([widths[kind] for kind in classes])
    shared = np.repeat(random.normal(0.0, 1.0, n_groups), n_rows * len(widths))
    errors = width * (0.7 * shared + 0.7 * random.normal(0.0, 1.0, len(groups)))
    measured = 10.0 ** random.uniform(-3, 0, len(groups))
    return measured, measured * np.exp(errors), groups, classes


def covered(intervals, measured, predicted, classes):
    factors = np.array([intervals.factor(kind) for kind in classes])
    return np.maximum(measured / predicted, predicted / measured) <= factors


def test_new_groups_are_covered_as_often_as_stated_in_every_class():
    shares = {kind: [] for kind in WIDTHS}
    for seed in range(40):
        measured, predicted, groups, classes = drawn(seed)
        old = groups.astype(int) < 20
        intervals = ClassIntervals.fit(measured[old], predicted[old], groups[old], classes[old], 0.8)
        inside = covered(intervals, measured[~old], predicted[~old], classes[~old])
        for kind, found in shares.items():
            found.append(inside[classes[~old] == kind].mean())
    assert all(0.74 < np.mean(found) < 0.9 for found in shares.values())


def test_classes_with_larger_errors_get_wider_intervals():
    intervals = ClassIntervals.fit(*drawn(1))
    assert intervals.factor("fp32") < intervals.factor("amp") < intervals.factor("fp16")
    ratio = math.log(intervals.factor("fp16")) / math.log(intervals.factor("fp32"))
    assert ratio == pytest.approx(6.0, rel=0.25)
    assert intervals.groups == dict.fromkeys(sorted(WIDTHS), 40)


def test_a_new_unit_is_what_is_covered():
    measured, predicted, groups, classes = drawn(3)
    units = (groups.astype(int) // 4).astype(str)
    one = ["fp32"] * len(measured)
    found = ClassIntervals.fit(measured, predicted, groups, one, units=units).factor("fp32")
    assert found == pytest.approx(ConformalInterval.fit(measured, predicted, units).factor)
    assert found != ClassIntervals.fit(measured, predicted, groups, one).factor("fp32")
    few = (groups.astype(int) % 8).astype(str)
    assert math.isinf(ClassIntervals.fit(measured, predicted, groups, classes, units=few).factor("amp"))


def test_intervals_can_be_widened_to_others():
    narrow = ClassIntervals({"fp32": 1.2, "amp": 1.9}, {}, 0.9)
    wide = ClassIntervals({"fp32": 1.5, "tf32": 9.0}, {}, 0.9)
    assert narrow.wider_than(wide).factors == {"fp32": pytest.approx(1.5**1.05), "amp": 1.9}


def test_one_class_and_classes_of_one_group_each_get_the_interval_of_all():
    measured, predicted, groups, _ = drawn(2)
    whole = ConformalInterval.fit(measured, predicted, groups)
    for classes, count in ((["fp32"] * len(measured), 1), (groups, 40)):
        found = ClassIntervals.fit(measured, predicted, groups, classes)
        assert [*found.factors.values()] == pytest.approx([whole.factor] * count)


@pytest.mark.parametrize("error", [0.02, 0.5])
def test_few_groups_show_that_a_class_is_hard_but_not_that_it_is_easy(error):
    """A class whose errors are five times as large or small: the fewer groups show it is easy, the wider."""
    found = []
    for count in (2, 5, 20):
        groups = [*map(str, range(40)), *map(str, range(count))]
        classes = ["fp32"] * 40 + ["fp16"] * count
        predicted = np.exp([0.1] * 40 + [error] * count)
        intervals = ClassIntervals.fit(np.ones(len(groups)), predicted, groups, classes, 0.5)
        found.append(math.log(intervals.factor("fp16")) / math.log(intervals.factor("fp32")))
    easy = [0.2 ** (count / (count + 3)) for count in (2, 5, 20)]
    assert found == pytest.approx(easy if error < 0.1 else [5.0] * 3, rel=1e-6)


def test_a_class_of_one_group_and_an_unknown_class_get_the_widest():
    measured, predicted, groups, classes = drawn(3)
    groups, classes = [*groups, "0"], [*classes, "bf16"]
    intervals = ClassIntervals.fit([*measured, 1.0], [*predicted, 1.01], groups, classes)
    assert intervals.groups["bf16"] == 1
    assert intervals.factor("bf16") == intervals.factor("int8") == max(intervals.factors.values())
    assert ClassIntervals({}, {}, 0.9).factor("fp32") == math.inf


def test_too_few_groups_make_every_interval_infinite():
    intervals = ClassIntervals.fit(*drawn(4, n_groups=8))
    assert set(intervals.factors.values()) == {math.inf}


@pytest.mark.parametrize("invalid", [math.nan, -1.0, 0.0, math.inf])
@pytest.mark.parametrize("share", [0.01, 0.5])
def test_rows_without_a_valid_prediction_count_as_infinite_errors(invalid, share):
    measured, predicted, groups, classes = drawn(5)
    predicted[np.random.default_rng(0).random(len(predicted)) < share] = invalid
    factors = ClassIntervals.fit(measured, predicted, groups, classes).factors
    assert all(factor >= 1.0 for factor in factors.values())
    assert (math.inf in factors.values()) == (share == 0.5)


def test_a_class_of_invalid_predictions_leaves_the_others_their_intervals():
    measured, predicted, groups, classes = drawn(6)
    predicted[classes == "fp16"] = math.nan
    intervals = ClassIntervals.fit(measured, predicted, groups, classes, 0.5)
    assert intervals.factor("fp16") == math.inf
    assert 1.0 < intervals.factor("fp32") < intervals.factor("amp") < math.inf
    predicted[:] = math.nan
    assert set(ClassIntervals.fit(measured, predicted, groups, classes).factors.values()) == {math.inf}


@pytest.mark.parametrize("n_groups", [8, 20])
def test_intervals_survive_json(n_groups):
    intervals = ClassIntervals.fit(*drawn(7, n_groups=n_groups))
    again = ClassIntervals.from_json(json.loads(json.dumps(intervals.to_json(), allow_nan=False)))
    assert again.factors == pytest.approx(intervals.factors, abs=1e-6)
    assert (again.groups, again.level) == (intervals.groups, intervals.level)


def test_a_typical_score_is_a_quantile_of_groups_not_of_rows():
    scores, groups = np.array([0.1, 0.2, 0.3, 0.9]), np.array(list("aaab"))
    found = [group_quantile(scores, groups, level) for level in (0.1, 0.5, 0.51, 1.0)]
    assert found == [0.1, 0.3, 0.9, 0.9]


def test_the_widest_of_all_is_never_below_that_of_all():
    """Two classes, both narrower than the single group that has a class of its own."""
    groups = [*map(str, range(40))] * 2 + ["40"]
    classes = ["fp32"] * 40 + ["amp"] * 40 + ["bf16"]
    predicted = np.exp([0.1] * 40 + [0.1] * 40 + [0.4])
    found = ClassIntervals.fit(np.ones(81), predicted, groups, classes, 0.5)
    assert found.factor("bf16") == found.factor("fp32") == pytest.approx(math.exp(0.1))


def test_a_class_that_is_predicted_exactly_has_an_interval():
    groups, classes = [*map(str, range(40))] * 2, ["fp32"] * 40 + ["amp"] * 40
    predicted = np.exp([0.0] * 40 + [0.1] * 40)
    found = ClassIntervals.fit(np.ones(80), predicted, groups, classes, 0.9)
    assert math.log(found.factor("fp32")) == pytest.approx(0.1 * 1e-8 ** (40 / 43), rel=0.1)
    exact = ClassIntervals.fit(np.ones(80), np.ones(80), groups, classes)
    assert set(exact.factors.values()) == {1.0}


def test_factors_of_one_and_levels_below_one_are_read():
    good = {"level": 0.99, "factors": {"fp32": 1}, "groups": {"fp32": 9}}
    assert ClassIntervals.from_json(good).factor("fp32") == 1.0
    unbounded = {**good, "factors": {"fp32": 1.5, "amp": None}}
    assert ClassIntervals.from_json(unbounded).factor("amp") == math.inf
    rounded = ClassIntervals({"fp32": 1.23456789}, {"fp32": 9}, 0.9).to_json()
    assert rounded["factors"] == {"fp32": 1.234568}
