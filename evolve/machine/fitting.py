"""Fit the constants of one program: Levenberg-Marquardt with bounds, and held-out losses per group of rows.

Rows are sorted by group, so that a held-out group is a range. Source of the method: Marquardt (1963),
damping scaled by the diagonal; bounds by an active set. The scratch holds the constants' bounds and pulls.
Everything here is compiled and releases the interpreter's lock.
"""

import math
from typing import Any

import numpy as np
from trainlaw.evolve.machine.arrays import CONSTANT_LIMIT, Rows, Work
from trainlaw.evolve.machine.evaluation import (
    EQUATIONS,
    FIRST,
    NO_GROUP,
    SUMMING,
    compiled,
    differentiate,
    observe,
    set_constants,
    weigh_block,
    weigh_residuals,
)
from trainlaw.evolve.machine.evaluation import KERNELS as EVALUATION_KERNELS
from trainlaw.evolve.machine.kernel_calls import Kernel, flat_from

# Marquardt starts near Gauss-Newton; beyond the largest damping a step is too small to change the loss.
FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-3, 1e-12, 1e12
# A fit ends where its loss exceeds these multiples of the limit: at the start, after one step, and
# after two and more (docs/regressor.md).
RACE_MARGINS = (4.0, 3.0, 2.0)
LAST_MARGIN = 2
# Rows of a Jacobian that are multiplied by all others together.
TILE = 6
# Damping of the single step to the constants without a group.
HELD_OUT_DAMPING = 1e-3


def add_products(
    address: int,
    slopes: np.ndarray,
    stride: int,
    residuals: np.ndarray,
    n: int,
    constants: int,
    normal: np.ndarray,
    gradient: np.ndarray,
) -> float:
    """Add J^T J of `n` rows to `normal` (lower triangle), J^T r to `gradient`.

    slopes : J^T, row after row of `stride` numbers.
    """
    for p in range(constants):
        total = 0.0
        for i in range(n):
            total += slopes[p * stride + i] * residuals[i]
        gradient[p] += total
    # A few rows at a time stay in the first-level cache while all others pass.
    for tile in range(0, constants, TILE):
        for p in range(tile, constants):
            for q in range(tile, min(tile + TILE, p + 1)):
                product = 0.0
                for i in range(n):
                    product += slopes[p * stride + i] * slopes[q * stride + i]
                normal[p * CONSTANT_LIMIT + q] += product
    return 0.0


KERNELS = EVALUATION_KERNELS | {EQUATIONS: Kernel(add_products, "ipipiipp", SUMMING)}
call_products = KERNELS[EQUATIONS].call


@compiled
def linearise(
    program: np.ndarray, theta: np.ndarray, rows: Rows, skip: int, limit: float, work: Work
) -> float:
    """Return loss plus pull at `theta` over all groups but `skip`, and set the normal equations.

    Infinite as soon as the sum exceeds `limit`: such a step is refused in any case.
    """
    set_constants(theta, work)
    total = 0.0
    work.loss[0] = 0.0
    for p in range(theta.size):
        for q in range(p):
            work.normal[p, q] = 0.0
        distance = theta[p] - work.centre[p]
        total += work.pull[p] * distance * distance
        work.gradient[p] = work.pull[p] * distance
        work.normal[p, p] = work.pull[p]
    slopes = flat_from(work.jacobian, 0, 0)
    for block in range(rows.blocks):
        n = rows.block_start[block + 1] - rows.block_start[block]
        observe(program, rows, block, FIRST, n, work)
        loss = weigh_block(rows, block, skip, work)
        work.loss[0] += loss
        total += loss
        if not total < limit:
            return math.inf
        if theta.size:
            differentiate(program, rows, block, work)
            call_products(
                work.kernels[EQUATIONS],
                slopes,
                work.jacobian.shape[1],
                flat_from(work.residual, 0, 0),
                n,
                theta.size,
                flat_from(work.normal, 0, 0),
                flat_from(work.gradient, 0, 0),
            )
    return total


@compiled
def linearise_groups(program: np.ndarray, theta: np.ndarray, rows: Rows, work: Work) -> float:
    """Set the normal equations at `theta` of each group alone, without pulls, in `work.group_normal`.

    Return the loss of all groups.
    """
    constants = theta.size
    total = 0.0
    for group in range(rows.groups):
        for p in range(constants):
            work.group_gradient[group, p] = 0.0
            for q in range(p + 1):
                work.group_normal[group, p * CONSTANT_LIMIT + q] = 0.0
    set_constants(theta, work)
    group = 0
    for block in range(rows.blocks):
        start, end = rows.block_start[block], rows.block_start[block + 1]
        observe(program, rows, block, FIRST, end - start, work)
        total += weigh_block(rows, block, NO_GROUP, work)
        differentiate(program, rows, block, work)
        first = 0
        while first < end - start:
            while rows.group_start[group + 1] <= start + first:
                group += 1
            last = min(rows.group_start[group + 1], end) - start
            call_products(
                work.kernels[EQUATIONS],
                flat_from(work.jacobian, 0, first),
                work.jacobian.shape[1],
                flat_from(work.residual, 0, first),
                last - first,
                constants,
                flat_from(work.group_normal, group, 0),
                flat_from(work.group_gradient, group, 0),
            )
            first = last
    return total


@compiled
def factorise(constants: int, damping: float, work: Work) -> bool:
    """Compute the Cholesky factor of N + damping diag N in `work.system`; False if there is none.

    Unknowns where `work.fixed` is 1 keep their value.
    """
    system, fixed = work.system, work.fixed
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
def substitute_back(constants: int, work: Work) -> None:
    """Compute `work.step` from the factor in `work.system` and the gradient, zero for fixed unknowns."""
    system, step = work.system, work.step
    for p in range(constants):
        step[p] = 0.0 if work.fixed[p] else -work.gradient[p]
        for k in range(p):
            step[p] -= system[p, k] * step[k]
        step[p] /= system[p, p]
    for p in range(constants - 1, -1, -1):
        for k in range(p + 1, constants):
            step[p] -= system[k, p] * step[k]
        step[p] /= system[p, p]


@compiled
def move(theta: np.ndarray, damping: float, work: Work) -> bool:
    """Take a damped step from `theta` to `work.trial`; constants that push against a bound stay there.

    False if the normal equations have no factor.
    """
    constants = theta.size
    lower, upper = work.lower, work.upper
    for p in range(constants):
        outward = work.gradient[p]
        work.fixed[p] = (theta[p] <= lower[p] and outward >= 0.0) or (theta[p] >= upper[p] and outward <= 0.0)
    if not factorise(constants, damping, work):
        return False
    substitute_back(constants, work)
    for p in range(constants):
        work.trial[p] = min(max(theta[p] + work.step[p], lower[p]), upper[p])
    return True


@compiled
def keep_equations(constants: int, work: Any) -> None:
    """Copy the normal equations to `work.kept_normal` and `work.kept_gradient`, of any scratch with both."""
    for p in range(constants):
        work.kept_gradient[p] = work.gradient[p]
        for q in range(p + 1):
            work.kept_normal[p, q] = work.normal[p, q]


@compiled
def restore_equations(constants: int, work: Work) -> None:
    """Copy the kept normal equations back."""
    for p in range(constants):
        work.gradient[p] = work.kept_gradient[p]
        for q in range(p + 1):
            work.normal[p, q] = work.kept_normal[p, q]


@compiled
def fit_constants(
    program: np.ndarray,
    theta: np.ndarray,
    rows: Rows,
    skip: int,
    steps: int,
    least_gain: float,
    limit: float,
    work: Work,
) -> float:
    """Improve `theta` in place by Levenberg-Marquardt steps and return the final loss without pulls.

    At most `steps`; one that gains less than the share `least_gain` of the loss is the last, as is one whose
    loss is so far above `limit` that further ones hardly come below. The normal equations at the final
    `theta` are left in `work`.
    """
    constants = theta.size
    trial = work.trial[:constants]
    best = math.inf
    loss = math.inf
    damping = FIRST_DAMPING
    # The first pass only linearises, so that the code of a linearisation is compiled once.
    for step in range(steps + 1):
        if step and rows.stop[0]:
            break
        now = math.inf
        if step == 0:
            for p in range(constants):
                trial[p] = theta[p]
        if step == 0 or move(theta, damping, work):
            most = best if step else RACE_MARGINS[0] * limit
            now = linearise(program, trial, rows, skip, most, work)
        if step == 0 and (constants == 0 or not now < math.inf):
            return now
        if now < best:
            gain = best - now
            for p in range(constants):
                theta[p] = trial[p]
            best = now
            loss = work.loss[0]
            keep_equations(constants, work)
            if gain <= least_gain * best or best > RACE_MARGINS[min(step, LAST_MARGIN)] * limit:
                break
            if step:
                damping = max(damping * 0.1, LEAST_DAMPING)
        else:
            # The refused trial has overwritten the equations of the constants that stay.
            restore_equations(constants, work)
            damping *= 10.0
            if damping > MOST_DAMPING:
                break
    return loss


@compiled
def group_loss(program: np.ndarray, theta: np.ndarray, rows: Rows, group: int, work: Work) -> float:
    """Return the mean loss at `theta` over the rows of one group."""
    set_constants(theta, work)
    begin, end = rows.group_start[group], rows.group_start[group + 1]
    total = 0.0
    block = 0
    while rows.block_start[block + 1] <= begin:
        block += 1
    while block < rows.blocks and rows.block_start[block] < end:
        start = rows.block_start[block]
        first, last = max(begin, start) - start, min(end, rows.block_start[block + 1]) - start
        observe(program, rows, block, first, last, work)
        total += weigh_residuals(rows, start, start + first, start + last, work)
        block += 1
    if not total < math.inf:
        return math.inf
    mean: float = total / rows.group_weight[group]
    return mean


@compiled
def losses_per_group(
    program: np.ndarray, theta: np.ndarray, rows: Rows, work: Work, cases: np.ndarray
) -> None:
    """Fill `cases` (n_groups,) with the mean loss of each group at `theta`."""
    set_constants(theta, work)
    for group in range(cases.size):
        cases[group] = 0.0
    group = 0
    for block in range(rows.blocks):
        start, end = rows.block_start[block], rows.block_start[block + 1]
        observe(program, rows, block, FIRST, end - start, work)
        first = 0
        while first < end - start:
            while rows.group_start[group + 1] <= start + first:
                group += 1
            last = min(rows.group_start[group + 1], end) - start
            cases[group] += weigh_residuals(rows, start, start + first, start + last, work)
            first = last
    for group in range(cases.size):
        cases[group] /= rows.group_weight[group]


@compiled
def held_out_losses(
    program: np.ndarray, theta: np.ndarray, rows: Rows, work: Work, cases: np.ndarray
) -> None:
    """Fill `cases` (n_groups,) with each group's loss at constants one step away, without that group.

    This is the infinitesimal jackknife with a full Newton step: leave-one-group-out at the cost of one
    linearisation, exact where the residual is linear in the constants. Needs the equations of all groups at
    `theta` in `work.kept_normal`, and those of each.
    """
    constants = theta.size
    for group in range(cases.size):
        for p in range(constants):
            work.gradient[p] = work.kept_gradient[p] - work.group_gradient[group, p]
            for q in range(p + 1):
                work.normal[p, q] = work.kept_normal[p, q] - work.group_normal[group, p * CONSTANT_LIMIT + q]
        if not move(theta, HELD_OUT_DAMPING, work):
            for p in range(constants):
                work.trial[p] = theta[p]
        cases[group] = group_loss(program, work.trial[:constants], rows, group, work)
