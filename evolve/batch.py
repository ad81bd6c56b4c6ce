"""Evaluates and fits whole batches of programs, spread over threads in chunks.

The compiled functions release the interpreter's lock, so ordinary threads serve: no start-up cost of a
parallel runtime, safe to fork, and a result that does not depend on how many threads there are.
"""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trainlaw.evolve.fitting import (
    BLOCK_ROWS,
    CONSTANT,
    CONSTANT_LIMIT,
    NODE_LIMIT,
    WEIGHTED,
    Loss,
    Rows,
    Work,
    compiled,
    fit_constants,
    forward,
    held_out_losses,
    link_children,
    make_work,
    weigh_residuals,
)

NOTHING, RESCALE, AFFINE = 0, 1, 2
# Nodes that an affine start expects in front of the program proper: add, offset, mul, slope.
AFFINE_NODES = 4
CHUNKS_PER_THREAD = 8


@dataclass(frozen=True)
class Programs:
    """Many programs, end to end.

    tokens : int64 (n_nodes,); offsets : int64 (n_programs + 1,) into them; theta, lower, upper : float64
    (n_constants,) and scaling : bool (n_constants,), the constants to which the whole value is proportional;
    constant_offsets : int64 (n_programs + 1,) into these.
    """

    tokens: NDArray[np.int64]
    offsets: NDArray[np.int64]
    theta: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    scaling: NDArray[np.bool_]
    constant_offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return self.offsets.size - 1


@dataclass(frozen=True)
class FitResult:
    """Fitted constants (n_constants,), losses (n_programs,), case losses (n_programs, n_groups)."""

    theta: NDArray[np.float64]
    losses: NDArray[np.float64]
    cases: NDArray[np.float64]


@compiled
def _rescale(
    program: np.ndarray, theta: np.ndarray, scaling: np.ndarray, rows: Rows, loss: Loss, skip: int, work: Work
) -> None:
    """Multiplies the scaling constants by the one factor that fits best while residuals are small."""
    above = 0.0
    below = 0.0
    for block in range(rows.block_start.size):
        if rows.block_group[block] == skip:
            continue
        start, n = rows.block_start[block], rows.block_size[block]
        forward(program, theta, rows.columns, start, n, work)
        for i in range(n):
            value, target = work.values[0, i], rows.target[start + i]
            weight = rows.weight[start + i]
            if loss.logarithmic:
                above += weight * (target - math.log(value) if value > 0.0 else math.nan)
                below += weight
            else:
                weight *= rows.scale[start + i] ** 2
                above += weight * value * target
                below += weight * value * value
    factor = above / below
    if loss.logarithmic:
        factor = math.exp(factor)
    if factor > 0.0 and factor < math.inf:
        for p in range(theta.size):
            if scaling[p]:
                theta[p] *= factor


@compiled
def _start_affine(
    program: np.ndarray, theta: np.ndarray, rows: Rows, loss: Loss, skip: int, work: Work
) -> None:
    """Sets offset and slope, the first two constants, by weighted linear regression on the program proper."""
    total = mean = mean_target = square = product = 0.0
    for block in range(rows.block_start.size):
        if rows.block_group[block] == skip:
            continue
        start, n = rows.block_start[block], rows.block_size[block]
        forward(program, theta, rows.columns, start, n, work)
        for i in range(n):
            value, target = work.values[AFFINE_NODES, i], rows.target[start + i]
            target = math.exp(target) if loss.logarithmic else target
            weight = rows.weight[start + i] * rows.scale[start + i] ** 2
            total += weight
            step = value - mean
            mean += step * weight / total
            square += weight * step * (value - mean)
            product += weight * (value - mean) * (target - mean_target)
            mean_target += (target - mean_target) * weight / total
    slope = product / square if square > 0.0 else 0.0
    if math.fabs(slope) < math.inf:
        theta[0] = mean_target - slope * mean
        theta[1] = slope


@compiled
def _fit_some(
    tokens: np.ndarray,
    offsets: np.ndarray,
    theta: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    scaling: np.ndarray,
    constant_offsets: np.ndarray,
    skip: np.ndarray,
    first: int,
    last: int,
    start_mode: int,
    steps: int,
    held_out: bool,
    rows: Rows,
    loss: Loss,
    losses: np.ndarray,
    cases: np.ndarray,
) -> None:
    """Fits the programs `first` to `last` in place."""
    work = make_work(NODE_LIMIT, CONSTANT_LIMIT, BLOCK_ROWS)
    for index in range(first, last):
        program = tokens[offsets[index] : offsets[index + 1]]
        begin, end = constant_offsets[index], constant_offsets[index + 1]
        own = theta[begin:end]
        link_children(program, work)
        if start_mode == RESCALE:
            _rescale(program, own, scaling[begin:end], rows, loss, skip[index], work)
        elif start_mode == AFFINE:
            _start_affine(program, own, rows, loss, skip[index], work)
        losses[index] = fit_constants(
            program, own, lower[begin:end], upper[begin:end], rows, loss, skip[index], steps, work
        )
        if held_out and losses[index] < math.inf:
            held_out_losses(program, own, lower[begin:end], upper[begin:end], rows, loss, work, cases[index])


@compiled
def _losses_of_some(
    tokens: np.ndarray,
    offsets: np.ndarray,
    theta: np.ndarray,
    constant_offsets: np.ndarray,
    first: int,
    last: int,
    rows: Rows,
    loss: Loss,
    cases: np.ndarray,
) -> None:
    """Mean loss per group of the programs `first` to `last`, constants as they are."""
    work = make_work(NODE_LIMIT, CONSTANT_LIMIT, BLOCK_ROWS)
    for index in range(first, last):
        program = tokens[offsets[index] : offsets[index + 1]]
        own = theta[constant_offsets[index] : constant_offsets[index + 1]]
        link_children(program, work)
        cases[index, :] = 0.0
        for block in range(rows.block_start.size):
            start, n = rows.block_start[block], rows.block_size[block]
            forward(program, own, rows.columns, start, n, work)
            group = rows.block_group[block]
            cases[index, group] += weigh_residuals(rows, loss, start, n, work) / rows.group_weight[group]


@compiled
def _values_of_some(
    tokens: np.ndarray,
    offsets: np.ndarray,
    theta: np.ndarray,
    constant_offsets: np.ndarray,
    first: int,
    last: int,
    columns: np.ndarray,
    values: np.ndarray,
) -> None:
    """Values of the programs `first` to `last` on every row."""
    work = make_work(NODE_LIMIT, CONSTANT_LIMIT, BLOCK_ROWS)
    for index in range(first, last):
        program = tokens[offsets[index] : offsets[index + 1]]
        own = theta[constant_offsets[index] : constant_offsets[index + 1]]
        link_children(program, work)
        for start in range(0, columns.shape[1], BLOCK_ROWS):
            n = min(BLOCK_ROWS, columns.shape[1] - start)
            forward(program, own, columns, start, n, work)
            for i in range(n):
                values[index, start + i] = work.values[0, i]


class Machine:
    """Runs batches of programs on `threads` threads.

    >>> Machine(threads=2).threads
    2
    """

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def fit(
        self,
        programs: Programs,
        rows: Rows,
        loss: Loss,
        *,
        steps: int,
        start_mode: int = NOTHING,
        held_out: bool = False,
        skip: NDArray[np.int64] | None = None,
    ) -> FitResult:
        """Fits the constants of each program; `skip` (n_programs,) names the group that each leaves out, -1 none.

        With `held_out` the cases are losses per group at constants that leave the group out, else at the fitted
        constants. A loss is infinite where a value is not valid.
        """
        count, groups = len(programs), rows.group_weight.size
        theta = programs.theta.copy()
        losses, cases = np.full(count, math.inf), np.full((count, groups), math.inf)
        left_out = np.full(count, -1) if skip is None else skip

        def fit_some(first: int, last: int) -> None:
            _fit_some(
                programs.tokens,
                programs.offsets,
                theta,
                programs.lower,
                programs.upper,
                programs.scaling,
                programs.constant_offsets,
                left_out,
                first,
                last,
                start_mode,
                steps,
                held_out,
                rows,
                loss,
                losses,
                cases,
            )
            if not held_out:
                _losses_of_some(
                    programs.tokens,
                    programs.offsets,
                    theta,
                    programs.constant_offsets,
                    first,
                    last,
                    rows,
                    loss,
                    cases,
                )

        self._spread(fit_some, count)
        cases[~np.isfinite(cases)] = math.inf
        return FitResult(theta, losses, cases)

    def values(self, programs: Programs, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values float64 (n_programs, n_rows) on `columns` (n_features, n_rows); not finite = invalid."""
        values = np.empty((len(programs), columns.shape[1]))
        arguments = (programs.tokens, programs.offsets, programs.theta, programs.constant_offsets)
        self._spread(
            lambda first, last: _values_of_some(*arguments, first, last, columns, values), len(programs)
        )
        return values

    def _spread(self, work_on: Callable[[int, int], None], count: int) -> None:
        if self._pool is None or count < 2 * self.threads:
            work_on(0, count)
            return
        edges = np.linspace(0, count, min(count, self.threads * CHUNKS_PER_THREAD) + 1).astype(int).tolist()
        list(self._pool.map(work_on, edges[:-1], edges[1:]))


def make_rows(
    columns: NDArray[np.float64],
    target: NDArray[np.float64],
    scale: NDArray[np.float64],
    weight: NDArray[np.float64],
    group: NDArray[np.int64],
    logarithmic: bool,
) -> Rows:
    """Sorts rows by group and cuts them into blocks; `columns` is (n_features, n_rows), `group` 0 to n_groups - 1."""
    order = np.argsort(group, kind="stable")
    counts = np.bincount(group)
    starts, sizes, owners = [], [], []
    begin = 0
    for owner, count in enumerate(counts.tolist()):
        for start in range(begin, begin + count, BLOCK_ROWS):
            starts.append(start)
            sizes.append(min(BLOCK_ROWS, begin + count - start))
            owners.append(owner)
        begin += count
    share = weight[order] / weight.sum()
    return Rows(
        np.ascontiguousarray(columns[:, order]),
        np.log(target[order]) if logarithmic else target[order].copy(),
        scale[order].copy(),
        share,
        np.array(starts, np.int64),
        np.array(sizes, np.int64),
        np.array(owners, np.int64),
        np.bincount(group[order], weights=share),
    )


def concatenate(
    tokens: Sequence[Sequence[int]],
    constants: Sequence[Sequence[float]],
    bounds: Sequence[Sequence[tuple[float, float]]],
    scaling: Sequence[Sequence[bool]],
) -> Programs:
    """Joins programs given as one sequence each of tokens, constants, bounds and scaling flags."""
    flat_bounds = np.array([pair for program in bounds for pair in program], dtype=np.float64).reshape(-1, 2)
    return Programs(
        np.fromiter((token for program in tokens for token in program), np.int64),
        np.cumsum([0, *map(len, tokens)]),
        np.fromiter((value for program in constants for value in program), np.float64),
        flat_bounds[:, 0].copy(),
        flat_bounds[:, 1].copy(),
        np.fromiter((flag for program in scaling for flag in program), np.bool_),
        np.cumsum([0, *map(len, constants)]),
    )


def constant_codes() -> tuple[int, int]:
    """The codes of the leaves that hold a constant."""
    return CONSTANT, WEIGHTED
