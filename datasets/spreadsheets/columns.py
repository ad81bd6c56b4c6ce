"""The columns of a table by the user's answers, else by their headings; questions for the others."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd
from trainlaw.datasets.files.numbers import is_number
from trainlaw.datasets.spreadsheets.answers import (
    CHOICE,
    Dialogue,
    Issue,
    Options,
    choices,
    ignoring,
    skipping,
)
from trainlaw.datasets.spreadsheets.headings import (
    EPOCH_TIME,
    FLAG,
    IGNORED,
    MEASURES,
    OTHER_TIME,
    RATE,
    SCHEMA,
    TIME,
    Meaning,
    bound_of,
    read_heading,
    without_unit,
)
from trainlaw.datasets.spreadsheets.layout import SheetTable, is_measured
from trainlaw.datasets.spreadsheets.pivots import PIVOTS, ValueColumn, likely_pivot, number_in, value_columns
from trainlaw.datasets.spreadsheets.quantities import TimeUnit, quantity
from trainlaw.datasets.spreadsheets.values import NO, YES, plain_text, precision_of, size_px
from trainlaw.datasets.spreadsheets.words import asked_words, groups
from trainlaw.formulas.errors import UnknownNameError, check_name, shown

#: Columns of yes and no that --column takes.
FLAGS = tuple(name.removeprefix(FLAG) for name in groups("heading") if name.startswith(FLAG))
#: Names that --column and --set take.
COLUMN_NAMES = tuple(dict.fromkeys((*SCHEMA, *(own for own in groups("heading") if own != IGNORED))))
#: Holds the unit that the heading states for the time of a row, None without one.
STATED_UNIT = "unit of the heading"
# Whole numbers up to this may be of GPUs, nodes, steps or batches; larger ones are memory or parameters.
_MOST_COUNT = 1024
_OF_HEADINGS = "headings of columns"
_MARK = re.compile(r"[*\u2020\u2021\u00a7\u00b9\u00b2\u00b3]\s")
_SAMPLE = 60  # different texts of a column that are looked at
#: What a word that is asked about may mean.
_SAID = {
    "n_gpus": "several GPUs",
    "accumulation": "accumulated gradients, or several iterations",
    "power": "a limit of power",
    "clock": "another clock",
    "part": "a part of a GPU",
    "width": "another width of the network",
    "parallel": "a way to parallelise",
    "trained": "a part of the network that is trained",
    "mode": "no training",
    "precision": "a precision",
    "input_size_px": "another size of images",
}
#: Words that a heading of something else, such as "test accuracy" or "GPU memory", does not mean.
_OF_IGNORED = frozenset(("power", "clock", "part", "parallel", "trained", "width"))


@dataclass(frozen=True)
class MappedColumn:
    """A column of the file that is read: its heading, our name of it and its unit."""

    heading: str
    target: str
    unit: TimeUnit | None = None


@dataclass
class SheetRows:
    """Runs as people wrote them: a row each, indexed by the label of its row, with our names of the columns.

    columns : that are read, by our name. is_rate : whether the heading says times or throughputs, None where
    it says neither. titled : units that titles name.
    """

    cells: pd.DataFrame
    columns: dict[str, MappedColumn]
    is_rate: bool | None = None
    titled: tuple[TimeUnit, ...] = ()

    def heading(self, name: str) -> str:
        """Return the heading of one of our columns, our name of it where the user gave it for all rows."""
        return self.columns[name].heading if name in self.columns else name


def check_named(tables: Sequence[SheetTable], dialogue: Dialogue) -> None:
    """Raise UnknownNameError for what the user named and no table has."""
    answers, headings = dialogue.answers, [own for table in tables for own in table.headings]
    for kind in (*answers.columns_are, *filter(None, (answers.sheets_are,))):
        check_name("column", kind, PIVOTS)
    for ours, heading in answers.columns.items():
        check_name("column", ours, (*COLUMN_NAMES, *FLAGS, IGNORED))
        check_name("column", heading, headings)
    for name in answers.ignored:
        lines = [f"row {number}" for table in tables for number, _ in table.lines]
        check_name("column", name, [*headings, *lines, "hidden"])
    for name, _ in answers.only:
        check_name("column", name, headings)


def table_rows(table: SheetTable, dialogue: Dialogue) -> SheetRows:
    """Return the runs of a table, one row per measured cell; ask about what is not understood."""
    answers = dialogue.answers
    values = value_columns(table, answers.columns_are, dialogue)
    if answers.columns_are and not values:
        text = f"--columns-are {','.join(answers.columns_are)}: no heading names a {answers.columns_are[0]}"
        dialogue.ask("columns", f"{text}; the headings are {', '.join(table.headings)[:120]}")
    found = _meanings(table, {own.heading for own in values}, dialogue)
    is_said = any(answers.columns.get(own) for own in ("time_s", TIME, RATE))
    if not values and not is_said:
        pivot = likely_pivot(table, dialogue)
        likely = value_columns(table, pivot, dialogue)
        plain = {own for own, meaning in found.items() if meaning.target in MEASURES}
        if likely and (len(likely) > 1 or not plain - {own.heading for own in likely}):
            text = f"the headings {', '.join(own.heading for own in likely)[:120]} name what the times are of"
            dialogue.ask("columns", text, (("--columns-are", ",".join(pivot)),))
            values = likely
            found = {own: found[own] for own in found if own not in {one.heading for one in likely}}
    keys = _chosen(table, found, bool(values), dialogue)
    table = _filled(table, keys, [own.heading for own in values] or [keys.get(TIME, "")], dialogue)
    rows = _melted(table, keys, values) if values else _tidy(table, keys, found)
    left = {own: meaning for own, meaning in found.items() if own not in keys.values()}
    _ask_left(table, left, rows, dialogue)
    _ask_lines(table, rows, dialogue)
    titles = (part for _, line in table.lines for part in re.split(r"[,;:#]", line))
    return replace(rows, titled=tuple(unit for part in titles if (unit := without_unit(part)[1])))


def _meanings(table: SheetTable, taken: set[str], dialogue: Dialogue) -> dict[str, Meaning]:
    """Return what each heading means that the user does not leave out, by his answers or its words."""
    answers, found = dialogue.answers, dict[str, Meaning]()
    named = {heading: ours for ours, heading in answers.columns.items()}
    for heading in table.headings:
        ours, meaning = named.get(heading, ""), read_heading(heading)
        if heading in taken or heading in answers.ignored or ours == IGNORED:
            continue
        if ours in ("time_s", TIME, RATE):
            is_epoch = meaning.target == EPOCH_TIME and "epoch" in heading.lower()
            meaning = Meaning(EPOCH_TIME if is_epoch else RATE if ours == RATE else TIME, meaning.unit)
        elif ours:
            meaning = Meaning(f"{FLAG}{ours}" if ours in FLAGS else ours)
        else:
            meaning = _above_cells(meaning, table.cells[heading], dialogue)
        found[heading] = meaning
    return found


def _above_cells(meaning: Meaning, cells: pd.Series, dialogue: Dialogue) -> Meaning:
    """Return what a heading means above these cells."""

    def names(kind: str) -> bool:
        return any(dialogue.names.is_name(kind, str(cell)) for cell in cells.dropna().unique()[:_SAMPLE])

    for kind, other in (("network", "cnn"), ("n_gpus", "gpu")):
        # "Network" is a network of machines or a CNN, "#GPU" their number or name.
        if meaning.target == kind and names(other):
            return Meaning(other)
    strange = meaning.is_weak and meaning.target in ("gpu", "cnn") and not names(meaning.target)
    return Meaning("") if strange else meaning


def _chosen(
    table: SheetTable, found: Mapping[str, Meaning], has_times: bool, dialogue: Dialogue
) -> dict[str, str]:
    """Return the heading of each of our columns; ask where several are as likely, or none is the time."""
    answers, candidates = dialogue.answers, dict[str, list[str]]()
    for heading, meaning in found.items():
        target = TIME if meaning.target in MEASURES else meaning.target
        is_free = heading in answers.columns.values() or target not in answers.constants
        if target not in ("", IGNORED, OTHER_TIME) and is_free and not (has_times and target == TIME):
            candidates.setdefault(target, []).append(heading)

    def rank(heading: str) -> tuple[bool, ...]:
        own = found[heading]
        is_bare = own.target in MEASURES and own.unit is None
        is_empty = bool(table.cells[heading].isna().all())
        return (
            heading not in answers.columns.values(),
            is_empty,
            own.target == EPOCH_TIME,
            own.is_weak,
            is_bare,
        )

    keys = dict[str, str]()
    for target, headings in candidates.items():
        best = min(map(rank, headings))
        equal = [own for own in headings if rank(own) == best]
        keys[target] = equal[0]
        if any(not table.cells[own].equals(table.cells[equal[0]]) for own in equal[1:]):
            ours = "time_s" if target == TIME else target.removeprefix(FLAG)
            text = f"the columns {', '.join(equal)} may all be {ours}: which one is it?"
            dialogue.ask("columns", text, choices("--column", equal, f"{ours}="))
    if TIME in keys and keys[TIME] not in answers.columns.values():
        _ask_bounds(table, keys[TIME], found, dialogue)
    if TIME not in keys and not has_times:
        numeric = [own for own in found if not found[own].target and any(map(_is_number, table.cells[own]))]
        text = (
            "no column is a time or throughput of training iterations; name it by --column time_s=HEADING, "
        )
        text += "or say what the headings of columns of times are by --columns-are"
        dialogue.ask("columns", text, choices("--column", numeric, "time_s="))
    return keys


def _ask_bounds(table: SheetTable, time: str, found: Mapping[str, Meaning], dialogue: Dialogue) -> None:
    """Ask which column is the time where it is below that of the least in each row, or above the greatest."""
    bounds = {own: bound_of(own) for own in found if found[own].target == IGNORED and found[own].unit}
    cells = table.cells[[time, *(own for own, bound in bounds.items() if bound)]]
    numbers = cells.map(lambda cell: quantity(cell, dialogue.answers.decimal or ".")[0])
    apart = {own: bound * (numbers[own] - numbers[time]).dropna() for own, bound in bounds.items() if bound}
    beyond = [own for own, lead in apart.items() if len(lead) and (lead < 0).all()]
    if beyond:
        text = f"{time} is beyond {', '.join(beyond)} in each row: which column is the time?"
        between = [str(own) for own in numbers.median().sort_values().index]
        offered = between[1:-1] or beyond
        dialogue.ask("columns", text, choices("--column", offered, "time_s="))


def _filled(
    table: SheetTable, keys: Mapping[str, str], times: Sequence[str], dialogue: Dialogue
) -> SheetTable:
    """Return a table with the GPU and CNN of the row above in empty cells; ask unless the user says so."""
    cells = table.cells
    measured = cells[[own for own in times if own]].map(is_measured).any(axis=1)
    for name in (own for own in ("gpu", "cnn") if own in keys and own not in dialogue.answers.constants):
        filled = cells[keys[name]].ffill()
        if not dialogue.answers.fill_down:
            text = f"{keys[name]}: empty cells below filled ones: does the cell above hold?"
            empty = cells[keys[name]].isna() & filled.notna() & measured
            dialogue.fault(text, empty, (("--fill-down",),), "question")
        cells = cells.assign(**{keys[name]: filled})
    return replace(table, cells=cells)


def _is_number(cell: object) -> bool:
    return is_number(cell) if isinstance(cell, str) else isinstance(cell, int | float)


def _tidy(table: SheetTable, keys: Mapping[str, str], found: Mapping[str, Meaning]) -> SheetRows:
    """Return a row of the table for each run."""
    cells = table.cells[list(keys.values())].set_axis(list(keys), axis=1)
    meaning = found[keys[TIME]] if TIME in keys else Meaning("")
    unit = pd.Series([meaning.unit] * len(cells), cells.index, dtype=object)
    columns = {
        name: MappedColumn(own, name, meaning.unit if name == TIME else None) for name, own in keys.items()
    }
    is_rate = {RATE: True, TIME: False}.get(meaning.target)
    return SheetRows(cells.assign(**{STATED_UNIT: unit}), columns, is_rate)


def _melted(table: SheetTable, keys: Mapping[str, str], values: Sequence[ValueColumn]) -> SheetRows:
    """Return a row for each filled cell of the columns of times, with what their headings say."""
    own = table.cells[list(keys.values())].set_axis(list(keys), axis=1)
    parts = []
    for column in values:
        said = {kind: number_in(kind, text) for kind, text in column.said.items()}
        unit = pd.Series([column.unit] * len(own), own.index, dtype=object)
        parts.append(own.assign(**said, **{TIME: table.cells[column.heading], STATED_UNIT: unit}))
    cells = pd.concat(parts)
    cells = cells[cells[TIME].notna()].drop(columns="step", errors="ignore").sort_index(kind="stable")
    columns = {name: MappedColumn(heading, name) for name, heading in keys.items()}
    columns |= {kind: MappedColumn(_OF_HEADINGS, kind) for kind in values[0].said if kind in cells}
    heading = values[0].heading if len(values) == 1 else f"{len(values)} columns"
    columns[TIME] = MappedColumn(heading, TIME, values[0].unit)
    return SheetRows(cells, columns, {RATE: True, TIME: False}.get(values[0].target))


def _ask_left(table: SheetTable, left: Mapping[str, Meaning], rows: SheetRows, dialogue: Dialogue) -> None:
    """Ask about the columns that are not read; note those whose heading says nothing of the runs."""
    have, plain = _known(rows, dialogue), list[str]()
    asked = {
        word.partition("=")[2] for issue in dialogue.issues for option in issue.options for word in option
    }
    for heading, meaning in left.items():
        cells = table.cells[heading].dropna()
        texts = list(dict.fromkeys(map(str, cells.unique()[:_SAMPLE])))
        kinds = _asked_of(heading, texts, meaning.target, have)
        is_one = set(texts) <= {"1", "1.0"} and bool({"n_gpus", "accumulation"} & set(kinds))
        if is_one or not texts or (meaning.target and not kinds):
            given = dialogue.answers.constants.get(meaning.target)
            plain.append(f"{heading} ({given} was given for every row)" if given else heading)
            continue
        if heading in asked:
            continue
        kind, word = next(iter(kinds.items()), ("", ""))
        said = (
            f"is not read, and says {shown(word)}, which may mean {_SAID[kind]}" if kind else "is not known"
        )
        advice = "name it by --column OURS=YOURS, keep some of its rows by --only, or leave it out"
        named = _names_of(heading, kind, texts, rows, dialogue)
        # What may be a setting needs an answer by hand; results and names of single runs do not.
        is_count = all(text.isdecimal() and int(text) <= _MOST_COUNT for text in map(plain_text, texts))
        is_kind = 1 < len(texts) < len(cells) and not any(map(is_measured, texts))
        only = choices("--only", texts[:6], f"{heading}=") if is_kind and not kind else ()
        by_hand = kind or is_count or is_kind
        options = (*named, *(ignoring(heading) if by_hand else ignoring(heading)[:1]), *only)
        dialogue.ask("columns", f"{heading} {said}: {advice}", options)
    if plain:
        dialogue.notes.append(f"not read: {', '.join(plain)}")


def _names_of(heading: str, kind: str, texts: Sequence[str], rows: SheetRows, dialogue: Dialogue) -> Options:
    """Return options that name a column that is not known: one of ours, a switch, or a GPU or CNN."""
    if kind in COLUMN_NAMES:
        return (("--column", f"{kind}={heading}"),)
    for own in ("gpu", "cnn"):
        if own not in rows.cells and all(dialogue.names.is_name(own, text) for text in texts):
            return (("--column", f"{own}={heading}"),)
    if set(map(plain_text, texts)) <= YES | NO:
        return choices("--column", [f"{name}={heading}" for name in FLAGS[:4]])
    if rows.heading("gpu") == _OF_HEADINGS and all(map(is_measured, texts)):
        try:
            dialogue.names.find("gpu", heading)
        except UnknownNameError as error:
            near = [name for name in error.candidates[:4] if name[:3].lower() == heading[:3].lower()]
            return choices("--value", [*near, CHOICE] if near else [], f"gpu:{heading}=")
    return ()


def _known(rows: SheetRows, dialogue: Dialogue) -> set[str]:
    """Return our columns that a column or an answer is; a switch of a precision is one."""
    have = {*rows.cells, *dialogue.answers.constants}
    have |= {"n_gpus"} if "gpus_per_node" in have else set()
    return have | ({"precision"} if any(name.startswith(FLAG) for name in have) else set())


def _asked_of(heading: str, texts: Sequence[str], target: str, have: set[str]) -> dict[str, str]:
    """Return the words of a heading and its cells that may change the times, by kind."""
    allowed = _OF_IGNORED if target == IGNORED else set(_SAID)
    found = {kind: word for kind, word in asked_words(heading).items() if kind in allowed}
    if target == "" and precision_of(heading)[0] and set(map(plain_text, texts)) <= YES | NO:
        found["precision"] = heading
    if all(map(is_measured, texts)) and not set(map(plain_text, texts)) <= YES | NO:
        found.pop("mode", None)  # a number of another measurement
    for text in texts if target in ("", IGNORED) else ():
        if not is_number(text):
            found |= {**asked_words(text), **({"precision": text} if precision_of(text)[0] else {})}
    return {kind: word for kind, word in found.items() if kind not in have}


def _ask_lines(table: SheetTable, rows: SheetRows, dialogue: Dialogue) -> None:
    """Ask about titles, notes and hidden rows that say something about the runs; note the others."""
    answers, have, unread = dialogue.answers, _known(rows, dialogue), list[str]()
    for number, line in table.lines:
        name, said = f"row {number}", f"row {number}, {shown(line)},"
        # A footnote is of single cells, whatever the columns say.
        is_footnote = _MARK.match(line) is not None
        kinds = {kind: word for kind, word in asked_words(line).items() if is_footnote or kind not in have}
        kinds |= {"precision": line} if is_footnote and precision_of(line)[0] else {}
        sizes = [size_px(word) for word in line.split() if "x" in word and size_px(word) >= 32]
        if name in answers.ignored:
            continue
        if table.numbers[0] < number < table.numbers[-1]:
            pairs = zip(table.cells.index, table.numbers, strict=True)
            below = tuple(label for label, own in pairs if own > number)
            text = f"{said} stands above rows below it: read them by another command"
            dialogue.issues.append(Issue("columns", text, below, (*skipping(below), ("--ignore", name))))
        elif sizes and sizes[0] != 224.0 and "input_size_px" not in have:
            options = (("--set", f"input_size_px={sizes[0]:.0f}"), ("--ignore", name))
            dialogue.ask("question", f"{said} names a size of images", options)
        elif kinds:
            kind, word = next(iter(kinds.items()))
            text = f"{said} is not read, and may mean {_SAID[kind]} ({word}): does it change the times?"
            dialogue.ask("question", text, ignoring(name))
        else:
            unread.append(shown(line))
    if unread:
        dialogue.notes.append(f"not read: {'; '.join(unread)}"[:400])
    hidden = [number for number in table.hidden if str(number) not in answers.skipped_rows]
    if hidden and "hidden" not in answers.ignored:
        text, answers_of = (
            "hidden or struck-out rows: leave them out?",
            (*skipping(hidden), ("--ignore", "hidden")),
        )
        dialogue.issues.append(Issue("cells", text, tuple(hidden), answers_of))
