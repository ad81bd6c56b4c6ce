"""The cells of a table as values of the runs schema, with an issue for each that is none."""

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from trainlaw.datasets.files.numbers import decimal_marks, is_number
from trainlaw.datasets.spreadsheets import fields
from trainlaw.datasets.spreadsheets.answers import SKIP, Issue, SheetAnswers, choices
from trainlaw.datasets.spreadsheets.columns import answers_time
from trainlaw.datasets.spreadsheets.headings import read_heading
from trainlaw.datasets.spreadsheets.quantities import TimeUnit, parse_unit, unit_choices
from trainlaw.datasets.spreadsheets.rows import SheetRows, each
from trainlaw.datasets.spreadsheets.values import (
    DATASETS,
    DEFAULT_PRECISION,
    PRECISIONS,
    SPELLINGS,
    TRAINING,
    YES,
    is_unmeasured,
    precision_of,
    quantity,
    size_px,
    yes_or_no,
)
from trainlaw.datasets.spreadsheets.words import groups
from trainlaw.formulas.errors import InputError, shown

_FORWARD = frozenset(groups("phrase")["inference"])
# A larger batch is another number under its heading, such as the images of an epoch.
_MOST_BATCH = 65_536
_LEADING_NUMBER = re.compile(r"[-+]?[\d.,'\u00a0\u202f ]*\d")
_FLAGS_OF: Mapping[str, tuple[str, ...]] = {
    "precision": ("amp", "fp16", "bf16", "tf32"),
    "layout": ("channels_last",),
    "compilation": ("xla", "inductor"),
    "stack": (),
}
#: Column of the runs schema that yes in a column of a flag is about.
OF_FLAG: Mapping[str, str] = {flag: name for name, flags in _FLAGS_OF.items() for flag in flags}
_WITHOUT: Mapping[str, str] = {
    "precision": DEFAULT_PRECISION,
    "layout": "nchw",
    "compilation": "eager",
    "stack": "eager",
}


def choose_rows(rows: SheetRows, separator: str) -> None:
    """Leave out rows that the user does not want or that were not measured, and find the decimal mark.

    separator : of the file, which is a hint at its decimal mark.
    """
    answers = rows.answers
    absent = sorted(set(answers.skipped_rows) - set(map(str, rows.numbers)))
    if absent:
        rows.ask("cells", f"--skip-rows: the table has no row {', '.join(absent)[:60]}")
    present = {str(cell) for column in rows.cells.values() for cell in column} if answers.values else set()
    for _, text in answers.values:
        if text not in present:
            rows.ask("cells", f"--value: no cell is {shown(text)}")
    keep, cells = ~_skipped(rows), rows.cells.get(fields.TIME, [])
    without = keep & np.array([is_unmeasured(cell) for cell in cells], dtype=bool)
    if not answers.skip_unmeasured:
        texts = dict.fromkeys(str(cell or "empty") for cell, row in zip(cells, without, strict=True) if row)
        text = f"rows without a time ({', '.join(texts)[:80]}): leave them out?"
        rows.fault(text, without, (("--skip-unmeasured",),), "question")
    rows.keep(np.flatnonzero(keep & ~without).tolist())
    rows.decimal = _decimal_mark(rows, separator)


def _skipped(rows: SheetRows) -> np.ndarray:
    """Return which rows hold a value that the user wants to leave out, (n_rows,)."""
    skipped = np.array([str(number) in rows.answers.skipped_rows for number in rows.numbers], dtype=bool)
    for (name, text), value in rows.answers.values.items():
        own = fields.TIME if name == "time_s" else name
        if value == SKIP and own in rows.cells:
            skipped |= np.array([str(cell) == text for cell in rows.cells[own]], dtype=bool)
    return skipped


def _decimal_mark(rows: SheetRows, separator: str) -> str:
    """Return the decimal mark of the numbers in texts; ask where it is not clear."""
    if rows.answers.decimal:
        return "," if rows.answers.decimal == "comma" else "."
    numbers_of = [cells for name, cells in rows.cells.items() if name in (*NUMBERS, fields.TIME)]
    cells_once = dict.fromkeys(cell for cells in numbers_of for cell in cells if isinstance(cell, str))
    texts = dict.fromkeys(map(_number_in, cells_once))
    marks = decimal_marks(texts)
    sure = marks & {".", ","}
    unclear = {"?,"} | ({"?."} if separator == ";" else set())
    if len(sure) == 1 and not (sure == {"."} and "?," in marks and separator == ";"):
        return next(iter(sure))
    likely = "," if "," in sure or separator == ";" else "."
    if len(sure) == 2 or marks & unclear:
        doubtful = [text for text in texts if "," in text or "." in text]
        among = frozenset(doubtful)
        where = {
            number
            for cells in numbers_of
            for cell, number in zip(cells, rows.numbers, strict=True)
            if _number_in(cell) in among
        }
        text = f"the decimal mark is not clear ({', '.join(doubtful[:50])[:60]}): comma or point?"
        options = choices("--decimal", ("comma", "point") if likely == "," else ("point", "comma"))
        rows.issues.append(Issue("question", text, tuple(sorted(where)), options))
    return likely


def _number_in(cell: object) -> str:
    """Return the number that a text begins with, "" for any other cell."""
    match = _LEADING_NUMBER.match(cell) if isinstance(cell, str) else None
    return match[0] if match and is_number(match[0]) else ""


def _whole(rows: SheetRows, most: float) -> Callable[[object], object]:
    def value(cell: object) -> object:
        number, unit = quantity(cell, rows.decimal)
        return number if number == np.floor(number) and 1 <= number <= most and unit is None else None

    return value


def _side(rows: SheetRows) -> Callable[[object], object]:
    return lambda cell: side if (side := size_px(cell, rows.decimal)) >= 1 else None


#: Columns of whole numbers and other numbers, with what a cell must hold.
NUMBERS: Mapping[str, str] = {
    **dict.fromkeys(("batch", "batch_per_gpu"), f"a whole number from 1 to {_MOST_BATCH:,}"),
    **dict.fromkeys(
        (
            fields.GLOBAL_BATCH,
            "n_gpus",
            "n_nodes",
            fields.GPUS_PER_NODE,
            "n_classes",
            fields.IMAGES_PER_EPOCH,
        ),
        "a whole number of at least 1",
    ),
    fields.ITERATIONS: "a whole number of at least 1",
    fields.EPOCHS: "a whole number of at least 1",
    "input_size_px": "the side of a square image in pixels",
}


def read_numbers(rows: SheetRows) -> dict[str, np.ndarray]:
    """Return the columns of `NUMBERS` that the file has, as float64 with nan for empty cells and issues."""
    found = {}
    for name, expected in NUMBERS.items():
        if name not in rows.cells:
            continue
        most = _MOST_BATCH if name in ("batch", "batch_per_gpu") else np.inf
        read = _side(rows) if name == "input_size_px" else _whole(rows, most)
        values = rows.read(name, read, expected)
        found[name] = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return found


def read_words(rows: SheetRows) -> dict[str, list[object]]:
    """Return precision, layout and compilation where the file has them, as a column or as yes and no."""
    found: dict[str, list[object]] = {}
    for name in SPELLINGS:
        flags = [flag for flag in _FLAGS_OF[name] if f"{fields.FLAG}{flag}" in rows.cells]
        if name in rows.cells:
            found[name] = _words(rows, name)
            if flags and name == "precision":
                # "32-true" or 16 bits next to a switch of tf32 or amp: what was switched on holds.
                switched = _of_flags(rows, name, flags)
                pairs = zip(found[name], switched, strict=True)
                found[name] = [_switched(stated, on) for stated, on in pairs]
        elif flags:
            found[name] = _of_flags(rows, name, flags)
    return found


def _switched(stated: object, on: object) -> object:
    """Return the precision of a column next to one of yes and no: mixed precision has 16 bits."""
    return (
        on
        if on == "amp" and stated != "bf16"
        else on
        if stated == "fp32" and on != DEFAULT_PRECISION
        else stated
    )


def _words(rows: SheetRows, name: str) -> list[object]:
    words = SPELLINGS[name]

    def word_of(cell: object) -> str | None:
        own = rows.said(name, cell)
        text = str(int(own) if isinstance(own, float) and own.is_integer() else own).strip().lower()
        word = words.get(text, words.get(text.replace(" ", "-").replace("torch.", "")))
        if word is None and name == "precision" and not yes_or_no(own):
            # "fp16 (AMP)", "einfach (FP32)", "AMP off"
            found_word, is_whole = precision_of(text)
            word = found_word if is_whole else None
        if word is None and name == "compilation" and (answer := yes_or_no(own)) is not None:
            word = "inductor" if answer else _WITHOUT[name]
        return word

    found = each(rows.cells[name], word_of)
    texts = ("" if cell is None else cell for cell in rows.cells[name])
    options = [*dict.fromkeys(words.values()), SKIP]
    for text, where in rows.where(texts, (word is None for word in found)).items():
        asked = (
            f"{name}: what is {shown(text)}?"
            if text
            else f"{name}: empty; give it for these rows, or keep others by --only"
        )
        empty = choices("--precision", PRECISIONS) if name == "precision" else ()
        given = choices("--value", options, f"{name}:{text}=") if text else empty
        rows.issues.append(Issue("question", asked, where, given))
    # Nothing is imported before an unknown word is answered; until then the row can be checked.
    return [word or "unknown" for word in found]


def _of_flags(rows: SheetRows, name: str, flags: list[str]) -> list[object]:
    """Return the value that yes in one of several columns means; without any yes the usual one."""
    # Where a column switches tf32, no is plain fp32.
    values: list[object] = ["fp32" if "tf32" in flags else _WITHOUT[name]] * len(rows)
    words = SPELLINGS[name]
    for flag in reversed(flags):

        def value(cell: object, flag: str = flag) -> object:
            if (answer := yes_or_no(cell)) is not None:
                return flag if answer else ""
            return words.get(str(cell).strip().lower())

        read = rows.read(f"{fields.FLAG}{flag}", value, f"yes or no (or --value {flag}:TEXT=VALUE)")
        if flag == "fp16":
            _ask_half(rows, read)
        values = [own or before for own, before in zip(read, values, strict=True)]
    return values


def _ask_half(rows: SheetRows, read: list[object]) -> None:
    """Ask about yes in a column called fp16: trainers switch mixed precision by it, others all numbers."""
    column = f"{fields.FLAG}fp16"
    is_open = (
        value == "fp16" and bool(yes_or_no(rows.said(column, cell)))
        for value, cell in zip(read, rows.cells[column], strict=True)
    )
    heading = rows.columns[column].heading
    for text, where in rows.where(rows.cells[column], is_open).items():
        asked = f"{heading} is {shown(text)}: mixed precision (amp), or all numbers in 16 bits (fp16)?"
        rows.issues.append(
            Issue("question", asked, where, choices("--value", ("amp", "fp16"), f"fp16:{text}="))
        )


def check_meaning(rows: SheetRows) -> None:
    """Append an issue for rows that were no plain training: inference, accumulated gradients."""
    for column in (fields.MODE, "timed_parts"):
        if column not in rows.cells:
            continue
        # The runs schema names more parts than these; only those without a backward pass are refused here.
        is_wrong = _is_no_training if column == fields.MODE else _is_forward
        cells, heading = rows.cells[column], rows.columns[column].heading
        others = [cell is not None and is_wrong(str(rows.said(column, cell))) for cell in cells]
        trained = dict.fromkeys(str(cell) for cell in cells if not is_wrong(str(cell)))
        for text, where in rows.where(cells, others).items():
            only = choices("--only", trained, f"{heading}=")
            options = only or choices("--value", [SKIP], f"{column}:{text}=")
            asked = f"{heading}: rows of {shown(text)} are no training"
            rows.issues.append(Issue("question", asked, where, options[:1]))
    if fields.ACCUMULATION in rows.cells:
        several = [str(cell) not in ("1", "1.0", "None") for cell in rows.cells[fields.ACCUMULATION]]
        heading = rows.columns[fields.ACCUMULATION].heading
        text = f"{heading}: with accumulated gradients the time is not that of one iteration"
        rows.fault(text, several, (("--only", f"{heading}=1"),))


def _is_no_training(text: str) -> bool:
    return text.strip().lower() not in TRAINING | YES


def _is_forward(text: str) -> bool:
    return text.strip().lower() in _FORWARD


def read_sizes(rows: SheetRows, numbers: Mapping[str, np.ndarray]) -> dict[str, object]:
    """Return input sizes in px and classes, of their columns or else of the data set that is named."""
    found: dict[str, object] = {
        name: numbers[name]
        for name in ("input_size_px", "n_classes", fields.IMAGES_PER_EPOCH, fields.ITERATIONS)
        if name in numbers
    }
    if fields.DATASET not in rows.cells:
        return found

    def value(cell: object) -> object:
        text = re.sub(r"[^a-z0-9]", "", str(cell).lower())
        # "synthetic" says nothing about sizes.
        return (None, None, None) if re.match("synth|random|dummy|fake|real", text) else DATASETS.get(text)

    expected = f"one of {', '.join(DATASETS)} (or --value {fields.DATASET}:TEXT=NAME)"
    pairs = [
        pair if isinstance(pair, tuple) else (None, None, None)
        for pair in rows.read(fields.DATASET, value, expected)
    ]
    for place, name in enumerate(("input_size_px", "n_classes", fields.IMAGES_PER_EPOCH)):
        found.setdefault(name, [pair[place] for pair in pairs])
    return found


def read_measured(rows: SheetRows) -> tuple[np.ndarray, list[TimeUnit | None]]:
    """Return the measured numbers, nan where a cell is none, and the unit of each, None without one.

    A unit in a cell is preferred to what the user says, and that to the unit of the header.
    """
    numbers, stated = _measured(rows, fields.TIME)
    said = _said_unit(rows.answers)
    headers = [source.unit for source in rows.sources]
    is_epoch = read_heading(rows.columns[fields.TIME].heading).target == fields.EPOCH_TIME
    is_epoch = is_epoch or any(unit is not None and unit.counted == "epoch" for unit in headers)
    if is_epoch and not answers_time(rows.answers):
        stated = [unit and replace(unit, counted="epoch") for unit in stated]
        said = said and replace(said, counted="epoch")
    named = each(rows.cells.get(fields.UNIT, [None] * len(rows)), lambda cell: parse_unit(str(cell or "")))
    outside = [said or name or header for name, header in zip(named, headers, strict=True)]
    return numbers, [_preferred(own, other) for own, other in zip(stated, outside, strict=True)]


def _preferred(own: TimeUnit | None, other: TimeUnit | None) -> TimeUnit | None:
    """Return the unit in a cell, else another one, which also says whether a throughput is of one GPU."""
    if own is not None and other is not None and own.is_rate and own == replace(other, per_gpu=None):
        return other
    if own is not None and other is not None and own.counted == "iteration" and other.counted == "epoch":
        return replace(own, counted="epoch")
    return own or other


def _said_unit(answers: SheetAnswers) -> TimeUnit | None:
    if not answers.unit:
        return None
    if (unit := parse_unit(answers.unit)) is None:
        raise InputError(
            f"--unit: expected a unit such as {', '.join(unit_choices())}, got {shown(answers.unit)}"
        )
    return unit


def read_check(rows: SheetRows) -> tuple[np.ndarray, list[TimeUnit | None]] | None:
    """Return a second measure of the same runs as `read_measured` does, None without one."""
    if fields.CHECK not in rows.columns:
        return None
    numbers, stated = _measured(replace(rows, issues=[]), fields.CHECK)
    return numbers, [own or source.check_unit for own, source in zip(stated, rows.sources, strict=True)]


def _measured(rows: SheetRows, name: str) -> tuple[np.ndarray, list[TimeUnit | None]]:
    heading, cells = rows.columns[name].heading, rows.cells[name]
    dates = [isinstance(cell, datetime.date) for cell in cells]
    rows.fault(f"{heading}: the spreadsheet made dates of numbers; enter them again as numbers", dates)
    numbers, units = np.full(len(cells), np.nan), list[TimeUnit | None]([None]) * len(cells)
    for place, (cell, made) in enumerate(zip(cells, dates, strict=True)):
        if not made:
            numbers[place], units[place] = quantity(rows.said("time_s", cell), rows.decimal)
    bad = [not (made or value > 0) for value, made in zip(numbers, dates, strict=True)]
    if all(bad) and len(cells) > 1 and name == fields.TIME and (others := _other_measures(rows)):
        text = f"{heading}: expected numbers above 0, got {shown(str(cells[0]))}: which column is it?"
        rows.ask("columns", text, others)
        bad = [False] * len(cells)
    for text, where in rows.where(cells, bad).items():
        asked = f"{heading}: expected a number above 0, got {shown(text)}; leave it out?"
        rows.issues.append(Issue("cells", asked, where, choices("--value", [SKIP], f"time_s:{text}=")))
    return np.where(numbers > 0, numbers, np.nan), units


def _other_measures(rows: SheetRows) -> tuple[tuple[str, ...], ...]:
    """Return the options that read a column of numbers instead of one that holds none."""
    numeric = [
        heading
        for heading, cells in rows.unread.items()
        if any(cell is not None for cell in cells)
        and all(quantity(cell, rows.decimal)[0] > 0 for cell in cells if not is_unmeasured(cell))
    ]
    return choices("--column", numeric, "time_s=")
