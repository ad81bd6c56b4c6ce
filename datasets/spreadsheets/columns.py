"""The columns of a table by the user's answers, else by the words of their headings."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from trainlaw.datasets.spreadsheets import fields
from trainlaw.datasets.spreadsheets.answers import Issue, SheetAnswers, choices, skipping
from trainlaw.datasets.spreadsheets.headings import Meaning, of_statistics, read_heading
from trainlaw.datasets.spreadsheets.layout import (
    SheetTable,
    ValueColumn,
    is_numeric,
    is_ratio,
    is_total,
    likely_pivot,
    value_columns,
)
from trainlaw.datasets.spreadsheets.lines import read_line
from trainlaw.datasets.spreadsheets.quantities import TimeUnit
from trainlaw.datasets.spreadsheets.rows import Dialogue, Label, MappedColumn, SheetRows, Source
from trainlaw.datasets.spreadsheets.words import groups
from trainlaw.formulas.errors import InputError, check_name, unknown_name

#: Columns of yes and no that --column takes.
FLAGS = tuple(name.removeprefix(fields.FLAG) for name in groups("heading") if name.startswith(fields.FLAG))
#: Names that --column and --set take.
COLUMN_NAMES = (
    *fields.SCHEMA,
    fields.TIME,
    fields.RATE,
    fields.BATCH,
    fields.GLOBAL_BATCH,
    fields.GPUS_PER_NODE,
    fields.MODE,
    fields.DATASET,
    fields.ACCUMULATION,
    fields.IMAGES_PER_EPOCH,
    fields.ITERATIONS,
    fields.EPOCHS,
    fields.STEP,
)
_MEDIAN = re.compile(r"median|p50", re.IGNORECASE)
_PHASES = re.compile(r"\b(?:forward|backward|fwd|bwd)\b", re.IGNORECASE)
_SAMPLE = 60  # different texts of a column that are looked up


@dataclass(frozen=True)
class Measure:
    """A column of times or throughputs: its place in the table and what its header means."""

    place: int
    heading: str
    meaning: Meaning

    @property
    def is_rate(self) -> bool:
        """Whether the numbers are throughputs."""
        return self.meaning.target == fields.RATE


@dataclass
class TableColumns:
    """What the columns of a table are: places of ours, measures, and those that are left with the reason."""

    keys: dict[str, int] = field(default_factory=dict)
    exact: set[str] = field(default_factory=set)
    measures: list[Measure] = field(default_factory=list)
    values: list[ValueColumn] = field(default_factory=list)
    left: dict[int, str] = field(default_factory=dict)


def answers_time(answers: SheetAnswers) -> bool:
    """Return whether the user named the column of the times."""
    return bool({"time_s", fields.TIME, fields.RATE} & set(answers.columns))


def check_named(tables: Iterable[SheetTable], answers: SheetAnswers) -> None:
    """Raise InputError for a column that the user named and no table has."""
    tables = list(tables)
    headings = [heading for table in tables for heading in table.headings]
    for ours, heading in answers.columns.items():
        check_name("column", ours, (*COLUMN_NAMES, *FLAGS, fields.IGNORED))
        if heading not in headings:
            raise InputError(f"--column {ours}={heading}: {unknown_name('column', heading, headings)}")
    known = {*headings, *(f"row {number}" for table in tables for number, _ in table.lines), "hidden"}
    for name in answers.ignored:
        if name not in known:
            raise InputError(f"--ignore {name}: {unknown_name('column', name, sorted(known))}")


def left_half(table: SheetTable, dialogue: Dialogue) -> SheetTable:
    """Return a table; its left half, with an issue, where two may be side by side."""
    headings, places = table.headings, table.places
    twice = [
        place
        for place, heading in enumerate(headings)
        if heading in headings[:place] and read_heading(heading).target != fields.IGNORED
    ]
    apart = [place for place in range(1, len(headings)) if places[place] > places[place - 1] + 1]
    if not twice and not apart:
        return table
    # A gap before the repeated heading parts the tables.
    start = next((place for place in apart if not twice or place <= twice[0]), 0)
    start = start or twice[0] - headings.index(headings[twice[0]])
    halves = [_columns_of(table, slice(0, start)), _columns_of(table, slice(start, None))]
    said = f"the headings {', '.join(dict.fromkeys(headings[place] for place in twice))[:80]} stand twice"
    text = f"{said if twice else 'an empty column parts the table'}: are two tables side by side?"
    dialogue.ask("columns", text, choices("--range", [half.area for half in halves]))
    return halves[0]


def _columns_of(table: SheetTable, chosen: slice) -> SheetTable:
    rows = tuple(row[chosen] for row in table.rows)
    return replace(table, parts=table.parts[chosen], places=table.places[chosen], rows=rows)


def columns_of(table: SheetTable, rows: SheetRows) -> TableColumns:
    """Return what the columns of a table are; ask where several may be the same."""
    answers, found = rows.answers, TableColumns()
    if answers.columns_are:
        found.values = value_columns(table, answers.columns_are, rows.names, answers)
        if not found.values:
            text = (
                f"--columns-are {','.join(answers.columns_are)}: no heading names a {answers.columns_are[0]}"
            )
            rows.ask("columns", f"{text}; the headings are {', '.join(table.headings)[:120]}")
    elif not answers_time(answers):
        pivot = likely_pivot(table, rows.names, answers)
        values = value_columns(table, pivot, rows.names, answers) if pivot else []
        if values and (len(values) > 1 or not _plain_measures(table, {own.place for own in values})):
            named = ", ".join(table.headings[own.place] for own in values)
            text = f"the headings {named[:120]} name what the times below are of"
            rows.ask("columns", text, (("--columns-are", ",".join(pivot)),))
            found.values = values
    _read_headings(table, found, rows)
    return found


def _plain_measures(table: SheetTable, but: set[int]) -> bool:
    meanings = (read_heading(heading) for place, heading in enumerate(table.headings) if place not in but)
    return any(meaning.target in fields.MEASURED for meaning in meanings)


def _read_headings(table: SheetTable, found: TableColumns, rows: SheetRows) -> None:
    answers = rows.answers
    headings = table.headings
    named = {headings.index(own): ours for ours, own in answers.columns.items() if own in headings}
    candidates: dict[str, list[tuple[int, Meaning]]] = {}
    taken = {own.place for own in found.values}
    for place, heading in enumerate(table.headings):
        ours = named.get(place, "")
        if place in taken:
            continue
        if heading in answers.ignored or ours == fields.IGNORED:
            found.left[place] = "left out"
        elif ours:
            _take_named(table, place, ours, found, rows)
        else:
            meaning = _meaning(table, place, rows)
            if meaning.target in fields.UNSPECIFIC:
                found.left[place] = ""
            else:
                target = fields.TIME if meaning.target in fields.MEASURED else meaning.target
                candidates.setdefault(target, []).append((place, meaning))
    measures = [Measure(place, table.headings[place], own) for place, own in candidates.pop(fields.TIME, [])]
    for target, columns in candidates.items():
        _add_key(table, target, columns, found, rows)
    if found.values or found.measures:
        found.left |= dict.fromkeys((own.place for own in measures), "another column is read")
    else:
        _choose_measures(table, measures, found, rows)


def _take_named(table: SheetTable, place: int, ours: str, found: TableColumns, rows: SheetRows) -> None:
    """Take a column as the user says."""
    if ours in ("time_s", fields.TIME, fields.RATE):
        meaning = _said_measure(ours, _meaning(table, place, rows), table)
        found.measures = [Measure(place, table.headings[place], meaning)]
    else:
        target = f"{fields.FLAG}{ours}" if ours in FLAGS else ours
        found.keys[target] = place
        found.exact.add(target)


def _said_measure(ours: str, meaning: Meaning, table: SheetTable) -> Meaning:
    """Return what a column is that the user says is the time."""
    unit = meaning.unit
    targets = {read_heading(text).target for text in table.headings}
    is_epoch = meaning.target == fields.EPOCH_TIME and bool(targets & fields.OF_EPOCHS)
    if unit is not None and unit.counted == "epoch" and not is_epoch:
        unit = replace(unit, counted="iteration")
    is_rate = ours == fields.RATE or (unit is not None and unit.is_rate)
    return Meaning(fields.EPOCH_TIME if is_epoch else fields.RATE if is_rate else fields.TIME, unit)


def _meaning(table: SheetTable, place: int, rows: SheetRows) -> Meaning:
    """Return what a heading means above the cells of its column."""
    heading = table.headings[place]
    meaning = of_statistics(heading, table.headings) or read_heading(heading)
    target = meaning.target
    is_total = target == fields.EPOCH_TIME and "epoch" not in heading.lower()
    if is_total and any(_PHASES.search(own) for own in table.headings):
        # A total next to the times of forward and backward is that of an iteration.
        unit = meaning.unit and replace(meaning.unit, counted="iteration")
        return replace(meaning, target=fields.TIME, unit=unit)
    of_several = read_line(heading).unit
    if of_several is not None and of_several.number > 1.0 and not of_several.is_rate:
        return Meaning(fields.TIME, of_several)
    if target == "time_s":
        return replace(meaning, target=fields.TIME)
    for kind, other in (("network", "cnn"), ("n_gpus", "gpu")):
        # "Network" is a network of machines or a CNN, "#GPU" their number or name.
        if target == kind and _names(table, place, other, rows):
            return Meaning(other)
    says_other = target in fields.MEASURED and is_ratio(heading)
    says_other |= target == "framework" and _is_stack(table, place)
    says_other |= meaning.is_weak and target in ("gpu", "cnn") and not _names(table, place, target, rows)
    return Meaning("") if says_other else meaning


def _is_stack(table: SheetTable, place: int) -> bool:
    """Return whether a column called "backend" holds layouts or compilations."""
    texts = {str(row[place]) for row in table.rows if row[place] is not None}
    return any({"layout", "compilation"} & set(read_line(text).said) for text in texts)


def _names(table: SheetTable, place: int, kind: str, rows: SheetRows) -> bool:
    texts = list(dict.fromkeys(str(row[place]) for row in table.rows if row[place] is not None))[:_SAMPLE]
    return any(rows.names.is_name(kind, text) for text in texts)


def _add_key(
    table: SheetTable, target: str, columns: list[tuple[int, Meaning]], found: TableColumns, rows: SheetRows
) -> None:
    """Choose the column of one of our names; append an issue where several are as likely."""
    places = [place for place, _ in columns]
    given = rows.answers.constants.get(target)
    pivoted = found.values and target in (*found.values[0].said, *_batches_of(found.values[0].said))
    if target in found.keys or given is not None or pivoted:
        reason = f"{given} was given for every row" if given is not None else "another column was named"
        found.left |= dict.fromkeys(places, reason)
        return

    def rank(column: tuple[int, Meaning]) -> tuple[bool, ...]:
        return not column[1].is_exact, column[1].is_weak

    best, meaning = min(columns, key=rank)
    equal = [place for place, own in columns if rank((place, own)) == rank((best, meaning))]
    cells = [[row[place] for row in table.rows] for place in equal]
    if any(other != cells[0] for other in cells[1:]):
        headings = [table.headings[place] for place in equal]
        ours = target.removeprefix(fields.FLAG)
        text = f"the columns {', '.join(headings)} may all be {ours}: which one is it?"
        rows.ask("columns", text, choices("--column", headings, f"{ours}="))
    found.keys[target] = best
    found.exact |= {target} if meaning.is_exact else set()
    reason = f"{table.headings[best]} is read instead"
    found.left |= dict.fromkeys((place for place in places if place != best), reason)


def _batches_of(said: Mapping[str, str]) -> tuple[str, ...]:
    return fields.BATCHES if "batch" in said else ()


def _rank(measure: Measure) -> tuple[bool, ...]:
    meaning, heading = measure.meaning, measure.heading
    is_median = _MEDIAN.search(heading) is not None
    is_open = meaning.unit is None or (measure.is_rate and meaning.unit.per_gpu is None)
    return (
        not meaning.is_exact,
        meaning.is_weak,
        meaning.unit is None,
        measure.is_rate,
        not is_median,
        not meaning.is_average and is_median,
        is_open,
    )


def _choose_measures(
    table: SheetTable, measures: list[Measure], found: TableColumns, rows: SheetRows
) -> None:
    """Keep the best measure, and a second one that it can be compared with; ask where none or several are."""
    plain = [own for own in measures if own.meaning.target != fields.EPOCH_TIME]
    # A time of an epoch counts only where nothing else is measured.
    found.left |= dict.fromkeys((own.place for own in measures if plain and own not in plain), "")
    filled = [own for own in plain or measures if any(row[own.place] is not None for row in table.rows)]
    ordered = sorted(filled, key=_rank)
    if not ordered:
        _ask_time(table, found, rows)
        return
    best = ordered[0]
    equal = [own for own in ordered if _rank(own) == _rank(best) and (own is best or not _differs(own, best))]
    if len(equal) > 1:
        text = f"the columns {', '.join(own.heading for own in equal)} may all be time_s: which one is it?"
        rows.ask("columns", text, choices("--column", [own.heading for own in equal], "time_s="))
    others = [own for own in ordered[1:] if _differs(own, best) and not own.meaning.is_weak]
    found.measures = [best, *others[:1]]
    reason = f"{best.heading} is read instead"
    found.left |= dict.fromkeys((own.place for own in ordered if own not in found.measures), reason)


def _differs(one: Measure, other: Measure) -> bool:
    """Return whether two measures are in different units, so that they can be compared."""
    units = [measure.meaning.unit for measure in (one, other)]
    return one.is_rate != other.is_rate or (None not in units and units[0] != units[1])


def _ask_time(table: SheetTable, found: TableColumns, rows: SheetRows) -> None:
    headings = [
        table.headings[place]
        for place in found.left
        if not is_ratio(table.headings[place])
        and read_heading(table.headings[place]).target == ""
        and any(is_numeric(row[place]) for row in table.rows)
    ]
    text = "no column is a time or throughput of training iterations; name it by --column time_s=HEADING"
    rows.ask(
        "columns",
        f"{text}, or say what the headings of columns of times are by --columns-are",
        choices("--column", headings, "time_s="),
    )


def append_runs(
    rows: SheetRows, table: SheetTable, columns: TableColumns, number: int, with_sheet: bool
) -> None:
    """Append the measured cells of a table, where they are from, and the cells of other columns."""
    label = f"{table.sheet}!" if with_sheet else ""
    labels: list[Label] = [f"{label}{own}" if label else own for own in table.numbers]
    keep = _wanted_rows(rows, table, labels)
    run_rows, times, checks, said = _measured_cells(rows, table, columns, keep, number)
    for target, place in columns.keys.items():
        cells = [row[place] for row in table.rows]
        if target in ("gpu", "cnn") and None in cells and target not in rows.answers.constants:
            cells = _filled_down(table, place, run_rows, rows)
        rows.put(target, [cells[row] for row in run_rows])
        column = MappedColumn(table.headings[place], target, None, target not in columns.exact)
        _show(rows, column, table, place)
    for kind in columns.values[0].said if columns.values else ():
        rows.put(kind, [own[kind] for own in said])
        if kind not in rows.columns:
            rows.columns[kind] = MappedColumn("headings of columns", kind)
            rows.shown.append((rows.columns[kind], columns.values[0].said[kind]))
    if kind := rows.answers.sheets_are:
        rows.put(kind, [table.sheet] * len(run_rows))
        rows.columns.setdefault(kind, MappedColumn("the sheet", kind))
    for target, cells in ((fields.TIME, times), (fields.CHECK, checks)):
        if cells:
            rows.put(target, cells)
    rows.numbers += [labels[place] for place in run_rows]
    for place in columns.left:
        rows.unread.setdefault(table.headings[place], []).extend(table.rows[row][place] for row in run_rows)
    _show_times(rows, table, columns)


def _wanted_rows(rows: SheetRows, table: SheetTable, labels: Sequence[Label]) -> list[int]:
    """Return the rows that the user wants, but those that summarise others, which are asked about."""
    only = [(table.headings.index(name), text) for name, text in rows.answers.only if name in table.headings]
    wanted = [
        place
        for place, row in enumerate(table.rows)
        if all(str(row[column]) == text for column, text in only)
    ]
    totals = [place for place in wanted if is_total(table.rows[place])]
    asked = tuple(labels[place] for place in totals if str(labels[place]) not in rows.answers.skipped_rows)
    if asked:
        rows.issues.append(Issue("cells", "a row that summarises others", asked, skipping(asked)))
    # What the user leaves out is left out with all other rows.
    unasked = {place for place in totals if labels[place] in asked}
    return [place for place in wanted if place not in unasked]


def _measured_cells(
    rows: SheetRows, table: SheetTable, columns: TableColumns, keep: Sequence[int], number: int
) -> tuple[list[int], list[object], list[object], list[Mapping[str, str]]]:
    """Return row, time and second measure of each run and what its heading says; append its source."""
    if columns.values:
        chosen = [
            (place, own)
            for place in keep
            for own in columns.values
            if table.rows[place][own.place] is not None
        ]
        sources = {
            own.place: Source(number, table.headings[own.place], own.unit, own.is_rate, None)
            for own in columns.values
        }
        rows.sources += [sources[own.place] for _, own in chosen]
        times = [table.rows[place][own.place] for place, own in chosen]
        return [place for place, _ in chosen], times, [], [own.said for _, own in chosen]
    main, check = (*columns.measures, None, None)[:2]
    source = Source(
        number,
        "",
        _unit(main) if main else None,
        _kind(main) if main else None,
        _unit(check) if check else None,
    )
    rows.sources += [source] * len(keep)
    times = [table.rows[place][main.place] if main else None for place in keep]
    checks = [table.rows[place][check.place] for place in keep] if check else []
    return list(keep), times, checks, []


def _filled_down(table: SheetTable, place: int, used: Sequence[int], rows: SheetRows) -> list[object]:
    """Return the cells of a column of names with the one above in empty ones; ask unless the user says so."""
    cells, last = [], None
    for row in table.rows:
        last = row[place] if row[place] is not None else last
        cells.append(last)
    gaps = [table.numbers[row] for row in used if table.rows[row][place] is None and cells[row] is not None]
    if gaps and not rows.answers.fill_down:
        text = f"{table.headings[place]}: empty cells below filled ones: does the cell above hold?"
        where = tuple(dict.fromkeys(gaps))
        rows.issues.append(Issue("question", text, where, (("--fill-down",),)))
    return cells


def _show(rows: SheetRows, column: MappedColumn, table: SheetTable, place: int) -> None:
    """Note a column that is read, with its first value."""
    rows.columns.setdefault(column.target, column)
    if (column.heading, column.target) not in ((own.heading, own.target) for own, _ in rows.shown):
        first = next((str(row[place]) for row in table.rows if row[place] is not None), "")
        rows.shown.append((column, first))


def _show_times(rows: SheetRows, table: SheetTable, columns: TableColumns) -> None:
    for own in columns.values[:1]:
        heading = table.headings[own.place] if len(columns.values) == 1 else f"{len(columns.values)} columns"
        rows.columns.setdefault(fields.TIME, MappedColumn(heading, fields.TIME, own.unit))
        _show(rows, MappedColumn(heading, fields.TIME, own.unit), table, own.place)
    for target, measure in zip((fields.TIME, fields.CHECK), columns.measures, strict=False):
        unit = _unit(measure)
        _show(
            rows,
            MappedColumn(measure.heading, target, unit, not measure.meaning.is_exact),
            table,
            measure.place,
        )


def _unit(measure: Measure) -> TimeUnit | None:
    unit = measure.meaning.unit
    if unit is not None and measure.meaning.target == fields.EPOCH_TIME and not unit.is_rate:
        return replace(unit, counted="epoch")
    return unit


def _kind(measure: Measure) -> bool | None:
    """Return whether a header says that numbers are throughputs, None where it does not say."""
    return measure.is_rate if measure.is_rate or read_heading(measure.heading).target == fields.TIME else None
