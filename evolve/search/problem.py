"""One search problem: data in the machine's order, the grammar, and the loss."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from trainlaw.evolve.grammar import Grammar, make_grammar
from trainlaw.evolve.machine.arrays import HUBER, SOFT_L1, SQUARES, Rows, make_rows
from trainlaw.evolve.machine.batch import AFFINE, NOTHING, RESCALE
from trainlaw.evolve.machine.threads import LEAST_GAIN, Machine
from trainlaw.evolve.search.structure import Structure, make_structure
from trainlaw.evolve.search.trees import encode, untidy, with_fitted
from trainlaw.evolve.search.variation import Individual
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import FeatureSpec, InputError, RowSums
from trainlaw.formulas.errors import unknown_name

# Groups beyond this number are joined, so that cases and blocks stay few.
MOST_CASES = 32
# Without groups, rows are dealt into this many cases.
DEALT_CASES = 10
# Levels of all grouped constants together; each is one more constant of a fit.
MOST_LEVELS = 36
# Where an absolute percentage error bends into a square, relative.
PERCENTAGE_WIDTH = 0.02
LOSS_FORMS = {
    "log_ratio": (True, SQUARES),
    "soft_l1_log": (True, SOFT_L1),
    "huber_log": (True, HUBER),
    "relative_squares": (False, SQUARES),
    "absolute_percentage": (False, SOFT_L1),
    "squares": (False, SQUARES),
}


@dataclass(frozen=True)
class Problem:
    """What a search works on; made by `make_problem`.

    columns : float64 (n_columns, n_rows), the features and then the levels of the labels, rows as they were
    given. sums : which rows make up each observation, or None. order : (n_observations,), of the
    observations in `rows`. box : per feature its range on the training rows, in its unit.
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

    @property
    def affine(self) -> bool:
        """Whether each tree has an offset and a slope around it; a typed tree is proportional to its
        weights, and neither a sum over layers nor a template takes an offset.
        """
        return not self.settings.typed and self.sums is None and self.settings.template is None

    @property
    def case_count(self) -> int:
        """Number of groups of rows that count as cases."""
        return self.rows.group_weight.size

    def fit(
        self,
        trees: Sequence[Individual],
        steps: int,
        *,
        start: bool = True,
        held_out: bool = False,
        skip: NDArray[np.int64] | None = None,
    ) -> list[Individual]:
        """The trees with fitted constants, losses and cases; `start` sets the overall factor first."""
        return self.start_fit(trees, steps, LEAST_GAIN, start=start, held_out=held_out, skip=skip)()

    def start_fit(
        self,
        trees: Sequence[Individual],
        steps: int,
        least_gain: float,
        *,
        start: bool = True,
        held_out: bool = False,
        skip: NDArray[np.int64] | None = None,
    ) -> Callable[[], list[Individual]]:
        """Begins a fit, in the background where the machine has several threads; the result gives the trees
        of `fit`.
        """
        programs = encode(trees, self.affine)
        start_mode = (AFFINE if self.affine else RESCALE) if start else NOTHING
        result_of = self.machine.start_fit(
            programs, self.rows, steps=steps, least_gain=least_gain, start_mode=start_mode,
            held_out=held_out, skip=skip,
        )  # fmt: skip

        def fitted() -> list[Individual]:
            result = result_of()
            theta, edges = result.theta.tolist(), programs.constant_offsets.tolist()
            found = [
                with_fitted(tree, theta[begin:end], self.affine)
                for tree, begin, end in zip(trees, edges[:-1], edges[1:], strict=True)
            ]
            known = (result.losses.tolist(), result.cases, untidy(programs, result.theta).tolist())
            for tree, loss, cases, to_prune in zip(found, *known, strict=True):
                tree.loss, tree.cases, tree.untidy = loss, cases, to_prune
            return found

        return fitted


def make_problem(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    features: tuple[FeatureSpec, ...],
    target: FeatureSpec,
    settings: SearchSettings,
    groups: ArrayLike | None = None,
    sample_weight: NDArray[np.float64] | None = None,
    labels: Mapping[str, ArrayLike] | None = None,
    sums: RowSums | None = None,
) -> Problem:
    """The problem of `y` (n_observations,) from `X` (n_rows, n_features), in the units of `target` and
    `features`.

    groups : labels (n_observations,) or None. sample_weight : (n_observations,), not negative, or None for
    ones. labels : per label of a grouped constant its values (n_rows,). sums : which rows make up each
    observation; None that each row is one.
    Raises InputError where a relative loss meets a target that is not positive.
    """
    settings = settings.resolved(grouped=groups is not None)
    name = loss_name(settings, target, y)
    levels, level_columns = _levels(settings, labels, X.shape[0])
    columns = np.ascontiguousarray(np.vstack([X.T, level_columns]))
    weight = np.ones_like(y) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    used = np.flatnonzero(weight > 0.0)
    y, weight = y[used], weight[used]
    group = None if groups is None else np.unique(np.asarray(groups)[used], return_inverse=True)[1]
    if sums is not None:
        sums = sums.of(used)
    else:
        columns = np.ascontiguousarray(columns[:, used])
        columns, y, group, weight = _merged(columns, y, group, weight, always=sample_weight is not None)
    case, weight = _cases(group, weight, settings)
    rows = _weighed_rows(columns, y, weight, case, name, settings, sums, _level_counts(levels, X.shape[1]))
    own = columns[: X.shape[1]]
    grammar = make_grammar(features, target, own, y, settings, levels, sums)
    box = {
        spec.name: (float(column.min()), float(column.max()))
        for spec, column in zip(features, own, strict=True)
    }
    return Problem(
        features, target, settings, grammar, make_structure(settings, grammar), rows, columns, sums,
        np.argsort(case, kind="stable"), box, Machine(settings.threads), groups is not None
    )  # fmt: skip


def _levels(
    settings: SearchSettings, labels: Mapping[str, ArrayLike] | None, count: int
) -> tuple[dict[str, tuple[str, ...]], NDArray[np.float64]]:
    """The values of each label of a grouped constant, and per row their number: (n_labels, n_rows)."""
    levels, numbers = {}, []
    for name in settings.grouped_constants:
        if labels is None or name not in labels:
            raise unknown_name("label of a grouped constant", name, list(labels or ()))
        values = np.asarray(labels[name]).astype(str)
        if values.shape != (count,):
            raise InputError(f"expected {count} values of the label {name!r}, got shape {values.shape}")
        known, number = np.unique(values, return_inverse=True)
        levels[name] = tuple(known.tolist())
        numbers.append(number.astype(np.float64))
    if sum(map(len, levels.values())) > MOST_LEVELS:
        raise InputError(f"expected at most {MOST_LEVELS} values of all labels of grouped constants together")
    return levels, np.array(numbers).reshape(len(numbers), count)


def _level_counts(levels: Mapping[str, tuple[str, ...]], features: int) -> NDArray[np.int64]:
    """Per column of the table how many levels it has: none for a feature."""
    return np.array([0] * features + [len(values) for values in levels.values()], np.int64)


def _merged(
    columns: NDArray[np.float64],
    y: NDArray[np.float64],
    group: NDArray[np.int64] | None,
    weight: NDArray[np.float64],
    *,
    always: bool,
) -> tuple[NDArray[Any], ...]:
    """Equal rows as one with their weights added, so that a weight of two is the same as a row twice.

    Where neither weights (`always`) nor equal rows occur, all stays as it is.
    """
    parts = [*columns, y, *([] if group is None else [group.astype(np.float64)])]
    keys = np.zeros(y.size, np.uint64)
    for part in parts:
        keys = (keys ^ (part + 0.0).view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(29)
    _, first, owner = np.unique(keys, return_index=True, return_inverse=True)
    if not always and first.size == keys.size:
        return columns, y, group, weight
    summed = np.bincount(owner, weights=weight)
    return np.ascontiguousarray(columns[:, first]), y[first], None if group is None else group[first], summed


def _cases(
    group: NDArray[np.int64] | None, weight: NDArray[np.float64], settings: SearchSettings
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Case of each observation, counting from 0 without gaps, and weights that make groups count alike."""
    if group is None:
        return deal_rows(weight.size, settings.random_seed), weight
    counts = np.bincount(group, weights=weight)
    weight = weight * counts[group] ** -settings.group_weight_power
    return np.unique(group % MOST_CASES, return_inverse=True)[1], weight


def _weighed_rows(
    columns: NDArray[np.float64],
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    case: NDArray[np.int64],
    loss: str,
    settings: SearchSettings,
    sums: RowSums | None,
    levels: NDArray[np.int64],
) -> Rows:
    logarithmic, robust = LOSS_FORMS[loss]
    scale = np.full_like(y, 1.0 / (float(np.std(y)) or 1.0)) if loss == "squares" else 1.0 / y
    width = PERCENTAGE_WIDTH if loss == "absolute_percentage" else settings.loss_width
    return make_rows(
        columns, y, scale, weight, case, logarithmic=logarithmic, robust=robust, width=width, sums=sums,
        levels=levels,
    )  # fmt: skip


def loss_name(settings: SearchSettings, target: FeatureSpec, y: NDArray[np.float64]) -> str:
    """The loss that "automatic" stands for; raises InputError where a relative loss meets a target not
    positive.
    """
    positive = bool(np.all(y > 0.0))
    if settings.loss == "automatic":
        measured = settings.typed and not target.unit.is_dimensionless
        return "soft_l1_log" if measured and positive else "squares"
    if settings.loss != "squares" and not positive:
        raise InputError(
            f"expected a positive target for the loss {settings.loss!r}, got {y.min():g}: use loss='squares'"
        )
    return settings.loss


def deal_rows(count: int, seed: int) -> NDArray[np.int64]:
    """Case of each of `count` rows when there are no groups: equal shares at random."""
    cases = max(1, min(DEALT_CASES, count // 5))
    return np.random.default_rng(seed).permutation(np.arange(count) % cases)


def joint_loss(cases: NDArray[np.float64], measure: str) -> float:
    """Mean or worst of the losses (n_cases,), infinite where one is."""
    joint = float(np.mean(cases) if measure == "mean" else np.max(cases))
    return joint if math.isfinite(joint) else math.inf
