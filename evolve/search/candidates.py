"""From an archive to a front: polish the constants, and refit them without each group."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.machine.arrays import SQUARES
from trainlaw.evolve.search.description import code_length
from trainlaw.evolve.search.edges import explodes
from trainlaw.evolve.search.individuals import Individual
from trainlaw.evolve.search.loop import SearchState
from trainlaw.evolve.search.problem import Problem
from trainlaw.evolve.search.snapping import round_numbers, simple_numbers, snapped
from trainlaw.evolve.search.trees import prune, to_expression
from trainlaw.formulas import (
    Apply,
    Expression,
    Formula,
    ParetoFront,
    ScoredFormula,
    Variable,
    complexity,
    evaluate,
    tidy,
    variables,
)
from trainlaw.formulas.algebra.expression import rebuilt

# Constants are refitted without each group only for this many: a refit per group costs most.
MOST_CANDIDATES = 60
# Of more rows, only those formulas are refitted whose mean loss, after one step, is at most this many
# standard errors above the least: the others are not chosen, whatever a refit finds.
REFITTED_ROWS, RACED_ERRORS = 16_384, 2.0
# A formula counts as exact below this mean square residual (of the target's variance, or of its logarithm).
EXACT_LOSS = 1e-12
# Share of its loss that the digits of an exact formula may cost in all.
EXACT_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Candidate:
    """A polished formula.

    held_out : the loss (n_groups,) of each group, the constants fitted without it. description : length of
    its code, in nats. explodes : whether its values do at the edge of the rows.
    """

    expression: Expression
    loss: float
    complexity: int
    held_out: NDArray[np.float64]
    description: float = math.inf
    explodes: bool = False

    @property
    def validation_loss(self) -> float:
        """Mean over the groups; infinite where one is."""
        mean = float(self.held_out.mean())
        return mean if math.isfinite(mean) else math.inf


def finish(state: SearchState, problem: Problem) -> list[Candidate]:
    """Return the candidates from simple to complex, all with valid values on every training row.

    Constants are fitted to all rows, and for held-out losses to those of the search.
    """
    steps = problem.settings.polish_steps
    chosen = _contenders(state)
    if not chosen:
        return []
    whole = problem.whole
    polished = [_pruned(tree, problem) for tree in whole.fit(chosen, steps, start=False)]
    sound = [tree for tree in polished if math.isfinite(tree.loss) and is_sound(tree, problem)]
    held_out = held_out_losses(sound, problem, steps)
    found = [_candidate(tree, losses, whole) for tree, losses in zip(sound, held_out, strict=True)]
    return sorted(found, key=lambda candidate: (candidate.complexity, candidate.loss))


def _candidate(tree: Individual, held_out: NDArray[np.float64], problem: Problem) -> Candidate:
    """Return the tidy candidate, with round constants if they fit."""
    expression, loss = to_expression(tree), tree.loss
    loss_of = partial(squares_loss, problem=problem)
    if loss < EXACT_LOSS:
        expression, loss = snapped(expression, loss_of, round_numbers, EXACT_TOLERANCE)
    # Of the robust losses, a simple number is not compared by the loss of the fit; groups say more than rows.
    elif problem.rows.robust == SQUARES and not (problem.grouped or problem.machine.fits_end):
        # The cost of a constant in a description of n rows (Rissanen, 1978).
        cost = math.log(problem.columns.shape[1]) / problem.columns.shape[1]
        expression, loss = snapped(
            expression,
            loss_of,
            simple_numbers,
            cost,
            is_each=True,
            is_late=lambda: problem.machine.fits_end,
        )
    expression = _without_magnitudes(tidy(expression), problem.grammar.positive)
    length = code_length(held_out, expression, problem)
    size = complexity(expression)
    return Candidate(expression, loss, size, held_out, length, explodes(expression, problem))


def _without_magnitudes(expression: Expression, positive: frozenset[str]) -> Expression:
    """Return |x| as x for features that are positive: tidying writes (x * x)^c as |x|^2c."""

    def shorter(node: Apply, parts: tuple[Expression, ...]) -> Expression:
        bare = node.operator == "abs" and isinstance(parts[0], Variable) and parts[0].name in positive
        return parts[0] if bare else Apply(node.operator, parts)

    return rebuilt(expression, apply=shorter)


def values_of(expression: Expression, problem: Problem) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return values (n_rows,) on the training rows in the given order, and whether each is valid."""
    columns = dict(zip([spec.name for spec in problem.features], problem.columns, strict=True))
    names = variables(expression)
    return evaluate(expression, {name: column for name, column in columns.items() if name in names})


def squares_loss(expression: Expression, problem: Problem) -> float:
    """Return the weighted mean square residual on the training rows, infinite where a value is not valid."""
    rows = problem.rows
    values, valid = values_of(expression, problem)
    values = np.broadcast_to(values, problem.columns.shape[1:])
    if not np.all(valid):
        return math.inf
    found = values[problem.order]
    if rows.logarithmic and not np.all(found > 0.0):
        return math.inf
    residuals = (np.log(found) - rows.target) if rows.logarithmic else (found - rows.target) * rows.scale
    with np.errstate(over="ignore"):
        return float(np.sum(rows.weight * residuals**2))


def _pruned(tree: Individual, problem: Problem) -> Individual:
    """Return the pruned tree with the same loss, or the tree itself if the required structure forbids it."""
    smaller = prune(tree, problem.grammar)
    return smaller if problem.structure.accepts(smaller) else tree


def _contenders(state: SearchState) -> list[Individual]:
    """Return the archived trees that beat all simpler ones by score or by loss, evenly thinned if needed."""
    found = {id(tree): tree for measure in ("score", "loss") for tree in state.front(measure)}
    usable = sorted(found.values(), key=lambda tree: (tree.complexity, tree.loss))
    if len(usable) <= MOST_CANDIDATES:
        return usable
    return usable[:: math.ceil(len(usable) / MOST_CANDIDATES)] + usable[-1:]


def is_sound(tree: Individual, problem: Problem) -> bool:
    """Return whether every node of the expression is finite on every training row.

    The machine may skip an infinite intermediate value; the printed formula may not.
    """
    return bool(np.all(values_of(to_expression(tree), problem)[1]))


def held_out_losses(trees: Sequence[Individual], problem: Problem, steps: int) -> list[NDArray[np.float64]]:
    """Return per tree the loss (n_groups,) of each case of the problem, refitted on all other cases."""
    groups = problem.case_count
    if groups < 2 or not trees:
        return [np.array([tree.loss]) for tree in trees]
    losses, raced = _one_step_losses(trees, problem)
    copies = [trees[place] for place in raced for _ in range(groups)]
    skip = np.tile(np.arange(groups), len(raced))
    refitted = problem.fit(copies, steps, start=False, skip=skip) if copies else []
    for place, found, tree, group in zip(
        np.repeat(raced, groups), refitted, copies, skip.tolist(), strict=True
    ):
        # What was not reached in time keeps the loss with all groups.
        losses[place, group] = found.cases[group] if found is not tree else tree.loss
    return list(losses)


def _one_step_losses(trees: Sequence[Individual], problem: Problem) -> tuple[NDArray[np.float64], list[int]]:
    """Return the losses (n_trees, n_groups) at constants one step away, and who may be best.

    Of a small table everyone may be, and no step is taken: a refit costs little there.
    """
    places = list(range(len(trees)))
    if problem.rows.target.size <= REFITTED_ROWS:
        return np.zeros((len(trees), problem.case_count)), places
    stepped = problem.fit(trees, 0, start=False, held_out=True)
    losses = np.array(
        [
            found.cases if found is not tree else np.full(problem.case_count, tree.loss)
            for found, tree in zip(stepped, trees, strict=True)
        ]
    )
    with np.errstate(invalid="ignore"):
        difference = losses - losses[np.argmin(np.where(np.isfinite(losses).all(1), losses.mean(1), np.inf))]
        error = difference.std(axis=1) / math.sqrt(problem.case_count)
        behind = difference.mean(axis=1) > RACED_ERRORS * error
    return losses, [place for place in places if not behind[place]]


def make_front(candidates: Sequence[Candidate], template: Formula) -> ParetoFront:
    """Return the front by training loss; `template` provides all other fields of each formula."""
    return ParetoFront.of(
        ScoredFormula(
            replace(template, expression=candidate.expression),
            candidate.loss,
            candidate.complexity,
            candidate.validation_loss if math.isfinite(candidate.validation_loss) else None,
        )
        for candidate in candidates
    )
