"""Aimed additions: all that could be added to a formula, ranked by what held-out groups would gain.

Each addition is a tangent of log time. What the constants of the formula explain of it is projected out; its
coefficient is estimated without each group in turn, and its gain is that of the group. One ranking costs a
few fits, and finds in one step what random additions find in hundreds.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.front.genomes import BY_RULE, Genome, Power, exponents_of, genome_of
from trainlaw.evolve.front.machine import FrontRows
from trainlaw.evolve.front.problem import Fitted, FrontProblem
from trainlaw.evolve.front.space import Space

Floats = NDArray[np.float64]
#: Additions that are kept of a ranking: those behind hardly ever enter.
MOST_RANKED = 40
# Ridge of a coefficient, as a share of the squared length of its tangent.
_RIDGE = 1e-3


class Addition(NamedTuple):
    """An addition to a genome: an amount, or else a factor of some of its amounts.

    alongside : an amount whose factors also multiply the new one, or None for none of them. gain : expected
    fall of the mean loss of held-out groups.
    """

    gain: float
    amount: int | None = None
    alongside: int | None = None
    factor: int | None = None
    amounts: frozenset[int] = frozenset()

    def added(self, genome: Genome, weight: int, is_free: bool, space: Space) -> Genome:
        """Return the genome with this addition: an amount of that weight, or a factor that is free or not."""
        terms, powers = dict(genome.terms), list(genome.powers)
        if self.amount is not None:
            terms[self.amount] = weight
            powers = [
                power._replace(amounts=power.amounts | {self.amount})
                if self.alongside in power.amounts
                else power
                for power in powers
            ]
        elif self.factor is not None:
            powers.append(Power(self.factor, is_free, self.amounts))
        return genome_of(terms, powers, space)


class _Values(NamedTuple):
    """A formula on all rows: terms and products of factors by amount, where sides count, scale, residual."""

    terms: dict[int, Floats]
    products: dict[int, Floats]
    counts: Floats
    scale: Floats
    residual: Floats


def ranked(parent: Fitted, problem: FrontProblem, without: int | None = None) -> list[Addition]:
    """Return the additions with an expected gain, the best first, at most `MOST_RANKED`.

    without : an amount of the parent that goes at the same time, so that an addition may take its place.
    """
    values = _values(parent, problem)
    if without is not None:
        residual = values.residual + values.terms[without] * values.scale
        values = values._replace(residual=residual)
        values.terms[without] = np.zeros_like(residual)
    residual, basis = _explained(parent, values, problem)
    additions, tangents, low, high = _additions(parent, values, problem)
    if not additions:
        return []
    if basis is not None:
        tangents -= (tangents @ basis) @ basis.T
    starts = problem.rows.first_row[:-1]
    along = np.add.reduceat(tangents * residual, starts, axis=1)
    length = np.add.reduceat(tangents**2, starts, axis=1)
    whole, size = along.sum(axis=1, keepdims=True), length.sum(axis=1, keepdims=True)
    without = (whole - along) / (size - length + _RIDGE * size + 1e-30)
    without = np.clip(without, low[:, None], high[:, None])
    gains = ((2.0 * along - without * length) * without).sum(axis=1)
    best = np.argsort(-gains, kind="stable")[:MOST_RANKED]
    return [additions[place]._replace(gain=float(gains[place])) for place in best if gains[place] > 0.0]


def _values(parent: Fitted, problem: FrontProblem) -> _Values:
    """Return the terms of a formula on all rows, and what a tangent is multiplied by."""
    genome, rows = parent.genome, problem.rows
    exponents = exponents_of(genome, parent.constants, problem.space)
    logarithm = {place: np.zeros(rows.target.size) for place in genome.amounts}
    for power, exponent in zip(genome.powers, exponents, strict=True):
        for place in power.amounts:
            logarithm[place] = logarithm[place] + exponent * problem.spread_numbers[power.factor]
    products = {place: np.exp(values) for place, values in logarithm.items()}
    terms = {}
    for place, weight in genome.terms:
        rule = problem.space.amounts[place].weight
        factor = rule if weight == BY_RULE else np.exp(parent.constants[weight - 1])
        terms[place] = factor * rows.amounts[place] * products[place]
    counts = _counts(terms, rows)
    terms = {place: values * counts[rows.side[place]] for place, values in terms.items()}
    total = rows.base + sum(terms.values())
    seconds = np.maximum(total, rows.floor) + rows.after
    residual = rows.target - np.log(seconds)
    trust = rows.weight * np.minimum(1.0, rows.width / np.maximum(np.abs(residual), 1e-9))
    root = np.sqrt(trust)
    scale = np.where(total > rows.floor, root / seconds, 0.0)
    return _Values(terms, products, counts, scale, residual * root)


def _counts(terms: dict[int, Floats], rows: FrontRows) -> Floats:
    """Return on which rows the amounts of no alternative, the first and the second count, (3, n_rows)."""
    counts = np.ones((3, rows.target.size))
    first, second = ([terms[place] for place in terms if rows.side[place] == side] for side in (1, 2))
    if first and second:
        counts[2] = sum(second) < sum(first)
        counts[1] = 1.0 - counts[2]
    return counts


def _explained(
    parent: Fitted, values: _Values, problem: FrontProblem
) -> tuple[Floats, NDArray[np.float64] | None]:
    """Return what the constants leave of the residual, (n_rows,), and a basis of what they explain."""
    genome = parent.genome
    slopes = [sum(values.terms[place] for place in alike) * values.scale for alike in genome.weighted]
    for power in (one for one in genome.powers if one.is_free):
        total = sum(values.terms[place] for place in power.amounts)
        slopes.append(total * problem.spread_numbers[power.factor] * values.scale)
    slopes = [slope for slope in slopes if slope.any()]
    if not slopes:
        return values.residual, None
    basis, _ = np.linalg.qr(np.array(slopes).T)
    return values.residual - basis @ (basis.T @ values.residual), basis


def _additions(
    parent: Fitted, values: _Values, problem: FrontProblem
) -> tuple[list[Addition], Floats, Floats, Floats]:
    """Return all additions, their tangents (n, n_rows), and the bounds of their coefficients (n,)."""
    space, amounts, found = problem.space, parent.genome.amounts, list[Addition]()
    new = problem.supported[~np.isin(problem.supported, amounts)]
    resources = np.array([space.amounts[place].resource for place in new])
    found += [Addition(0.0, amount=int(place)) for place in new]
    rows = problem.rows
    tangents = rows.amounts[new] * values.counts[rows.side[new]] * values.scale
    parts = [tangents]
    for alongside in {space.amounts[place].resource: place for place in amounts}.values():
        if any(alongside in power.amounts for power in parent.genome.powers):
            alike = resources == space.amounts[alongside].resource
            found += [Addition(0.0, amount=int(place), alongside=alongside) for place in new[alike]]
            parts.append(tangents[alike] * values.products[alongside])
    bounds = [(0.0, np.inf)] * len(found)
    for chosen in candidate_sets(parent, problem):
        total = sum(values.terms[place] for place in sorted(chosen)) * values.scale
        for place in problem.usable:
            if chosen <= space.multiplied[place]:
                found.append(Addition(0.0, factor=place, amounts=chosen))
                parts.append((total * problem.spread_numbers[place])[None])
                bounds.append((space.factors[place].low, space.factors[place].high))
    low, high = np.array(bounds).T if bounds else (np.zeros(0), np.zeros(0))
    return found, np.vstack(parts), low, high


def candidate_sets(parent: Fitted, problem: FrontProblem) -> list[frozenset[int]]:
    """Return what a factor may multiply: one amount, those of a resource, all, those of another factor."""
    amounts = parent.genome.amounts
    by_resource: dict[str, set[int]] = {}
    for place in amounts:
        by_resource.setdefault(problem.space.amounts[place].resource, set()).add(place)
    sets = [frozenset([place]) for place in amounts]
    sets += [*map(frozenset, by_resource.values()), frozenset(amounts)]
    sets += [power.amounts for power in parent.genome.powers]
    return list(dict.fromkeys(sets))
