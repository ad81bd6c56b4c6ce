"""Values of a program on a block of rows, and their derivatives in its constants by one sweep back.

Reverse mode, so that the cost does not grow with the number of constants: Griewank and Walther, "Evaluating
Derivatives", 2008. Everything here is compiled and releases the interpreter's lock.
"""

import math

import numpy as np
from numba import njit
from trainlaw.evolve.arrays import CONSTANT, HUBER, NODE_LIMIT, SOFT_L1, VARIABLE, WEIGHTED, Rows, Work
from trainlaw.evolve.machine_kernels import apply_operator, apply_partials, is_binary
from trainlaw.evolve.vector_maths import logarithm

compiled = njit(error_model="numpy", nogil=True, cache=True)
# Sums may be reordered into vector lanes; that cannot make an invalid value valid.
summing = njit(error_model="numpy", nogil=True, cache=True, fastmath={"contract", "reassoc"})


@compiled
def link(program: np.ndarray, work: Work) -> None:
    """Finds arguments, rows and liveness of each node of a program; constants come with `set_constants`."""
    ones = work.arena.shape[0] - 1 - NODE_LIMIT
    depth = 0
    inner = 0
    constants = 0
    for node in range(program.size - 1, -1, -1):
        code = program[node] & 255
        work.scale[node] = 1.0
        work.moving[node] = code == VARIABLE or code == WEIGHTED
        work.live[node] = code == CONSTANT or code == WEIGHTED
        if code == CONSTANT:
            work.row[node] = ones
        elif code <= WEIGHTED:
            work.row[node] = program[node] >> 8
        else:
            work.row[node] = ones + 1 + inner
            depth -= 1
            work.left[node] = work.right[node] = work.stack[depth]
            if is_binary(code):
                depth -= 1
                work.right[node] = work.stack[depth]
            work.live[node] = work.live[work.left[node]] or work.live[work.right[node]]
            inner += 1
        constants += work.live[node] and code <= WEIGHTED
        work.stack[depth] = node
        depth += 1
    work.sizes[0] = inner
    work.sizes[1] = constants
    inner = 0
    constants = 0
    for node in range(program.size):
        code = program[node] & 255
        if code > WEIGHTED:
            work.inner[inner] = node
            inner += 1
        elif work.live[node]:
            work.holder[constants] = node
            constants += 1


@compiled
def set_constants(theta: np.ndarray, work: Work) -> None:
    """Makes `theta` (n_constants,) the constants of the linked program: a leaf is its constant times its
    row.
    """
    for constant in range(theta.size):
        work.scale[work.holder[constant]] = theta[constant]


@compiled
def forward(program: np.ndarray, shift: int, n: int, work: Work) -> None:
    """Values of every operation on the `n` rows of the block whose columns begin at row `shift` of the arena.

    A leaf costs nothing: its argument's row and factor are read where it is used.
    """
    row, scale = work.row, work.scale
    for k in range(work.sizes[0] - 1, -1, -1):
        node = work.inner[k]
        a, b = work.left[node], work.right[node]
        left, right = row[a] + work.moving[a] * shift, row[b] + work.moving[b] * shift
        apply_operator(program[node] & 255, work.arena, row[node], left, right, scale[a], scale[b], n)


@compiled
def backward(program: np.ndarray, shift: int, n: int, work: Work) -> None:
    """Derivatives of the weighted residual in each constant, into `work.jacobian`; the root's adjoint is
    given.
    """
    row, scale = work.row, work.scale
    for k in range(work.sizes[0]):
        node = work.inner[k]
        if not work.live[node]:
            continue
        a, b = work.left[node], work.right[node]
        left, right = row[a] + work.moving[a] * shift, row[b] + work.moving[b] * shift
        code = program[node] & 255
        apply_partials(
            code, work.arena, row[node], left, right, scale[a], scale[b], n, work.adjoints, node, a, b
        )
    for constant in range(work.sizes[1]):
        node = work.holder[constant]
        place = row[node] + work.moving[node] * shift
        for i in range(n):
            work.jacobian[constant, i] = work.adjoints[node, i] * work.arena[place, i]


@summing
def weigh_residuals(rows: Rows, block: int, work: Work) -> float:
    """Weighted loss of one block; leaves weighted residuals and the root's adjoint behind. Not finite =
    invalid.
    """
    total = 0.0
    start, n = rows.block_start[block], rows.block_size[block]
    root = work.row[0] + work.moving[0] * block * rows.columns.shape[0]
    for i in range(n):
        value = work.scale[0] * work.arena[root, i]
        if rows.logarithmic:
            r = logarithm(value) - rows.target[start + i]
            slope = 1.0 / value
        else:
            slope = rows.scale[start + i]
            r = (value - rows.target[start + i]) * slope
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
        weight = rows.weight[start + i]
        factor = math.sqrt(weight * share)
        work.residual[i] = r * factor
        work.adjoints[0, i] = slope * factor
        total += weight * rho
    return total
