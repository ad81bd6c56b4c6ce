"""Compiled loops over many programs: fit each, or evaluate each."""

import math

import numpy as np

from trainlaw.evolve.arrays import BLOCK_ROWS, Programs, Rows, Work, make_work
from trainlaw.evolve.evaluation import compiled, forward, link_children
from trainlaw.evolve.fitting import fit_constants, group_loss, held_out_losses

# What precedes the fit: nothing, one overall factor, or offset and slope.
NOTHING, RESCALE, AFFINE = 0, 1, 2
# Nodes in front of the program proper where there are offset and slope: add, offset, mul, slope.
AFFINE_NODES = 4


@compiled
def rescale(
    program: np.ndarray, theta: np.ndarray, scaling: np.ndarray, rows: Rows, skip: int, work: Work
) -> None:
    """Multiplies the scaling constants by the one factor that fits best."""
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
            if rows.logarithmic:
                above += weight * (target - math.log(value) if value > 0.0 else math.nan)
                below += weight
            else:
                weight *= rows.scale[start + i] ** 2
                above += weight * value * target
                below += weight * value * value
    factor = above / below
    if rows.logarithmic:
        factor = math.exp(factor)
    if factor > 0.0 and factor < math.inf:
        for p in range(theta.size):
            if scaling[p]:
                theta[p] *= factor


@compiled
def start_affine(program: np.ndarray, theta: np.ndarray, rows: Rows, skip: int, work: Work) -> None:
    """Sets offset and slope, the first two constants, by weighted linear regression on the program proper.

    Source of the one-pass means: Welford, 1962.
    """
    total = mean = mean_target = square = product = 0.0
    for block in range(rows.block_start.size):
        if rows.block_group[block] == skip:
            continue
        start, n = rows.block_start[block], rows.block_size[block]
        forward(program, theta, rows.columns, start, n, work)
        for i in range(n):
            value, target = work.values[AFFINE_NODES, i], rows.target[start + i]
            target = math.exp(target) if rows.logarithmic else target
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
def fit_some(
    programs: Programs,
    theta: np.ndarray,
    skip: np.ndarray,
    first: int,
    last: int,
    start_mode: int,
    steps: int,
    held_out: bool,
    rows: Rows,
    losses: np.ndarray,
    cases: np.ndarray,
) -> None:
    """Fits the programs `first` to `last`: `theta` (n_constants,) in place, `losses`, `cases` as in `FitResult`."""
    work = make_work()
    for index in range(first, last):
        program = programs.tokens[programs.offsets[index] : programs.offsets[index + 1]]
        begin, end = programs.constant_offsets[index], programs.constant_offsets[index + 1]
        own = theta[begin:end]
        work.lower[: own.size] = programs.lower[begin:end]
        work.upper[: own.size] = programs.upper[begin:end]
        work.pull[: own.size] = programs.pull[begin:end]
        link_children(program, work)
        if start_mode == RESCALE:
            rescale(program, own, programs.scaling[begin:end], rows, skip[index], work)
        elif start_mode == AFFINE:
            start_affine(program, own, rows, skip[index], work)
        losses[index] = fit_constants(program, own, rows, skip[index], steps, work)
        if held_out and losses[index] < math.inf:
            held_out_losses(program, own, rows, work, cases[index])
        elif not held_out:
            losses_per_group(program, own, rows, work, cases[index])


@compiled
def losses_per_group(
    program: np.ndarray, theta: np.ndarray, rows: Rows, work: Work, cases: np.ndarray
) -> None:
    """Mean loss of each group, (n_groups,), at `theta`."""
    first = 0
    for group in range(cases.size):
        last = first
        while last < rows.block_start.size and rows.block_group[last] == group:
            last += 1
        cases[group] = group_loss(program, theta, rows, first, last, work)
        first = last


@compiled
def values_of_some(
    programs: Programs, first: int, last: int, columns: np.ndarray, values: np.ndarray
) -> None:
    """Values (n_programs, n_rows) of the programs `first` to `last` on `columns` (n_features, n_rows)."""
    work = make_work()
    for index in range(first, last):
        program = programs.tokens[programs.offsets[index] : programs.offsets[index + 1]]
        own = programs.theta[programs.constant_offsets[index] : programs.constant_offsets[index + 1]]
        link_children(program, work)
        for start in range(0, columns.shape[1], BLOCK_ROWS):
            n = min(BLOCK_ROWS, columns.shape[1] - start)
            forward(program, own, columns, start, n, work)
            for i in range(n):
                values[index, start + i] = work.values[0, i]
