import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from trainlaw.formulas import RowSums


@given(seed=st.integers(0, 99), observations=st.integers(1, 20))
@settings(max_examples=30, deadline=None)
def test_sums_are_those_of_a_matrix_product(seed, observations):
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 6, observations)
    start = np.concatenate([[0], np.cumsum(sizes)])
    row, count = generator.integers(0, 8, start[-1]), generator.integers(1, 4, start[-1]) * 1.0
    matrix = np.zeros((observations, 8))
    np.add.at(matrix, (np.repeat(np.arange(observations), sizes), row), count)
    sums, values = RowSums(start, row, count), generator.uniform(size=8)
    assert sums.amount == observations
    np.testing.assert_allclose(sums.apply(values), matrix @ values)
    some = generator.integers(0, observations, 5)
    np.testing.assert_allclose(sums.of(some).apply(values), (matrix @ values)[some])
