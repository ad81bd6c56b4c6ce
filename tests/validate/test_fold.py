"""One fit of a study: what the estimator receives, and what is recorded."""

import numpy as np
import pytest
from trainlaw.formulas import InputError
from trainlaw.validate import leave_one_group_out
from trainlaw.validate.baselines.closed_forms import cf5
from trainlaw.validate.baselines.null_models import ScaledColumn
from trainlaw.validate.guard import fold_secrets
from trainlaw.validate.study import FoldTask, run_fold


def task(runs, factory, **changes):
    split = leave_one_group_out(runs.labels["gpu_group"])[0]
    groups = runs.labels["gpu_group"].to_numpy(dtype=str)
    given = {
        "X": runs.X.iloc[split.train],
        "seconds": runs.seconds[split.train],
        "groups": groups[split.train],
        "labels": runs.labels[["harness"]].iloc[split.train],
        "unseen_X": runs.X.iloc[split.test],
        "unseen_labels": runs.labels[["harness"]].iloc[split.test],
        "secrets": fold_secrets(runs.X, runs.seconds, split),
    }
    return FoldTask(split.name, "model", factory, **{**given, **changes})


def test_the_outcome_names_the_fit_and_keeps_its_formula(few_runs):
    outcome = run_fold(task(few_runs, cf5))
    assert (outcome.split, outcome.estimator) == (
        leave_one_group_out(few_runs.labels["gpu_group"])[0].name,
        "model",
    )
    assert outcome.formula is not None
    assert outcome.predicted == pytest.approx(outcome.formula.predict(task(few_runs, cf5).unseen_X), rel=1e-9)
    assert outcome.took_seconds > 0
    assert not outcome.interrupted


def test_an_estimator_without_a_formula_or_interruption(toy):
    outcome = run_fold(task(toy, lambda: ScaledColumn("compute_s")))
    assert outcome.formula is None
    assert outcome.interrupted is False


def test_another_number_of_predictions_is_refused(toy):
    class Short(ScaledColumn):
        def __init__(self):
            super().__init__("compute_s")

        def predict(self, X):
            return np.ones(len(X) - 1)

    with pytest.raises(InputError, match=r"model: expected 6 predictions, got \(5,\)"):
        run_fold(task(toy, Short))
