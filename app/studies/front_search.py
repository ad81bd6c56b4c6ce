"""The formulas of few constants as estimators: evolved, and by the controls that evolution has to beat."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.app.models.front import EVOLVED
from trainlaw.app.studies.estimators import FormulaFit, end_if_given_up
from trainlaw.app.studies.front import EVOLVED_SEED
from trainlaw.app.studies.skeleton import LawFit
from trainlaw.evolve.front.genomes import Genome
from trainlaw.evolve.front.search import FrontSearch, FrontSettings
from trainlaw.evolve.front.space import Space
from trainlaw.formulas import Formula, ScoredFormula
from trainlaw.validate import EstimatorFactory
from trainlaw.validate.baselines import PRUNED_LAW, RANDOM_SEARCH, STEPWISE
from trainlaw.validate.refit import GivenFormula
from trainlaw.validate.support import Support

#: Numbers of constants whose formulas a study states. Between them errors differ by less than their spread.
FRONT_SIZES = (4, 6, 8, 10, 12, 16)
#: Formulas that each search tries by default; with more only scores improve.
FRONT_EVALUATIONS = FrontSettings().evaluations
# The controls by their names among the estimators.
_METHODS = {RANDOM_SEARCH: "random", STEPWISE: "stepwise", PRUNED_LAW: "pruned"}
# Constants of the formulas whose amounts are counted: from there on choice matters more than search.
_SUPPORT_CONSTANTS = 8


@dataclass(frozen=True)
class FrontSpace:
    """What formulas of few constants may be made of.

    law : the law among them, with which pruning begins. fit : makes the fit of the law, of which they take
    rows, target and scope.
    """

    space: Space
    law: Genome
    fit: Callable[[], LawFit]


class FrontFit(FormulaFit):
    """Finds formulas of few constants: one per size, and in `formula_` the one chosen among them.

    sizes : their numbers of constants. compares_few : whether a search compares formulas by few of the rows,
    in two thirds of the time; constants are fitted to all. control : name by which the pruned law, with which
    evolution begins, is in `controls_`; "" for none.
    """

    def __init__(
        self,
        space: FrontSpace,
        settings: FrontSettings,
        sizes: tuple[int, ...],
        compares_few: bool = False,
        control: str = "",
    ) -> None:
        """Keep the arguments."""
        self.space, self.front_settings, self.sizes = space, settings, sizes
        self.compares_few, self.control = compares_few, control
        self.division_columns = space.fit().division_columns

    def fit(
        self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray, divisions: pd.DataFrame | None = None
    ) -> Self:
        """Search; arguments as of `LawFit.fit`."""
        law, settings = self.space.fit(), self.front_settings
        rows, skeleton = law.training(X, y, groups, divisions), law.skeleton
        search = FrontSearch(
            self.space.space,
            law.specs(self.space.space.features),
            skeleton.target,
            settings,
            scope=skeleton.scope,
            law=self.space.law,
            progress=end_if_given_up,
        )
        columns = {name: rows.X[name] for name in self.space.space.features}
        search.fit(columns, rows.y, rows.groups, rows.weights, rows.few if self.compares_few else None)
        self._keep(search, law, X, y)
        if self.control and search.pruned_ is not None:
            pruned = FrontFit(self.space, search.pruned_.settings, self.sizes, self.compares_few)
            pruned._keep(search.pruned_, law, X, y)
            self.controls_ = {self.control: pruned}
        return self

    def _keep(self, search: FrontSearch, law: LawFit, X: pd.DataFrame, y: np.ndarray) -> None:
        """Take what a search has found; arguments as of `LawFit.fit`."""
        self._search, self.cnn_layers = search, law.cnn_layers
        self.front_ = tuple(
            replace(member, formula=law.completed(member.formula, X, y)) for member in search.front_
        )
        self.formula_ = self.front_[-1].formula
        self.members_ = {
            str(size): GivenFormula(formula, self.cnn_layers)
            for size, formula in formulas_by_size(self.front_, self.sizes).items()
        }

    def support(self) -> list[Support]:
        """Return the shares of inclusion of amounts and factors, the largest first."""
        shares = self._search.shares(_SUPPORT_CONSTANTS)
        # A sum of shares may exceed 1 in its last digits.
        return [Support(name, round(min(share, 1.0), 3)) for name, share in shares.items()]


def formulas_by_size(front: Iterable[ScoredFormula], sizes: Iterable[int]) -> dict[int, Formula]:
    """Return the formula of each size with the least loss; a size is a largest number of constants.

    Sizes below that of the smallest formula have none.
    """
    members = sorted(front, key=lambda member: member.complexity)
    within = {size: [member for member in members if member.complexity <= size] for size in sizes}
    return {size: known[-1].formula for size, known in within.items() if known}


def front_estimators(
    space: FrontSpace, sizes: tuple[int, ...], evaluations: int, seeds: range
) -> dict[str, EstimatorFactory]:
    """Return what makes the formulas of few constants: evolution with each seed, and the controls.

    sizes : numbers of constants. evaluations : formulas that each search tries. With one seed a search
    compares formulas by few of the rows: what is to be stated has several, and takes its time.
    """
    settings = FrontSettings(evaluations=evaluations, most_constants=max(sizes), random_seed=seeds[0])
    every = {EVOLVED: settings}
    every |= {f"{EVOLVED_SEED}{seed}": replace(settings, random_seed=seed) for seed in seeds[1:]}
    every |= {name: replace(settings, method=method) for name, method in _METHODS.items()}
    controls = {EVOLVED: PRUNED_LAW}
    return {
        name: partial(FrontFit, space, each, sizes, len(seeds) == 1, controls.get(name, ""))
        for name, each in every.items()
    }
