"""Values of a program on a block of rows, and their derivatives with respect to its constants.

Reverse mode, so that the cost does not grow with the number of constants: Griewank and Walther, "Evaluating
Derivatives", 2008. Everything here is compiled and releases the interpreter's lock.
"""

import math

import numpy as np
from numba import njit
from trainlaw.evolve.machine.arrays import (
    CONSTANT,
    GROUPED,
    HUBER,
    LANES,
    NODE_LIMIT,
    SOFT_L1,
    VARIABLE,
    WEIGHTED,
    Rows,
    Work,
)
from trainlaw.evolve.machine.compiler_cache import CACHED
from trainlaw.evolve.machine.kernels import apply_operator, apply_partials, is_binary
from trainlaw.evolve.machine.vector_maths import logarithm

compiled = njit(error_model="numpy", nogil=True, cache=CACHED)
# Sums may be reordered into vector lanes; that cannot make an invalid value valid.
summing = njit(error_model="numpy", nogil=True, cache=CACHED, fastmath={"contract", "reassoc"})


@compiled
def link(program: np.ndarray, levels: np.ndarray, work: Work) -> None:
    """Find the arguments, the row and the constants of each node; `set_constants` then sets their values.

    levels : int64 (n_columns,), as in `Rows`.
    """
    ones = work.arena.shape[0] - 1 - NODE_LIMIT
    depth = 0
    for node in range(program.size - 1, -1, -1):
        code = program[node] & 255
        work.scale[node] = 1.0
        work.moving[node] = code == VARIABLE or code == WEIGHTED
        work.live[node] = code == CONSTANT or code == WEIGHTED or code == GROUPED
        if code > GROUPED:
            depth -= 1
            work.left[node] = work.right[node] = work.stack[depth]
            if is_binary(code):
                depth -= 1
                work.right[node] = work.stack[depth]
            work.live[node] = work.live[work.left[node]] or work.live[work.right[node]]
        work.stack[depth] = node
        depth += 1
    inner = 0
    constants = 0
    for node in range(program.size):
        code = program[node] & 255
        work.row[node] = ones if code == CONSTANT else program[node] >> 8
        work.first[node] = constants
        if code >= GROUPED:
            work.row[node] = ones + 1 + inner
            work.inner[inner] = node
            inner += 1
        if code == GROUPED:
            for level in range(levels[program[node] >> 8]):
                work.holder[constants] = node
                work.level[constants] = level
                constants += 1
        elif work.live[node] and code < GROUPED:
            work.holder[constants] = node
            work.level[constants] = -1
            constants += 1
    work.sizes[0] = inner
    work.sizes[1] = constants


@compiled
def share_rows(program: np.ndarray, work: Work) -> None:
    """Reuse the row of a value that is no longer needed, so that few rows stay in the first-level cache.

    A row is never reused by the operation that reads it. For values alone: derivatives need every value.
    """
    first = work.arena.shape[0] - NODE_LIMIT
    free, taken, waiting = work.stack, 0, 0
    for k in range(work.sizes[0] - 1, -1, -1):
        node = work.inner[k]
        if waiting:
            waiting -= 1
            work.row[node] = free[waiting]
        else:
            work.row[node] = first + taken
            taken += 1
        code = program[node] & 255
        if code == GROUPED:
            continue
        a, b = work.left[node], work.right[node]
        if program[a] & 255 >= GROUPED:
            free[waiting] = work.row[a]
            waiting += 1
        if b != a and program[b] & 255 >= GROUPED:
            free[waiting] = work.row[b]
            waiting += 1


@compiled
def set_constants(theta: np.ndarray, work: Work) -> None:
    """Set the constants of the linked program to `theta` (n_constants,).

    A leaf is its constant times its row, a grouped constant the exponential of its level's constant.
    """
    for constant in range(theta.size):
        if work.level[constant] < 0:
            work.scale[work.holder[constant]] = theta[constant]
        else:
            work.effect[constant] = math.exp(theta[constant])


@compiled
def forward(program: np.ndarray, shift: int, first: int, last: int, work: Work) -> None:
    """Compute every operation on the rows `first` to `last` of one block.

    shift : row of the arena at which the block's columns begin. A leaf costs nothing: its row and its factor
    are read where it is used.
    """
    row, scale = work.row, work.scale
    for k in range(work.sizes[0] - 1, -1, -1):
        node = work.inner[k]
        code = program[node] & 255
        if code == GROUPED:
            levels = work.arena[shift + (program[node] >> 8), first:last]
            effects, out = work.effect[work.first[node] :], work.arena[row[node], first:last]
            for i in range(out.size):
                out[i] = effects[int(levels[i])]
            continue
        a, b = work.left[node], work.right[node]
        left, right = row[a] + work.moving[a] * shift, row[b] + work.moving[b] * shift
        apply_operator(code, work.arena, row[node], left, right, scale[a], scale[b], first, last)


@compiled
def backward(program: np.ndarray, shift: int, n: int, work: Work) -> None:
    """Compute the derivatives with respect to each constant on the first `n` rows of a block.

    They go into `work.jacobian`; the root's adjoint is given.
    """
    row, scale, live = work.row, work.scale, work.live
    for k in range(work.sizes[0]):
        node = work.inner[k]
        code = program[node] & 255
        if code == GROUPED or not live[node]:
            continue
        a, b = work.left[node], work.right[node]
        left, right = row[a] + work.moving[a] * shift, row[b] + work.moving[b] * shift
        apply_partials(
            code, work.arena, row[node], left, right, scale[a], scale[b], n,
            work.adjoints, node, a, b, live[a], live[b]
        )  # fmt: skip
    for constant in range(work.sizes[1]):
        node = work.holder[constant]
        slopes, adjoints = work.jacobian[constant], work.adjoints[node]
        values = work.arena[row[node] + work.moving[node] * shift]
        for i in range(n):
            slopes[i] = adjoints[i] * values[i]
        if work.level[constant] >= 0:
            labels = shift + (program[node] >> 8)
            for i in range(n):
                if int(work.arena[labels, i]) != work.level[constant]:
                    slopes[i] = 0.0


@compiled
def observe(program: np.ndarray, rows: Rows, chunk: int, first: int, last: int, work: Work) -> None:
    """Compute `work.value` of the observations `first` to `last` of a chunk; for sums, of the whole chunk."""
    if rows.summed:
        work.value[: rows.chunk_start[chunk + 1] - rows.chunk_start[chunk]] = 0.0
        for block in range(rows.chunk_block[chunk], rows.chunk_block[chunk + 1]):
            shift = block * rows.columns.shape[0]
            forward(program, shift, 0, rows.block_size[block], work)
            root = work.row[0] + work.moving[0] * shift
            for entry in range(rows.entry_start[block], rows.entry_start[block + 1]):
                value = rows.entry_count[entry] * work.arena[root, rows.entry_row[entry]]
                work.value[rows.entry_place[entry]] += work.scale[0] * value
    else:
        shift = chunk * rows.columns.shape[0]
        begin = first // LANES * LANES
        end = min((last + LANES - 1) // LANES * LANES, work.value.size)
        forward(program, shift, begin, end, work)
        values = work.arena[work.row[0] + work.moving[0] * shift, begin:end]
        factor, out = work.scale[0], work.value[begin:end]
        for i in range(out.size):
            out[i] = factor * values[i]


@compiled
def differentiate(program: np.ndarray, rows: Rows, chunk: int, work: Work) -> None:
    """Compute the derivatives of the weighted residuals of the chunk observed last.

    Into `work.gathered` for sums, else into `work.jacobian`, a row per constant.
    """
    n = rows.chunk_start[chunk + 1] - rows.chunk_start[chunk]
    constants = work.sizes[1]
    if not rows.summed:
        work.adjoints[0, :n] = work.factor[:n]
        work.adjoints[0, n:] = 0.0
        backward(program, chunk * rows.columns.shape[0], (n + LANES - 1) // LANES * LANES, work)
        return
    work.gathered[:constants, :n] = 0.0
    for block in range(rows.chunk_block[chunk], rows.chunk_block[chunk + 1]):
        size = rows.block_size[block]
        shift = block * rows.columns.shape[0]
        if rows.chunk_block[chunk + 1] - rows.chunk_block[chunk] > 1:
            forward(program, shift, 0, size, work)
        work.adjoints[0, :size] = 1.0
        backward(program, shift, size, work)
        for constant in range(constants):
            for entry in range(rows.entry_start[block], rows.entry_start[block + 1]):
                slope = rows.entry_count[entry] * work.jacobian[constant, rows.entry_row[entry]]
                work.gathered[constant, rows.entry_place[entry]] += slope
    for constant in range(constants):
        for i in range(n):
            work.gathered[constant, i] *= work.factor[i]


@summing
def weigh_residuals(rows: Rows, start: int, first: int, last: int, work: Work) -> float:
    """Return the weighted loss of the observations `first` to `last` of the chunk that begins at `start`.

    Weighted residuals and their slopes are left in `work`. Not finite = invalid.
    """
    total = 0.0
    values, residuals, factors = work.value[first:last], work.residual[first:last], work.factor[first:last]
    targets, weights = rows.target[start + first : start + last], rows.weight[start + first : start + last]
    scales = rows.scale[start + first : start + last]
    for i in range(values.size):
        if rows.logarithmic:
            r = logarithm(values[i]) - targets[i]
            slope = 1.0 / values[i]
        else:
            slope = scales[i]
            r = (values[i] - targets[i]) * slope
        size = math.fabs(r)
        rho = r * r
        share = 1.0
        if rows.robust == HUBER:
            far = size > rows.width
            rho = (2.0 * size - rows.width) * rows.width if far else rho
            share = rows.width / size if far else 1.0
        elif rows.robust == SOFT_L1:
            bend = math.sqrt(1.0 + rho / (rows.width * rows.width))
            rho = 2.0 * rows.width * rows.width * (bend - 1.0)
            share = 1.0 / bend
        factor = math.sqrt(weights[i] * share)
        residuals[i] = r * factor
        factors[i] = slope * factor
        total += weights[i] * rho
    return total


@compiled
def skipped_range(rows: Rows, start: int, n: int, skip: int) -> tuple[int, int]:
    """Return where the group `skip` begins and ends among the `n` observations of the chunk at `start`.

    An empty range at the end for -1, which skips nothing.
    """
    if skip < 0:
        return n, n
    begin = min(max(rows.group_start[skip] - start, 0), n)
    return begin, min(max(rows.group_start[skip + 1] - start, 0), n)


@compiled
def weigh_chunk(rows: Rows, chunk: int, skip: int, work: Work) -> float:
    """Return the weighted loss of a chunk without the group `skip` (-1 none), whose residuals become zero."""
    start, n = rows.chunk_start[chunk], rows.chunk_start[chunk + 1] - rows.chunk_start[chunk]
    begin, end = skipped_range(rows, start, n, skip)
    loss = weigh_residuals(rows, start, 0, begin, work)
    work.residual[begin:end] = 0.0
    work.factor[begin:end] = 0.0
    return loss + weigh_residuals(rows, start, end, n, work)
