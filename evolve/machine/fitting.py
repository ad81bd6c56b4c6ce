"""Fit the constants of one program: Levenberg-Marquardt with bounds, and held-out losses per group of rows.

Observations are sorted by group, so that a held-out group is a range. Source of the method: Marquardt (1963),
damping scaled by the diagonal; bounds by an active set. The scratch holds the constants' bounds and pulls.
Everything here is compiled and releases the interpreter's lock.
"""

import math

import numpy as np
from trainlaw.evolve.machine.arrays import Rows, Work
from trainlaw.evolve.machine.evaluation import (
    compiled,
    differentiate,
    observe,
    set_constants,
    summing,
    weigh_chunk,
    weigh_residuals,
)

# Marquardt starts near Gauss-Newton; beyond the largest damping a step is too small to change the loss.
FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-3, 1e-12, 1e12
# Damping of the single step to the constants without a group.
HELD_OUT_DAMPING = 1e-3


@summing
def add_normal_equations(
    constants: int, first: int, last: int, slopes: np.ndarray, residual: np.ndarray,
    normal: np.ndarray, gradient: np.ndarray
) -> None:  # fmt: skip
    """Add J^T J of the observations `first` to `last` to `normal` (lower triangle), J^T r to `gradient`."""
    residuals = residual[first:last]
    for p in range(constants):
        own = slopes[p, first:last]
        total = 0.0
        for i in range(own.size):
            total += own[i] * residuals[i]
        gradient[p] += total
        for q in range(p + 1):
            other = slopes[q, first:last]
            product = 0.0
            for i in range(own.size):
                product += own[i] * other[i]
            normal[p, q] += product


@compiled
def clear_normal_equations(constants: int, work: Work) -> None:
    """Set the normal equations of `constants` unknowns to zero."""
    for p in range(constants):
        work.gradient[p] = 0.0
        for q in range(p + 1):
            work.normal[p, q] = 0.0


@compiled
def linearise(
    program: np.ndarray, theta: np.ndarray, rows: Rows, skip: int, limit: float, work: Work
) -> float:
    """Return loss plus pull at `theta` over all groups but `skip`, and set the normal equations.

    Infinite as soon as the sum exceeds `limit`: such a step is refused in any case.
    """
    clear_normal_equations(theta.size, work)
    set_constants(theta, work)
    total = 0.0
    work.loss[0] = 0.0
    for p in range(theta.size):
        distance = theta[p] - work.centre[p]
        total += work.pull[p] * distance * distance
        work.gradient[p] = work.pull[p] * distance
        work.normal[p, p] = work.pull[p]
    slopes = work.gathered if rows.summed else work.jacobian
    for chunk in range(rows.chunk_start.size - 1):
        n = rows.chunk_start[chunk + 1] - rows.chunk_start[chunk]
        observe(program, rows, chunk, 0, n, work)
        loss = weigh_chunk(rows, chunk, skip, work)
        work.loss[0] += loss
        total += loss
        if not total < limit:
            return math.inf
        if theta.size:
            differentiate(program, rows, chunk, work)
            add_normal_equations(theta.size, 0, n, slopes, work.residual, work.normal, work.gradient)
    return total


@compiled
def linearise_groups(program: np.ndarray, theta: np.ndarray, rows: Rows, work: Work) -> None:
    """Set the normal equations at `theta` of each group alone, without pulls, in `work.group_normal`."""
    constants = theta.size
    work.group_normal[:, :constants, :constants] = 0.0
    work.group_gradient[:, :constants] = 0.0
    set_constants(theta, work)
    slopes = work.gathered if rows.summed else work.jacobian
    group = 0
    for chunk in range(rows.chunk_start.size - 1):
        start, end = rows.chunk_start[chunk], rows.chunk_start[chunk + 1]
        observe(program, rows, chunk, 0, end - start, work)
        weigh_chunk(rows, chunk, -1, work)
        differentiate(program, rows, chunk, work)
        first = 0
        while first < end - start:
            while rows.group_start[group + 1] <= start + first:
                group += 1
            last = min(rows.group_start[group + 1], end) - start
            add_normal_equations(
                constants, first, last, slopes, work.residual,
                work.group_normal[group], work.group_gradient[group]
            )  # fmt: skip
            first = last


@compiled
def factorise(constants: int, damping: float, fixed: np.ndarray, work: Work) -> bool:
    """Compute the Cholesky factor of N + damping diag N in `work.system`; False if there is none.

    fixed : bool (n_constants,), unknowns that keep their value.
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
    """Compute `work.step` from the factor in `work.system` and the gradient, zero for `fixed` unknowns."""
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
    """Take a damped step from `theta` to `trial`; constants that push against a bound stay there.

    False if the normal equations have no factor.
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
    program: np.ndarray,
    theta: np.ndarray,
    rows: Rows,
    skip: int,
    steps: int,
    least_gain: float,
    work: Work,
) -> float:
    """Improve `theta` in place by Levenberg-Marquardt steps and return the final loss without pulls.

    At most `steps`; one that gains less than the share `least_gain` of the loss is the last. The normal
    equations at the final `theta` are left in `work`.
    """
    constants = theta.size
    best = linearise(program, theta, rows, skip, math.inf, work)
    if constants == 0 or not best < math.inf:
        return best
    damping = FIRST_DAMPING
    loss: float = work.loss[0]
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
            if gain <= least_gain * best:
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
def group_loss(program: np.ndarray, theta: np.ndarray, rows: Rows, group: int, work: Work) -> float:
    """Return the mean loss at `theta` over the observations of one group."""
    set_constants(theta, work)
    begin, end = rows.group_start[group], rows.group_start[group + 1]
    total = 0.0
    chunk = np.searchsorted(rows.chunk_start, begin, side="right") - 1
    while chunk < rows.chunk_start.size - 1 and rows.chunk_start[chunk] < end:
        start = rows.chunk_start[chunk]
        first, last = max(begin, start) - start, min(end, rows.chunk_start[chunk + 1]) - start
        observe(program, rows, chunk, first, last, work)
        total += weigh_residuals(rows, start, first, last, work)
        chunk += 1
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
    cases[:] = 0.0
    group = 0
    for chunk in range(rows.chunk_start.size - 1):
        start, end = rows.chunk_start[chunk], rows.chunk_start[chunk + 1]
        observe(program, rows, chunk, 0, end - start, work)
        first = 0
        while first < end - start:
            while rows.group_start[group + 1] <= start + first:
                group += 1
            last = min(rows.group_start[group + 1], end) - start
            cases[group] += weigh_residuals(rows, start, first, last, work)
            first = last
    for group in range(cases.size):
        cases[group] /= rows.group_weight[group]


@compiled
def held_out_losses(
    program: np.ndarray, theta: np.ndarray, rows: Rows, work: Work, cases: np.ndarray
) -> None:
    """Fill `cases` (n_groups,) with each group's loss at constants one step away, without that group.

    This is the infinitesimal jackknife with a full Newton step: leave-one-group-out at the cost of one
    more linearisation, exact where the residual is linear in the constants. Needs `work.normal` at
    `theta`.
    """
    constants = theta.size
    normal = work.normal[:constants, :constants].copy()
    gradient = work.gradient[:constants].copy()
    trial = theta.copy()
    linearise_groups(program, theta, rows, work)
    for group in range(cases.size):
        for p in range(constants):
            work.gradient[p] = gradient[p] - work.group_gradient[group, p]
            for q in range(p + 1):
                work.normal[p, q] = normal[p, q] - work.group_normal[group, p, q]
        if not move(theta, HELD_OUT_DAMPING, work, trial):
            trial[:] = theta
        cases[group] = group_loss(program, trial, rows, group, work)
