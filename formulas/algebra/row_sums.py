"""Sums over rows: which rows of a table, and how often, add up to each observation."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from trainlaw.formulas.errors import InputError


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
