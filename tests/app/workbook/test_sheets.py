"""The nine sheets as planned: their names, cells, first screen and lists; no application computes them."""

import re
from dataclasses import replace
from io import BytesIO
from itertools import groupby
from pathlib import Path

import pytest
from trainlaw.app.inputs.requests import one_run
from trainlaw.app.models.builtin import BUILT_IN, formula_named
from trainlaw.app.models.lookup_tables import cnn_rows, gpu_rows
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.sheets.book_plan import LINE_POINTS
from trainlaw.app.sheets.xlsx import xlsx_bytes
from trainlaw.app.workbook.book import workbook_bytes, workbook_plan
from trainlaw.app.workbook.lookup_sheets import (
    HEADING,
    MEASURED,
    NEVER_MEASURED,
    PROCESSORS,
    cnn_line,
    gpu_table_rows,
)
from trainlaw.app.workbook.model import DEFAULT_PRECISION, first_choice, workbook_model
from trainlaw.datasets import TARGET, feature_specs, find_cnn_counts, find_gpu
from trainlaw.formulas import Formula, load_formula, parse_text
from trainlaw.formulas.scopes import FORWARD
from xlsxwriter.utility import xl_col_to_name

from ...libreoffice import read_book
from .plans import built_in_plan, located, sheet_of, value_of

SHEETS = ["Prediction", "Ranking", "All GPUs", "Formula", "CNNs", "GPUs", "Errors", "My runs", "Notes"]
# A window of this many pixels, the bars of the application above and below the cells, and row numbers.
SCREEN, BARS, MARGIN = (1400, 1000), 280, 60


LAYOUT = Path(__file__).with_name("layout.txt")


@pytest.fixture(scope="module")
def plan():
    return built_in_plan()


def pixels_of(characters):
    """The width of a column in Calibri 11, whose digits have 7 pixels: https://xlsxwriter.readthedocs.io."""
    return int(characters * 7 + 5)


def texts_at(plan):
    return {cell.value: place for place, cell in sheet_of(plan, "Prediction").cells.items()}


@pytest.mark.parametrize("law", [BUILT_IN, FORWARD])
def test_answer_warnings_and_usual_choices_are_on_one_screen(law):
    plan = built_in_plan() if law == BUILT_IN else workbook_plan(formula_named(law))
    sheet, places = sheet_of(plan, "Prediction"), texts_at(plan)
    assert sheet.cells[4, 0].value in ("iteration time", "forward pass") and sheet.cells[4, 1].formula
    assert sum(map(pixels_of, sheet.widths)) <= SCREEN[0] - MARGIN
    rows = places["More"][0]
    assert places["warnings"][0] < places["use sheet My runs"][0] < rows
    points = sum(sheet.heights.get(row, LINE_POINTS) for row in range(rows))
    assert points * 96 / 72 <= SCREEN[1] - BARS
    assert sheet.printed_rows > max(row for row, _ in sheet.cells)
    if law == FORWARD:
        _, *compiler = located(plan, "tl_compilation")
        assert sheet.cells[tuple(compiler)].value == "eager"


def test_every_sheet_and_its_choices_are_there(plan):
    assert [sheet.name for sheet in plan.sheets] == SHEETS
    assert [sheet.name for sheet in workbook_plan(formula_named(FORWARD)).sheets] == SHEETS
    labels = [
        cell.value for (row, column), cell in sheet_of(plan, "CNNs").cells.items() if row > 3 and not column
    ]
    assert len(set(labels)) == len(labels) == len(cnn_rows())
    two = replace(plan, sheets=[sheet_of(plan, name) for name in ("Prediction", "Ranking")])
    book = read_book(BytesIO(xlsx_bytes(two)), values=False)
    found = book["Prediction"].data_validations.dataValidation
    assert {rule.formula1 for rule in found if rule.type == "list"} == {
        "tl_gpus_listed",
        "tl_cnns_listed",
        "tl_links",
        "tl_networks",
        "tl_options_precision_choice",
        "tl_options_algorithm",
        "tl_options_order",
        "tl_options_own_runs",
        "tl_options_layout_choice",
        "tl_options_stack_choice",
    }
    whole = {(rule.formula1, rule.formula2) for rule in found if rule.type == "whole"}
    assert ("1.0", "10000000.0") in whole and len(book["Ranking"]._charts) == 1


def test_it_opens_with_the_default_precision_of_each_gpu(plan):
    sheet, row, column = located(plan, "tl_precision_choice")
    assert sheet_of(plan, sheet).cells[row, column].value == DEFAULT_PRECISION
    cells = sheet_of(plan, "Ranking").cells
    (column,) = (place[1] for place, cell in cells.items() if cell.value == "iteration time, ms")
    (row,) = (place[0] for place, cell in cells.items() if cell.value == "A100-SXM4-40GB")
    (expected,) = predict_runs(load_formula(BUILT_IN), one_run("resnet50", "A100-SXM4-40GB", 64))
    assert cells[row, column].value == pytest.approx(1e3 * expected.time_s, rel=1e-9)


def test_what_is_computed_is_a_formula_and_its_names_exist(plan):
    """No constant stands where a formula belongs: only tables and yellow cells hold numbers."""
    assert all(name.startswith("tl_") for name in plan.names)
    live = {"Prediction": {"input_count", "input"}, "All GPUs": set(), "My runs": set()}
    live["Formula"] = {"constant", "seconds", "amount"}  # the ends of the training ranges
    for sheet in plan.sheets:
        for place, cell in sheet.cells.items():
            for name in re.findall(r"\btl_\w+", cell.formula):
                assert name in plan.names, (sheet.name, place, name)
            if sheet.name in live and isinstance(cell.value, float) and not cell.formula:
                assert cell.style in live[sheet.name], (sheet.name, place, cell)


def test_the_workbook_is_light(plan):
    assert sum(bool(cell.formula) for sheet in plan.sheets for cell in sheet.cells.values()) < 23_500
    assert len(xlsx_bytes(plan)) < 700_000


def test_gpus_are_listed_in_groups_that_the_training_runs_make():
    law, group, groups = load_formula(BUILT_IN), "", {}
    for name in gpu_table_rows(law):
        group = name if name.startswith(HEADING) else group
        groups.setdefault(group, []).extend([name] * (name != group))
    measured, unmeasured, processors = (groups[title] for title in (MEASURED, NEVER_MEASURED, PROCESSORS))
    seen = law.provenance["generations"]
    assert measured.index("RTX 2080") < measured.index("RTX 3090") < measured.index("RTX 4060 Ti 16GB")
    assert all(find_gpu(name).generation in seen for name in measured)
    assert "RTX 5090" in unmeasured and not any(find_gpu(name).generation in seen for name in unmeasured)
    assert {"EPYC 7742", "Xeon Phi 7210"} <= set(processors)
    assert {*measured, *unmeasured, *processors} == set(gpu_rows())


@pytest.mark.usefixtures("few_networks")
def test_formula_without_errors_or_inputs_still_makes_a_workbook():
    bare = Formula(parse_text("conv3x3_compute_s + 0.002"), feature_specs(["conv3x3_compute_s"]), TARGET)
    book = read_book(BytesIO(workbook_bytes(bare)))
    truth = predict_runs(bare, first_choice())[0].time_s
    assert value_of(book, "time") == pytest.approx(truth)
    constant = Formula(parse_text("0.002"), (), TARGET)
    assert workbook_model(constant).seconds == 0.002
    assert value_of(read_book(BytesIO(workbook_bytes(constant))), "time") == 0.002


def test_the_line_of_a_cnn_is_a_row_of_its_sheet(plan):
    sheet = sheet_of(plan, "CNNs")
    header = [sheet.cells[3, column].value for column in range(1 + max(column for _, column in sheet.cells))]
    rows = {cell.value: row for (row, column), cell in sheet.cells.items() if column == 0}
    line = cnn_line(find_cnn_counts("resnet50", 224, 10)).split("\t")
    assert len(line) == len(header)
    assert line[0] == "resnet50, 224 px, 10 classes" and line[0] not in rows
    usual = cnn_line(find_cnn_counts("resnet50")).split("\t")
    for column, text in enumerate(usual[:-1]):
        value = sheet.cells[rows[usual[0]], column].value
        assert text == value if isinstance(value, str) else float(text) == value
    assert ";resnet50;" in usual[-1]


def in_runs(values):
    """Values by number as a text: each with the numbers that follow each other and have it."""
    found, before = [], None
    for number, value in sorted(values.items()):
        if before == (value, number - 1):
            found[-1][1] = number
        else:
            found.append([number, number, value])
        before = value, number
    return ", ".join(
        f"{value} {first}" if first == last else f"{value} {first}-{last}" for first, last, value in found
    )


def layout_of(sheet):
    """Lines that say where a sheet has what: styles by column and row, heights, widths, and its looks."""
    yield f"== {sheet.name}: frozen {sheet.frozen}, printed {sheet.printed_rows}"
    yield f"bars {sheet.bars}, shared {in_runs(sheet.shared)}, hidden {sheet.hidden_columns}"
    yield f"widths {in_runs(dict(enumerate(sheet.widths)))}"
    yield f"heights {in_runs(sheet.heights)}"
    columns = {column: {} for _, column in sorted(sheet.cells, key=lambda place: place[1])}
    for (row, column), cell in sheet.cells.items():
        columns[column][row + 1] = cell.style
    for text, same in groupby(columns, key=lambda column: in_runs(columns[column])):
        names = [xl_col_to_name(column) for column in same]
        yield f"{names[0]}{':' + names[-1] if len(names) > 1 else ''}: {text}"
    yield from map(str, sheet.charts)


@pytest.mark.usefixtures("few_networks")
def test_everything_stays_in_its_place(formula, overwrite_golden):
    plan = workbook_plan(formula)
    found = [line for sheet in plan.sheets for line in layout_of(sheet)]
    found += [f"{name} = {place}" for name, place in plan.names.items() if ":" in place]
    if overwrite_golden:
        LAYOUT.write_text("".join(f"{line}\n" for line in found), encoding="utf-8")
    assert found == LAYOUT.read_text(encoding="utf-8").splitlines()
