"""Wide tables, with a column per GPU, CNN, batch, precision or number of GPUs, as one row per run."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from trainlaw.datasets.spreadsheets.answers import meant
from trainlaw.datasets.spreadsheets.layout import SheetTable
from trainlaw.datasets.spreadsheets.values import PRECISION_WORDS
from trainlaw.datasets.spreadsheets.vocabulary import (
    BATCH,
    FLAG,
    MEASURES,
    RATE,
    TIME,
    read_heading,
    without_unit,
)
from trainlaw.formulas.errors import TrainlawError

_BATCH = re.compile(r"(?:bs|b|batch(?:[\s_]*size)?)[\s_=:]*(\d{1,6})", re.IGNORECASE)
_GPUS = re.compile(r"(\d{1,5})\s*x?\s*gpus?", re.IGNORECASE)
# What a header says in addition to a value: "fp32 time", "T4 throughput".
_MEASURE = re.compile(
    r"(?<![a-z])(?:time|throughput|speed|latency|step|iteration|train(?:ing)?)(?![a-z])", re.I
)
_MOST_LOOKED_UP = 60
_MEASURED = "measurement"
# What a column of each kind is called in the long table.
_TITLES: Mapping[str, str] = {
    "precision": "precision", BATCH: "batch size", "n_gpus": "number of GPUs", "gpu": "GPU", "cnn": "model",
}  # fmt: skip


def long_table(
    table: SheetTable, find_gpu: Callable[[str], str], find_cnn: Callable[[str], str]
) -> SheetTable:
    """Return a wide table with one row per measured cell; any other table as it is.

    find_gpu, find_cnn : return the name of a GPU or CNN, or raise TrainlawError.
    """
    headed = {}
    for column in range(min(len(table.headings), _MOST_LOOKED_UP)):
        if found := _headed_by(table, column, find_gpu, find_cnn):
            headed[column] = found
    kinds = [kind for kind, _, _ in headed.values()]
    kind = max(kinds, key=kinds.count, default="")
    columns = [column for column, (own, _, _) in headed.items() if own == kind]
    others = [heading for column, heading in enumerate(table.headings) if column not in columns]
    measured = any(read_heading(heading).target in (*MEASURES, "time_s") for heading in others)
    return table if len(columns) < 2 or measured else _melted(table, columns, kind, headed)


def _melted(
    table: SheetTable, columns: list[int], kind: str, headed: Mapping[int, tuple[str, str, str]]
) -> SheetTable:
    rest = [column for column in range(len(table.headings)) if column not in columns]
    rows, numbers = [], []
    for row, number in zip(table.rows, table.numbers, strict=True):
        for column in columns:
            if row[column] is not None:
                rows.append((*(row[other] for other in rest), headed[column][1], row[column]))
                numbers.append(number)
    stated = {headed[column][2] for column in columns} - {""}
    title = stated.pop() if len(stated) == 1 else _MEASURED
    names = ", ".join(table.headings[column] for column in columns)
    return replace(
        table,
        headings=(*(table.headings[column] for column in rest), _TITLES[kind], title),
        groups=(*(table.groups[column] for column in rest), "", ""),
        rows=tuple(rows),
        numbers=tuple(numbers),
        notes=(*table.notes, f"the columns {names} became rows, one for each {_TITLES[kind]}"),
    )


def _headed_by(
    table: SheetTable, column: int, find_gpu: Callable[[str], str], find_cnn: Callable[[str], str]
) -> tuple[str, str, str] | None:
    """Return the kind and value that head a column, and the header of what was measured; None for none."""
    heading, group = table.headings[column], table.groups[column]
    rest, unit = without_unit(heading)
    rest, named = _MEASURE.subn(" ", rest)
    text = re.sub(r"^[\W_]+|[\W_]+$", "", rest) if unit or named else heading
    meaning = read_heading(text)
    known = meaning.target and not meaning.target.startswith(FLAG)
    if known or not text or not _holds_numbers([row[column] for row in table.rows]):
        return None
    measured = f"{TIME} ({unit.text})" if unit else group if read_heading(group).target in MEASURES else ""
    if named and not measured:
        measured = TIME if "time" in heading.lower() else RATE
    kind, value = _dimension(text, read_heading(group).target, find_gpu, find_cnn)
    return (kind, value, measured) if kind else None


def _dimension(
    text: str, group: str, find_gpu: Callable[[str], str], find_cnn: Callable[[str], str]
) -> tuple[str, str]:
    """Return what a text is a value of, and the value; "" for neither. group : column named above it."""
    if text.lower() in PRECISION_WORDS and not text.isdecimal():
        return "precision", text
    for kind, pattern in ((BATCH, _BATCH), ("n_gpus", _GPUS)):
        if match := pattern.fullmatch(text):
            return kind, match[1]
    if text.isdecimal() and group in _TITLES:
        return group, text
    for kind, find in (("gpu", find_gpu), ("cnn", find_cnn)):
        try:
            find(text)
        except TrainlawError as error:
            if not meant(text, error):
                continue
        return kind, text
    return (BATCH, text) if text.isdecimal() else ("", "")


def _holds_numbers(cells: list[object]) -> bool:
    """Return whether most filled cells are measured numbers, not flags."""
    filled = [str(cell) for cell in cells if cell is not None and not isinstance(cell, bool)]
    numbers = [text for text in filled if re.match(r"[\d.,]*\d", text)]
    return len(numbers) > len(filled) / 2 and bool(set(numbers) - {"0", "1"})
