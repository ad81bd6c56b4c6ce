"""The skeleton by rules: work of `work.csv` on resources of `resources.csv`, and no term chosen by hand.

    time = max(sum over resources of (weights x work) x factors, host) + copy

Each resource does its work one after another; the host launches meanwhile, so the longer of the two counts.
All work costs time: each row of the table is required, and so is each factor of a resource. Weights and
exponents are drawn to the values that the rules expect, which they keep where no run determines them. Which
runs count how much is said in docs/explanation/law.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.app.studies.search import BracketSearch, evolved
from trainlaw.datasets import TARGET, feature_specs
from trainlaw.datasets.features.work import resources, works
from trainlaw.evolve import Bracket, Factor, SearchSettings
from trainlaw.formulas import Expression, FeatureSpec
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.formulas.scopes import RUN
from trainlaw.validate.baselines.inputs import class_weights, group_weights, rows_drawn

# What the device does not wait for: it is added behind the maximum of device and host.
_AFTER = "copy"
#: Runs of one architecture on one GPU group that a fit uses: more of them hardly change it, and the GPUs and
#: scripts with thousands of runs no longer outvote the rest (chosen from 3 to 24 and all).
RUNS_PER_CELL = 12
# Deviations of less than a factor of exp(0.35) count by their square, larger ones by their size.
_LOSS_WIDTH, _PRIOR_WEIGHT = 0.35, 1e-3


@dataclass(frozen=True)
class Skeleton:
    """What a formula is made of, and how its parts combine: the only maker of brackets.

    share : part of an iteration that is modelled; expected weights are multiplied by it. host : feature with
    the time that the host takes to launch.
    """

    share: float = 1.0
    host: str = "host_s"

    @cached_property
    def brackets(self) -> tuple[Bracket, ...]:
        """A bracket per resource: its work, with the weights to expect, and its factors, all required."""
        return tuple(self._bracket(name) for name in resources())

    def _bracket(self, resource: str) -> Bracket:
        share = 1.0 if resource == _AFTER else self.share
        terms = tuple((work.name, share * work.expected) for work in works() if work.resource == resource)
        factors = tuple(
            Factor(factor.feature, factor.low, factor.high, factor.expected, factor.kind)
            for factor in resources()[resource].factors
        )
        required = (*(name for name, _ in terms), *(factor.feature for factor in factors))
        return Bracket(f"hole_{resource}", terms, factors, required)

    @cached_property
    def template(self) -> Expression:
        """The formula with a hole for each resource."""
        device = " + ".join(f"hole_{name}" for name in resources() if name != _AFTER)
        return parse_text(f"max({device}, {self.host}) + hole_{_AFTER}")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The features of all terms and factors, and the host's, each once."""
        required = (name for bracket in self.brackets for name in bracket.required)
        return tuple(dict.fromkeys((*required, self.host)))


RULES = Skeleton()


class RuleSearch(BracketSearch):
    """Fits, and evolves, a formula within a skeleton by rules.

    settings : of the search; budget and random seed are kept. The runs of one architecture on one GPU group
    count by their number to the power 0.65, and so do those of a GPU group and of a precision.
    """

    usual_brackets = RULES.brackets
    division_columns = ("source", "cnn_family", "cnn_base")
    skeleton = RULES
    target: FeatureSpec = TARGET
    scope: str = RUN
    choice: str = "most_stable"

    def fit(
        self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray, divisions: pd.DataFrame | None = None
    ) -> Self:
        """Search; X : features of runs, (n_runs, k). y, seconds, and groups : (n_runs,).

        divisions : labels of the columns `division_columns`, (n_runs, n_labels); None without any.
        """
        labels = _texts(divisions)
        architectures = labels.pop("cnn_base", None)
        if architectures is None:
            cells, rows = groups, rows_drawn(groups)
        else:
            cells = np.char.add(groups.astype(str), architectures)
            rows = rows_drawn(cells, RUNS_PER_CELL)
        search = evolved(feature_specs(self.skeleton.names), self.target, self._settings(), self.scope)
        return self.keep(
            search.fit(
                X[list(self.skeleton.names)].iloc[rows],
                y[rows],
                groups[rows],
                sample_weight=class_weights(X.iloc[rows]) * group_weights(cells[rows]),
                further_groups=_dividing(labels, rows),
            )
        )

    def _settings(self) -> SearchSettings:
        return replace(
            self.settings,
            template=self.skeleton.template,
            brackets=self.brackets,
            islands=1,
            population=self.population_of(100),
            max_nodes=150,
            loss_width=_LOSS_WIDTH,
            prior_weight=_PRIOR_WEIGHT,
            choice=self.choice,
        )


def _texts(divisions: pd.DataFrame | None) -> dict[str, np.ndarray]:
    """Return the columns of labels by name, each (n_rows,); none without labels."""
    frame = pd.DataFrame() if divisions is None else divisions
    return {str(name): frame[name].to_numpy(dtype=str) for name in frame}


def _dividing(labels: Mapping[str, np.ndarray], rows: np.ndarray) -> list[np.ndarray]:
    """Return the labels of some rows, each (n_rows,), that divide them into groups at all."""
    return [label[rows] for label in labels.values() if len(np.unique(label[rows])) > 1]
