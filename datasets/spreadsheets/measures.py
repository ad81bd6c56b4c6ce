"""Measured numbers as times of iterations: their units, the epochs they are of, and a second measure."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from trainlaw.datasets.spreadsheets import fields
from trainlaw.datasets.spreadsheets.answers import Issue, choices, rows_of, skipping
from trainlaw.datasets.spreadsheets.cells import read_check
from trainlaw.datasets.spreadsheets.quantities import TimeUnit, unit_choices
from trainlaw.datasets.spreadsheets.rows import SheetRows
from trainlaw.datasets.spreadsheets.values import quantity

_TOTAL = re.compile(r"total|gesamt", re.IGNORECASE)
_DISAGREEING = 0.1  # ln of the factor between a time and a throughput of the same run
_MOST_WRONG = 0.5  # share of rows that may be wrong before a whole column is
_LEAST_COMPARED = 4  # rows that show whether two columns rise together


def ask_units(
    rows: SheetRows, measured: np.ndarray, units: Sequence[TimeUnit | None], frame: pd.DataFrame
) -> None:
    """Ask for the unit of the numbers that have none, and for what else their units leave open."""
    heading = rows.columns[fields.TIME].heading
    is_open = [unit is None and bool(np.isfinite(own)) for unit, own in zip(units, measured, strict=True)]
    if any(is_open):
        usual = unit_choices(bool((frame["n_gpus"] > 1).any()))
        text = f"{heading}: no unit is stated; one of {', '.join(usual)}"
        if rows.hinted is not None and not (rows.hinted.is_rate and (frame["n_gpus"] > 1).any()):
            text, usual = (
                f"{heading}: no unit is stated; a title says {rows.hinted.text}",
                (rows.hinted.text,),
            )
        where = () if all(is_open) else rows_of(rows.numbers, is_open)
        rows.issues.append(Issue("question", text, where, choices("--unit", usual)))
        return
    _ask_epochs(rows, frame, units)
    epochs = np.array([unit is not None and unit.counted == "epoch" for unit in units], dtype=bool)
    if (epochs & ~np.isfinite(iterations_of(frame, len(rows)))).any():
        text = (
            f"{heading}: of how many images is an epoch? Give them, or the iterations by --set iterations=N"
        )
        rows.ask("question", text, _epoch_options(rows, heading))
    rates = np.array([unit is not None and not _is_plain(unit) for unit in units], dtype=bool)
    rates &= frame["n_gpus"].to_numpy() > 1
    if rates.any():
        first = next(unit for unit, is_open in zip(units, rates, strict=True) if is_open and unit)
        texts = (replace(first, per_gpu=False).text, replace(first, per_gpu=True).text)
        text = f"{heading}: with several GPUs, is it the throughput of all together or of each GPU?"
        rows.fault(text, rates, choices("--unit", texts), "question")


def _ask_epochs(rows: SheetRows, frame: pd.DataFrame, units: Sequence[TimeUnit | None]) -> None:
    """Ask whether times next to a number of epochs are those of all epochs."""
    times = [unit is not None and not unit.is_rate and unit.counted == "iteration" for unit in units]
    if fields.EPOCHS not in frame or not any(times) or rows.answers.unit:
        return
    heading, column = rows.columns[fields.TIME].heading, rows.columns[fields.EPOCHS].heading
    options = (("--unit", "s/run", "--set", f"{fields.IMAGES_PER_EPOCH}=CHOICE"), ("--ignore", column))
    text = f"{heading}: of one iteration, or the total of all {column}? Then give the images of an epoch"
    rows.ask("question", text, options)


def _epoch_options(rows: SheetRows, heading: str) -> tuple[tuple[str, ...], ...]:
    """Return the options that say how many iterations or images an epoch has."""
    counts = [
        own
        for own, cells in rows.unread.items()
        if {quantity(cell, rows.decimal)[0].is_integer() for cell in cells if cell is not None} == {True}
    ]
    return (
        *choices("--column", counts, f"{fields.IMAGES_PER_EPOCH}="),
        *choices("--column", counts, f"{fields.ITERATIONS}="),
        # A total may be that of the phases of an iteration.
        *choices("--column", [heading] if _TOTAL.search(heading) else [], "time_s="),
        *choices("--set", ("1281167", "50000"), f"{fields.IMAGES_PER_EPOCH}="),
    )


def check_epochs(rows: SheetRows, frame: pd.DataFrame) -> None:
    """Append an issue for epochs of fewer images than a batch, whose headings may be exchanged."""
    if fields.IMAGES_PER_EPOCH not in frame or "batch_per_gpu" not in frame:
        return
    few = frame[fields.IMAGES_PER_EPOCH] < frame["batch_per_gpu"] * frame["n_gpus"]
    found = [name for name in (fields.IMAGES_PER_EPOCH, *fields.BATCHES) if name in rows.columns]
    exchanged = zip(found, reversed(found), strict=True) if len(found) == 2 else ()
    pairs = [("--column", f"{name}={rows.columns[other].heading}") for name, other in exchanged]
    option = tuple(word for pair in pairs for word in pair)
    rows.fault("an epoch has fewer images than a batch", few, (option,) if option else (), "columns")


def iterations_of(frame: pd.DataFrame, size: int) -> np.ndarray:
    """Return the iterations of the epoch or run of each row, nan where the table does not say."""
    epochs = frame[fields.EPOCHS].to_numpy(dtype=np.float64) if fields.EPOCHS in frame else 1.0
    if fields.ITERATIONS in frame and frame[fields.ITERATIONS].notna().any():
        return frame[fields.ITERATIONS].to_numpy(dtype=np.float64)
    if fields.IMAGES_PER_EPOCH in frame and "batch_per_gpu" in frame:
        batch = frame["batch_per_gpu"].to_numpy(dtype=np.float64) * frame["n_gpus"].to_numpy(dtype=np.float64)
        return np.asarray(np.ceil(frame[fields.IMAGES_PER_EPOCH].to_numpy(dtype=np.float64) / batch) * epochs)
    return np.full(size, np.nan)


def check_measures(
    rows: SheetRows, frame: pd.DataFrame, measured: np.ndarray, units: Sequence[TimeUnit | None]
) -> bool:
    """Return whether a second measure says the same; append an issue where it contradicts the first.

    One without a unit says the same only where the factor between them is that of any unit.
    """
    other = read_check(rows)
    if other is None or "batch_per_gpu" not in frame:
        return False
    iterations = iterations_of(frame, len(rows))
    first = seconds_of(measured, units, frame, iterations)
    has_unit = any(unit for unit in other[1])
    if has_unit:
        is_plain = [_is_plain(own) and _is_plain(unit) for own, unit in zip(units, other[1], strict=True)]
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.log(first / seconds_of(*other, frame, iterations))
    else:
        is_plain = [False] * len(rows)
        apart = _apart_in_any_unit(first, other[0], frame)
    with np.errstate(invalid="ignore"):
        far = np.abs(apart) > _DISAGREEING
    wrong = ((frame["n_gpus"].to_numpy() == 1) | is_plain) & far
    headings = [rows.columns[column].heading for column in (fields.TIME, fields.CHECK)]
    text = f"{' and '.join(headings)} contradict each other"
    text += ": which one is right?" if has_unit else " or the batch: which column is right?"
    if wrong.mean() < _MOST_WRONG:
        rows.fault(text, wrong, skipping(rows_of(rows.numbers, wrong)))
    else:
        rows.fault(text, wrong, choices("--column", headings, "time_s="), "columns")
    known = np.abs(apart[np.isfinite(apart)])
    return has_unit and bool(len(known)) and bool(np.median(known) < _DISAGREEING)


def _apart_in_any_unit(seconds: np.ndarray, numbers: np.ndarray, frame: pd.DataFrame) -> np.ndarray:
    """Return ln of times over numbers without a unit, in the one that fits best, (n,); nan where open.

    The numbers are times or throughputs of iterations, of images, or of epochs.
    """
    single = (frame["n_gpus"] == 1).to_numpy()
    images = np.log(frame["batch_per_gpu"].to_numpy(dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs, plain = np.log(seconds), np.log(numbers)
    found = np.full(len(seconds), np.nan)
    known = single & np.isfinite(logs) & np.isfinite(plain) & np.isfinite(images)
    if known.sum() < _LEAST_COMPARED:
        return found
    ways = [(logs - sign * plain - scale * images)[known] for sign in (1.0, -1.0) for scale in (0.0, 1.0)]
    found[known] = min((way - np.median(way) for way in ways), key=lambda way: float(np.median(np.abs(way))))
    return found


def _is_plain(unit: TimeUnit | None) -> bool:
    """Return whether a unit says whether it is of one GPU or of all."""
    return unit is not None and not (unit.is_rate and unit.counted == "image" and unit.per_gpu is None)


def seconds_of(
    measured: np.ndarray, units: Sequence[TimeUnit | None], frame: pd.DataFrame, iterations: np.ndarray
) -> np.ndarray:
    """Return the iteration times in s of numbers in these units; nan where a unit is open."""
    if "batch_per_gpu" not in frame:
        return np.full(len(measured), np.nan)
    batch, gpus = (frame[name].to_numpy(dtype=np.float64) for name in ("batch_per_gpu", "n_gpus"))
    found = np.full(len(measured), np.nan)
    for own in dict.fromkeys(unit for unit in units if unit is not None):
        same = np.array([unit is own or unit == own for unit in units], dtype=bool)
        found[same] = own.seconds_of(measured, batch, gpus, iterations)[same]
    return found
