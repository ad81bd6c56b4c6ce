"""Plans of sheets: cells with values and formulas, names, drop-downs and charts, before any file."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from trainlaw.app.text.tables import Table
from trainlaw.formulas.files.toml_tables import toml_table
from xlsxwriter.utility import xl_col_to_name, xl_rowcol_to_cell

LINE_POINTS = 15.0  # height of a row in the default font of Excel, Calibri 11
FONT = "Calibri"
_STYLES = toml_table(__file__, "styles.toml")
#: Formats of cells by the name of their style; a style that is like another has that one's format, changed.
STYLES: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {name: {**_STYLES.get(style.pop("like", ""), {}), **style} for name, style in _STYLES.items()}
)


class PlannedCell(NamedTuple):
    """One cell: its value, its formula without "=" (empty for a plain value), and its style.

    The value of an empty cell is None; that of a formula is what Python computed, nan where it is undefined.
    """

    value: str | float | bool | None
    formula: str
    style: str


class Chart(NamedTuple):
    """A bar chart of one column of values over a column of labels, rows `first` to `last` of one sheet.

    row, column : cell of its upper left corner. unit : title of the axis of values. errors : columns of the
    lengths of error bars, below and above each value.
    """

    row: int
    column: int
    title: str
    unit: str
    labels: int
    values: int
    first: int
    last: int
    errors: tuple[int, int]


@dataclass
class SheetPlan:
    """One sheet; rows and columns are counted from 0.

    widths : of the first columns, in characters. heights : of rows, in points. drop_downs : name of the list
    per cell, and whether it takes other values, too. limits : of the number that a cell takes:
    "integer" or "decimal", least and most. expected : the cell text when there is no warning. frozen : rows
    and columns that stay in view. printed_rows : how many rows print, on one page. shared : first and last
    row by column, whose formulas differ by the row only and name no other sheet. bars : first and last row by
    column, whose shares are shown as bars. hidden_columns : first and last column that are collapsed.
    """

    name: str
    widths: Sequence[float]
    cells: dict[tuple[int, int], PlannedCell] = field(default_factory=dict)
    heights: dict[int, float] = field(default_factory=dict)
    drop_downs: dict[tuple[int, int], tuple[str, bool]] = field(default_factory=dict)
    limits: dict[tuple[int, int], tuple[str, float, float]] = field(default_factory=dict)
    expected: dict[tuple[int, int], str] = field(default_factory=dict)
    shared: dict[int, tuple[int, int]] = field(default_factory=dict)
    bars: dict[int, tuple[int, int]] = field(default_factory=dict)
    charts: list[Chart] = field(default_factory=list)
    frozen: tuple[int, int] = (0, 0)
    printed_rows: int = 0
    hidden_columns: tuple[int, int] | None = None


@dataclass
class BookPlan:
    """All sheets, and the range or expression, without "=", that each defined name denotes."""

    title: str
    comment: str
    sheets: list[SheetPlan] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)


class SheetWriter:
    """A writer of one new sheet of a plan; rows and columns are counted from 0."""

    def __init__(self, book: BookPlan, name: str, widths: Sequence[float]) -> None:
        """Add the sheet `name`; widths : of the first columns, in characters."""
        self.book, self.name = book, name
        self.plan = SheetPlan(name, widths)
        book.sheets.append(self.plan)

    def place(self, row: int, column: int) -> str:
        """Return the absolute address of a cell, for formulas of any sheet."""
        return f"{quoted(self.name)}!{xl_rowcol_to_cell(row, column, True, True)}"

    def title(self, title: str, note: str = "") -> None:
        """Write the title of the sheet, and a line below it."""
        self.plan.heights[0] = 26
        self.text(0, 0, title, "title")
        self.text(1, 0, note, "note")

    def text(self, row: int, column: int, text: str, style: str = "text") -> None:
        """Write a text as text, whatever it begins with."""
        self.plan.cells[row, column] = PlannedCell(text, "", style)

    def wrapped_text(self, row: int, column: int, text: str, width: int) -> None:
        """Write a text into a row that is high enough for it at `width` characters per line."""
        self._heighten(row, text, width)
        self.text(row, column, text, "wrapped")

    def _heighten(self, row: int, text: str, width: float) -> None:
        """Make a row high enough for a text at `width` characters per line."""
        needed = LINE_POINTS * math.ceil(max(len(text), 1) / width)
        self.plan.heights[row] = max(needed, self.plan.heights.get(row, LINE_POINTS))

    def number(self, row: int, column: int, number: float, style: str = "general") -> None:
        """Write a number; one that is unknown (nan) leaves the cell empty."""
        known = math.isfinite(number)
        self.plan.cells[row, column] = PlannedCell(number if known else None, "", style)

    def formula(
        self, row: int, column: int, formula: str, value: float | str, style: str = "general"
    ) -> None:
        """Write a formula, without "=", with its value for programs that do not calculate."""
        self.plan.cells[row, column] = PlannedCell(value, formula, style)

    def line(
        self,
        row: int,
        label: str,
        value: float | str,
        style: str = "general",
        *,
        formula: str = "",
        unit: str = "",
        name: str = "",
        column: int = 0,
    ) -> None:
        """Write a label, next to it a number, or a formula with its value, and then its unit.

        name : that all sheets know the cell by; empty for none. column : of the label.
        """
        self.text(row, column, label)
        if formula:
            self.formula(row, column + 1, formula, value, style)
        else:
            self.number(row, column + 1, float(value), style)
        if unit:
            self.text(row, column + 2, unit, "unit")
        if name:
            self.define(name, row, column + 1)

    def define(self, name: str, row: int, column: int) -> None:
        """Give a cell a name that all sheets know."""
        self.book.names[name] = self.place(row, column)

    def define_range(self, name: str, column: int, first: int, last: int) -> None:
        """Give rows `first` to `last` of a column a name that all sheets know."""
        self.book.names[name] = f"{quoted(self.name)}!{column_range(column, first, last)}"

    def heads(self, row: int, titles: Sequence[str], of_texts: Sequence[str] = ()) -> None:
        """Write the titles of columns; the first one and those `of_texts` are aligned to the left."""
        for column, title in enumerate(titles):
            style = "head_unit" if title in of_texts else "head_right"
            self.text(row, column, title, style if column else "head")

    def table(self, row: int, table: Table) -> int:
        """Write a table of plain values from the first column on; return the next free row."""
        for column, title in enumerate(table.header):
            numeric = bool(table.rows) and isinstance(table.rows[0][column], int | float)
            self.text(row, column, title, "head_right" if numeric else "head")
            if column < len(self.plan.widths):
                # Lines break between words, and the font is bold: a third of a line may be lost.
                self._heighten(row, title, 2 / 3 * self.plan.widths[column])
        formats = [kind.style if kind.style in STYLES else "general" for kind in table.columns]
        for offset, values in enumerate(table.rows, start=1):
            for column, value in enumerate(values):
                if isinstance(value, int | float):
                    style = formats[column] if isinstance(value, float) else "general"
                    self.number(row + offset, column, value, style)
                else:
                    self.text(row + offset, column, str(value))
        return row + len(table.rows) + 1


def column_range(column: int, first: int, last: int) -> str:
    """Return the absolute address of rows `first` to `last` of a column, counted from 0.

    >>> column_range(1, 3, 8)
    '$B$4:$B$9'
    """
    letter = xl_col_to_name(column)
    return f"${letter}${first + 1}:${letter}${last + 1}"


def quoted(name: str) -> str:
    """Return the name of a sheet as formulas write it.

    >>> quoted("GPUs"), quoted("All GPUs")
    ('GPUs', "'All GPUs'")
    """
    return name if name.isalnum() else f"'{name}'"
