"""The `results.csv` of Ultralytics: seconds since the start at the end of each epoch."""

import csv
import re
from itertools import pairwise

from trainlaw.datasets.logs.training_log import TrainingLog
from trainlaw.formulas.errors import InputError

MARK = re.compile(r"\A\s*epoch\s*,(?=[^\n]{0,9999}\blr/pg\d)(?=[^\n]{0,9999}\w/\w+_loss)")
_PROGRAM = "Ultralytics' results.csv"


def read(text: str) -> TrainingLog:
    """Return the training in a table: the differences of its times are those of epochs."""
    header, *rows = csv.reader(text.splitlines())
    names = [name.strip() for name in header]
    if "time" not in names:
        return TrainingLog(_PROGRAM, missing="this version of it has no column time")
    place = names.index("time")
    ends = [0.0, *(float(row[place]) for row in rows if len(row) > place)]
    lasted = tuple(end - before for before, end in pairwise(ends))
    if not lasted or min(lasted) <= 0.0:
        raise InputError(f"expected seconds since the start that increase, as {_PROGRAM} has, got others")
    said = " and ".join(f"{seconds:.1f} s" for seconds in lasted[:3])
    note = f"time is the seconds since the start: the first epochs took {said}, with the validation"
    # The first holds the start-up.
    return TrainingLog(_PROGRAM, epochs=lasted[1:], notes=(note,))
