from functools import partial

import numpy as np
import pytest
from trainlaw.formulas import InputError
from trainlaw.validate.baselines.null_models import ScaledForm
from trainlaw.validate.journal import Journal
from trainlaw.validate.platforms import cross_platform

NULL = {"null": partial(ScaledForm, "compute_s")}


def test_platforms_that_differ_by_a_factor(toy):
    """Fitted on one platform, the other, twice as slow, is wrong by that factor; each alone is right."""
    platforms = np.where(np.arange(len(toy.seconds)) % 2 == 0, "fast", "slow")
    seconds = toy.seconds * np.where(platforms == "slow", 2.0, 1.0)
    matrix = cross_platform(toy.X, seconds, toy.labels, platforms, NULL, least_runs=5)
    errors = matrix.set_index(["train", "test"])["macro_mape_percent"]
    assert errors["fast", "slow"] == pytest.approx(50.0, abs=3)
    assert errors["slow", "fast"] == pytest.approx(100.0, abs=4)
    assert errors["fast", "fast"] < 3
    assert (matrix["low"] <= matrix["macro_mape_percent"]).all()


def test_one_platform_or_few_runs_are_refused(toy):
    with pytest.raises(InputError, match="at least two platforms"):
        cross_platform(toy.X, toy.seconds, toy.labels, ["a"] * len(toy.seconds), NULL)
    platforms = [f"p{index % 5}" for index in range(len(toy.seconds))]
    with pytest.raises(InputError, match="at least 20 runs"):
        cross_platform(toy.X, toy.seconds, toy.labels, platforms, NULL)


def test_a_platform_of_one_gpu_has_no_diagonal_and_a_small_one_is_only_evaluated(toy):
    gpus = toy.labels["gpu_group"].to_numpy()
    platforms = np.where(gpus == "gpu0", "one", np.where(gpus == "gpu1", "small", "many"))
    platforms[(gpus == "gpu1") & (np.arange(len(gpus)) % 2 == 0)] = "many"
    matrix = cross_platform(toy.X, toy.seconds, toy.labels, platforms, NULL, least_runs=6)
    pairs = set(zip(matrix["train"], matrix["test"], strict=True))
    assert pairs == {("one", "many"), ("one", "small"), ("many", "one"), ("many", "small"), ("many", "many")}
    rows = matrix.set_index(["train", "test"])
    assert rows.loc[("many", "many"), ["n_train", "n_test"]].tolist() == [21, 21]
    assert rows.loc[("one", "small"), ["n_train", "n_test"]].tolist() == [6, 3]


def test_two_gpu_groups_are_enough_for_a_diagonal(toy):
    gpus = toy.labels["gpu_group"].to_numpy()
    platforms = np.where(np.isin(gpus, ["gpu0", "gpu1"]), "two", "three")
    matrix = cross_platform(toy.X, toy.seconds, toy.labels, platforms, NULL, least_runs=12)
    rows = matrix.set_index(["train", "test"])
    assert rows.loc[("two", "two"), ["n_train", "n_test"]].tolist() == [12, 12]
    assert rows.loc[("three", "two"), "n_test"] == 12


class Interrupted:
    """An estimator whose fit is interrupted."""

    def fit(self, X, y, groups):
        raise KeyboardInterrupt


def two_platforms(toy, estimators, **more):
    platforms = np.where(np.arange(len(toy.seconds)) % 2 == 0, "one", "two")
    return cross_platform(toy.X, toy.seconds, toy.labels, platforms, estimators, least_runs=5, **more)


def test_fits_of_an_earlier_run_are_taken_from_the_journal(toy):
    journal = Journal()
    first = two_platforms(toy, NULL, journal=journal)
    assert two_platforms(toy, {"null": Interrupted}, journal=journal).equals(first)


def test_an_interrupted_fit_is_no_matrix(toy):
    with pytest.raises(KeyboardInterrupt):
        two_platforms(toy, {"null": Interrupted})
