"""A search without a skeleton, which starts from sparse sums of times that a lasso selects.

The first generation holds members of the path of an L1-penalised non-negative sum of times and of times
multiplied by powers of pure numbers, as in the baseline `nnls_path`: the search begins where the path ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.app.studies.search import evolved, predicted_seconds
from trainlaw.datasets import TARGET, feature_specs
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import Expression, Formula, ParetoFront
from trainlaw.formulas.expression import Apply, Constant, Variable
from trainlaw.formulas.units import SECOND
from trainlaw.validate.baselines.inputs import group_weights
from trainlaw.validate.least_squares import nonnegative_lasso_path

_PENALTIES = np.geomspace(1.0, 1e-4, 60)
_POWERS = (-0.5, 0.5)
# A sum of more terms than this is as long as a formula may be.
_MOST_TERMS = 8


@dataclass(frozen=True)
class _Term:
    """A time by name, times a pure number to a power; number is "" for the time alone."""

    time: str
    number: str = ""
    power: float = 1.0

    def values(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, (n_runs,)."""
        found = X[self.time].to_numpy(dtype=float)
        return found * X[self.number].to_numpy(dtype=float) ** self.power if self.number else found

    def expression(self, weight: float) -> Expression:
        """Return weight x time x number ^ power."""
        found: Expression = Apply("mul", (Constant(weight), Variable(self.time)))
        if not self.number:
            return found
        power: Expression = Variable(self.number)
        if self.power != 1.0:
            power = Apply("pow", (power, Constant(self.power)))
        return Apply("mul", (found, power))


def path_seeds(
    X: pd.DataFrame, seconds: np.ndarray, groups: np.ndarray, names: Sequence[str]
) -> tuple[Expression, ...]:
    """Return the sums of one to eight terms on the path of a non-negative lasso of relative errors.

    Parameters
    ----------
    X : DataFrame, shape (n_runs, k)
        Features of runs.
    seconds, groups : ndarray, shape (n_runs,)
        Times, and labels of groups, whose weights are as in a search.
    names : sequence of str
        Features that may occur.

    Returns
    -------
    tuple of Expression
        From few terms to many; of each set of terms one.
    """
    terms = _terms(X, names)
    table = np.column_stack([term.values(X) for term in terms]) / seconds[:, None]
    table *= group_weights(groups)[:, None]
    lengths = np.linalg.norm(table, axis=0)
    terms = [term for term, length in zip(terms, lengths, strict=True) if length > 0]
    table, lengths = table[:, lengths > 0], lengths[lengths > 0]
    scaled = table / lengths
    moment = scaled.T @ group_weights(groups)
    path = nonnegative_lasso_path(scaled.T @ scaled, moment, _PENALTIES * float(moment.max())) / lengths
    found: dict[tuple[int, ...], Expression] = {}
    for weights in path:
        chosen = tuple(np.flatnonzero(weights).tolist())
        if 1 <= len(chosen) <= _MOST_TERMS:
            found[chosen] = _sum([terms[i].expression(float(weights[i])) for i in chosen])
    return tuple(found.values())


def _terms(X: pd.DataFrame, names: Sequence[str]) -> list[_Term]:
    """Return each time alone, times each positive number to each power, and times each flag."""
    specs = feature_specs(tuple(names))
    times = [spec.name for spec in specs if spec.unit == SECOND]
    terms = [_Term(time) for time in times]
    for spec in specs:
        values = X[spec.name].to_numpy(dtype=float)
        if spec.unit.is_dimensionless and np.ptp(values) > 0:
            powers = _POWERS if (values > 0).all() else (1.0,)
            terms += [_Term(time, spec.name, power) for time in times for power in powers]
    return terms


def _sum(terms: Sequence[Expression]) -> Expression:
    found = terms[0]
    for term in terms[1:]:
        found = Apply("add", (found, term))
    return found


class FreeSearch:
    """Evolves a formula of times in any form that units allow, from the path of a lasso on.

    settings : of the search; the path's sums are added to its seeds. names : of the features. After `fit`:
    `formula_`, `front_`.
    """

    formula_: Formula
    front_: ParetoFront

    def __init__(self, names: Sequence[str], settings: SearchSettings) -> None:
        """Keep what the search is made of."""
        self.names, self.settings = tuple(names), settings

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Search; X : features of runs, (n_runs, k). y, seconds, and groups : (n_runs,)."""
        seeds = path_seeds(X, y, groups, self.names)
        settings = replace(self.settings, seeds=(*self.settings.seeds, *seeds))
        search = evolved(feature_specs(self.names), TARGET, settings)
        search.fit(X[list(self.names)], y, groups)
        self.formula_, self.front_ = search.formula_, search.front_
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return predicted_seconds(self.formula_, X)
