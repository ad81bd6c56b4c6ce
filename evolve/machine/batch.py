"""Fit or evaluate many programs: compiled loops, spread over ordinary threads.

The compiled functions release the interpreter's lock, so that ordinary threads suffice: no parallel
runtime has to start, forking stays safe, and the result does not depend on the number of threads.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.machine.arrays import Programs, Rows, Work, make_work
from trainlaw.evolve.machine.evaluation import (
    compiled,
    forward,
    link,
    observe,
    set_constants,
    share_rows,
    skipped_range,
    summing,
)
from trainlaw.evolve.machine.fitting import fit_constants, held_out_losses, losses_per_group
from trainlaw.evolve.machine.vector_maths import exponential, logarithm

# A complete fit ends with a step that gains less than this share of the loss.
LEAST_GAIN = 1e-9
# What precedes the fit: nothing, one overall factor, or offset and slope.
NOTHING, RESCALE, AFFINE = 0, 1, 2
# Values alone need less scratch than a fit, so a block may have more rows.
VALUE_BLOCK_ROWS = 1024
# Blocks whose columns are copied together, so that a program is linked once for all of them.
VALUE_BLOCKS = 4


@compiled
def rescale(
    program: np.ndarray, theta: np.ndarray, scaling: np.ndarray, rows: Rows, skip: int, work: Work
) -> None:
    """Multiply the scaling constants by the single factor that fits best."""
    set_constants(theta, work)
    above = 0.0
    below = 0.0
    for chunk in range(rows.chunk_start.size - 1):
        start, n = rows.chunk_start[chunk], rows.chunk_start[chunk + 1] - rows.chunk_start[chunk]
        observe(program, rows, chunk, 0, n, work)
        begin, end = skipped_range(rows, start, n, skip)
        for first, last in ((0, begin), (end, n)):
            own_above, own_below = scale_sums(rows, start, first, last, work)
            above += own_above
            below += own_below
    factor = above / below
    if rows.logarithmic:
        factor = math.exp(factor)
    if factor > 0.0 and factor < math.inf:
        for p in range(theta.size):
            if scaling[p]:
                theta[p] = min(max(theta[p] * factor, work.lower[p]), work.upper[p])


@summing
def scale_sums(rows: Rows, start: int, first: int, last: int, work: Work) -> tuple[float, float]:
    """Return numerator and denominator of the factor that fits the observations `first` to `last` best."""
    above = below = 0.0
    values, targets = work.value[first:last], rows.target[start + first : start + last]
    weights, scales = rows.weight[start + first : start + last], rows.scale[start + first : start + last]
    for i in range(values.size):
        if rows.logarithmic:
            above += weights[i] * (targets[i] - logarithm(values[i]))
            below += weights[i]
        else:
            weight = weights[i] * scales[i] * scales[i]
            above += weight * values[i] * targets[i]
            below += weight * values[i] * values[i]
    return above, below


@summing
def moments(rows: Rows, start: int, first: int, last: int, work: Work) -> tuple[float, ...]:
    """Return the weight, the means of value and target, and the square and product sums about them.

    Of the observations `first` to `last` of the chunk that begins at `start`.
    """
    values, wanted, weights = work.value[first:last], work.residual[first:last], work.factor[first:last]
    targets, shares = rows.target[start + first : start + last], rows.weight[start + first : start + last]
    scales = rows.scale[start + first : start + last]
    weight = mean = mean_target = square = product = 0.0
    for i in range(values.size):
        wanted[i] = exponential(targets[i]) if rows.logarithmic else targets[i]
        weights[i] = shares[i] * scales[i] * scales[i]
        weight += weights[i]
        mean += weights[i] * values[i]
        mean_target += weights[i] * wanted[i]
    mean /= weight
    mean_target /= weight
    for i in range(values.size):
        off = weights[i] * (values[i] - mean)
        square += off * (values[i] - mean)
        product += off * (wanted[i] - mean_target)
    return weight, mean, mean_target, square, product


@compiled
def start_affine(program: np.ndarray, theta: np.ndarray, rows: Rows, skip: int, work: Work) -> None:
    """Set offset and slope, the first two constants, by weighted linear regression on the program's rest.

    Means are merged chunk by chunk. Source: Chan, Golub and LeVeque, 1983.
    """
    theta[0], theta[1] = 0.0, 1.0
    set_constants(theta, work)
    total = mean = mean_target = square = product = 0.0
    for chunk in range(rows.chunk_start.size - 1):
        start, n = rows.chunk_start[chunk], rows.chunk_start[chunk + 1] - rows.chunk_start[chunk]
        observe(program, rows, chunk, 0, n, work)
        begin, end = skipped_range(rows, start, n, skip)
        for first, last in ((0, begin), (end, n)):
            if first < last:
                weight, values, targets, own_square, own_product = moments(rows, start, first, last, work)
                joint = total + weight
                square += own_square + (values - mean) ** 2 * total * weight / joint
                product += own_product + (values - mean) * (targets - mean_target) * total * weight / joint
                mean += (values - mean) * weight / joint
                mean_target += (targets - mean_target) * weight / joint
                total = joint
    slope = product / square if square > 0.0 else 0.0
    if math.fabs(slope) < math.inf:
        theta[0] = mean_target - slope * mean
        theta[1] = slope


@compiled
def fit_some(
    programs: Programs,
    theta: np.ndarray,
    skip: np.ndarray,
    first: int,
    stride: int,
    start_mode: int,
    steps: int,
    least_gain: float,
    held_out: bool,
    rows: Rows,
    losses: np.ndarray,
    cases: np.ndarray,
) -> None:
    """Fit every `stride`-th program from `first` on.

    `theta` (n_constants,) is changed in place; `losses` and `cases` are filled as in `FitResult`.
    """
    work = make_work(rows.table, cases.shape[1])
    for index in range(first, programs.offsets.size - 1, stride):
        program = programs.tokens[programs.offsets[index] : programs.offsets[index + 1]]
        begin, end = programs.constant_offsets[index], programs.constant_offsets[index + 1]
        own = theta[begin:end]
        work.lower[: own.size] = programs.lower[begin:end]
        work.upper[: own.size] = programs.upper[begin:end]
        work.pull[: own.size] = programs.pull[begin:end]
        work.centre[: own.size] = programs.centre[begin:end]
        for p in range(own.size):
            own[p] = min(max(own[p], work.lower[p]), work.upper[p])
        link(program, rows.levels, work)
        if start_mode == RESCALE:
            rescale(program, own, programs.scaling[begin:end], rows, skip[index], work)
        elif start_mode == AFFINE:
            start_affine(program, own, rows, skip[index], work)
        losses[index] = fit_constants(program, own, rows, skip[index], steps, least_gain, work)
        if held_out and losses[index] < math.inf:
            held_out_losses(program, own, rows, work, cases[index])
        elif not held_out:
            losses_per_group(program, own, rows, work, cases[index])


@compiled
def values_of_some(
    programs: Programs, first: int, stride: int, columns: np.ndarray, values: np.ndarray
) -> None:
    """Fill `values` (n_programs, n_rows) of every `stride`-th program from `first` on.

    columns : (n_features, n_rows).
    """
    features, rows = columns.shape
    work = make_work(np.ones((features * VALUE_BLOCKS, VALUE_BLOCK_ROWS)), 0)
    levels = np.zeros(features, np.int64)
    for start in range(0, rows, VALUE_BLOCKS * VALUE_BLOCK_ROWS):
        blocks = min(VALUE_BLOCKS, (rows - start + VALUE_BLOCK_ROWS - 1) // VALUE_BLOCK_ROWS)
        for block in range(blocks):
            begin = start + block * VALUE_BLOCK_ROWS
            n = min(VALUE_BLOCK_ROWS, rows - begin)
            work.arena[block * features : (block + 1) * features, :n] = columns[:, begin : begin + n]
        for index in range(first, programs.offsets.size - 1, stride):
            program = programs.tokens[programs.offsets[index] : programs.offsets[index + 1]]
            own = programs.theta[programs.constant_offsets[index] : programs.constant_offsets[index + 1]]
            link(program, levels, work)
            share_rows(program, work)
            set_constants(own, work)
            for block in range(blocks):
                begin = start + block * VALUE_BLOCK_ROWS
                n = min(VALUE_BLOCK_ROWS, rows - begin)
                forward(program, block * features, 0, n, work)
                scale, root = work.scale[0], work.row[0] + work.moving[0] * block * features
                for i in range(n):
                    values[index, begin + i] = scale * work.arena[root, i]


@dataclass(frozen=True)
class FitResult:
    """Fitted constants (n_constants,), losses (n_programs,), losses per group (n_programs, n_groups)."""

    theta: NDArray[np.float64]
    losses: NDArray[np.float64]
    cases: NDArray[np.float64]


class Machine:
    """A pool of `threads` threads for batches of programs.

    >>> Machine(threads=2).threads
    2
    """

    def __init__(self, threads: int = 1) -> None:
        """Create the pool; it starts no thread before its first batch."""
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def fit(self, programs: Programs, rows: Rows, **options: Any) -> FitResult:
        """Return the result of `start_fit` with the same options."""
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
        """Start to fit the constants of each program and return a function that waits for the result.

        steps : largest number of Levenberg-Marquardt steps. least_gain : a step that gains less than this
        share of the loss is the last. start_mode : NOTHING, RESCALE or AFFINE. held_out : whether the cases
        are losses at constants that exclude the group, instead of at the fitted ones. skip : int64
        (n_programs,), the group that each program's fit excludes, -1 for none. A loss is infinite where a
        value is not valid. With several threads the fit runs in the background.
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
        """Return values, float64 (n_programs, n_rows); one that is not finite is invalid.

        columns : (n_features, n_rows). out : array to write into, since fresh memory costs as much as the
        arithmetic.
        """
        values = np.empty((programs.amount, columns.shape[1])) if out is None else out
        self._spread(
            lambda first, stride: values_of_some(programs, first, stride, columns, values), programs.amount
        )()
        return values

    def _spread(self, work_on: Callable[[int, int], None], count: int) -> Callable[[], object]:
        """Give each thread its share of `count` programs and return a function that waits for the end.

        Each thread gets all its programs in one call, since every call waits for the interpreter's lock.
        """
        # Too few programs to pay for handing them over.
        if self._pool is None or count < 2 * self.threads:
            work_on(0, 1)
            return lambda: None
        shares = [self._pool.submit(work_on, first, self.threads) for first in range(self.threads)]
        return lambda: [share.result() for share in shares]
