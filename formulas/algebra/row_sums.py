"""Sums over rows: which rows of a table, and how often, add up to each observation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from trainlaw.formulas.errors import InputError

# Step of a central difference, as a share of a value: the error of rounding is then that of the difference.
SLOPE_STEP = float(np.cbrt(np.finfo(np.float64).eps))


@dataclass(frozen=True)
class RowSums:
    """Sums of rows: observation i is the sum of `count` times the value of `row[start[i] : start[i + 1]]`.

    So the time of a CNN is the sum over its layers, and equal layers are one row with a count.

    Parameters
    ----------
    start : ndarray of int64, shape (n_observations + 1,)
        From 0 to n_entries, rising.
    row : ndarray of int64, shape (n_entries,)
        Rows of the table.
    count : ndarray of float64, shape (n_entries,)
        How often each row counts.

    Raises
    ------
    InputError
        If an observation has no row, or the arrays do not fit together.

    Examples
    --------
    >>> sums = RowSums(np.array([0, 2, 3]), np.array([0, 1, 1]), np.array([2.0, 1.0, 3.0]))
    >>> sums.apply(np.array([10.0, 1.0])).tolist()
    [21.0, 3.0]
    """

    start: NDArray[np.int64]
    row: NDArray[np.int64]
    count: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.start.size < 2 or self.start[0] != 0 or np.any(np.diff(self.start) < 1):
            raise InputError("expected sums over at least one row each, got an empty one: leave it out")
        if self.start[-1] != self.row.size or self.row.size != self.count.size:
            raise InputError(
                f"expected as many counts as rows, {self.start[-1]}, got {self.row.size} rows and "
                f"{self.count.size} counts"
            )

    @property
    def amount(self) -> int:
        """Number of observations."""
        return self.start.size - 1

    def apply(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums of `values`, (n_rows,), in their unit, shape (n_observations,)."""
        return np.add.reduceat(self.count * values[self.row], self.start[:-1])

    def of(self, observations: NDArray[np.int64]) -> "RowSums":
        """Return the sums over the same rows of the observations with these indices, (n,), in this order."""
        sizes = np.diff(self.start)[observations]
        start = np.concatenate([[0], np.cumsum(sizes)])
        entries = np.repeat(self.start[observations] - start[:-1], sizes) + np.arange(start[-1])
        return RowSums(start, self.row[entries], self.count[entries])


def values_and_slopes(X: NDArray[np.float64], places: Sequence[int]) -> tuple[NDArray[np.float64], RowSums]:
    """Return rows and sums that stand for values of a formula and for its slopes.

    A search that gets both, with the target's values and slopes one after another, fits derivatives, too.
    Slopes are central differences.

    Parameters
    ----------
    X : ndarray of float64, shape (n_rows, n_features)
        Where values and slopes are known, each column in its unit.
    places : sequence of int
        Columns in whose directions slopes are known.

    Returns
    -------
    tuple of ndarray of float64 and RowSums
        The rows, shape (n_rows * (1 + 2 * n_places), n_features), and sums over them: of the `n_rows` values,
        and then, for each place, of the `n_rows` slopes, in the unit of the target per unit of the column.

    Examples
    --------
    >>> rows, sums = values_and_slopes(np.array([[3.0, 1.0], [4.0, 2.0]]), [0])
    >>> sums.apply(rows[:, 0] ** 2 * rows[:, 1]).round(6).tolist()
    [9.0, 32.0, 6.0, 16.0]
    """
    count = X.shape[0]
    own = np.arange(count)
    rows, row, weight, sizes = [X], [own], [np.ones(count)], [np.ones(count, np.int64)]
    for place in places:
        column = X[:, place]
        step = SLOPE_STEP * np.maximum(np.abs(column), np.ptp(column) or 1.0)
        above = count * len(rows) + own
        for moved in (step, -step):
            rows.append(X.copy())
            rows[-1][:, place] += moved
        row.append(np.column_stack([above, above + count]).ravel())
        weight.append(np.column_stack([0.5 / step, -0.5 / step]).ravel())
        sizes.append(np.full(count, 2))
    start = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return np.vstack(rows), RowSums(start, np.concatenate(row), np.concatenate(weight))
