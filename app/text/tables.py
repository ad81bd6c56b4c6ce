"""Tables and JSON values as plain text for a terminal, the same on a screen and in a pipe."""

import json
import re
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from math import isfinite

# A number, perhaps with a unit of one word.
_QUANTITY = re.compile(r"[-+±]?[\d.,]+(e[-+]?\d+)?( [^\s\d]+)?")
_TITLES = (11, 8, 5)  # characters of a broken title, at least: tried until the table is narrow enough
_NARROWEST = 24  # characters that wrapped text gets even on a narrow terminal
_WIDTH_OF_PIPES = 120


def text_table(header: Sequence[str], rows: Sequence[Sequence[object]], indent: str = "  ") -> str:
    """Return rows below a header; columns of numbers are aligned to the right.

    header : titles, one per column; lines of a title are separated by newlines
    rows : cells, each row as long as the header; a cell is shown as `str` shows it
    indent : text before every line

    >>> print(text_table(["GPU", "error"], [["Tesla T4", "12.6 %"], ["V100", "9 %"]]))
      GPU        error
      Tesla T4  12.6 %
      V100         9 %
    """
    cells = [[str(cell) for cell in row] for row in rows]
    titles = [title.split("\n") for title in header]
    depth = max(map(len, titles), default=1)
    heads = [[""] * (depth - len(title)) + title for title in titles]
    columns = list(zip(heads, *cells, strict=True))
    widths = [max(map(len, [*head, *column])) for head, *column in columns]
    numeric = [_looks_numeric(column) for _, *column in columns]
    lines = [_line(line, widths, numeric, indent) for line in [*zip(*heads, strict=True), *cells]]
    return "\n".join(lines)


def narrow_table(header: Sequence[str], rows: Sequence[Sequence[object]], width: int | None = None) -> str:
    """Return rows as `text_table` does; titles are broken where it is wider than `width` (None: terminal).

    >>> print(narrow_table(["CNN", "mean over GPU groups"], [["vgg16", "12.6 %"]], 20))
              mean over
      CNN    GPU groups
      vgg16      12.6 %
    """
    table, most = text_table(header, rows), width or terminal_width()
    cells = [max((len(str(row[place])) for row in rows), default=0) for place in range(len(header))]
    for least in _TITLES:
        if max(map(len, table.splitlines())) > most:
            broken = (
                textwrap.wrap(title, max(cell, least), break_on_hyphens=False, break_long_words=False)
                for title, cell in zip(header, cells, strict=True)
            )
            table = text_table(["\n".join(lines) for lines in broken], rows)
    return table


def fitted_lines(text: str, width: int | None = None) -> str:
    """Return a text whose lines have at most `width` characters (None: terminal), broken at spaces.

    >>> print(fitted_lines("  a + b + c + d", 10))
      a + b +
          c +
          d
    """
    most = width or terminal_width()
    lines: list[str] = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()))
        wrap = textwrap.TextWrapper(
            most,
            initial_indent=indent,
            subsequent_indent=indent + "    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        lines += [line] if len(line) <= most else wrap.wrap(line.strip())
    return "\n".join(lines)


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool], indent: str) -> str:
    padded = [
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    ]
    return (indent + "  ".join(padded)).rstrip()


def _looks_numeric(cells: Sequence[str]) -> bool:
    shown = [cell for cell in cells if cell.strip() not in ("", "-")]
    return bool(shown) and all(map(_QUANTITY.fullmatch, shown))


def wrapped_list(items: Sequence[str], width: int = 96, indent: str = "  ") -> str:
    """Return names separated by commas, broken into lines that fit.

    items : texts; width : longest line in characters; indent : text before every line.

    >>> print(wrapped_list(["alexnet", "resnet50", "vgg16"], width=20))
      alexnet, resnet50,
      vgg16
    """
    lines: list[str] = []
    current = ""
    for item in items:
        longer = f"{current}, {item}" if current else item
        if current and len(indent) + len(longer) + 1 > width:
            lines.append(indent + current + ",")
            longer = item
        current = longer
    return "\n".join([*lines, indent + current])


def terminal_width() -> int:
    """Return the width of the terminal in characters; 120 where the output goes elsewhere."""
    return shutil.get_terminal_size((_WIDTH_OF_PIPES, 24)).columns


def fitted_table(header: Sequence[str], rows: Sequence[Sequence[object]], width: int | None = None) -> str:
    """Return rows as `text_table` does, with the last column wrapped to `width` characters (None: terminal).

    >>> print(fitted_table(["name", "meaning"], [["rho", "base clock over boost clock"]], 24))
    name  meaning
    rho   base clock over boost
          clock
    """
    before = [max(len(str(cell)) for cell in column) for column in list(zip(header, *rows, strict=True))[:-1]]
    free = max((width or terminal_width()) - sum(before) - 2 * len(before), _NARROWEST)
    lines: list[list[object]] = []
    for *cells, prose in rows:
        first, *further = textwrap.wrap(str(prose), free, break_on_hyphens=False) or [""]
        lines.append([*cells, first])
        lines += [[*[""] * len(cells), text] for text in further]
    return text_table(header, lines, indent="")


def plain_text(value: object) -> str:
    """Return a JSON value as plain text, without braces and quotes.

    >>> plain_text({"seed": 0, "precisions": ["fp32", "amp"]})
    'seed: 0; precisions: fp32, amp'
    """
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {plain_text(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(plain_text, value))
    return str(value)


def null_for_nan(value: object) -> object:
    """Return a value as JSON can hold it: None for a number that is not finite."""
    return None if isinstance(value, float) and not isfinite(value) else value


def finite_json(value: Mapping[str, object] | Sequence[Mapping[str, object]]) -> str:
    """Return an object, or a list of objects, as JSON text; numbers that are not finite become null.

    >>> finite_json({"time_s": float("nan")})
    '{\\n  "time_s": null\\n}'
    """
    if isinstance(value, Mapping):
        plain: object = {key: null_for_nan(item) for key, item in value.items()}
    else:
        plain = [{key: null_for_nan(item) for key, item in row.items()} for row in value]
    return json.dumps(plain, indent=2, allow_nan=False)
