"""The columns of a table by the user's answers, else by their headings; questions for the others."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import pandas as pd
from trainlaw.datasets.files.numbers import is_number
from trainlaw.datasets.spreadsheets.answers import CHOICE, SKIP, Dialogue, choices
from trainlaw.datasets.spreadsheets.headings import (
    BATCHES,
    FLAG,
    IGNORED,
    OTHER_TIME,
    RATE,
    SCHEMA,
    TIME,
    Meaning,
    bound_of,
    read_heading,
)
from trainlaw.datasets.spreadsheets.layout import RUNS, SheetTable, is_measured
from trainlaw.datasets.spreadsheets.names import CALLED, NUMBERS, ONE_OF_SEVERAL, SAYINGS, SURE
from trainlaw.datasets.spreadsheets.units import TimeUnit, quantity
from trainlaw.datasets.spreadsheets.values import (
    NO,
    YES,
    is_unmeasured,
    plain_text,
    precision_of,
    size_px,
)
from trainlaw.datasets.spreadsheets.words import asked_words, groups
from trainlaw.formulas.errors import InputError, check_name, shown

#: Columns of yes and no that --column takes.
FLAGS = tuple(name.removeprefix(FLAG) for name in groups("heading") if name.startswith(FLAG))
#: Names that --column and --set take.
COLUMN_NAMES = tuple(dict.fromkeys((*SCHEMA, *(own for own in groups("heading") if own != IGNORED))))
#: Holds the unit that the heading states for the time of a row, None without one.
STATED_UNIT = "unit of the heading"
_FRAMEWORKS, _FILLERS = frozenset(groups("phrase")["framework"]), frozenset(groups("part")["filler"])
# What may follow a name, and how it is recognised.
_MORE: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(("gpu", "cnn", "precision"), re.compile("")),
    "batch": re.compile(r"\b(?:bs|batch)", re.IGNORECASE),
    "input_size_px": re.compile(r"@|px|\dx\d", re.IGNORECASE),
}
_MOST_COUNT = 1024  # larger whole numbers are memory or parameters
_OF_HEADINGS = "headings of columns"
_NAME = re.compile(r"[A-Za-z]\s?\d")
_MARK = re.compile(r"[*\u2020\u2021\u00a7\u00b9\u00b2\u00b3]\s")
#: Sides of the images of data sets, in px.
_SIZES = {"cifar": 32.0, "svhn": 32.0, "mnist": 28.0, "tiny": 64.0}
_SAMPLE = 60  # different texts of a column that are looked at
# What a word that is asked about may mean.
_SAID = {kind: " ".join(words) for kind, words in groups("asked_as").items()}
#: Words that a heading of something else, such as "test accuracy" or "GPU memory", does not mean.
_OF_IGNORED = frozenset(("power", "clock", "part", "parallel", "trained", "width"))


@dataclass(frozen=True)
class FileColumn:
    """A column of the file that is read.

    target : our name of it, or the measure. said : what its heading says of each time, by our column. first :
    value, as text.
    """

    heading: str
    target: str
    unit: TimeUnit | None = None
    said: Mapping[str, str] = field(default_factory=dict)
    first: str = ""


@dataclass(frozen=True)
class SheetRows:
    """Runs as people wrote them: a row each, indexed by its label, in columns by our names.

    columns : that are read, by our name. is_rate : whether the heading says times or throughputs, None where
    it says neither.
    """

    cells: pd.DataFrame
    columns: Mapping[str, FileColumn]
    is_rate: bool | None = None

    def heading(self, name: str) -> str:
        """Return the heading of one of our columns, our name of it where the user gave it for all rows."""
        return self.columns[name].heading if name in self.columns else name


def check_named(tables: Sequence[SheetTable], dialogue: Dialogue) -> None:
    """Raise UnknownNameError for what the user named and no table has."""
    answers, headings = dialogue.answers, [str(own) for table in tables for own in table.cells]
    lines = ["sheet", *(f"row {number}" for table in tables for number, _ in table.lines)]
    pivots = (*answers.columns_are, *filter(None, (answers.sheets_are,)))
    for names, known in (
        (pivots, (*SAYINGS, RUNS)),
        (",".join(answers.columns).split(",") if answers.columns else (), (*COLUMN_NAMES, *FLAGS, IGNORED)),
        ((*answers.columns.values(), *(name for name, _ in answers.only)), headings),
        (answers.ignored, [*headings, *lines, "hidden"]),
    ):
        for name in names:
            check_name("column", name, known)


def table_rows(table: SheetTable, dialogue: Dialogue) -> SheetRows:
    """Return the runs of a table, one row per measured cell; ask about what is not understood."""
    table = _split_cells(table, dialogue)
    answers = dialogue.answers
    values = _value_columns(table, answers.columns_are, dialogue)
    if answers.columns_are and not values:
        text = f"--columns-are {','.join(answers.columns_are)}: no heading names a {answers.columns_are[0]}"
        dialogue.ask("columns", f"{text}; the headings are {', '.join(map(str, table.cells))[:120]}")
    found = _meanings(table, {own.heading for own in values}, dialogue)
    keys = _chosen(table, found, bool(values), dialogue)
    heading = keys.get(TIME, "")
    # "TF32 (ms)" is a time, and one of several where other headings are of precisions, too.
    if heading and found[heading].is_weak and heading not in answers.columns.values():
        shapes = _shapes(table, found, keys, dialogue)
        heading = "" if any(len(own) > 1 for own in shapes.values()) else heading
    if heading:
        values = [FileColumn(heading, found[heading].target, found[heading].unit)]
    values = values or _likely_times(table, found, keys, dialogue)
    taken = {own.heading for own in values}
    keys = {name: own for name, own in keys.items() if name == TIME or own not in taken}
    left = {own: meaning for own, meaning in found.items() if own not in taken.union(keys.values())}
    known = {**keys, **dict.fromkeys(values[0].said if values else (), _OF_HEADINGS)}
    keys |= _ask_left(table, left, known, dialogue)
    _ask_lines(table, _have({**known, **keys}, dialogue), dialogue)
    return _melted(_filled(table, keys, values, dialogue), keys, values)


def _split_cells(table: SheetTable, dialogue: Dialogue) -> SheetTable:
    """Return a table with a column for each of ours that one of theirs holds, as "RTX 3090, fp16" does."""
    cells, parts = table.cells, dict(zip(map(str, table.cells), table.parts, strict=True))
    given = {ours: heading for ours, heading in dialogue.answers.columns.items() if heading in cells}
    several = {ours: heading for ours, heading in given.items() if "," in ours}
    for ours, heading in (several | _asked_parts(table, given, dialogue)).items():
        kinds, said = ours.split(","), dict[object, dict[str, str]]()
        if twice := {*kinds} & {*map(str, cells)} - {heading}:
            raise InputError(
                f"--column {ours}: {heading} and {twice.pop()} are the same column; leave one out"
            )
        for text in cells[heading].dropna().unique():
            found, rest = dialogue.names.sayings([str(text)], kinds, ONE_OF_SEVERAL)
            is_whole = found and _FILLERS.issuperset(rest.lower().split())
            said[text] = found if is_whole else {kinds[0]: str(text)}
        texts, cells = cells[heading], cells.drop(columns=heading)
        for kind in kinds:
            cells[kind] = [said.get(text, {}).get(kind) for text in texts]
            parts[kind] = (kind,)
    return replace(table, cells=cells, parts=tuple(parts[str(own)] for own in cells))


def _asked_parts(table: SheetTable, given: Mapping[str, str], dialogue: Dialogue) -> dict[str, str]:
    """Ask whether columns of names say more, such as a precision, that no other column says."""
    targets = {heading: read_heading(heading).target for heading in map(str, table.cells)}
    targets |= {heading: ours for ours, heading in given.items()}
    have, found = _have([*targets.values(), *dialogue.answers.columns_are], dialogue), dict[str, str]()
    have |= {"batch"} if have & set(BATCHES) else set()
    for heading, target in targets.items():
        texts = map(str, table.cells[heading].dropna().unique()[:_SAMPLE] if target in ("gpu", "cnn") else ())
        for text in (own for own in texts if not dialogue.names.is_name(target, own, SURE)):
            if kinds := _more(text, target, have, dialogue):
                ours, what = ",".join((target, *kinds)), ", ".join(CALLED[kind] for kind in kinds)
                question = f"{heading} also says {what} ({shown(text)}): is it read so?"
                dialogue.ask("columns", question, choices("--column", [heading], f"{ours}="))
                found, have = {**found, ours: heading}, have.union(kinds)
                break
    return found


def _more(text: str, target: str, have: set[str], dialogue: Dialogue) -> list[str]:
    """Return what a text says after the name of a GPU or CNN that is not known otherwise."""
    kinds = list[str]()
    # What is in the middle of a text is at an end once the others are taken.
    for kind in 2 * [kind for kind, form in _MORE.items() if kind not in have and form.search(text)]:
        if kind not in kinds and dialogue.names.sayings([text], (target, *kinds, kind), SURE)[0]:
            kinds.append(kind)
    return kinds


def _value_columns(table: SheetTable, kinds: Sequence[str], dialogue: Dialogue) -> list[FileColumn]:
    """Return the columns whose headings say each kind and nothing else but a measure."""
    found: dict[tuple[str, ...], FileColumn] = {}
    taken = {*dialogue.answers.ignored, *dialogue.answers.columns.values()}
    plain = (TIME, RATE, *kinds, *(BATCHES if "batch" in kinds else ()))
    for heading, parts in zip(map(str, table.cells), table.parts, strict=True):
        if heading in taken or not any(map(is_measured, table.cells[heading])):
            continue
        for least in (SURE, ONE_OF_SEVERAL):
            said, rest = dialogue.names.sayings(parts, kinds, least)
            meaning = read_heading(rest)
            if said and (meaning.target in plain or _FILLERS.issuperset(rest.lower().split())):
                # Of a time and a throughput of the same runs, the first is read.
                value = FileColumn(heading, meaning.target, meaning.unit, said)
                found.setdefault(tuple(said.values()), value)
                break
    return list(found.values())


def _meanings(table: SheetTable, taken: set[str], dialogue: Dialogue) -> dict[str, Meaning]:
    """Return what each heading means that the user does not leave out, by his answers or its words."""
    answers, found = dialogue.answers, dict[str, Meaning]()
    named = {heading: ours for ours, heading in answers.columns.items()}
    for heading in map(str, table.cells):
        ours, meaning = named.get(heading, ""), read_heading(heading)
        if heading in taken or heading in answers.ignored or ours == IGNORED:
            continue
        if ours in ("time_s", TIME, RATE):
            unit = meaning.unit
            if unit is not None and "epoch" not in heading.lower() and unit.counted == "epoch":
                unit = replace(unit, counted="iteration")  # the total of the phases of an iteration
            meaning = Meaning(RATE if ours == RATE else TIME, unit)
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
    if meaning.target == "epochs" and len(cells) > 1:
        # "Epoch" is the number of each, or how many there were.
        steps = pd.to_numeric(cells, errors="coerce").diff().iloc[1:]
        return Meaning(IGNORED) if (steps == 1).all() else meaning
    strange = meaning.is_weak and meaning.target in ("gpu", "cnn") and not names(meaning.target)
    return Meaning("") if strange else meaning


def _chosen(
    table: SheetTable, found: Mapping[str, Meaning], has_times: bool, dialogue: Dialogue
) -> dict[str, str]:
    """Return the heading of each of our columns; ask where several are as likely, or none is the time.

    What the user gives for all rows fills the empty cells of a column, or replaces it.
    """
    named, candidates = dialogue.answers.columns.values(), dict[str, list[str]]()
    for heading, meaning in found.items():
        target = TIME if meaning.target == RATE else meaning.target
        is_partly = table.cells[heading].isna().any() and table.cells[heading].notna().any()
        is_free = heading in named or is_partly or target not in dialogue.answers.constants
        if target not in ("", IGNORED, OTHER_TIME) and is_free and not (has_times and target == TIME):
            candidates.setdefault(target, []).append(heading)

    def rank(heading: str) -> tuple[bool, ...]:
        meaning, is_empty = found[heading], bool(table.cells[heading].isna().all())
        is_bare = meaning.target in (TIME, RATE) and meaning.unit is None
        return heading not in named, is_empty, meaning.is_weak, is_bare

    keys = dict[str, str]()
    for target, headings in candidates.items():
        equal = [own for own in headings if rank(own) == min(map(rank, headings))]
        is_open = any(not table.cells[own].equals(table.cells[equal[0]]) for own in equal[1:])
        if not is_open or target != TIME:
            keys[target] = equal[0]
        if is_open and target != TIME:
            ours = target.removeprefix(FLAG)
            text = f"the columns {', '.join(equal)} may all be {ours}: which one is it?"
            dialogue.ask("columns", text, choices("--column", equal, f"{ours}="))
    if TIME in keys and keys[TIME] not in named:
        _ask_bounds(table, keys[TIME], found, dialogue)
    return keys


def _shapes(
    table: SheetTable, found: Mapping[str, Meaning], keys: Mapping[str, str], dialogue: Dialogue
) -> dict[str, list[FileColumn]]:
    """Return the columns of times that most headings may be of, by what they name: "cnn,precision"."""
    shapes = dict[str, list[FileColumn]]()
    for kinds in (*((kind,) for kind in SAYINGS), *combinations(SAYINGS, 2)):
        if not dialogue.answers.columns_are and keys.keys().isdisjoint(kinds):
            columns = _value_columns(table, kinds, dialogue)
            shapes[",".join(kinds)] = [own for own in columns if _may_be_times(found.get(own.heading))]
    most = max(map(len, shapes.values()), default=0)
    likely = {kinds: own for kinds, own in shapes.items() if len(own) == most > 0}
    # Any number may be that of a step.
    return {kinds: own for kinds, own in likely.items() if "step" not in kinds} or likely


def _likely_times(
    table: SheetTable, found: Mapping[str, Meaning], keys: Mapping[str, str], dialogue: Dialogue
) -> list[FileColumn]:
    """Ask which columns are the times; return those of the likely answer, under which all else is asked."""
    measured = [own for own in found if any(map(_is_number, table.cells[own].dropna().unique()[:_SAMPLE]))]
    numeric = [own for own in measured if found[own].target in (TIME, RATE)]
    unknown = [own for own in measured if not found[own].target and not _OF_IGNORED & asked_words(own).keys()]
    counts = [own for own in unknown if _is_count(map(plain_text, table.cells[own].dropna()))]
    numeric = numeric or [own for own in unknown if found[own].unit or own not in counts]
    numeric = numeric or [own for own in measured if found[own].target == IGNORED and found[own].unit]
    likely = _shapes(table, found, keys, dialogue)
    text = "no column is a time or throughput of training iterations"
    text += f", or several may be: {', '.join(numeric)[:120]}" if numeric else ""
    text += "; name it by --column time_s=HEADING, or say what the headings of columns of times are by"
    options = choices("--columns-are", likely) or choices("--column", numeric, "time_s=")
    dialogue.ask("columns", f"{text} --columns-are ({', '.join(SAYINGS)})", options)
    alone = [FileColumn(own, found[own].target or TIME, found[own].unit) for own in numeric[:1]]
    return next(iter(likely.values()), alone)


def _is_number(cell: object) -> bool:
    """Return whether a cell is a number, perhaps with the unit of a time, with either decimal mark."""
    return not all(math.isnan(quantity(cell, mark)[0]) for mark in ".,")


def _may_be_times(meaning: Meaning | None) -> bool:
    """Return whether a heading means nothing, or would be a switch, such as FP16, above yes and no."""
    return meaning is not None and (meaning.target in ("", TIME, RATE) or meaning.target.startswith(FLAG))


def _ask_bounds(table: SheetTable, time: str, found: Mapping[str, Meaning], dialogue: Dialogue) -> None:
    """Ask which column is the time where it is below that of the least in each row, or above the greatest."""
    bounds = {own: bound_of(own) for own in found if found[own].target == IGNORED and found[own].unit}
    if not any(bounds.values()):
        return
    cells = table.cells[[time, *(own for own, bound in bounds.items() if bound)]]
    numbers = cells.map(lambda cell: quantity(cell, dialogue.answers.decimal or ".")[0])
    leads = {own: bounds[own] * (numbers[own] - numbers[time]).dropna() for own in cells.columns[1:]}
    beyond = [own for own, lead in leads.items() if len(lead) and (lead < 0).all()]
    if beyond:
        text = f"{time} is beyond {', '.join(beyond)} in each row: which column is the time?"
        between = [str(own) for own in numbers.median().sort_values().index]
        dialogue.ask("columns", text, choices("--column", between[1:-1] or beyond, "time_s="))


def _filled(
    table: SheetTable, keys: Mapping[str, str], values: Sequence[FileColumn], dialogue: Dialogue
) -> SheetTable:
    """Return a table with the GPU and CNN of the row above in empty cells; ask unless the user says so."""
    cells = table.cells
    for name in (own for own in ("gpu", "cnn") if own in keys and own not in dialogue.answers.constants):
        empty = cells[keys[name]].isna()
        if not empty.any():
            continue
        filled = cells[keys[name]].ffill()
        times = cells[[own.heading for own in values]]
        measured = (times.map(is_measured) & ~times.map(is_unmeasured)).any(axis=1)
        skipped = [text for (_, text), value in dialogue.answers.values.items() if value == SKIP]
        measured &= ~cells[[*keys.values()]].map(str).isin(skipped).any(axis=1)
        if not dialogue.answers.fill_down:
            text = f"{keys[name]}: empty cells below filled ones: does the cell above hold?"
            dialogue.fault(text, empty & filled.notna() & measured, (("--fill-down",),), "question")
        cells = cells.assign(**{keys[name]: filled})
    return replace(table, cells=cells)


def _melted(table: SheetTable, keys: Mapping[str, str], values: Sequence[FileColumn]) -> SheetRows:
    """Return a row for each cell of the columns of times, with what their headings say."""
    own = table.cells[list(keys.values())].set_axis(list(keys), axis=1).drop(columns=TIME, errors="ignore")
    columns = {name: FileColumn(heading, name) for name, heading in keys.items()}
    if not values:
        return SheetRows(own.assign(**{TIME: None, STATED_UNIT: None}), columns)
    parts = []
    for column in values:
        unit = pd.Series([column.unit] * len(own), own.index, dtype=object)
        parts.append(own.assign(**column.said, **{TIME: table.cells[column.heading], STATED_UNIT: unit}))
    cells = pd.concat(parts).drop(columns="step", errors="ignore")
    if values[0].said:
        cells = cells[cells[TIME].notna()].sort_index(kind="stable")
    columns |= {kind: FileColumn(_OF_HEADINGS, kind) for kind in values[0].said if kind in cells}
    heading = values[0].heading if len(values) == 1 else f"{len(values)} columns"
    columns[TIME] = FileColumn(heading, TIME, values[0].unit)
    return SheetRows(cells, columns, {RATE: True, TIME: False}.get(values[0].target))


def _ask_left(
    table: SheetTable, left: Mapping[str, Meaning], known: Mapping[str, str], dialogue: Dialogue
) -> dict[str, str]:
    """Ask about the columns that are not read; note those whose heading says nothing of the runs.

    known : what columns and headings say, by our name. Returns the headings of the columns that are probably
    one of ours, by our name; they are read so, for the questions that follow.
    """
    plain, assumed = list[str](), dict[str, str]()
    asked = {word.partition("=")[2] for word in dialogue.offered()}
    for heading, meaning in left.items():
        cells, have = table.cells[heading].dropna(), _have({**known, **assumed}, dialogue)
        # A percentage is no setting and no time.
        texts = [str(cell) for cell in cells.unique()[:_SAMPLE] if not str(cell).endswith("%")]
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
        # What may be a setting needs an answer by hand; results and names of single runs do not.
        is_count = _is_count(map(plain_text, texts))
        is_kind = 1 < len(texts) < len(cells) and not any(map(is_measured, texts))
        if not kind and not is_count and not is_kind and "time_s" in dialogue.answers.columns:
            plain.append(heading)
            continue
        only = choices("--only", texts[:6], f"{heading}=") if is_kind and not kind else ()
        ignore = choices("--ignore", [heading, CHOICE] if kind or is_count or is_kind else [heading])
        advice = "name it by --column OURS=YOURS, keep some of its rows by --only, or leave it out"
        ours = _names_of(kinds or asked_words(heading), texts, have, dialogue)
        assumed |= {name: heading for name in ours[:1] if len(ours) == 1}
        # A GPU or CNN whose name is not known, next to others that are.
        named = [name for name in ("gpu", "cnn") if known.get(name) == _OF_HEADINGS and _NAME.search(heading)]
        unknown = choices("--value", [f"{name}:{heading}={CHOICE}" for name in named])
        offered = choices("--column", [f"{name}={heading}" for name in ours])
        dialogue.ask("columns", f"{heading} {said}: {advice}", (*unknown, *offered, *ignore, *only))
    if plain:
        dialogue.notes.append(f"not read: {', '.join(plain)}")
    return assumed


def _is_count(texts: Iterable[str]) -> bool:
    """Return whether texts may be numbers of GPUs, nodes, steps or batches."""
    return all(text.isdecimal() and int(text) <= _MOST_COUNT for text in texts)


def _names_of(
    kinds: Iterable[str], texts: Sequence[str], have: set[str], dialogue: Dialogue
) -> tuple[str, ...]:
    """Return which of our columns one that is not known may be: one, or one of several switches."""
    words = {word for text in texts for word in re.findall("[a-z]+", text.lower())}
    ours = {
        **{kind: kind not in NUMBERS or all(map(is_measured, texts)) for kind in kinds},
        "gpu": 2 * sum(dialogue.names.is_name("gpu", text) for text in texts) > len(texts),
        "cnn": 2 * sum(dialogue.names.is_name("cnn", text) for text in texts) > len(texts),
        "framework": not words.isdisjoint(_FRAMEWORKS),
    }
    if own := next(
        (name for name, holds in ours.items() if holds and name in COLUMN_NAMES and name not in have), ""
    ):
        return (own,)
    return FLAGS[:4] if not kinds and set(map(plain_text, texts)) <= YES | NO else ()


def _have(known: Iterable[str], dialogue: Dialogue) -> set[str]:
    """Return our columns that a column or an answer is; a switch of a precision is one."""
    have = {*known, *dialogue.answers.constants}
    have |= {"n_gpus"} if "gpus_per_node" in have else set()
    return have | ({"precision"} if any(name.startswith(FLAG) for name in have) else set())


def _asked_of(heading: str, texts: Sequence[str], target: str, have: set[str]) -> dict[str, str]:
    """Return the words of a heading and its cells that may change the times, by kind."""
    allowed = _OF_IGNORED if target == IGNORED else set(_SAID)
    found = {kind: word for kind, word in asked_words(heading).items() if kind in allowed}
    is_switch = set(map(plain_text, texts)) <= YES | NO
    if target == "" and is_switch and precision_of(heading)[0]:
        found["precision"] = heading
    if not is_switch and all(map(is_measured, texts)):
        found.pop("mode", None)  # a number of another measurement
    for text in texts if target in ("", IGNORED) else ():
        if not is_number(text):
            found |= {**asked_words(text), **({"precision": text} if precision_of(text)[0] else {})}
    return {kind: word for kind, word in found.items() if kind not in have}


def _ask_lines(table: SheetTable, have: set[str], dialogue: Dialogue) -> None:
    """Ask about titles, notes and hidden rows that say something about the runs; note the others."""
    ignored, unread = dialogue.answers.ignored, list[str]()
    numbers = [int(number) for number in table.cells.index]
    for number, line in table.lines:
        name = f"row {number}" if number else "sheet"
        said = f"{name}, {shown(line)},"
        if name in ignored:
            continue
        # A footnote is of single cells, whatever the columns say.
        is_footnote = _MARK.match(line) is not None
        kinds = {kind: word for kind, word in asked_words(line).items() if is_footnote or kind not in have}
        kinds |= {"precision": line} if is_footnote and precision_of(line)[0] else {}
        sizes = [size for word in line.split() if "x" in word and (size := size_px(word)) >= 32]
        sizes += [size for name, size in _SIZES.items() if name in kinds.get("input_size_px", "")]
        if numbers[0] < number < numbers[-1]:
            below = [own for own in numbers if own > number]
            text = f"{said} stands above rows below it: read them by another command"
            options = (*choices("--skip-rows", [",".join(map(str, below))]), ("--ignore", name))
            dialogue.ask("columns", text, options, below)
        elif sizes and sizes[0] != 224.0 and "input_size_px" not in have:
            options = (("--set", f"input_size_px={sizes[0]:.0f}"), ("--ignore", name))
            dialogue.ask("question", f"{said} names a size of images", options)
        elif kinds:
            kind, word = next(iter(kinds.items()))
            text = f"{said} is not read, and may mean {_SAID[kind]} ({word}): does it change the times?"
            number_said = re.match(r"\d+", word) if kind == "n_gpus" else None
            counts = choices("--set", [number_said[0], "1"], "n_gpus=") if number_said else ()
            dialogue.ask("question", text, counts or choices("--ignore", [name, CHOICE]))
            if number_said:
                known = {**dialogue.answers.constants, "n_gpus": number_said[0]}
                dialogue.answers = replace(dialogue.answers, constants=known)
        elif number:
            unread.append(shown(line))
    if unread:
        dialogue.notes.append(f"not read: {'; '.join(unread)}"[:400])
    hidden = [str(number) for number in table.hidden if str(number) not in dialogue.answers.skipped_rows]
    if hidden and "hidden" not in ignored:
        options = (("--skip-rows", ",".join(hidden)), ("--ignore", "hidden"))
        dialogue.ask("cells", "hidden or struck-out rows: leave them out?", options, table.hidden)
