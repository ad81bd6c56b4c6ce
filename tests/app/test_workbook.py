"""The workbook, recalculated by force in LibreOffice: it equals `trainlaw predict` and follows changes."""

import json
import random
import re
import shutil
import subprocess
import zipfile
from dataclasses import replace
from io import BytesIO

import numpy as np
import openpyxl
import pytest
from trainlaw.app.cli import app
from trainlaw.app.lookup_tables import cnn_label
from trainlaw.app.predict import predict_runs
from trainlaw.app.terms import with_named_constants
from trainlaw.app.workbook import workbook_bytes
from trainlaw.app.workbook_cells import (
    FIRST_BATCH,
    FIRST_CNN,
    FIRST_GPU,
    cell_name,
    first_choice,
    workbook_model,
)
from trainlaw.datasets import TARGET, built_in_gpus, cnn_table, configuration, feature_specs, find_gpu
from trainlaw.formulas import Formula, InputError, parse_text, with_constants
from typer.testing import CliRunner

SOFFICE = shutil.which("soffice")
needs_libreoffice = pytest.mark.skipif(SOFFICE is None, reason="LibreOffice (soffice) is not installed")

# OOXMLRecalcMode 0 is "always"; without it LibreOffice shows the stored values and a check proves nothing.
PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>{mode}</value></prop>
</item>
</oor:items>"""
ALWAYS, NEVER = 0, 1


def recalculated(files, folder, mode=ALWAYS):
    """Sheets of values, by file name, of workbooks that LibreOffice has loaded and saved."""
    profile = folder / f"profile-{mode}" / "user"
    if not profile.exists():
        profile.mkdir(parents=True)
        (profile / "registrymodifications.xcu").write_text(PROFILE.format(mode=mode))
    source, target = folder / f"in-{mode}", folder / f"out-{mode}"
    for path in (source, target):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
    for name, data in files.items():
        (source / f"{name}.xlsx").write_bytes(data)
    home = f"-env:UserInstallation=file://{profile.parent}"
    files_in = sorted(source.iterdir())
    command = [SOFFICE, home, "--headless", "--convert-to", "xlsx", "--outdir", target, *files_in]
    subprocess.run([str(part) for part in command], check=True, capture_output=True, timeout=240)
    return {name: openpyxl.load_workbook(target / f"{name}.xlsx", data_only=True) for name in files}


def with_cells(data, sheet_number, cells):
    """The workbook with other values in some cells; stored results stay as they were, so they are stale."""
    source, target = zipfile.ZipFile(BytesIO(data)), BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for item in source.infolist():
            content = source.read(item)
            if item.filename == f"xl/worksheets/sheet{sheet_number}.xml":
                text = content.decode()
                for place, value in cells.items():
                    text, count = re.subn(
                        rf'<c r="{place}"( s="\d+")?(?: t="\w+")?>.*?</c>', filled(place, value), text
                    )
                    assert count == 1, place
                content = text.encode()
            archive.writestr(item, content)
    return target.getvalue()


def filled(place, value):
    if isinstance(value, str):
        return rf'<c r="{place}"\1 t="inlineStr"><is><t>{value}</t></is></c>'
    return rf'<c r="{place}"\1><v>{value!r}</v></c>'


def value_of(book, label, sheet="Predict"):
    for row in book[sheet].iter_rows(values_only=True):
        if row[0] == label:
            return row[1]
    raise AssertionError(f"no line {label!r} in sheet {sheet}")


def place_of(data, label, sheet="Predict"):
    for row in openpyxl.load_workbook(BytesIO(data))[sheet].iter_rows():
        if row[0].value == label:
            return row[1].coordinate
    raise AssertionError(label)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("libreoffice")


@pytest.fixture(scope="module")
def data(formula):
    return workbook_bytes(formula)


def random_choices(count, seed):
    choose = random.Random(seed)
    gpus = [
        gpu.gpu
        for gpu in built_in_gpus().gpus
        if gpu.peak_fp32_flop_per_s > 0 and gpu.bandwidth_byte_per_s > 0
    ]
    cnns = cnn_table()[["cnn", "input_size_px", "n_classes"]].to_dict("records")
    return [
        (choose.choice(cnns), choose.choice(gpus), choose.choice([1, 3, 8, 32, 100, 512]))
        for _ in range(count)
    ]


def predicted(choices, formula_file, tmp_path):
    plans = tmp_path / "plans.csv"
    lines = [
        f"{cnn['cnn']},{cnn['input_size_px']},{cnn['n_classes']},{gpu},{batch}" for cnn, gpu, batch in choices
    ]
    plans.write_text("\n".join(["cnn,input_size_px,n_classes,gpu,batch_per_gpu", *lines]))
    result = CliRunner().invoke(
        app, ["predict", "--formula", str(formula_file), "--runs", str(plans), "--json"]
    )
    assert result.exit_code == 0, result.output
    return [row["time_s"] for row in json.loads(result.stdout)]


@needs_libreoffice
def test_prediction_equals_the_command_for_random_choices(data, formula_file, folder, tmp_path):
    choices = random_choices(20, seed=11)
    expected = predicted(choices, formula_file, tmp_path)
    files = {
        f"choice{number}": with_cells(
            data,
            1,
            {
                "B5": gpu,
                "B6": cnn_label(**cnn_key(cnn)),
                place_of(data, "images per iteration"): float(batch),
            },
        )
        for number, (cnn, gpu, batch) in enumerate(choices)
    }
    books = recalculated(files, folder)
    shown = [value_of(books[name], "iteration time") for name in files]
    np.testing.assert_allclose(shown, expected, rtol=1e-9)
    assert all(value_of(book, "self-check: computed here as by trainlaw") is True for book in books.values())


def cnn_key(row):
    return {"cnn": row["cnn"], "input_size_px": row["input_size_px"], "n_classes": row["n_classes"]}


@needs_libreoffice
def test_a_planted_wrong_value_is_corrected_only_by_force(data, formula, folder):
    """The test of the test: without force the wrong stored value stays, with force it goes."""
    place = place_of(data, "iteration time")
    spoiled = re.compile(rf'(<c r="{place}"[^>]*><f>.*?</f><v>)[^<]*(</v>)')
    source, target = zipfile.ZipFile(BytesIO(data)), BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for item in source.infolist():
            content = source.read(item).decode("utf-8", "surrogateescape")
            if item.filename == "xl/worksheets/sheet1.xml":
                content, count = spoiled.subn(r"\g<1>123.5\2", content)
                assert count == 1
            archive.writestr(item, content.encode("utf-8", "surrogateescape"))
    planted = {"planted": target.getvalue()}
    truth = predict_runs(formula, first_choice())[0].time_s
    assert value_of(recalculated(planted, folder, NEVER)["planted"], "iteration time") == 123.5
    assert value_of(recalculated(planted, folder, ALWAYS)["planted"], "iteration time") == pytest.approx(
        truth, rel=1e-9
    )


@needs_libreoffice
def test_changes_of_constants_and_gpus_change_the_prediction_as_in_python(data, formula, folder):
    _, constants = with_named_constants(formula)
    values = [constant.value for constant in constants]
    gpu = find_gpu(FIRST_GPU)
    sheet = openpyxl.load_workbook(BytesIO(data))["GPUs"]
    header = [cell.value for cell in sheet[4]]
    row = next(cells[0].row for cells in sheet.iter_rows() if cells[0].value == FIRST_GPU)
    files, expected = {}, {}
    for number in (0, 1, len(constants) - 1):
        name = f"constant{number}"
        files[name] = with_cells(
            data, 2, {place_of(data, constants[number].name, "Formula"): values[number] * 1.5}
        )
        changed = [value * (1.5 if index == number else 1.0) for index, value in enumerate(values)]
        expected[name] = replace(formula, expression=with_constants(formula.expression, changed)), gpu
    for column in ("bandwidth_byte_per_s", "peak_fp32_flop_per_s", "base_clock_hz", "core_count"):
        place = sheet.cell(row, header.index(column) + 1).coordinate
        better = replace(gpu, **{column: getattr(gpu, column) * 3})
        files[column] = with_cells(data, 4, {place: getattr(better, column)})
        expected[column] = formula, better
    books = recalculated(files, folder)
    for name, (law, card) in expected.items():
        cnn, size, classes = FIRST_CNN
        run = configuration(
            cnn=cnn, gpu=card, batch_per_gpu=FIRST_BATCH, input_size_px=size, n_classes=classes
        )
        truth = predict_runs(law, run)[0].time_s
        assert value_of(books[name], "iteration time") == pytest.approx(truth, rel=1e-9), name
        assert truth != pytest.approx(predict_runs(formula, first_choice())[0].time_s, rel=1e-6), name


@needs_libreoffice
def test_no_cell_shows_an_error_and_stored_values_are_right(data, folder):
    computed = recalculated({"plain": data}, folder)["plain"]
    formulas, stored = (
        openpyxl.load_workbook(BytesIO(data)),
        openpyxl.load_workbook(BytesIO(data), data_only=True),
    )
    checked = 0
    for sheet in formulas:
        for row in sheet.iter_rows():
            for cell in row:
                if cell.data_type == "f":
                    ours, theirs = (
                        stored[sheet.title][cell.coordinate].value,
                        computed[sheet.title][cell.coordinate].value,
                    )
                    assert not str(theirs).startswith(("#", "Err")), (
                        f"{sheet.title}!{cell.coordinate} {theirs}"
                    )
                    if isinstance(ours, int | float) and not isinstance(ours, bool):
                        assert theirs == pytest.approx(ours, rel=1e-9, abs=1e-300), (
                            f"{sheet.title}!{cell.coordinate}"
                        )
                    else:
                        assert theirs == ours
                    checked += 1
    assert checked > 40


@needs_libreoffice
def test_out_of_range_choices_are_warned_of(data, folder):
    batch = place_of(data, "images per iteration")
    files = {
        "far": with_cells(data, 1, {batch: 1e7}),
        "near": data,
        "half": with_cells(data, 1, {"B7": "fp16"}),
    }
    books = recalculated(files, folder)
    assert "do not trust" in value_of(books["far"], "training range")
    assert "do not trust" in value_of(books["half"], "training range")
    assert value_of(books["near"], "training range") == "inside the range of the training runs"


@needs_libreoffice
def test_a_row_that_a_person_adds_is_used(data, formula, folder):
    book = openpyxl.load_workbook(BytesIO(data))
    sheet = book["GPUs"]
    row = next(cells[0].row for cells in sheet.iter_rows() if cells[0].value == "T4")
    last = max(cells[0].row for cells in sheet.iter_rows() if cells[0].value)
    for column in range(1, sheet.max_column + 1):
        sheet.cell(last + 1, column, sheet.cell(row, column).value)
    sheet.cell(last + 1, 1, "My card")
    book["Predict"]["B5"] = "My card"
    buffer = BytesIO()
    book.save(buffer)
    shown = value_of(recalculated({"added": buffer.getvalue()}, folder)["added"], "iteration time")
    cnn, size, classes = FIRST_CNN
    run = configuration(cnn=cnn, gpu="T4", batch_per_gpu=FIRST_BATCH, input_size_px=size, n_classes=classes)
    assert shown == pytest.approx(predict_runs(formula, run)[0].time_s, rel=1e-9)


def test_same_formula_gives_the_same_bytes(formula, data):
    assert workbook_bytes(formula) == data


def test_names_of_cells_are_no_addresses_and_texts_are_no_formulas(formula):
    hostile = replace(
        formula,
        provenance={
            "table": "=cmd|' /C calc'!A0",
            "=key": "@SUM(A1)",
            "list": ["+1", "-1"],
            "precisions": ["fp32"],
        },
    )
    book = openpyxl.load_workbook(BytesIO(workbook_bytes(hostile)))
    assert all(name.startswith("tl_") for name in book.defined_names)
    for row in book["Provenance"].iter_rows(max_row=8):
        assert all(cell.data_type != "f" for cell in row)
    assert book["Provenance"]["B4"].value == "=cmd|' /C calc'!A0"


def test_every_look_up_sheet_and_its_choices_are_there(data):
    book = openpyxl.load_workbook(BytesIO(data))
    assert book.sheetnames == ["Predict", "Formula", "Errors", "GPUs", "CNNs", "Precisions", "Provenance"]
    rules = {str(rule.sqref): rule.formula1 for rule in book["Predict"].data_validations.dataValidation}
    assert rules == {"B5": "tl_gpus_listed", "B6": "tl_cnns_listed", "B7": "tl_precisions_precision"}
    labels = [row[0] for row in book["CNNs"].iter_rows(min_row=5, values_only=True)]
    assert len(set(labels)) == len(labels) == len(cnn_table())


def test_formula_without_errors_or_inputs_still_makes_a_workbook(formula):
    bare = Formula(parse_text("conv3x3_compute_s + 0.002"), feature_specs(["conv3x3_compute_s"]), TARGET)
    book = openpyxl.load_workbook(BytesIO(workbook_bytes(bare)), data_only=True)
    truth = predict_runs(bare, first_choice())[0].time_s
    assert value_of(book, "iteration time") == pytest.approx(truth)
    constant = Formula(parse_text("0.002"), (), TARGET)
    assert workbook_model(constant).seconds == 0.002


def test_formula_of_several_gpus_is_refused_with_a_way_out():
    law = Formula(parse_text("tree_s"), feature_specs(["tree_s"]), TARGET)
    with pytest.raises(InputError, match="tree_s"):
        workbook_bytes(law)
    law = Formula(
        parse_text("n_gpus * iteration_overhead_s"), feature_specs(["n_gpus", "iteration_overhead_s"]), TARGET
    )
    with pytest.raises(InputError, match=r"export to \.py"):
        workbook_bytes(law)


def test_cell_names():
    assert cell_name("K80") == "tl_k80"
