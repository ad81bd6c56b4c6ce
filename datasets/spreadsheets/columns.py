"""Which column of a spreadsheet is which of ours: what the user said, else what the headings mean."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from trainlaw.datasets.measurements.runs import RUN_COLUMNS
from trainlaw.datasets.spreadsheets.answers import Answers, Issue, choices
from trainlaw.datasets.spreadsheets.layout import SheetTable
from trainlaw.datasets.spreadsheets.quantities import Unit
from trainlaw.datasets.spreadsheets.vocabulary import (
    BATCH,
    CHECK,
    DATASET,
    FLAG,
    GLOBAL_BATCH,
    GPUS_PER_NODE,
    IGNORED,
    MODE,
    OTHER_TIME,
    RATE,
    TIME,
    Meaning,
    near_target,
    read_heading,
)
from trainlaw.formulas.errors import InputError, check_name, unknown_name

_SCHEMA = tuple(column.name for column in RUN_COLUMNS)
#: Names that --column and --set take.
OUR_NAMES = (*_SCHEMA, TIME, RATE, BATCH, GLOBAL_BATCH, GPUS_PER_NODE, MODE, DATASET)
_MEDIAN = re.compile(r"median|p50", re.IGNORECASE)
_BATCHES = (BATCH, "batch_per_gpu", GLOBAL_BATCH)


@dataclass(frozen=True)
class MappedColumn:
    """A column of the file that is read: its heading, our name of it, its unit, and whether it is a guess."""

    heading: str
    target: str
    unit: Unit | None = None
    is_guess: bool = True


def mapped_columns(
    table: SheetTable, answers: Answers, issues: list[Issue]
) -> tuple[dict[str, MappedColumn], list[str]]:
    """Return the columns that are read, by our name, and notes on the others; append to `issues`."""
    chosen = _stated(table, answers)
    taken = {column.heading for column in chosen.values()}
    meanings = {heading: _meaning(heading, table) for heading in table.headings if heading not in taken}
    if "cnn" not in {*chosen, *(meaning.target for meaning in meanings.values())}:
        # Among runs, "network" is the fabric; in a table without CNNs it is the CNN.
        meanings = {
            heading: Meaning("cnn") if heading.lower() == "network" else meaning
            for heading, meaning in meanings.items()
        }
    by_target: dict[str, list[str]] = {}
    for heading, meaning in meanings.items():
        by_target.setdefault(_joint(meaning.target), []).append(heading)
    left = {heading: "" for target in ("", IGNORED, OTHER_TIME) for heading in by_target.pop(target, [])}
    for target, headings in by_target.items():
        if target in chosen or target in answers.constants or (target == TIME and _has_time(chosen)):
            left |= dict.fromkeys(headings, "another column was named")
            continue
        best = _best(target, headings, meanings, issues)
        left |= dict.fromkeys((heading for heading in headings if heading != best), f"{best} is read instead")
        found = meanings[best]
        if target == TIME and (other := _other_measure(best, headings, meanings)):
            chosen[CHECK] = MappedColumn(other, CHECK, meanings[other].unit)
            left.pop(other)
        chosen[found.target] = MappedColumn(best, found.target, found.unit, not found.is_exact)
    return chosen, _left_notes(left, meanings, chosen, issues)


def _stated(table: SheetTable, answers: Answers) -> dict[str, MappedColumn]:
    chosen = {}
    for ours, heading in answers.columns.items():
        check_name("column", ours, OUR_NAMES)
        if heading not in table.headings:
            raise InputError(f"--column {ours}={heading}: {unknown_name('column', heading, table.headings)}")
        unit = _meaning(heading, table).unit
        target = (RATE if unit and unit.is_rate else TIME) if ours in ("time_s", TIME, RATE) else ours
        chosen[target] = MappedColumn(heading, target, unit, is_guess=False)
    return chosen


def _meaning(heading: str, table: SheetTable) -> Meaning:
    """Return what a heading means, read together with the header above it where it means nothing alone."""
    meaning = read_heading(re.sub(r" \[column [A-Z]+\]$", "", heading))
    place = table.headings.index(heading)
    if heading == "#" and place and read_heading(table.headings[place - 1]).target == "gpu":
        # MLPerf's tables have the number of accelerators next to their name.
        return Meaning("n_gpus")
    group = table.groups[place]
    if not group:
        return replace(meaning, target=TIME) if meaning.target == "time_s" else meaning
    together = read_heading(f"{group} {heading}")
    if together.target in (OTHER_TIME, IGNORED) and meaning.unit is not None:
        return together
    return meaning if meaning.target else together


def _joint(target: str) -> str:
    """Return one name for the targets of which only one is read: the time, as time or throughput."""
    return TIME if target in (RATE, "time_s") else target


def _has_time(chosen: Mapping[str, MappedColumn]) -> bool:
    return bool({TIME, RATE} & set(chosen))


def _best(target: str, headings: list[str], meanings: Mapping[str, Meaning], issues: list[Issue]) -> str:
    """Return the heading that a column is read from; append an issue where several are as likely."""

    def rank(heading: str) -> tuple[bool, ...]:
        meaning = meanings[heading]
        is_rate = meaning.target == RATE
        return (
            not meaning.is_exact, meaning.is_weak, target == TIME and meaning.unit is None, is_rate,
            _MEDIAN.search(heading) is None, not meaning.is_average and _MEDIAN.search(heading) is not None,
        )  # fmt: skip

    ordered = sorted(headings, key=rank)
    equal = [heading for heading in ordered if rank(heading) == rank(ordered[0])]
    if len(equal) > 1:
        ours = "time_s" if target == TIME else target.removeprefix(FLAG)
        issues.append(
            Issue(
                "question",
                f"the columns {', '.join(equal)} may all be {ours}: which one is it?",
                options=choices("--column", equal, f"{ours}="),
            )
        )
    return ordered[0]


def _other_measure(best: str, headings: list[str], meanings: Mapping[str, Meaning]) -> str:
    """Return the only throughput in images next to a time, or time next to a throughput; "" without one."""
    own = meanings[best].unit
    others = [heading for heading in headings if own is not None and _is_other(meanings[heading], own)]
    return others[0] if len(others) == 1 else ""


def _is_other(meaning: Meaning, own: Unit) -> bool:
    return meaning.unit is not None and meaning.unit.is_rate != own.is_rate and not meaning.is_weak


def _left_notes(
    left: Mapping[str, str],
    meanings: Mapping[str, Meaning],
    chosen: Mapping[str, MappedColumn],
    issues: list[Issue],
) -> list[str]:
    """Return notes on the columns that are not read; append an issue for a name that resembles one."""
    plain, notes = [], []
    has_batch = bool(set(_BATCHES) & set(chosen))
    for heading, reason in left.items():
        target = near_target(heading) if not meanings[heading].target else ""
        if not target or reason:
            plain.append(f"{heading} ({reason})" if reason else heading)
        elif (
            target in chosen
            or (target in _BATCHES and has_batch)
            or (_joint(target) == TIME and _has_time(chosen))
        ):
            notes.append(f"not read: {heading}; it resembles {target}, which is another column")
        else:
            ours = "time_s" if _joint(target) == TIME else target
            text = f"the column {heading!r} is not known; is it {ours}?"
            issues.append(Issue("columns", text, options=(("--column", f"{ours}={heading}"),)))
    if plain:
        notes.insert(0, f"not read: {', '.join(plain)}")
    return notes
