"""The problem of one search: data in the machine's order, the grammar, and the loss."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from trainlaw.evolve.grammar import Grammar, make_grammar
from trainlaw.evolve.machine.arrays import Programs, Rows
from trainlaw.evolve.machine.batch import LEAST_GAIN, FitResult, Machine
from trainlaw.evolve.search.divisions import (
    draw_observations,
    few_cases,
    make_cases,
    merge_equal_rows,
    number_groups,
)
from trainlaw.evolve.search.individuals import BEHIND, UNREACHED, Fitness, Forest, Individual, forest_of
from trainlaw.evolve.search.losses import loss_name, weighted_rows
from trainlaw.evolve.search.structure import Structure, make_structure
from trainlaw.evolve.search.trees import costs_by_code, encode, untidy, with_fitted
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import FeatureSpec, RowSums

# Numbers of a table that is not copied for the problem, only for the machine.
LARGE_TABLE = 2**22


@dataclass(frozen=True)
class Problem:
    """Data, grammar and loss of one search; made by `make_problem`.

    columns : float64 (n_features, n_rows), rows in the given order. sums : which rows add up to each
    observation, or None. order : (n_observations,), of the observations in `rows`. box : per feature its
    range on the training rows, in its unit. grouped : whether cases are groups, rather than rows assigned at
    random. further_rows : the same observations, ordered by other groups, which are held out as well.
    all_rows : all observations, where `rows` are drawn from them. toolbox : operators of the user, a
    `deap.base.Toolbox`, or None.
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
    toolbox: Any = None

    @property
    def whole(self) -> "Problem":
        """The problem with all observations, in the division that comes first."""
        return self if self.all_rows is None else replace(self, rows=self.all_rows, further_rows=())

    @property
    def target_range(self) -> tuple[float, float]:
        """Least and largest value of the target, in its unit."""
        ends = self.rows.target.min(), self.rows.target.max()
        low, high = np.exp(ends) if self.rows.logarithmic else ends
        return float(low), float(high)

    @property
    def drawn_share(self) -> float:
        """Share of all observations to which the search fits."""
        return 1.0 if self.all_rows is None else self.rows.target.size / self.all_rows.target.size

    @cached_property
    def costs(self) -> NDArray[np.int64]:
        """Complexity of each code of the machine."""
        return costs_by_code(self.settings.costs)

    def has_required(self, tree: Individual) -> bool:
        """Return whether every feature that the settings require is in the tree."""
        required = self.settings.required_features
        return not required or set(required) <= {node.feature for node in tree}

    @property
    def island_count(self) -> int:
        """Number of populations."""
        return self.settings.islands or 1

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
        programs = encode(forest)
        further = self.further_rows if held_out else ()
        result_of = self.machine.start_fit(
            programs,
            self.rows,
            steps=steps,
            least_gain=least_gain,
            rescales=start,
            held_out=held_out,
            skip=skip,
            limits=limits,
        )

        def fitted() -> list[Individual]:
            result = self._in_every_division(programs, result_of(), further)
            is_kept = ~np.isnan(result.losses)
            found = [BEHIND if reached else UNREACHED for reached in is_kept.tolist()]
            if limits is not None and not held_out:
                is_kept &= ~(result.losses > limits)
            places = np.flatnonzero(is_kept)
            kept = with_fitted(forest, result.theta).of(places).trees()
            to_prune = untidy(programs, result.theta)[places].tolist()
            for place, tree, is_untidy in zip(places.tolist(), kept, to_prune, strict=True):
                tree.fitness = Fitness(float(result.losses[place]), result.cases[place])
                tree.untidy = is_untidy
                found[place] = tree
            return found

        return fitted

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
    sums: RowSums | None = None,
    toolbox: Any = None,
) -> Problem:
    """Return the problem of `y` (n_observations,) from `X` (n_rows, n_features), in their units.

    groups : labels (n_observations,) or None. further_groups : more such labels, held out as well.
    sample_weight : (n_observations,), not negative, or None for ones. sums : which rows add up to each
    observation; None where each row is one. Raises InputError for a relative loss of a target that is not
    positive.
    """
    settings = settings.resolved(grouped=groups is not None)
    name = loss_name(settings, target, y)
    # Columns of a small table are faster to read than the caller's rows; of a large one a copy is too much.
    columns = np.ascontiguousarray(X.T) if X.size < LARGE_TABLE else X.T
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
    rows_of = partial(weighted_rows, columns, y, weight, loss=name, settings=settings, sums=sums)
    drawn = draw_observations(cases, settings) if sums is None else None
    rows, *further_rows = (rows_of(numbers, drawn) for numbers in cases)
    grammar = make_grammar(features, target, columns, y, settings, sums=sums)
    ends = zip(columns.min(axis=1).tolist(), columns.max(axis=1).tolist(), strict=True)
    return Problem(
        features,
        target,
        settings,
        grammar,
        make_structure(settings, grammar),
        rows,
        columns,
        sums,
        np.argsort(case, kind="stable"),
        dict(zip([spec.name for spec in features], ends, strict=True)),
        Machine(settings.threads),
        groups is not None,
        tuple(further_rows),
        None if drawn is None else rows_of(case),
        toolbox,
    )
