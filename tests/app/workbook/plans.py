"""Plans of workbooks for tests: small ones, with other values in cells, and what their cells show."""

import random
from dataclasses import replace
from functools import cache

import openpyxl
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.lookup_tables import cnn_label, cnn_rows, gpu_rows
from trainlaw.app.workbook.book import workbook_plan
from trainlaw.app.workbook.model import FIRST
from trainlaw.formulas import load_formula

# The looks of a sheet, which take LibreOffice as long as its formulas.
BARE = {
    "charts": [],
    "bars": {},
    "drop_downs": {},
    "expected": {},
    "limits": {},
    "heights": {},
    "frozen": (0, 0),
}
WIDE = ("All GPUs", "Ranking", "My runs")


@cache
def built_in_plan():
    """The workbook of the built-in formula, whose plan takes seconds; nothing may change it."""
    return workbook_plan(load_formula(BUILT_IN))


@cache
def few_gpus():
    """The GPUs that tests name, of which two tie, and every twelfth one."""
    named = (FIRST.gpu, "B300", "GB200", "Instinct MI50", "T4", "K80", "P100-PCIE-16GB", "RTX 2080 Ti")
    names = [*gpu_rows()]
    return tuple(name for name in names if name in (*named, *names[::12]))


@cache
def few_cnns():
    """The first choice and some CNNs at random, by the arguments of `configuration`."""
    first = dict(zip(("cnn", "input_size_px", "n_classes"), FIRST.cnn, strict=True))
    keys = [{name: row[name] for name in first} for row in cnn_rows().values()]
    return [first, *random.Random(2).sample(keys, 15)]


def small_plan(plan, without=()):
    """A workbook of few CNNs and GPUs without looks and some sheets: quick to compute."""
    others = set(gpu_rows()) - set(few_gpus())
    is_kept = {
        **dict.fromkeys(("GPUs", "All GPUs"), lambda label: label not in others),
        "Ranking": lambda label: label in range(1, len(few_gpus()) + 1),
    }
    kept = [replace(sheet, **BARE) for sheet in plan.sheets if sheet.name not in without]
    sheets = [with_rows(sheet, is_kept.get(sheet.name)) for sheet in kept]
    small = with_few_cnns(replace(plan, sheets=sheets), {cnn_label(**cnn) for cnn in few_cnns()})
    # Nothing may look for runs on a sheet that is not there.
    return with_values(small, {"tl_own_runs": "no"}) if "My runs" in without else small


def with_few_cnns(plan, labels):
    """A workbook without the rows of other CNNs than those with these labels; all sizes of each stay."""
    names = {label.split(", ")[0] for label in labels}
    is_kept = {"CNNs": lambda label: label.split(", ")[0] in names}
    return replace(plan, sheets=[with_rows(sheet, is_kept.get(sheet.name)) for sheet in plan.sheets])


def with_rows(sheet, is_kept):
    """A sheet without the rows whose label is not kept, and without rows that no label begins."""
    if is_kept is None:
        return sheet
    labels = {row: cell.value for (row, column), cell in sheet.cells.items() if column == 0}
    top = 4  # title, note, head and units
    kept = {row for row, label in labels.items() if row < top or is_kept(label)}
    # Ranks are made from keys, which must be a text, not empty, where there is none.
    key = max(column for _, column in sheet.cells) - 1 if sheet.name == "All GPUs" else None
    cells = {at: cell for at, cell in sheet.cells.items() if at[0] < top or at[0] in kept or at[1] == key}
    return replace(sheet, cells=cells, shared={})  # what rows share stands in their first, which may go


def with_values(plan, values):
    """The plan with other values in cells: (sheet, row, column) or defined name -> value."""
    sheets = {sheet.name: replace(sheet, cells=dict(sheet.cells)) for sheet in plan.sheets}
    for place, value in values.items():
        sheet, row, column = located(plan, place) if isinstance(place, str) else place
        cell = sheets[sheet].cells[row, column]
        assert not cell.formula or cell.style == "input", place
        sheets[sheet].cells[row, column] = cell._replace(value=value, formula="")
    return replace(plan, sheets=list(sheets.values()))


def located(plan, name):
    sheet, cell = plan.names[name].split("!")
    row, column = openpyxl.utils.cell.coordinate_to_tuple(cell.replace("$", ""))
    return sheet.strip("'"), row - 1, column - 1


def named_value(book, plan, name):
    sheet, row, column = located(plan, name)
    return book[sheet].cell(row + 1, column + 1).value


def sheet_of(plan, name):
    return next(sheet for sheet in plan.sheets if sheet.name == name)


def find_cell(plan, sheet, label, column=None):
    """The place of the cell in the row that a label begins and, below row 4, the column of that head."""
    cells = sheet_of(plan, sheet).cells
    row = next(place[0] for place, cell in cells.items() if place[1] == 0 and cell.value == label)
    heads = {cell.value: place[1] for place, cell in cells.items() if place[0] == 3}
    return sheet, row, heads[column] if column else 0


def value_of(book, label, sheet="Prediction"):
    """The value next to a label; of two lines with one label the last."""
    found = [
        row[column + 1]
        for row in book[sheet].iter_rows(values_only=True)
        for column in (0, 5)
        if row[column : column + 1] == (label,)
    ]
    assert found, f"no line {label!r} in sheet {sheet}"
    return found[-1]


def note_of(book, label):
    rows = [row for row in book["Prediction"].iter_rows(values_only=True) if label in row]
    return next(row[row.index(label) + 3] for row in rows)


def all_gpus(book):
    """The rows of the sheet All GPUs by card, each by the titles of its columns."""
    rows = book["All GPUs"].iter_rows(min_row=3, values_only=True)
    titles = next(rows)
    return {row[0]: dict(zip(titles, row, strict=True)) for row in rows if row[0]}
