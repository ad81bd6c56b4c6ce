"""Recognise a training log by its content, and read it."""

import csv
import os
import re
from collections.abc import Callable
from pathlib import Path

from trainlaw.datasets.files.grids import MAX_GRID_BYTES
from trainlaw.datasets.files.table_files import MAX_LINE_BYTES
from trainlaw.datasets.logs import programs
from trainlaw.datasets.logs.training_log import TrainingLog
from trainlaw.formulas.errors import InputError, TrainlawError
from trainlaw.formulas.files.text_files import opened_file

#: What marks a log -> what reads it; the first mark that is found holds.
_LOGS: tuple[tuple[re.Pattern[str], Callable[[str], TrainingLog]], ...] = (
    *((re.compile(own.step, re.MULTILINE), own.read) for own in programs.STEP_LOGS),
    (programs.TENSORBOARD, programs.read_tensorboard),
    (programs.MLLOG, programs.read_mllog),
    (programs.DLLOGGER, programs.read_dllogger),
    (programs.TRAINER_STATE, programs.read_trainer_state),
    (programs.PROFILER, programs.read_profiler),
    (programs.ULTRALYTICS, programs.read_ultralytics),
    (programs.METRICS, programs.read_metrics),
    (programs.KERAS, programs.read_keras),
    (programs.PROGRESS_BAR, programs.refuse_progress_bar),
)
_NO_TEXT = (".xlsx", ".xlsm", ".xls", ".ods", ".parquet", ".gz", ".numbers", ".pdf")
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
# A bar that is drawn again begins a line.
_AGAIN = re.compile(r"\r\n|\r|\x08+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def read_log(path: str | os.PathLike[str]) -> TrainingLog | None:
    """Return the training in a log, None for a file that is no log of a known program.

    Raises InputError for a log that is larger than the limits, of several trainings, or without steps after
    its start-up.
    """
    place = Path(path)
    if place.suffix.lower() in _NO_TEXT:
        return None
    with opened_file(place, MAX_GRID_BYTES) as file:
        data = file.read(MAX_GRID_BYTES + 1)
    text = _AGAIN.sub("\n", _COLOUR.sub("", data.decode("utf-8-sig", "replace")))
    read = next((read for mark, read in _LOGS if mark.search(text)), None)
    if read is None:
        return None
    if _CONTROL.search(text) or any(len(line) > MAX_LINE_BYTES for line in text.splitlines()):
        raise InputError(f"{place} is not a log: it holds bytes that are not text, or too long a line")
    try:
        return read(text)
    except TrainlawError as error:
        raise InputError(f"{place}: {error}") from None
    except (ValueError, ArithmeticError, TypeError, LookupError, AttributeError, csv.Error):
        raise InputError(
            f"{place}: expected numbers where this kind of log has its times, got others"
        ) from None
