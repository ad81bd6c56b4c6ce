"""Tables of any shape as one row per run: pivots, groups of columns, titles, sections, several sheets."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from trainlaw.datasets.spreadsheets import our
from trainlaw.datasets.spreadsheets.answers import SKIP, Answers, Issue
from trainlaw.datasets.spreadsheets.blocks import MARK, Block, is_numeric
from trainlaw.datasets.spreadsheets.columns import Columns, MappedColumn, Measure, answers_time, read_columns
from trainlaw.datasets.spreadsheets.headings import read_heading
from trainlaw.datasets.spreadsheets.phrases import Names
from trainlaw.datasets.spreadsheets.quantities import Unit
from trainlaw.formulas.errors import InputError, shown

#: What rows are called in messages: their number, with the sheet where several are read.
Label = int | str
_PER_ONE = re.compile(r"(?:per|pro|/)\s*(?:step|iter|batch|schritt)", re.IGNORECASE)


@dataclass(frozen=True)
class Context:
    """What the lines around a table say of all its rows: texts by our column, with the line each is from."""

    said: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    unit: Unit | None = None
    iterations: float = 1.0
    is_inference: bool = False


@dataclass(frozen=True)
class Reading:
    """A table with what its columns are and what the lines around it say."""

    block: Block
    columns: Columns
    context: Context

    @property
    def runs(self) -> list[tuple[Measure, Measure | None]]:
        """The measure of each run of a row, with the one that it can be compared with."""
        found: dict[tuple[tuple[str, str], ...], list[Measure]] = {}
        for measure in self.columns.measures:
            found.setdefault(tuple(sorted(measure.said.items())), []).append(measure)
        return [(measures[0], measures[1] if len(measures) > 1 else None) for measures in found.values()]


@dataclass(frozen=True)
class Source:
    """Where runs are from: the number of their table, and what header and titles say of their times.

    heading : above them where a table has several columns of runs, else "". is_rate : None where it is not
    said. check_unit : of the second measure.
    """

    table: int
    heading: str
    unit: Unit | None
    is_rate: bool | None
    check_unit: Unit | None


@dataclass
class LongTable:
    """Runs as people wrote them, one row each.

    cells : by our name of the column. sources : of the runs. numbers : of the rows, in the file. columns :
    what was read, by our name; shown : all of them, with a first value. unread : cells of other columns by
    heading. has_sheets : whether numbers name the sheet, too.
    """

    cells: dict[str, list[object]] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)
    numbers: list[Label] = field(default_factory=list)
    columns: dict[str, MappedColumn] = field(default_factory=dict)
    shown: list[tuple[MappedColumn, str]] = field(default_factory=list)
    unread: dict[str, list[object]] = field(default_factory=dict)
    separator: str = ""
    has_sheets: bool = False


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
    is_title = read_heading(" ".join(path[-1:])).target in ("", "gpu", "cnn", *our.MEASURES)
    return path[-1:] if is_title and any(cells) and not any(map(is_numeric, cells)) else ()


def read_tables(
    blocks: Sequence[Block], answers: Answers, names: Names, issues: list[Issue]
) -> tuple[list[Reading], list[str]]:
    """Return the tables whose columns are read, and notes on what is left out; append to `issues`."""
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
        own = [] if answers.trust else list(_footnote_issues(block, answers, names, where))
        sections = {kind for text in set(block.sections.values()) for kind in names.phrase(text).said}
        columns = read_columns(block, answers, names, {*context.said, *sections}, own)
        if not columns.measures and len(blocks) > 1:
            notes.append(f"{where}not read: a table without times, from row {block.numbers[0]}")
            continue
        asked += [issue for issue in own if issue not in asked]
        readings.append(Reading(block, columns, context))
        notes += [f"{where}{note}" for note in (*block.notes, *columns.notes)]
        if len(columns.measures) > 1 and any(measure.said for measure in columns.measures):
            kinds = ", ".join(dict.fromkeys(kind for measure in columns.measures for kind in measure.said))
            headings = ", ".join(measure.heading for measure in columns.measures)
            notes.append(f"{where}the columns {headings} became rows, one for each {kinds}")
    if not readings and blocks:
        issues.append(Issue("columns", "the tables are of inference; expected times of training iterations"))
    issues += asked
    return readings, notes


def _footnote_issues(block: Block, answers: Answers, names: Names, where: str) -> Iterable[Issue]:
    """Yield an issue for the cells with a mark whose footnote says that they are another measurement."""
    label = where.replace(": ", "!")
    for mark, text in block.footnotes.items():
        phrase = names.phrase(text[len(mark) :])
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
        skipped = values if all(map(is_numeric, cells)) else ("--skip-rows", ",".join(map(str, rows)))
        said = f"{shown(text)} is said of {', '.join((*heads, *cells))[:80]}"
        asked = f"{said}: leave them out, or --trust them"
        yield Issue("cells", asked, rows, (skipped, ("--trust",)) if marked and not heads else ())


def _mark(cell: object) -> str:
    match = MARK.search(cell) if isinstance(cell, str) else None
    return match[1] if match else ""


def long_table(readings: Sequence[Reading], answers: Answers, names: Names) -> LongTable:
    """Return the runs of tables, one row per measured cell."""
    found = LongTable()
    found.has_sheets = len({reading.block.sheet for reading in readings}) > 1
    targets: dict[str, None] = {}
    for reading in readings:
        targets |= dict.fromkeys(_targets(reading, names, answers))
    for name, _ in answers.only:
        if not any(name in reading.block.headings for reading in readings):
            raise InputError(f"--only {name}: the file has no column {name!r}")
    for reading in readings:
        _append(found, reading, list(targets), names, answers)
        found.separator = found.separator or reading.block.separator
        _add_columns(found, reading, names, answers)
    return found


def _targets(reading: Reading, names: Names, answers: Answers) -> Iterable[str]:
    """Yield our columns that a table, its header or the lines around it state."""
    yield from reading.columns.keys
    yield from reading.columns.extra
    for measure, _ in reading.runs:
        yield from measure.said
    constants = _said_around(reading, names)
    yield from (kind for kind in constants if kind not in answers.constants and not _is_known(reading, kind))


def _is_known(reading: Reading, kind: str) -> bool:
    """Return whether a table itself states a column; one batch rules out the others."""
    batches = set(our.BATCHES)
    own = {
        *reading.columns.keys,
        *reading.columns.extra,
        *(k for measure, _ in reading.runs for k in measure.said),
    }
    flags = {"precision"} if any(key.startswith(our.FLAG) for key in own) else set()
    return kind in own | flags or (kind in batches and bool(batches & own))


def _said_around(reading: Reading, names: Names) -> dict[str, str]:
    said = dict(reading.context.said)
    for text in set(reading.block.sections.values()):
        said |= names.phrase(text).said
    return said


def _append(found: LongTable, reading: Reading, targets: list[str], names: Names, answers: Answers) -> None:
    """Append the runs of one table."""
    block, runs = reading.block, reading.runs
    keep = [True] * len(block.rows)
    for heading, value in answers.only:
        if heading in block.headings:
            cells = block.cells(block.headings.index(heading))
            keep = [kept and str(cell) == value for kept, cell in zip(keep, cells, strict=True)]
    chosen = [
        (number, main, check)
        for number, row in enumerate(block.rows)
        if keep[number]
        for main, check in runs
        if len(runs) == 1 or row[main.place] is not None
    ]
    for target in targets:
        found.cells.setdefault(target, []).extend(_cells(reading, target, chosen, names, answers))
    found.cells.setdefault(our.TIME, []).extend(block.rows[number][main.place] for number, main, _ in chosen)
    read = {*reading.columns.keys.values(), *(own.place for own in reading.columns.measures)}
    for place in set(range(len(block.headings))) - read:
        cells = found.unread.setdefault(block.headings[place], [])
        cells += [block.rows[number][place] for number, _, _ in chosen]
    of_sheet = f" of {block.sheet}" if found.has_sheets else ""
    table = max((source.table for source in found.sources), default=-1) + 1
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
    found.sources += [sources[main.place] for _, main, _ in chosen]
    found.cells.setdefault(our.CHECK, []).extend(
        block.rows[number][check.place] if check else None for number, _, check in chosen
    )
    label = f"{block.sheet}!" if found.has_sheets else ""
    found.numbers += [
        f"{label}{block.numbers[number]}" if label else block.numbers[number] for number, _, _ in chosen
    ]


def _cells(
    reading: Reading,
    target: str,
    chosen: Sequence[tuple[int, Measure, Measure | None]],
    names: Names,
    answers: Answers,
) -> Iterable[object]:
    """Return a column of the long table: of the header, else of the table, else of the lines around it."""
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
    if target in answers.constants or _is_known(reading, target):
        return [None] * len(chosen)
    around = reading.context.said.get(target)
    if not block.sections:
        return [around] * len(chosen)
    by_row = {number: names.phrase(text).said.get(target, around) for number, text in block.sections.items()}
    return [by_row.get(block.numbers[number], around) for number, _, _ in chosen]


def _kind(measure: Measure) -> bool | None:
    """Return whether a header says that numbers are throughputs, None where it does not say."""
    if measure.is_rate or read_heading(measure.heading).target == our.TIME:
        return measure.is_rate
    return None


def _unit(measure: Measure, context: Context) -> Unit | None:
    """Return the unit of a measure by its header, else by the lines above the table."""
    unit = measure.meaning.unit
    if unit is None and context.unit is not None:
        named = read_heading(measure.heading).target
        fits = not named or (named == "throughput") == context.unit.is_rate or measure.said
        unit = context.unit if fits else None
    if unit is None or unit.is_rate:
        return unit
    if measure.meaning.target == our.EPOCH_TIME:
        return replace(unit, counted="epoch")
    if (
        context.iterations > 1
        and unit.number == 1
        and unit.counted == "iteration"
        and not _PER_ONE.search(measure.heading)
    ):
        return replace(unit, number=context.iterations)
    return unit


def _add_columns(found: LongTable, reading: Reading, names: Names, answers: Answers) -> None:
    """Add what was read of a table, for the user to see, with a first value each."""
    block, columns = reading.block, reading.columns
    for target, place in columns.keys.items():
        is_guess = target not in columns.sure
        column = MappedColumn(block.headings[place], target, None, is_guess)
        _show(found, column, block.cells(place))
    for kind, place in columns.extra.items():
        texts = (names.phrase(str(cell)).said.get(kind) for cell in block.cells(place))
        _show(found, MappedColumn(block.headings[place], kind), texts)
    for kind, text in reading.context.said.items():
        if not _is_known(reading, kind) and kind not in answers.constants:
            _show(found, MappedColumn(f'"{reading.context.sources[kind][:40]}"', kind), [text])
    for text in dict.fromkeys(block.sections.values()):
        for kind, own in names.phrase(text).said.items():
            if not _is_known(reading, kind) and kind not in answers.constants:
                _show(found, MappedColumn(f'"{text[:40]}"', kind), [own])
    for main, check in reading.runs:
        unit = _unit(main, reading.context)
        said = ", ".join(main.said.values())
        column = MappedColumn(
            main.heading, our.TIME, unit, not main.meaning.is_exact and not answers_time(answers)
        )
        first = next((str(cell) for cell in block.cells(main.place) if cell is not None), "")
        found.shown.append((column, f"{first} ({said})" if said else first))
        found.columns.setdefault(our.TIME, column)
        for kind in main.said:
            found.columns.setdefault(kind, MappedColumn(kind, kind))
        if check is not None:
            column = MappedColumn(check.heading, our.CHECK, _unit(check, reading.context))
            found.columns.setdefault(our.CHECK, column)
            found.shown.append(
                (column, next((str(c) for c in block.cells(check.place) if c is not None), ""))
            )


def _show(found: LongTable, column: MappedColumn, cells: Iterable[object]) -> None:
    first = next((str(cell) for cell in cells if cell is not None), "")
    if column.target not in found.columns or (column, first) not in found.shown:
        found.shown.append((column, first))
    found.columns.setdefault(column.target, column)
