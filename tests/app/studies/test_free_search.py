"""Fails if a free search does not begin where a sparse non-negative sum of times ends."""

import numpy as np
import pytest
from trainlaw.app.studies.free_search import FreeSearch, path_seeds
from trainlaw.datasets import STUDY_FEATURES, load
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import evaluate, variables
from trainlaw.formulas.expression import additive_terms


@pytest.fixture(scope="module")
def runs():
    table = load("fp32-2026").where(source="profet")
    return table.features(STUDY_FEATURES), table.labels()["gpu_group"].to_numpy(dtype=str)


def test_seeds_are_sums_of_times_and_the_longest_is_near_a_planted_one(runs):
    X, groups = runs
    seconds = (2.0 * X["conv3x3_compute_s"] + 9.0 * X["conv_output_memory_s"] + 1e-3).to_numpy()
    seeds = path_seeds(X, seconds, groups, STUDY_FEATURES)
    counts = [len(additive_terms(seed)) for seed in seeds]
    assert counts[0] == 1
    assert max(counts) <= 8
    assert {"conv3x3_compute_s", "conv_output_memory_s", "iteration_overhead_s"} <= set(variables(seeds[-1]))
    predicted = evaluate(seeds[-1], {name: X[name].to_numpy() for name in X})[0]
    assert np.abs(predicted / seconds - 1).mean() < 0.05


def test_the_front_is_at_least_as_good_as_its_seeds(runs):
    X, groups = runs
    seconds = (2.0 * X["conv3x3_compute_s"] + 9.0 * X["conv_output_memory_s"] + 1e-3).to_numpy()
    few = np.arange(0, len(X), 4)
    settings = SearchSettings(evaluations=60, population=20, islands=1, threads=1)
    search = FreeSearch(STUDY_FEATURES, settings).fit(X.iloc[few], seconds[few], groups[few])
    assert np.abs(search.predict(X) / seconds - 1).mean() < 0.05
