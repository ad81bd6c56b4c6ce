"""The sheets that hold tables: GPUs, CNNs, Precisions, Errors, Provenance."""

import math
from collections.abc import Sequence

from xlsxwriter import Workbook
from xlsxwriter.utility import xl_col_to_name
from xlsxwriter.worksheet import Worksheet

from trainlaw.app.conformal import LEVEL
from trainlaw.app.error_tables import BY_CNN, BY_GPU, METRIC_TITLES, error_lines, estimators, interval_of, overall_error
from trainlaw.app.workbook_model import PREFIX
from trainlaw.app.workbook_styles import Styles, fit_on_pages, write_title, write_table, write_value
from trainlaw.datasets import built_in_gpus, cnn_table
from trainlaw.datasets.gpus import NUMBER_COLUMNS
from trainlaw.datasets.precisions import PRECISIONS
from trainlaw.formulas import Formula

SPARE_ROWS = 1000  # rows that look-ups reach, so that a person can add to a table
_FIRST = 3  # row of the header of each table, counted from 0


def cnn_label(cnn: str, input_size_px: int, n_classes: int) -> str:
    """Return how a network is called in the drop-down.

    >>> cnn_label("resnet50", 224, 1000)
    'resnet50, 224 px, 1000 classes'
    """
    return f"{cnn}, {input_size_px} px, {n_classes} classes"


def write_gpus(book: Workbook, styles: Styles) -> None:
    """Write the sheet GPUs: one row a card; a row that a person adds is in the drop-down."""
    header = ["gpu", "vendor", "generation", *NUMBER_COLUMNS, "source", "remark"]
    rows = []
    for gpu in built_in_gpus().gpus:
        facts = {name: getattr(gpu, name) for name in header}
        if not (gpu.peak_fp32_flop_per_s > 0 and gpu.bandwidth_byte_per_s > 0):
            continue
        if math.isnan(gpu.base_clock_hz):
            # The features take base and boost clock as equal where the base clock is unknown.
            facts |= {"base_clock_hz": gpu.boost_clock_hz, "remark": f"{gpu.remark} base clock unknown, set to boost".strip()}
        rows.append(list(facts.values()))
    _lookup_sheet(book, styles, "GPUs", "gpu", header, rows, "Facts of the cards, from their makers' sheets.")


def write_cnns(book: Workbook, styles: Styles) -> None:
    """Write the sheet CNNs: counts per image and forward pass; a row that a person adds is in the drop-down."""
    table = cnn_table()
    header = ["label", *table.columns]
    rows = [
        [cnn_label(row["cnn"], row["input_size_px"], row["n_classes"]), *row.values()] for row in table.to_dict("records")
    ]
    text = "Counts per image and forward pass. MACs are multiply-accumulates; elements are outputs of layers."
    _lookup_sheet(book, styles, "CNNs", "cnn", header, rows, text)


def _lookup_sheet(
    book: Workbook, styles: Styles, name: str, kind: str, header: Sequence[str], rows: Sequence[Sequence[object]], text: str
) -> None:
    sheet = book.add_worksheet(name)
    write_title(sheet, styles, name, f"{text} Change a value or add a row below the last: predictions follow.")
    write_table(sheet, _FIRST, header, rows, styles)
    sheet.set_column(0, 0, max(len(str(row[0])) for row in rows) + 2)
    sheet.set_column(1, len(header) - 1, 17)
    sheet.set_row(_FIRST, 32)
    sheet.freeze_panes(_FIRST + 1, 1)
    fit_on_pages(sheet)
    top, bottom, right = _FIRST + 2, _FIRST + 1 + SPARE_ROWS, xl_col_to_name(len(header) - 1)
    book.define_name(f"{PREFIX}{kind}_columns", f"={name}!$A${_FIRST + 1}:${right}${_FIRST + 1}")
    book.define_name(f"{PREFIX}{kind}_table", f"={name}!$A${top}:${right}${bottom}")
    book.define_name(f"{PREFIX}{kind}s", f"={name}!$A${top}:$A${bottom}")
    filled = f"COUNTA({name}!$A${top}:$A${bottom})"
    book.define_name(f"{PREFIX}{kind}s_listed", f"={name}!$A${top}:INDEX({name}!$A${top}:$A${bottom},{filled})")


def write_precisions(book: Workbook, styles: Styles, formula: Formula) -> None:
    """Write the sheet Precisions: bytes of an element, and which peak rate of a card applies."""
    sheet = book.add_worksheet("Precisions")
    write_title(sheet, styles, "Precisions")
    trained = set(formula.provenance.get("precisions", ["fp32"]))
    header = ["precision", "bytes_per_element", "is_tensor_precision", "peak rate", "in training", "meaning"]
    kinds = [row for row in PRECISIONS.values() if row.precision != "unknown"]
    rows = [
        [row.precision, row.bytes_per_element, int(row.precision != "fp32"), row.peak_column, int(row.precision in trained), row.meaning]
        for row in kinds
    ]
    write_table(sheet, _FIRST, header, rows, styles)
    sheet.set_column(0, 4, 22)
    sheet.set_column(5, 5, 70)
    fit_on_pages(sheet)
    names = ("precisions", "precision_bytes_per_element", "precision_is_tensor_precision", "precision_peaks", "precision_trained")
    for column, name in enumerate(names):
        letter = xl_col_to_name(column)
        book.define_name(PREFIX + name, f"=Precisions!${letter}${_FIRST + 2}:${letter}${_FIRST + 1 + len(rows)}")


def write_errors(book: Workbook, styles: Styles, formula: Formula) -> None:
    """Write the sheet Errors: how wrong the formula was on GPUs that it had not seen, beside its rivals."""
    sheet = book.add_worksheet("Errors")
    sheet.set_column(0, 0, 34)
    sheet.set_column(1, 9, 15)
    fit_on_pages(sheet)
    write_title(sheet, styles, "Errors on GPUs that were held out")
    protocol = str(formula.errors.get("protocol", "this formula carries no held-out errors"))
    sheet.write_string(1, 0, f"Absolute percentage errors. {protocol}.", styles["note"])
    factor = interval_of(formula)
    sheet.write_string(2, 0, f"interval factor, {100 * LEVEL:g} %", styles["text"])
    write_value(sheet, 2, 1, factor if factor else math.nan, styles, "seconds")
    sheet.write_string(2, 2, "a run on a new GPU lies within prediction / factor and prediction x factor", styles["note"])
    book.define_name(f"{PREFIX}interval_factor", "=Errors!$B$3")
    row = _summary(sheet, styles, formula, 4)
    for level, title in ((BY_CNN, "architecture"), (BY_GPU, "GPU group")):
        header = [title, "runs", *(f"{name}, %" for name in estimators(formula))]
        rows = [[line.name, line.rows, *line.errors.values()] for line in error_lines(formula, level)]
        row = write_table(sheet, row, header, rows, styles, "percent") + 1


def _summary(sheet: Worksheet, styles: Styles, formula: Formula, row: int) -> int:
    names = estimators(formula)
    rows = [
        [title, *(overall_error(formula, name, metric) for name in names)] for metric, title in METRIC_TITLES.items()
    ]
    return write_table(sheet, row, ["overall, %", *names], rows, styles, "percent") + 1
