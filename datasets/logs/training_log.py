"""A training log as its reader gives it: facts of the run, times of its steps, and waits for data."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from trainlaw.formulas.errors import InputError, shown

#: A shorter wait is the handing over of a batch that was ready: a share of the step.
LEAST_WAIT = 0.02  # between 1.6 % in a log of timm that waits for nothing and 2.5 % in one of a slow loader
Step = tuple[int, int, float, float]


@dataclass(frozen=True)
class TrainingLog:
    """One training.

    program : that wrote the log. facts : columns of the runs schema that the log states. seconds : of the
    steps after the start-up, s, (n,), waits for data inside. waits : of the same steps, s, (n,), nan where
    the log has none. open : further columns that the log leaves open. epochs : times of whole epochs after
    the first, s, where the log has no others. notes : what the times hold beyond a step. missing : why there
    is no time, "" where there is one.
    """

    program: str
    facts: Mapping[str, str | float] = field(default_factory=dict)
    seconds: np.ndarray = field(default_factory=lambda: np.empty(0))
    waits: np.ndarray = field(default_factory=lambda: np.empty(0))
    open: tuple[str, ...] = ()
    epochs: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()
    missing: str = ""

    @property
    def wait_s(self) -> float:
        """Median wait for data of a step, s; nan where the log has none."""
        known = self.waits[np.isfinite(self.waits)]
        return float(np.median(known)) if len(known) else float("nan")

    @property
    def step_seconds(self) -> np.ndarray:
        """Times of the steps without the wait for data where it is one, s, (n,)."""
        waits = np.nan_to_num(self.waits) if len(self.waits) else np.zeros(len(self.seconds))
        return np.where(waits > LEAST_WAIT * self.seconds, self.seconds - waits, self.seconds)


def steady(steps: Iterable[Step]) -> tuple[np.ndarray, np.ndarray]:
    """Return times and waits of the steps after the start-up: without the first of the log and of each epoch.

    steps : epoch, number in the epoch, time and wait for data in s. Raises InputError where the numbers do
    not increase, as in a log of several trainings or processes, and where no step is left.
    """
    found = list(steps)
    for before, step in pairwise(found):
        if step[:2] <= before[:2]:
            raise InputError(
                f"expected the log of one training, got step {step[1]} of epoch {step[0]} after step "
                f"{before[1]} of epoch {before[0]}: keep the lines of one training and one process"
            )
    later = [step for step in found[1:] if step[1] > 0]
    if not later:
        raise InputError(
            f"expected lines of at least two steps, got {len(found)}: the first holds the start-up; "
            "log more of them"
        )
    times = np.array([step[2:] for step in later], dtype=np.float64)
    return times[:, 0], times[:, 1]


def one_of(what: str, values: Sequence[str]) -> str:
    """Return the only value among those that a log states, "" for none; InputError for several."""
    different = list(dict.fromkeys(values))
    if len(different) > 1:
        raise InputError(
            f"expected the log of one training, got {what} {' and '.join(map(shown, different[:2]))}: "
            "keep the lines of one"
        )
    return different[0] if different else ""


def stated(**facts: str | float | None) -> dict[str, str | float]:
    """Return the facts that are known: neither None nor "" nor 0."""
    return {name: value for name, value in facts.items() if value}
