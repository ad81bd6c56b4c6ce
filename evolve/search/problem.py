"""The problem of one search: data in the machine's order, the grammar, and the loss."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits
from trainlaw.evolve.equations.library import Quantity, make_library
from trainlaw.evolve.equations.ranking import MOST_CHOSEN, Ranking, rank_columns
from trainlaw.evolve.equations.screening import screen
from trainlaw.evolve.grammar import Grammar, make_grammar
from trainlaw.evolve.leaves import Defined
from trainlaw.evolve.machine.arrays import Programs, Rows
from trainlaw.evolve.machine.batch import AFFINE, LEAST_GAIN, NOTHING, RESCALE, FitResult, Machine
from trainlaw.evolve.search.divisions import (
    draw_observations,
    few_cases,
    level_counts,
    levels_of,
    make_cases,
    merge_equal_rows,
    number_groups,
)
from trainlaw.evolve.search.individuals import (
    BEHIND,
    UNREACHED,
    Fitness,
    Forest,
    Individual,
    forest_of,
)
from trainlaw.evolve.search.losses import (
    LossProgram,
    loss_name,
    loss_program,
    loss_rows,
    weighted_rows,
    with_definition_columns,
)
from trainlaw.evolve.search.structure import Structure, make_structure
from trainlaw.evolve.search.targeting import NOT_AIMED, Targeting, make_targeting
from trainlaw.evolve.search.trees import (
    costs_by_code,
    encode,
    nodes_of,
    untidy,
    with_fitted,
    within_loss,
)
from trainlaw.evolve.settings import NARROW, SearchSettings
from trainlaw.formulas import Expression, FeatureSpec, RowSums, Variable

# Numbers of a table that is not copied for the problem, only for the machine.
LARGE_TABLE = 2**22
# Rows that screening looks at: with more, it takes longer and finds the same.
SCREENED_ROWS = 4_000
# Largest shares of a time limit that screening takes, and the library of mutations that aim.
SCREENED_SHARE, LIBRARY_SHARE = 0.25, 0.02
# Rows on which such mutations compare expressions, how many, and evaluations for each in a small budget.
COMPARED_ROWS, LIBRARY, EVALUATIONS_PER_EXPRESSION = 64, 2_000, 10


@dataclass(frozen=True)
class Problem:
    """All that a search needs; made by `make_problem`.

    columns : float64 (n_columns, n_rows), the features and then the levels of the labels, rows in the given
    order. sums : which rows add up to each observation, or None. order : (n_observations,), of the
    observations in `rows`. box : per feature its range on the training rows, in its unit. grouped : whether
    cases are groups, rather than rows assigned at random. further_rows : the same observations, ordered by
    other groups, which are held out as well. all_rows : all observations, where `rows` are drawn from them.
    seeds : expressions that screening found, for the first generation. toolbox : operators of the user, a
    `deap.base.Toolbox`, or None. ranking : of the features, where there are many. loss : where it is an
    expression. targeting : of mutations, in an untyped search without groups.
    """

    features: tuple[FeatureSpec, ...]
    target: FeatureSpec
    settings: SearchSettings
    grammar: Grammar
    structure: Structure
    rows: Rows
    columns: NDArray[np.float64]
    sums: RowSums | None
    order: NDArray[np.int64]
    box: Mapping[str, tuple[float, float]]
    machine: Machine
    grouped: bool
    further_rows: tuple[Rows, ...] = ()
    all_rows: Rows | None = None
    seeds: tuple[Expression, ...] = ()
    toolbox: Any = None
    ranking: Ranking | None = None
    loss: LossProgram | None = None
    targeting: Targeting = NOT_AIMED

    @property
    def whole(self) -> "Problem":
        """The problem with all observations, in the division that comes first."""
        return self if self.all_rows is None else replace(self, rows=self.all_rows, further_rows=())

    @property
    def drawn_share(self) -> float:
        """Share of all observations to which the search fits."""
        return 1.0 if self.all_rows is None else self.rows.target.size / self.all_rows.target.size

    @property
    def affine(self) -> bool:
        """Whether trees are fitted with a linear wrapper (offset + slope).

        A typed tree is proportional to its weights already; sums over rows and templates take no offset.
        """
        return not self.settings.typed and self.sums is None and self.settings.template is None

    @cached_property
    def costs(self) -> NDArray[np.int64]:
        """Complexity of each code of the machine."""
        return costs_by_code(self.settings.costs, [known.name for known in self.settings.definitions])

    def program_lengths(self, forest: Forest) -> NDArray[np.int64]:
        """Return the number of nodes of each tree's program, with offset, slope and loss."""
        loss = len(self.loss.front) + len(self.loss.behind) if self.loss else 0
        nodes = self.grammar.nodes
        further = np.array([node.further if isinstance(node, Defined) else 0 for node in nodes])
        return forest.sizes + forest.per_tree(further[forest.kinds]) + 4 + loss

    @property
    def case_count(self) -> int:
        """Number of groups of rows that count as cases."""
        return self.rows.group_weight.size

    @property
    def effective_rows(self) -> float:
        """Number of observations of equal weight that say as much as the weighted ones (Kish, 1965)."""
        return 1.0 / float(np.sum(self.rows.weight**2))

    def fit(
        self,
        trees: Sequence[Individual],
        steps: int,
        *,
        start: bool = True,
        held_out: bool = False,
        skip: NDArray[np.int64] | None = None,
    ) -> list[Individual]:
        """Return the trees with fitted constants, losses and cases; `start` sets the overall factor first.

        What was not reached in time stays as it is.
        """
        forest = forest_of(trees, self.grammar)
        fitted = self.start_fit(forest, steps, LEAST_GAIN, start=start, held_out=held_out, skip=skip)()
        return [old if new is UNREACHED else new for old, new in zip(trees, fitted, strict=True)]

    def start_fit(
        self,
        forest: Forest,
        steps: int,
        least_gain: float,
        *,
        start: bool = True,
        held_out: bool = False,
        skip: NDArray[np.int64] | None = None,
        limits: NDArray[np.float64] | None = None,
    ) -> Callable[[], list[Individual]]:
        """Start a fit, in the background if possible, and return a function that waits for the trees.

        limits : as of `Machine.start_fit`; `BEHIND` stands for a tree without held-out losses that is not
        below its limit, and `UNREACHED` for one that was not reached in time.
        """
        programs = encode(forest, self.affine)
        further = self.further_rows if held_out else ()
        start_mode = (AFFINE if self.affine else RESCALE) if start else NOTHING
        if self.loss is not None:
            programs, start_mode = self._begun(programs, steps, least_gain, start_mode, skip), NOTHING
        result_of = self.machine.start_fit(
            programs, self.rows, steps=steps, least_gain=least_gain, start_mode=start_mode,
            held_out=held_out, skip=skip, limits=limits,
        )  # fmt: skip

        def fitted() -> list[Individual]:
            result = self._in_every_division(programs, result_of(), further)
            is_kept = ~np.isnan(result.losses)
            found = [BEHIND if reached else UNREACHED for reached in is_kept.tolist()]
            if limits is not None and not held_out:
                is_kept &= ~(result.losses > limits)
            places = np.flatnonzero(is_kept)
            kept = with_fitted(forest, programs, result.theta, self.affine).of(places).trees()
            to_prune = untidy(programs, result.theta)[places].tolist()
            for place, tree, is_untidy in zip(places.tolist(), kept, to_prune, strict=True):
                tree.fitness = Fitness(float(result.losses[place]), result.cases[place])
                tree.untidy = is_untidy
                found[place] = tree
            return found

        return fitted

    def _begun(
        self,
        programs: Programs,
        steps: int,
        least_gain: float,
        start_mode: int,
        skip: NDArray[np.int64] | None,
    ) -> Programs:
        """Return the programs within the loss that is an expression, fitted without its kinks first."""
        loss: Any = self.loss
        if start_mode != NOTHING:
            begun = self.machine.fit(programs, loss.rows, steps=steps, start_mode=start_mode, skip=skip)
            programs = programs._replace(theta=begun.theta)
        inside = within_loss(programs, *loss.rough)
        rough = self.machine.fit(inside, self.rows, steps=steps, least_gain=least_gain, skip=skip)
        return within_loss(programs._replace(theta=rough.theta), loss.front, loss.behind)

    def _in_every_division(self, programs: Programs, result: FitResult, further: Sequence[Rows]) -> FitResult:
        """Return the result with the held-out losses of the groups of all divisions side by side.

        Programs without such losses in the first division have none in the others.
        """
        there = programs._replace(theta=result.theta)
        limits = np.where(np.isfinite(result.cases).all(axis=1), math.inf, 0.0)
        cases = [
            self.machine.fit(there, rows, steps=0, held_out=True, limits=limits).cases for rows in further
        ]
        return replace(result, cases=np.hstack([result.cases, *cases]))

    def ranked_names(self) -> dict[str, float]:
        """Return the features that a ranking found relevant, best first, with their scores."""
        if self.ranking is None:
            return {}
        chosen = self.ranking.order[: self.ranking.chosen]
        return {self.features[i].name: round(self.ranking.scores[i], 1) for i in chosen}

    def joint_losses(self, cases: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean over divisions of held-out losses (n_trees, n_cases), infinite where one is.

        Within a division the losses are joined by their mean or their worst, as `held_out_measure` says.
        """
        ends = np.cumsum([self.case_count, *(rows.groups for rows in self.further_rows)])
        parts = np.split(cases, ends[:-1], axis=1)
        is_mean = self.settings.held_out_measure == "mean"
        joint = np.mean([part.mean(axis=1) if is_mean else part.max(axis=1) for part in parts], axis=0)
        return np.where(np.isfinite(joint), joint, math.inf)


def make_problem(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    features: tuple[FeatureSpec, ...],
    target: FeatureSpec,
    settings: SearchSettings,
    *,
    groups: ArrayLike | None = None,
    further_groups: Sequence[ArrayLike] = (),
    sample_weight: NDArray[np.float64] | None = None,
    labels: Mapping[str, ArrayLike] | None = None,
    sums: RowSums | None = None,
    toolbox: Any = None,
) -> Problem:
    """Return the problem of `y` (n_observations,) from `X` (n_rows, n_features), in their units.

    groups : labels (n_observations,) or None. further_groups : more such labels, held out as well.
    sample_weight : (n_observations,), not negative, or None for ones. labels : per label of a grouped
    constant its values (n_rows,). sums : which rows add up to each observation; None where each row is one.
    Raises InputError where a relative loss meets a target that is not positive.
    """
    settings = settings.resolved(grouped=groups is not None)
    name = loss_name(settings, target, y)
    levels, level_columns = levels_of(settings, labels, X.shape[0])
    # Columns of a small table are faster to read than the caller's rows; of a large one a copy is too much.
    columns = np.vstack([X.T, level_columns]) if levels or X.size < LARGE_TABLE else X.T
    weight = np.ones_like(y) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    # Rows of weight zero must not even influence types, ranges or starting values.
    used = np.flatnonzero(weight > 0.0)
    y, weight = y[used], weight[used]
    divisions = number_groups([*([] if groups is None else [groups]), *further_groups], used)
    if sums is not None:
        sums = sums.of(used)
    else:
        columns = columns if used.size == columns.shape[1] else np.ascontiguousarray(columns[:, used])
        columns, y, divisions, weight = merge_equal_rows(
            columns, y, divisions, weight, always=sample_weight is not None
        )
    case, weight = make_cases(None if groups is None else divisions[0], weight, settings)
    cases = [case, *(few_cases(division) for division in divisions[groups is not None :])]
    columns, place = with_definition_columns(columns, y, settings)
    rows_of = partial(
        weighted_rows, columns, y, weight,
        loss=name, settings=settings, sums=sums, levels=level_counts(levels, X.shape[1]),
    )  # fmt: skip
    drawn = draw_observations(cases, settings) if sums is None else None
    rows, *further_rows = (rows_of(numbers, drawn) for numbers in cases)
    of_features = columns[: X.shape[1]]
    ranking, searched = _ranked(features, of_features, y, settings)
    grammar = make_grammar(features, target, of_features, y, searched, levels=levels, sums=sums)
    if ranking is not None:
        grammar = replace(grammar, favoured=frozenset(features[i].name for i in ranking.relevant))
    ends = zip(of_features.min(axis=1).tolist(), of_features.max(axis=1).tolist(), strict=True)
    box = dict(zip([spec.name for spec in features], ends, strict=True))
    problem = Problem(
        features, target, settings, grammar, make_structure(settings, grammar), rows, columns, sums,
        np.argsort(case, kind="stable"), box, Machine(settings.threads), groups is not None,
        tuple(further_rows), None if drawn is None else rows_of(case), toolbox=toolbox, ranking=ranking,
    )  # fmt: skip
    return _screened(_with_loss(problem, place), y)


def _with_loss(problem: Problem, place: int) -> Problem:
    """Return the problem with a loss that is an expression, where it is one; place : column of the target."""
    loss = loss_program(problem.settings, problem.rows, place)
    if loss is None:
        return problem
    all_rows = problem.all_rows and loss_rows(problem.all_rows)
    further = tuple(map(loss_rows, problem.further_rows))
    return replace(problem, loss=loss, rows=loss_rows(problem.rows), further_rows=further, all_rows=all_rows)


def _ranked(
    features: tuple[FeatureSpec, ...], columns: NDArray[np.float64], y: NDArray[np.float64],
    settings: SearchSettings,
) -> tuple[Ranking | None, SearchSettings]:  # fmt: skip
    """Return the ranking of the columns (n_features, n_rows) of a wide table, and the settings for the best.

    Forbidden features rank last; those that are required are always offered.
    """
    selected = settings.selects(len(features))
    if selected is None or columns.shape[1] != y.size:
        return None, settings
    names = [spec.name for spec in features]
    offered = [i for i, name in enumerate(names) if name not in settings.forbidden_features]
    # With more threads, a busy machine ranks many times slower, and the last digits depend on their number.
    with threadpool_limits(1):
        found = rank_columns(columns[offered], y, min(selected, MOST_CHOSEN))
    order = tuple(offered[i] for i in found.order)
    kept = {names[i] for i in order[:selected]} | set(settings.required_features)
    scores = dict(zip(offered, found.scores, strict=True))
    ranking = Ranking(order, tuple(scores.get(i, 0.0) for i in range(len(names))), found.chosen)
    return ranking, replace(settings, forbidden_features=tuple(name for name in names if name not in kept))


def _screened(problem: Problem, y: NDArray[np.float64]) -> Problem:
    """Return the problem with what screening finds for `y`, its values (n_rows,): seeds and blocks."""
    settings, grammar = problem.settings, problem.grammar
    if problem.grouped or not problem.affine:
        return problem
    offered = {leaf.feature for leaf in grammar.leaves(grammar.target)}
    some = slice(None, None, -(-y.size // SCREENED_ROWS))
    places: Sequence[int] = range(len(problem.features))
    if problem.ranking is not None:
        places = sorted(problem.ranking.order[: problem.ranking.chosen or NARROW])
    atoms = [
        Quantity(Variable(problem.features[i].name), problem.columns[i][some])
        for i in places
        if problem.features[i].name in offered and np.ptp(problem.columns[i][some]) > 0.0
    ]
    operators = settings.offered
    screened = screen(
        atoms, y[some], operators, settings.screening_share, settings.random_seed,
        SCREENED_SHARE * (settings.limit_seconds or math.inf),
    )  # fmt: skip
    found = (nodes_of(block, grammar.target, grammar) for block in screened.blocks)
    blocks = tuple(tuple(nodes) for nodes in found if nodes)
    problem = replace(problem, grammar=replace(grammar, blocks=blocks), seeds=screened.seeds)
    if grammar.levels or grammar.defines or not {"add", "mul"} <= set(operators):
        return problem
    few = np.linspace(0, y[some].size - 1, COMPARED_ROWS).astype(int)
    columns = np.ascontiguousarray(problem.columns[: len(problem.features), some][:, few])
    known = [replace(atom, values=atom.values[few]) for atom in atoms]
    most = min(LIBRARY, (settings.evaluations or math.inf) // EVALUATIONS_PER_EXPRESSION)
    end = time.monotonic() + LIBRARY_SHARE * (settings.limit_seconds or math.inf)
    library = make_library(known, operators, int(most), end)
    return replace(problem, targeting=make_targeting(library, y[some][few], columns, grammar))
