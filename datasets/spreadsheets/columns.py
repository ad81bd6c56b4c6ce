"""The columns of a table by the user's answers, else by the words of their headings."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from trainlaw.datasets.spreadsheets import fields
from trainlaw.datasets.spreadsheets.answers import CHOICE, SKIP, Issue, SheetAnswers, choices, skipping
from trainlaw.datasets.spreadsheets.headings import Meaning, near_target, of_statistics, read_heading
from trainlaw.datasets.spreadsheets.layout import (
    SheetTable,
    ValueColumn,
    is_measured,
    is_numeric,
    is_ratio,
    is_total,
    likely_pivot,
    split_heading,
    value_columns,
)
from trainlaw.datasets.spreadsheets.lines import read_line
from trainlaw.datasets.spreadsheets.quantities import TimeUnit
from trainlaw.datasets.spreadsheets.rows import Dialogue, Label, MappedColumn, SheetRows, Source
from trainlaw.datasets.spreadsheets.values import is_unmeasured, precision_of, yes_or_no
from trainlaw.datasets.spreadsheets.words import groups
from trainlaw.formulas.errors import InputError, check_name, shown, unknown_name

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
MARK = re.compile(r"[*†‡§¹²³⁴]+(?=\s)")  # of a footnote
_SAMPLE = 60  # different texts of a column that are looked up
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
class _Columns:
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


def table_rows(tables: Sequence[SheetTable], dialogue: Dialogue, notes: list[str]) -> SheetRows:
    """Return the runs of tables, one row per measured cell; ask about what is not read."""
    rows = SheetRows(dialogue.answers, dialogue.names, dialogue.issues)
    for name, _ in rows.answers.only:
        if not any(name in table.headings for table in tables):
            raise InputError(f"--only {name}: the file has no column {name!r}")
    for number, table in enumerate(tables):
        columns = _columns(table, rows)
        _append(rows, table, columns, number, len(tables) > 1)
        _note_left(table, columns, rows, notes)
        _ask_lines(table, columns, rows, notes)
    for own in rows.cells.values():
        # A column that only some tables have is empty in the others.
        own.extend([None] * (len(rows) - len(own)))
    return rows


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


def _columns(table: SheetTable, rows: SheetRows) -> _Columns:
    """Return what the columns of a table are; ask where several may be the same."""
    answers, found = rows.answers, _Columns()
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


def _read_headings(table: SheetTable, found: _Columns, rows: SheetRows) -> None:
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


def _take_named(table: SheetTable, place: int, ours: str, found: _Columns, rows: SheetRows) -> None:
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
    table: SheetTable, target: str, columns: list[tuple[int, Meaning]], found: _Columns, rows: SheetRows
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


def _choose_measures(table: SheetTable, measures: list[Measure], found: _Columns, rows: SheetRows) -> None:
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


def _ask_time(table: SheetTable, found: _Columns, rows: SheetRows) -> None:
    headings = [
        table.headings[place]
        for place in found.left
        if not is_ratio(table.headings[place])
        and read_heading(table.headings[place]).target == ""
        and any(is_numeric(row[place]) for row in table.rows)
    ]
    text = "no column is a time or throughput of training iterations; name it by --column time_s=HEADING"
    rows.ask("columns", f"{text}, or say what the headings of columns of times are by --columns-are",
             choices("--column", headings, "time_s="))  # fmt: skip


def _append(rows: SheetRows, table: SheetTable, columns: _Columns, number: int, with_sheet: bool) -> None:
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
    rows: SheetRows, table: SheetTable, columns: _Columns, keep: Sequence[int], number: int
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


def _show_times(rows: SheetRows, table: SheetTable, columns: _Columns) -> None:
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


def _note_left(table: SheetTable, columns: _Columns, rows: SheetRows, notes: list[str]) -> None:
    """Note the columns that are not read; ask about those that say something about the runs."""
    plain = []
    have = {*columns.keys, *rows.answers.constants, *(columns.values[0].said if columns.values else ())}
    for place, reason in columns.left.items():
        heading = table.headings[place]
        cells = [row[place] for row in table.rows]
        texts = list(dict.fromkeys(str(cell) for cell in cells if cell is not None))
        target = read_heading(heading).target
        target = "" if target in ("cnn", "gpu", "network", "framework") and not reason else target
        if _is_other_measure(table, place, columns, rows):
            plain.append(f"{heading} (another column is read)")
            continue
        if reason == "left out" or not texts:
            plain.append(f"{heading} ({reason or 'empty'})")
            continue
        word = _asked_of(heading, texts, target, have) if reason != "another column is read" else None
        if word:
            kind, found = word
            ours = _COLUMN_OF.get(kind, kind if kind in fields.SCHEMA else "")
            text = f"{heading} is not read, and says {shown(found)}, which may mean {_SAID[kind]}"
            named = (("--column", f"{ours}={heading}"),) if ours else ()
            rows.ask("columns", text, (*named, *_ignoring(heading)))
            continue
        near = near_target(heading) if not target and not reason else ""
        if near and near not in have and not (near in fields.BATCHES and have & set(fields.BATCHES)):
            is_time = near in (*fields.MEASURES, "time_s")
            if not (is_time and (columns.measures or columns.values)):
                option = f"{'time_s' if is_time else near.removeprefix(fields.FLAG)}={heading}"
                text = f"the column {heading!r} is not known; is it {near}?"
                rows.ask("columns", text, (("--column", option), ("--ignore", heading)))
                continue
        answers = {yes_or_no(cell) for cell in cells if cell is not None}
        if not target and not reason and answers <= {True, False} and not all(map(is_numeric, texts)):
            text = f"{heading} says yes or no: to what?"
            kinds = choices("--column", [f"{name}={heading}" for name in FLAGS])
            rows.ask("columns", text, (*kinds, ("--ignore", heading)))
            continue
        numeric = [cell for cell in cells if not is_unmeasured(cell)]
        if columns.values and not target and not reason and numeric and all(map(is_measured, numeric)):
            if not is_ratio(heading):
                kind = (
                    rows.answers.columns_are[0]
                    if rows.answers.columns_are
                    else next(iter(columns.values[0].said))
                )
                text = f"the heading {heading} is no {kind} that is known: leave its column out?"
                rows.ask("names", text, (("--ignore", heading),))
                continue
        plain.append(f"{heading} ({reason})" if reason else heading)
    if plain:
        notes.append(f"not read: {', '.join(plain)}")


def _is_other_measure(table: SheetTable, place: int, columns: _Columns, rows: SheetRows) -> bool:
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
    if not {text.lower() for text in texts} <= {"1", "0", "1.0", "0.0"} and all(map(is_numeric, texts)):
        # Numbers of other phases than training are beside those of training.
        asked.pop("mode", None)
    known = {name for name in asked if _COLUMN_OF.get(name, name) in have}
    known |= {"n_gpus"} if have & set(_OF_GPUS) else set()
    allowed = _OF_IGNORED if target == fields.IGNORED else set(_SAID)
    found = next(((kind, word) for kind, word in asked.items() if kind in allowed - known), None)
    if found:
        return found
    is_switch = {text.lower() for text in texts} <= {"1", "0", "1.0", "0.0"} or not all(
        map(is_numeric, texts)
    )
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


def _ask_lines(table: SheetTable, columns: _Columns, rows: SheetRows, notes: list[str]) -> None:
    """Ask about titles, notes and hidden rows that say something about the runs; note the others."""
    answers = rows.answers
    have = {*columns.keys, *answers.constants, *(columns.values[0].said if columns.values else ())}
    have |= {"precision"} if any(name.startswith(fields.FLAG) for name in columns.keys) else set()
    have |= {"n_gpus"} if have & set(_OF_GPUS) else set()
    unread = []
    for number, text in table.lines:
        name = f"row {number}"
        if name in answers.ignored:
            continue
        line = read_line(text)
        asked = {kind: word for kind, word in line.asked.items() if _COLUMN_OF.get(kind, kind) not in have}
        if rows.names.is_name("gpu", text.partition(":")[2].strip() or text) and "gpu" not in have:
            asked["gpu"] = text
        elif "precision" in line.said and "precision" not in have:
            asked["precision"] = text
        size, usual = line.said.get("input_size_px"), {"224"}
        if "input_size_px" not in have and size and size not in usual:
            rows.ask("question", f"row {number}, {shown(text)}, names a size of images",
                     (("--set", f"input_size_px={size}"), ("--ignore", name)))  # fmt: skip
        if MARK.match(text) and (line.said or line.asked or line.unit):
            _ask_marked(table, number, text, rows)
            continue
        inside = bool(table.numbers) and table.numbers[0] < number < table.numbers[-1]
        kinds = set(asked) - {"gpu", "precision"}
        if inside and asked.keys() & {"gpu", "precision"}:
            said = f"row {number}, {shown(text)}, stands above rows below it; write it as a column of its own"
            rows.ask("columns", said)
        elif kinds:
            kind = sorted(kinds)[0]
            said = f"row {number}, {shown(text)}, is not read, and may mean {_SAID[kind]} ({asked[kind]})"
            rows.ask("question", f"{said}: does it change the times?", _ignoring(name))
        else:
            unread.append(shown(text))
    if unread:
        notes.append(f"not read: {'; '.join(unread)}"[:400])
    hidden = [number for number in table.hidden if str(number) not in answers.skipped_rows]
    if hidden and "hidden" not in answers.ignored:
        rows.issues.append(
            Issue(
                "cells",
                "hidden rows: leave them out?",
                tuple(hidden),
                (*skipping(hidden), ("--ignore", "hidden")),
            )
        )
