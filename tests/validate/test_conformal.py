import math

import numpy as np
import pytest
from trainlaw.validate.conformal import ConformalInterval, conformal_coverage


def two_layers(seed, n_groups=20, n_rows=30, between=0.3, within=0.1):
    """Log errors with a part that all rows of a GPU share, as real ones have."""
    random = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), n_rows).astype(str)
    shared = np.repeat(random.normal(0.0, between, n_groups), n_rows)
    measured = 10.0 ** random.uniform(-3, 0, n_groups * n_rows)
    return measured, measured * np.exp(shared + random.normal(0.0, within, len(measured))), groups


def share_covered(interval, measured, predicted):
    factors = np.maximum(predicted / measured, measured / predicted)
    return (factors <= interval.factor).mean()


def test_covers_the_rows_of_new_gpus_as_often_as_it_says():
    covered = []
    for seed in range(150):
        measured, predicted, groups = two_layers(seed)
        old = groups != "7"
        interval = ConformalInterval.fit(measured[old], predicted[old], groups[old], level=0.8)
        covered.append(share_covered(interval, measured[~old], predicted[~old]))
    assert 0.75 < np.mean(covered) < 0.90


def test_rows_as_units_would_cover_too_little_where_groups_are_few():
    groupwise, rowwise = [], []
    for seed in range(300):
        measured, predicted, groups = two_layers(seed, n_groups=8)
        old = groups != "7"
        rows = np.arange(len(measured)).astype(str)
        for names, shares in ((groups, groupwise), (rows, rowwise)):
            interval = ConformalInterval.fit(measured[old], predicted[old], names[old], level=0.7)
            shares.append(share_covered(interval, measured[~old], predicted[~old]))
    assert np.mean(rowwise) < 0.68
    assert np.mean(groupwise) > 0.7


def test_each_group_weighs_the_same():
    measured = np.ones(1000 + 19)
    predicted = np.r_[np.full(1000, 1.01), np.full(19, 2.0)]
    groups = np.r_[np.full(1000, "big"), np.arange(19).astype(str)]
    assert ConformalInterval.fit(measured, predicted, groups, level=0.5).factor == pytest.approx(2.0)


def test_half_of_a_new_group_is_assumed_to_lie_within():
    # 0.85 of ten groups, of which the new one counts half within: the eighth score of nine.
    scores = np.arange(1, 10) / 10
    interval = ConformalInterval.fit(np.ones(9), np.exp(scores), range(9), level=0.85)
    assert interval.factor == pytest.approx(math.exp(0.8))


@pytest.mark.parametrize(("n_groups", "is_finite"), [(8, False), (9, True)])
def test_ninety_percent_needs_nine_groups(n_groups, is_finite):
    interval = ConformalInterval.fit(np.ones(n_groups), np.full(n_groups, 1.5), range(n_groups))
    assert math.isfinite(interval.factor) is is_finite
    assert interval.n_groups == n_groups


def test_an_invalid_prediction_is_an_infinite_error():
    groups = range(20)
    predicted = np.full(20, 1.1)
    assert ConformalInterval.fit(np.ones(20), predicted, groups).factor == pytest.approx(1.1)
    predicted[:3] = [np.nan, -1.0, 0.0]
    assert ConformalInterval.fit(np.ones(20), predicted, groups).factor == math.inf


def test_an_infinite_factor_is_null_in_json():
    assert ConformalInterval(math.inf, 0.9, 5).to_json() == {"factor": None, "level": 0.9, "n_groups": 5}


def test_coverage_is_evaluated_without_the_group_itself():
    measured, predicted, groups = two_layers(1)
    predicted[groups == "3"] *= 10.0
    table = conformal_coverage(measured, predicted, groups).set_index("group")
    assert table.loc["3", "covered_percent"] == 0.0
    assert table.loc["3", "factor"] < table.loc["4", "factor"]
    assert table["n_rows"].tolist() == [30] * 20
    assert table["covered_percent"].drop("3").mean() > 90
