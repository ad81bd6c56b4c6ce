"""Fit many programs: a compiled loop, spread over ordinary threads.

The compiled functions release the interpreter's lock, so that ordinary threads suffice: no parallel
runtime has to start, forking stays safe, and the result does not depend on the number of threads.
"""

import math
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.machine.arrays import Programs, Rows, Work, make_work
from trainlaw.evolve.machine.evaluation import (
    FIRST,
    SCALE,
    SUMMING,
    compiled,
    entry,
    link,
    observe,
    set_constants,
    skipped_range,
)
from trainlaw.evolve.machine.fitting import KERNELS as FITTING_KERNELS
from trainlaw.evolve.machine.fitting import (
    fit_constants,
    group_loss,
    held_out_losses,
    keep_equations,
    linearise_groups,
    losses_per_group,
)
from trainlaw.evolve.machine.kernel_calls import Kernel, flat_from, take_next
from trainlaw.evolve.machine.vector_maths import logarithm

# A complete fit ends with a step that gains less than this share of the loss.
LEAST_GAIN = 1e-9
# Programs times rows that are fitted in one compiled call: interrupts wait for its end.
FITTED_AT_ONCE = 2**17


def sum_for_factor(
    address: int,
    values: np.ndarray,
    targets: np.ndarray,
    scales: np.ndarray,
    weights: np.ndarray,
    n: int,
    logarithmic: int,
    sums: np.ndarray,
) -> float:
    """Set the first two `sums` to numerator and denominator of the factor that fits `n` values best."""
    above = below = 0.0
    for i in range(n):
        if logarithmic:
            above += weights[i] * (targets[i] - logarithm(values[i]))
            below += weights[i]
        else:
            weight = weights[i] * scales[i] * scales[i]
            above += weight * values[i] * targets[i]
            below += weight * values[i] * values[i]
    sums[0], sums[1] = above, below
    return 0.0


KERNELS = FITTING_KERNELS | {SCALE: Kernel(sum_for_factor, "ippppiip", SUMMING)}
call_factor = KERNELS[SCALE].call


@compiled
def rescale(
    program: np.ndarray, theta: np.ndarray, scaling: np.ndarray, rows: Rows, skip: int, work: Work
) -> None:
    """Multiply the scaling constants by the single factor that fits best."""
    set_constants(theta, work)
    above = 0.0
    below = 0.0
    sums = flat_from(work.sums, 0, 0)
    for block in range(rows.blocks):
        start, n = rows.block_start[block], rows.block_start[block + 1] - rows.block_start[block]
        observe(program, rows, block, FIRST, n, work)
        begin, end = skipped_range(rows, start, n, skip)
        for first, last in ((0, begin), (end, n)):
            call_factor(
                work.kernels[SCALE],
                flat_from(work.value, 0, first),
                flat_from(rows.target, 0, start + first),
                flat_from(rows.scale, 0, start + first),
                flat_from(rows.weight, 0, start + first),
                last - first,
                rows.logarithmic,
                sums,
            )
            above += work.sums[0]
            below += work.sums[1]
    factor = above / below
    if rows.logarithmic:
        factor = math.exp(factor)
    if factor > 0.0 and factor < math.inf:
        for p in range(theta.size):
            if scaling[p]:
                theta[p] = min(max(theta[p] * factor, work.lower[p]), work.upper[p])


@compiled
def is_below(
    limit: float, program: np.ndarray, theta: np.ndarray, rows: Rows, work: Work, cases: np.ndarray
) -> bool:
    """Return whether the mean of the groups' losses is below `limit`; otherwise leave `cases` infinite."""
    if limit == math.inf or limit <= 0.0:
        return limit > 0.0
    losses_per_group(program, theta, rows, work, cases)
    total = 0.0
    for group in range(cases.size):
        total += cases[group]
        cases[group] = math.inf
    return total < limit * cases.size


@entry
def fit_some(
    programs: Programs,
    theta: np.ndarray,
    skip: np.ndarray,
    limits: np.ndarray,
    taken: np.ndarray,
    rescales: bool,
    steps: int,
    least_gain: float,
    held_out: bool,
    most: int,
    rows: Rows,
    losses: np.ndarray,
    cases: np.ndarray,
    scratch: np.ndarray,
) -> None:
    """Fit up to `most` programs that no other thread has taken, only one after `rows.stop`.

    `theta` (n_constants,) is changed in place; `losses` and `cases` are filled as in `FitResult`. taken :
    int64 (1,), the next program, shared by all threads. scratch : of `make_work`.
    """
    work = scratch[0]
    for number in range(most):
        if number and rows.stop[0]:
            break
        index = take_next(taken)
        if index >= programs.amount:
            break
        program = flat_from(programs.tokens, 0, programs.offsets[index])
        begin, end = programs.constant_offsets[index], programs.constant_offsets[index + 1]
        constants = theta[begin:end]
        for p in range(constants.size):
            work.lower[p] = programs.lower[begin + p]
            work.upper[p] = programs.upper[begin + p]
            work.pull[p] = programs.pull[begin + p]
            work.centre[p] = programs.centre[begin + p]
            constants[p] = min(max(constants[p], work.lower[p]), work.upper[p])
        link(program, programs.offsets[index + 1] - programs.offsets[index], work)
        if rescales:
            rescale(program, constants, flat_from(programs.scaling, 0, begin), rows, skip[index], work)
        limit = math.inf if held_out else limits[index]
        losses[index] = fit_constants(program, constants, rows, skip[index], steps, least_gain, limit, work)
        if skip[index] >= 0:
            cases[index, skip[index]] = group_loss(program, constants, rows, skip[index], work)
        elif not held_out:
            if losses[index] <= limit:
                losses_per_group(program, constants, rows, work, cases[index])
        elif losses[index] < math.inf and is_below(
            limits[index], program, constants, rows, work, cases[index]
        ):
            keep_equations(constants.size, work)
            linearise_groups(program, constants, rows, work)
            held_out_losses(program, constants, rows, work, cases[index])


@lru_cache(maxsize=1)
def kernel_addresses() -> tuple[int, ...]:
    """Return the addresses of all kernels, which are compiled if need be, in their order."""
    return tuple(kernel.address() for _, kernel in sorted(KERNELS.items()))


@dataclass(frozen=True)
class FitResult:
    """Fitted constants (n_constants,), losses (n_programs,), losses per group (n_programs, n_groups)."""

    theta: NDArray[np.float64]
    losses: NDArray[np.float64]
    cases: NDArray[np.float64]


class Machine:
    """The calling thread and a pool of others, together `threads`, for batches of programs.

    >>> Machine(threads=2).threads
    2
    """

    def __init__(self, threads: int = 1) -> None:
        """Create the pool; it starts no thread before its first batch."""
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        self._own = threading.local()
        self._stop = np.zeros(1, np.int64)

    def fit(
        self,
        programs: Programs,
        rows: Rows,
        *,
        steps: int,
        least_gain: float = LEAST_GAIN,
        rescales: bool = False,
        held_out: bool = False,
        skip: NDArray[np.int64] | None = None,
        limits: NDArray[np.float64] | None = None,
    ) -> FitResult:
        """Return each program's fitted constants and losses.

        steps : largest number of Levenberg-Marquardt steps. least_gain : a step that gains less than this
        share of the loss is the last. rescales : whether one factor, the best for all scaling constants,
        precedes the fit. held_out : whether the cases are losses at constants that exclude the group, instead
        of at the fitted ones. skip : int64 (n_programs,), the group that each program's fit excludes, -1 for
        none; its loss is then the only one. limits : (n_programs,), the loss from which on a program does not
        matter: it gets no cases, and where these are not held out, its fit may end early; None for no limit.

        A loss is infinite where a value is not valid, and nan of a program that was not reached in time.
        """
        theta = programs.theta.copy()
        losses = np.full(programs.amount, math.nan)
        cases = np.full((programs.amount, rows.group_weight.size), math.inf)
        left_out = np.full(programs.amount, -1) if skip is None else skip
        least = np.full(programs.amount, math.inf) if limits is None else limits
        kept = programs.packed(), rows.packed(self._stop)
        # Programs take unequal times, and other threads need the processors now and then.
        taken = np.zeros(1, np.int64)
        begin = kept[0], theta, left_out, least, taken, rescales, steps, least_gain, held_out

        def fit_some_more(most: int) -> None:
            while taken[0] < programs.amount:
                fit_some(*begin, most, kept[1], losses, cases, self._scratch())
                if self._stop[0]:
                    break

        # Too few programs do not pay for handing them over.
        pool = self._pool if programs.amount >= 2 * self.threads else None
        others = range(self.threads - 1) if pool else ()
        shares = [pool.submit(fit_some_more, programs.amount) for _ in others if pool]
        # Ctrl-C interrupts the calling thread alone; the others would wait for the lock after each call.
        fit_some_more(max(FITTED_AT_ONCE // max(rows.target.size, 1), 1))
        for share in shares:
            share.result()
        losses[np.isinf(losses)] = math.inf
        cases[~np.isfinite(cases)] = math.inf
        return FitResult(theta, losses, cases)

    @contextmanager
    def until(self, end: float) -> Iterator[None]:
        """End the fits of the block soon after the time `end` of `time.monotonic`, and begin no other."""
        if end == math.inf:
            yield
            return
        stop, timer = self._stop, threading.Timer(max(end - time.monotonic(), 0.0), self._end_fits)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
            stop[0] = 0

    @property
    def fits_end(self) -> bool:
        """Whether the time of `until` is over."""
        return bool(self._stop[0])

    def _end_fits(self) -> None:
        self._stop[0] = 1

    def _scratch(self) -> NDArray[Any]:
        """Return this thread's scratch, made once."""
        if not hasattr(self._own, "scratch"):
            self._own.scratch = make_work(kernel_addresses())
        scratch: NDArray[Any] = self._own.scratch
        return scratch
