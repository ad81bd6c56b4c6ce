"""The tables in a sheet: titles above, a header of one or more lines, the body, and what is none of these."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import takewhile

from trainlaw.datasets.files.grids import Grid
from trainlaw.datasets.files.numbers import is_number
from trainlaw.datasets.spreadsheets import fields
from trainlaw.datasets.spreadsheets.headings import is_part, read_heading
from trainlaw.datasets.spreadsheets.phrases import Names
from trainlaw.datasets.spreadsheets.quantities import parse_unit
from trainlaw.datasets.spreadsheets.values import is_unmeasured, quantity
from trainlaw.datasets.spreadsheets.words import groups

_SEARCHED_ABOVE = 100  # rows above a header that may hold titles
_SEARCHED_BELOW = 12  # rows of the body that say whether a column holds numbers
_MOST_HEADERS = 4  # lines of a header
_LEAST_NAMES = 2
_MOST_LABEL = 100_000  # a larger number is no batch size or number of GPUs in a header
_UNITS_OF_OTHERS = frozenset(groups("other")["unit"])
_SUMMARY, _AROUND_SUMMARY = (frozenset(groups("other")[name]) for name in ("summary", "around_summary"))
_COMMENT = re.compile(r"#(?!\s*\d+$)")  # "#3" is a number
#: A mark behind a cell, and a text below or above the table that begins with one.
MARK = re.compile(r"(\*+|[†‡§¹²³⁴]|\[\d\])$")
FOOTNOTE = re.compile(r"(\*+|[†‡§¹²³⁴]|\[\d\])[\s:=]*(?=\w)(.+)")

Cells = tuple[object, ...]


@dataclass(frozen=True)
class Block:
    """A table as a sheet has it.

    sheet : its name. paths : the lines of the header of each column, top to bottom, without empty ones.
    header : the numbers of these lines. headings : one text per column, each once. columns : of each in the
    sheet, from 0. rows : cells below. numbers : of each row as spreadsheets count, from 1. texts : lines
    above. sections : number of a row to the text of the last line between the rows. below : lines between
    and below the rows. notes : what was left out. separator : as of `Grid`. outer : lines above the first
    table of the sheet and apart from it, which hold for this later one, too.
    """

    sheet: str
    paths: tuple[tuple[str, ...], ...]
    headings: tuple[str, ...]
    columns: tuple[int, ...]
    rows: tuple[Cells, ...]
    numbers: tuple[int, ...]
    texts: tuple[str, ...] = ()
    sections: dict[int, str] = field(default_factory=dict)
    below: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    separator: str = ""
    header: tuple[int, ...] = ()
    outer: tuple[str, ...] = ()

    @property
    def footnotes(self) -> dict[str, str]:
        """The lines around the table that begin with a mark, such as "* with amp", by their mark."""
        found = (FOOTNOTE.match(text) for text in (*self.texts, *self.outer, *self.below))
        return {match[1]: match[0] for match in found if match}

    def cells(self, place: int) -> list[object]:
        """Return the cells of a column by its place in the block."""
        return [row[place] for row in self.rows]


def find_blocks(sheet: str, grid: Grid, names: Names, named: Collection[str] = ()) -> list[Block]:
    """Return the tables of a sheet from top to bottom; `named` are further names of columns, of the user."""
    filled = _unmerged(grid)
    turned = tuple(zip(*filled, strict=True))
    across = max((_known(row, named) for row in filled[:60]), default=0)
    # A name alone in its row is a line between the rows.
    alone = {*_settings(filled), *(number for number, row in enumerate(filled) if len(_filled(row)) < 2)}
    inside = [tuple(cell for number, cell in enumerate(row) if number not in alone) for row in turned[:3]]
    down = max((_known(row, named) for row in inside), default=0)
    if down > max(across, 2):
        note = "the table runs from left to right: its rows here are the columns of the file"
        found = _Finder(sheet, turned, grid.separator, names, named, {}).blocks()
        return [replace(block, notes=(note, *block.notes)) for block in found]
    return _Finder(sheet, filled, grid.separator, names, named, _wide(grid)).blocks()


def _unmerged(grid: Grid) -> tuple[Cells, ...]:
    """Return the cells of a sheet; one merged over several rows is in each of them."""
    rows = [list(row) for row in grid.rows]
    for first, left, last, _ in grid.merged:
        if last > first and last < len(rows) and left < grid.width and rows[first][left] is not None:
            value = rows[first][left]
            # A cell above the header would otherwise become a line of it again.
            is_body = any(isinstance(cell, int | float) for cell in rows[first])
            for row in rows[first + 1 : last + 1]:
                row[left] = value if is_body else row[left]
    return tuple(map(tuple, rows))


def _wide(grid: Grid) -> dict[tuple[int, int], int]:
    """Return the last column of each cell that is merged over several columns."""
    return {(first, left): right for first, left, _, right in grid.merged if right > left}


def _settings(rows: Sequence[Cells]) -> range:
    """Return the rows above the first empty one if they are pairs such as "Batch size" and 64."""
    first = next((number for number, row in enumerate(rows) if _filled(row)), 0)
    cells = list(takewhile(lambda row: 0 < len(row) < 3, map(_filled, rows[first:])))
    end = first + len(cells)
    if not cells or end == len(rows) or _filled(rows[end]):
        return range(0)
    pairs = [_is_setting(row) for row in cells if len(row) > 1]
    is_narrow = any(len(_filled(row)) > 2 for row in rows[end:])
    return range(first, end) if is_narrow and sum(pairs) > len(pairs) / 2 else range(0)


def _is_setting(cells: Sequence[object]) -> bool:
    """Return whether two cells are the name of a column and a value."""
    return len(cells) == 2 and read_heading(str(cells[0]).rstrip(": ")).target not in ("", fields.IGNORED)


def _known(row: Cells, named: Collection[str]) -> int:
    """Return how many different columns the texts of a row name."""
    texts = {cell for cell in row if isinstance(cell, str) and len(cell) < 100}
    ours = texts.intersection(named)
    return len(ours | {read_heading(text).target for text in texts - ours} - {"", fields.IGNORED})


@lru_cache(maxsize=10_000)
def is_numeric(cell: object) -> bool:
    """Return whether a cell is a number, also as a text that begins with one."""
    if isinstance(cell, str):
        return (
            re.match(
                r"[~≈<>]?\s*[-+]?[.,]?\d[\d.,' ]*(?:\s|$|[^\w.,])|\d+(?:[.,]\d+)?k?\s*[a-zµ]+/?", cell, re.I
            )
            is not None
        )
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def _is_label(cell: object) -> bool:
    """Return whether a cell may be a batch size or number of GPUs in a header."""
    if isinstance(cell, str):
        return cell.isascii() and cell.isdecimal() and 0 < int(cell[:9]) <= _MOST_LABEL
    if isinstance(cell, bool):
        return False
    return isinstance(cell, int | float) and cell % 1 == 0 and 0 < cell <= _MOST_LABEL


@dataclass
class _Finder:
    sheet: str
    rows: tuple[Cells, ...]
    separator: str
    names: Names
    named: Collection[str]
    wide: dict[tuple[int, int], int]
    texts: dict[int, list[str]] = field(default_factory=dict)

    @cached_property
    def left(self) -> int:
        """The first column that is not empty."""
        return min((row.index(cell) for row in self.rows for cell in _filled(row)[:1]), default=0)

    def blocks(self) -> list[Block]:
        """Return the tables: from each header to the lines above the next one."""
        heads = self._headers()
        found: list[Block] = []
        # The lines above the first table that an empty row parts from its own title.
        parting = self._parting(0, heads[0][0]) if heads else None
        outer = tuple(self._texts(0, parting or 0))
        for place, (first, last) in enumerate(heads):
            end = heads[place + 1][0] if place + 1 < len(heads) else len(self.rows)
            begin = max(found[-1].numbers[-1] if found and found[-1].numbers else 0, first - _SEARCHED_ABOVE)
            if found and self.rows[last] == self.rows[heads[place - 1][1]] and not self._texts(begin, first):
                found[-1] = self._continued(found[-1], last + 1, end)
                continue
            block = self._block(first, last, self._titles(begin, first, bool(found)), end)
            if block.rows:
                found.append(replace(block, outer=outer if found else ()))
        if not heads and any(map(_filled, self.rows)):
            block = self._block(0, -1, [], len(self.rows))
            return [block] if block.rows else []
        return found

    def _titles(self, begin: int, first: int, is_later: bool) -> list[str]:
        """Return the lines above a header; below another table, only those since the last empty row."""
        parting = self._parting(begin, first) if is_later else None
        return self._texts(begin if parting is None else parting, first)

    def _parting(self, begin: int, end: int) -> int | None:
        """Return the last empty row above the last text of rows; None without one."""
        last = max((number for number in range(begin, end) if self._row_texts(number)), default=begin)
        empty = (number for number in range(begin, last) if not _filled(self.rows[number]))
        return max(empty, default=None)

    def _texts(self, begin: int, end: int) -> list[str]:
        """Return the texts of rows, each once."""
        texts = (self._row_texts(number) for number in range(begin, end))
        return list(dict.fromkeys(text for own in texts for text in own))

    def _row_texts(self, number: int) -> list[str]:
        """Return the texts of a row; a setting and its value, such as "Batch size" and 64, are one."""
        if number not in self.texts:
            cells = _filled(self.rows[number])
            texts = [cell for cell in cells if isinstance(cell, str)]
            self.texts[number] = [f"{cells[0]} {cells[1]}"] if _is_setting(cells) else texts
        return self.texts[number]

    def _headers(self) -> list[tuple[int, int]]:
        """Return the first and last row of each header."""
        scores = [self._score(number) for number in range(len(self.rows))]
        for number in _settings(self.rows):
            scores[number] = 0
        best = max(scores, default=0)
        if best < 1:
            return self._plain_header()
        found: list[tuple[int, int]] = []
        least = best if best < _LEAST_NAMES else max(_LEAST_NAMES, 0.5 * best)
        for number, score in enumerate(scores):
            if score < least or (found and number <= found[-1][1]):
                continue
            first = last = number
            while (
                last + 1 < len(self.rows) and last - first < _MOST_HEADERS and self._continues(last, scores)
            ):
                last += 1
            lowest = found[-1][1] + 1 if found else 0
            while first > lowest and last - first < _MOST_HEADERS and self._is_above(first - 1, first):
                first -= 1
            found.append((first, last))
        return found

    def _plain_header(self) -> list[tuple[int, int]]:
        """Return a first row of texts above numbers where no word of it is known."""
        for number, row in enumerate(self.rows[:-1]):
            cells = _filled(row)
            below = [cell for cell in _filled(self.rows[number + 1]) if is_numeric(cell)]
            if (
                len(cells) > 1
                and below
                and all(isinstance(cell, str) and not is_numeric(cell) for cell in cells)
            ):
                return [(number, number)]
            if below:
                break
        return []

    def _is_measured(self, cell: object) -> bool:
        """Return whether a cell is a number that is no label, such as a time with its unit."""
        if cell is None or not is_numeric(cell) or _is_label(cell):
            return False
        if not isinstance(cell, str) or is_number(cell) or quantity(cell, ".")[0] > 0:
            return True
        return not self.names.phrase(cell).said

    def _is_over_numbers(self, number: int, column: int) -> bool:
        """Return whether most filled cells in the next rows of a column are numbers."""
        cells = [row[column] for row in self.rows[number + 1 : number + 1 + _SEARCHED_BELOW]]
        filled = [cell for cell in cells if cell is not None and not is_unmeasured(cell)]
        return sum(map(is_numeric, filled)) > len(filled) / 2

    def _score(self, number: int) -> float:
        """Return how many cells of a row are names of columns, 0 for a row of the body."""
        row = self.rows[number]
        # Times are usually on the right.
        if any(self._is_measured(cell) for cell in reversed(row)):
            return 0
        filled = [(column, cell) for column, cell in enumerate(row) if cell is not None]
        texts = [(column, cell) for column, cell in filled if isinstance(cell, str) and not _is_label(cell)]
        labels = [cell for _, cell in filled if _is_label(cell)]
        if len(filled) < _LEAST_NAMES or not texts or len(texts) + len(labels) < len(filled):
            return 0
        score = 0.0
        for column, text in texts:
            target = read_heading(text).target if len(text) < 100 else ""
            if text in self.named or (target and target != fields.IGNORED):
                score += 1
            elif target or is_part(text):
                score += 0.5
            elif (phrase := self.names.phrase(text)).said or phrase.unit:
                score += self._is_over_numbers(number, column)
        numbers = [float(str(cell)) for cell in labels]
        # Each group of columns has the same labels again.
        different = sorted(set(numbers))
        rises = len(filled) > 2 and numbers == different * (len(numbers) // max(len(different), 1))
        if labels and not (rises and texts[0][0] == filled[0][0] and score == len(texts)):
            return 0
        return score + len(labels)

    def _continues(self, last: int, scores: list[float]) -> bool:
        """Return whether the row below a line of a header is another line of it."""
        above, row = self.rows[last], self.rows[last + 1]
        filled = [column for column, cell in enumerate(row) if cell is not None]
        if not filled or row == above:
            return False
        texts = [row[column] for column in filled]
        left = self.left
        repeats = None not in above[left:] and len(set(above[left:])) < len(above) - left
        is_index = filled == [left] and read_heading(str(row[left])).target not in ("", fields.IGNORED)
        if repeats and (is_index or (len(filled) == len(row) - left and scores[last + 1] > 0)):
            # pandas writes the levels of columns one below the other, and then the names of the rows.
            return True
        if _are_units(texts):
            return True
        gaps = [column for column in filled if above[column] is None]
        in_groups = all(
            above[column] is None
            or (column + 1 < len(above) and above[column + 1] is None)
            or (last, column) in self.wide
            or read_heading(str(above[column])).target in ("batch", "n_gpus")
            for column in filled
        )
        alone = [column for column, cell in enumerate(above) if cell is not None and column not in filled]
        words_only = all(
            (isinstance(cell, str) and not is_numeric(cell)) or _is_label(cell) for cell in texts
        )
        if all(map(_is_label, texts)):
            return len(filled) > 1 and in_groups and bool(alone)
        if self._is_line_of_labels(last + 1):
            return True
        return (
            words_only
            and len(filled) > 1
            and bool(gaps)
            and in_groups
            and (bool(alone) or scores[last + 1] >= _LEAST_NAMES)
        )

    def _is_line_of_labels(self, number: int) -> bool:
        """Return whether a row is named as a count and holds one below each name, with other rows below."""
        filled = _filled(self.rows[number])
        below = _filled(self.rows[number + 1]) if number + 1 < len(self.rows) else []
        return (
            len(filled) == len(_filled(self.rows[number - 1])) > _LEAST_NAMES
            and read_heading(str(filled[0])).target in fields.COUNTS
            and all(map(_is_label, filled[1:]))
            and any(map(self._is_measured, below[1:]))
            and not read_heading(str(below[0])).target
        )

    def _is_above(self, number: int, first: int) -> bool:
        """Return whether a row is a line of the header whose next line is given: names of groups."""
        row, below = self.rows[number], self.rows[first]
        filled = [column for column, cell in enumerate(row) if cell is not None]
        texts = [cell for cell in row if isinstance(cell, str) and not _is_label(cell) and len(cell) < 60]
        if not filled or len(texts) < len(filled) or any(map(self._is_measured, texts)):
            return False
        if len(filled) > 1:
            # The name of a group stands over several columns.
            return len(filled) < sum(cell is not None for cell in below)
        return filled[0] > self.left and not self._is_key(str(below[filled[0]]))

    def _block(self, first: int, last: int, titles: list[str], end: int) -> Block:
        body = self._body(last + 1, end)
        paths = [self._path(first, last, column) for column in range(len(self.rows[0]))]
        kept = [
            column
            for column, path in enumerate(paths)
            if path or any(row[column] is not None for row in body.rows)
        ]
        paths = _without_comment_sign(paths)
        headings = _distinct([paths[column] for column in kept], kept)
        return replace(
            body,
            paths=tuple(paths[column] for column in kept),
            headings=tuple(headings),
            columns=tuple(kept),
            rows=tuple(tuple(row[column] for column in kept) for row in body.rows),
            texts=tuple(titles),
            header=tuple(range(first + 1, last + 2)),
        )

    def _continued(self, block: Block, begin: int, end: int) -> Block:
        more = self._body(begin, end)
        kept = tuple(tuple(row[column] for column in block.columns) for row in more.rows)
        return replace(
            block,
            rows=(*block.rows, *kept),
            numbers=(*block.numbers, *more.numbers),
            sections={**block.sections, **more.sections},
            below=(*block.below, *more.below),
            notes=(*block.notes, f"row {begin} not read: the header again", *more.notes),
        )

    def _path(self, first: int, last: int, column: int) -> tuple[str, ...]:
        """Return the lines of the header of a column; a text holds for the empty cells to its right."""
        if last < first:
            return ()
        path: list[str] = []
        has_leaf = any(self.rows[number][column] is not None for number in range(first, last + 1))
        for number in range(first, last + 1):
            row = self.rows[number]
            place = column
            if number < last:
                while place > 0 and row[place] is None:
                    place -= 1
            if place < column and (number, place) in self.wide and self.wide[number, place] < column:
                continue
            below = any(self.rows[n][column] is not None for n in range(number + 1, last + 1))
            text = row[place]
            if text is None or (place < column and not below) or (place < column and not has_leaf):
                continue
            if place < column and self._is_key(str(text)):
                continue
            path.append(str(int(text)) if isinstance(text, float) and text.is_integer() else str(text))
        if len(path) > 1 and _is_other_unit(path[-1]):
            path.pop()
        return tuple(dict.fromkeys(path))

    def _is_key(self, text: str) -> bool:
        """Return whether a text names one column, so that it is no group."""
        return read_heading(text).target in ("gpu", "cnn") or text in self.named

    def _body(self, begin: int, end: int) -> Block:
        """Return the rows below a header, with all columns, and the texts between them."""
        kept: dict[int, Cells] = {}
        sections: dict[int, str] = {}
        below: list[str] = []
        left: dict[str, list[int]] = {}
        section = ""
        for number, row in enumerate(self.rows[begin:end], start=begin + 1):
            filled = _filled(row)
            if not filled:
                continue
            first = filled[0]
            if len(filled) == 1 and isinstance(first, str) and len(row) > 1:
                left.setdefault("a note", []).append(number)
                below.append(first)
                section = section if FOOTNOTE.match(first) else first
            elif isinstance(first, str) and _is_left_out(first):
                left.setdefault("a summary or comment", []).append(number)
            else:
                kept[number] = row
                if section:
                    sections[number] = section
        return Block(
            self.sheet,
            (),
            (),
            (),
            tuple(kept.values()),
            tuple(kept),
            (),
            sections,
            tuple(below),
            tuple(f"row {_listed(where)} not read: {what}" for what, where in left.items()),
            self.separator,
        )


def _filled(row: Cells) -> list[object]:
    return [cell for cell in row if cell is not None]


@lru_cache(maxsize=10_000)
def _is_left_out(text: str) -> bool:
    """Return whether a row that begins with a text is a comment, a total, or an average of the others."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    is_summary = bool(_SUMMARY & set(words)) and set(words) <= _SUMMARY | _AROUND_SUMMARY
    is_subtotal = len(words) > 1 and words[-1] in ("total", "ergebnis", "gesamt", "subtotal")
    return is_summary or is_subtotal or _COMMENT.match(text) is not None


def _are_units(texts: Sequence[object]) -> bool:
    """Return whether texts are units and nothing else, at least one of them of a time or throughput."""
    units = [isinstance(text, str) and parse_unit(text) is not None for text in texts]
    others = (_is_other_unit(str(text)) for text, is_unit in zip(texts, units, strict=True) if not is_unit)
    return any(units) and all(others)


def _is_other_unit(text: str) -> bool:
    return text.strip("[]() ").lower() in _UNITS_OF_OTHERS


def _without_comment_sign(paths: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the names; "# gpu" at the beginning of a script's header is "gpu"."""
    if not paths or not paths[0] or not paths[0][0].startswith("#"):
        return paths
    plain = paths[0][0].lstrip("# ")
    has_gpu = any(read_heading(path[-1]).target == "gpu" for path in paths[1:] if path)
    return [(plain,) if plain and not has_gpu else paths[0], *paths[1:]]


def _distinct(paths: Sequence[tuple[str, ...]], columns: Sequence[int]) -> list[str]:
    """Return a name for each column: its last line, else all lines, else with the letters of the column."""
    times = Counter(path[-1] for path in paths if path)
    names = [
        "" if not path else path[-1] if times[path[-1]] == 1 and not _is_plain_unit(path) else " ".join(path)
        for path in paths
    ]
    again = Counter(names)
    return [
        f"column {letters(column)}"
        if not name
        else name
        if again[name] == 1
        else f"{name} [column {letters(column)}]"
        for name, column in zip(names, columns, strict=True)
    ]


def _is_plain_unit(path: tuple[str, ...]) -> bool:
    return len(path) > 1 and (
        parse_unit(path[-1]) is not None or _is_other_unit(path[-1]) or path[-1].isdecimal()
    )


def letters(column: int) -> str:
    """Return the letters of a column in a spreadsheet.

    >>> letters(0), letters(26)
    ('A', 'AA')
    """
    first, last = divmod(column, 26)
    return (letters(first - 1) if first else "") + chr(ord("A") + last)


def _listed(numbers: Iterable[int]) -> str:
    found = list(numbers)
    return ", ".join(map(str, found[:6])) + (f" and {len(found) - 6} more" if len(found) > 6 else "")
