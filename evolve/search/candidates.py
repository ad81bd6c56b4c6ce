"""From an archive to a front: polish the constants, refit them without each group, and choose a formula."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.equations.snapping import round_exact, snapped
from trainlaw.evolve.search.constraints import keeps_as, keeps_constraints
from trainlaw.evolve.search.individuals import Individual
from trainlaw.evolve.search.loop import SearchState
from trainlaw.evolve.search.problem import Problem
from trainlaw.evolve.search.refinement import code_length
from trainlaw.evolve.search.trees import grouped_constants, prune, to_expression
from trainlaw.formulas import (
    Apply,
    Expression,
    Formula,
    GroupedConstant,
    ParetoFront,
    ScoredFormula,
    Variable,
    complexity,
    constants,
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
# The worst group of a simpler formula may err by this factor more than the worst of the best formula.
WORST_GROUP = 1.1
# A formula counts as exact below this mean square residual (of the target's variance, or of its logarithm).
EXACT_LOSS = 1e-12
# Rules that compare losses on held-out groups.
TRANSFERRING = ("one_standard_error", "most_stable", "validation")
# Resamples of the groups by which the most stable formula is chosen.
RESAMPLES = 200


@dataclass(frozen=True)
class Candidate:
    """A polished formula.

    held_out : for each division of the rows into groups the losses (n_groups,) of each group, the constants
    fitted without it.
    """

    expression: Expression
    loss: float
    complexity: int
    held_out: tuple[NDArray[np.float64], ...]
    grouped: tuple[GroupedConstant, ...] = ()

    @property
    def validation_loss(self) -> float:
        """Mean over the groups of a division and over divisions; infinite where one is."""
        mean = float(np.mean([losses.mean() for losses in self.held_out]))
        return mean if math.isfinite(mean) else math.inf


def finish(state: SearchState, problem: Problem, refined: Sequence[Individual] = ()) -> list[Candidate]:
    """Return the candidates from simple to complex, all with valid values on every training row.

    refined : trees in addition to those of the archives. Constants are fitted to all observations, and for
    held-out losses to those of the search.
    """
    steps = problem.settings.polish_steps
    archived = _contenders(state, problem)
    chosen = [*archived, *(tree for tree in refined if all(tree is not other for other in archived))]
    if not chosen:
        return []
    whole = problem.whole
    polished = [_pruned(tree, problem) for tree in whole.fit(chosen, steps, start=False)]
    sound = [
        tree
        for tree in polished
        if math.isfinite(tree.loss) and is_sound(tree, problem) and keeps_constraints(tree, problem)
    ]
    held_out = held_out_losses(sound, problem, steps)
    found = [_candidate(tree, losses, whole) for tree, losses in zip(sound, held_out, strict=True)]
    return sorted(found, key=lambda candidate: (candidate.complexity, candidate.loss))


def _candidate(tree: Individual, held_out: tuple[NDArray[np.float64], ...], problem: Problem) -> Candidate:
    """Return the candidate, with round constants if they fit, and tidied if constraints stay proved."""
    expression, loss = to_expression(tree), tree.loss
    grouped = grouped_constants(tree, problem.grammar)
    if loss < EXACT_LOSS:
        expression, loss = round_exact(expression, lambda trial: squares_loss(trial, grouped, problem), 1e-3)
    # How much noise hides of a loss that a user defined is not known.
    elif problem.affine and not (problem.grouped or problem.loss or problem.machine.fits_end):
        expression, loss = snapped(
            expression, lambda trial: squares_loss(trial, grouped, problem), problem.columns.shape[1],
            lambda: problem.machine.fits_end,
        )  # fmt: skip
    # A proof depends on the form: the shorter one is taken only if it is proved as well.
    short = tidy(expression)
    if problem.settings.typed:
        short = _without_magnitudes(short, problem.grammar.positive)
    if keeps_as(short, grouped, problem):
        expression = short
    # What a user defined costs what it is said to, although its definition is written out here.
    size = complexity(expression, problem.settings.costs)
    size = min(size, tree.complexity) if problem.grammar.defines else size
    return Candidate(expression, loss, size, held_out, grouped)


def _without_magnitudes(expression: Expression, positive: frozenset[str]) -> Expression:
    """Return |x| as x for features that are positive: tidying writes (x * x)^c as |x|^2c."""

    def shorter(node: Apply, parts: tuple[Expression, ...]) -> Expression:
        bare = node.operator == "abs" and isinstance(parts[0], Variable) and parts[0].name in positive
        return parts[0] if bare else Apply(node.operator, parts)

    return rebuilt(expression, apply=shorter)


def values_of(
    expression: Expression, grouped: Sequence[GroupedConstant], problem: Problem
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return values (n_rows,) on the training rows in the given order, and whether each is valid."""
    columns = dict(zip([spec.name for spec in problem.features], problem.columns, strict=False))
    first = len(problem.features)
    for place, name in enumerate(problem.settings.grouped_constants):
        levels = np.array(problem.grammar.levels[name])[problem.columns[first + place].astype(int)]
        for constant in grouped:
            if constant.key == name:
                columns[constant.name] = constant.column({name: levels}, levels.size)
    names = variables(expression)
    return evaluate(expression, {name: column for name, column in columns.items() if name in names})


def squares_loss(expression: Expression, grouped: Sequence[GroupedConstant], problem: Problem) -> float:
    """Return the weighted mean square residual on the training rows, or the loss that is an expression.

    Infinite where a value is not valid.
    """
    rows = problem.rows
    values, valid = values_of(expression, grouped, problem)
    values = np.broadcast_to(values, problem.columns.shape[1:])
    if not np.all(valid):
        return math.inf
    if problem.loss is not None:
        losses = problem.loss.of(values, problem.columns[problem.loss.column])
        return float(np.sum(rows.weight * losses[problem.order]))
    found = (values if problem.sums is None else problem.sums.apply(values))[problem.order]
    if rows.logarithmic and not np.all(found > 0.0):
        return math.inf
    residuals = (np.log(found) - rows.target) if rows.logarithmic else (found - rows.target) * rows.scale
    return float(np.sum(rows.weight * residuals**2))


def _pruned(tree: Individual, problem: Problem) -> Individual:
    """Return the pruned tree with the same loss, or the tree itself if the required structure forbids it."""
    smaller = prune(tree, problem.grammar)
    return smaller if problem.structure.accepts(smaller) else tree


def _contenders(state: SearchState, problem: Problem) -> list[Individual]:
    """Return the archived trees that beat all simpler ones by score or by loss, evenly thinned if needed."""
    found = {id(tree): tree for measure in ("score", "loss") for tree in state.front(measure)}
    required = set(problem.settings.required_features)
    usable = [
        tree for tree in found.values() if required <= {node.feature for node in tree if node.arity == 0}
    ]
    usable.sort(key=lambda tree: (tree.complexity, tree.loss))
    if len(usable) <= MOST_CANDIDATES:
        return usable
    return usable[:: math.ceil(len(usable) / MOST_CANDIDATES)] + usable[-1:]


def is_sound(tree: Individual, problem: Problem) -> bool:
    """Return whether every node of the expression is finite on every training row.

    The machine may skip an infinite intermediate value; the printed formula may not.
    """
    return bool(np.all(values_of(to_expression(tree), grouped_constants(tree, problem.grammar), problem)[1]))


def held_out_losses(
    trees: Sequence[Individual], problem: Problem, steps: int
) -> list[tuple[NDArray[np.float64], ...]]:
    """Return per tree the loss of each group with constants refitted on all others, for every division."""
    divided = [problem, *(replace(problem, rows=rows) for rows in problem.further_rows)]
    return list(zip(*(_losses_without(trees, part, steps) for part in divided), strict=True))


def _losses_without(trees: Sequence[Individual], problem: Problem, steps: int) -> list[NDArray[np.float64]]:
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
    alone = replace(problem, further_rows=())
    places = list(range(len(trees)))
    if problem.rows.target.size <= REFITTED_ROWS:
        return np.zeros((len(trees), problem.case_count)), places
    stepped = alone.fit(trees, 0, start=False, held_out=True)
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
    return ParetoFront.of(scored(candidate, template) for candidate in candidates)


def scored(candidate: Candidate, template: Formula) -> ScoredFormula:
    """Return the candidate as a scored formula."""
    formula = Formula(
        candidate.expression,
        template.features,
        template.target,
        candidate.grouped,
        ranges=template.ranges,
        provenance=template.provenance,
        scope=template.scope,
    )
    held_out = candidate.validation_loss
    return ScoredFormula(
        formula, candidate.loss, candidate.complexity, held_out if math.isfinite(held_out) else None
    )


def choose(candidates: Sequence[Candidate], rule: str, row_count: float, random_seed: int = 0) -> Candidate:
    """Return one candidate by a rule of `CHOICES`.

    most_stable : the candidate that "one_standard_error" chooses most often when the groups are resampled.
    one_standard_error : the simplest candidate whose mean held-out loss exceeds the best one's, in every
    division, by at most the standard error of their difference over the groups (Breiman et al., 1984, for
    trees; here paired), and whose worst group is hardly worse than the best one's.
    """
    if rule == "loss":
        return min(candidates, key=lambda candidate: (candidate.loss, candidate.complexity))
    if rule == "description_length":
        return min(candidates, key=lambda candidate: description_length(candidate, row_count))
    finite = [candidate for candidate in candidates if math.isfinite(candidate.validation_loss)]
    finite = finite or list(candidates)
    if rule == "most_stable":
        again = choose_again(finite, rule, resamples=RESAMPLES, random_seed=random_seed)
        if again:
            return max(again, key=lambda chosen: chosen[1])[0]
    return finite[_chosen_place(_by_division(finite), [own.complexity for own in finite], rule)]


def _by_division(candidates: Sequence[Candidate]) -> list[NDArray[np.float64]]:
    """Return the losses of each division, (n_candidates, n_groups)."""
    return [np.array(division) for division in zip(*(own.held_out for own in candidates), strict=True)]


def choose_again(
    candidates: Sequence[Candidate], rule: str, *, resamples: int, random_seed: int
) -> list[tuple[Candidate, float]]:
    """Return the candidates that the rule chooses when the held-out groups are resampled, and their shares.

    A resample takes as many groups as there are, with replacement, in every division (Efron, 1979). Each
    group keeps the loss with constants that were fitted without it, so that no resample needs a fit. What is
    most stable is counted by the rule that it resamples.
    """
    generator = np.random.default_rng(random_seed)
    sizes = [losses.size for losses in candidates[0].held_out] if candidates else []
    if rule not in TRANSFERRING or max(sizes, default=0) < 2:
        return []
    losses = _by_division(candidates)
    chosen = np.zeros(len(candidates), np.int64)
    for _ in range(resamples):
        picks = [generator.integers(size, size=size) for size in sizes]
        drawn = [division.take(places, axis=1) for division, places in zip(losses, picks, strict=True)]
        chosen[_chosen_place(drawn, [own.complexity for own in candidates], rule)] += 1
    return [(candidates[place], int(chosen[place]) / resamples) for place in np.flatnonzero(chosen).tolist()]


def _chosen_place(losses: Sequence[NDArray[np.float64]], costs: Sequence[int], rule: str) -> int:
    """Return which candidate a rule of `TRANSFERRING` chooses, from all losses at once.

    losses : of each division (n_candidates, n_groups). costs : complexities. Divisions cut the same rows, so
    that each is asked alone: their groups together would seem more evidence than there is.
    """
    mean = np.mean([division.mean(axis=1) for division in losses], axis=0)
    finite = np.isfinite(mean)
    best = int(np.lexsort((np.array(costs), mean))[0])
    if rule == "validation":
        return best
    worst = np.max([division.max(axis=1) for division in losses], axis=0)
    good = (worst <= WORST_GROUP * worst[best]) & (finite | ~finite.any())
    for division in losses:
        with np.errstate(invalid="ignore"):
            difference = division - division[best]
            error = difference.std(axis=1) / math.sqrt(difference.shape[1])
            good &= ~(difference.mean(axis=1) > error)
    good[best] = True
    return int(np.flatnonzero(good)[0])


def description_length(candidate: Candidate, row_count: float) -> float:
    """Return the length of the candidate's code, in nats."""
    held = len(constants(candidate.expression))
    return code_length(candidate.loss, held, candidate.complexity, row_count)
