"""The skeleton of a formula, and the search within it: which parts combine how, and what each may hold.

The skeleton of whole iterations follows from the tables of work and resources, and no term is chosen by hand:

    time = max(sum over resources of (weights x work) x factors, host, least) + copy

Each resource does its work one after another; the host launches meanwhile. No time is below the least that
the peak rates allow: the longest of the three counts.
All work costs time: each row of `work.csv` is required, and so is each factor of a resource. Weights and
exponents are drawn to the values that the rules expect, which they keep where no run determines them. Which
runs count how much, and what was tuned on what, is said in docs/explanation/law.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
import pandas as pd
from trainlaw.app.studies.search import FormulaSearch, evolved, first_only
from trainlaw.datasets import TARGET, feature_specs
from trainlaw.datasets.features.work import resources, works
from trainlaw.evolve import Bracket, Factor, SearchSettings
from trainlaw.formulas import Expression, FeatureSpec, variables
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.formulas.scopes import RUN
from trainlaw.validate.baselines.inputs import class_weights, group_weights, rows_drawn

#: Runs of one architecture on one GPU group that a fit uses: more of them hardly change it, and the GPUs and
#: scripts with thousands of runs no longer outvote the rest (chosen from 3 to 24 and all).
RUNS_PER_CELL = 12
# No work, but less than which no time can be: nothing for a search that is free to combine amounts.
_BOUNDS = ("least_time_s",)
# What the device does not wait for: it is added behind the maximum of device and host.
_AFTER = "copy"
# Deviations of less than a factor of exp(0.35) count by their square, larger ones by their size; half of the
# usual weight of the priors. Both chosen on the error with each GPU group held out.
_OF_RUNS: Mapping[str, Any] = {
    "population": 100,
    "max_nodes": 150,
    "loss_width": 0.35,
    "prior_weight": 1e-3,
    "choice": "most_stable",
}

#: Weight of the priors where fewer than twenty GPUs were measured, chosen from 0.0005 to 0.03. Several GPUs:
#: 10.2, 9.2 and 9.6 % with GPU groups, CNNs and sources held out instead of 10.3, 9.3 and 9.7 with the usual
#: weight; pairs of GPUs: 14.9 % with GPUs and 14.6 % with CNNs held out instead of 15.5 and 14.2.
PRIOR_WEIGHT_OF_FEW_GPUS = 4e-3


def bracket(
    hole: str,
    terms: Iterable[tuple[str, float]],
    factors: Iterable[Factor] = (),
    *optional: tuple[str, float],
    deviation: float | None = None,
) -> Bracket:
    """Return a bracket whose terms and factors are required; `optional` terms may be left out."""
    terms, factors = tuple(terms), tuple(factors)
    required = (*(name for name, _ in terms), *(factor.feature for factor in factors))
    return Bracket(hole, (*terms, *optional), factors, required, deviation)


def by_rules(resource: str) -> Bracket:
    """Return the bracket of a resource: its work, with the weights to expect, and its factors."""
    terms = [(work.name, work.expected) for work in works() if work.resource == resource]
    return bracket(f"hole_{resource}", terms, factors_of(resource))


def factors_of(resource: str) -> tuple[Factor, ...]:
    """Return the factors of a resource, with their bounds and the exponents to expect."""
    return tuple(
        Factor(factor.feature, factor.low, factor.high, factor.expected, factor.kind)
        for factor in resources()[resource].factors
    )


@dataclass(frozen=True)
class Skeleton:
    """What a formula is made of: the only maker of a search's brackets.

    brackets : what each hole of `template` may hold. target, scope : what the formula models. settings : of
    searches within it, by name; `population` for a search that selects. is_balanced : whether runs weigh by
    the number of runs of their GPU group, architecture and precision, and few are drawn of many.
    """

    brackets: tuple[Bracket, ...]
    template: Expression
    target: FeatureSpec = TARGET
    scope: str = RUN
    settings: Mapping[str, Any] = field(default_factory=lambda: _OF_RUNS)
    is_balanced: bool = True

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The features of all terms, factors and of the template, each once."""
        terms = [name for one in self.brackets for name, _ in one.terms]
        factors = [factor.feature for one in self.brackets for factor in one.factors]
        holes = {one.hole for one in self.brackets}
        plain = [name for name in variables(self.template) if name not in holes]
        return tuple(dict.fromkeys((*terms, *factors, *plain)))

    def required_only(self) -> "Skeleton":
        """Return the skeleton of what is required, and no more; of a bracket without any, its first term."""
        brackets = (
            replace(
                one,
                terms=tuple(term for term in one.terms if term[0] in one.required) or one.terms[:1],
                factors=tuple(factor for factor in one.factors if factor.feature in one.required),
            )
            for one in self.brackets
        )
        return replace(self, brackets=tuple(brackets))

    def fits(self, X: pd.DataFrame) -> bool:
        """Return whether all features are known for every run of X, (n_runs, k)."""
        return all(name in X and np.isfinite(X[name]).all() for name in self.names)

    def known(self, X: pd.DataFrame) -> tuple[str, ...]:
        """Return the features but bounds that are known for every run of X, (n_runs, k)."""
        names = (name for name in self.names if name not in _BOUNDS)
        return tuple(name for name in names if name in X and np.isfinite(X[name]).all())


_DEVICE = tuple(name for name in resources() if name != _AFTER)
RUN_SKELETON = Skeleton(
    tuple(map(by_rules, resources())),
    parse_text(
        f"max({' + '.join(f'hole_{name}' for name in _DEVICE)}, max(host_s, least_time_s)) + hole_{_AFTER}"
    ),
)
#: Formulas tried by a search where all is required: few differ.
SKELETON_EVALUATIONS = 100
#: Weights and exponents; of those that are always there, two are 1 or -1 and not written.
MOST_CONSTANTS = 32


class SkeletonSearch(FormulaSearch):
    """Evolves a formula within a skeleton, or only fits what is required.

    settings : of the search; budget and random seed are kept, the rest is the skeleton's. The formula is
    chosen by its errors without each GPU group, without each source and without each kind of CNN.
    """

    division_columns: tuple[str, ...] = ("source", "cnn_family", "cnn_base")

    def __init__(self, settings: SearchSettings, skeleton: Skeleton = RUN_SKELETON) -> None:
        """Keep settings and skeleton."""
        super().__init__(settings)
        self.skeleton = skeleton

    def fit(
        self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray, divisions: pd.DataFrame | None = None
    ) -> Self:
        """Search; X : features of runs, (n_runs, k). y, seconds, and groups : (n_runs,).

        divisions : labels of the columns `division_columns`, (n_runs, n_labels); None without any.
        """
        labels = _texts(divisions)
        rows, weights = self._chosen(X, groups, labels.pop("cnn_base", None))
        names = list(self.skeleton.names)
        search = evolved(feature_specs(names), self.skeleton.target, self._settings(), self.skeleton.scope)
        return self.keep(
            search.fit(
                X[names].iloc[rows],
                y[rows],
                groups[rows],
                sample_weight=weights,
                further_groups=_dividing(labels, rows) if self.skeleton.is_balanced else [],
            )
        )

    def _chosen(
        self, X: pd.DataFrame, groups: np.ndarray, architectures: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the rows to fit, and their weights but for those of GPU groups; None: all the same."""
        if not self.skeleton.is_balanced:
            return np.arange(len(X)), None
        if architectures is None:
            rows = rows_drawn(groups)
            return rows, class_weights(X.iloc[rows])
        cells = np.char.add(groups.astype(str), architectures)
        rows = rows_drawn(cells, RUNS_PER_CELL)
        return rows, class_weights(X.iloc[rows]) * group_weights(cells[rows])

    def _settings(self) -> SearchSettings:
        own, asked = dict(self.skeleton.settings), self.settings
        # Where no formula is to be selected, all are of one generation.
        if asked.evaluations in (asked.population, 1):
            own["population"] = asked.population
        if asked.evaluations == 1:
            own["choice"] = asked.choice
        return replace(
            asked, template=self.skeleton.template, brackets=self.skeleton.brackets, islands=1, **own
        )


def searches_within(skeleton: Skeleton, search: type[SkeletonSearch] = SkeletonSearch) -> dict[str, Any]:
    """Return the fields of a kind of study that searches within a skeleton: what evolves, and what only fits.

    Without a search, a formula has all that the skeleton requires, and no more.
    """
    return {
        "search": lambda rows, settings: partial(search, settings, skeleton),
        "no_search": lambda rows, settings: partial(search, first_only(settings), skeleton.required_only()),
    }


def _texts(divisions: pd.DataFrame | None) -> dict[str, np.ndarray]:
    """Return the columns of labels by name, each (n_rows,); none without labels."""
    frame = pd.DataFrame() if divisions is None else divisions
    return {str(name): frame[name].to_numpy(dtype=str) for name in frame}


def _dividing(labels: Mapping[str, np.ndarray], rows: np.ndarray) -> list[np.ndarray]:
    """Return the labels of some rows, each (n_rows,), that divide them into groups at all."""
    return [label[rows] for label in labels.values() if len(np.unique(label[rows])) > 1]
