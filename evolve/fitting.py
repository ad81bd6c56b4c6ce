"""Fits the constants of one program: Levenberg-Marquardt with bounds, and held-out losses per group of rows.

Rows come in blocks that never cross a group, so that leaving a group out is leaving blocks out. Source of the
method: Marquardt (1963), damping scaled by the diagonal; bounds by an active set. The scratch holds the
constants' bounds and pulls. Everything here is compiled and releases the interpreter's lock.
"""

import math

import numpy as np
from trainlaw.evolve.arrays import Rows, Work
from trainlaw.evolve.evaluation import backward, compiled, forward, set_constants, summing, weigh_residuals

FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-3, 1e-12, 1e12
# A step that gains less than this share of the loss is the last one.
LEAST_GAIN = 1e-9
# Damping of the one step that leaves a group out.
HELD_OUT_DAMPING = 1e-3


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
def add_block(program: np.ndarray, rows: Rows, block: int, limit: float, work: Work) -> float:
    """Adds one block's normal equations at the constants set, and returns its loss; above `limit` only
    the loss.
    """
    shift, n = block * rows.columns.shape[0], rows.block_size[block]
    forward(program, shift, n, work)
    loss = weigh_residuals(rows, block, work)
    if loss < limit:
        backward(program, shift, n, work)
        add_normal_equations(work.sizes[1], n, work)
    return loss


@compiled
def linearise(
    program: np.ndarray, theta: np.ndarray, rows: Rows, skip: int, limit: float, work: Work
) -> float:
    """Loss and pull at `theta` over all groups but `skip`, and the normal equations; infinite beyond
    `limit`.
    """
    clear_normal_equations(theta.size, work)
    set_constants(theta, work)
    total = 0.0
    work.loss[0] = 0.0
    for p in range(theta.size):
        total += work.pull[p] * theta[p] * theta[p]
        work.gradient[p] = work.pull[p] * theta[p]
        work.normal[p, p] = work.pull[p]
    for block in range(rows.block_start.size):
        if rows.block_group[block] != skip:
            loss = add_block(program, rows, block, limit - total, work)
            work.loss[0] += loss
            total += loss
            if not total < limit:
                return math.inf
    return total


@compiled
def factorise(constants: int, damping: float, fixed: np.ndarray, work: Work) -> bool:
    """Cholesky factor of N + damping diag N in `work.system`, `fixed` unknowns left out; False if there
    is none.
    """
    system = work.system
    for p in range(constants):
        for q in range(p + 1):
            total = 0.0 if fixed[p] or fixed[q] else work.normal[p, q]
            if p == q:
                total = 1.0 if fixed[p] else total * (1.0 + damping) + 1e-300
            for k in range(q):
                total -= system[p, k] * system[q, k]
            if p != q:
                system[p, q] = total / system[q, q]
            elif total > 0.0 and total < math.inf:
                system[p, p] = math.sqrt(total)
            else:
                return False
    return True


@compiled
def substitute_back(constants: int, fixed: np.ndarray, work: Work) -> None:
    """The step that the factor in `work.system` gives for the gradient, zero for `fixed` unknowns."""
    system, step = work.system, work.step
    for p in range(constants):
        step[p] = 0.0 if fixed[p] else -work.gradient[p]
        for k in range(p):
            step[p] -= system[p, k] * step[k]
        step[p] /= system[p, p]
    for p in range(constants - 1, -1, -1):
        for k in range(p + 1, constants):
            step[p] -= system[k, p] * step[k]
        step[p] /= system[p, p]


@compiled
def move(theta: np.ndarray, damping: float, work: Work, trial: np.ndarray) -> bool:
    """Damped step from `theta` into `trial`, constants that push against a bound held there; False if
    none exists.
    """
    constants = theta.size
    lower, upper = work.lower, work.upper
    fixed = np.zeros(constants, np.bool_)
    for p in range(constants):
        outward = work.gradient[p]
        fixed[p] = (theta[p] <= lower[p] and outward >= 0.0) or (theta[p] >= upper[p] and outward <= 0.0)
    if not factorise(constants, damping, fixed, work):
        return False
    substitute_back(constants, fixed, work)
    for p in range(constants):
        trial[p] = min(max(theta[p] + work.step[p], lower[p]), upper[p])
    return True


@compiled
def fit_constants(
    program: np.ndarray, theta: np.ndarray, rows: Rows, skip: int, steps: int, work: Work
) -> float:
    """Improves `theta` in place by at most `steps` Levenberg-Marquardt steps; returns the loss it ends
    with, without pulls.

    Leaves the normal equations at the final `theta` in `work`.
    """
    constants = theta.size
    best = linearise(program, theta, rows, skip, math.inf, work)
    if constants == 0 or not best < math.inf:
        return best
    damping = FIRST_DAMPING
    loss = work.loss[0]
    trial = theta.copy()
    normal = work.normal[:constants, :constants].copy()
    gradient = work.gradient[:constants].copy()
    for _ in range(steps):
        now = math.inf
        if move(theta, damping, work, trial):
            now = linearise(program, trial, rows, skip, best, work)
        if now < best:
            gain = best - now
            theta[:] = trial
            best = now
            loss = work.loss[0]
            normal[:, :] = work.normal[:constants, :constants]
            gradient[:] = work.gradient[:constants]
            damping = max(damping * 0.1, LEAST_DAMPING)
            if gain <= LEAST_GAIN * best:
                break
        else:
            # The refused trial has overwritten the equations of the constants that stay.
            work.normal[:constants, :constants] = normal
            work.gradient[:constants] = gradient
            damping *= 10.0
            if damping > MOST_DAMPING:
                break
    return loss


@compiled
def group_loss(
    program: np.ndarray, theta: np.ndarray, rows: Rows, first: int, last: int, work: Work
) -> float:
    """Mean loss at `theta` over the rows of the blocks `first` to `last`, all of one group."""
    set_constants(theta, work)
    total = 0.0
    for block in range(first, last):
        forward(program, block * rows.columns.shape[0], rows.block_size[block], work)
        total += weigh_residuals(rows, block, work)
    return total / rows.group_weight[rows.block_group[first]] if total < math.inf else math.inf


@compiled
def held_out_losses(
    program: np.ndarray, theta: np.ndarray, rows: Rows, work: Work, cases: np.ndarray
) -> None:
    """Loss of each group, (n_groups,), at constants moved by one step of the equations that leave this
    group out.

    This is the infinitesimal jackknife with a full Newton step: leave-one-group-out for the price of one
    more linearisation, exact where the residual is linear in the constants. Needs `work.normal` at
    `theta`.
    """
    constants = theta.size
    normal = work.normal[:constants, :constants].copy()
    gradient = work.gradient[:constants].copy()
    trial = theta.copy()
    first = 0
    for group in range(cases.size):
        clear_normal_equations(constants, work)
        set_constants(theta, work)
        last = first
        while last < rows.block_start.size and rows.block_group[last] == group:
            add_block(program, rows, last, math.inf, work)
            last += 1
        for p in range(constants):
            work.gradient[p] = gradient[p] - work.gradient[p]
            for q in range(p + 1):
                work.normal[p, q] = normal[p, q] - work.normal[p, q]
        if not move(theta, HELD_OUT_DAMPING, work, trial):
            trial[:] = theta
        cases[group] = group_loss(program, trial, rows, first, last, work)
        first = last
