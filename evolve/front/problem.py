"""The problem of one front: rows in the machine's order, what the rows support, and fits of genomes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from deap import base
from numpy.typing import NDArray
from trainlaw.evolve.front.genomes import BY_RULE, Genome, Power, exponents_of, fixed_exponent
from trainlaw.evolve.front.machine import (
    MOST_CONSTANTS,
    MOST_POWERS,
    MOST_TERMS,
    FrontRows,
    GenomeArrays,
    fit_all,
    work_for,
)
from trainlaw.evolve.front.space import Space
from trainlaw.evolve.settings import POWER
from trainlaw.formulas import Expression, evaluate, variables

Floats = NDArray[np.float64]
Columns = Mapping[str, Any]
#: Training groups in which an amount must be non-zero, or a factor another than in most, to be a choice: what
#: two GPUs alone have says nothing about a third.
LEAST_GROUPS = 3
#: Deviations of less than a factor of exp(0.2) count by their square, as for the law.
LOSS_WIDTH = 0.2
# A free weight is drawn to its rule as strongly as in the law, whose prior has a deviation of 1.5 times the
# rule: of 2e-5, 2e-4, 4.4e-4 and 1e-3, errors of six constants are 19.1, 18.3, 19.2 and 19.0 %, those of
# twelve 18.5, 18.5, 18.4 and 18.8. Exponents differ by half a point from 1e-3 to 5e-3.
_EXPONENT_PULL, _WEIGHT_PULL = 2e-3, 4.4e-4
# A weight starts where its amount explains a tenth of a typical time, and stays within factors of exp(7)
# below and exp(4) above where it explains all, and above its rule; a new exponent starts at zero.
_START_SHARE, _LOG_LOW, _LOG_HIGH = 0.1, -7.0, 4.0


class HeldOutLoss(base.Fitness):  # type: ignore[misc]  # DEAP has no types
    """The score of a formula, to be minimised."""

    weights = (-1.0,)


@dataclass
class Fitted:
    """A genome with its constants, its loss, and per held-out group the root of its mean loss, (n_groups,).

    loss : with the pulls of the priors. cost : by what the score is multiplied, for its parts and for
    amounts that are no part of the law.
    """

    genome: Genome
    constants: Floats
    loss: float
    cases: Floats
    cost: float = 1.0

    @cached_property
    def score(self) -> float:
        """Mean of the roots times the cost, infinite where the loss was behind its limit.

        Roots, since the stated error is a mean of percentages: of squares the worst group alone decides.
        """
        return float(self.cases.mean()) * self.cost

    @property
    def fitness(self) -> HeldOutLoss:
        """The score as DEAP's selections compare it."""
        return HeldOutLoss((self.score,))


class WeightOf(NamedTuple):
    """Of a free weight the logarithm where it starts without a parent, and its low, high, centre and pull."""

    start: float
    bounds: tuple[float, float, float, float]


@dataclass(frozen=True)
class FrontProblem:
    """FrontRows and space of one front; made by `make_front_problem`.

    supported : places of the amounts, and usable : of the factors, that the rows may choose. reference : per
    amount the logarithm of the weight at which it alone explains a typical time.
    """

    space: Space
    rows: FrontRows
    supported: NDArray[np.int64]
    usable: tuple[int, ...]
    reference: Floats

    @cached_property
    def rules(self) -> Floats:
        """The logarithms of the weights by rule, (n_amounts,)."""
        return np.log([amount.weight for amount in self.space.amounts])

    @cached_property
    def spread_numbers(self) -> Floats:
        """What exponents multiply, (n_factors, n_rows)."""
        return self.rows.numbers[:, self.rows.cell]

    @cached_property
    def weight_of(self) -> Callable[[tuple[int, ...]], WeightOf]:
        """What is known of a free weight before the fit, by the places of its amounts."""

        def found(amounts: tuple[int, ...]) -> WeightOf:
            places = list(amounts)
            alone, rule = (float(each[places].mean()) for each in (self.reference, self.rules))
            bounds = min(alone, rule) + _LOG_LOW, max(alone, rule) + _LOG_HIGH, rule, _WEIGHT_PULL
            return WeightOf(float(np.mean(self.reference[places] + np.log(_START_SHARE))), bounds)

        return cache(found)

    def start(self, genome: Genome, parent: Fitted | None = None) -> Floats:
        """Return the constants (n_constants,) where a fit starts: those of the parent where it has them."""
        weights, powers = dict[int, float](), list[tuple[Power, float]]()
        if parent is not None:
            exponents = exponents_of(parent.genome, parent.constants, self.space)
            powers = list(zip(parent.genome.powers, exponents, strict=True))
            constants = parent.constants.tolist()
            weights = {place: constants[w - 1] for place, w in parent.genome.terms if w != BY_RULE}
        found = []
        for amounts in genome.weighted:
            known = [weights[place] for place in amounts if place in weights]
            # The mean of one number is that number, and many weights are of one amount.
            if len(known) == 1:
                found += known
            else:
                found.append(float(np.mean(known)) if known else self.weight_of(tuple(amounts)).start)
        for one in (power for power in genome.powers if power.is_free):
            same = [
                (len(one.amounts & other.amounts), e) for other, e in powers if other.factor == one.factor
            ]
            found.append(max(same, default=(0, 0.0))[1])
        return np.array(found, dtype=np.float64)

    def _cost(self, genome: Genome) -> float:
        parts = len(genome.terms) + len(genome.powers)
        return 1.0 + self.space.part_cost * parts + sum(self.space.amounts[p].cost for p in genome.amounts)

    def fit(
        self,
        genomes: Sequence[Genome],
        starts: Sequence[Floats],
        limits: Floats | None = None,
        *,
        steps: int = 12,
        gain: float = 2e-3,
    ) -> list[Fitted]:
        """Return the genomes with fitted constants and held-out losses.

        starts : constants to start from. limits : (n,), scores from which on a genome is not worth its
        held-out losses. steps, gain : of the fit, which ends with a step that gains a smaller share.
        """
        programs = encode(genomes, starts, self)
        costs = np.array([self._cost(genome) for genome in genomes])
        most = (np.inf if limits is None else limits) / costs
        losses, cases = np.empty(len(genomes)), np.empty((len(genomes), self.rows.group_weight.size))
        fit_all(programs, self.rows, steps, gain, most, work_for(self.rows), losses, cases)
        counts = programs.constants.tolist()
        return [
            Fitted(
                genome,
                programs.theta[i, : counts[i]].copy(),
                float(losses[i]),
                np.sqrt(cases[i]),
                float(costs[i]),
            )
            for i, genome in enumerate(genomes)
        ]


def encode(genomes: Sequence[Genome], starts: Sequence[Floats], problem: FrontProblem) -> GenomeArrays:
    """Return genomes as arrays for the machine, with the bounds and priors of their constants."""
    n, space = len(genomes), problem.space
    shapes = [(n,)] * 3 + [(n, MOST_TERMS)] * 4 + [(n,)] + [(n, MOST_POWERS)] * 3
    made: list[Any] = [np.zeros(shape, np.int64) for shape in shapes]
    made[4], made[9] = np.ones((n, MOST_TERMS)), np.zeros((n, MOST_POWERS))
    made += [np.zeros((n, MOST_POWERS, MOST_TERMS), np.bool_)]
    programs = GenomeArrays(*made, *(np.zeros((n, MOST_CONSTANTS)) for _ in range(5)))
    for i, (genome, start) in enumerate(zip(genomes, starts, strict=True)):
        programs.terms[i], programs.powers[i] = len(genome.terms), len(genome.powers)
        programs.constants[i] = genome.constants
        programs.theta[i, : genome.constants] = start
        _encode_terms(programs, i, genome, space)
        _encode_constants(programs, i, genome, problem)
    return programs


def _encode_terms(programs: GenomeArrays, i: int, genome: Genome, space: Space) -> None:
    """Set amounts, weights and products of factors of one genome."""
    products: dict[tuple[int, ...], int] = {}
    for k, (amount, weight) in enumerate(genome.terms):
        inside = tuple([j for j, power in enumerate(genome.powers) if amount in power.amounts])
        product = products.setdefault(inside, len(products))
        programs.inside[i, inside, product] = True
        programs.amount[i, k], programs.group[i, k], programs.weight[i, k] = amount, product, weight - 1
        programs.rule[i, k] = space.amounts[amount].weight
    programs.groups[i] = len(products)


def _encode_constants(programs: GenomeArrays, i: int, genome: Genome, problem: FrontProblem) -> None:
    """Set exponents, bounds and priors of one genome."""
    bounds = [problem.weight_of(tuple(amounts)).bounds for amounts in genome.weighted]
    for j, power in enumerate(genome.powers):
        factor = problem.space.factors[power.factor]
        programs.factor[i, j], programs.free[i, j] = power.factor, len(bounds) if power.is_free else -1
        if power.is_free:
            bounds.append((factor.low, factor.high, factor.expected, _EXPONENT_PULL))
        else:
            programs.exponent[i, j] = fixed_exponent(problem.space, power.factor) or 0.0
    for array, values in zip(programs[-4:], zip(*bounds, strict=True), strict=bool(bounds)):
        array[i, : len(bounds)] = values


def make_front_problem(
    space: Space,
    columns: Columns,
    seconds: Floats,
    groups: NDArray[Any],
    weight: Floats | None = None,
) -> FrontProblem:
    """Return the problem of measured `seconds` (n_rows,).

    columns : the features of the space by name, each (n_rows,). groups : labels (n_rows,).
    weight : (n_rows,), not negative; each group counts the same, whatever the sum of its weights.
    """
    amounts = np.array([np.asarray(columns[one.feature], dtype=np.float64) for one in space.amounts])
    numbers = np.array([_number(columns, one.feature, one.kind == POWER) for one in space.factors])
    numbers = numbers.reshape(len(space.factors), len(seconds))
    plain = [_plain(part, columns, len(seconds)) for part in (space.base, space.floor, space.after)]
    given = np.ones(len(seconds)) if weight is None else np.asarray(weight, dtype=np.float64)
    weight = _by_group(given, groups)
    rows = _rows(amounts * space.scale, space.sides, numbers, [*plain, np.log(seconds), weight], groups)
    return FrontProblem(space, rows, _supported(rows), _usable(rows), _reference(rows))


def _number(columns: Columns, name: str, is_power: bool) -> Floats:
    values = np.asarray(columns[name], dtype=np.float64)
    return np.log(values) if is_power else values


def _plain(part: Expression | None, columns: Columns, count: int) -> Floats:
    """Return a plain time of the space, (n_rows,)."""
    if part is None:
        return np.zeros(count)
    known = {name: np.asarray(columns[name], dtype=np.float64) for name in variables(part)}
    return np.broadcast_to(evaluate(part, known)[0], (count,)).astype(np.float64)


def _by_group(weight: Floats, labels: NDArray[Any]) -> Floats:
    """Return the weights scaled so that each group has the same sum, and all together 1."""
    _, places = np.unique(labels, return_inverse=True)
    sums = np.bincount(places, weight)
    return np.asarray(weight / sums[places] / len(sums))


def _rows(
    amounts: Floats,
    sides: NDArray[np.int64],
    numbers: Floats,
    by_row: Sequence[Floats],
    labels: NDArray[Any],
) -> FrontRows:
    """Return the observations sorted by group, and within it by cell of equal numbers.

    by_row : base, floor, after, target and weight, each (n_rows,).
    """
    _, group = np.unique(labels, return_inverse=True)
    cells, cell = np.unique(np.vstack([group, numbers]), axis=1, return_inverse=True)
    order = np.argsort(cell.ravel(), kind="stable")
    ends = np.arange(group.max() + 2)
    base, floor, after, target, weight = (part[order] for part in by_row)
    return FrontRows(
        np.ascontiguousarray(amounts[:, order]),
        sides,
        np.ascontiguousarray(cells[1:]),
        cell.ravel()[order],
        base,
        floor,
        after,
        target,
        weight,
        LOSS_WIDTH,
        np.searchsorted(group[order], ends),
        np.searchsorted(cells[0], ends),
        np.bincount(group[order], weight),
    )


def _reference(rows: FrontRows) -> Floats:
    """Return per amount the logarithm of the weight at which it alone explains a typical time."""
    found = np.zeros(len(rows.amounts))
    for place, seconds in enumerate(rows.amounts):
        filled = seconds > 0.0
        if filled.any():
            found[place] = np.median(rows.target[filled] - np.log(seconds[filled]))
    return found


def _supported(rows: FrontRows) -> NDArray[np.int64]:
    """Return the amounts that are not zero in at least `LEAST_GROUPS` groups."""
    filled = np.add.reduceat(rows.amounts > 0.0, rows.first_row[:-1], axis=1) > 0
    return np.flatnonzero(filled.sum(axis=1) >= min(LEAST_GROUPS, filled.shape[1]))


def _usable(rows: FrontRows) -> tuple[int, ...]:
    """Return the factors that differ from their most frequent value in at least `LEAST_GROUPS` groups."""
    found = []
    for place, numbers in enumerate(rows.numbers):
        values, counts = np.unique(numbers, return_counts=True)
        others = np.add.reduceat(numbers != values[np.argmax(counts)], rows.first_cell[:-1]) > 0
        if np.isfinite(numbers).all() and others.sum() >= LEAST_GROUPS:
            found.append(place)
    return tuple(found)
