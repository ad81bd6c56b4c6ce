"""A plan of sheets as an .ods file (OpenDocument 1.3), written with the standard library alone.

Every formula stands with its value, in the OpenFormula syntax. What .ods has in extensions only (bars inside
cells, coloured scales) is left out.
"""

import math
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from trainlaw.app.sheets.ods_chart import chart_object
from trainlaw.app.sheets.ods_formula import cell_range, open_formula
from trainlaw.app.sheets.ods_styles import NAMESPACES, STYLES_XML, automatic_styles, column_style, row_style
from trainlaw.app.sheets.plan import LINE_POINTS, BookPlan, PlannedCell, SheetPlan

_MEDIA = "application/vnd.oasis.opendocument.spreadsheet"
_CHART_MEDIA = "application/vnd.oasis.opendocument.chart"
_DATE = (2000, 1, 1, 0, 0, 0)  # a fixed date, so that equal plans give equal files
_BASE = 'table:base-cell-address="$Predict.$A$1"'  # where relative addresses of names start; there are none
_PIXEL_CM = 2.54 / 96


def ods_bytes(plan: BookPlan) -> bytes:
    """Return the bytes of the .ods file of a plan; the same plan gives the same bytes."""
    objects = {f"Object {n}": chart for n, chart in enumerate(_charts(plan), start=1)}
    entries = [
        ("/", _MEDIA),
        ("content.xml", "text/xml"),
        ("styles.xml", "text/xml"),
        ("meta.xml", "text/xml"),
    ]
    files = {"content.xml": _content(plan), "styles.xml": STYLES_XML, "meta.xml": _meta(plan)}
    for name, (sheet, number) in objects.items():
        files[f"{name}/content.xml"] = chart_object(sheet, sheet.charts[number])
        entries += [(f"{name}/", _CHART_MEDIA), (f"{name}/content.xml", "text/xml")]
    files["META-INF/manifest.xml"] = _manifest(entries)
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        # The standard asks for this file first and not compressed.
        archive.writestr(zipfile.ZipInfo("mimetype", _DATE), _MEDIA, zipfile.ZIP_STORED)
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), text.encode(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _charts(plan: BookPlan) -> list[tuple[SheetPlan, int]]:
    return [(sheet, number) for sheet in plan.sheets for number in range(len(sheet.charts))]


def _content(plan: BookPlan) -> str:
    rules = _validations(plan)
    objects = iter(range(1, 1 + len(_charts(plan))))
    tables = "".join("".join(_table(sheet, rules, objects)) for sheet in plan.sheets)
    lists = "".join(
        f'<table:content-validation table:name="{name}" {_BASE} table:allow-empty-cell="true" '
        f'table:condition="of:cell-content-is-in-list({listed})"/>'
        for listed, name in rules.items()
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {NAMESPACES} office:version="1.3">'
        f"{automatic_styles(plan)}<office:body><office:spreadsheet>"
        f"<table:content-validations>{lists}</table:content-validations>{tables}"
        f"<table:named-expressions>{''.join(_names(plan))}</table:named-expressions>"
        "</office:spreadsheet></office:body></office:document-content>"
    )


def _validations(plan: BookPlan) -> dict[str, str]:
    lists = dict.fromkeys(listed for sheet in plan.sheets for listed in sheet.drop_downs.values())
    return {listed: f"list{number}" for number, listed in enumerate(lists, start=1)}


def _names(plan: BookPlan) -> Iterator[str]:
    for name, place in plan.names.items():
        if "(" in place:
            formula = open_formula(place).removeprefix("of:=")
            text = quoteattr(formula)
            yield f'<table:named-expression table:name="{name}" {_BASE} table:expression={text}/>'
        else:
            cells = quoteattr(cell_range(place))
            yield f'<table:named-range table:name="{name}" {_BASE} table:cell-range-address={cells}/>'


def _table(sheet: SheetPlan, rules: Mapping[str, str], objects: Iterator[int]) -> Iterator[str]:
    """The rows of a sheet; empty cells and rows are counted, not written."""
    yield f'<table:table table:name={quoteattr(sheet.name)} table:style-name="ta1">'
    yield from _shapes(sheet, objects)
    for column, width in enumerate(sheet.widths):
        folded = _folded(column, sheet.hidden_columns)
        yield f'<table:table-column table:style-name="{column_style(width)}"{folded}/>'
    below = 0
    for row, line in groupby(sorted(sheet.cells.items()), key=lambda item: item[0][0]):
        if row > below:
            repeated = f'table:style-name="ro1" table:number-rows-repeated="{row - below}"'
            yield f"<table:table-row {repeated}><table:table-cell/></table:table-row>"
        style = row_style(sheet.heights.get(row, LINE_POINTS))
        yield f'<table:table-row table:style-name="{style}"{_folded(row, sheet.hidden_rows)}>'
        yield from _row(
            (((column, cell), sheet.drop_downs.get((row, column), "")) for (_, column), cell in line), rules
        )
        yield "</table:table-row>"
        below = row + 1
    yield "</table:table>"


def _folded(position: int, hidden: tuple[int, int] | None) -> str:
    inside = hidden is not None and hidden[0] <= position <= hidden[1]
    return ' table:visibility="collapse"' if inside else ""


def _row(cells: Iterable[tuple[tuple[int, PlannedCell], str]], rules: Mapping[str, str]) -> Iterator[str]:
    beside = 0
    for (column, cell), listed in cells:
        if column > beside:
            yield f'<table:table-cell table:number-columns-repeated="{column - beside}"/>'
        yield _cell(cell, f' table:content-validation-name="{rules[listed]}"' if listed else "")
        beside = column + 1


def _shapes(sheet: SheetPlan, objects: Iterator[int]) -> Iterator[str]:
    if not sheet.charts:
        return
    yield "<table:shapes>"
    for chart in sheet.charts:
        number = next(objects)
        height = sum(sheet.heights.get(row, LINE_POINTS) for row in range(chart.row)) / 72 * 2.54
        size = f'svg:width="{chart.size[0] * _PIXEL_CM:.2f}cm" svg:height="{chart.size[1] * _PIXEL_CM:.2f}cm"'
        yield (
            f'<draw:frame draw:name="chart{number}" svg:x="0.2cm" svg:y="{height:.2f}cm" {size}>'
            f'<draw:object xlink:href="./Object {number}" xlink:type="simple" xlink:show="embed" '
            'xlink:actuate="onLoad"/></draw:frame>'
        )
    yield "</table:shapes>"


def _cell(cell: PlannedCell, rule: str) -> str:
    formula = f" table:formula={quoteattr(open_formula(cell.formula))}" if cell.formula else ""
    style = f'<table:table-cell table:style-name="{cell.style}"{rule}{formula}'
    value = cell.value
    if value is None:
        return f"{style}/>"
    if isinstance(value, bool):
        return f'{style} office:value-type="boolean" office:boolean-value="{str(value).lower()}"/>'
    if isinstance(value, str):
        text = _text(value)
        return f'{style} office:value-type="string"><text:p>{text}</text:p></table:table-cell>'
    if not math.isfinite(value):
        return f'{style} office:value-type="string"><text:p>#NUM!</text:p></table:table-cell>'
    number = f'office:value-type="float" office:value="{value!r}"'
    return f"{style} {number}><text:p>{value:.6g}</text:p></table:table-cell>"


def _text(value: str) -> str:
    """A text for XML: signs that XML does not know are left out, several spaces are kept."""
    plain = "".join(sign for sign in value if sign >= " " or sign in "\t\n")
    return escape(plain).replace("  ", " <text:s/>")


def _meta(plan: BookPlan) -> str:
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-meta {NAMESPACES} office:version="1.3">'
        f"<office:meta><meta:generator>{escape(plan.comment)}</meta:generator>"
        f"<dc:title>{escape(plan.title)}</dc:title></office:meta></office:document-meta>"
    )


def _manifest(entries: list[tuple[str, str]]) -> str:
    lines = "".join(
        f'<manifest:file-entry manifest:full-path="{path}" manifest:media-type="{media}"/>'
        for path, media in entries
    )
    space = 'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.3"'
    return f'<?xml version="1.0" encoding="UTF-8"?><manifest:manifest {space}>{lines}</manifest:manifest>'
