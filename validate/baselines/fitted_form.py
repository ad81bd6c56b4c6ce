"""Closed forms as text whose constants are fitted: like a feature, such a baseline is a line of text.

In a text c0, c1, ... are positive constants, k0, k1, ... exponents of any sign, all other names features.
Each fold fits all of them, from a start that is computed from its training rows or from round figures: a
start that was once fitted to a whole table would leak information about the held-out GPU.
"""

import re
from collections.abc import Sequence
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.datasets.features.run_features import FEATURES, TARGET, feature_specs
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.formulas.algebra.derivatives import value_and_slopes
from trainlaw.formulas.algebra.evaluation import evaluate
from trainlaw.formulas.algebra.expression import (
    Apply,
    Constant,
    Expression,
    Variable,
    rebuilt,
    substitute,
    variables,
)
from trainlaw.formulas.algebra.text import parse_text, to_text
from trainlaw.formulas.formula import Formula
from trainlaw.validate.baselines.inputs import (
    CLASS_FEATURES,
    balanced_weights,
    check_columns,
    group_weights,
    rows_drawn,
)
from trainlaw.validate.least_squares import Prior, robust_least_squares

_PARAMETER = re.compile(r"([ck])(\d+)")
# In ln(seconds): residuals beyond about 25 % count linearly, so that outliers do not decide the fit.
_SOFT_L1_SCALE = 0.25


class FittedForm:
    """A closed form whose constants are fitted to logarithms: soft L1, normal prior around the start.

    Constants are fitted as logarithms. Weight of a residual: (rows of the GPU group)^-0.35.

    title : for messages. text : the form. starts : values of c0, c1, ..., k0, k1, ..., from each of which a
    fit starts, and the best counts; without one, constants make each term an equal share of a typical run,
    and exponents are 0. deviation : of the prior; the default, a factor of 150 either way, is negligible
    against hundreds of runs and enough to fix a term that no run has. weighted : whether residuals are.
    """

    def __init__(
        self,
        title: str,
        text: str,
        starts: Sequence[Sequence[float]] = (),
        deviation: float = 5.0,
        weighted: bool = True,
    ) -> None:
        self.title, self.text = title, text
        self.starts, self.deviation, self.weighted = starts, deviation, weighted

    def _names(self) -> tuple[list[str], list[str], list[str]]:
        found: dict[str, list[tuple[int, str]]] = {"c": [], "k": [], "": []}
        for place, name in enumerate(variables(parse_text(self.text))):
            match = _PARAMETER.fullmatch(name)
            found[match[1] if match else ""].append((int(match[2]) if match else place, name))
        constants, exponents, features = ([name for _, name in sorted(found[kind])] for kind in found)
        return constants, exponents, features

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `parameters_`, the value of each constant and exponent, to seconds `y`, shape (n_runs,)."""
        given = self._columns(X)
        self.ranges_ = {name: (float(column.min()), float(column.max())) for name, column in given.items()}
        rows, weights, scale = self._weighed(X, np.asarray(groups))
        log_seconds = np.log(np.asarray(y, dtype=float)[rows])
        given = {name: column[rows] for name, column in given.items()}
        constants, exponents, _ = self._names()
        names, n_constants = constants + exponents, len(constants)
        starting_points = self._starting_points(given, log_seconds)
        expression, given = _without_fixed_parts(parse_text(self.text), given)
        if not names:
            self.parameters_: dict[str, float] = {}
            return self

        def residuals(parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            values = np.append(np.exp(parameters[:n_constants]), parameters[n_constants:])
            total, slopes = value_and_slopes(expression, given | dict(zip(names, values, strict=True)), names)
            table = np.column_stack([slopes[name] for name in names])
            table[:, :n_constants] *= values[:n_constants]
            return weights * (np.log(total) - log_seconds), weights[:, None] * table / total[:, None]

        fits = [
            robust_least_squares(residuals, start, soft_l1_scale=scale, prior=self._prior(start, n_constants))
            for start in starting_points
        ]
        best = min(fits, key=lambda fit: fit.cost).parameters
        values = np.append(np.exp(best[:n_constants]), best[n_constants:])
        self.parameters_ = dict(zip(names, values.tolist(), strict=True))
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return self._seconds(self.parameters_, self._columns(X))

    def _seconds(self, parameters: dict[str, float], given: dict[str, np.ndarray]) -> np.ndarray:
        values = {name: Constant(value) for name, value in parameters.items()}
        return evaluate(substitute(parse_text(self.text), values), given)[0]

    def _columns(self, X: pd.DataFrame) -> dict[str, np.ndarray]:
        names = self._names()[2]
        check_columns(X, names, self.title)
        return {name: X[name].to_numpy(dtype=float) for name in names}

    def _weighed(
        self, X: pd.DataFrame, groups: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float | np.ndarray]:
        """Return the positions of the rows to fit to, their weights, and the scale of the soft L1."""
        weights = group_weights(groups) if self.weighted else np.ones(len(X))
        return np.arange(len(X)), weights, _SOFT_L1_SCALE

    def _prior(self, start: np.ndarray, n_constants: int) -> Prior:
        return Prior(start, np.full(len(start), self.deviation))

    def _starting_points(self, given: dict[str, np.ndarray], log_seconds: np.ndarray) -> list[np.ndarray]:
        """Return the parameters to start from: logarithms of constants, then exponents."""
        constants, exponents, _ = self._names()
        if self.starts:
            return [
                np.append(np.log(start[: len(constants)]), start[len(constants) :]) for start in self.starts
            ]
        shares = np.zeros(len(constants) + len(exponents))
        n_terms = np.zeros(len(log_seconds))
        for place, name in enumerate(constants):
            alone = {**dict.fromkeys(constants + exponents, 0.0), name: 1.0}
            term = self._seconds(alone, given)
            present = term > 0
            n_terms += present
            if present.any():
                shares[place] = np.median(log_seconds[present] - np.log(term[present]))
        shares[: len(constants)] -= np.log(max(np.median(n_terms), 1.0))
        return [shares]

    @property
    def formula_(self) -> Formula:
        """The fitted form with its training ranges; AttributeError where it is not of one GPU's runs."""
        features = self._names()[2]
        if SINGLE_GPU_TIME in features or not all(name in FEATURES for name in features):
            raise AttributeError("formula_")
        values = {name: Constant(value) for name, value in self.parameters_.items()}
        expression = substitute(parse_text(self.text), values)
        return Formula(expression, feature_specs(features), TARGET, ranges=self.ranges_)


def _without_fixed_parts(
    expression: Expression, given: dict[str, np.ndarray]
) -> tuple[Expression, dict[str, np.ndarray]]:
    """Return the form with each part that no constant occurs in as one more column, computed once."""
    found = dict(given)

    def applied(node: Apply, arguments: tuple[Expression, ...]) -> Expression:
        part = Apply(node.operator, arguments)
        if any(_PARAMETER.fullmatch(name) for name in variables(part)):
            return part
        name = to_text(part)
        found[name] = np.asarray(evaluate(part, found)[0])
        return Variable(name)

    return rebuilt(expression, apply=applied), found


class BalancedForm(FittedForm):
    """A form with informed starts, as a skeleton has: narrow priors around them, and balanced rows.

    Weights (rows of the GPU group)^-0.35 (rows of the precision class)^-0.35; of groups with more than 400
    rows, 400 are drawn with a fixed seed. All constants are moved by one common factor to the median time of
    the training rows, so that the unit of time does not matter.
    """

    # A factor of 4.5 either way for constants, of 1.6 per factor of e for powers.
    _DEVIATIONS = (1.5, 0.5)
    # How much the runs of one GPU count against the prior.
    _WEIGHT_PER_GROUP = 16.0

    def _weighed(
        self, X: pd.DataFrame, groups: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float | np.ndarray]:
        check_columns(X, CLASS_FEATURES, self.title)
        rows = rows_drawn(groups)
        roots = np.sqrt(balanced_weights(X.iloc[rows], groups[rows], self._WEIGHT_PER_GROUP))
        return rows, roots, _SOFT_L1_SCALE * roots

    def _prior(self, start: np.ndarray, n_constants: int) -> Prior:
        return Prior(start, np.repeat(self._DEVIATIONS, [n_constants, len(start) - n_constants]))

    def _starting_points(self, given: dict[str, np.ndarray], log_seconds: np.ndarray) -> list[np.ndarray]:
        constants, exponents, _ = self._names()
        (start,) = super()._starting_points(given, log_seconds)
        values = np.append(np.exp(start[: len(constants)]), start[len(constants) :])
        total = self._seconds(dict(zip(constants + exponents, values, strict=True)), given)
        start[: len(constants)] += np.median(log_seconds - np.log(total))
        return [start]
