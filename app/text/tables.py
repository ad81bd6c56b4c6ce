"""One table for all outputs: text for a terminal, CSV, JSON, HTML and spreadsheet cells."""

import itertools
import json
import re
import shutil
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Self

from trainlaw.app.text.csv import rows_as_csv

# A number, perhaps with a unit of one word.
_QUANTITY = re.compile(r"[-+±]?[\d.,]+(e[-+]?\d+)?( [^\s\d]+)?")
_RANGE = re.compile(r"[\d.,]+( \S+)? to [\d.,]+( \S+)?")
# Characters that a broken title (0: in one line) and wrapped text get at least, tried until the table fits.
_STEPS = ((0, 40), (11, 40), (8, 24), (5, 24), (5, 16), (5, 8))
_BREAKS = re.compile(r"(\s+|(?<=[-/_]))")
_WIDTH_OF_PIPES = 120  # characters; files and pipes have no width, and most editors show as many

#: Style of a column -> its CSS class; a sheet has a number format for each of those whose class is "n".
CSS_CLASSES: Mapping[str, str] = {
    "text": "",
    "long": "long",  # text that may wrap anywhere
    "symbol": "symbol",
    "formula": "formula",
    "number": "n",
    "factor": "n",
    "percent": "n",
    "wrapped_number": "n wrap",
}


@dataclass(frozen=True, slots=True)
class TableColumn:
    """Title and style of a column, for every output.

    title : for readers. style : a key of `CSS_CLASSES`. name : in CSV and JSON; empty: the title. unit : of
    the numbers as shown, stated in the heading; empty where there is none or each cell states its own.
    show : a value as text for readers.
    """

    title: str
    style: str = "text"
    name: str = ""
    unit: str = ""
    show: Callable[[Any], object] = str

    @property
    def heading(self) -> str:
        """The title with the unit.

        >>> TableColumn("error", unit="%").heading
        'error, %'
        """
        return f"{self.title}, {self.unit}" if self.unit else self.title

    @property
    def is_numeric(self) -> bool:
        """Whether the values are numbers."""
        return CSS_CLASSES[self.style].startswith("n")


#: How many runs a row is about, with thousands marks.
RUNS = TableColumn("runs", "number", show="{:,}".format)


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows of plain values, immutable; each kind of output has one renderer.

    `text`, `csv` and `json` are here, the macro `show_table` makes HTML, `SheetWriter.table` makes cells.

    >>> table = Table.of(["CNN", TableColumn("error", "percent", unit="%")], [["vgg16", 12.6]])
    >>> print(table.text())
    CNN    error, %
    vgg16      12.6
    >>> table.csv()
    'CNN,error\\nvgg16,12.6\\n'
    """

    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[object, ...], ...]

    @classmethod
    def of(
        cls, columns: Iterable[str | TableColumn], rows: Iterable[Sequence[object]], style: str = "text"
    ) -> Self:
        """Return a table; a text among the columns is the title of one with `style`."""
        whole = (item if isinstance(item, TableColumn) else TableColumn(item, style) for item in columns)
        return cls(tuple(whole), tuple(map(tuple, rows)))

    @property
    def header(self) -> list[str]:
        """The headings of the columns."""
        return [column.heading for column in self.columns]

    @property
    def shown(self) -> list[list[str]]:
        """The cells as readers see them."""
        return [
            [str(column.show(value)) for column, value in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]

    def text(self, width: int | None = None, indent: str = "") -> str:
        """Return the table for a terminal, at most `width` characters wide (None: the terminal's).

        Long text is wrapped first, then titles, then shorter text; numbers are never broken.

        >>> print(Table.of(["name", "meaning"], [["rho", "base clock over boost clock"]]).text(24))
        name  meaning
        rho   base clock over
              boost clock
        >>> print(Table.of(["CNN", "mean over GPU groups"], [["vgg16", "12.6 %"]]).text(20))
                mean over
        CNN    GPU groups
        vgg16      12.6 %
        """
        most, cells = width or terminal_width(), self.shown
        numeric = [column.is_numeric for column in self.columns]
        table = text_table(self.header, cells, indent, numeric)
        for least_title, least_text in _STEPS:
            if _width_of(table) > most:
                titles = _broken(self.header, cells, least_title) if least_title else self.header
                wrapped = _wrapped(titles, cells, most - len(indent), least_text)
                table = text_table(titles, wrapped, indent, numeric)
        return table

    def csv(self) -> str:
        """Return CSV with the names of the columns; unknown values (nan, None) are empty."""
        return rows_as_csv(self._names, (list(map(null_for_nan, row)) for row in self.rows))

    def latex(self) -> str:
        r"""Return a LaTeX tabular with the rules of the package booktabs.

        >>> print(Table.of(["name", TableColumn("error", "percent", unit="%")], [["vgg_16", 12.6]]).latex())
        \begin{tabular}{lr}
        \toprule
        name & error, \% \\
        \midrule
        vgg\_16 & 12.6 \\
        \bottomrule
        \end{tabular}
        <BLANKLINE>
        """
        head, *lines = (" & ".join(map(_latex_text, cells)) + r" \\" for cells in [self.header, *self.shown])
        columns = "".join("r" if column.is_numeric else "l" for column in self.columns)
        begin = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule"]
        return "\n".join([*begin, *lines, r"\bottomrule", r"\end{tabular}", ""])

    def records(self) -> list[dict[str, object]]:
        """Return an object per row, by the names of the columns."""
        return [dict(zip(self._names, row, strict=True)) for row in self.rows]

    @property
    def _names(self) -> list[str]:
        return [column.name or column.title for column in self.columns]


def text_table(
    header: Sequence[str], rows: Sequence[Sequence[object]], indent: str = "  ", numeric: Sequence[bool] = ()
) -> str:
    """Return rows below a header; columns of numbers are aligned to the right.

    header : titles, one per column; lines of a title are separated by newlines
    rows : cells, each row as long as the header; a cell is shown as `str` shows it
    indent : text before every line
    numeric : columns that are aligned to the right whatever their cells look like

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
    stated = numeric or [False] * len(columns)
    right = [known or _looks_numeric(cells) for known, (_, *cells) in zip(stated, columns, strict=True)]
    lines = [_line(line, widths, right, indent) for line in [*zip(*heads, strict=True), *cells]]
    return "\n".join(lines)


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
        lines += [line] if len(line) <= most else _words(line.strip(), most, indent, indent + "    ")
    return "\n".join(lines)


def _words(text: str, width: int, first: str, others: str) -> list[str]:
    """Lines of whole words; first, others : what begins them."""
    wrapper = textwrap.TextWrapper(width, initial_indent=first, subsequent_indent=others)
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    return wrapper.wrap(text)


_LATEX = str.maketrans(
    {
        **{mark: f"\\{mark}" for mark in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
    }
)


def _latex_text(cell: str) -> str:
    return cell.translate(_LATEX)


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool], indent: str) -> str:
    padded = [
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, numeric, strict=True)
    ]
    return (indent + "  ".join(padded)).rstrip()


def _looks_numeric(cells: Sequence[str]) -> bool:
    shown = [cell for cell in cells if cell.strip() not in ("", "-", "unknown")]
    return bool(shown) and all(map(_QUANTITY.fullmatch, shown))


def wrapped_list(items: Sequence[str], width: int | None = None) -> str:
    """Return names separated by commas, broken into lines that fit.

    width : longest line in characters (None: terminal).

    >>> print(wrapped_list(["alexnet", "resnet50", "vgg16"], width=20))
      alexnet, resnet50,
      vgg16
    """
    # Between the words of a name no line ends.
    text = ", ".join(item.replace(" ", "\0") for item in items)
    return "\n".join(_words(text, width or terminal_width(), "  ", "  ")).replace("\0", " ")


def terminal_width() -> int:
    """Return the width of the terminal in characters; 120 where the output goes elsewhere."""
    return shutil.get_terminal_size((_WIDTH_OF_PIPES, 24)).columns


def _width_of(text: str) -> int:
    return max(map(len, text.split("\n")))


def _broken(header: Sequence[str], cells: Sequence[Sequence[str]], least: int) -> list[str]:
    """Titles in lines of at most `least` characters, or of those of the cells below."""
    widths = [max((len(row[place]) for row in cells), default=0) for place in range(len(header))]
    return [
        "\n".join(
            textwrap.wrap(title, max(widest, least), break_on_hyphens=least < 8, break_long_words=False)
        )
        for title, widest in zip(header, widths, strict=True)
    ]


def _wrapped(titles: Sequence[str], cells: Sequence[Sequence[str]], most: int, least: int) -> list[list[str]]:
    """Wrap the widest columns of text to one width, at least `least`, so that the table has `most`."""
    columns = list(zip(titles, *cells, strict=True))
    widths = [max(map(_width_of, column)) for column in columns]
    # Numbers and ranges of them are not broken.
    caps = [
        width if _looks_numeric([_RANGE.sub("0", cell) for cell in column[1:]]) else least
        for width, column in zip(widths, columns, strict=True)
    ]
    free = most - 2 * (len(columns) - 1)
    cap = next(
        (
            cap
            for cap in range(max(widths), least, -1)
            if sum(min(width, max(cap, floor)) for width, floor in zip(widths, caps, strict=True)) <= free
        ),
        least,
    )
    lines: list[list[str]] = []
    for row in cells:
        parts = [_cell_lines(cell, max(cap, floor)) for cell, floor in zip(row, caps, strict=True)]
        lines += [list(line) for line in itertools.zip_longest(*parts, fillvalue="")]
    return lines


def _cell_lines(cell: str, width: int) -> list[str]:
    """Lines of a cell, broken at spaces; words that are too long, after a hyphen, slash or underscore."""
    if len(cell) <= width:
        return [cell]
    wrapper = textwrap.TextWrapper(width, break_on_hyphens=False)
    if max(map(len, cell.split())) > width:
        wrapper.wordsep_simple_re = _BREAKS
    return wrapper.wrap(cell)


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


def finite_json(value: object) -> str:
    """Return objects and lists as JSON text; numbers that are not finite become null.

    >>> print(finite_json({"time_s": float("nan")}))
    {
     "time_s": null
    }
    """
    return json.dumps(_plain(value), indent=1, allow_nan=False, ensure_ascii=False)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_plain, value))
    return null_for_nan(value)
