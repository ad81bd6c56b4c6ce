"""Tables of any shape as one row per run: pivots, groups of columns, titles, sections, several sheets."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from trainlaw.datasets.spreadsheets import fields
from trainlaw.datasets.spreadsheets.answers import SKIP, Issue, skipping
from trainlaw.datasets.spreadsheets.blocks import MARK, Block, is_numeric
from trainlaw.datasets.spreadsheets.columns import Measure, SheetColumns, answers_time
from trainlaw.datasets.spreadsheets.headings import read_heading
from trainlaw.datasets.spreadsheets.phrases import Names
from trainlaw.datasets.spreadsheets.quantities import TimeUnit
from trainlaw.datasets.spreadsheets.rows import Dialogue, MappedColumn, SheetRows, Source
from trainlaw.formulas.errors import InputError, shown

_PER_ONE = re.compile(r"(?:per|pro|/)\s*(?:step|iter|batch|schritt)", re.IGNORECASE)


@dataclass(frozen=True)
class Context:
    """What the lines around a table say of all its rows: texts by our column, with the line each is from."""

    said: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    unit: TimeUnit | None = None
    iterations: float = 1.0
    is_inference: bool = False


@dataclass(frozen=True)
class Reading:
    """A table with what its columns are and what the lines around it say."""

    block: Block
    columns: SheetColumns
    context: Context


def context_of(block: Block, names: Names, with_sheet: bool) -> Context:
    """Return what the lines above a table say, and the name of its sheet where several have tables."""
    said: dict[str, list[str]] = {}
    sources: dict[str, str] = {}
    unit, iterations, phases = None, 1.0, set()
    for text in (*block.texts, *_corner(block), *block.outer, *((block.sheet,) if with_sheet else ())):
        phrase = names.phrase(text)
        if text in block.footnotes.values():
            continue
        unit = unit or phrase.unit
        if phrase.is_negated:
            continue
        # "test" above names says which table it is in, not what was measured.
        phases |= {phrase.phase} if text not in _corner(block) else set()
        is_outer = text not in (*block.texts, *_corner(block))
        for kind, value in phrase.said.items():
            if not is_outer or kind not in said:
                said.setdefault(kind, []).append(value)
                sources[kind] = text
        for kind in phrase.several:
            said.setdefault(kind, []).extend(("", "several"))
        iterations = max(iterations, phrase.iterations)
    sure = {kind: values[0] for kind, values in said.items() if len(set(values)) == 1}
    return Context(sure, sources, unit, iterations, "inference" in phases and "training" not in phases)


def _corner(block: Block) -> tuple[str, ...]:
    """Return the header of the first column where its cells are names: it may say something of the table."""
    path, cells = block.paths[0], block.cells(0)
    is_title = read_heading(" ".join(path[-1:])).target in ("", "gpu", "cnn", *fields.MEASURES)
    return path[-1:] if is_title and any(cells) and not any(map(is_numeric, cells)) else ()


def read_tables(blocks: Sequence[Block], dialogue: Dialogue) -> tuple[list[Reading], list[str]]:
    """Return the tables whose columns are read, and notes on what is left out; ask about what is open."""
    answers, names = dialogue.answers, dialogue.names
    notes: list[str] = []
    readings: list[Reading] = []
    asked: list[Issue] = []
    with_sheet = len({block.sheet for block in blocks}) > 1
    for block in blocks:
        context = context_of(block, names, with_sheet)
        where = f"{block.sheet}: " if with_sheet and block.sheet else ""
        if context.is_inference and not answers_time(answers):
            notes.append(
                f"{where}not read: a table of inference, rows {block.numbers[0]} to {block.numbers[-1]}"
            )
            continue
        own = replace(dialogue, issues=[])
        if not answers.trust:
            own.issues += _footnote_issues(block, dialogue, where)
        sections = {kind for text in set(block.sections.values()) for kind in names.phrase(text).said}
        columns = SheetColumns(block, own, {*context.said, *sections})
        if not columns.measures and len(blocks) > 1:
            notes.append(f"{where}not read: a table without times, from row {block.numbers[0]}")
            continue
        asked += [issue for issue in own.issues if issue not in asked]
        readings.append(Reading(block, columns, context))
        notes += [f"{where}{note}" for note in (*block.notes, *columns.notes)]
        if len(columns.measures) > 1 and any(measure.said for measure in columns.measures):
            kinds = ", ".join(dict.fromkeys(kind for measure in columns.measures for kind in measure.said))
            headings = ", ".join(measure.heading for measure in columns.measures)
            notes.append(f"{where}the columns {headings} became rows, one for each {kinds}")
    if not readings and blocks:
        dialogue.ask("columns", "the tables are of inference; expected times of training iterations")
    dialogue.issues += asked
    return readings, notes


def _footnote_issues(block: Block, dialogue: Dialogue, where: str) -> Iterable[Issue]:
    """Yield an issue for the cells with a mark whose footnote says that they are another measurement."""
    label, answers = where.replace(": ", "!"), dialogue.answers
    for mark, text in block.footnotes.items():
        phrase = dialogue.names.phrase(text[len(mark) :])
        if not (phrase.said or phrase.is_negated or phrase.phase == "inference" or phrase.unit):
            continue
        marked = [
            (number, cell)
            for number, row in zip(block.numbers, block.rows, strict=True)
            for cell in row
            if _mark(cell) == mark
            and f"{label}{number}" not in answers.skipped_rows
            and answers.values.get(("time_s", str(cell))) != SKIP
        ]
        heads = [heading for heading in block.headings if _mark(heading) == mark]
        if not (marked or heads):
            continue
        cells = list(dict.fromkeys(str(cell) for _, cell in marked))
        rows = tuple(dict.fromkeys(f"{label}{number}" if label else number for number, _ in marked))
        values = tuple(word for cell in cells for word in ("--value", f"time_s:{cell}={SKIP}"))
        skipped = (values,) if all(map(is_numeric, cells)) else skipping(rows)
        said = f"{shown(text)} is said of {', '.join((*heads, *cells))[:80]}"
        asked = f"{said}: leave them out, or --trust them"
        yield Issue("cells", asked, rows, (*skipped, ("--trust",)) if marked and not heads else ())


def _mark(cell: object) -> str:
    match = MARK.search(cell) if isinstance(cell, str) else None
    return match[1] if match else ""


def long_table(readings: Sequence[Reading], dialogue: Dialogue) -> SheetRows:
    """Return the runs of tables, one row per measured cell."""
    rows = SheetRows(dialogue.answers, dialogue.names, dialogue.issues)
    for name, _ in rows.answers.only:
        if not any(name in reading.block.headings for reading in readings):
            raise InputError(f"--only {name}: the file has no column {name!r}")
    around = [_around(reading, dialogue) for reading in readings]
    pairs = list(zip(readings, around, strict=True))
    targets = dict.fromkeys(kind for reading, said in pairs for kind in (*reading.columns.own, *said))
    with_sheet = len({reading.block.sheet for reading in readings}) > 1
    for table, (reading, said) in enumerate(pairs):
        chosen = _chosen(reading, rows.answers.only)
        for target in targets:
            cells = _cells(reading, target, chosen, said, rows.names)
            rows.cells.setdefault(target, []).extend(cells)
        _append(rows, reading, chosen, table, with_sheet)
        _add_columns(rows, reading, said)
    return rows


def _around(reading: Reading, dialogue: Dialogue) -> dict[str, str]:
    """Return what the lines around a table say that neither the table nor the user does, by our column."""
    said = dict(reading.context.said)
    for text in set(reading.block.sections.values()):
        said |= dialogue.names.phrase(text).said
    known = {*reading.columns.own, *dialogue.answers.constants}
    # A switch states a precision, and one batch rules out the others.
    known |= {"precision"} if any(key.startswith(fields.FLAG) for key in reading.columns.own) else set()
    known |= set(fields.BATCHES) if not set(fields.BATCHES).isdisjoint(reading.columns.own) else set()
    return {kind: text for kind, text in said.items() if kind not in known}


#: A row of a table with a measure of it, and the one that it can be compared with.
_Run = tuple[int, Measure, Measure | None]


def _chosen(reading: Reading, only: Iterable[tuple[str, str]]) -> list[_Run]:
    """Return the runs of a table that the user wants."""
    block, runs = reading.block, reading.columns.runs
    places = [(block.headings.index(heading), value) for heading, value in only if heading in block.headings]
    return [
        (number, main, check)
        for number, row in enumerate(block.rows)
        if all(str(row[place]) == value for place, value in places)
        for main, check in runs
        if len(runs) == 1 or row[main.place] is not None
    ]


def _append(rows: SheetRows, reading: Reading, chosen: Sequence[_Run], table: int, with_sheet: bool) -> None:
    """Append the measured cells of a table, where they are from, and the cells of other columns."""
    block, runs = reading.block, reading.columns.runs
    rows.cells.setdefault(fields.TIME, []).extend(
        block.rows[number][main.place] for number, main, _ in chosen
    )
    rows.cells.setdefault(fields.CHECK, []).extend(
        block.rows[number][check.place] if check else None for number, _, check in chosen
    )
    read = {*reading.columns.keys.values(), *(own.place for own in reading.columns.measures)}
    for place in set(range(len(block.headings))) - read:
        cells = rows.unread.setdefault(block.headings[place], [])
        cells += [block.rows[number][place] for number, _, _ in chosen]
    of_sheet = f" of {block.sheet}" if with_sheet else ""
    sources = {
        main.place: Source(
            table,
            f"{main.heading}{of_sheet}" if len(runs) > 1 else "",
            _unit(main, reading.context),
            _kind(main),
            _unit(check, reading.context) if check else None,
        )
        for main, check in runs
    }
    rows.sources += [sources[main.place] for _, main, _ in chosen]
    numbers = [block.numbers[number] for number, _, _ in chosen]
    rows.numbers += [f"{block.sheet}!{number}" for number in numbers] if with_sheet else numbers


def _cells(
    reading: Reading, target: str, chosen: Sequence[_Run], around: Mapping[str, str], names: Names
) -> list[object]:
    """Return a column of the runs: of the header, else of the table, else of the lines around it."""
    block, columns = reading.block, reading.columns
    if any(target in main.said for _, main, _ in chosen):
        return [main.said.get(target) for _, main, _ in chosen]
    if target in columns.keys:
        place = columns.keys[target]
        return [block.rows[number][place] for number, _, _ in chosen]
    if target in columns.extra:
        place = columns.extra[target]
        # A GPU without a number is one, and "NHWC" says that nothing is compiled.
        alone = {"n_gpus": "1", "layout": "nchw", "compilation": "eager"}.get(target)
        return [
            names.phrase(str(block.rows[number][place])).said.get(target, alone) for number, _, _ in chosen
        ]
    if target not in around:
        return [None] * len(chosen)
    above = reading.context.said.get(target)
    by_row = {number: names.phrase(text).said.get(target, above) for number, text in block.sections.items()}
    return [by_row.get(block.numbers[number], above) for number, _, _ in chosen]


def _kind(measure: Measure) -> bool | None:
    """Return whether a header says that numbers are throughputs, None where it does not say."""
    if measure.is_rate or read_heading(measure.heading).target == fields.TIME:
        return measure.is_rate
    return None


def _unit(measure: Measure, context: Context) -> TimeUnit | None:
    """Return the unit of a measure by its header, else by the lines above the table."""
    unit = measure.meaning.unit
    if unit is None and context.unit is not None:
        named = read_heading(measure.heading).target
        fits = not named or (named == "throughput") == context.unit.is_rate or measure.said
        unit = context.unit if fits else None
    if unit is None or unit.is_rate:
        return unit
    if measure.meaning.target == fields.EPOCH_TIME:
        return replace(unit, counted="epoch")
    if (
        context.iterations > 1
        and unit.number == 1
        and unit.counted == "iteration"
        and not _PER_ONE.search(measure.heading)
    ):
        return replace(unit, number=context.iterations)
    return unit


def _add_columns(rows: SheetRows, reading: Reading, around: Mapping[str, str]) -> None:
    """Add what was read of a table, for the user to see, with a first value each."""
    block, columns, names = reading.block, reading.columns, rows.names
    for target, place in columns.keys.items():
        column = MappedColumn(block.headings[place], target, None, target not in columns.sure)
        _show(rows, column, block.cells(place))
    for kind, place in columns.extra.items():
        texts = (names.phrase(str(cell)).said.get(kind) for cell in block.cells(place))
        _show(rows, MappedColumn(block.headings[place], kind), texts)
    lines = [(reading.context.sources[kind], kind, text) for kind, text in reading.context.said.items()]
    for line in dict.fromkeys(block.sections.values()):
        lines += [(line, kind, text) for kind, text in names.phrase(line).said.items()]
    for line, kind, text in lines:
        if kind in around:
            _show(rows, MappedColumn(f'"{line[:40]}"', kind), [text])
    for main, check in reading.columns.runs:
        said = ", ".join(main.said.values())
        column = MappedColumn(
            main.heading,
            fields.TIME,
            _unit(main, reading.context),
            not main.meaning.is_exact and not answers_time(rows.answers),
        )
        first = _first(block.cells(main.place))
        rows.shown.append((column, f"{first} ({said})" if said else first))
        rows.columns.setdefault(fields.TIME, column)
        for kind in main.said:
            rows.columns.setdefault(kind, MappedColumn(kind, kind))
        if check is not None:
            column = MappedColumn(check.heading, fields.CHECK, _unit(check, reading.context))
            rows.columns.setdefault(fields.CHECK, column)
            rows.shown.append((column, _first(block.cells(check.place))))


def _show(rows: SheetRows, column: MappedColumn, cells: Iterable[object]) -> None:
    first = _first(cells)
    if column.target not in rows.columns or (column, first) not in rows.shown:
        rows.shown.append((column, first))
    rows.columns.setdefault(column.target, column)


def _first(cells: Iterable[object]) -> str:
    """Return the first cell that is not empty as a text."""
    return next((str(cell) for cell in cells if cell is not None), "")
