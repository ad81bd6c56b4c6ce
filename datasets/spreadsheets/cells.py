"""The cells of a table as values of the runs schema, with an issue for each that is none."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from trainlaw.datasets.files.numbers import decimal_marks, is_number
from trainlaw.datasets.spreadsheets.answers import SKIP, Answers, Issue, choices, grouped, rows_of
from trainlaw.datasets.spreadsheets.columns import MappedColumn
from trainlaw.datasets.spreadsheets.layout import SheetTable
from trainlaw.datasets.spreadsheets.quantities import Unit, parse_unit
from trainlaw.datasets.spreadsheets.values import (
    DATASETS,
    DEFAULT_PRECISION,
    SPELLINGS,
    TRAINING,
    is_date,
    is_unmeasured,
    quantity,
    size_px,
    year_of,
    yes_or_no,
)
from trainlaw.datasets.spreadsheets.vocabulary import (
    ACCUMULATION,
    CHECK,
    DATASET,
    DATE,
    FLAG,
    MODE,
    RATE,
    TIME,
    UNIT,
)
from trainlaw.formulas.errors import InputError, shown

_LEADING_NUMBER = re.compile(r"[-+]?[\d.,'\u00a0\u202f ]*\d")
_FLAGS_OF: Mapping[str, tuple[str, ...]] = {
    "precision": ("amp", "fp16", "bf16", "tf32"), "layout": ("channels_last",),
    "compilation": ("xla", "inductor"), "stack": (),
}  # fmt: skip
#: Column of the runs schema that yes in a column of a flag is about.
OF_FLAG: Mapping[str, str] = {flag: name for name, flags in _FLAGS_OF.items() for flag in flags}
_WITHOUT: Mapping[str, str] = {
    "precision": DEFAULT_PRECISION, "layout": "nchw", "compilation": "eager", "stack": "eager",
}  # fmt: skip


@dataclass(frozen=True)
class Rows:
    """The rows of a table that are to be read, with what is needed to read a cell.

    cells : by our name of the column, one per row. numbers : of the rows in the file. decimal : mark.
    """

    cells: Mapping[str, list[object]]
    numbers: tuple[int, ...]
    columns: Mapping[str, MappedColumn]
    answers: Answers
    decimal: str

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.numbers)

    def read(
        self, target: str, value: Callable[[object], object], expected: str, issues: list[Issue]
    ) -> list[object]:
        """Return the value of each cell of a column, None where it is empty or an issue.

        value : returns None for a cell that is no value.
        """
        found: list[object] = []
        bad: list[tuple[str, int]] = []
        for cell, number in zip(self.cells[target], self.numbers, strict=True):
            own = self.said(target, cell)
            read = None if own is None else value(own)
            if read is None and own is not None:
                bad.append((str(own), number))
            found.append(read)
        heading = self.columns[target].heading
        issues += [
            Issue("cells", f"{heading}: expected {expected}, got {shown(text)}", rows)
            for text, rows in grouped(bad).items()
        ]
        return found

    def said(self, target: str, cell: object) -> object:
        """Return a cell, or the value that the user gave for it; None for an empty one."""
        if cell is None:
            return None
        key = self._key_of_answer(target, cell)
        return cell if key is None else self.answers.values[key]

    def is_said(self, target: str, cell: object) -> bool:
        """Return whether the user gave the value of a cell."""
        return self._key_of_answer(target, cell) is not None

    def _key_of_answer(self, target: str, cell: object) -> tuple[str, str] | None:
        heading = self.columns[target].heading if target in self.columns else target
        keys = ((name, str(cell)) for name in (target, target.removeprefix(FLAG), heading))
        return next((key for key in keys if key in self.answers.values), None)

    def empty(self) -> list[object]:
        """Return a column without values."""
        return [None] * len(self)


def chosen_rows(
    table: SheetTable, columns: Mapping[str, MappedColumn], answers: Answers, issues: list[Issue]
) -> Rows:
    """Return the rows that the user wants, without those that were not measured."""
    keep = np.ones(len(table.rows), dtype=bool)
    for heading, value in answers.only:
        if heading not in table.headings:
            raise InputError(f"--only {heading}={value}: the file has no column {heading!r}")
        keep &= np.array([str(cell) == value for cell in table.column(heading)], dtype=bool)
    keep &= ~_skipped(table, columns, answers)
    measured = next((name for name in ("time_s", TIME, RATE) if name in columns), None)
    if measured is not None:
        cells = table.column(columns[measured].heading)
        without = keep & np.array([is_unmeasured(cell) for cell in cells], dtype=bool)
        if without.any() and not answers.skip_unmeasured:
            texts = dict.fromkeys(
                str(cell or "empty") for cell, row in zip(cells, without, strict=True) if row
            )
            issues.append(
                Issue(
                    "question",
                    f"rows without a time ({', '.join(texts)[:80]}): leave them out?",
                    rows_of(table.numbers, without),
                    (("--skip-unmeasured",),),
                )
            )
        keep &= ~without
    cells_of = {
        name: [cell for cell, kept in zip(table.column(column.heading), keep, strict=True) if kept]
        for name, column in columns.items()
    }
    kept_numbers = tuple(number for number, kept in zip(table.numbers, keep, strict=True) if kept)
    rows = Rows(cells_of, kept_numbers, columns, answers, ".")
    return Rows(_filled(rows, issues), rows.numbers, columns, answers, _decimal_mark(rows, table, issues))


def _skipped(table: SheetTable, columns: Mapping[str, MappedColumn], answers: Answers) -> np.ndarray:
    """Return which rows hold a value that the user wants to leave out, (n_rows,)."""
    skipped = np.zeros(len(table.rows), dtype=bool)
    for (name, text), value in answers.values.items():
        if value == SKIP and name in columns:
            cells = table.column(columns[name].heading)
            skipped |= np.array([str(cell) == text for cell in cells], dtype=bool)
    return skipped


def _filled(rows: Rows, issues: list[Issue]) -> Mapping[str, list[object]]:
    """Return the cells, with empty GPUs and CNNs filled from above where the user says so."""
    filled = dict(rows.cells)
    for name in ("gpu", "cnn"):
        cells = rows.cells.get(name, [])
        gaps = [cell is None for cell in cells]
        if not any(gaps) or all(gaps):
            continue
        if not rows.answers.fill_down:
            text = f"{rows.columns[name].heading}: empty cells below filled ones: does the cell above hold?"
            issues.append(Issue("question", text, rows_of(rows.numbers, gaps), (("--fill-down",),)))
        last: object = None
        filled[name] = [last := cell if cell is not None else last for cell in cells]
    return filled


def _decimal_mark(rows: Rows, table: SheetTable, issues: list[Issue]) -> str:
    """Return the decimal mark of the numbers in texts; append an issue where it is not clear."""
    if rows.answers.decimal:
        return "," if rows.answers.decimal == "comma" else "."
    numeric = {*NUMBERS, TIME, RATE, "time_s"}
    numbers_of = [cells for name, cells in rows.cells.items() if name in numeric]
    texts = dict.fromkeys(text for cells in numbers_of for cell in cells if (text := _number_in(cell)))
    marks = decimal_marks(texts)
    sure = marks & {".", ","}
    unclear = {"?,"} | ({"?."} if table.separator == ";" else set())
    if len(sure) == 1 and not (sure == {"."} and "?," in marks and table.separator == ";"):
        return next(iter(sure))
    likely = "," if "," in sure or table.separator == ";" else "."
    if len(sure) == 2 or marks & unclear:
        doubtful = [text for text in texts if "," in text or "." in text]
        examples = ", ".join(doubtful[:50])[:60]
        among = frozenset(doubtful)
        where = {
            number
            for cells in numbers_of
            for cell, number in zip(cells, rows.numbers, strict=True)
            if _number_in(cell) in among
        }
        issues.append(
            Issue(
                "question",
                f"the decimal mark is not clear ({examples}): comma or point?",
                tuple(sorted(where)),
                choices("--decimal", ("comma", "point") if likely == "," else ("point", "comma")),
            )
        )
    return likely


def _number_in(cell: object) -> str:
    """Return the number that a text begins with, "" for any other cell."""
    match = _LEADING_NUMBER.match(cell) if isinstance(cell, str) else None
    return match[0] if match and is_number(match[0]) else ""


def _whole(rows: Rows) -> Callable[[object], object]:
    def value(cell: object) -> object:
        number, unit = quantity(cell, rows.decimal)
        return number if number == np.floor(number) and number >= 1 and unit is None else None

    return value


#: Columns of whole numbers and other numbers, with what a cell must hold.
NUMBERS: Mapping[str, str] = {
    **dict.fromkeys(
        ("batch", "batch_per_gpu", "global_batch", "n_gpus", "n_nodes", "gpus_per_node", "n_classes"),
        "a whole number of at least 1",
    ),
    "input_size_px": "the side of a square image in pixels",
}


def read_numbers(rows: Rows, issues: list[Issue]) -> dict[str, np.ndarray]:
    """Return the columns of `NUMBERS` that the file has, as float64 with nan for empty cells and issues."""
    found = {}
    for name, expected in NUMBERS.items():
        if name not in rows.cells:
            continue
        read = _whole(rows)
        if name == "input_size_px":

            def read(cell: object) -> object:
                side = size_px(cell, rows.decimal)
                return side if side >= 1 else None

        values = rows.read(name, read, expected, issues)
        found[name] = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return found


def read_words(rows: Rows, issues: list[Issue]) -> dict[str, list[object]]:
    """Return precision, layout and compilation where the file has them, as a column or as yes and no."""
    found: dict[str, list[object]] = {}
    for name, known in SPELLINGS.items():
        flags = [flag for flag in _FLAGS_OF[name] if f"{FLAG}{flag}" in rows.cells]
        if name in rows.cells:
            found[name] = _words(rows, name, known, issues)
        elif flags:
            found[name] = _of_flags(rows, name, flags, issues)
    return found


def _words(rows: Rows, name: str, words: Mapping[str, str], issues: list[Issue]) -> list[object]:
    values: list[object] = []
    unknown: list[tuple[str, int]] = []
    for cell, number in zip(rows.cells[name], rows.numbers, strict=True):
        own = rows.said(name, cell)
        text = str(int(own) if isinstance(own, float) and own.is_integer() else own).strip().lower()
        word = words.get(text, words.get(text.replace(" ", "-").replace("torch.", "")))
        if word is None and name == "compilation" and yes_or_no(own) is False:
            word = _WITHOUT[name]
        if word is None:
            unknown.append((str(cell) if cell is not None else "", number))
        # Nothing is imported before an unknown word is answered; until then the row can be checked.
        values.append(word or "unknown")
    options = [*dict.fromkeys(words.values()), SKIP]
    for text, where in grouped(unknown).items():
        asked = (
            f"{name}: what is {shown(text)}?"
            if text
            else f"{name}: empty; fill it in, or keep rows by --only"
        )
        issues.append(
            Issue("question", asked, where, choices("--value", options, f"{name}:{text}=") if text else ())
        )
    return values


def _of_flags(rows: Rows, name: str, flags: list[str], issues: list[Issue]) -> list[object]:
    """Return the value that yes in one of several columns means; without any yes the usual one."""
    values: list[object] = [_WITHOUT[name]] * len(rows)
    for flag in reversed(flags):
        words = SPELLINGS[name]

        def value(cell: object, flag: str = flag, words: Mapping[str, str] = words) -> object:
            if (answer := yes_or_no(cell)) is not None:
                return flag if answer else ""
            return words.get(str(cell).strip().lower())

        read = rows.read(f"{FLAG}{flag}", value, f"yes or no (or --value {flag}:TEXT=VALUE)", issues)
        values = [own or before for own, before in zip(read, values, strict=True)]
    return values


def check_meaning(rows: Rows, issues: list[Issue]) -> None:
    """Append an issue for rows that were no plain training: inference, accumulated gradients."""
    if MODE in rows.cells:
        others = [
            (str(cell), number)
            for cell, number in zip(rows.cells[MODE], rows.numbers, strict=True)
            if cell is not None and str(rows.said(MODE, cell)).strip().lower() not in TRAINING
        ]
        heading = rows.columns[MODE].heading
        trained = dict.fromkeys(
            str(cell) for cell in rows.cells[MODE] if str(cell).strip().lower() in TRAINING
        )
        for text, where in grouped(others).items():
            options = choices("--only", trained, f"{heading}=") or choices(
                "--value", ("training",), f"{MODE}:{text}="
            )
            issues.append(
                Issue("question", f"{heading}: rows of {shown(text)} are no training", where, options[:1])
            )
    if ACCUMULATION in rows.cells:
        several = [str(cell) not in ("1", "1.0", "None") for cell in rows.cells[ACCUMULATION]]
        if any(several):
            heading = rows.columns[ACCUMULATION].heading
            text = f"{heading}: with accumulated gradients the time is not that of one iteration"
            issues.append(Issue("cells", text, rows_of(rows.numbers, several), (("--only", f"{heading}=1"),)))


def read_sizes(rows: Rows, numbers: Mapping[str, np.ndarray], issues: list[Issue]) -> dict[str, object]:
    """Return input sizes in px and classes, of their columns or else of the data set that is named."""
    found: dict[str, object] = {
        name: numbers[name] for name in ("input_size_px", "n_classes") if name in numbers
    }
    if DATASET not in rows.cells:
        return found

    def value(cell: object) -> object:
        text = re.sub(r"[^a-z0-9]", "", str(cell).lower())
        # "synthetic" says nothing about sizes.
        return (None, None) if re.match("synth|random|dummy|fake|real", text) else DATASETS.get(text)

    expected = f"one of {', '.join(DATASETS)} (or --value {DATASET}:TEXT=NAME)"
    pairs = [
        pair if isinstance(pair, tuple) else (None, None)
        for pair in rows.read(DATASET, value, expected, issues)
    ]
    for place, name in enumerate(("input_size_px", "n_classes")):
        found.setdefault(name, [pair[place] for pair in pairs])
    return found


def read_years(rows: Rows) -> list[object] | None:
    """Return the year of each row from a column of dates, None without one."""
    return None if DATE not in rows.cells else [year_of(cell) for cell in rows.cells[DATE]]


def read_measured(rows: Rows, issues: list[Issue]) -> tuple[np.ndarray, list[Unit | None]]:
    """Return the measured numbers, nan where a cell is none, and the unit of each, None without one."""
    name = next(name for name in ("time_s", TIME, RATE) if name in rows.cells)
    numbers, units = _measured(rows, name, issues)
    if UNIT in rows.cells:
        units = [
            unit or (parse_unit(str(cell)) if cell is not None else None)
            for unit, cell in zip(units, rows.cells[UNIT], strict=True)
        ]
    return numbers, units


def read_check(rows: Rows) -> tuple[np.ndarray, list[Unit | None]] | None:
    """Return a second measure of the same runs as `read_measured` does, None without one."""
    return _measured(rows, CHECK, []) if CHECK in rows.cells else None


def _measured(rows: Rows, name: str, issues: list[Issue]) -> tuple[np.ndarray, list[Unit | None]]:
    column, cells = rows.columns[name], rows.cells[name]
    dates = [is_date(cell) for cell in cells]
    if any(dates):
        text = f"{column.heading}: the spreadsheet made dates of numbers; enter them again as numbers"
        issues.append(Issue("cells", text, rows_of(rows.numbers, dates)))
    numbers, units = np.full(len(cells), np.nan), list[Unit | None]([None]) * len(cells)
    for place, (cell, made) in enumerate(zip(cells, dates, strict=True)):
        if not made:
            numbers[place], units[place] = quantity(cell, rows.decimal)
    bad = [
        (str(cell), number)
        for cell, number, value, made in zip(cells, rows.numbers, numbers, dates, strict=True)
        if not (made or value > 0)
    ]
    issues += [
        Issue("cells", f"{column.heading}: expected a number above 0, got {shown(text)}", where)
        for text, where in grouped(bad).items()
    ]
    return np.where(numbers > 0, numbers, np.nan), _units(rows, column, units, issues)


def _units(
    rows: Rows, column: MappedColumn, units: Sequence[Unit | None], issues: list[Issue]
) -> list[Unit | None]:
    differing = [
        unit is not None and column.unit is not None and unit.text != column.unit.text for unit in units
    ]
    if any(differing) and not rows.answers.unit:
        issues.append(
            Issue(
                "cells",
                f"{column.heading}: cells state another unit than the header",
                rows_of(rows.numbers, differing),
            )
        )
    return [unit or column.unit for unit in units]
