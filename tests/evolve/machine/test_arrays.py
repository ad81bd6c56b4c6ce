import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trainlaw.evolve.machine import arrays
from trainlaw.evolve.machine.arrays import (
    BLOCK_ROWS,
    CONSTANT_LIMIT,
    GROUP_LIMIT,
    LANES,
    LINE_BYTES,
    NODE_LIMIT,
    make_rows,
)
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import InputError


def rows_of(columns, y, group, weight=None, **options):
    weight = np.ones_like(y) if weight is None else weight
    return make_rows(columns, y, np.ones_like(y), weight, group, **({"logarithmic": False} | options))


def test_observations_are_sorted_by_group_and_keep_their_order_within():
    group = np.array([1, 0, 1, 0])
    rows = rows_of(np.arange(4.0)[None, :], np.arange(4.0), group)
    assert rows.target.tolist() == [1.0, 3.0, 0.0, 2.0]
    assert rows.columns[0, :4].tolist() == [1.0, 3.0, 0.0, 2.0]
    assert rows.group_start.tolist() == [0, 2, 4]


def test_weights_sum_to_one_and_groups_have_their_share():
    rows = rows_of(np.ones((1, 3)), np.ones(3), np.array([0, 1, 1]), np.array([2.0, 1.0, 5.0]))
    assert rows.weight.tolist() == [0.25, 0.125, 0.625]
    assert rows.group_weight.tolist() == [0.25, 0.75]


def test_the_target_of_a_logarithmic_loss_is_a_logarithm():
    y = np.array([1.0, np.e])
    assert rows_of(np.ones((1, 2)), y, np.zeros(2, int), logarithmic=True).target == pytest.approx([0.0, 1.0])


@given(count=st.integers(1, 3 * BLOCK_ROWS))
@settings(max_examples=20, deadline=None)
def test_blocks_hold_every_row_once_and_ones_beyond(count):
    columns = np.arange(2.0 * count).reshape(2, count) + 2.0
    rows = rows_of(columns, np.ones(count), np.zeros(count, np.int64))
    assert rows.block_start.tolist() == [*range(0, count, BLOCK_ROWS), count]
    assert rows.stride % LANES == 0
    # A block that begins at the last row can still be read up to a whole vector.
    assert count + LANES - 1 < rows.stride <= count + 2 * LANES
    assert rows.columns.ctypes.data % LINE_BYTES == 0
    np.testing.assert_array_equal(rows.columns[:, :count], columns)
    assert np.all(rows.columns[:, count:] == 1.0)


def test_scratch_holds_the_longest_program_that_settings_allow(interpreted):
    assert NODE_LIMIT >= SearchSettings(max_nodes=200).node_limit + 4
    assert CONSTANT_LIMIT >= SearchSettings(max_constants=60).max_constants + 2
    with pytest.raises(InputError):
        SearchSettings(max_nodes=201)
    work = arrays.make_work([5, 6])[0]
    assert work.arena.shape == (1 + NODE_LIMIT, BLOCK_ROWS)
    assert np.all(work.arena[0] == 1.0)
    assert work.group_normal.shape == (GROUP_LIMIT, CONSTANT_LIMIT**2)
    assert work.kernels[:2].tolist() == [5, 6]
