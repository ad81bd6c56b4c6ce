"""Runs batches of programs on threads.

The compiled functions release the interpreter's lock, so ordinary threads serve: no start-up of a parallel
runtime, safe to fork, and a result that does not depend on how many threads there are.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.arrays import Programs, Rows
from trainlaw.evolve.batch import NOTHING, fit_some, values_of_some

CHUNKS_PER_THREAD = 4
# A step that gains less than this share of the loss is the last one of a fit to the end.
LEAST_GAIN = 1e-9


@dataclass(frozen=True)
class FitResult:
    """Fitted constants (n_constants,), losses (n_programs,), losses per group (n_programs, n_groups)."""

    theta: NDArray[np.float64]
    losses: NDArray[np.float64]
    cases: NDArray[np.float64]


class Machine:
    """Runs batches of programs on `threads` threads.

    >>> Machine(threads=2).threads
    2
    """

    def __init__(self, threads: int = 1) -> None:
        """Starts no thread yet; the pool does with its first batch."""
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._background = ThreadPoolExecutor(1) if threads > 1 else None

    def fit(
        self,
        programs: Programs,
        rows: Rows,
        *,
        steps: int,
        least_gain: float = LEAST_GAIN,
        start_mode: int = NOTHING,
        held_out: bool = False,
        skip: NDArray[np.int64] | None = None,
    ) -> FitResult:
        """Fits the constants of each program by at most `steps` steps, after a start of one of `batch`'s
        modes; a step that gains less than the share `least_gain` of the loss is the last.

        With `held_out` the cases are losses per group at constants that leave the group out, else at the
        fitted ones. `skip` (n_programs,) names the group that each program's fit leaves out, -1 none. A
        loss is infinite where a value is not valid.
        """
        theta = programs.theta.copy()
        losses = np.full(programs.amount, math.inf)
        cases = np.full((programs.amount, rows.group_weight.size), math.inf)
        left_out = np.full(programs.amount, -1) if skip is None else skip

        def fit_chunk(first: int, last: int) -> None:
            fit_some(
                programs, theta, left_out, first, last, start_mode, steps, least_gain, held_out,
                rows, losses, cases
            )  # fmt: skip

        self._spread(fit_chunk, programs.amount)
        cases[~np.isfinite(cases)] = math.inf
        return FitResult(theta, losses, cases)

    def start_fit(self, programs: Programs, rows: Rows, **options: Any) -> Callable[[], FitResult]:
        """Begins `fit` in the background, where there are several threads; the result waits for its end."""
        if self._background is None:
            return partial(self.fit, programs, rows, **options)
        return self._background.submit(self.fit, programs, rows, **options).result

    def values(
        self,
        programs: Programs,
        columns: NDArray[np.float64],
        out: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Values float64 (n_programs, n_rows) on `columns` (n_features, n_rows); not finite = invalid.

        They are written into `out` where it is given: fresh memory costs as much as the arithmetic.
        """
        values = np.empty((programs.amount, columns.shape[1])) if out is None else out
        self._spread(
            lambda first, last: values_of_some(programs, first, last, columns, values), programs.amount
        )
        return values

    def _spread(self, work_on: Callable[[int, int], None], count: int) -> None:
        if self._pool is None or count < 2 * self.threads:
            work_on(0, count)
            return
        edges = np.linspace(0, count, min(count, self.threads * CHUNKS_PER_THREAD) + 1).astype(int).tolist()
        list(self._pool.map(work_on, edges[:-1], edges[1:]))
