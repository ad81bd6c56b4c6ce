"""A training log as one row of a table: what it states of the run, and the median time of a steady step."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from trainlaw.formulas.errors import InputError, shown

# A shorter wait is the handing over of a batch that was ready: a share of the step.
_LEAST_WAIT = 0.02  # between 1.6 % in a log of timm that waits for nothing and 2.5 % in one of a slow loader
Facts = Mapping[str, object]


class TrainingLog(NamedTuple):
    """One training.

    row : cells by heading, as a table has them; None where the log leaves open what a table would assume.
    notes : what the time holds.
    """

    row: Facts
    notes: tuple[str, ...]


def no_times(program: str, why: str) -> InputError:
    """Return the error of a log without the time of a step."""
    return InputError(f"log of {program}: no step times in this log: {why}")


def log_of_steps(
    program: str, facts: Facts, steps: Iterable[tuple[float, float, float, float]], *notes: str
) -> TrainingLog:
    """Return a log by its steps: the median of those after the first of the log and of each epoch.

    steps : epoch, number in the epoch, time and wait for data in s, nan for one that is not known. Raises
    InputError where the numbers do not increase, as in a log of several trainings or processes, and where no
    step is left.
    """
    found = list(steps)
    for before, step in pairwise(found):
        if step[:2] <= before[:2]:
            raise InputError(
                f"expected the log of one training, got step {step[1]:.0f} of epoch {step[0]:.0f} after step "
                f"{before[1]:.0f} of epoch {before[0]:.0f}: keep the lines of one training and one process"
            )
    later = np.array([step[2:] for step in found[1:] if step[1] > 0])
    if not len(later):
        raise InputError(
            f"expected at least two steps, got {len(found)}: the first holds the start-up; log more of them"
        )
    return log_of_times(program, facts, later[:, 0], later[:, 1], *notes)


def log_of_times(
    program: str, facts: Facts, seconds: np.ndarray, waits: np.ndarray | float, *notes: str
) -> TrainingLog:
    """Return a log by times of steps, s, (n,), and the waits for data in them, nan where not known.

    Facts that are 0 or "" are not known.
    """
    known = np.nan_to_num(waits)
    times = np.where(known > _LEAST_WAIT * seconds, seconds - known, seconds)
    if not ((times > 0) & np.isfinite(times)).all():
        raise InputError("expected times above 0, and shorter waits for data")
    # Logs have at most nine digits behind the point; more are rounding of differences.
    low, median, high = (round(float(np.quantile(times, share)), 9) for share in (0.0, 0.5, 1.0))
    row = {name: fact for name, fact in facts.items() if fact not in (0, "")}
    row |= {"harness": program, "time_s": median, "n_repeats": len(times)}
    row |= {"time_min_s": low, "time_max_s": high} if len(times) > 1 else {}
    said = [f"{len(times)} times after the start-up, from {low:.4g} to {high:.4g} s"] * (len(times) > 1)
    if np.isfinite(waits).any():
        wait = float(np.nanmedian(waits))
        is_left_out = wait > _LEAST_WAIT * float(np.median(seconds))
        said.append(f"waits for data {1e3 * wait:.4g} ms, {'left out' if is_left_out else 'inside'}")
    return TrainingLog(row, (f"log of {program}", *said, *notes))


def log_of_epochs(program: str, facts: Facts, lasted: Sequence[float], *notes: str) -> TrainingLog:
    """Return a log by the seconds of epochs: the median of those after the first, which holds the start-up.

    Raises InputError for fewer than two, and for an end before its beginning.
    """
    if len(lasted) < 2 or min(lasted) <= 0.0:
        raise InputError(
            f"expected at least two epochs, one after the other, in a log of {program}, got others"
        )
    row = {**facts, "harness": program, "Epoch time (s)": float(np.median(lasted[1:]))}
    return TrainingLog(row, (f"log of {program}", *notes))


def one_of(what: str, values: Iterable[object]) -> str:
    """Return the only value among those that a log states, "" for none; InputError for several."""
    different = list(dict.fromkeys(map(str, values)))
    if len(different) > 1:
        said = " and ".join(map(shown, different[:2]))
        raise InputError(f"expected the log of one training, got {what} {said}: keep the lines of one")
    return different[0] if different else ""
