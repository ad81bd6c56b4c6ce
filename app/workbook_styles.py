"""The few cell formats of the workbook, and the writing of plain tables."""

import math
from collections.abc import Mapping, Sequence

from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

Styles = Mapping[str, Format]

_BASE = {"font_name": "Calibri", "font_size": 11, "valign": "top"}
_INPUT = {"bg_color": "#FFF2CC", "border": 1, "border_color": "#BF9000"}
_RESULT = {"bold": True, "bg_color": "#E2EFDA"}
_SECONDS = "[=0]0;[<0.001]0.00E+00;0.0000"
_AMOUNT = "[<1000]General;#,##0"


def make_styles(book: Workbook) -> Styles:
    """Return the formats by name."""
    wanted = {
        "text": {},
        "wrapped": {"text_wrap": True},
        "note": {"font_color": "#666666", "italic": True},
        "unit": {"align": "left", "indent": 1},
        "title": {"bold": True, "font_size": 16},
        "section": {"bold": True, "font_size": 12, "bottom": 1},
        "head": {"bold": True, "bg_color": "#EDEDED", "bottom": 1},
        "head_right": {"bold": True, "bg_color": "#EDEDED", "bottom": 1, "align": "right"},
        "input": {**_INPUT, "align": "left"},
        "input_number": {**_INPUT, "num_format": "General", "align": "left"},
        "constant": {**_INPUT, "num_format": "General"},
        "seconds": {"num_format": _SECONDS, "align": "right"},
        "amount": {"num_format": _AMOUNT, "align": "right"},
        "general": {"num_format": "General", "align": "right"},
        "percent": {"num_format": "0.0", "align": "right"},
        "share": {"num_format": "0.0%", "align": "right"},
        "result": {**_RESULT, "num_format": "0.000000", "align": "right"},
        "result_short": {**_RESULT, "num_format": "#,##0.0", "align": "right"},
        "result_text": {**_RESULT, "align": "left"},
    }
    return {name: book.add_format({**_BASE, **options}) for name, options in wanted.items()}


def write_title(sheet: Worksheet, styles: Styles, title: str, note: str = "") -> None:
    """Write the title of a sheet, and a line below it."""
    sheet.set_row(0, 26)
    sheet.write_string(0, 0, title, styles["title"])
    sheet.write_string(1, 0, note, styles["note"])


def fit_on_pages(sheet: Worksheet) -> None:
    """Print a sheet as wide as a page, in landscape."""
    sheet.set_landscape()
    sheet.set_paper(9)  # A4
    sheet.fit_to_pages(1, 0)


def lines_height(text: str, width: int) -> float:
    """Return the height in points of a row whose wrapped text has `width` characters a line."""
    return 15.0 * math.ceil(max(len(text), 1) / width)


def write_value(sheet: Worksheet, row: int, column: int, value: object, styles: Styles, number: str = "general") -> None:
    """Write one plain value: texts always as text, whatever they begin with; unknown numbers as an empty cell."""
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value, styles["text"])
    elif isinstance(value, int):
        sheet.write_number(row, column, value, styles["general"])
    elif isinstance(value, float):
        if math.isfinite(value):
            sheet.write_number(row, column, value, styles[number])
        else:
            sheet.write_blank(row, column, None, styles["text"])
    else:
        sheet.write_string(row, column, str(value), styles["text"])


def write_table(
    sheet: Worksheet,
    row: int,
    header: Sequence[str],
    rows: Sequence[Sequence[object]],
    styles: Styles,
    number: str = "general",
) -> int:
    """Write a header and rows of plain values from the first column on; return the number of the next free row."""
    for column, title in enumerate(header):
        numeric = bool(rows) and isinstance(rows[0][column], int | float)
        sheet.write_string(row, column, title, styles["head_right" if numeric else "head"])
    for offset, values in enumerate(rows, start=1):
        for column, value in enumerate(values):
            write_value(sheet, row + offset, column, value, styles, number)
    return row + len(rows) + 1
