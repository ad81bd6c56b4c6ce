"""What every baseline must do, whichever it is; a newcomer in the registries is tested without an edit."""

import builtins
import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from trainlaw import datasets
from trainlaw.formulas import InputError, MissingDependencyError, UnknownNameError
from trainlaw.validate import run_study, splits_by_name
from trainlaw.validate.baselines import TABLE, Baseline, baseline, baselines_for, index_by_name

RUN = baselines_for("run")
SEVERAL_GPUS = baselines_for("multi_gpu")
LEARNED = {name for name in RUN if "forest" in name or "boosting" in name or "perceptron" in name}


@pytest.fixture(scope="module")
def many_gpus():
    """Features with the measured single-GPU time, seconds and labels of runs on several GPUs."""
    table = datasets.load("multi")
    known = table.frame["single_gpu_time_s"].notna().to_numpy()
    X = table.features().assign(single_gpu_time_s=table.frame["single_gpu_time_s"])[known]
    labels = table.labels().assign(algorithm=table.frame["algorithm"].astype(str))[known]
    return X, table.seconds[known], labels


def fitted(name, few_runs):
    groups = few_runs.labels["gpu_group"].to_numpy(dtype=str)
    return RUN[name]().fit(few_runs.X, few_runs.seconds, groups)


@pytest.mark.parametrize("name", RUN)
def test_in_sample_error_is_sane_and_predictions_are_positive(name, few_runs):
    predicted = fitted(name, few_runs).predict(few_runs.X)
    assert predicted.shape == (len(few_runs.X),)
    assert (predicted > 0).all()
    errors = np.abs(np.log(predicted / few_runs.seconds))
    assert np.median(errors) < (0.8 if name.startswith("null") else 0.4)


@pytest.mark.parametrize("name", RUN)
def test_same_rows_same_fit(name, few_runs):
    first, second = (fitted(name, few_runs).predict(few_runs.X) for _ in range(2))
    assert first.tolist() == second.tolist()


@pytest.mark.parametrize("row", [row for row in TABLE if row.requires != "engine"], ids=lambda row: row.name)
def test_the_factory_travels_to_a_worker(row):
    there, here = pickle.loads(pickle.dumps(row.make))(), row.make()
    assert type(there) is type(here)
    assert vars(there).keys() == vars(here).keys()


def test_two_rows_of_one_name_are_refused():
    row = Baseline("twin", "twin", "run", RUN["roofline"])
    with pytest.raises(InputError, match="two baselines are named 'twin'"):
        index_by_name([row, row])


def test_names_and_scopes_that_are_not_in_the_table_are_refused():
    with pytest.raises(UnknownNameError, match="did you mean 'cf9'"):
        baseline("cf99")
    with pytest.raises(UnknownNameError, match="did you mean 'run'"):
        baselines_for("runs")


def test_every_title_is_unique_within_its_scope():
    shown = [(row.scope, row.title) for row in TABLE]
    assert len(set(shown)) == len(shown)


@pytest.mark.parametrize("name", RUN)
def test_time_measured_in_other_units_changes_the_unit_only(name, few_runs):
    """A thousand times slower everywhere is predicted a thousand times slower."""
    groups = few_runs.labels["gpu_group"].to_numpy(dtype=str)
    slow = RUN[name]().fit(few_runs.X, 1000.0 * few_runs.seconds, groups).predict(few_runs.X)
    usual = fitted(name, few_runs).predict(few_runs.X)
    # Fits that start from constants of order one end within their tolerance, not to the last digit.
    assert np.median(np.abs(np.log(slow / usual / 1000.0))) < 0.02


@pytest.mark.parametrize("name", [name for name in RUN if name not in LEARNED])
def test_a_missing_feature_is_named(name):
    with pytest.raises(InputError, match=r"needs the features .*_.*not among the 1 given"):
        RUN[name]().fit(pd.DataFrame({"other": [1.0, 2.0]}), np.ones(2), np.array(["a", "b"]))


@pytest.mark.parametrize("name", sorted(LEARNED))
def test_without_scikit_learn_the_extra_is_named(name, monkeypatch):
    original = builtins.__import__

    def without_sklearn(module, *arguments, **options):
        if module.partition(".")[0] == "sklearn":
            raise ImportError(module)
        return original(module, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_sklearn)
    for module in [module for module in sys.modules if module.partition(".")[0] == "sklearn"]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'trainlaw\[sklearn\]'"):
        RUN[name]()


@pytest.mark.parametrize("name", SEVERAL_GPUS)
def test_several_gpus_are_predicted_from_the_time_on_one(name, many_gpus):
    X, seconds, labels = many_gpus
    asked = {"labels": labels} if name == "mg13" else {}
    groups = labels["gpu_group"].to_numpy(dtype=str)
    predicted = SEVERAL_GPUS[name]().fit(X, seconds, groups, **asked).predict(X, **asked)
    limits = {"perfect_scaling": 20.6, "ring_scaling": 16.5, "mg13": 13.5}
    limit = {**limits, "gradient_boosting_on_perfect_scaling": 4.0}[name]
    assert limit - 1.5 < 100 * np.abs(predicted / seconds - 1).mean() < limit


def test_a_time_on_one_gpu_is_not_read_where_it_is_to_be_predicted(many_gpus):
    alone = datasets.load("precisions").where(gpu=["K80", "P40", "V100-PCIE-16GB", "P100-PCIE-16GB"])
    X, seconds, labels = many_gpus
    own = alone.features().assign(single_gpu_time_s=np.nan)
    rows = pd.concat([own, X.iloc[::4]], ignore_index=True)
    times = np.concatenate([alone.seconds, seconds[::4]])
    groups = np.concatenate([alone.labels()["gpu_group"], labels["gpu_group"].to_numpy()[::4]]).astype(str)
    model = baseline("composed_scaling").make().fit(rows, times, groups)
    predicted = model.predict(X)
    assert (predicted > 0).all()
    np.testing.assert_array_equal(predicted, model.predict(X.assign(single_gpu_time_s=1.0)))


def test_more_is_known_the_better_several_gpus_are_predicted(many_gpus):
    splits = splits_by_name("source", many_gpus[2])
    table = run_study(*many_gpus, splits, SEVERAL_GPUS).summary().set_index("estimator")
    errors = [table.loc[name, "mape_percent"] for name in ("perfect_scaling", "ring_scaling", "mg13")]
    assert errors == pytest.approx([20.5, 16.8, 14.5], abs=0.5)


def test_mg13_needs_the_algorithm(many_gpus):
    with pytest.raises(InputError, match="label column 'algorithm'"):
        SEVERAL_GPUS["mg13"]().fit(many_gpus[0], many_gpus[1], many_gpus[2]["gpu_group"].to_numpy())
