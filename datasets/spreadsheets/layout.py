"""The table in a sheet: its header of one or two lines, its rows, and what is above and below it."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from trainlaw.datasets.files.grids import Grid
from trainlaw.datasets.spreadsheets.quantities import parse_unit
from trainlaw.datasets.spreadsheets.vocabulary import IGNORED, read_heading

_SEARCHED_ROWS = 60
_LEAST_NAMES = 2
_UNITS_OF_OTHERS = frozenset("px pixel pixels gb gib mb w % - # n/a images img count text name [-] 1".split())
_SUMMARY = re.compile(
    r"(?:average|mean|median|total|sum|max|min|std|geomean|mittelwert|durchschnitt|summe|gesamt)\b[\s:]*",
    re.IGNORECASE,
)

Cells = tuple[object, ...]


@dataclass(frozen=True)
class SheetTable:
    """A table as a sheet has it.

    headings : one per column, each once; "column C" where the header is empty. groups : the header above
    each, "" without one. rows : cells below. numbers : of each row as spreadsheets count, from 1. texts :
    lines above the table. notes : what was left out, for the user. separator : as of `Grid`.
    """

    headings: tuple[str, ...]
    groups: tuple[str, ...]
    rows: tuple[Cells, ...]
    numbers: tuple[int, ...]
    texts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    separator: str = ""

    def column(self, heading: str) -> list[object]:
        """Return the cells below a heading."""
        place = self.headings.index(heading)
        return [row[place] for row in self.rows]


def find_table(grid: Grid, named: Collection[str] = ()) -> SheetTable | None:
    """Return the table of a sheet, None where no row has the names of at least two known columns.

    named : further names of columns, which the user gave.
    """
    scores = [_names_in(row, named) for row in grid.rows[:_SEARCHED_ROWS]]
    if max(scores, default=0) < _LEAST_NAMES:
        return None
    place = scores.index(max(scores))
    first, names, groups = _header(grid.rows, place)
    names = _without_comment_sign(names)
    headings = _distinct(names)
    first, headings = _with_units(grid.rows, first, headings)
    rows, numbers, notes = _body(grid.rows, first, place, named)
    above = [text for row in grid.rows[:place] for text in row if isinstance(text, str)]
    texts = tuple(text for text in above if text not in groups)
    if texts:
        notes.insert(0, f"above the table, not read: {'; '.join(texts)[:200]}")
    kept = [
        column for column, name in enumerate(names) if name or any(row[column] is not None for row in rows)
    ]
    return SheetTable(
        tuple(headings[column] for column in kept),
        tuple(groups[column] for column in kept),
        tuple(row if len(kept) == len(row) else tuple(row[column] for column in kept) for row in rows),
        tuple(numbers),
        texts,
        tuple(notes),
        grid.separator,
    )


def _names_in(row: Cells, named: Collection[str]) -> int:
    """Return how many different columns the texts of a row name."""
    texts = [cell for cell in row if isinstance(cell, str) and len(cell) < 100]
    known = {text for text in texts if text in named}
    known |= {_target(text) for text in texts if text not in named} - {"", IGNORED}
    return len(known)


@lru_cache(maxsize=10_000)
def _target(text: str) -> str:
    """Return what a text names as a heading, "" if nothing; most cells of a large table are numbers."""
    return read_heading(text).target if any(map(str.isalpha, text)) else ""


def _header(rows: Sequence[Cells], place: int) -> tuple[int, list[str], list[str]]:
    """Return the number of the first row below the header, the names of the columns and their groups."""
    top = [_text(cell) for cell in rows[place]]
    if place + 1 < len(rows) and _continues(rows[place], rows[place + 1]):
        below = [_text(cell) for cell in rows[place + 1]]
        groups = [group if name else "" for group, name in zip(_filled_on(top, below), below, strict=True)]
        return place + 2, [name or group for group, name in zip(top, below, strict=True)], groups
    above = rows[place - 1] if place else ()
    groups = [""] * len(top)
    filled = [column for column, cell in enumerate(above) if isinstance(cell, str)]
    if len(filled) > 1 or (filled and filled[0] > 0):
        groups = _filled_on([_text(cell) for cell in above], top)
    return place + 1, top, groups


def _text(cell: object) -> str:
    return "" if cell is None else str(cell)


def _filled_on(texts: Sequence[str], below: Sequence[str]) -> list[str]:
    """Return the texts of merged cells in each of their columns: a text holds until the next one."""
    found, last = [], ""
    for text, name in zip(texts, below, strict=True):
        last = text or (last if name else "")
        found.append(last)
    return found


def _continues(header: Cells, row: Cells) -> bool:
    """Return whether a row is the second line of a header: it names only columns of merged cells."""
    filled = [column for column, cell in enumerate(row) if cell is not None]
    merged = [column for column in filled if header[column] is None]
    if not merged or len(filled) < _LEAST_NAMES:
        return False
    in_groups = all(
        header[column] is None or (column + 1 < len(header) and header[column + 1] is None)
        for column in filled
    )
    # Columns that stand alone are merged with the line below, which is empty there.
    alone = [column for column, cell in enumerate(header) if cell is not None and column not in filled]
    return in_groups and bool(alone)


def _without_comment_sign(names: list[str]) -> list[str]:
    """Return the names; "# gpu" at the beginning of a script's header is "gpu"."""
    if not names[0].startswith("#"):
        return names
    plain = names[0].lstrip("# ")
    has_gpu = any(read_heading(name).target == "gpu" for name in names[1:])
    return [plain if plain and not has_gpu else names[0], *names[1:]]


def _distinct(names: Sequence[str]) -> list[str]:
    times = Counter(names)
    return [
        f"column {_letters(column)}"
        if not name
        else name
        if times[name] == 1
        else f"{name} [column {_letters(column)}]"
        for column, name in enumerate(names)
    ]


def _letters(column: int) -> str:
    """Return the letters of a column in a spreadsheet: 0 is A, 26 is AA."""
    first, last = divmod(column, 26)
    return (_letters(first - 1) if first else "") + chr(ord("A") + last)


def _with_units(rows: Sequence[Cells], first: int, headings: list[str]) -> tuple[int, list[str]]:
    """Return the first row of the body and the headings, with the units of a line of units below."""
    line = rows[first] if first < len(rows) else ()
    texts = {column: cell for column, cell in enumerate(line) if cell is not None}
    units = {column for column, cell in texts.items() if isinstance(cell, str) and parse_unit(cell)}
    others = all(
        str(cell).lower() in _UNITS_OF_OTHERS for column, cell in texts.items() if column not in units
    )
    if not units or not others:
        return first, headings
    return first + 1, [
        f"{name} ({texts[column]})" if column in units else name for column, name in enumerate(headings)
    ]


def _body(
    rows: Sequence[Cells], first: int, header: int, named: Collection[str]
) -> tuple[list[Cells], list[int], list[str]]:
    """Return the rows of the table, their numbers, and notes on rows that are none."""
    kept, numbers, left = [], [], dict[str, list[int]]()
    for number, row in enumerate(rows[first:], start=first + 1):
        filled = [cell for cell in row if cell is not None]
        if not filled:
            continue
        if row == rows[header]:
            left.setdefault("the header again", []).append(number)
        elif len(filled) == 1 and isinstance(filled[0], str) and len(rows[header]) > 1:
            left.setdefault("a note", []).append(number)
        elif isinstance(filled[0], str) and (_SUMMARY.fullmatch(filled[0]) or filled[0].startswith("#")):
            left.setdefault("a summary or comment", []).append(number)
        elif _names_in(row, named) > _LEAST_NAMES and not any(isinstance(cell, int | float) for cell in row):
            left.setdefault("another table, which needs a sheet or file for itself", []).append(number)
            break
        else:
            kept.append(row)
            numbers.append(number)
    return kept, numbers, [f"row {_listed(where)} not read: {what}" for what, where in left.items()]


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:6])) + (f" and {len(numbers) - 6} more" if len(numbers) > 6 else "")
