"""Fits the constants of many programs: Levenberg-Marquardt with bounds, and held-out losses per group of rows.

A program is a slice of `tokens` in prefix order. A token is `code + 256 * feature`; codes 0 to 2 are leaves,
the operators follow (`trainlaw.evolve.machine_kernels`). Constants are numbered in prefix order.
Rows are sorted by group and cut into blocks that never cross a group, so that leaving a group out is
leaving blocks out. Everything here is compiled, releases the interpreter's lock and allocates per call only.
Source of the method: Marquardt (1963) with the damping scaled by the diagonal; bounds by an active set.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from trainlaw.evolve.machine_kernels import apply_operator, apply_partials, is_binary
from trainlaw.evolve.vector_maths import logarithm

CONSTANT, VARIABLE, WEIGHTED = 0, 1, 2
BLOCK_ROWS = 128
# Nodes and constants that one compiled workspace holds; longer programs are refused before they come here.
NODE_LIMIT = 256
CONSTANT_LIMIT = 64
SQUARES, HUBER, SOFT_L1 = 0, 1, 2

compiled = njit(error_model="numpy", nogil=True, cache=True)
# Sums may be reordered into vector lanes; that cannot make an invalid value valid.
summing = njit(error_model="numpy", nogil=True, cache=True, fastmath={"contract", "reassoc"})


class Rows(NamedTuple):
    """The data of one search in the order and the units in which the machine reads them.

    columns : float64 (n_features, n_rows); target : float64 (n_rows,), its logarithm where `logarithmic`;
    scale : float64 (n_rows,), what a difference is multiplied by; weight : float64 (n_rows,);
    block_start, block_size, block_group : int64 (n_blocks,); group_weight : float64 (n_groups,), sums of `weight`.
    """

    columns: np.ndarray
    target: np.ndarray
    scale: np.ndarray
    weight: np.ndarray
    block_start: np.ndarray
    block_size: np.ndarray
    block_group: np.ndarray
    group_weight: np.ndarray


class Loss(NamedTuple):
    """How a residual counts: `logarithmic` or linear, `robust` form (0 squares, 1 Huber, 2 soft L1), its `width`."""

    logarithmic: bool
    robust: int
    width: float


class Work(NamedTuple):
    """Scratch of one thread: node values and adjoints (nodes, block), Jacobian (constants, block), the small system."""

    values: np.ndarray
    adjoints: np.ndarray
    jacobian: np.ndarray
    residual: np.ndarray
    left: np.ndarray
    right: np.ndarray
    live: np.ndarray
    stack: np.ndarray
    normal: np.ndarray
    gradient: np.ndarray
    system: np.ndarray
    step: np.ndarray


@compiled
def make_work(nodes: int, constants: int, block_rows: int) -> Work:
    """Scratch for programs of at most `nodes` nodes and `constants` constants."""
    return Work(
        np.empty((nodes, block_rows)),
        np.empty((nodes, block_rows)),
        np.empty((constants, block_rows)),
        np.empty(block_rows),
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.bool_),
        np.zeros(nodes, np.int64),
        np.zeros((constants, constants)),
        np.zeros(constants),
        np.zeros((constants, constants)),
        np.zeros(constants),
    )


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
def weigh_residuals(rows: Rows, loss: Loss, start: int, n: int, work: Work) -> float:
    """Weighted loss of one block; leaves weighted residuals and the root's adjoint behind. Not finite = invalid."""
    total = 0.0
    for i in range(n):
        value = work.values[0, i]
        if loss.logarithmic:
            r = logarithm(value) - rows.target[start + i]
            slope = 1.0 / value
        else:
            slope = rows.scale[start + i]
            r = (value - rows.target[start + i]) * slope
        size = math.fabs(r)
        rho = r * r
        share = 1.0
        if loss.robust == HUBER:
            far = size > loss.width
            rho = (2.0 * size - loss.width) * loss.width if far else rho
            share = loss.width / size if far else 1.0
        elif loss.robust == SOFT_L1:
            bend = math.sqrt(1.0 + rho / (loss.width * loss.width))
            rho = 2.0 * loss.width * loss.width * (bend - 1.0)
            share = 1.0 / bend
        weight = rows.weight[start + i]
        root = math.sqrt(weight * share)
        work.residual[i] = r * root
        work.adjoints[0, i] = slope * root
        total += weight * rho
    return total


@summing
def add_normal_equations(constants: int, n: int, work: Work) -> None:
    """Adds one block's J^T J to `work.normal` (lower triangle) and J^T r to `work.gradient`."""
    jacobian = work.jacobian
    for p in range(constants):
        total = 0.0
        for i in range(n):
            total += jacobian[p, i] * work.residual[i]
        work.gradient[p] += total
        for q in range(p + 1):
            product = 0.0
            for i in range(n):
                product += jacobian[p, i] * jacobian[q, i]
            work.normal[p, q] += product


@compiled
def clear_normal_equations(constants: int, work: Work) -> None:
    """Sets the normal equations of `constants` unknowns to zero."""
    for p in range(constants):
        work.gradient[p] = 0.0
        for q in range(p + 1):
            work.normal[p, q] = 0.0


@compiled
def linearise(
    program: np.ndarray, theta: np.ndarray, rows: Rows, loss: Loss, skip: int, limit: float, work: Work
) -> float:
    """Loss at `theta` over all groups but `skip`, with the normal equations; infinite once it exceeds `limit`."""
    clear_normal_equations(theta.size, work)
    total = 0.0
    for block in range(rows.block_start.size):
        if rows.block_group[block] == skip:
            continue
        start, n = rows.block_start[block], rows.block_size[block]
        forward(program, theta, rows.columns, start, n, work)
        total += weigh_residuals(rows, loss, start, n, work)
        if not total < limit:
            return math.inf
        backward(program, rows.columns, start, n, work)
        add_normal_equations(theta.size, n, work)
    return total


@compiled
def solve_damped(constants: int, damping: float, fixed: np.ndarray, work: Work) -> bool:
    """Solves (N + damping diag N) step = -gradient by Cholesky, `fixed` unknowns left out; False if not possible."""
    system, step = work.system, work.step
    for p in range(constants):
        for q in range(p):
            system[p, q] = 0.0 if fixed[p] or fixed[q] else work.normal[p, q]
        system[p, p] = 1.0 if fixed[p] else work.normal[p, p] * (1.0 + damping) + 1e-300
        step[p] = 0.0 if fixed[p] else -work.gradient[p]
    for p in range(constants):
        for q in range(p + 1):
            total = system[p, q]
            for k in range(q):
                total -= system[p, k] * system[q, k]
            if p != q:
                system[p, q] = total / system[q, q]
            elif total > 0.0 and total < math.inf:
                system[p, p] = math.sqrt(total)
            else:
                return False
    for p in range(constants):
        for k in range(p):
            step[p] -= system[p, k] * step[k]
        step[p] /= system[p, p]
    for p in range(constants - 1, -1, -1):
        for k in range(p + 1, constants):
            step[p] -= system[k, p] * step[k]
        step[p] /= system[p, p]
    return True


@compiled
def move(
    theta: np.ndarray, lower: np.ndarray, upper: np.ndarray, damping: float, work: Work, trial: np.ndarray
) -> bool:
    """Damped step from `theta` into `trial`, constants that push against a bound held there; False if none exists."""
    constants = theta.size
    fixed = np.zeros(constants, np.bool_)
    for p in range(constants):
        outward = work.gradient[p]
        fixed[p] = (theta[p] <= lower[p] and outward >= 0.0) or (theta[p] >= upper[p] and outward <= 0.0)
    if not solve_damped(constants, damping, fixed, work):
        return False
    for p in range(constants):
        trial[p] = min(max(theta[p] + work.step[p], lower[p]), upper[p])
    return True


@compiled
def fit_constants(
    program: np.ndarray,
    theta: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    rows: Rows,
    loss: Loss,
    skip: int,
    steps: int,
    work: Work,
) -> float:
    """Improves `theta` in place by at most `steps` Levenberg-Marquardt steps; returns the loss it ends with."""
    best = linearise(program, theta, rows, loss, skip, math.inf, work)
    if theta.size == 0 or not best < math.inf:
        return best
    damping = 1e-3
    trial = theta.copy()
    normal = work.normal[: theta.size, : theta.size].copy()
    gradient = work.gradient[: theta.size].copy()
    for _ in range(steps):
        if not move(theta, lower, upper, damping, work, trial):
            damping = max(damping * 100.0, 1e-6)
            if damping > 1e12:
                break
            continue
        now = linearise(program, trial, rows, loss, skip, best, work)
        if now < best:
            gain = best - now
            theta[:] = trial
            best = now
            normal[:, :] = work.normal[: theta.size, : theta.size]
            gradient[:] = work.gradient[: theta.size]
            damping = max(damping * 0.1, 1e-12)
            if gain <= 1e-9 * best or best < 1e-30:
                break
        else:
            work.normal[: theta.size, : theta.size] = normal
            work.gradient[: theta.size] = gradient
            damping *= 10.0
            if damping > 1e12:
                break
    # The last trial may have been refused half-way; leave the equations of the constants that stay.
    work.normal[: theta.size, : theta.size] = normal
    work.gradient[: theta.size] = gradient
    return best


@compiled
def group_loss(
    program: np.ndarray, theta: np.ndarray, rows: Rows, loss: Loss, group: int, work: Work
) -> float:
    """Mean loss at `theta` over the rows of one group."""
    total = 0.0
    for block in range(rows.block_start.size):
        if rows.block_group[block] == group:
            start, n = rows.block_start[block], rows.block_size[block]
            forward(program, theta, rows.columns, start, n, work)
            total += weigh_residuals(rows, loss, start, n, work)
    return total / rows.group_weight[group] if total < math.inf else math.inf


@compiled
def held_out_losses(
    program: np.ndarray,
    theta: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    rows: Rows,
    loss: Loss,
    work: Work,
    cases: np.ndarray,
) -> None:
    """Loss of each group at constants moved by one step of the equations that leave this group out.

    This is the infinitesimal jackknife with a full Newton step: leave-one-group-out for the price of one more
    linearisation, exact where the residual is linear in the constants. Needs `work.normal` at `theta`.
    """
    constants = theta.size
    normal = work.normal[:constants, :constants].copy()
    gradient = work.gradient[:constants].copy()
    trial = theta.copy()
    first = 0
    for group in range(cases.size):
        clear_normal_equations(constants, work)
        block = first
        while block < rows.block_start.size and rows.block_group[block] == group:
            start, n = rows.block_start[block], rows.block_size[block]
            forward(program, theta, rows.columns, start, n, work)
            weigh_residuals(rows, loss, start, n, work)
            backward(program, rows.columns, start, n, work)
            add_normal_equations(constants, n, work)
            block += 1
        for p in range(constants):
            work.gradient[p] = gradient[p] - work.gradient[p]
            for q in range(p + 1):
                work.normal[p, q] = normal[p, q] - work.normal[p, q]
            # A little of the whole keeps a constant that only this group determines where it is.
            work.normal[p, p] += 1e-3 * normal[p, p]
        if not move(theta, lower, upper, 1e-6, work, trial):
            trial[:] = theta
        total = 0.0
        for inner in range(first, block):
            start, n = rows.block_start[inner], rows.block_size[inner]
            forward(program, trial, rows.columns, start, n, work)
            total += weigh_residuals(rows, loss, start, n, work)
        cases[group] = total / rows.group_weight[group] if total < math.inf else math.inf
        first = block
