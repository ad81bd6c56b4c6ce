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
_NUMBER = "[<0.0001]0.00E+00;[<1000]0.0000;#,##0"


def make_styles(book: Workbook) -> Styles:
    """Return the formats by name."""
    wanted = {
        "text": {},
        "wrapped": {"text_wrap": True},
        "note": {"font_color": "#666666", "italic": True, "text_wrap": True},
        "note_line": {"font_color": "#666666", "italic": True},
        "title": {"bold": True, "font_size": 16},
        "section": {"bold": True, "font_size": 12, "bottom": 1},
        "head": {"bold": True, "bg_color": "#EDEDED", "bottom": 1, "text_wrap": True},
        "input": {**_INPUT, "align": "left"},
        "input_number": {**_INPUT, "num_format": "General", "align": "left"},
        "constant": {**_INPUT, "num_format": "General"},
        "number": {"num_format": _NUMBER, "align": "right"},
        "general": {"num_format": "General", "align": "right"},
        "percent": {"num_format": "0.0", "align": "right"},
        "share": {"num_format": "0.0%", "align": "right"},
        "result": {**_RESULT, "num_format": "0.000000", "align": "right"},
        "result_short": {**_RESULT, "num_format": "#,##0.0", "align": "right"},
        "result_text": {**_RESULT, "align": "left", "text_wrap": True},
        "unknown": {"font_color": "#999999", "italic": True, "align": "right"},
    }
    return {name: book.add_format({**_BASE, **options}) for name, options in wanted.items()}


def write_value(sheet: Worksheet, row: int, column: int, value: object, styles: Styles, number: str = "general") -> None:
    """Write one plain value: texts always as text, whatever they begin with; unknown numbers as an empty cell."""
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value, styles["text"])
    elif isinstance(value, int | float):
        if math.isfinite(value):
            sheet.write_number(row, column, value, styles[number])
        else:
            sheet.write_blank(row, column, None, styles["unknown"])
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
        sheet.write_string(row, column, title, styles["head"])
    for offset, values in enumerate(rows, start=1):
        for column, value in enumerate(values):
            write_value(sheet, row + offset, column, value, styles, number)
    return row + len(rows) + 1
