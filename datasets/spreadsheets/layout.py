"""The table of a sheet that is read: its headings in one line, its rows, and the texts around it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd
from trainlaw.datasets.files.grids import Grid
from trainlaw.datasets.files.numbers import is_number
from trainlaw.datasets.spreadsheets.answers import Dialogue, Label, choices
from trainlaw.datasets.spreadsheets.headings import IGNORED, read_heading
from trainlaw.formulas.errors import InputError, shown, unknown_name

_RANGE = re.compile(r"([A-Z]{1,3})(\d{1,6}):([A-Z]{1,3})(\d{1,6})")
_MOST_LEVELS, _MOST_ABOVE = 3, 8  # lines of a header, and rows of something else above it
_Numbered = tuple[int, tuple[object, ...]]


@dataclass(frozen=True)
class SheetTable:
    """A table in a sheet.

    cells : by heading, indexed by the label of their row. parts : lines of each heading from above to below.
    places : of the columns in the sheet. numbers : of the rows; header : of the first line of the header.
    lines : texts above, within and below, by row. hidden : numbers of hidden and struck-out rows.
    """

    sheet: str
    cells: pd.DataFrame
    parts: tuple[tuple[str, ...], ...]
    places: tuple[int, ...]
    numbers: tuple[int, ...]
    header: int
    lines: tuple[tuple[int, str], ...]
    hidden: tuple[int, ...]
    separator: str

    @property
    def headings(self) -> tuple[str, ...]:
        """The heading of each column in one line."""
        return tuple(map(str, self.cells))


def tables_of(grids: Mapping[str, Grid], dialogue: Dialogue, path: object) -> list[SheetTable]:
    """Return the table that is read, or one of each sheet; ask which where several may be meant."""
    answers = dialogue.answers
    if answers.sheet and answers.sheet not in grids:
        raise InputError(f"--sheet: {unknown_name('sheet', answers.sheet, grids)}")
    wanted = {answers.sheet: grids[answers.sheet]} if answers.sheet else grids
    found = {sheet: _tables(sheet, grid, dialogue) for sheet, grid in wanted.items()}
    found = {sheet: tables for sheet, tables in found.items() if tables}
    if not found:
        first = next((row for grid in wanted.values() for row in grid.rows if any(row)), ())
        cells = ", ".join(str(cell) for cell in first if cell is not None)
        raise InputError(
            f"{path}: expected a row with names of columns (GPU, model, batch size, time) and rows below, "
            f"got {shown(cells) if cells else 'an empty table'}; add such a row, or name your columns, "
            "such as --column gpu=NAME"
        )
    if len(found) > 1 and not answers.sheets_are:
        kinds = [kind for kind in ("gpu", "cnn") if all(dialogue.names.is_name(kind, own) for own in found)]
        text = f"the file has {len(found)} sheets with tables ({', '.join(found)[:80]}): which one is read?"
        dialogue.ask("columns", text, (*choices("--sheets-are", kinds[:1]), *choices("--sheet", found)))
        found = dict([next(iter(found.items()))])
    return [_left_half(_chosen(sheet, tables, dialogue), dialogue) for sheet, tables in found.items()]


def _chosen(sheet: str, tables: list[SheetTable], dialogue: Dialogue) -> SheetTable:
    number = dialogue.answers.table
    if number > len(tables):
        raise InputError(f"--table: expected at most {len(tables)}, got {number}")
    if len(tables) > 1 and not number and not dialogue.answers.area:
        starts = ", ".join(f"{place} at row {table.header}" for place, table in enumerate(tables, start=1))
        where = f"sheet {sheet}" if sheet else "the file"
        options = choices("--table", map(str, range(1, len(tables) + 1)))
        dialogue.ask("columns", f"{where} has {len(tables)} tables: which one is read ({starts})?", options)
    return tables[max(number - 1, 0)]


def _left_half(table: SheetTable, dialogue: Dialogue) -> SheetTable:
    """Return a table; its left half, with an issue, where two stand side by side."""
    headings, places = table.headings, table.places
    twice = [place for place, text in enumerate(headings) if text in headings[:place]]
    gaps = [place for place in range(1, len(places)) if places[place] > places[place - 1] + 1]
    if not twice and not gaps:
        return table
    # A gap before the repeated heading parts the tables.
    start = next((place for place in gaps if not twice or place <= twice[0]), 0)
    start = start or twice[0] - headings.index(headings[twice[0]])
    halves = places[:start], places[start:]
    rows = f"{table.header}:{{}}{table.numbers[-1]}"
    areas = [f"{_letters(half[0])}{rows.format(_letters(half[-1]))}" for half in halves]
    said = f"the headings {', '.join(dict.fromkeys(headings[own] for own in twice))[:80]} stand twice"
    text = f"{said if twice else 'an empty column parts the table'}: are two tables side by side?"
    dialogue.ask("columns", text, choices("--range", areas))
    return replace(table, cells=table.cells.iloc[:, :start], parts=table.parts[:start], places=halves[0])


def _tables(sheet: str, grid: Grid, dialogue: Dialogue) -> list[SheetTable]:
    """Return the tables of a sheet from above to below, each with the lines of text around it."""
    top, left, bottom, right = _bounds(grid, dialogue.answers.area)
    starts, lines, gap = list[list[_Numbered]](), list[tuple[int, str]](), True
    for number in range(top, bottom + 1):
        row = grid.rows[number][left : right + 1]
        filled = [cell for cell in row if cell is not None]
        if len(filled) == 1 and right > left and not is_measured(filled[0]) and (gap or not starts):
            lines.append((number + 1, str(filled[0])))
            continue
        texts = [cell for cell in filled if isinstance(cell, str) and not is_number(cell)]
        is_header = len(texts) == len(filled) > 1 and any(read_heading(text).target for text in texts)
        if filled and (not starts or row == starts[-1][0][1] or (gap and is_header)):
            starts.append([])
        if filled:
            starts[-1].append((number + 1, row))
        gap = not filled
    made = (_table(sheet, grid, left, rows, dialogue) for rows in starts)
    tables = [table for table in made if table is not None and len(table.cells)]
    ends = [*(table.header for table in tables[1:]), bottom + 2]
    firsts = [0, *(table.numbers[-1] for table in tables)]
    return [
        replace(table, lines=(*table.lines, *_around(table, lines, first, end)))
        for table, first, end in zip(tables, firsts, ends, strict=False)
    ]


def _around(
    table: SheetTable, lines: Sequence[tuple[int, str]], first: int, end: int
) -> list[tuple[int, str]]:
    """Return the lines between two rows, without headings of Markdown below the table: those of the next."""
    inside = [line for line in lines if first < line[0] < end]
    return [line for line in inside if line[0] < table.header or not line[1].startswith("#")]


def _table(sheet: str, grid: Grid, left: int, rows: list[_Numbered], dialogue: Dialogue) -> SheetTable | None:
    """Return the table of these rows, whose header is the one near the top with the most known headings."""
    scores = [_known(row, dialogue) for _, row in rows[:_MOST_ABOVE]]
    if not max(scores):
        return None
    start = end = scores.index(max(scores))
    while end + 2 < len(rows) and end - start + 1 < _MOST_LEVELS and _is_lower(rows, end):
        end += 1
    start -= int(start > 0 and _spans(rows[start - 1][1], rows[start][1]))
    header = [row for _, row in rows[start : end + 1]]
    if grid.separator.startswith("\\s") and header[0][-1] is None:
        # A printed table has no heading above its index.
        header = [(None, *row[:-1]) for row in header]
    width = range(len(header[0]))
    used = [place for place in width if any(row[place] is not None for _, row in rows[start:])]
    spread = [_spread(row, lower) for row, lower in zip(header, [*header[1:], header[-1]], strict=True)]
    parts = tuple(tuple(str(row[place]) for row in spread if row[place] is not None) for place in used)
    headings = [
        " ".join(dict.fromkeys(part)) or f"column {_letters(left + place)}"
        for part, place in zip(parts, used, strict=True)
    ]
    body, aside = _body(rows[end + 1 :], header[-1])
    above = [(number, " ".join(str(own) for own in row if own is not None)) for number, row in rows[:start]]
    numbers = tuple(number for number, _ in body)
    prefix = f"{sheet}!" if dialogue.answers.sheets_are else ""
    labels: list[Label] = [f"{prefix}{number}" if prefix else number for number in numbers]
    cells = pd.DataFrame([[row[place] for place in used] for _, row in body], labels, headings, dtype=object)
    struck = {number for number, row in body if any(str(cell).startswith("~~") for cell in row)}
    hidden = tuple(number for number in numbers if number in struck.union(grid.hidden))
    places = tuple(left + place for place in used)
    lines = (*above, *aside)
    return SheetTable(sheet, cells, parts, places, numbers, rows[start][0], lines, hidden, grid.separator)


def _known(row: tuple[object, ...], dialogue: Dialogue) -> int:
    """Return how many cells of a row are known headings, or name what the columns of times are of."""
    filled = [cell for cell in row if cell is not None]
    texts = [cell for cell in filled if isinstance(cell, str) and not is_number(cell)]
    own, kinds = dialogue.answers.columns.values(), dialogue.answers.columns_are or ("gpu", "cnn")
    targets = ["own" if text in own else read_heading(text).target for text in texts]
    known = [target for target in targets if target]
    named = sum(any(dialogue.names.is_name(kind, text) for kind in kinds) for text in texts[:9])
    # A row of results has names, too.
    is_header = any(target != IGNORED for target in known) or len(texts) == len(filled)
    return len(known) + named if is_header else 0


def _body(rows: list[_Numbered], header: Sequence[object]) -> tuple[list[_Numbered], list[tuple[int, str]]]:
    """Return the rows below a header, and the single texts among them that name nothing of those below."""
    body, aside = list[_Numbered](), list[tuple[int, str]]()
    for (number, row), below in zip(rows, [*(row for _, row in rows[1:]), None], strict=False):
        filled = [place for place, cell in enumerate(row) if cell is not None]
        is_text = len(filled) == 1 < len(row) and not is_measured(row[filled[0]])
        heads = is_text and read_heading(str(header[filled[0]])).target in ("gpu", "cnn")
        if is_text and not (heads and below is not None and below[filled[0]] is None):
            aside.append((number, str(row[filled[0]])))
        else:
            body.append((number, row))
    return body, aside


def _spans(upper: Sequence[object], lower: Sequence[object]) -> bool:
    """Return whether a row is a line of the header that stands above groups of the columns below."""
    named = [cell for cell in upper if cell is not None]
    bare = sum(one is None and other is not None for one, other in zip(upper, lower, strict=True))
    return upper[0] is None and 0 < len(named) <= bare and not any(map(is_measured, named))


def _is_lower(rows: Sequence[_Numbered], end: int) -> bool:
    """Return whether the row below a header is another line of it: what groups of its columns are."""
    (_, row), (_, below), (_, after) = rows[end : end + 3]
    pairs = list(zip(row, below, strict=True))
    bare = any(one is None and other is not None for one, other in pairs)
    whole = [place for place, (one, other) in enumerate(pairs) if one is not None and other is None]
    named = [cell for cell in row if cell is not None]
    return (bare or len(set(named)) < len(named)) and bool(whole) and after[whole[0]] is not None


def _spread(row: Sequence[object], below: Sequence[object]) -> list[object]:
    """Return a line of the header with each text above groups of columns in all of them."""
    found: list[object] = []
    for cell, under in zip(row, below, strict=True):
        found.append(cell if cell is not None or under is None or not found else found[-1])
    return found


def is_measured(cell: object) -> bool:
    """Return whether a cell begins with a number."""
    return isinstance(cell, int | float) or re.match(r"[~≈+-]?\s*\d", str(cell)) is not None


def _letters(place: int) -> str:
    """Return what spreadsheets call a column.

    >>> _letters(0), _letters(27)
    ('A', 'AB')
    """
    return (_letters(place // 26 - 1) if place > 25 else "") + chr(65 + place % 26)


def _bounds(grid: Grid, area: str) -> tuple[int, int, int, int]:
    """Return the first row and column and the last ones, from 0, of cells such as B4:H20."""
    if not area:
        return 0, 0, len(grid.rows) - 1, max(grid.width - 1, 0)
    if (match := _RANGE.fullmatch(area.upper())) is None:
        raise InputError(f"--range: expected cells such as B4:H20, got {shown(area)}")
    places = {_letters(place): place for place in range(grid.width)}
    left, right = places.get(match[1]), places.get(match[3], grid.width - 1)
    top, bottom = int(match[2]) - 1, min(int(match[4]), len(grid.rows)) - 1
    if left is None or left > right or not 0 <= top <= bottom:
        raise InputError(f"--range: {shown(area)} holds no cells of the table")
    return top, left, bottom, right
