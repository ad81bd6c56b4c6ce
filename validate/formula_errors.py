"""Held-out errors that a formula stores, by GPU group, architecture and further levels."""

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from trainlaw.formulas import Formula
from trainlaw.validate.error_table import BY_CNN, BY_GPU, MACRO, STORED_LEVELS
from trainlaw.validate.result import OURS

_SERIES_AND_NUMBER = re.compile(r"[^-]*?\w*\d\w*")


@dataclass(frozen=True)
class ErrorLine:
    """Mean absolute percentage errors of one architecture or GPU group, by estimator.

    `rows` counts its runs; `members` are the GPUs of the group or the variants of the architecture. `low` and
    `high` are the ends of the 90 % interval of the evolved formula's error; nan where unknown. `seeds` are
    the errors of single searches where the formula's error is a mean of several.
    """

    name: str
    rows: int
    errors: Mapping[str, float]
    members: tuple[str, ...] = ()
    low: float = math.nan
    high: float = math.nan
    seeds: tuple[float, ...] = ()

    @property
    def label(self) -> str:
        """A short, recognisable name: the architecture, or the GPUs of the group.

        >>> ErrorLine("GV100-80", 300, {}, ("V100-PCIE-16GB", "V100-SXM2-16GB")).label
        'V100 (2 models)'
        """
        if len(self.members) < 2:
            return self.members[0] if self.members else self.name
        # V100 of V100-PCIE-16GB, RTX 2080 of RTX 2080 Ti.
        chips = ((_SERIES_AND_NUMBER.match(gpu), gpu) for gpu in self.members)
        names = Counter(found[0] if found else gpu for found, gpu in chips)
        name = max(names, key=lambda each: (names[each], -len(each)))
        return f"{name} ({len(self.members)} models)"


def error_lines(formula: Formula, level: str) -> list[ErrorLine]:
    """Return the held-out errors that a formula stores, best first; empty where it stores none.

    level : `BY_GPU`, `BY_CNN` or one of `STORED_LEVELS`.
    """
    return [
        ErrorLine(
            str(line["name"]),
            int(line["rows"]),
            {name: math.nan if value is None else float(value) for name, value in line["errors"].items()},
            tuple(map(str, line.get("members", ()))),
            seeds=tuple(float(value) for value in line.get("seeds", ()) if value is not None),
        )
        for line in formula.errors.get(level, [])
    ]


@dataclass(frozen=True)
class CarriedErrors:
    """All held-out errors that a formula stores.

    held_out : kind of group held out, "GPU" or "architecture". estimators : names, the formula (`OURS`)
    first. lines : by level (`BY_GPU`, `BY_CNN`, `STORED_LEVELS`), best first. overall : the mean over GPU
    groups, %, by estimator, nan where there is none. figures : of the summary, by estimator and metric: value
    and ends of its interval, nan where unknown.
    """

    held_out: str
    estimators: tuple[str, ...]
    lines: Mapping[str, list[ErrorLine]]
    overall: Mapping[str, float]
    figures: Mapping[str, Mapping[str, tuple[float, float, float]]]

    @property
    def others(self) -> list[str]:
        """The names of all estimators except the formula."""
        return [name for name in self.estimators if name != OURS]


def carried_errors(formula: Formula) -> CarriedErrors:
    """Return the held-out errors that a formula stores; without estimators where it stores none."""
    names = estimators(formula)
    lines = {level: error_lines(formula, level) for level in (BY_GPU, BY_CNN, *STORED_LEVELS)}
    overall = {name: overall_error(formula, name) for name in names}
    figures = {
        name: {
            metric: (overall_error(formula, name, metric), *summary_interval(formula, name, metric))
            for metric in formula.errors.get("summary", {}).get(name, ())
        }
        for name in names
    }
    return CarriedErrors(held_out_kind(formula), names, lines, overall, figures)


def errors_by_name(formula: Formula, level: str) -> dict[str, tuple[float, int]]:
    """Return the formula's held-out error in percent, to 0.1, and the number of runs, by name.

    level : `BY_GPU`, `BY_CNN` or one of `STORED_LEVELS`. Names without an error are left out.
    """
    known = ((line, line["errors"].get(OURS)) for line in formula.errors.get(level, ()))
    return {
        str(line["name"]): (round(float(error), 1), int(line["rows"]))
        for line, error in known
        if error is not None and math.isfinite(error)
    }


def error_on(formula: Formula, level: str, name: str) -> float:
    """Return the formula's held-out error on runs of a name, percent to 0.1; 0 where it stores none."""
    return errors_by_name(formula, level).get(name, (0.0, 0))[0]


def estimators(formula: Formula) -> tuple[str, ...]:
    """Return the names of the estimators whose errors a formula stores, the formula (`OURS`) first."""
    return tuple(formula.errors.get("estimators", ()))


def overall_error(formula: Formula, estimator: str, metric: str = MACRO) -> float:
    """Return one figure of the summary that a formula stores; nan where it stores none."""
    value = formula.errors.get("summary", {}).get(estimator, {}).get(metric)
    return math.nan if value is None else float(value)


def summary_interval(formula: Formula, estimator: str, metric: str = MACRO) -> tuple[float, float]:
    """Return low and high of the bootstrap interval of a figure that a formula stores; nan without one."""
    found = formula.errors.get("summary_intervals", {}).get(estimator, {}).get(metric) or (None, None)
    low, high = (math.nan if value is None else float(value) for value in found)
    return low, high


def held_out_kind(formula: Formula) -> str:
    """Return the kind of group that was held out for a formula's errors, "GPU" or "architecture"."""
    return "architecture" if formula.errors.get("interval", {}).get("over") == BY_CNN else "GPU"
