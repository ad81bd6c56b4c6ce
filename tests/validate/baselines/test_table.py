"""Requirements on every baseline of runs, and on the table: a new row is tested without an edit."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from trainlaw.formulas import InputError
from trainlaw.validate.baselines import TABLE, baseline, baselines_for

RUN = baselines_for("run")


def fitted(name, few_runs):
    groups = few_runs.labels["gpu_group"].to_numpy(dtype=str)
    return RUN[name]().fit(few_runs.X, few_runs.seconds, groups)


@pytest.mark.parametrize("name", RUN)
def test_in_sample_error_is_sane_and_predictions_are_positive(name, few_runs):
    predicted = fitted(name, few_runs).predict(few_runs.X)
    assert predicted.shape == (len(few_runs.X),)
    assert (predicted > 0).all()
    errors = np.abs(np.log(predicted / few_runs.seconds))
    assert np.median(errors) < (0.8 if baseline(name).title.startswith(("null", "constant")) else 0.4)


@pytest.mark.parametrize("name", RUN)
def test_same_rows_same_fit(name, few_runs):
    first, second = (fitted(name, few_runs).predict(few_runs.X) for _ in range(2))
    assert first.tolist() == second.tolist()


@pytest.mark.parametrize("row", [row for row in TABLE if row.requires != "engine"], ids=lambda row: row.name)
def test_the_factory_travels_to_a_worker(row):
    there, here = pickle.loads(pickle.dumps(row.make))(), row.make()
    assert type(there) is type(here)
    assert vars(there).keys() == vars(here).keys()


def test_every_name_is_unique_and_every_title_within_its_scope():
    shown = [(row.scope, row.title) for row in TABLE]
    assert len(set(shown)) == len(shown)
    assert len({row.name for row in TABLE}) == len(TABLE)


@pytest.mark.parametrize("name", RUN)
def test_time_measured_in_other_units_changes_the_unit_only(name, few_runs):
    """A thousand times slower everywhere is predicted a thousand times slower."""
    groups = few_runs.labels["gpu_group"].to_numpy(dtype=str)
    slow = RUN[name]().fit(few_runs.X, 1000.0 * few_runs.seconds, groups).predict(few_runs.X)
    usual = fitted(name, few_runs).predict(few_runs.X)
    # Fits that start from constants of order one end within their tolerance, not to the last digit.
    assert np.median(np.abs(np.log(slow / usual / 1000.0))) < 0.02


@pytest.mark.parametrize("name", RUN)
def test_a_missing_feature_is_named_unless_none_is_needed(name):
    X = pd.DataFrame({"other": [1.0, 2.0]})
    try:
        fitted = RUN[name]().fit(X, np.ones(2), np.array(["a", "b"]))
    except InputError as error:
        assert re.search(r"needs the features .*_.*not among the 1 given", str(error))
    else:
        assert np.isfinite(fitted.predict(X)).all()
