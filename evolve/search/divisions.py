"""Divisions of the rows: equal ones merged, groups as cases, and the rows that a search draws."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.machine.arrays import GROUP_LIMIT
from trainlaw.evolve.settings import SearchSettings

# Groups beyond this number share a case with others, so that there are few cases and blocks.
MOST_CASES = GROUP_LIMIT
# Without groups, rows are assigned to this many cases at random.
DEALT_CASES = 10


def merge_equal_rows(
    columns: NDArray[np.float64],
    y: NDArray[np.float64],
    group: NDArray[np.int64],
    weight: NDArray[np.float64],
    *,
    always: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Return equal rows as one with the sum of their weights, so that a weight of two equals a row twice.

    group : number of the group of each row, (n_rows,); equal rows share it. Rows then have a fixed order that
    depends only on their contents. Without weights (`always`) and without equal rows, everything is returned
    as it is.
    """
    keys = _hashes([*columns, y, group])
    _, first, owner = np.unique(keys, return_index=True, return_inverse=True)
    same = (np.array_equal(column, column[first][owner]) for column in (*columns, y, group))
    if first.size < y.size and not all(same):
        # Different rows share a hash: those that are equal are found by sorting.
        table = np.vstack([columns, y, group]) + 0.0
        _, first, owner = np.unique(table, axis=1, return_index=True, return_inverse=True)
    if not always and first.size == y.size:
        return columns, y, group, weight
    order = np.argsort(keys[first])
    first, owner = first[order], np.argsort(order)[owner.reshape(-1)]
    summed = np.bincount(owner, weights=weight).astype(np.float64)
    return np.ascontiguousarray(columns[:, first]), y[first], group[first], summed


def _hashes(columns: Sequence[NDArray[Any]]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each row (n_rows,): an order by hashes is free of any trend in the data."""
    keys = np.zeros(columns[0].size, np.uint64)
    for column in columns:
        # Adding 0.0 turns -0.0 into 0.0, which is equal but has other bits.
        # Fibonacci hashing (Knuth, "The Art of Computer Programming", volume 3, 6.4).
        keys ^= (column + 0.0).view(np.uint64)
        keys *= np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(29)
    return keys


def draw_rows(case: NDArray[np.int64], settings: SearchSettings) -> NDArray[np.int64] | None:
    """Return the rows to which the search fits, ascending; None for all.

    case : of each row, (n_rows,). Of each case the same share is drawn, at least one.
    """
    wanted = settings.search_rows or case.size
    if case.size <= wanted:
        return None
    order = np.random.default_rng(settings.random_seed).permutation(case.size)
    order = order[np.argsort(case[order], kind="stable")]
    sizes = np.bincount(case)
    place = np.arange(case.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    most = np.maximum(sizes * wanted // case.size, 1)
    return np.sort(order[place < np.repeat(most, sizes)])


def deal_rows(count: int, seed: int) -> NDArray[np.int64]:
    """Return a case per row where there are no groups: equal shares at random."""
    cases = max(1, min(DEALT_CASES, count // 5))
    return np.random.default_rng(seed).permutation(np.arange(count) % cases)
