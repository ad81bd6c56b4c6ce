import re
import time
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
from trainlaw.formulas import InputError, MissingDependencyError
from trainlaw.validate import leave_one_group_out, run_study
from trainlaw.validate.baselines.forms import cf9
from trainlaw.validate.baselines.null_models import ScaledForm
from trainlaw.validate.guard import fold_secrets
from trainlaw.validate.journal import Journal
from trainlaw.validate.splits import splits_by_name
from trainlaw.validate.study import FoldTable, FoldTask, configuration_labels, run_fold


class Recorder:
    """Keeps its input; predicts the first feature."""

    seen: ClassVar[list] = []

    def fit(self, X, y, groups, **labels):
        Recorder.seen.append((X, y, groups, labels))
        return self

    def predict(self, X):
        return X.iloc[:, 0].to_numpy()


class Divided(Recorder):
    division_columns = ("harness", "no such label")


class TwoSizes(Recorder):
    """Finds a model of one constant, which is a control, too, and on more than two groups one of two."""

    def fit(self, X, y, groups):
        sizes = range(1, 3 if len(set(groups)) > 1 else 2)
        self.members_ = {str(size): model().fit(X, y * size, groups) for size in sizes}
        self.controls_ = {"control": self.members_["1"]}
        return self


@pytest.fixture
def gpu_splits(toy):
    return leave_one_group_out(toy.labels["gpu_group"])


model = partial(ScaledForm, "compute_s")


def run(toy, splits, estimators=None, **options):
    return run_study(toy.X, toy.seconds, toy.labels, splits, estimators or {"model": model}, **options)


def content(result):
    return result.predictions.to_dict("list"), result.estimators, result.missing_splits, result.formulas


def test_an_estimator_sees_only_training_rows_and_features(toy, gpu_splits):
    Recorder.seen = []
    run(toy, gpu_splits, {"recorder": Recorder})
    assert len(Recorder.seen) == len(gpu_splits)
    for split, (X, y, groups, labels) in zip(gpu_splits, Recorder.seen, strict=True):
        assert X.equals(toy.X.iloc[split.train])
        assert y.tolist() == toy.seconds[split.train].tolist()
        assert split.held_out[0] not in set(groups)
        assert labels == {}


def test_divisions_are_those_of_training_rows_and_reach_no_prediction(toy, gpu_splits):
    Recorder.seen = []
    result = run(toy, gpu_splits, {"recorder": Divided})
    for split, (*_, given) in zip(gpu_splits, Recorder.seen, strict=True):
        assert given.keys() == {"divisions"}
        assert list(given["divisions"]) == ["harness"]
        assert given["divisions"]["harness"].tolist() == toy.labels["harness"].iloc[split.train].tolist()
    assert len(result.predictions) == len(toy.X)


def test_an_estimator_cannot_change_the_table(toy, gpu_splits):
    class Vandal(Recorder):
        def fit(self, X, y, groups):
            X.iloc[:, 0] = 0.0
            y[:] = 1.0
            return self

    before = toy.X.copy(), toy.seconds.copy()
    result = run(toy, gpu_splits, {"vandal": Vandal, "model": model})
    assert toy.X.equals(before[0])
    assert (toy.seconds == before[1]).all()
    assert result.predictions["model"].tolist() == run(toy, gpu_splits).predictions["model"].tolist()


def test_each_row_is_predicted_by_the_fit_that_has_not_seen_it(toy, gpu_splits):
    result = run(toy, gpu_splits)
    assert sorted(result.predictions["row"]) == list(range(len(toy.X)))
    for split in gpu_splits:
        fitted = model().fit(toy.X.iloc[split.train], toy.seconds[split.train], None)
        part = result.predictions[result.predictions["split"] == split.name]
        assert part["row"].tolist() == split.test.tolist()
        assert part["model"].tolist() == fitted.predict(toy.X.iloc[split.test]).tolist()


def test_two_workers_give_the_same_result_as_one(few_runs):
    estimators = {"null": partial(ScaledForm, "activation_memory_s"), "cf9": cf9}
    splits = splits_by_name("gpu-5-fold", few_runs.labels)
    results = [
        run_study(few_runs.X, few_runs.seconds, few_runs.labels, splits, estimators, workers=workers)
        for workers in (1, 2)
    ]
    assert content(results[0]) == content(results[1])
    assert len(results[0].formulas) == len(splits)


def test_a_factory_that_cannot_travel_is_refused_at_once(toy, gpu_splits):
    with pytest.raises(InputError, match="cannot be sent to a worker"):
        run(toy, gpu_splits, {"model": lambda: ScaledForm("compute_s")}, workers=2)


def test_progress_counts_up_and_time_left_runs_out(toy, gpu_splits):
    seen, before = [], time.monotonic()
    run(toy, gpu_splits, {"a": model, "b": model}, progress=seen.append)
    assert 0 < seen[0].elapsed_seconds <= seen[-1].elapsed_seconds <= time.monotonic() - before
    assert [progress.done for progress in seen] == list(range(1, 11))
    assert {progress.total for progress in seen} == {10}
    assert seen[0].remaining_seconds > 0 == seen[-1].remaining_seconds
    assert (seen[0].split, seen[0].estimator) == ("gpu0", "a")


def interrupting(after):
    def progress(state):
        if state.done == after:
            raise KeyboardInterrupt

    return progress


def test_a_later_run_takes_finished_fits_from_the_journal(toy, gpu_splits, tmp_path):
    whole, seen = run(toy, gpu_splits, {"a": model, "b": model}), []
    estimators = {"a": model, "b": model}
    first = Journal(tmp_path / "journal", "study")
    part = run(toy, gpu_splits, estimators, progress=interrupting(5), journal=first)
    assert part.missing_splits == ("gpu2", "gpu3", "gpu4")
    second = Journal(tmp_path / "journal", "study")
    ended = run(toy, gpu_splits, estimators, progress=seen.append, journal=second)
    assert [state.done for state in seen] == [6, 7, 8, 9, 10]
    assert content(ended) == content(whole)


def test_an_interrupt_leaves_the_finished_splits(toy, gpu_splits):
    whole = run(toy, gpu_splits, {"a": model, "b": model})
    part = run(toy, gpu_splits, {"a": model, "b": model}, progress=interrupting(5))
    assert part.missing_splits == ("gpu2", "gpu3", "gpu4")
    assert whole.missing_splits == ()
    finished = whole.predictions["split"].isin(["gpu0", "gpu1"])
    assert part.predictions.equals(whole.predictions[finished].reset_index(drop=True))
    assert part.summary()["n_rows"].tolist() == [12, 12]


def test_an_interrupt_before_the_first_split_leaves_an_empty_result(toy, gpu_splits):
    part = run(toy, gpu_splits, {"a": model, "b": model}, progress=interrupting(1))
    assert len(part.missing_splits) == 5
    assert len(part.predictions) == 0
    with pytest.raises(InputError, match="interrupted before its first fold"):
        part.summary()


def test_an_interrupted_fit_does_not_count(toy, gpu_splits):
    class CutShort(Recorder):
        fits = 0

        def fit(self, X, y, groups):
            CutShort.fits += 1
            self.interrupted_ = CutShort.fits == 3
            return self

    assert run(toy, gpu_splits, {"search": CutShort}).missing_splits == ("gpu2", "gpu3", "gpu4")


def test_a_missing_package_is_reported_before_anything_is_fitted(toy, gpu_splits):
    def needs_a_package():
        raise MissingDependencyError("get it")

    Recorder.seen = []
    with pytest.raises(MissingDependencyError):
        run(toy, gpu_splits, {"recorder": Recorder, "other": needs_a_package})
    assert Recorder.seen == []


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_times_must_be_positive(toy, gpu_splits, bad):
    toy.seconds[4] = bad
    with pytest.raises(InputError, match="row 4: expected a positive time"):
        run(toy, gpu_splits)


def test_unfit_input_is_refused(toy, gpu_splits):
    with pytest.raises(InputError, match="equal numbers of rows"):
        run_study(toy.X, toy.seconds[:-1], toy.labels, gpu_splits, {"model": model})
    with pytest.raises(InputError, match="label column 'gpu_group'"):
        run_study(toy.X, toy.seconds, toy.labels[["cnn"]], gpu_splits, {"model": model})
    with pytest.raises(InputError, match="at least one estimator"):
        run_study(toy.X, toy.seconds, toy.labels, gpu_splits, {})
    with pytest.raises(InputError, match="name of a label column"):
        run_study(toy.X, toy.seconds, toy.labels, gpu_splits, {"cnn": model})


def test_configurations_are_equal_for_equal_work(toy):
    names = np.array(configuration_labels(toy.X, toy.labels))
    expected = toy.labels["cnn"] + toy.labels["harness"] + toy.X["batch_per_gpu"].astype(str)
    assert [list(names).index(name) for name in names] == [list(expected).index(name) for name in expected]
    assert configuration_labels(toy.X[["compute_s"]], toy.labels[["gpu_group"]]) == [""] * len(toy.X)


def outcome_of(runs, factory):
    split = leave_one_group_out(runs.labels["gpu_group"])[0]
    secrets = fold_secrets(runs.X, runs.seconds, split)
    task = FoldTask(split.name, "model", factory, split.train, split.test, runs.seconds[split.train], secrets)
    table = FoldTable(runs.X, runs.labels["gpu_group"].to_numpy(dtype=str), runs.labels)
    return run_fold(task, table)


def test_the_outcome_names_the_fit_and_keeps_its_formula(few_runs):
    outcome, split = outcome_of(few_runs, cf9), leave_one_group_out(few_runs.labels["gpu_group"])[0]
    assert (outcome.split, outcome.estimator) == (split.name, "model")
    assert outcome.formula is not None
    assert outcome.predicted == pytest.approx(outcome.formula.predict(few_runs.X.iloc[split.test]), rel=1e-9)
    assert not outcome.interrupted


def test_an_estimator_without_a_formula_or_interruption(toy):
    outcome = outcome_of(toy, lambda: ScaledForm("compute_s"))
    assert outcome.formula is None
    assert outcome.interrupted is False


@pytest.mark.parametrize("shape", [(5,), (6, 2)])
def test_predictions_of_another_shape_are_refused(toy, shape):
    class Shaped(Recorder):
        def predict(self, X):
            return np.ones(shape)

    with pytest.raises(InputError, match=re.escape(f"model: expected 6 predictions, got {shape}")):
        outcome_of(toy, Shaped)


def test_models_of_several_sizes_are_one_fit_and_have_a_column_each(toy, gpu_splits, tmp_path):
    estimators = {"model": model, "sized": TwoSizes}
    result = run(toy, gpu_splits, estimators, journal=Journal(tmp_path / "journal", "study"))
    assert result.estimators == ("model", "sized", "sized 1", "sized 2", "control")
    assert result.predicted_s("control").tolist() == result.predicted_s("sized 1").tolist()
    assert result.predicted_s("sized 1") == pytest.approx(result.predicted_s("model"))
    assert result.predicted_s("sized 2") == pytest.approx(2 * result.predicted_s("model"))
    again = run(toy, gpu_splits, estimators, journal=Journal(tmp_path / "journal", "study"))
    assert again.predictions.equals(result.predictions)
    chosen = result.chosen({"trainlaw": "sized 2", "model": "model"})
    assert chosen.estimators == ("trainlaw", "model")
    assert chosen.predicted_s("trainlaw") == pytest.approx(result.predicted_s("sized 2"))
    assert chosen.labels("gpu_group").tolist() == result.labels("gpu_group").tolist()
