"""The table of a sheet that is read: its headings in one line, its rows, and the texts around it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd
from trainlaw.datasets.files.grids import Grid
from trainlaw.datasets.files.numbers import is_number
from trainlaw.datasets.logs.training_log import TrainingLog
from trainlaw.datasets.spreadsheets.answers import Dialogue, choices
from trainlaw.datasets.spreadsheets.headings import IGNORED, read_heading
from trainlaw.formulas.errors import InputError, shown, unknown_name

_RANGE = re.compile(r"([A-Z]{1,3})(\d{1,6}):([A-Z]{1,3})(\d{1,6})")
#: What --columns-are takes where each column but the first is a run.
RUNS = "run"
_FEWEST_HEADINGS = 3
_MOST_LEVELS, _MOST_ABOVE = 3, 8  # lines of a header, and rows of something else above it
_Cells = tuple[object, ...]
_Numbered = tuple[int, _Cells]


@dataclass(frozen=True)
class SheetTable:
    """A table in a sheet.

    cells : by heading, indexed by the numbers of the rows. parts : lines of each heading from above to below.
    places : of the columns in the sheet. header : number of the first line of the header. lines : texts
    above, within and below, by row. hidden : numbers of hidden and struck-out rows.
    """

    sheet: str
    cells: pd.DataFrame
    parts: tuple[tuple[str, ...], ...]
    places: tuple[int, ...]
    header: int
    lines: tuple[tuple[int, str], ...]
    hidden: tuple[int, ...]
    separator: str


def table_of_log(log: TrainingLog, dialogue: Dialogue) -> SheetTable:
    """Return a log as a table of one row; InputError for one that the user contradicts."""
    for name, text in dialogue.answers.constants.items():
        if log.row.get(name) is not None:
            raise InputError(
                f"{name} is {log.row[name]} in the log, got {shown(text)}; leave out --set {name}"
            )
    dialogue.notes += log.notes
    headings = [*log.row]
    cells = pd.DataFrame([[*log.row.values()]], [1], headings, dtype=object)
    parts, places = tuple((own,) for own in headings), tuple(range(len(headings)))
    return SheetTable("", cells, parts, places, 1, (), (), "")


def tables_of(grids: Mapping[str, Grid], dialogue: Dialogue, path: object) -> list[SheetTable]:
    """Return the table that is read, or one of each sheet; ask which where several may be meant."""
    answers = dialogue.answers
    if answers.sheet and answers.sheet not in grids:
        raise InputError(f"--sheet: {unknown_name('sheet', answers.sheet, grids)}")
    wanted = {answers.sheet: grids[answers.sheet]} if answers.sheet else grids
    wanted = {sheet: _upright(grid, dialogue) for sheet, grid in wanted.items()}
    dialogue.answers = replace(answers, columns_are=tuple(own for own in answers.columns_are if own != RUNS))
    found = {sheet: tables for sheet, grid in wanted.items() if (tables := _tables(sheet, grid, dialogue))}
    if not found:
        first = next((_joined(row, ", ") for grid in wanted.values() for row in grid.rows if any(row)), "")
        raise InputError(
            f"{path}: expected a row with names of columns (GPU, model, batch size, time) and rows below, "
            f"got {shown(first) if first else 'an empty table'}; add such a row, or name your columns, such "
            "as --column gpu=NAME"
        )
    if len(found) > 1 and not answers.sheets_are:
        kinds = [kind for kind in ("gpu", "cnn") if all(dialogue.names.is_name(kind, own) for own in found)]
        text = f"the file has {len(found)} sheets with tables ({', '.join(found)[:80]}): which one is read?"
        dialogue.ask("columns", text, choices("--sheets-are", kinds[:1]) or choices("--sheet", found))
        if kinds:
            dialogue.answers = replace(dialogue.answers, sheets_are=kinds[0])
        else:
            found = dict([next(iter(found.items()))])
    return [_left_half(_chosen(tables, dialogue), dialogue) for tables in found.values()]


def _upright(grid: Grid, dialogue: Dialogue) -> Grid:
    """Return the cells with a row per run, where the headings stand below each other; ask about it once."""
    rows = [row for row in grid.rows if sum(cell is not None for cell in row) > 1]
    known = {_target(row[0]) for row in rows if _is_text(row[0])} - {"", IGNORED}
    if RUNS not in dialogue.answers.columns_are:
        if len(known) < _FEWEST_HEADINGS or len(known) <= len(set(map(_target, rows[0])) - {"", IGNORED}):
            return grid
        text = "the headings are in the first column: is each other column a run?"
        dialogue.ask("columns", text, (("--columns-are", RUNS),))
    return replace(grid, rows=tuple(zip(*rows, strict=True)), hidden=())


def _joined(row: Iterable[object], mark: str = " ") -> str:
    return mark.join(str(cell) for cell in row if cell is not None)


def _chosen(tables: Sequence[SheetTable], dialogue: Dialogue) -> SheetTable:
    """Return the table of a sheet that is read."""
    number = dialogue.answers.table
    if number > len(tables):
        raise InputError(f"--table: expected at most {len(tables)}, got {number}")
    if len(tables) > 1 and not number and not dialogue.answers.area:
        starts = ", ".join(f"{place} at row {table.header}" for place, table in enumerate(tables, start=1))
        options = choices("--table", map(str, range(1, len(tables) + 1)))
        dialogue.ask("columns", f"there are {len(tables)} tables: which one is read ({starts})?", options)
    return tables[max(number - 1, 0)]


def _left_half(table: SheetTable, dialogue: Dialogue) -> SheetTable:
    """Return a table; its left half, with an issue, where two stand side by side."""
    headings, places = [*map(str, table.cells)], table.places
    gaps = [place for place in range(1, len(places)) if places[place] > places[place - 1] + 1]
    first = {text: place for place, text in reversed([*enumerate(headings)])}
    again = [place for place, text in enumerate(headings) if place > first[text]]
    # One heading twice is a column too many, several are those of a second table.
    starts = gaps + ([place - first[headings[place]] for place in again] if len(again) > 1 else again)
    if not starts:
        return table
    left, right = places[: min(starts)], places[min(starts) :]
    rows = f"{table.header}:{{}}{table.cells.index[-1]}"
    areas = [f"{_letters(half[0])}{rows.format(_letters(half[-1]))}" for half in (left, right)]
    twice = ", ".join(text for text in first if headings.count(text) > 1)[:80]
    why = f"the headings {twice} stand twice" if twice else "an empty column parts the table"
    dialogue.ask("columns", f"{why}: are two tables side by side?", choices("--range", areas))
    cells = table.cells.iloc[:, : len(left)]
    return replace(table, cells=cells, parts=table.parts[: len(left)], places=left)


def _tables(sheet: str, grid: Grid, dialogue: Dialogue) -> list[SheetTable]:
    """Return the tables of a sheet from above to below, each with the lines of text around it."""
    top, left, bottom, right = _bounds(grid, dialogue.answers.area)
    above = [(number + 1, [*filter(None, row)]) for number, row in enumerate(grid.rows[:top])]
    # A title of the sheet is that of any part of it.
    lines = [(number, str(texts[0])) for number, texts in above if len(texts) == 1]
    blocks, after_gap = list[list[_Numbered]](), True
    for number in range(top, bottom + 1):
        row = grid.rows[number][left : right + 1]
        filled = [cell for cell in row if cell is not None]
        if len(filled) == 1 and right > left and _is_text(filled[0]) and (after_gap or not blocks):
            lines.append((number + 1, str(filled[0])))
            continue
        if filled and (not blocks or row == blocks[-1][0][1] or (after_gap and _is_header(filled))):
            blocks.append([])
        if filled:
            blocks[-1].append((number + 1, row))
        after_gap = not filled
    tables = []
    for rows in blocks:
        table = _table(sheet, grid, left, rows, dialogue)
        if table is not None and len(table.cells):
            tables.append(table)
        else:
            lines += [(number, _joined(row)) for number, row in rows]
    firsts = [0, *(table.cells.index[-1] for table in tables)]
    ends = [*(table.header for table in tables[1:]), bottom + 2]
    bounds = zip(tables, firsts, ends, strict=False)
    return [replace(own, lines=(*own.lines, *_around(own, lines, low, high))) for own, low, high in bounds]


def _around(
    table: SheetTable, lines: Iterable[tuple[int, str]], low: int, high: int
) -> list[tuple[int, str]]:
    """Return the lines between two rows, without headings of Markdown below the table: those of the next."""
    inside = [line for line in lines if low < line[0] < high]
    return [line for line in inside if line[0] < table.header or not line[1].startswith("#")]


def _is_header(filled: Sequence[object]) -> bool:
    return len(filled) > 1 and all(map(_is_text, filled)) and any(map(_target, filled))


def _is_text(cell: object) -> bool:
    return isinstance(cell, str) and not is_number(cell)


def _target(cell: object) -> str:
    return read_heading(str(cell)).target


def _table(sheet: str, grid: Grid, left: int, rows: list[_Numbered], dialogue: Dialogue) -> SheetTable | None:
    """Return the table of these rows, None where they have no header."""
    start = end = _first_header(rows, dialogue)
    if start < 0:
        return None
    while end + 2 < len(rows) and end - start + 1 < _MOST_LEVELS and _is_lower(*rows[end : end + 3]):
        end += 1
    above = rows[start - 1][1] if start else (0,)
    start -= int(above[0] is None and not any(map(is_measured, filter(None, above))))
    header = [list(row) for _, row in rows[start : end + 1]]
    if grid.separator.startswith("\\s") and header[0][-1] is None:
        # A printed table has no heading above its index.
        header = [[None, *row[:-1]] for row in header]
    used = [
        place for place in range(len(header[0])) if any(row[place] is not None for _, row in rows[start:])
    ]
    for upper, lower in zip(header, [*header[1:], header[-1]], strict=True):
        for place in used[1:]:
            # A text above a group of columns is that of each of them.
            if upper[place] is None and lower[place] is not None:
                upper[place] = upper[place - 1]
    parts = tuple(tuple(str(row[place]) for row in header if row[place] is not None) for place in used)
    places = tuple(left + place for place in used)
    headings = [
        " ".join(dict.fromkeys(part)) or f"column {_letters(place)}"
        for part, place in zip(parts, places, strict=True)
    ]
    body, aside = _body(rows[end + 1 :], header[-1])
    numbers = [number for number, _ in body]
    cells = pd.DataFrame([[row[own] for own in used] for _, row in body], numbers, headings, dtype=object)
    is_markdown = grid.separator == "|"
    struck = {number for number, row in body if is_markdown and any(str(cell)[:2] == "~~" for cell in row)}
    hidden = tuple(number for number in numbers if number in struck.union(grid.hidden))
    # The name of a sheet is a title of it.
    lines = (
        *(((0, sheet),) if sheet else ()),
        *((number, _joined(row)) for number, row in rows[:start]),
        *aside,
    )
    return SheetTable(sheet, cells, parts, places, rows[start][0], lines, hidden, grid.separator)


def _first_header(rows: Sequence[_Numbered], dialogue: Dialogue) -> int:
    """Return the place of the row near the top with the most known headings, -1 where none has any."""
    for kinds in ({"gpu", "cnn"} & {*(dialogue.answers.columns_are or ("gpu", "cnn"))}, {"batch"}):
        scores = [_known(row, kinds, dialogue) for _, row in rows[:_MOST_ABOVE]]
        if max(scores):
            return scores.index(max(scores))
    return -1


def _known(row: _Cells, kinds: Iterable[str], dialogue: Dialogue) -> int:
    """Return how many cells of a row are known headings, or name what the columns of times are of."""
    filled = [cell for cell in row if cell is not None]
    texts = [str(cell) for cell in filled if _is_text(cell)]
    own = dialogue.answers.columns.values()
    known = [target for text in texts if (target := "own" if text in own else _target(text))]
    named = sum(any(dialogue.names.says(kind, text) for kind in kinds) for text in texts[:9])
    # A row of results has names, too.
    is_header = any(target != IGNORED for target in known) or len(texts) == len(filled)
    return len(known) + named if is_header else 0


def _body(
    rows: Sequence[_Numbered], header: Sequence[object]
) -> tuple[list[_Numbered], list[tuple[int, str]]]:
    """Return the rows below a header, and the single texts among them that name nothing of those below."""
    body, aside = list[_Numbered](), list[tuple[int, str]]()
    for place, (number, row) in enumerate(rows):
        below = rows[place + 1][1] if place + 1 < len(rows) else row
        filled = [column for column, cell in enumerate(row) if cell is not None]
        is_text = len(filled) == 1 < len(row) and not is_measured(row[filled[0]])
        if is_text and not (_target(header[filled[0]]) in ("gpu", "cnn") and below[filled[0]] is None):
            aside.append((number, str(row[filled[0]])))
        else:
            body.append((number, row))
    return body, aside


def _is_lower(upper: _Numbered, row: _Numbered, after: _Numbered) -> bool:
    """Return whether a row below a line of the header is another line of it, and not of the body.

    It has an empty cell below the first heading, and a filled one below that; numbers head groups of columns.
    """
    first = next(place for place, cell in enumerate(upper[1]) if cell is not None)
    bare = any(one is None and other is not None for one, other in zip(upper[1], row[1], strict=True))
    is_text = not any(is_measured(cell) for cell in row[1] if cell is not None)
    return row[1][first] is None and after[1][first] is not None and (bare or is_text)


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
