"""The problem of one search: data in the machine's order, the grammar, and the loss."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from trainlaw.evolve.grammar import Grammar, make_grammar
from trainlaw.evolve.machine.arrays import Rows
from trainlaw.evolve.machine.batch import LEAST_GAIN, Machine
from trainlaw.evolve.search.divisions import MOST_CASES, deal_rows, draw_rows, merge_equal_rows
from trainlaw.evolve.search.individuals import BEHIND, UNREACHED, Fitness, Forest, Individual, forest_of
from trainlaw.evolve.search.losses import loss_name, weighted_rows
from trainlaw.evolve.search.structure import Structure, make_structure
from trainlaw.evolve.search.trees import encode, untidy, with_fitted
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import FeatureSpec

# Numbers of a table that is not copied for the problem, only for the machine.
LARGE_TABLE = 2**22


@dataclass(frozen=True)
class Problem:
    """Data, grammar and loss of one search; made by `make_problem`.

    columns : float64 (n_features, n_rows), rows in the given order. order : (n_rows,), of the rows in `rows`.
    box : per feature its range on the training rows, in its unit. grouped : whether cases are groups, rather
    than rows assigned at random. all_rows : all rows, where `rows` are drawn from them. toolbox : operators
    of the user, a `deap.base.Toolbox`, or None.
    """

    features: tuple[FeatureSpec, ...]
    target: FeatureSpec
    settings: SearchSettings
    grammar: Grammar
    structure: Structure
    rows: Rows
    columns: NDArray[np.float64]
    order: NDArray[np.int64]
    box: Mapping[str, tuple[float, float]]
    machine: Machine
    grouped: bool
    all_rows: Rows | None = None
    toolbox: Any = None

    @property
    def whole(self) -> "Problem":
        """The problem with all rows."""
        return self if self.all_rows is None else replace(self, rows=self.all_rows)

    @property
    def target_range(self) -> tuple[float, float]:
        """Least and largest value of the target, in its unit."""
        ends = self.rows.target.min(), self.rows.target.max()
        low, high = np.exp(ends) if self.rows.logarithmic else ends
        return float(low), float(high)

    @property
    def drawn_share(self) -> float:
        """Share of all rows to which the search fits."""
        return 1.0 if self.all_rows is None else self.rows.target.size / self.all_rows.target.size

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
        """Number of rows of equal weight that say as much as the weighted ones (Kish, 1965)."""
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
        fitted = self.fit_forest(forest, steps, LEAST_GAIN, start=start, held_out=held_out, skip=skip)
        return [old if new is UNREACHED else new for old, new in zip(trees, fitted, strict=True)]

    def fit_forest(
        self,
        forest: Forest,
        steps: int,
        least_gain: float,
        *,
        start: bool = True,
        held_out: bool = False,
        skip: NDArray[np.int64] | None = None,
        limits: NDArray[np.float64] | None = None,
    ) -> list[Individual]:
        """Return the trees with fitted constants, losses and cases.

        limits : as of `Machine.fit`; `BEHIND` stands for a tree without held-out losses that is not below its
        limit, and `UNREACHED` for one that was not reached in time.
        """
        programs = encode(forest)
        result = self.machine.fit(
            programs,
            self.rows,
            steps=steps,
            least_gain=least_gain,
            rescales=start,
            held_out=held_out,
            skip=skip,
            limits=limits,
        )
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


def make_problem(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    features: tuple[FeatureSpec, ...],
    target: FeatureSpec,
    settings: SearchSettings,
    *,
    groups: ArrayLike | None = None,
    sample_weight: NDArray[np.float64] | None = None,
    toolbox: Any = None,
) -> Problem:
    """Return the problem of `y` (n_rows,) from `X` (n_rows, n_features), in their units.

    groups : labels (n_rows,) or None. sample_weight : (n_rows,), not negative, or None for ones. Raises
    InputError for a relative loss of a target that is not positive.
    """
    settings = settings.resolved(grouped=groups is not None)
    name = loss_name(settings, target, y)
    # Columns of a small table are faster to read than the caller's rows; of a large one a copy is too much.
    columns = np.ascontiguousarray(X.T) if X.size < LARGE_TABLE else X.T
    weight = np.ones_like(y) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    # Rows of weight zero must not even influence types, ranges or starting values.
    used = np.flatnonzero(weight > 0.0)
    y, weight = y[used], weight[used]
    columns = columns if used.size == columns.shape[1] else np.ascontiguousarray(columns[:, used])
    labels = np.zeros(used.size) if groups is None else np.asarray(groups)[used]
    group = np.unique(labels, return_inverse=True)[1]
    columns, y, group, weight = merge_equal_rows(columns, y, group, weight, always=sample_weight is not None)
    if groups is None:
        case = deal_rows(y.size, settings.random_seed)
    else:
        weight = weight * np.bincount(group, weights=weight)[group] ** -settings.group_weight_power
        # Numbered from 0 without gaps.
        case = np.unique(group % MOST_CASES, return_inverse=True)[1]
    rows_of = partial(weighted_rows, columns, y, weight, case, loss=name, settings=settings)
    drawn = draw_rows(case, settings)
    grammar = make_grammar(features, target, columns, y, settings)
    ends = zip(columns.min(axis=1).tolist(), columns.max(axis=1).tolist(), strict=True)
    return Problem(
        features,
        target,
        settings,
        grammar,
        make_structure(settings, grammar),
        rows_of(drawn),
        columns,
        np.argsort(case, kind="stable"),
        dict(zip([spec.name for spec in features], ends, strict=True)),
        Machine(settings.threads),
        groups is not None,
        None if drawn is None else rows_of(),
        toolbox,
    )
