"""A sparse sum of times finds what is planted."""

import numpy as np
from trainlaw.validate.baselines.sparse import NonnegativePath, NonnegativePathBySize

from .test_forms import groups_of


def test_a_planted_sum_is_found(runs):
    rate = runs.X["matrix_number"] ** 0.3 * runs.X["clock_ratio"] ** -0.5
    seconds = (2.0 * rate * runs.X["im2col_matrix_s"] + 12.0 * runs.X["conv_output_cached_s"]).to_numpy()
    form = NonnegativePath().fit(runs.X, seconds, groups_of(runs))
    assert np.median(np.abs(np.log(form.predict(runs.X) / seconds))) < 0.02
    assert (form.constants_ >= 0).all()


def test_one_group_is_enough(few_runs):
    one = np.full(len(few_runs.X), "all")
    predicted = NonnegativePath().fit(few_runs.X, few_runs.seconds, one).predict(few_runs.X)
    assert np.median(np.abs(np.log(predicted / few_runs.seconds))) < 0.3


def test_sums_of_few_constants_have_no_more_and_fit_better_the_more_they_have(few_runs):
    groups = groups_of(few_runs)
    found = NonnegativePathBySize((2, 5, 9)).fit(few_runs.X, few_runs.seconds, groups)
    counts = [np.count_nonzero(member.constants_) for member in found.members_.values()]
    assert list(found.members_) == ["2", "5", "9"] and counts[0] <= 2 < counts[1] <= 5 < counts[2] <= 9
    misses = [
        np.mean(np.square(member.predict(few_runs.X) / few_runs.seconds - 1))
        for member in found.members_.values()
    ]
    assert misses == sorted(misses, reverse=True)
    assert found.predict(few_runs.X).tolist() == found.members_["9"].predict(few_runs.X).tolist()
