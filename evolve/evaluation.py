"""Values of a program on a block of rows, and their derivatives in its constants by one sweep back.

Reverse mode, so that the cost does not grow with the number of constants: Griewank and Walther, "Evaluating
Derivatives", 2008. Everything here is compiled and releases the interpreter's lock.
"""

import math

import numpy as np
from numba import njit

from trainlaw.evolve.arrays import CONSTANT, HUBER, SOFT_L1, VARIABLE, WEIGHTED, Rows, Work
from trainlaw.evolve.machine_kernels import apply_operator, apply_partials, is_binary
from trainlaw.evolve.vector_maths import logarithm

compiled = njit(error_model="numpy", nogil=True, cache=True)
# Sums may be reordered into vector lanes; that cannot make an invalid value valid.
summing = njit(error_model="numpy", nogil=True, cache=True, fastmath={"contract", "reassoc"})


@compiled
def link_children(program: np.ndarray, work: Work) -> int:
    """Children and liveness (holds a constant) of each node of a prefix program; returns the number of constants."""
    depth = 0
    constants = 0
    for node in range(program.size - 1, -1, -1):
        code = program[node] & 255
        if code <= WEIGHTED:
            work.live[node] = code != VARIABLE
            constants += code != VARIABLE
        else:
            depth -= 1
            a = work.stack[depth]
            b = a
            if is_binary(code):
                depth -= 1
                b = work.stack[depth]
            work.left[node] = a
            work.right[node] = b
            work.live[node] = work.live[a] or work.live[b]
        work.stack[depth] = node
        depth += 1
    return constants


@compiled
def forward(
    program: np.ndarray, theta: np.ndarray, columns: np.ndarray, start: int, n: int, work: Work
) -> None:
    """Values of every node on the rows `start` to `start + n`, into `work.values`."""
    values = work.values
    constant = theta.size
    for node in range(program.size - 1, -1, -1):
        code = program[node] & 255
        feature = program[node] >> 8
        if code == CONSTANT:
            constant -= 1
            for i in range(n):
                values[node, i] = theta[constant]
        elif code == VARIABLE:
            for i in range(n):
                values[node, i] = columns[feature, start + i]
        elif code == WEIGHTED:
            constant -= 1
            weight = theta[constant]
            for i in range(n):
                values[node, i] = weight * columns[feature, start + i]
        else:
            apply_operator(code, values, node, work.left[node], work.right[node], n)


@compiled
def backward(program: np.ndarray, columns: np.ndarray, start: int, n: int, work: Work) -> None:
    """Derivatives of the weighted residual in each constant, into `work.jacobian`; the root's adjoint is given."""
    constant = 0
    for node in range(program.size):
        code = program[node] & 255
        feature = program[node] >> 8
        if code == CONSTANT:
            for i in range(n):
                work.jacobian[constant, i] = work.adjoints[node, i]
            constant += 1
        elif code == WEIGHTED:
            for i in range(n):
                work.jacobian[constant, i] = work.adjoints[node, i] * columns[feature, start + i]
            constant += 1
        elif code != VARIABLE and work.live[node]:
            apply_partials(code, work.values, work.adjoints, node, work.left[node], work.right[node], n)


@summing
def weigh_residuals(rows: Rows, start: int, n: int, work: Work) -> float:
    """Weighted loss of one block; leaves weighted residuals and the root's adjoint behind. Not finite = invalid."""
    total = 0.0
    for i in range(n):
        value = work.values[0, i]
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
        root = math.sqrt(weight * share)
        work.residual[i] = r * root
        work.adjoints[0, i] = slope * root
        total += weight * rho
    return total
