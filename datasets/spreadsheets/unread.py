"""Columns, titles, notes and rows of a table that are not read, and questions about them."""

import re
from collections.abc import Sequence

from trainlaw.datasets.spreadsheets import fields
from trainlaw.datasets.spreadsheets.answers import CHOICE, SKIP, Issue, choices, skipping
from trainlaw.datasets.spreadsheets.columns import FLAGS, TableColumns, append_runs, columns_of
from trainlaw.datasets.spreadsheets.headings import near_target, read_heading
from trainlaw.datasets.spreadsheets.layout import SheetTable, is_measured, is_numeric, is_ratio, split_heading
from trainlaw.datasets.spreadsheets.lines import read_line
from trainlaw.datasets.spreadsheets.rows import Dialogue, SheetRows
from trainlaw.datasets.spreadsheets.values import is_unmeasured, precision_of, quantity, yes_or_no
from trainlaw.formulas.errors import InputError, shown

MARK = re.compile(r"[*\u2020\u2021\u00a7\u00b9\u00b2\u00b3\u2074]+(?=\s)")  # of a footnote
_SAMPLE = 60  # different texts of a column that are looked at
_OPEN_TARGETS = ("cnn", "gpu", "network", "framework")  # of a column whose cells are something else
_OF_GPUS = (fields.GPUS_PER_NODE, "n_gpus")
#: What a word that is asked about is of our columns; others are of none.
_COLUMN_OF = {"n_gpus": "n_gpus", "accumulation": fields.ACCUMULATION, "mode": fields.MODE}
_SAID = {
    "n_gpus": "several GPUs",
    "accumulation": "accumulated gradients",
    "power": "a limit of power",
    "clock": "another clock",
    "part": "a part of a GPU",
    "width": "another width of the network",
    "parallel": "a way to parallelise",
    "trained": "a part of the network that is trained",
    "mode": "no training",
    "precision": "a precision",
    "layout": "a layout",
    "compilation": "a compilation",
}
#: Words that a heading of something else, such as "test accuracy" or "GPU memory", does not mean.
_OF_IGNORED = frozenset(("power", "clock", "part", "parallel", "trained", "width"))


def table_rows(tables: Sequence[SheetTable], dialogue: Dialogue, notes: list[str]) -> SheetRows:
    """Return the runs of tables, one row per measured cell; ask about what is not read."""
    rows = SheetRows(dialogue.answers, dialogue.names, dialogue.issues)
    for name, _ in rows.answers.only:
        if not any(name in table.headings for table in tables):
            raise InputError(f"--only {name}: the file has no column {name!r}")
    for number, table in enumerate(tables):
        columns = columns_of(table, rows)
        append_runs(rows, table, columns, number, len(tables) > 1)
        note_left(table, columns, rows, notes)
        ask_lines(table, columns, rows, notes)
    for own in rows.cells.values():
        # A column that only some tables have is empty in the others.
        own.extend([None] * (len(rows) - len(own)))
    return rows


def note_left(table: SheetTable, columns: TableColumns, rows: SheetRows, notes: list[str]) -> None:
    """Note the columns that are not read; ask about those that say something about the runs."""
    plain = []
    for place, reason in columns.left.items():
        heading = table.headings[place]
        cells = [row[place] for row in table.rows]
        is_empty = all(cell is None for cell in cells)
        if _is_other_measure(table, place, columns, rows):
            reason_of = "another column is read"
        else:
            reason_of = reason or ("empty" if is_empty else "")
            if reason != "left out" and not is_empty and _ask_column(table, place, reason, columns, rows):
                continue
        plain.append(f"{heading} ({reason_of})" if reason_of else heading)
    if plain:
        notes.append(f"not read: {', '.join(plain)}")


def _ask_column(table: SheetTable, place: int, reason: str, columns: TableColumns, rows: SheetRows) -> bool:
    """Ask about a column that is not read and may say something of the runs; return whether it does."""
    heading, cells = table.headings[place], [row[place] for row in table.rows]
    texts = list(dict.fromkeys(str(cell) for cell in cells if cell is not None))
    have = _known_columns(columns, rows)
    target = read_heading(heading).target
    target = "" if target in _OPEN_TARGETS and not reason else target
    word = _asked_of(heading, texts, target, have) if reason != "another column is read" else None
    if word:
        kind, found = word
        ours = _COLUMN_OF.get(kind, kind if kind in fields.SCHEMA else "")
        text = f"{heading} is not read, and says {shown(found)}, which may mean {_SAID[kind]}"
        named = (("--column", f"{ours}={heading}"),) if ours else ()
        rows.ask("columns", text, (*named, *_ignoring(heading)))
        return True
    if target or reason:
        return False
    return _ask_unknown(heading, cells, columns, rows, have)


def _known_columns(columns: TableColumns, rows: SheetRows) -> set[str]:
    """Return our columns that are known by a column, an answer or the headings of times."""
    return {*columns.keys, *rows.answers.constants, *(columns.values[0].said if columns.values else ())}


def _is_switch(texts: Sequence[str]) -> bool:
    """Return whether the texts of a column are names, or say no more than 0 and 1."""
    return {text.lower() for text in texts} <= {"1", "0", "1.0", "0.0"} or not all(map(is_numeric, texts))


def _ask_unknown(
    heading: str, cells: Sequence[object], columns: TableColumns, rows: SheetRows, have: set[str]
) -> bool:
    """Ask about a column whose heading is not known; return whether there is anything to ask."""
    texts = {str(cell) for cell in cells if cell is not None}
    near = near_target(heading)
    is_time = near in (*fields.MEASURES, "time_s")
    is_known = near in have or (near in fields.BATCHES and have & set(fields.BATCHES))
    if near and not is_known and not (is_time and (columns.measures or columns.values)):
        option = f"{'time_s' if is_time else near.removeprefix(fields.FLAG)}={heading}"
        text = f"the column {heading!r} is not known; is it {near}?"
        rows.ask("columns", text, (("--column", option), ("--ignore", heading)))
        return True
    if {yes_or_no(cell) for cell in cells if cell is not None} <= {True, False} and not all(
        map(is_numeric, texts)
    ):
        kinds = choices("--column", [f"{name}={heading}" for name in FLAGS])
        rows.ask("columns", f"{heading} says yes or no: to what?", (*kinds, ("--ignore", heading)))
        return True
    numeric = [cell for cell in cells if not is_unmeasured(cell)]
    if (
        columns.values
        and numeric
        and all(quantity(cell, rows.decimal)[0] > 0 for cell in numeric)
        and not is_ratio(heading)
    ):
        kind = (*rows.answers.columns_are, *columns.values[0].said)[0]
        text = f"the heading {heading} is no {kind} that is known: leave its column out?"
        rows.ask("names", text, (("--ignore", heading),))
        return True
    return False


def _is_other_measure(table: SheetTable, place: int, columns: TableColumns, rows: SheetRows) -> bool:
    """Return whether a column is another measure of runs whose times are read."""
    if not columns.values:
        return False
    pair = split_heading(table.parts[place], list(columns.values[0].said), rows.names, rows.answers)
    return pair is not None and any(dict(own.said) == pair[0] for own in columns.values)


def _ignoring(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the option that leaves out what may matter; the user names it in the printed command."""
    return ("--ignore", name), ("--ignore", CHOICE)


def _asked_of(heading: str, texts: Sequence[str], target: str, have: set[str]) -> tuple[str, str] | None:
    """Return the word in a heading or cells that is asked about, and its kind; None where none is."""
    harmless = {"1", "1.0", "0", "none", "no", "default", "off", "-", "false", "nein", "n/a"}
    if all(text.strip().lower() in harmless for text in texts) and not (
        {text.strip().lower() for text in texts} & {"1", "1.0"}
        and read_line(heading).asked.keys() & {"mode", "power"}
    ):
        return None
    if target == fields.OTHER_TIME or (target in fields.MEASURED):
        return None
    asked = dict(read_line(heading).asked)
    is_switch = _is_switch(texts)
    if not is_switch:
        # Numbers of other phases than training stand next to those of training.
        asked.pop("mode", None)
    known = {name for name in asked if _COLUMN_OF.get(name, name) in have}
    known |= {"n_gpus"} if have & set(_OF_GPUS) else set()
    allowed = _OF_IGNORED if target == fields.IGNORED else set(_SAID)
    found = next(((kind, word) for kind, word in asked.items() if kind in allowed - known), None)
    if found:
        return found
    if target == "" and is_switch and not is_ratio(heading) and precision_of(heading)[0] is not None:
        return "precision", heading
    if target in ("", fields.IGNORED):
        for text in texts[:_SAMPLE]:
            if re.fullmatch(r"[\d.,\s%]*", text):
                continue
            line = read_line(text)
            kinds = {kind: word for kind, word in line.asked.items() if kind not in known and kind in _SAID}
            kinds |= {kind: text for kind in ("precision", "layout", "compilation") if kind in line.said}
            if kinds:
                return next(iter(kinds.items()))
    return None


def _ask_marked(table: SheetTable, number: int, text: str, rows: SheetRows) -> None:
    """Ask about the cells and headings with the mark of a footnote that says something of them."""
    mark = text.split(maxsplit=1)[0]
    heads = [heading for heading in table.headings if heading.endswith(mark)]
    if heads:
        said = f"{shown(text)} is said of {', '.join(heads)[:80]}: does it change the times?"
        rows.ask("question", said, _ignoring(f"row {number}"))
    cells = dict.fromkeys(
        cell for row in table.rows for cell in row if isinstance(cell, str) and cell.endswith(mark)
    )
    left = [cell for cell in cells if rows.answers.values.get(("time_s", cell)) != SKIP]
    where = tuple(
        row_number
        for row_number, row in zip(table.numbers, table.rows, strict=True)
        if set(left) & set(row) and str(row_number) not in rows.answers.skipped_rows
    )
    if where:
        measured = all(map(is_measured, left))
        values = tuple(word for cell in left for word in ("--value", f"time_s:{cell}={SKIP}"))
        option = values if measured else skipping(where)[0]
        said = f"{shown(text)} is said of {', '.join(left)[:80]}: leave them out?"
        rows.issues.append(Issue("cells", said, where, (option, ("--ignore", f"row {number}"))))


def ask_lines(table: SheetTable, columns: TableColumns, rows: SheetRows, notes: list[str]) -> None:
    """Ask about titles, notes and hidden rows that say something about the runs; note the others."""
    answers = rows.answers
    have = _known_columns(columns, rows)
    have |= {"precision"} if any(name.startswith(fields.FLAG) for name in columns.keys) else set()
    have |= {"n_gpus"} if have & set(_OF_GPUS) else set()
    lines = [(number, text) for number, text in table.lines if f"row {number}" not in answers.ignored]
    unread = [shown(text) for number, text in lines if not _ask_line(table, number, text, have, rows)]
    if unread:
        notes.append(f"not read: {'; '.join(unread)}"[:400])
    hidden = [number for number in table.hidden if str(number) not in answers.skipped_rows]
    if hidden and "hidden" not in answers.ignored:
        options = (*skipping(hidden), ("--ignore", "hidden"))
        rows.issues.append(Issue("cells", "hidden rows: leave them out?", tuple(hidden), options))


def _ask_line(table: SheetTable, number: int, text: str, have: set[str], rows: SheetRows) -> bool:
    """Ask about a title or note; return whether it says anything about the runs."""
    line, name = read_line(text), f"row {number}"
    asked = {kind: word for kind, word in line.asked.items() if _COLUMN_OF.get(kind, kind) not in have}
    if MARK.match(text) and (line.said or line.asked or line.unit):
        _ask_marked(table, number, text, rows)
        return True
    size = line.said.get("input_size_px")
    if size and size != "224" and "input_size_px" not in have:
        options = (("--set", f"input_size_px={size}"), ("--ignore", name))
        rows.ask("question", f"{name}, {shown(text)}, names a size of images", options)
    names_gpu = rows.names.is_name("gpu", text.partition(":")[2].strip() or text)
    names_run = (names_gpu and "gpu" not in have) or ("precision" in line.said and "precision" not in have)
    is_inside = bool(table.numbers) and table.numbers[0] < number < table.numbers[-1]
    if names_run and is_inside:
        said = f"{name}, {shown(text)}, stands above rows below it; write it as a separate column"
        rows.ask("columns", said)
    elif asked:
        kind = sorted(asked)[0]
        said = f"{name}, {shown(text)}, is not read, and may mean {_SAID[kind]} ({asked[kind]})"
        rows.ask("question", f"{said}: does it change the times?", _ignoring(name))
    return bool(asked) or (names_run and is_inside)
