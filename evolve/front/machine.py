"""Fit genomes, compiled: Levenberg-Marquardt with bounds, and losses of held-out groups.

A formula of this shape has slopes in closed form: with respect to the logarithm of a weight they are its
terms, to an exponent its terms times the logarithm of the number. Numbers that differ by GPU and stack alone
are raised to powers once per cell of rows that share them. Marquardt (1963), Huber's loss of log ratios
(Huber, 1964); a held-out group's constants are one Newton step away (Beirami et al., 2017).
Everything here releases the interpreter's lock.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from trainlaw.evolve.machine.evaluation import compiled, entry
from trainlaw.evolve.machine.fitting import keep_equations

#: Most terms, powers and constants of a genome.
MOST_TERMS = MOST_POWERS = MOST_CONSTANTS = 48
# Marquardt starts near Gauss-Newton; beyond the largest damping a step no longer changes the loss.
FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-3, 1e-9, 1e8
# A fit whose mean root exceeds its limit by these factors after two and after four steps ends.
_EARLY, _EARLY_MARGIN, _LATE, _LATE_MARGIN = 2, 1.7, 4, 1.4
# Sums may be reordered into vector lanes.
_FAST = {"contract", "nsz", "arcp", "reassoc"}


part = partial(compiled, fastmath=_FAST)


class FrontRows(NamedTuple):
    """Observations, sorted by group and within it by cell; all that a fit reads.

    amounts : (n_amounts, n_rows), seconds. side : (n_amounts,), 0 for what counts in any case, 1 and 2 for
    alternatives, of which the faster one counts. numbers : (n_factors, n_cells), what exponents multiply.
    cell : (n_rows,). base, floor, after : (n_rows,), seconds. target : (n_rows,), logarithms. weight :
    (n_rows,), of sum 1. width : of Huber's loss. first_row, first_cell : (n_groups + 1,). group_weight :
    (n_groups,).
    """

    amounts: np.ndarray
    side: np.ndarray
    numbers: np.ndarray
    cell: np.ndarray
    base: np.ndarray
    floor: np.ndarray
    after: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    width: float
    first_row: np.ndarray
    first_cell: np.ndarray
    group_weight: np.ndarray


class GenomeArrays(NamedTuple):
    """Genomes as arrays, one row each; made by `encode`.

    terms, powers, constants : how many. amount, rule, weight : per term its place, its weight by rule, and
    the place of its free weight or -1. group : per term which product of factors multiplies it. groups : how
    many products. factor, exponent, free, inside : per power its place, its fixed exponent, the place of its
    free one or -1, and per product whether it is part of it. theta, low, high, centre, pull : per constant.
    """

    terms: np.ndarray
    powers: np.ndarray
    constants: np.ndarray
    amount: np.ndarray
    rule: np.ndarray
    weight: np.ndarray
    group: np.ndarray
    groups: np.ndarray
    factor: np.ndarray
    exponent: np.ndarray
    free: np.ndarray
    inside: np.ndarray
    theta: np.ndarray
    low: np.ndarray
    high: np.ndarray
    centre: np.ndarray
    pull: np.ndarray


class FrontWork(NamedTuple):
    """Scratch of one thread.

    products : of factors, (terms, n_cells), and spread, (terms, widest group). slopes : (constants, widest
    group), term : (terms, same), sides : (2, same), the others (same,).
    normals, gradients : of each group. normal, gradient : of all. kept : those at the best constants.
    level : (1,), mean over the groups of the roots of their losses. stale : (1,), whether the equations are
    of other constants than the best.
    """

    products: np.ndarray
    spread: np.ndarray
    slopes: np.ndarray
    term: np.ndarray
    sides: np.ndarray
    total: np.ndarray
    share: np.ndarray
    residual: np.ndarray
    trust: np.ndarray
    normals: np.ndarray
    gradients: np.ndarray
    normal: np.ndarray
    gradient: np.ndarray
    kept_normal: np.ndarray
    kept_gradient: np.ndarray
    factorised: np.ndarray
    step: np.ndarray
    trial: np.ndarray
    fixed: np.ndarray
    level: np.ndarray
    stale: np.ndarray


def work_for(rows: FrontRows) -> FrontWork:
    """Return scratch for the widest group of the rows."""
    width = int(np.diff(rows.first_row).max())
    groups = rows.group_weight.size
    one, square = (MOST_CONSTANTS,), (MOST_CONSTANTS, MOST_CONSTANTS)
    by_row = [(MOST_TERMS, width), (MOST_CONSTANTS, width), (MOST_TERMS, width), (2, width), *[(width,)] * 4]
    shapes = [(MOST_TERMS, rows.numbers.shape[1]), *by_row, (groups, *square), (groups, *one)]
    shapes += [square, one, square, one, square, one, one]
    return FrontWork._make(
        [*map(np.empty, shapes), np.empty(one, np.bool_), np.empty(1), np.empty(1, np.bool_)]
    )


@part
def _add_alternatives(programs: GenomeArrays, at: int, rows: FrontRows, n: int, work: FrontWork) -> None:
    """Add the terms of the faster alternative to the totals of `n` rows; those of the slower become zero.

    One without any term is no alternative.
    """
    known = 0
    for side in range(2):
        for i in range(n):
            work.sides[side, i] = 0.0
    for k in range(programs.terms[at]):
        side = rows.side[programs.amount[at, k]] - 1
        if side >= 0:
            known |= side + 1
            for i in range(n):
                work.sides[side, i] += work.term[k, i]
    for k in range(programs.terms[at]):
        side = rows.side[programs.amount[at, k]] - 1
        if side >= 0 and known == 3:
            for i in range(n):
                is_second_faster = work.sides[1, i] < work.sides[0, i]
                if is_second_faster == (side == 0):
                    work.term[k, i] = 0.0
        if side >= 0:
            for i in range(n):
                work.total[i] += work.term[k, i]


@part
def _predict(
    programs: GenomeArrays, at: int, theta: np.ndarray, rows: FrontRows, group: int, work: FrontWork
) -> float:
    """Set terms, shares (slope of log time per second), residuals and trust of a group; return its loss."""
    begin, end = rows.first_row[group], rows.first_row[group + 1]
    n = end - begin
    for product in range(programs.groups[at]):
        for cell in range(rows.first_cell[group], rows.first_cell[group + 1]):
            exponent = 0.0
            for j in range(programs.powers[at]):
                if programs.inside[at, j, product]:
                    free = programs.free[at, j]
                    value = programs.exponent[at, j] if free < 0 else theta[free]
                    exponent += value * rows.numbers[programs.factor[at, j], cell]
            work.products[product, cell] = math.exp(exponent)
        for i in range(n):
            work.spread[product, i] = work.products[product, rows.cell[begin + i]]
    for i in range(n):
        work.total[i] = rows.base[begin + i]
    for k in range(programs.terms[at]):
        place = programs.weight[at, k]
        weight = programs.rule[at, k] if place < 0 else math.exp(theta[place])
        amount, product = programs.amount[at, k], programs.group[at, k]
        for i in range(n):
            value = weight * rows.amounts[amount, begin + i] * work.spread[product, i]
            work.term[k, i] = value
            if rows.side[amount] == 0:
                work.total[i] += value
    _add_alternatives(programs, at, rows, n, work)
    loss = 0.0
    for i in range(n):
        floor = rows.floor[begin + i]
        seconds = max(work.total[i], floor) + rows.after[begin + i]
        work.share[i] = 1.0 / seconds if work.total[i] > floor else 0.0
        residual = math.log(seconds) - rows.target[begin + i]
        size, weight = abs(residual), rows.weight[begin + i]
        if size > rows.width:
            loss += weight * rows.width * (2.0 * size - rows.width)
            weight *= rows.width / size
        else:
            loss += weight * residual * residual
        work.residual[i], work.trust[i] = residual, weight
    return loss


@part
def _set_slopes(programs: GenomeArrays, at: int, rows: FrontRows, group: int, work: FrontWork) -> None:
    """Set the slopes of a group's total with respect to each constant, after `_predict`."""
    begin, n = rows.first_row[group], rows.first_row[group + 1] - rows.first_row[group]
    constants = programs.constants[at]
    for p in range(constants):
        for i in range(n):
            work.slopes[p, i] = 0.0
    for k in range(programs.terms[at]):
        place = programs.weight[at, k]
        if place >= 0:
            for i in range(n):
                work.slopes[place, i] += work.term[k, i]
    for j in range(programs.powers[at]):
        place, factor = programs.free[at, j], programs.factor[at, j]
        if place >= 0:
            # The products are no longer needed: their room takes the numbers of the rows.
            for i in range(n):
                work.spread[0, i] = rows.numbers[factor, rows.cell[begin + i]]
            for k in range(programs.terms[at]):
                if programs.inside[at, j, programs.group[at, k]]:
                    for i in range(n):
                        work.slopes[place, i] += work.term[k, i] * work.spread[0, i]


@part
def _normalise(constants: int, n: int, group: int, work: FrontWork) -> None:
    """Set the normal equations of a group of `n` rows from its slopes."""
    for p in range(constants):
        total = 0.0
        for i in range(n):
            work.slopes[p, i] *= work.share[i]
            # The terms are no longer needed: their room takes the weighted slopes.
            work.term[0, i] = work.slopes[p, i] * work.trust[i]
            total += work.term[0, i] * work.residual[i]
        work.gradients[group, p] = total
        for q in range(p + 1):
            total = 0.0
            for i in range(n):
                total += work.term[0, i] * work.slopes[q, i]
            work.normals[group, p, q] = total


@part
def _move(programs: GenomeArrays, at: int, theta: np.ndarray, damping: float, work: FrontWork) -> bool:
    """Set `work.trial` to a damped step from theta by the kept equations; those at a bound stay there."""
    constants = programs.constants[at]
    low, high = programs.low[at], programs.high[at]
    system, step, fixed = work.factorised, work.step, work.fixed
    for p in range(constants):
        slope = work.kept_gradient[p]
        fixed[p] = (theta[p] <= low[p] and slope >= 0.0) or (theta[p] >= high[p] and slope <= 0.0)
    for p in range(constants):
        for q in range(p + 1):
            total = 0.0 if fixed[p] or fixed[q] else work.kept_normal[p, q]
            if p == q:
                total = 1.0 if fixed[p] else total * (1.0 + damping) + 1e-12
            for k in range(q):
                total -= system[p, k] * system[q, k]
            if p != q:
                system[p, q] = total / system[q, q]
            elif total > 0.0:
                system[p, p] = math.sqrt(total)
            else:
                return False
    for p in range(constants):
        step[p] = 0.0 if fixed[p] else -work.kept_gradient[p]
        for k in range(p):
            step[p] -= system[p, k] * step[k]
        step[p] /= system[p, p]
    for p in range(constants - 1, -1, -1):
        for k in range(p + 1, constants):
            step[p] -= system[k, p] * step[k]
        step[p] /= system[p, p]
        work.trial[p] = min(max(theta[p] + step[p], low[p]), high[p])
    return True


@part
def _total(
    programs: GenomeArrays, at: int, theta: np.ndarray, rows: FrontRows, most: float, work: FrontWork
) -> float:
    """Set the normal equations at theta of all groups and of each, and the level; return loss and pull.

    Infinite, and the level as it was, as soon as the sum exceeds `most`.
    """
    constants = programs.constants[at]
    total = 0.0
    for p in range(constants):
        pull, distance = programs.pull[at, p], theta[p] - programs.centre[at, p]
        total += pull * distance * distance
        work.gradient[p] = pull * distance
        for q in range(p):
            work.normal[p, q] = 0.0
        work.normal[p, p] = pull
    level = 0.0
    for group in range(rows.group_weight.size):
        loss = _predict(programs, at, theta, rows, group, work)
        total += loss
        level += math.sqrt(loss * rows.group_weight[group])
        if not total < most:
            return math.inf
        _set_slopes(programs, at, rows, group, work)
        _normalise(constants, rows.first_row[group + 1] - rows.first_row[group], group, work)
        for p in range(constants):
            work.gradient[p] += work.gradients[group, p]
            for q in range(p + 1):
                work.normal[p, q] += work.normals[group, p, q]
    work.level[0] = level
    return total


@part
def _fit(
    programs: GenomeArrays, at: int, rows: FrontRows, steps: int, gain: float, limit: float, work: FrontWork
) -> float:
    """Improve the constants of a genome in place; return loss and pull.

    A step that gains less than the share `gain` is the last, as is one whose level is so far above `limit`
    that further ones hardly come below.
    """
    theta, constants = programs.theta[at], programs.constants[at]
    best = _total(programs, at, theta, rows, math.inf, work)
    keep_equations(constants, work)
    damping, work.stale[0] = FIRST_DAMPING, False
    for step in range(1, steps + 1 if constants else 0):
        now = math.inf
        if _move(programs, at, theta, damping, work):
            now = _total(programs, at, work.trial, rows, best, work)
        work.stale[0] = not now < best
        if now < best:
            saved = best - now
            best = now
            for p in range(constants):
                theta[p] = work.trial[p]
            keep_equations(constants, work)
            damping = max(damping * 0.1, LEAST_DAMPING)
            if saved < gain * best or (step >= _EARLY and work.level[0] > _EARLY_MARGIN * limit):
                break
            if step >= _LATE and work.level[0] > _LATE_MARGIN * limit:
                break
        else:
            damping *= 10.0
            if damping > MOST_DAMPING:
                break
    return best


@part
def _hold_out(programs: GenomeArrays, at: int, rows: FrontRows, work: FrontWork, cases: np.ndarray) -> None:
    """Fill `cases` (n_groups,) with the mean loss of each group at constants one step away, without it."""
    theta, constants = programs.theta[at], programs.constants[at]
    if work.stale[0]:
        _total(programs, at, theta, rows, math.inf, work)
    for group in range(rows.group_weight.size):
        for p in range(constants):
            work.kept_gradient[p] = work.gradient[p] - work.gradients[group, p]
            for q in range(p + 1):
                work.kept_normal[p, q] = work.normal[p, q] - work.normals[group, p, q]
        if not _move(programs, at, theta, FIRST_DAMPING, work):
            for p in range(constants):
                work.trial[p] = theta[p]
        cases[group] = _predict(programs, at, work.trial, rows, group, work) / rows.group_weight[group]


@entry
def fit_all(
    programs: GenomeArrays,
    rows: FrontRows,
    steps: int,
    gain: float,
    limits: np.ndarray,
    work: FrontWork,
    losses: np.ndarray,
    cases: np.ndarray,
) -> None:
    """Fit each genome in place; fill `losses` (n,) and `cases` (n, n_groups), the losses of held-out groups.

    limits : (n,); a genome whose level is not below its own has infinite cases.
    """
    for at in range(programs.terms.size):
        losses[at] = _fit(programs, at, rows, steps, gain, limits[at], work)
        for group in range(rows.group_weight.size):
            cases[at, group] = math.inf
        if work.level[0] < limits[at]:
            _hold_out(programs, at, rows, work, cases[at])
