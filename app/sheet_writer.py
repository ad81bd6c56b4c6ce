"""One sheet of a workbook under construction: texts, numbers, formulas with their values, names, tables."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.utility import xl_rowcol_to_cell

_BASE = {"font_name": "Calibri", "font_size": 11, "valign": "top"}
_INPUT = {"bg_color": "#FFF2CC", "border": 1, "border_color": "#BF9000"}
_RESULT = {"bold": True, "bg_color": "#E2EFDA"}
_STYLES: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "text": {},
        "wrapped": {"text_wrap": True},
        "note": {"font_color": "#666666", "italic": True},
        "unit": {"align": "left", "indent": 1},
        "title": {"bold": True, "font_size": 16},
        "section": {"bold": True, "font_size": 12, "bottom": 1},
        "head": {"bold": True, "bg_color": "#EDEDED", "bottom": 1},
        "head_unit": {"bold": True, "bg_color": "#EDEDED", "bottom": 1, "align": "left", "indent": 1},
        "head_right": {"bold": True, "bg_color": "#EDEDED", "bottom": 1, "align": "right"},
        "input": {**_INPUT, "align": "left"},
        "constant": {**_INPUT, "num_format": "General"},
        "general": {"num_format": "General", "align": "right"},
        "seconds": {"num_format": "[=0]0;[<0.001]0.00E+00;0.0000", "align": "right"},
        "amount": {"num_format": "[<1000]General;#,##0", "align": "right"},
        "percent": {"num_format": "0.0", "align": "right"},
        "share": {"num_format": "0.0%", "align": "right"},
        "result": {**_RESULT, "num_format": "0.000000", "align": "right"},
        "result_short": {**_RESULT, "num_format": "#,##0.0", "align": "right"},
        "result_text": {**_RESULT, "align": "left"},
    }
)
_LINE_POINTS = 15.0


def make_styles(book: Workbook) -> dict[str, Format]:
    """Return the cell formats of a workbook by name."""
    return {name: book.add_format({**_BASE, **options}) for name, options in _STYLES.items()}


class SheetWriter:
    """Writes one new sheet; rows and columns are counted from 0.

    book : the workbook, not yet closed. styles : what `make_styles` gave for it. name : of the sheet.
    widths : of the first columns, in characters.
    """

    def __init__(
        self, book: Workbook, styles: Mapping[str, Format], name: str, widths: Sequence[float]
    ) -> None:
        """Add the sheet; it is printed as wide as a page."""
        self.book, self.styles, self.name = book, styles, name
        self.sheet = book.add_worksheet(name)
        for column, width in enumerate(widths):
            self.sheet.set_column(column, column, width)
        self.sheet.set_landscape()
        self.sheet.set_paper(9)  # A4
        self.sheet.fit_to_pages(1, 0)

    def title(self, title: str, note: str = "") -> None:
        """Write the title of the sheet, and a line below it."""
        self.sheet.set_row(0, 26)
        self.text(0, 0, title, "title")
        self.text(1, 0, note, "note")

    def text(self, row: int, column: int, text: str, style: str = "text") -> None:
        """Write a text as text, whatever it begins with."""
        self.sheet.write_string(row, column, text, self.styles[style])

    def wrapped_text(self, row: int, column: int, text: str, width: int) -> None:
        """Write a text into a row as high as it needs at `width` characters a line."""
        self.sheet.set_row(row, _LINE_POINTS * math.ceil(max(len(text), 1) / width))
        self.text(row, column, text, "wrapped")

    def number(self, row: int, column: int, number: float, style: str = "general") -> None:
        """Write a number; one that is unknown (nan) leaves the cell empty."""
        if math.isfinite(number):
            self.sheet.write_number(row, column, number, self.styles[style])
        else:
            self.sheet.write_blank(row, column, None, self.styles["text"])

    def formula(
        self, row: int, column: int, formula: str, value: float | str, style: str = "general"
    ) -> None:
        """Write a formula, without "=", together with its value, for programs that do not calculate."""
        undefined = isinstance(value, float) and not math.isfinite(value)
        stored = "#NUM!" if undefined else value
        self.sheet.write_formula(row, column, f"={formula}", self.styles[style], stored)

    def define(self, name: str, row: int, column: int) -> None:
        """Give a cell a name that all sheets know."""
        self.book.define_name(name, f"={self.name}!{xl_rowcol_to_cell(row, column, True, True)}")

    def table(
        self, row: int, header: Sequence[str], rows: Sequence[Sequence[object]], numbers: str = "general"
    ) -> int:
        """Write a header and plain values from the first column on; return the next free row.

        numbers : style of those that are no whole numbers.
        """
        for column, title in enumerate(header):
            numeric = bool(rows) and isinstance(rows[0][column], int | float)
            self.text(row, column, title, "head_right" if numeric else "head")
        for offset, values in enumerate(rows, start=1):
            for column, value in enumerate(values):
                if isinstance(value, int | float):
                    style = numbers if isinstance(value, float) else "general"
                    self.number(row + offset, column, value, style)
                else:
                    self.text(row + offset, column, str(value))
        return row + len(rows) + 1
