"""Third-party engines: the missing package is named, an installed one fits."""

import itertools
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from trainlaw.validate.baselines import baseline, baselines_for, engines
from trainlaw.validate.baselines.engines import _table

ENGINES = baselines_for("run", "engine")


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_fits_the_built_in_runs(name, few_runs, monkeypatch):
    pytest.importorskip(name)
    groups = few_runs.labels["gpu_group"].to_numpy(dtype=str)
    # gplearn gets few generations, as if each took a second; its whole budget takes twenty times as long.
    options = {"limit_seconds": 3.0} if name == "gplearn" else {}
    monkeypatch.setattr(engines, "time", SimpleNamespace(monotonic=itertools.count().__next__))
    predicted = ENGINES[name](**options).fit(few_runs.X, few_runs.seconds, groups).predict(few_runs.X)
    assert (predicted > 0).all()
    assert np.median(np.abs(np.log(predicted / few_runs.seconds))) < 0.8


class Recorded:
    """An engine that records its settings and predicts one constant, in place of a package."""

    calls: ClassVar[list] = []

    def __init__(self, **settings):
        self.settings = settings
        self.generations = settings.get("generations")
        self.calls.append(self)

    def set_params(self, generations):
        self.generations = generations

    def fit(self, X, y):
        self.target, self.continuous = y, X.flags["C_CONTIGUOUS"]
        return self

    def predict(self, X):
        return np.full(len(X), 100.0)


@pytest.fixture
def engine(monkeypatch):
    """Makes an engine whose package is replaced by `Recorded`."""
    monkeypatch.setattr(Recorded, "calls", [])
    package = SimpleNamespace(SymbolicRegressor=Recorded)
    monkeypatch.setattr("trainlaw.validate.baselines.engines.optional_package", lambda *names: package)
    return lambda name, **options: baseline(name).make(**options)


def fitted(estimator, few_runs):
    groups = few_runs.labels["gpu_group"].to_numpy(dtype=str)
    return estimator.fit(few_runs.X, few_runs.seconds, groups)


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_learns_logarithms_and_is_cut_off_three_beyond(name, engine, few_runs):
    predicted = fitted(engine(name), few_runs).predict(few_runs.X)
    assert Recorded.calls[0].target == pytest.approx(np.log(few_runs.seconds))
    assert predicted == pytest.approx(few_runs.seconds.max() * np.e**3)


def test_operon_has_the_budget_that_it_states(engine, few_runs):
    fitted(engine("pyoperon", random_seed=7), few_runs)
    settings = dict(Recorded.calls[0].settings)
    assert set(settings.pop("allowed_symbols").split(",")) == {
        "add",
        "sub",
        "mul",
        "div",
        "constant",
        "variable",
        "sqrt",
        "log",
        "fmax",
    }
    assert settings == {
        "population_size": 1000,
        "max_length": 40,
        "optimizer_iterations": 5,
        "n_threads": 1,
        "random_state": 7,
        "max_evaluations": 200_000,
        "generations": 1000,
    }
    assert Recorded.calls[0].continuous


def test_a_time_limit_replaces_the_evaluations_of_operon(engine, few_runs):
    fitted(engine("pyoperon", limit_seconds=2.4), few_runs)
    settings = Recorded.calls[0].settings
    assert settings["max_time"] == 2
    assert (settings["max_evaluations"], settings["generations"]) == (10**9, 10**6)


def test_gplearn_has_the_budget_that_it_states(engine, few_runs):
    fitted(engine("gplearn", random_seed=7), few_runs)
    (search,) = Recorded.calls
    assert search.settings == {
        "population_size": 1000,
        "generations": 20,
        "warm_start": True,
        "metric": "rmse",
        "function_set": ("add", "sub", "mul", "div", "sqrt", "log", "max", "min"),
        "parsimony_coefficient": 0.001,
        "random_state": 7,
        "n_jobs": 1,
    }
    assert search.generations == 20


def test_gplearn_adds_generations_until_its_time_is_over(engine, few_runs, monkeypatch):
    seconds = iter(range(100))
    monkeypatch.setattr("trainlaw.validate.baselines.engines.time.monotonic", lambda: next(seconds))
    fitted(engine("gplearn", limit_seconds=4), few_runs)
    # It begins at 0 and is asked at 1, 2, 3 and 4: one generation first, three more in time.
    assert (Recorded.calls[0].settings["generations"], Recorded.calls[0].generations) == (1, 4)


def test_engines_see_times_in_milliseconds(few_runs):
    table = _table(few_runs.X, "gplearn")
    assert table.shape == (len(few_runs.X), 25)
    assert table[:, -2:] == pytest.approx(few_runs.X[["clock_ratio", "wide_sm"]].to_numpy())
    assert table[:, -3] == pytest.approx(1e3 * few_runs.X["activation_memory_s"].to_numpy())
