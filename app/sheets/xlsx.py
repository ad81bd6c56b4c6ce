"""A plan of sheets as an .xlsx file, every formula with its value."""

import math
import re
import zipfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from io import BytesIO
from types import MappingProxyType

from trainlaw.app.sheets.book_plan import FONT, STYLES, BookPlan, Chart, PlannedCell, SheetPlan, quoted
from trainlaw.formulas.files.toml_tables import toml_table
from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.utility import xl_range, xl_range_abs, xl_rowcol_to_cell
from xlsxwriter.worksheet import Worksheet

_OPTIONS = toml_table(__file__, "xlsx.toml")
_A4 = 9  # the paper size by its number in the file format
_TEXTS = "xl/sharedStrings.xml"
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest date that ZIP can store: equal plans give equal bytes


class _PlainSheet(Worksheet):  # type: ignore[misc]  # XlsxWriter is not typed
    """A sheet whose formulas use no function newer than Excel 2007.

    XlsxWriter searches each formula for about 100 newer functions; skipping that halves the time of writing.
    """

    shared: Mapping[str, str] = MappingProxyType({})  # attributes of <f> by cell, of formulas that are shared

    def _prepare_formula(self, formula: str, expand_future_functions: bool = False) -> str:
        return formula.removeprefix("=")

    def _xml_formula_element(
        self, formula: str, result: object, attributes: Sequence[tuple[str, str]] = ()
    ) -> None:
        shared = self.shared.get(dict(attributes)["r"])
        if shared is None:
            super()._xml_formula_element(formula, result, attributes)
            return
        # Only the first cell has the text; in the others it moves with the row.
        text = self._escape_data(formula) if "ref=" in shared else ""
        cell = "".join(f' {name}="{value}"' for name, value in attributes)
        self.fh.write(f"<c{cell}><f{shared}>{text}</f><v>{self._escape_data(result)}</v></c>")


def xlsx_bytes(plan: BookPlan) -> bytes:
    """Return the bytes of the .xlsx file of a plan; the same plan gives the same bytes."""
    buffer = BytesIO()
    with Workbook(buffer, _OPTIONS["book"]) as book:
        # A fixed date, so that equal plans give equal files.
        book.set_properties({"title": plan.title, "comments": plan.comment, "created": datetime(2000, 1, 1)})
        book.set_calc_mode("auto")
        common = {"font_name": FONT, "font_size": 11, "valign": "top"}
        styles = {name: book.add_format({**common, **options}) for name, options in STYLES.items()}
        for sheet in plan.sheets:
            _write_sheet(book, book.add_worksheet(sheet.name, _PlainSheet), sheet, styles)
        for name, place in plan.names.items():
            book.define_name(name, f"={place}")
    return _with_inert_texts(buffer)


def _with_inert_texts(file: BytesIO) -> bytes:
    """Return the file with texts such as "v2_x1_0" escaped: LibreOffice reads _x1_ as character number 1."""
    source, target = zipfile.ZipFile(file), BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in source.namelist():
            content = source.read(name)
            if name == _TEXTS:
                content = re.sub(rb"_x(?=[0-9A-Fa-f]{1,3}_)", b"_x005F_x", content)
            archive.writestr(zipfile.ZipInfo(name, _DATE), content, zipfile.ZIP_DEFLATED)
    return target.getvalue()


def _write_sheet(book: Workbook, sheet: Worksheet, plan: SheetPlan, styles: Mapping[str, Format]) -> None:
    sheet.shared = _shared(plan)
    for column, width in enumerate(plan.widths):
        sheet.set_column(column, column, width)
    for row, height in plan.heights.items():
        sheet.set_row(row, height)
    for (row, column), cell in plan.cells.items():
        _write_cell(sheet, row, column, cell, styles[cell.style])
    _restrict(sheet, plan)
    for (row, column), text in plan.expected.items():
        rule = {"type": "cell", "criteria": "!=", "value": f'"{text}"', "format": styles["warning"]}
        sheet.conditional_format(row, column, row, column, rule)
    for column, (first, last) in plan.bars.items():
        sheet.conditional_format(first, column, last, column, {**_OPTIONS["bar"]})
    if plan.hidden_columns:
        # Intermediate steps; the plus sign in the margin expands them.
        sheet.set_column(*plan.hidden_columns, 12, None, {"level": 1, "hidden": True})
    for chart in plan.charts:
        _draw(book, sheet, plan.name, chart)
    sheet.hide_gridlines(2)
    sheet.freeze_panes(*plan.frozen)
    _set_up_print(sheet, plan)


def _shared(plan: SheetPlan) -> dict[str, str]:
    """Return the attributes of the formulas that a column shares, by cell."""
    found = {}
    for number, (column, (first, last)) in enumerate(plan.shared.items()):
        for row in range(first, last + 1):
            found[xl_rowcol_to_cell(row, column)] = f' t="shared" si="{number}"'
        place = xl_range(first, column, last, column)
        found[xl_rowcol_to_cell(first, column)] = f' t="shared" ref="{place}" si="{number}"'
    return found


def _restrict(sheet: Worksheet, plan: SheetPlan) -> None:
    """Offer lists of values, and limit numbers."""
    message = "Choose from the list, or add a row to its sheet."
    for (row, column), (listed, is_open) in plan.drop_downs.items():
        rule = {
            "validate": "list",
            "source": f"={listed}",
            "error_message": message,
            "show_error": not is_open,
        }
        sheet.data_validation(row, column, row, column, rule)
    for (row, column), (kind, least, most) in plan.limits.items():
        words = f"Enter a {'whole ' * (kind == 'integer')}number from {least:,g} to {most:,g}."
        limits = {"validate": kind, "criteria": "between", "minimum": least, "maximum": most}
        sheet.data_validation(row, column, row, column, {**limits, "error_message": words})


def _write_cell(sheet: Worksheet, row: int, column: int, cell: PlannedCell, style: Format) -> None:
    if cell.formula:
        # A formula without a stored value would show as 0 in programs that do not calculate.
        undefined = isinstance(cell.value, float) and not math.isfinite(cell.value)
        sheet.write_formula(row, column, f"={cell.formula}", style, "#NUM!" if undefined else cell.value)
    else:
        sheet.write(row, column, cell.value, style)


def _draw(book: Workbook, sheet: Worksheet, name: str, plan: Chart) -> None:
    chart = book.add_chart({"type": "bar"})
    series = {
        "categories": [name, plan.first, plan.labels, plan.last, plan.labels],
        "values": [name, plan.first, plan.values, plan.last, plan.values],
        "fill": {"color": "#2F75B5"},
        "gap": 40,
    }
    below, above = (
        f"={quoted(name)}!{xl_range_abs(plan.first, column, plan.last, column)}" for column in plan.errors
    )
    ends = {"type": "custom", "minus_values": below, "plus_values": above}
    chart.add_series({**series, "y_error_bars": {**ends, "line": {"color": "#7F7F7F"}}})
    chart.set_title({"name": plan.title, "name_font": {"size": 12}, "overlay": False})
    chart.set_legend({"none": True})
    chart.set_x_axis({"name": plan.unit, "num_format": "General", "min": 0})
    # Excel draws bar charts from the bottom up; reversed, the first row is on top.
    chart.set_y_axis({"reverse": True, "num_font": {"size": 9}})
    chart.set_size({"width": 1000, "height": 620})
    sheet.insert_chart(plan.row, plan.column, chart, {"description": plan.title})


def _set_up_print(sheet: Worksheet, plan: SheetPlan) -> None:
    """Print the first rows on one page; none where there are to be none, since an empty cell has no page."""
    columns = 1 + max(column for _, column in plan.cells)
    shown = plan.hidden_columns[0] if plan.hidden_columns else columns
    empty = (0, columns) * 2
    sheet.print_area(*((0, 0, plan.printed_rows - 1, shown - 1) if plan.printed_rows else empty))
    sheet.set_landscape()
    sheet.set_paper(_A4)
    sheet.fit_to_pages(1, 1)
    sheet.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.6)
    sheet.set_footer(f"&L{plan.name}&RPage &P of &N")
