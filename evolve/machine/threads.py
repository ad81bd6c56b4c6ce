"""Runs batches of programs on threads.

The compiled functions release the interpreter's lock, so ordinary threads serve: no start-up of a parallel
runtime, safe to fork, and a result that does not depend on how many threads there are.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.machine.arrays import Programs, Rows
from trainlaw.evolve.machine.batch import NOTHING, fit_some, values_of_some

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

    def fit(self, programs: Programs, rows: Rows, **options: Any) -> FitResult:
        """The result of `start_fit`, with the same options."""
        return self.start_fit(programs, rows, **options)()

    def start_fit(
        self,
        programs: Programs,
        rows: Rows,
        *,
        steps: int,
        least_gain: float = LEAST_GAIN,
        start_mode: int = NOTHING,
        held_out: bool = False,
        skip: NDArray[np.int64] | None = None,
    ) -> Callable[[], FitResult]:
        """Begins to fit the constants of each program by at most `steps` steps, after a start of one of
        `batch`'s modes; a step that gains less than the share `least_gain` of the loss is the last. It goes
        on in the background where there are several threads; the function returned waits for its end.

        With `held_out` the cases are losses per group at constants that leave the group out, else at the
        fitted ones. `skip` (n_programs,) names the group that each program's fit leaves out, -1 none. A
        loss is infinite where a value is not valid.
        """
        theta = programs.theta.copy()
        losses = np.full(programs.amount, math.inf)
        cases = np.full((programs.amount, rows.group_weight.size), math.inf)
        left_out = np.full(programs.amount, -1) if skip is None else skip

        def fit_share(first: int, stride: int) -> None:
            fit_some(
                programs, theta, left_out, first, stride, start_mode, steps, least_gain, held_out,
                rows, losses, cases
            )  # fmt: skip

        end = self._spread(fit_share, programs.amount)

        def result() -> FitResult:
            end()
            cases[~np.isfinite(cases)] = math.inf
            return FitResult(theta, losses, cases)

        return result

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
            lambda first, stride: values_of_some(programs, first, stride, columns, values), programs.amount
        )()
        return values

    def _spread(self, work_on: Callable[[int, int], None], count: int) -> Callable[[], object]:
        """Gives each thread every so many programs, in one call, since each call waits for the interpreter's
        lock; the function returned waits for the end.
        """
        if self._pool is None or count < 2 * self.threads:
            work_on(0, 1)
            return lambda: None
        shares = [self._pool.submit(work_on, first, self.threads) for first in range(self.threads)]
        return lambda: [share.result() for share in shares]
