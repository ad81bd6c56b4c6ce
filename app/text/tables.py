"""Tables and JSON values as plain text for a terminal, the same on a screen and in a pipe."""

import json
import re
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from math import isfinite

# A number, perhaps with a unit of one word.
_QUANTITY = re.compile(r"[-+±]?[\d.,]+(e[-+]?\d+)?( [^\s\d]+)?")
_NARROWEST = 24  # characters that wrapped text gets even on a narrow terminal
_WIDTH_OF_PIPES = 120


def text_table(header: Sequence[str], rows: Sequence[Sequence[object]], indent: str = "  ") -> str:
    """Return rows below a header; columns of numbers are aligned to the right.

    header : titles, one per column
    rows : cells, each row as long as the header; a cell is shown as `str` shows it
    indent : text before every line

    >>> print(text_table(["GPU", "error"], [["Tesla T4", "12.6 %"], ["V100", "9 %"]]))
      GPU        error
      Tesla T4  12.6 %
      V100         9 %
    """
    cells = [[str(cell) for cell in row] for row in rows]
    columns = list(zip(header, *cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    numeric = [_looks_numeric(column[1:]) for column in columns]
    lines = [_line(line, widths, numeric, indent) for line in [list(header), *cells]]
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
