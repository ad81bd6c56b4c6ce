"""The sheets GPUs and CNNs, which predictions look up, with further names of their rows."""

import math
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from trainlaw.app.inputs.prices import EXAMPLE, read_prices
from trainlaw.app.models.lookup_tables import cnn_label, cnn_row, cnn_rows, gpu_rows, usual_labels
from trainlaw.app.sheets.book_plan import BookPlan, SheetWriter
from trainlaw.app.workbook.model import PREFIX, TABLES, new_sheet
from trainlaw.app.workbook.spellings import further_names, key_formula, sheet_key, without_count
from trainlaw.datasets import CnnCounts, Gpu, find_gpu
from trainlaw.datasets.files.limits import limits
from trainlaw.datasets.hardware.links import links
from trainlaw.datasets.hardware.possible import has_link, lacking
from trainlaw.datasets.hardware.servers import usual_server
from trainlaw.formulas import Formula
from xlsxwriter.utility import xl_col_to_name

SPARE_ROWS = 1000  # rows that look-ups cover, so that the user can add rows
HEAD = 3  # row of the header of each table
#: Column with further names of a row, each between two semicolons, without what no name needs to be found.
NAMES = "further_names"
#: Column with the precisions, software and links that a GPU lacks, each between two semicolons.
LACKS = "lacks"
#: Headings of the list of GPUs: names of no GPU, so that each group can be found in the drop-down.
HEADING = "\u2014 "
MEASURED, NEVER_MEASURED, PROCESSORS = (
    f"{HEADING}GPUs of generations with training runs",
    f"{HEADING}GPUs of generations without any",
    f"{HEADING}CPUs and Xeon Phi",
)
_NUMBER_WIDTH = 18  # characters of the longest number with separators
_MOST_WIDTH = 48
# By the end of a column's name, since names of columns carry their units.
_UNITS: Mapping[str, str] = TABLES["units"]
Rows = Mapping[str, Mapping[str, object]]


def gpu_table_rows(formula: Formula) -> dict[str, dict[str, object]]:
    """Return the rows of sheet GPUs by GPU: price, link, server, specifications, further names.

    They are sorted by name, below a heading for each group: generations with training runs of the formula,
    without, and CPUs.
    """
    seen = formula.provenance.get("generations")
    groups: dict[str, dict[str, dict[str, object]]] = {MEASURED: {}, NEVER_MEASURED: {}, PROCESSORS: {}}
    for name, row in _gpu_rows_by_name().items():
        measured = seen is None or row["generation"] in seen
        group = PROCESSORS if row["device"] != "GPU" else MEASURED if measured else NEVER_MEASURED
        groups[group][name] = row
    rows: dict[str, dict[str, object]] = {}
    for heading, known in groups.items():
        for row in list(known.values())[:1]:
            rows[heading] = {name: "" if isinstance(value, str) else math.nan for name, value in row.items()}
        rows |= known
    return rows


@cache
def _gpu_rows_by_name() -> dict[str, dict[str, object]]:
    specifications = gpu_rows()
    names = further_names("gpu", {name: name for name in specifications})
    return {
        name: _gpu_row(find_gpu(name), specifications[name]) | {NAMES: names.get(name, "")}
        for name in sorted(specifications, key=natural_key)
    }


def _gpu_row(gpu: Gpu, specifications: Mapping[str, object]) -> dict[str, object]:
    server = usual_server(gpu.gpu)
    return {
        "price_usd_per_hour": listed_price(gpu.gpu),
        "link": gpu.usual_link,
        "server_gpus": float(server.gpus_per_node),
        "fabric": server.fabric,
        **specifications,
        LACKS: f";{';'.join((*lacking(gpu), *(name for name in links() if not has_link(gpu, name))))};",
    }


def listed_price(gpu: object) -> float:
    """Return the listed price of a GPU for an hour; nan without one."""
    return read_prices(Path(EXAMPLE)).of(str(gpu), 1)


def usable_price(cell: str, empty: str = '""') -> str:
    """Return the cell formula of a price that the user may have changed; empty : of no price."""
    limit = limits()["price_per_hour"]
    return (
        f"IF(ISNUMBER({cell}),IF(AND({cell}>={limit.least:g},{cell}<={limit.most:g}),{cell},{empty}),{empty})"
    )


def has_all(asked: Iterable[str], lacked: str) -> str:
    """Return the cell formula of whether a GPU has all that is asked for.

    asked : cell formulas of precisions, software and links. lacked : of the column `LACKS` of the GPU.
    """
    return "AND(" + ",".join(f'ISERROR(FIND(";"&{one}&";",{lacked}))' for one in asked) + ")"


def gpu_places(formula: Formula) -> dict[str, str]:
    """Return the template of the cell of each specification on sheet GPUs, in a row {row}."""
    header = ["gpu", *next(iter(gpu_table_rows(formula).values()))]
    return {name: f"GPUs!${xl_col_to_name(column)}{{row}}" for column, name in enumerate(header)}


def natural_key(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts numbers in names by value: K80 before K100.

    >>> sorted(["RTX 4070", "RTX 980"], key=natural_key)
    ['RTX 980', 'RTX 4070']
    """
    parts = re.split(r"(\d{1,9})", name.lower())
    return [(int(part), "") if part.isdecimal() else (0, part) for part in parts]


@cache
def cnn_table_rows() -> dict[str, dict[str, object]]:
    """Return the rows of sheet CNNs by label, sorted by name and size; names stand at the usual size."""
    names = further_names("cnn", usual_labels())
    ordered = sorted(cnn_rows().items(), key=lambda item: natural_key(item[0]))
    return {label: {**row, NAMES: names.get(label, "")} for label, row in ordered}


def cnn_line(cnn: CnnCounts) -> str:
    """Return the row of a CNN on sheet CNNs as a line of cells between tabs, as a spreadsheet pastes them."""
    row = cnn_row(cnn)
    label = cnn_label(cnn.cnn, cnn.input_size_px, cnn.n_classes)
    numbers = (f"{value:.17g}" if isinstance(value, int | float) else value for value in row.values())
    return "\t".join([label, *numbers, f";{sheet_key('cnn', cnn.cnn)};"])


def row_named(kind: str, text: str) -> str:
    """Return the cell formula of the row of a table that a text names, an error where it names none.

    kind : "gpu" or "cnn". text : cell formula of the text.
    """
    plain = f'SUBSTITUTE(SUBSTITUTE({text},"*",""),"?","")'
    written = f'MATCH("*;"&{plain}&";*",tl_{kind}_names,0)'
    spelled = [_row_like(kind, text, ";")]
    spelled += [_row_like(kind, without_count(text), ";")] if kind == "gpu" else [written]
    return f"IFERROR(MATCH({text},tl_{kind}s,0),IFERROR({spelled[-1]},{spelled[0]}))"


def offered(kind: str) -> str:
    """Return the cell formula of which names begin with the choice of a kind; an error without one."""
    spelled = f"{PREFIX}{kind}_choice"
    spelled = without_count(spelled) if kind == "gpu" else spelled
    first = f"INDEX(tl_{kind}s,{_row_like(kind, spelled, '')})"
    more = f'COUNTIF(tl_{kind}_names,"*;"&{key_formula(kind, spelled)}&"*")-1'
    return f'"did you mean "&{first}&IF({more}>0," or one of "&{more}&" more","")&"?"'


def _row_like(kind: str, text: str, mark: str) -> str:
    return f'MATCH("*;"&{key_formula(kind, text)}&"{mark}*",tl_{kind}_names,0)'


def write_gpus(book: BookPlan, formula: Formula) -> None:
    """Write the sheet GPUs: one row per GPU."""
    sheet = new_sheet(book, "GPUs", origin=read_prices(Path(EXAMPLE)).origin)
    table, price = gpu_table_rows(formula), limits()["price_per_hour"]
    write_look_up_table(sheet, "gpu", table, spare=SPARE_ROWS)
    for row, (name, values) in enumerate(table.items(), start=HEAD + 1):
        if name.startswith(HEADING):
            sheet.text(row, 0, name, "section")
        else:
            sheet.number(row, 1, float(str(values["price_usd_per_hour"])), "input_money")
            sheet.plan.limits[row, 1] = ("decimal", price.least, price.most)


def write_cnns(book: BookPlan) -> None:
    """Write the sheet CNNs: counts per image and forward pass."""
    write_look_up_table(new_sheet(book, "CNNs"), "cnn", cnn_table_rows(), spare=SPARE_ROWS)


def write_look_up_table(
    sheet: SheetWriter, kind: str, table: Rows, *, head: int = HEAD, spare: int = 0
) -> int:
    """Write a table by row label below row `head` and the names that look it up; return the next free row.

    spare : rows that look-ups cover and columns fit, none where the table stands between others.
    """
    header = ["name", *next(iter(table.values()))]
    if spare:
        first = max(30, *(len(label) + 2 for label in table))
        sheet.plan.widths = [first, *(_width(table, name) for name in header[1:])]
    for column, title in enumerate(header):
        numeric = any(isinstance(row.get(title), int | float) for row in table.values())
        sheet.text(head, column, title, "head_right" if numeric else "head_unit" if column else "head")
        if numeric:
            units = (unit for ending, unit in _UNITS.items() if f"_{title}".endswith(ending))
            sheet.text(head - 1, column, next(units, ""), "small")
    for row, (label, values) in enumerate(table.items(), start=head + 1):
        sheet.text(row, 0, label)
        for column, (name, value) in enumerate(values.items(), start=1):
            if isinstance(value, int | float):
                sheet.number(row, column, value, "general" if name == "year" else "amount")
            else:
                sheet.text(row, column, str(value), "unit")
    _define_look_up(sheet, kind, header, head, spare or len(table))
    return head + 1 + len(table)


def _width(table: Rows, name: str) -> int:
    """Return the width of a column in characters; longer texts are cut off by the next cell."""
    longest = max(
        len(value) if isinstance(value := row[name], str) else _NUMBER_WIDTH for row in table.values()
    )
    return max(len(name) + 3, min(longest + 3, _MOST_WIDTH))


def _define_look_up(sheet: SheetWriter, kind: str, header: list[str], head: int, count: int) -> None:
    names, right = sheet.book.names, xl_col_to_name(len(header) - 1)
    top, bottom = head + 2, head + 1 + count
    labels = f"{sheet.name}!$A${top}:$A${bottom}"
    names[f"tl_{kind}_columns"] = f"{sheet.name}!$A${head + 1}:${right}${head + 1}"
    names[f"tl_{kind}_table"] = f"{sheet.name}!$A${top}:${right}${bottom}"
    names[f"tl_{kind}s"] = labels
    # A range that grows with the rows, so that a drop-down lists added rows but no empty ones.
    names[f"tl_{kind}s_listed"] = f"{sheet.name}!$A${top}:INDEX({labels},COUNTA({labels}))"
    if NAMES in header:
        sheet.define_range(f"tl_{kind}_names", header.index(NAMES), head + 1, head + count)
