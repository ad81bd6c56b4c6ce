"""Tables of a sheet with their headers in one line, and columns that hold runs side by side."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from trainlaw.datasets.files.grids import Grid
from trainlaw.datasets.files.numbers import is_number
from trainlaw.datasets.spreadsheets import fields
from trainlaw.datasets.spreadsheets.answers import SheetAnswers
from trainlaw.datasets.spreadsheets.headings import read_heading
from trainlaw.datasets.spreadsheets.known_names import Names
from trainlaw.datasets.spreadsheets.lines import read_line
from trainlaw.datasets.spreadsheets.quantities import TimeUnit, parse_unit
from trainlaw.datasets.spreadsheets.values import PRECISION_WORDS, SPELLINGS, is_unmeasured, precision_of
from trainlaw.datasets.spreadsheets.words import groups, patterns
from trainlaw.formulas.errors import InputError, shown, unknown_name

#: What --columns-are takes: what the headings of columns of times name.
PIVOTS = ("gpu", "cnn", "batch", "precision", "n_gpus", "layout", "compilation", "step")
_SUMMARY, _AROUND = (frozenset(groups("other")[name]) for name in ("summary", "around_summary"))
_RANGE = re.compile(r"([A-Z]{1,3})(\d{1,6}):([A-Z]{1,3})(\d{1,6})")
_STEP = re.compile(r"(?:(?:steps?|iter\w*|schritt|run|rep\w*|#|t)[\s_.#-]*)?(\d{1,6})", re.IGNORECASE)
_BATCH = re.compile(
    r"(?:(?:mini-?)?batch(?:[\s_-]*(?:size|größe))?|bs|bsz|b)?[\s_=:]*(\d{1,5})", re.IGNORECASE
)
_N_GPUS = re.compile(r"(\d{1,4})\s*[x\u00d7]?\s*(?:gpus?)?", re.IGNORECASE)
_COUNTED = {"batch": _BATCH, "n_gpus": _N_GPUS, "step": _STEP}
_RATIO = re.compile(r"%|\bvs\b|\bratio|\brelative|speed-?up|\bscaling", re.IGNORECASE)
_NO_UNIT = re.compile(r"[-\u2013]|[(\[].*[)\]]")  # in a line of units
_PRECISION_WORD = re.compile(r"[^\s,;|()\[\]/]+")
_MOST_ABOVE = 8  # rows above the header of a table that may hold something else
_MOST_LEVELS = 3  # of a header


@dataclass(frozen=True)
class SheetTable:
    """A table in a sheet.

    parts : texts of each column's header from above to below, with the place of the column in the sheet.
    rows : cells of the columns, row by row; numbers : of the rows in the sheet. header : number of the last
    line of the header. lines : texts next to the table by their row. hidden : numbers of hidden rows.
    """

    sheet: str
    parts: tuple[tuple[str, ...], ...]
    places: tuple[int, ...]
    rows: tuple[tuple[object, ...], ...]
    numbers: tuple[int, ...]
    header: int
    lines: tuple[tuple[int, str], ...]
    hidden: tuple[int, ...]
    separator: str

    @property
    def headings(self) -> tuple[str, ...]:
        """The heading of each column in one line, "column C" where it has none."""
        found = (" ".join(dict.fromkeys(part for part in parts if part)) for parts in self.parts)
        return tuple(
            text or f"column {letters(place)}" for text, place in zip(found, self.places, strict=True)
        )

    @property
    def area(self) -> str:
        """The cells of the table as --range takes them."""
        first, last = letters(self.places[0]), letters(self.places[-1])
        return f"{first}{self.header}:{last}{self.numbers[-1] if self.numbers else self.header}"


@dataclass(frozen=True)
class ValueColumn:
    """A column whose heading says what its times are of: texts by our column, unit, whether it is a rate."""

    place: int
    said: Mapping[str, str]
    unit: TimeUnit | None
    is_rate: bool | None


def letters(place: int) -> str:
    """Return what spreadsheets call a column.

    >>> letters(0), letters(27)
    ('A', 'AB')
    """
    text = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        text = chr(65 + rest) + text
    return text


def _place(text: str) -> int:
    place = 0
    for letter in text:
        place = 26 * place + ord(letter) - 64
    return place - 1


def sheets_of(grids: Mapping[str, Grid], answers: SheetAnswers) -> Mapping[str, Grid]:
    """Return the sheets that the user wants; InputError for one that is none."""
    if answers.sheet and answers.sheet not in grids:
        raise InputError(f"--sheet: {unknown_name('sheet', answers.sheet, grids)}")
    return {answers.sheet: grids[answers.sheet]} if answers.sheet else grids


def find_tables(sheet: str, grid: Grid, answers: SheetAnswers, names: Names) -> list[SheetTable]:
    """Return the tables of a sheet, from above to below."""
    top, left, bottom, right = _bounds(grid, answers.area)
    found: list[list[tuple[int, Sequence[object]]]] = []
    lines: list[tuple[int, str]] = []
    broke = False
    for number in range(top, bottom + 1):
        row = grid.rows[number][left : right + 1]
        filled = [cell for cell in row if cell is not None]
        if not filled:
            broke = True
        elif len(filled) == 1 and found and not broke and _names_block(filled[0], names):
            found[-1].append((number, row))
        elif len(filled) == 1 and not is_numeric(filled[0]) and right > left:
            lines.append((number + 1, str(filled[0])))
            broke = True
        else:
            if not found or (_is_header(row, names) and (broke or _repeats(row, found[-1]))):
                found.append([])
            found[-1].append((number, row))
            broke = False
    lines += [(number + 1, _joined(row)) for rows in found if len(rows) == 1 for number, row in rows]
    tables = [_table(sheet, grid, left, rows, names) for rows in found if len(rows) > 1]
    tables = [table for table in tables if table.rows]
    starts = [table.numbers[-1] for table in tables]
    for place, table in enumerate(tables):
        first = starts[place - 1] if place else 0
        last = tables[place + 1].header if place + 1 < len(tables) else bottom + 1
        around = tuple(
            line
            for line in lines
            # A heading of Markdown belongs to the table below it.
            if first < line[0] <= last and not (line[1].startswith("#") and line[0] > starts[place])
        )
        inside = {*table.numbers}
        hidden = tuple(number for number in grid.hidden if number in inside)
        tables[place] = replace(table, lines=tuple(sorted({*table.lines, *around})), hidden=hidden)
    return tables


def _joined(row: Sequence[object]) -> str:
    return " ".join(str(cell) for cell in row if cell is not None)


def _names_block(cell: object, names: Names) -> bool:
    return isinstance(cell, str) and any(names.is_name(kind, cell) for kind in ("gpu", "cnn"))


def _bounds(grid: Grid, area: str) -> tuple[int, int, int, int]:
    if not area:
        return 0, 0, len(grid.rows) - 1, max(grid.width - 1, 0)
    match = _RANGE.fullmatch(area.upper())
    if match is None:
        raise InputError(f"--range: expected cells such as B4:H20, got {shown(area)}")
    left, top, right, bottom = _place(match[1]), int(match[2]) - 1, _place(match[3]), int(match[4]) - 1
    if left > right or top > bottom or left >= grid.width or top >= len(grid.rows):
        raise InputError(f"--range: {shown(area)} holds no cells of the table")
    return top, left, min(bottom, len(grid.rows) - 1), min(right, grid.width - 1)


def is_numeric(cell: object) -> bool:
    """Return whether a cell is a number, or a text that is one."""
    return is_number(cell) if isinstance(cell, str) else cell is not None and not isinstance(cell, bool)


def _known(row: Sequence[object]) -> int:
    return sum(bool(read_heading(cell).target) for cell in row if isinstance(cell, str))


def _is_header(row: Sequence[object], names: Names) -> bool:
    """Return whether a row below others begins a further table."""
    filled = [cell for cell in row if cell is not None]
    if any(not isinstance(cell, str) or is_number(cell) or is_unmeasured(cell) for cell in filled):
        return False
    return _known(row) >= 1 and not names.is_name("cnn", str(filled[0]))


def _repeats(row: Sequence[object], before: Sequence[tuple[int, Sequence[object]]]) -> bool:
    return len(before) > 1 and any(tuple(row) == tuple(own) for _, own in before[:_MOST_ABOVE])


def _header_of(rows: Sequence[tuple[int, Sequence[object]]], names: Names) -> tuple[int, int]:
    """Return the places of the first and last line of a header."""
    scores = [_score(row, names) for _, row in rows[:_MOST_ABOVE]]
    start = scores.index(max(scores)) if max(scores) > scores[0] else 0
    end = start
    for _ in range(_MOST_LEVELS - 1):
        if start and _spans(rows[start - 1][1], rows[start][1]):
            start -= 1
    while end + 1 < len(rows) and end - start + 1 < _MOST_LEVELS and _is_lower(rows, start, end):
        end += 1
    return start, end


def _table(
    sheet: str, grid: Grid, left: int, rows: list[tuple[int, Sequence[object]]], names: Names
) -> SheetTable:
    """Return the table that rows are: its header is the row with the most known headings near the top."""
    start, end = _header_of(rows, names)
    header = rows[start : end + 1]
    if grid.separator.startswith("\\s") and header[0][1][-1] is None and rows[end + 1 :]:
        # A printed table has no heading above its index.
        header = [(number, (None, *row[:-1])) for number, row in header]
    used = [
        place for place in range(len(rows[0][1])) if any(row[place] is not None for _, row in rows[start:])
    ]
    below = [*(row for _, row in header[1:]), None]
    spread = [_spread(row, lower) for (_, row), lower in zip(header, below, strict=True)]
    parts = tuple(tuple(str(row[place]) for row in spread if row[place] is not None) for place in used)
    body, aside = _body(rows[end + 1 :], header[-1][1], names)
    lines = [(number + 1, _joined(row)) for number, row in (*rows[:start], *aside)]
    return SheetTable(
        sheet,
        parts,
        tuple(left + place for place in used),
        tuple(_filled(body, grid, left, used)),
        tuple(number + 1 for number, _ in body),
        header[-1][0] + 1,
        tuple(lines),
        (),
        grid.separator,
    )


_Numbered = tuple[int, Sequence[object]]


def _body(
    rows: Sequence[_Numbered], header: Sequence[object], names: Names
) -> tuple[list[_Numbered], list[_Numbered]]:
    """Return the rows below a header, and those of one text that names what another column should hold."""
    body: list[_Numbered] = []
    aside: list[_Numbered] = []
    for number, row in rows:
        filled = [place for place, cell in enumerate(row) if cell is not None]
        is_text = len(filled) == 1 and not is_numeric(row[filled[0]])
        kind = read_heading(str(header[filled[0]])).target if is_text else ""
        is_aside = is_text and (kind not in ("gpu", "cnn") or not names.is_name(kind, str(row[filled[0]])))
        (aside if is_aside else body).append((number, row))
    return body, aside


def _filled(
    rows: Sequence[tuple[int, Sequence[object]]], grid: Grid, left: int, used: Sequence[int]
) -> Iterable[tuple[object, ...]]:
    """Yield the used cells of rows, those below a merged one with its value."""
    of_merged: dict[tuple[int, int], object] = {}
    for first, column, last, _ in grid.merged:
        if rows and rows[0][0] <= first < last:
            of_merged |= {(number, column): grid.rows[first][column] for number in range(first, last + 1)}
    for number, row in rows:
        yield tuple(
            row[place] if row[place] is not None else of_merged.get((number, left + place)) for place in used
        )


def _score(row: Sequence[object], names: Names) -> int:
    """Return how many cells of a row are headings that are known."""
    filled = [cell for cell in row if cell is not None]
    texts = [cell for cell in filled if isinstance(cell, str) and not is_number(cell)]
    data = sum(names.is_name(kind, text) for text in texts[:6] for kind in ("gpu", "cnn"))
    if len(filled) - len(texts) > len(texts) or len(filled) < 2:
        return 0
    return _known(row) + (1 if data and not len(filled) - len(texts) else 0)


def _spans(upper: Sequence[object], lower: Sequence[object]) -> bool:
    """Return whether a row is a line of the header that stands above groups of the columns below."""
    pairs = list(zip(upper, lower, strict=True))
    texts = [cell for cell in upper if cell is not None]
    groups_ = sum(one is None and other is not None for one, other in pairs)
    return upper[0] is None and len(texts) <= groups_ and not any(map(is_numeric, texts))


def _is_lower(rows: Sequence[tuple[int, Sequence[object]]], start: int, end: int) -> bool:
    """Return whether the row below a header is another line of it: units, or what groups of columns are."""
    if end + 2 >= len(rows):
        return False
    row, below, after = rows[end][1], rows[end + 1][1], rows[end + 2][1]
    filled = [cell for cell in below if cell is not None]
    if all(isinstance(cell, str) and (parse_unit(cell) or _NO_UNIT.fullmatch(cell)) for cell in filled):
        return any(parse_unit(str(cell)) for cell in filled)
    bare = [place for place, cell in enumerate(row) if cell is None and below[place] is not None]
    whole = [place for place, cell in enumerate(row) if cell is not None and below[place] is None]
    named = [cell for cell in row if cell is not None]
    return (
        (bool(bare) or len(set(named)) < len(named))
        and bool(whole)
        and not any(after[place] is None for place in whole[:1])
    )


def _spread(row: Sequence[object], below: Sequence[object] | None) -> list[object]:
    """Return a line of the header with the texts of merged cells, or above groups of columns, in each."""
    if below is None:
        return list(row)
    found: list[object] = []
    last: object = None
    for cell, under in zip(row, below, strict=True):
        last = cell if cell is not None else last if under is not None else None
        found.append(last)
    return found


def split_heading(
    parts: Sequence[str], kinds: Sequence[str], names: Names, answers: SheetAnswers
) -> tuple[dict[str, str], str] | None:
    """Return what a heading says of each kind, and its other words; None where it does not say each.

    >>> from trainlaw.datasets.hardware.gpus import built_in_gpus
    >>> split_heading(["ResNet-50 (bs 64)"], ["cnn", "batch"], Names(built_in_gpus()), SheetAnswers())
    ({'batch': '64', 'cnn': 'ResNet-50'}, '')
    """
    said: dict[str, str] = {}
    rest = [part for part in parts if part]
    order = sorted(kinds, key=lambda kind: kind in ("gpu", "cnn"))
    for kind in order:
        for place, part in enumerate(rest):
            if (pair := _take(kind, part, names, answers)) is not None:
                said[kind], rest[place] = pair
                break
        else:
            return None
    return said, " ".join(text for text in map(_bare, rest) if text)


def _bare(text: str) -> str:
    return " ".join(re.sub(r"[(\[]\s*[,;]?\s*[)\]]", " ", text).split()).strip(" ,;:/|-\u2013@\u00b7")


def _take(kind: str, text: str, names: Names, answers: SheetAnswers) -> tuple[str, str] | None:
    """Return the value of a kind in a text, and the text without it."""
    if (kind, text) in answers.values:
        return text, ""
    if kind in _COUNTED:
        return _taken_count(kind, text)
    if kind == "precision":
        return _taken_precision(text)
    bare = _bare(text)
    if kind in SPELLINGS:
        return (bare, "") if bare.lower() in SPELLINGS[kind] else None
    return _taken_name(kind, bare, names)


def _taken_count(kind: str, text: str) -> tuple[str, str] | None:
    if match := _COUNTED[kind].fullmatch(_bare(text)):
        return match[1], ""
    matches = (pattern.search(text.lower()) for pattern in _searched(kind))
    found = next((match for match in matches if match), None)
    if found is None:
        return None
    return next(group for group in found.groups() if group), text[: found.start()] + text[found.end() :]


def _searched(kind: str) -> Iterable[re.Pattern[str]]:
    wanted = {"batch": ("batch_per_gpu", "global_batch", "batch"), "n_gpus": ("n_gpus",), "step": ()}[kind]
    return (patterns()[name] for name in wanted)


def _taken_precision(text: str) -> tuple[str, str] | None:
    value, whole = precision_of(text)
    if value is None:
        return None
    if whole and text.strip().lower() in PRECISION_WORDS:
        return text.strip(), ""
    words = [match for match in _PRECISION_WORD.finditer(text) if precision_of(match[0])[0] is not None]
    more = ("precision", "mixed", "genauigkeit", "off", "no", "not", "without", "ohne", "sans")
    rest = text
    for match in reversed(words):
        rest = rest[: match.start()] + rest[match.end() :]
    rest = " ".join(word for word in rest.split(" ") if word.strip("()[],").lower() not in more)
    return value, rest


def _taken_name(kind: str, text: str, names: Names) -> tuple[str, str] | None:
    """Return a name of a GPU or CNN, and the unit or measure next to it."""
    if _is_only_name(kind, text, names):
        return text, ""
    words = text.split()
    for length in range(len(words) - 1, 0, -1):
        for first in (0, len(words) - length):
            name = _bare(" ".join(words[first : first + length]))
            rest = _bare(" ".join((*words[:first], *words[first + length :])))
            inside = re.sub(r"[()\[\]]", " ", rest)
            if (parse_unit(rest) or read_heading(inside).target in fields.MEASURES) and _is_only_name(
                kind, name, names
            ):
                return name, rest
    return None


def _is_only_name(kind: str, text: str, names: Names) -> bool:
    """Return whether a text is a name, and says nothing else of the runs."""
    return not read_line(text).said and names.is_name(kind, text)


def value_columns(
    table: SheetTable, kinds: Sequence[str], names: Names, answers: SheetAnswers
) -> list[ValueColumn]:
    """Return the columns whose headings say each kind and nothing else but a measure."""
    found = []
    for place, parts in enumerate(table.parts):
        heading = table.headings[place]
        if heading in answers.ignored or heading in answers.columns.values():
            continue
        pair = split_heading(parts, kinds, names, answers)
        if pair is None or not any(map(is_measured, (row[place] for row in table.rows))):
            continue
        said, rest = pair
        unit = parse_unit(rest.strip("()[] "))
        meaning = read_heading(rest)
        own = {"batch": fields.BATCHES, "n_gpus": ("n_gpus",)}.get(kinds[0] if len(kinds) == 1 else "", ())
        of_kind = {*kinds, *(name for kind in kinds for name in (fields.BATCHES if kind == "batch" else ()))}
        if rest and unit is None and meaning.target not in (*fields.MEASURED, *of_kind, *own):
            continue
        unit = unit or meaning.unit
        if meaning.target == fields.EPOCH_TIME and unit is not None and unit.counted != "epoch":
            unit = replace(unit, counted="epoch")
        is_rate = (
            None
            if unit is None and meaning.target not in fields.MEASURES
            else (unit.is_rate if unit else meaning.target == fields.RATE)
        )
        found.append(ValueColumn(place, said, unit, is_rate))
    # Of a time and a throughput of the same runs, the time is read.
    best: dict[tuple[tuple[str, str], ...], ValueColumn] = {}
    for column in sorted(found, key=lambda own: bool(own.is_rate)):
        best.setdefault(tuple(sorted(column.said.items())), column)
    return sorted(best.values(), key=lambda own: own.place)


def is_measured(cell: object) -> bool:
    """Return whether a cell begins with a number."""
    return is_numeric(cell) or (isinstance(cell, str) and re.match(r"[~≈]?\s*\d", cell) is not None)


def likely_pivot(table: SheetTable, names: Names, answers: SheetAnswers) -> tuple[str, ...]:
    """Return the kinds that headings of columns of numbers name, () where they name none."""
    best: tuple[str, ...] = ()
    most = 0
    usual = PIVOTS[:5]
    for size in (1, 2, 3):
        for kinds in combinations(usual, size):
            found = value_columns(table, kinds, names, answers)
            if len(found) > most:
                best, most = kinds, len(found)
    return best


def is_total(row: Sequence[object]) -> bool:
    """Return whether a row summarises others: "Average", "Grand total".

    >>> is_total(["Geomean", 3.2]), is_total(["T4", 3.2])
    (True, False)
    """
    first = next((cell for cell in row if cell is not None), None)
    words = set(re.findall(r"[^\W\d_]+|ø", str(first).lower())) if isinstance(first, str) else set()
    return bool(words & _SUMMARY) and words <= _SUMMARY | _AROUND


def is_ratio(heading: str) -> bool:
    """Return whether a column summarises or compares others: "Average", "3090 vs T4"."""
    return is_total([heading]) or _RATIO.search(heading) is not None
