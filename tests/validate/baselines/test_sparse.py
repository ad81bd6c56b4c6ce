"""Sparse baselines: they find what is planted, extrapolate within bounds, and need no scikit-learn."""

import numpy as np
import pytest
from trainlaw.validate.baselines.sparse import LogarithmicLasso, NonnegativePath


def groups_of(runs):
    return runs.labels["gpu_group"].to_numpy(dtype=str)


def test_a_planted_sum_is_found(runs):
    rate = runs.X["matrix_number"] ** 0.3 * runs.X["clock_ratio"] ** -0.5
    seconds = (2.0 * rate * runs.X["im2col_matrix_s"] + 12.0 * runs.X["conv_output_cached_s"]).to_numpy()
    form = NonnegativePath().fit(runs.X, seconds, groups_of(runs))
    assert np.median(np.abs(np.log(form.predict(runs.X) / seconds))) < 0.02
    assert (form.constants_ >= 0).all()


def test_a_planted_product_is_found(runs):
    seconds = (np.sqrt(runs.X["total_compute_s"] * runs.X["host_s"]) / runs.X["clock_ratio"]).to_numpy()
    form = LogarithmicLasso().fit(runs.X, seconds, groups_of(runs))
    assert np.median(np.abs(np.log(form.predict(runs.X) / seconds))) < 0.05


def test_logarithms_stay_within_their_range_in_training(few_runs):
    form = LogarithmicLasso().fit(few_runs.X, few_runs.seconds, groups_of(few_runs))
    huge, larger = (
        form.predict(few_runs.X.assign(batch_per_gpu=batch, matrix_number=1e3)) for batch in (1e6, 1e9)
    )
    assert huge.tolist() == larger.tolist()


@pytest.mark.parametrize("estimator", [NonnegativePath, LogarithmicLasso])
def test_one_group_is_enough(estimator, few_runs):
    one = np.full(len(few_runs.X), "all")
    predicted = estimator().fit(few_runs.X, few_runs.seconds, one).predict(few_runs.X)
    assert np.median(np.abs(np.log(predicted / few_runs.seconds))) < 0.3
