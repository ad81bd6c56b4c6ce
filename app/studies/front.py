"""Formulas that a study may deliver: the law and those of few constants, their columns, and the best one."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from trainlaw.app.models.front import EVOLVED, SEARCHED_CONTROLS, SIZED_CONTROLS, FrontRow
from trainlaw.validate import StudyResult
from trainlaw.validate.baselines import NO_SEARCH, title_of
from trainlaw.validate.error_table import BY_GPU
from trainlaw.validate.metrics import macro, mape_percent
from trainlaw.validate.result import OURS, SEED, member_name
from trainlaw.validate.support import Support

#: Begins the name of an evolution with another random seed.
EVOLVED_SEED = f"{EVOLVED} seed "


class Deliverable(NamedTuple):
    """A formula that a study may deliver: how it was found, and its constants at most; 0 for the law."""

    method: str = OURS
    size: int = 0

    @property
    def column(self) -> str:
        """Its name among the estimators of the study."""
        return member_name(self.method, self.size) if self.size else self.method

    @property
    def title(self) -> str:
        """How it is named to readers."""
        if not self.size:
            return "the law"
        return f"the formula of {self.size} constants by {title_of(self.method)}"


#: What a study delivers unless another candidate is better.
THE_LAW = Deliverable()


def best_candidate(result: StudyResult, sizes: Sequence[int]) -> Deliverable:
    """Return the candidate with the least held-out error, mean over GPU groups and over seeds."""
    methods = (EVOLVED, *SEARCHED_CONTROLS)
    every = [THE_LAW, *(Deliverable(method, size) for size in sizes for method in methods)]
    if not len(result.predictions):
        return THE_LAW
    errors = {each: _error(result, each) for each in every if each.column in result.estimators}
    return min(errors, key=lambda each: math.inf if math.isnan(errors[each]) else errors[each])


def _error(result: StudyResult, candidate: Deliverable) -> float:
    measured, groups = result.measured_s, result.labels(BY_GPU)
    columns = columns_of(result, candidate).values()
    found = [macro(mape_percent, measured, result.predicted_s(name), groups) for name in columns]
    return sum(found) / len(found)


def columns_of(result: StudyResult, candidate: Deliverable) -> dict[str, str]:
    """Return the columns of a candidate by the names of a formula's: `OURS`, and those of further seeds."""
    columns = {OURS: candidate.column}
    if candidate.method == EVOLVED:
        ending = f" {candidate.size}"
        for name in result.estimators:
            if name.startswith(EVOLVED_SEED) and name.endswith(ending):
                columns[f"{SEED}{name.removeprefix(EVOLVED_SEED).removesuffix(ending)}"] = name
    return columns


def compared(result: StudyResult, candidate: Deliverable, baselines: Iterable[str]) -> StudyResult:
    """Return the predictions of a candidate, of the law, of its controls and of baselines."""
    columns = columns_of(result, candidate)
    if candidate.size:
        columns[NO_SEARCH] = OURS
    if candidate.method == EVOLVED:
        columns |= controls_of(result, candidate.size)
    return result.chosen(columns | {name: name for name in baselines})


def controls_of(result: StudyResult, size: int) -> dict[str, str]:
    """Return the columns of the controls with as many constants, by the names of the controls."""
    columns = {name: member_name(name, size) for name in SIZED_CONTROLS}
    return {name: column for name, column in columns.items() if column in result.estimators}


@dataclass(frozen=True)
class StudyFront:
    """The front of a study.

    rows : evolved formulas, constants rising, and the law last. support : which amounts and factors the data
    support. result : held-out predictions of every method and size.
    """

    rows: tuple[FrontRow, ...]
    support: tuple[Support, ...]
    result: StudyResult
