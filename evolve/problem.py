"""One search problem: data in the machine's order, the grammar, and the loss."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from trainlaw.evolve.arrays import HUBER, SOFT_L1, SQUARES, Rows, make_rows
from trainlaw.evolve.batch import AFFINE, NOTHING, RESCALE
from trainlaw.evolve.grammar import Grammar, make_grammar
from trainlaw.evolve.machine import FitResult, Machine
from trainlaw.evolve.settings import SearchSettings
from trainlaw.evolve.trees import encode, with_fitted
from trainlaw.evolve.variation import Individual
from trainlaw.formulas import FeatureSpec, InputError

# Groups beyond this number are joined, so that cases and blocks stay few.
MOST_CASES = 32
# Without groups, rows are dealt into this many cases.
DEALT_CASES = 10
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
    """What a search works on; made by `make_problem`."""

    features: tuple[FeatureSpec, ...]
    target: FeatureSpec
    settings: SearchSettings
    grammar: Grammar
    rows: Rows
    machine: Machine
    grouped: bool

    @property
    def affine(self) -> bool:
        """Whether each tree has an offset and a slope around it; a typed tree is proportional to its
        weights.
        """
        return not self.settings.typed

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
    ) -> tuple[list[Individual], FitResult]:
        """The trees with fitted constants, and the result of the fit; `start` sets the overall factor
        first.
        """
        programs = encode(trees, self.affine)
        start_mode = (AFFINE if self.affine else RESCALE) if start else NOTHING
        result = self.machine.fit(
            programs, self.rows, steps=steps, start_mode=start_mode, held_out=held_out, skip=skip
        )
        theta, edges = result.theta.tolist(), programs.constant_offsets.tolist()
        fitted = [
            with_fitted(tree, theta[begin:end], self.affine)
            for tree, begin, end in zip(trees, edges[:-1], edges[1:], strict=True)
        ]
        for tree, loss, cases in zip(fitted, result.losses.tolist(), result.cases, strict=True):
            tree.loss, tree.cases = loss, cases
        return fitted, result


def make_problem(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    features: tuple[FeatureSpec, ...],
    target: FeatureSpec,
    settings: SearchSettings,
    groups: ArrayLike | None = None,
    sample_weight: NDArray[np.float64] | None = None,
) -> Problem:
    """The problem of `y` (n_rows,) from `X` (n_rows, n_features), in the units of `target` and `features`.

    groups : labels (n_rows,) or None. sample_weight : (n_rows,), not negative, or None for ones.
    Raises InputError where a relative loss meets a target that is not positive.
    """
    name = loss_name(settings, target, y)
    logarithmic, robust = LOSS_FORMS[name]
    weight = np.ones_like(y) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if groups is None:
        group = deal_rows(y.size, settings.random_seed)
    else:
        _, numbers, counts = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
        weight = weight * counts[numbers] ** -settings.group_weight_power
        group = numbers % MOST_CASES
    used = weight > 0.0
    scale = np.full_like(y, 1.0 / (float(np.std(y)) or 1.0)) if name == "squares" else 1.0 / y
    columns = np.ascontiguousarray(X.T[:, used])
    rows = make_rows(
        columns,
        y[used],
        scale[used],
        weight[used],
        np.unique(group[used], return_inverse=True)[1],
        logarithmic=logarithmic,
        robust=robust,
        width=PERCENTAGE_WIDTH if name == "absolute_percentage" else settings.loss_width,
    )
    grammar = make_grammar(features, target, columns, y[used], settings)
    return Problem(features, target, settings, grammar, rows, Machine(settings.threads), groups is not None)


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
            f"expected a positive target for the loss {settings.loss!r}, came {y.min():g}: use loss='squares'"
        )
    return settings.loss


def deal_rows(count: int, seed: int) -> NDArray[np.int64]:
    """Case of each of `count` rows when there are no groups: equal shares at random."""
    cases = max(1, min(DEALT_CASES, count // 5))
    return np.random.default_rng(seed).permutation(np.arange(count) % cases)


def case_mean(cases: NDArray[np.float64]) -> float:
    """Mean over cases, infinite where one is."""
    return float(np.mean(cases)) if np.all(np.isfinite(cases)) else math.inf
