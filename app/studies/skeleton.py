"""The law: the skeleton of a formula, whose parts and amounts are all given, and its fit.

The skeleton of whole iterations follows from the tables of work and resources, and no term is chosen by hand:

    time = max(sum over resources of (weights x work) x factors, host, least) + copy

Each resource does its work one after another; the host launches meanwhile. No time is below the least that
the peak rates allow: the longest of the three counts.
All work costs time: each row of `work.csv` is in it, and so is each factor of a resource. Weights and
exponents are drawn to the values that the rules expect, which they keep where no run determines them. Which
runs count how much, and what was tuned on what, is said in docs/explanation/law.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import pandas as pd
from trainlaw.app.studies.estimators import FormulaFit
from trainlaw.datasets import TARGET, feature_specs
from trainlaw.datasets.features.work import resources, works
from trainlaw.datasets.files.storage import read_data_rows
from trainlaw.evolve import Bracket, Factor
from trainlaw.evolve.form import fitted, form_of
from trainlaw.formulas import Expression, FeatureSpec, Formula, variables
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.formulas.scopes import RUN
from trainlaw.validate.baselines.inputs import CLASS_FEATURES, class_weights, group_weights, rows_drawn

#: Runs of one architecture on one GPU group that a fit uses: more of them hardly change it, and the GPUs and
#: scripts with thousands of runs no longer outvote the rest (chosen from 3 to 24 and all).
RUNS_PER_CELL = 12
#: Of these, runs in each precision by which a quick search compares formulas. With all of them it takes half
#: as long again, and errors of 4 and of 12 constants fall by up to a point.
COMPARED_PER_CELL = 4
# No work, but less than which no time can be: nothing for a search that is free to combine amounts.
_BOUNDS = ("least_time_s",)
# What the device does not wait for: it is added behind the maximum of device and host.
_AFTER = "copy"

#: Weight of the priors where fewer than twenty GPUs were measured, chosen from 0.0005 to 0.03. Several GPUs:
#: 10.2, 9.2 and 9.6 % with GPU groups, CNNs and sources held out instead of 10.3, 9.3 and 9.7 with the usual
#: weight; pairs of GPUs: 14.9 % with GPUs and 14.6 % with CNNs held out instead of 15.5 and 14.2.
PRIOR_WEIGHT_OF_FEW_GPUS = 4e-3


def by_rules(resource: str) -> Bracket:
    """Return the bracket of a resource: its work, with the weights to expect, and its factors."""
    terms = tuple((work.name, work.expected) for work in works() if work.resource == resource)
    return Bracket(f"hole_{resource}", terms, tuple(map(factor_of, resources()[resource])))


def stated_brackets(law: str) -> tuple[Bracket, ...]:
    """Return the brackets of a law that `terms.csv` states row by row, in their order."""
    parts: dict[str, list[Mapping[str, str]]] = {}
    for row in read_data_rows("terms.csv"):
        if row["law"] == law:
            parts.setdefault(row["part"], []).append(row)
    return tuple(
        Bracket(
            f"hole_{part}",
            tuple((row["feature"], float(row["weight"])) for row in rows if "weight" in row),
            tuple(factor_of(row) for row in rows if "kind" in row),
            next((float(row["deviation"]) for row in rows if "deviation" in row), Bracket.deviation),
        )
        for part, rows in parts.items()
    )


def factor_of(row: Mapping[str, str]) -> Factor:
    """Return the factor that a row of a table states."""
    low, high, expected = (float(row[name]) for name in ("low", "high", "expected"))
    return Factor(row["feature"], low, high, expected, row["kind"])


@dataclass(frozen=True)
class Skeleton:
    """What a law is made of: the only maker of brackets.

    brackets : what each hole of `template` holds. target, scope : what the formula models. loss_width :
    logarithm of the deviation below which deviations count by their square, larger ones by their size.
    prior_weight : weight of a squared deviation from an expected constant, in standard deviations. Both were
    chosen on the error with each GPU group held out. is_balanced : whether runs weigh by the number of runs
    of their GPU group, architecture and precision, and few are drawn of many. base, floor, after : what
    formulas of few constants have besides their amounts, as of `Space`, as text, "" for none. given : amounts
    of the law in these. alternatives : two holes of which the faster one counts.
    """

    brackets: tuple[Bracket, ...]
    template: Expression
    target: FeatureSpec = TARGET
    scope: str = RUN
    loss_width: float = 0.2  # the deviation of the residuals themselves, from their quantiles
    prior_weight: float = 1e-3
    is_balanced: bool = True
    base: str = ""
    floor: str = ""
    after: str = ""
    given: tuple[str, ...] = ()
    alternatives: tuple[str, str] | tuple[()] = ()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The features of all terms, factors and of the template, each once."""
        terms = [name for one in self.brackets for name, _ in one.terms]
        factors = [factor.feature for one in self.brackets for factor in one.factors]
        holes = {one.hole for one in self.brackets}
        plain = [name for name in variables(self.template) if name not in holes]
        return tuple(dict.fromkeys((*terms, *factors, *plain)))

    def fits(self, X: pd.DataFrame) -> bool:
        """Return whether all features are known for every run of X, (n_runs, k)."""
        return all(name in X and np.isfinite(X[name]).all() for name in self.names)

    def known(self, X: pd.DataFrame) -> tuple[str, ...]:
        """Return the features but bounds that are known for every run of X, (n_runs, k)."""
        names = (name for name in self.names if name not in _BOUNDS)
        return tuple(name for name in names if name in X and np.isfinite(X[name]).all())


_FLOOR = "max(host_s, least_time_s)"
_DEVICE = " + ".join(f"hole_{name}" for name in resources() if name != _AFTER)
RUN_SKELETON = Skeleton(
    tuple(map(by_rules, resources())),
    parse_text(f"max({_DEVICE}, {_FLOOR}) + hole_{_AFTER}"),
    floor=_FLOOR,
    after="4 * input_copy_s",
    given=("input_copy_s",),
)


class TrainingRows(NamedTuple):
    """The rows that a formula is fitted to.

    X : features, (n_rows, k). y : seconds, and groups : (n_rows,). weights : beyond those of GPU groups,
    (n_rows,), None for the same. few : the places of fewer rows, which suffice to compare formulas; None for
    all.
    """

    X: pd.DataFrame
    y: np.ndarray
    groups: np.ndarray
    weights: np.ndarray | None
    few: np.ndarray | None = None


class LawFit(FormulaFit):
    """Fits the law of a skeleton: all of its weights and exponents, without a search."""

    division_columns: tuple[str, ...] = ("cnn_base",)

    def __init__(self, skeleton: Skeleton = RUN_SKELETON) -> None:
        """Keep the skeleton."""
        self.skeleton = skeleton

    def fit(
        self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray, divisions: pd.DataFrame | None = None
    ) -> Self:
        """Fit; X : features of runs, (n_runs, k). y, seconds, and groups : (n_runs,).

        divisions : labels of the columns `division_columns`, (n_runs, n_labels); None without any.
        """
        self.formula_ = self.completed(self.fitted(self.training(X, y, groups, divisions)), X, y)
        return self

    def fitted(self, rows: TrainingRows) -> Formula:
        """Return the law of some rows."""
        skeleton = self.skeleton
        columns = {name: rows.X[name].to_numpy(dtype=float) for name in skeleton.names}
        form = form_of(skeleton.template, skeleton.brackets, columns, skeleton.prior_weight)
        width = skeleton.loss_width
        expression, loss = fitted(form, columns, rows.y, rows.groups, rows.weights, loss_width=width)
        return Formula(
            expression,
            self.specs(skeleton.names),
            skeleton.target,
            ranges={name: (float(column.min()), float(column.max())) for name, column in columns.items()},
            provenance={"training_loss": loss},
            scope=skeleton.scope,
        )

    def specs(self, names: Iterable[str]) -> tuple[FeatureSpec, ...]:
        """Return the specifications of features of its rows."""
        return feature_specs(names)

    def training(
        self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray, divisions: pd.DataFrame | None
    ) -> TrainingRows:
        """Return the rows to fit, few of each architecture on each GPU group; arguments as of `fit`."""
        if not self.skeleton.is_balanced:
            return TrainingRows(X, y, groups, None)
        if divisions is None or "cnn_base" not in divisions:
            rows = rows_drawn(groups)
            return TrainingRows(X.iloc[rows], y[rows], groups[rows], class_weights(X.iloc[rows]))
        cells = np.char.add(groups.astype(str), divisions["cnn_base"].to_numpy(dtype=str))
        rows = rows_drawn(cells, RUNS_PER_CELL)
        weights = class_weights(X.iloc[rows]) * group_weights(cells[rows])
        classes = np.unique(X[list(CLASS_FEATURES)].iloc[rows], axis=0, return_inverse=True)[1]
        few = rows_drawn(np.char.add(cells[rows], classes.astype(str)), COMPARED_PER_CELL)
        return TrainingRows(X.iloc[rows], y[rows], groups[rows], weights, few)

    def completed(self, formula: Formula, X: pd.DataFrame, y: np.ndarray) -> Formula:
        """Return what a formula of the skeleton becomes for this kind of study; arguments as of `fit`."""
        return formula
