"""Compiled loops over many programs: fit each, or evaluate each."""

import math

import numpy as np
from trainlaw.evolve.arrays import Programs, Rows, Work, make_work
from trainlaw.evolve.evaluation import compiled, forward, link, set_constants
from trainlaw.evolve.fitting import fit_constants, group_loss, held_out_losses

# What precedes the fit: nothing, one overall factor, or offset and slope.
NOTHING, RESCALE, AFFINE = 0, 1, 2
# Nodes in front of the program proper where there are offset and slope: add, offset, mul, slope.
AFFINE_NODES = 4
# Values alone need less scratch than a fit: more rows a block.
VALUE_BLOCK_ROWS = 256
# Blocks whose columns are copied together: a program is linked once for all of them.
VALUE_BLOCKS = 16


@compiled
def rescale(
    program: np.ndarray, theta: np.ndarray, scaling: np.ndarray, rows: Rows, skip: int, work: Work
) -> None:
    """Multiplies the scaling constants by the one factor that fits best."""
    set_constants(theta, work)
    above = 0.0
    below = 0.0
    for block in range(rows.block_start.size):
        if rows.block_group[block] == skip:
            continue
        start, n = rows.block_start[block], rows.block_size[block]
        forward(program, block * rows.columns.shape[0], n, work)
        root = work.row[0] + work.moving[0] * block * rows.columns.shape[0]
        for i in range(n):
            value, target = work.scale[0] * work.arena[root, i], rows.target[start + i]
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
    set_constants(theta, work)
    total = mean = mean_target = square = product = 0.0
    for block in range(rows.block_start.size):
        if rows.block_group[block] == skip:
            continue
        start, n = rows.block_start[block], rows.block_size[block]
        forward(program, block * rows.columns.shape[0], n, work)
        root = work.row[AFFINE_NODES] + work.moving[AFFINE_NODES] * block * rows.columns.shape[0]
        for i in range(n):
            value, target = work.scale[AFFINE_NODES] * work.arena[root, i], rows.target[start + i]
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
    """Fits the programs `first` to `last`: `theta` (n_constants,) in place, `losses`, `cases` as in
    `FitResult`.
    """
    work = make_work(rows.table)
    for index in range(first, last):
        program = programs.tokens[programs.offsets[index] : programs.offsets[index + 1]]
        begin, end = programs.constant_offsets[index], programs.constant_offsets[index + 1]
        own = theta[begin:end]
        work.lower[: own.size] = programs.lower[begin:end]
        work.upper[: own.size] = programs.upper[begin:end]
        work.pull[: own.size] = programs.pull[begin:end]
        link(program, work)
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
    features, rows = columns.shape
    work = make_work(np.ones((features * VALUE_BLOCKS, VALUE_BLOCK_ROWS)))
    for start in range(0, rows, VALUE_BLOCKS * VALUE_BLOCK_ROWS):
        blocks = min(VALUE_BLOCKS, (rows - start + VALUE_BLOCK_ROWS - 1) // VALUE_BLOCK_ROWS)
        for block in range(blocks):
            begin = start + block * VALUE_BLOCK_ROWS
            n = min(VALUE_BLOCK_ROWS, rows - begin)
            work.arena[block * features : (block + 1) * features, :n] = columns[:, begin : begin + n]
        for index in range(first, last):
            program = programs.tokens[programs.offsets[index] : programs.offsets[index + 1]]
            own = programs.theta[programs.constant_offsets[index] : programs.constant_offsets[index + 1]]
            link(program, work)
            set_constants(own, work)
            for block in range(blocks):
                begin = start + block * VALUE_BLOCK_ROWS
                n = min(VALUE_BLOCK_ROWS, rows - begin)
                forward(program, block * features, n, work)
                scale, root = work.scale[0], work.row[0] + work.moving[0] * block * features
                for i in range(n):
                    values[index, begin + i] = scale * work.arena[root, i]
