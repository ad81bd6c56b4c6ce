"""Compiled loops over many programs: fit each, or evaluate each."""

import math

import numpy as np
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

# What precedes the fit: nothing, one overall factor, or offset and slope.
NOTHING, RESCALE, AFFINE = 0, 1, 2
# Values alone need less scratch than a fit: more rows a block.
VALUE_BLOCK_ROWS = 1024
# Blocks whose columns are copied together: a program is linked once for all of them.
VALUE_BLOCKS = 4


@compiled
def rescale(
    program: np.ndarray, theta: np.ndarray, scaling: np.ndarray, rows: Rows, skip: int, work: Work
) -> None:
    """Multiplies the scaling constants by the one factor that fits best."""
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
    """Numerator and denominator of the factor that fits the observations `first` to `last` best."""
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
    """Weight, means of value and target, square and product sums about them, of the observations `first` to
    `last` of the chunk that begins at `start`.
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
    """Sets offset and slope, the first two constants, by weighted linear regression on the program proper.

    Source of joining means: Chan, Golub and LeVeque, 1983.
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
    """Fits every `stride`-th program from `first` on: `theta` (n_constants,) in place, `losses`, `cases` as
    in `FitResult`.
    """
    work = make_work(rows.table, cases.shape[1])
    for index in range(first, programs.offsets.size - 1, stride):
        program = programs.tokens[programs.offsets[index] : programs.offsets[index + 1]]
        begin, end = programs.constant_offsets[index], programs.constant_offsets[index + 1]
        own = theta[begin:end]
        work.lower[: own.size] = programs.lower[begin:end]
        work.upper[: own.size] = programs.upper[begin:end]
        work.pull[: own.size] = programs.pull[begin:end]
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
    """Values (n_programs, n_rows) of every `stride`-th program from `first` on, on `columns` (n_features,
    n_rows).
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
