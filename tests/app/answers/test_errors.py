"""The error on held-out runs like the one asked for, in the outputs that compute it by themselves."""

import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
from trainlaw.app.exports.formats import export_formula
from trainlaw.app.inputs.requests import one_run
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.calibration import CALIBRATED
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.workbook.book import workbook_plan
from trainlaw.formulas import load_formula
from trainlaw.validate.held_out_errors import OURS

NODE = shutil.which("node")
LAW = load_formula(BUILT_IN)


def stored(level, name):
    """The error that the formula's file has, read without the code under test."""
    return next(line["errors"][OURS] for line in LAW.errors[level] if line["name"] == name)


def asked(cnn, gpu="T4", law=LAW):
    (found,) = predict_runs(law, one_run(cnn, gpu, 64))
    return found, [text for text in found.warnings if "off by as much" in text]


def test_a_large_error_of_the_architecture_is_a_warning():
    found, warnings = asked("xception")
    error = stored("cnn_base", "xception")
    assert error > 30 and found.values["architecture_error_percent"] == pytest.approx(error, abs=0.051)
    assert len(warnings) == 1 and f"architecture is {error:.3g} %" in warnings[0]
    usual, none = asked("resnet50")
    assert usual.values["architecture_error_percent"] == pytest.approx(
        stored("cnn_base", "resnet50"), abs=0.051
    )
    assert usual.values["precision_error_percent"] == pytest.approx(stored("precision", "fp32"), abs=0.051)
    assert usual.values["generation_error_percent"] == pytest.approx(
        stored("generation", "Turing"), abs=0.051
    )
    assert not none and sum("held-out error" in text for text in usual.notes) == 1


def test_what_was_not_held_out_has_no_error():
    found, _ = asked("xception", "B200")
    assert found.values["generation_error_percent"] is None
    assert [text for text in found.notes if "held-out error" in text and "Blackwell" in text] == []
    calibrated = replace(LAW, provenance={**LAW.provenance, CALIBRATED: {"gpus": ["T4"]}})
    found, warnings = asked("xception", law=calibrated)
    assert not warnings and not any("held-out error" in text for text in found.notes)


@pytest.mark.parametrize("cnn", ["xception", "resnet50"])
def test_exported_python_says_the_same(cnn, tmp_path):
    found, warnings = asked(cnn)
    export_formula(LAW, tmp_path / "law.py")
    ask = f"import sys; sys.path.insert(0, '.'); import law; f = law.predict({cnn!r}, 'T4', 64); "
    ask += "print(f.architecture_error_percent, [w for w in f.warnings if 'off by' in w])"
    done = subprocess.run(
        [sys.executable, "-c", ask], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{found.values['architecture_error_percent']} {warnings}\n"


@pytest.mark.skipif(NODE is None, reason="needs Node, which is not on the PATH")
def test_exported_javascript_says_the_same(tmp_path):
    found, (warning,) = asked("xception")
    export_formula(LAW, tmp_path / "law.cjs")
    ask = "const f = require('./law.cjs').predict('xception', 'T4', 64);"
    ask += "console.log(f.architecture_error_percent, f.warnings.find((w) => w.includes('off by')));"
    done = subprocess.run([NODE, "-e", ask], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"{found.values['architecture_error_percent']} {warning}\n"


def test_workbook_has_the_errors_of_its_first_choice():
    (sheet,) = (sheet for sheet in workbook_plan(LAW).sheets if sheet.name == "Answers")
    rows = {cell.value: row for (row, column), cell in sheet.cells.items() if column == 0}
    found, _ = asked("resnet50", "V100-SXM2-16GB")
    for kind in ("architecture", "precision", "generation"):
        name = f"{kind}_error_percent"
        assert sheet.cells[rows[name], 1].value == pytest.approx(found.values[name])
