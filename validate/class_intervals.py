"""Prediction intervals by class: a precision with larger held-out errors gets a wider interval.

The scores of `ConformalInterval` are divided by the typical score of their class, the interval is calibrated
on all classes together, and each class gets it times its own score (normalised conformal prediction:
Papadopoulos, Gammerman, Vovk, "Normalized nonconformity measures for regression conformal prediction",
2008). A score below that of all is shrunk towards it where the class has few groups.

A run of an architecture with large held-out errors gets a wider interval than its class: the logarithms of
both factors are added in quadrature. The score of a run is the rest that its architecture does not explain.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from trainlaw.formulas.files.stored_facts import BY_CLASS
from trainlaw.validate.conformal import LEVEL, SHARE_WITHIN, ConformalInterval, group_quantile, log_errors
from trainlaw.validate.run_classes import OTHER_CLASS

# A class with this many groups has its score to one half; below the least number it has none.
_HALF_GROUPS = 3
LEAST_GROUPS = 2
# By which the logarithm of a factor exceeds that of a narrower kind of interval, at least.
_LEAST_WIDENING = 1.05
#: The 90 % point of an architecture's errors over their mean, as exponent of 1 + the mean, and the error in
#: percent assumed for one without held-out runs: chosen by coverage (docs/explanation/law.md).
SPREAD_OF_ERRORS, UNKNOWN_ARCHITECTURE = 1.3, 22


@dataclass(frozen=True)
class ClassIntervals:
    """A factor in both directions per class of runs, and one for classes that are not known.

    factors : by class; infinite where too few groups were held out for any interval. groups : number of
    held-out groups with runs of the class. level : intended share of covered runs, as a mean over new
    groups.
    """

    factors: Mapping[str, float]
    groups: Mapping[str, int]
    level: float

    @classmethod
    def fit(
        cls,
        measured_s: npt.ArrayLike,
        predicted_s: npt.ArrayLike,
        groups: npt.ArrayLike,
        classes: npt.ArrayLike,
        level: float = LEVEL,
        *,
        units: npt.ArrayLike | None = None,
        of_architecture: npt.ArrayLike | None = None,
        share_within: float = SHARE_WITHIN,
    ) -> Self:
        """Return the intervals calibrated on held-out predictions; arrays have shape (n_runs,).

        measured_s, predicted_s : seconds. groups, classes : of each run; groups count the same in the
        typical score of a class. level : intended coverage, between 0 and 1. units : the kind of group of
        which a new member is to be covered, such as the generation; by default `groups`. of_architecture :
        factor by which the architecture of a run widens its interval, by default 1. share_within : as
        `ConformalInterval.fit`.

        >>> groups, measured = list("abcdefghijkl") * 2, [1.0] * 24
        >>> predicted, classes = [1.1] * 12 + [1.5] * 12, ["fp32"] * 12 + ["amp"] * 12
        >>> found = ClassIntervals.fit(measured, predicted, groups, classes).factors
        >>> found["fp32"] < found["amp"]
        True
        """
        owners, kinds = np.asarray(groups, str), np.asarray(classes, str)
        scores = log_errors(measured_s, predicted_s)
        if of_architecture is not None:
            scores = np.sqrt(np.maximum(scores**2 - np.log(np.asarray(of_architecture, float)) ** 2, 0.0))
        counts = {kind: len(np.unique(owners[kinds == kind])) for kind in np.unique(kinds).tolist()}
        ratios = _ratios(scores, owners, kinds, counts, level)
        widths = np.array([ratios[kind] for kind in kinds])
        rows = np.isfinite(widths)
        with np.errstate(over="ignore"):
            scaled = np.exp(scores[rows] / widths[rows])
            new = owners if units is None else np.asarray(units, str)
            interval = ConformalInterval.fit(np.ones_like(scaled), scaled, new[rows], level, share_within)
            common = math.log(interval.factor)
            factors = {kind: float(np.exp(common * ratio)) for kind, ratio in ratios.items()}
        return cls(factors, counts, level)

    def factor(self, kind: str) -> float:
        """Return the factor of a class; the widest of all for one that was hardly held out, or not at all."""
        widest = max(self.factors.values(), default=math.inf)
        return widest if kind == OTHER_CLASS else self.factors.get(kind, widest)

    def wider_than(self, narrower: "ClassIntervals") -> "ClassIntervals":
        """Return these intervals, each at least a little wider than that of `narrower` for the same class."""
        factors = {
            kind: max(factor, narrower.factors.get(kind, 1.0) ** _LEAST_WIDENING)
            for kind, factor in self.factors.items()
        }
        return replace(self, factors=factors)

    def with_class(self, kind: str, source: "ClassIntervals", prefixes: tuple[str, ...]) -> "ClassIntervals":
        """Return these intervals with one more class, taken from `source`.

        prefixes : the new class may be any that begins with one of these, and is at least as wide as each.
        """
        known = [factor for name, factor in self.factors.items() if name.startswith(prefixes)]
        factors = {**self.factors, kind: max(source.factor(kind), *known)}
        return replace(self, factors=factors, groups={**self.groups, kind: source.groups[kind]})

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; an infinite factor is None."""
        return {
            "level": self.level,
            "factors": {
                kind: round(factor, 6) if math.isfinite(factor) else None
                for kind, factor in self.factors.items()
            },
            "groups": dict(self.groups),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return the intervals that `to_json` wrote; InputError where a part is missing or out of range."""
        found = BY_CLASS(value, "intervals by class")
        factors = {kind: math.inf if factor is None else factor for kind, factor in found["factors"].items()}
        return cls(factors, found["groups"], found["level"])


def architecture_factor(error_percent: float | None) -> float:
    """Return the factor of an architecture's interval by its held-out error, None where there is none.

    >>> round(architecture_factor(10), 3), architecture_factor(None) > architecture_factor(10)
    (1.132, True)
    """
    error = UNKNOWN_ARCHITECTURE if error_percent is None else error_percent
    return float((1 + error / 100) ** SPREAD_OF_ERRORS)


def _ratios(
    scores: np.ndarray, groups: np.ndarray, kinds: np.ndarray, counts: Mapping[str, int], level: float
) -> dict[str, float]:
    """Return the typical score of each class over that of all; infinite where there is no finite one.

    A ratio below 1 is shrunk towards it where groups are few; below the least number of groups a class gets
    the largest of all.
    """
    typical = {kind: group_quantile(scores[kinds == kind], groups[kinds == kind], level) for kind in counts}
    rows = np.isin(kinds, [kind for kind, score in typical.items() if math.isfinite(score)])
    overall = group_quantile(scores[rows], groups[rows], level) if rows.any() else math.inf
    ratios = {
        kind: _shrunk(typical[kind], overall, count) if count >= LEAST_GROUPS else math.nan
        for kind, count in counts.items()
    }
    widest = float(np.nanmax([1.0, *ratios.values()]))
    return {kind: widest if math.isnan(ratio) else ratio for kind, ratio in ratios.items()}


def _shrunk(score: float, overall: float, count: int) -> float:
    """Return the ratio of two typical scores; one below 1 is shrunk towards 1 where there are few groups."""
    if not (math.isfinite(score) and math.isfinite(overall)):
        return math.inf
    ratio = max(score, 1e-9) / max(overall, 1e-9)
    # A few groups do not prove that a class is easy; that it is hard is taken as they say.
    return float(ratio if ratio > 1 else ratio ** (count / (count + _HALF_GROUPS)))
