from functools import partial

import numpy as np
import pytest
from trainlaw.formulas import InputError, UnknownNameError
from trainlaw.validate import leave_one_group_out, run_study
from trainlaw.validate.baselines.null_models import ScaledForm
from trainlaw.validate.comparison import compare_studies

RIGHT, WRONG = (partial(ScaledForm, name) for name in ("compute_s", "macs"))


@pytest.fixture
def studies(toy):
    """The same estimators on splits by GPU and on splits by CNN."""
    estimators = {"right": RIGHT, "wrong": WRONG}
    return [
        run_study(toy.X, toy.seconds, toy.labels, leave_one_group_out(toy.labels[column]), estimators)
        for column in ("gpu_group", "cnn_base")
    ]


def test_the_better_estimator_wins_row_by_row(studies):
    found = compare_studies(studies[0], studies[0], ("wrong", "right"))
    assert found.high_percent < 0
    assert found.is_decided
    assert found.n_rows == 30
    assert found.n_unpaired == 0
    table = found.by_group
    assert table["difference_percent"].to_numpy() == pytest.approx(
        (table["second_mape_percent"] - table["first_mape_percent"]).to_numpy()
    )
    assert found.difference_percent == pytest.approx(table["difference_percent"].mean())
    assert found.low_percent <= found.difference_percent <= found.high_percent


def test_the_same_predictions_do_not_differ(studies):
    found = compare_studies(studies[0], studies[0], ("right", "right"))
    assert (found.difference_percent, found.low_percent, found.high_percent) == (0.0, 0.0, 0.0)
    assert not found.is_decided


def test_studies_with_other_splits_are_paired_by_row(studies):
    found = compare_studies(studies[0], studies[1], ("wrong", "wrong"), by="cnn_base")
    assert found.n_rows == 30
    for name, error in zip(found.by_group["group"], found.by_group["second_mape_percent"], strict=True):
        inside = studies[1].labels("cnn_base") == name
        errors = 100 * np.abs(studies[1].predicted_s("wrong") / studies[1].measured_s - 1)
        assert error == pytest.approx(errors[inside].mean())


def test_rows_of_only_one_study_are_counted(toy, studies):
    part = run_study(
        toy.X,
        toy.seconds,
        toy.labels,
        leave_one_group_out(toy.labels["gpu_group"])[:2],
        {"right": RIGHT},
    )
    found = compare_studies(part, studies[0], ("right", "right"))
    assert (found.n_rows, found.n_unpaired) == (12, 18)


def test_studies_of_different_tables_are_not_compared(toy, studies):
    splits = leave_one_group_out(toy.labels["gpu_group"])
    other = run_study(toy.X, toy.seconds * 2, toy.labels, splits, {"right": RIGHT})
    with pytest.raises(InputError, match="different tables"):
        compare_studies(studies[0], other, ("right", "right"))
    twice = run_study(toy.X, toy.seconds, toy.labels, (*splits, *splits), {"right": RIGHT})
    with pytest.raises(InputError, match="held out more than once"):
        compare_studies(twice, studies[0], ("right", "right"))
    halves = [run_study(toy.X, toy.seconds, toy.labels, [split], {"right": RIGHT}) for split in splits[:2]]
    with pytest.raises(InputError, match="share no held-out row"):
        compare_studies(*halves, ("right", "right"))
    with pytest.raises(UnknownNameError):
        compare_studies(studies[0], studies[0], ("right", "nobody"))
