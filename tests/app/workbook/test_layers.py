"""The workbook of a formula of layers, recalculated by force in LibreOffice, equals `trainlaw predict`."""

import random
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from trainlaw.app.models.lookup_tables import cnn_label, gpu_rows
from trainlaw.app.models.scopes import formula_rows
from trainlaw.app.models.user_formula import read_formula
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.sheets.xlsx import xlsx_bytes
from trainlaw.app.workbook.book import workbook_plan
from trainlaw.app.workbook.layers import FACTS, LIVE, SLOTS
from trainlaw.app.workbook.model import FIRST, _placeholder
from trainlaw.app.workbook.predict import ONE_GPU
from trainlaw.datasets import cnn_table, configuration
from trainlaw.datasets.measurements.formula_rows import zoo_layers
from trainlaw.formulas import GroupedConstant, parse_text

from ...libreoffice import needs_libreoffice, read_book, recalculated
from .test_book import BARE, named_value, sheet_of, with_values

KEYS = list(cnn_table()[["cnn", "input_size_px", "n_classes"]].itertuples(index=False, name=None))
LABELS = {cnn_label(*key) for key in KEYS}
TEXT = (
    "1.25 * compute_s * (0.318 + 58.9 / columns) * exp(0.3 * wide_sm) + 4.62 * output_memory_s"
    " + 1.47 * other_memory_s * (1 + reduction ^ -0.5) + 5.42 * launch_s + iteration_overhead_s"
    " + 3 * optimizer_memory_s + max(input_copy_s, 0.1 * weight_compute_s) + 0.00001"
)
SHEETS = [
    "Predict", "Layers", "Formula", "Errors", "GPUs", "CNNs", "Layer facts", "Links", "Prices", "Options",
    "Names", "Provenance", "Answers",
]  # fmt: skip


def ranges_of(formula, run):
    columns = formula_rows(formula, run).columns
    names = [spec.name for spec in formula.used_features]
    return {name: (float(columns[name].min()), float(columns[name].max())) for name in names}


@pytest.fixture(scope="module")
def law():
    formula = read_formula(TEXT, "layer")
    run = configuration(cnn="resnet50", gpu="V100-SXM2-16GB", batch_per_gpu=64)
    return replace(formula, ranges=ranges_of(formula, run), provenance={"trainlaw_version": "0.1.0"})


@pytest.fixture(scope="module")
def plan(law):
    return workbook_plan(law)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("layer")


def choices(count):
    choose = random.Random(5)
    cnns = cnn_table()[["cnn", "input_size_px", "n_classes"]].to_dict("records")
    known = [name for name, row in gpu_rows().items() if row["core_count"] > 0]
    return [
        (
            choose.choice(cnns),
            choose.choice(known),
            choose.choice([1, 8, 32, 100]),
            float(choose.randint(0, 1)),
        )
        for _ in range(count)
    ]


def small(plan, labels, room=SLOTS):
    """The plan with the rows of few networks, and with room for that many layers: many can be computed."""
    sheets = [replace(sheet, cells=dict(sheet.cells), shared={}, **BARE) for sheet in plan.sheets]
    for sheet in sheets:
        known = {row for (row, column), cell in sheet.cells.items() if column == 0 and cell.value in LABELS}
        kept = {row for row, _ in sheet.cells if row not in known or sheet.cells[row, 0].value in labels}
        if sheet.name == LIVE:
            kept -= set(sorted(kept)[len(kept) - SLOTS + room :])
        sheet.cells = {place: cell for place, cell in sheet.cells.items() if place[0] in kept}
    return replace(plan, sheets=sheets)


def chosen(plan, choice):
    cnn, gpu, batch, copied = choice
    names = {"cnn_choice": cnn_label(**cnn), "gpu_choice": gpu, "precision_choice": "fp32"}
    values = {**names, "batch_per_gpu": float(batch), "has_input_copy": copied}
    return with_values(plan, {f"tl_{name}": value for name, value in values.items()})


def python_seconds(law, choice):
    cnn, gpu, batch, copied = choice
    parts = "forward+backward+optimizer" + "+copy" * int(copied)
    run = configuration(**cnn, gpu=gpu, batch_per_gpu=batch, timed_parts=parts)
    (prediction,) = predict_runs(law, run)
    outside = sum("lies outside" in text for text in prediction.warnings)
    return prediction.time_s, outside


LENET = cnn_label("lenet5", 32, 10)
ROOM = len(zoo_layers(FIRST.cnn).count)


@pytest.fixture(scope="module")
def books(plan, long_law, folder):
    """The workbooks of all tests, as LibreOffice computes them in one start."""
    first = small(plan, {cnn_label(*FIRST.cnn)})
    plans = {
        "first": first,
        "added": with_a_network(small(plan, {cnn_label(*FIRST.cnn), LENET})),
        "changed": with_values(small(plan, {cnn_label(*FIRST.cnn)}, ROOM), {"tl_constant_1": 2.5}),
        "long": small(workbook_plan(long_law), {cnn_label(*FIRST.cnn)}, ROOM),
    }
    for number, choice in enumerate(choices(3)):
        # Rows for layers that stay empty are left out.
        room = len(zoo_layers(tuple(choice[0].values())).count)
        plans[f"choice{number}"] = chosen(small(plan, {cnn_label(**choice[0])}, room), choice)
    found = recalculated({f"{name}.xlsx": xlsx_bytes(item) for name, item in plans.items()}, folder)
    return {name.removesuffix(".xlsx"): book for name, book in found.items()}


@needs_libreoffice
def test_random_choices_equal_the_command(law, plan, books):
    for number, choice in enumerate(choices(3)):
        book = books[f"choice{number}"]
        seconds, outside = python_seconds(law, choice)
        assert named_value(book, plan, "tl_time_s") == pytest.approx(seconds, rel=1e-9), choice
        flags = [cell.value for cell in book[LIVE][6]]
        assert sum(flag for flag in flags if isinstance(flag, int | float)) == outside, choice
        assert named_value(book, plan, "tl_self_check") is True


@needs_libreoffice
def test_stored_values_are_right_and_no_cell_shows_an_error(plan, books):
    plan = small(plan, {cnn_label(*FIRST.cnn)})
    stored = read_book(BytesIO(xlsx_bytes(plan)))
    for sheet in plan.sheets:
        for (row, column), cell in sheet.cells.items():
            if not cell.formula:
                continue
            ours = stored[sheet.name].cell(row + 1, column + 1).value
            theirs = books["first"][sheet.name].cell(row + 1, column + 1).value
            assert not str(theirs).startswith(("#", "Err")), (sheet.name, row, column)
            if isinstance(theirs, int | float) and not isinstance(theirs, bool):
                assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-15), (sheet.name, row, column)
            else:
                assert (ours or None) == (theirs or None), (sheet.name, row, column)


def with_a_network(plan):
    """The plan with layers and a row of a CNN like LeNet-5 but for its name, which is chosen."""
    added = with_values(plan, {"tl_cnn_choice": "my own"})
    for name in (FACTS, "CNNs"):
        cells = sheet_of(added, name).cells
        rows = [row for (row, column), cell in cells.items() if column == 0 and cell.value == LENET]
        for line, row in enumerate(rows, start=1 + max(row for row, _ in cells)):
            of_row = {column: cell for (at, column), cell in cells.items() if at == row}
            cells |= {(line, column): cell for column, cell in of_row.items()}
            cells[line, 0] = of_row[0]._replace(value="my own")
    return added


@needs_libreoffice
def test_changed_constants_and_networks_that_a_person_adds(law, plan, books):
    run = {"gpu": "V100-SXM2-16GB", "batch_per_gpu": 64}
    doubled = read_formula(TEXT.replace("1.25", "2.5"), "layer")
    for name, cnn, known in (("added", "lenet5", law), ("changed", "resnet50", doubled)):
        (expected,) = predict_runs(known, configuration(cnn=cnn, **run))
        assert named_value(books[name], plan, "tl_time_s") == pytest.approx(expected.time_s, rel=1e-9)


@pytest.mark.slow
def test_every_sheet_and_what_it_says(plan):
    assert [sheet.name for sheet in plan.sheets] == SHEETS
    predict = plan.sheets[0]
    assert any(cell.value == ONE_GPU for cell in predict.cells.values())
    facts = sheet_of(plan, FACTS)
    sizes = [len(zoo_layers(key).count) for key in KEYS]
    titles = 3
    assert len({row for row, column in facts.cells if column == 0}) == sum(sizes) + titles
    assert max(sizes) <= SLOTS


def test_placeholders_of_cell_formulas_are_as_long_as_any_address():
    assert {len(_placeholder(kind, number)) for kind in ("name", "step") for number in (0, 999_999)} == {40}
    assert len(f"'{FACTS}'!$XFD$1048576:$XFD$1048576") <= 40


@pytest.mark.slow
def test_size(plan):
    assert len(xlsx_bytes(plan)) < 3e6


@pytest.fixture(scope="module")
def long_law():
    long = " + ".join(f"{n}.5 * compute_s * exp(-rows / {n}e6) * columns ^ -0.{n}" for n in range(1, 30))
    expression = parse_text(f"max({long}, compute_s) * C[harness]")
    plain = read_formula("compute_s * rows * columns", "layer")
    constant = GroupedConstant("C[harness]", "harness", {"profet": 2.0}, 3.0)
    return replace(plain, expression=expression, grouped=(constant,))


@needs_libreoffice
def test_long_terms_and_constants_by_group(long_law, books):
    (expected,) = predict_runs(
        long_law, configuration(cnn=FIRST.cnn[0], gpu="V100-SXM2-16GB", batch_per_gpu=64)
    )
    assert np.isfinite(expected.time_s)
    shown = named_value(books["long"], workbook_plan(long_law), "tl_time_s")
    assert shown == pytest.approx(expected.time_s, rel=1e-9)
