"""How far a study is, and how long it still takes."""

import time
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class StudyProgress:
    """How far a study is: `done` of `total` fits, and the last one that ended; seconds of wall time."""

    done: int
    total: int
    split: str
    estimator: str
    elapsed_seconds: float
    remaining_seconds: float


class StudyClock:
    """Estimates the time left from the mean duration of each estimator's fits so far.

    n_splits : fits per estimator. workers : fits at the same time.
    """

    def __init__(self, n_splits: int, estimators: tuple[str, ...], workers: int) -> None:
        """Start the clock."""
        self._started = time.monotonic()
        self._n_splits, self._workers = n_splits, workers
        self._durations: dict[str, list[float]] = {name: [] for name in estimators}

    def after(self, split: str, estimator: str, seconds: float) -> StudyProgress:
        """Return the progress after one more fit, which took `seconds` in its worker."""
        self._durations[estimator].append(seconds)
        known = [duration for durations in self._durations.values() for duration in durations]
        work_left = sum(
            (self._n_splits - len(durations)) * float(np.mean(durations or known))
            for durations in self._durations.values()
        )
        total = self._n_splits * len(self._durations)
        elapsed = time.monotonic() - self._started
        return StudyProgress(len(known), total, split, estimator, elapsed, work_left / self._workers)
