"""Every exported file is run, and computes what Python computes."""

import json
import math
import shutil
import subprocess
import sys
from pkgutil import resolve_name

import numpy as np
import pytest
from trainlaw.app.cli import app
from trainlaw.app.exports.formats import DOCUMENTS, NAMED, NAMED_SUFFIXES, PROGRAMS
from trainlaw.app.exports.programs import DIALECTS
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.workbook.model import first_choice
from trainlaw.formulas import load_formula
from typer.testing import CliRunner

pytestmark = pytest.mark.slow


@pytest.fixture
def values(formula):
    names = [spec.name for spec in formula.used_features]
    return dict(zip(names, map(float, first_choice().matrix(names)[0]), strict=True))


@pytest.fixture
def truth(formula):
    return predict_runs(formula, first_choice())[0].time_s


def export(formula_file, path, *options):
    result = CliRunner().invoke(app, ["export", str(formula_file), "--to", str(path), *options])
    assert result.exit_code == 0, result.output
    return path.read_text() if path.suffix not in (".xlsx", ".onnx") else ""


def found_in(folder):
    return f"import sys; sys.path.insert(0, {str(folder)!r}); "


def test_python_runs_without_any_package(formula_file, tmp_path, values, truth):
    path = tmp_path / "law.py"
    export(formula_file, path, "--bare")
    code = f"{found_in(tmp_path)}import law; print(repr(law.predict(**{values!r})))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) == pytest.approx(truth, rel=1e-12)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_javascript_runs(formula_file, tmp_path, values, truth):
    text = export(formula_file, tmp_path / "law.js", "--bare")
    script = f"{text}\nconsole.log(predict({json.dumps(values)}))"
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(truth, rel=1e-12)


def test_onnx_runs(formula_file, tmp_path, values, truth):
    onnx = pytest.importorskip("onnx", reason="needs onnx, which is not installed")
    from onnx.reference import ReferenceEvaluator

    export(formula_file, tmp_path / "law.onnx")
    model = onnx.load(tmp_path / "law.onnx")
    inputs = {name: np.array([value]) for name, value in values.items()}
    assert ReferenceEvaluator(model).run(None, inputs)[0][0] == pytest.approx(truth, rel=1e-12)
    for expected in ("15.2 %", "seed", "0.1.0", "batch_per_gpu * im2col_elements / peak_flop_per_s"):
        assert expected in model.doc_string


def test_json_reads_back(formula_file, tmp_path, formula):
    export(formula_file, tmp_path / "law.json")
    assert load_formula(tmp_path / "law.json") == formula


@pytest.mark.parametrize("suffix", [".py", ".js", ".c", ".sql", ".tex"])
def test_headers_say_units_ranges_error_and_origin(suffix, formula_file, tmp_path, formula):
    text = export(formula_file, tmp_path / f"law{suffix}", "--bare")
    for spec in formula.used_features:
        assert spec.name in text or spec.symbol in text
    if suffix != ".tex":
        for expected in ("15.2 %", "seed", "0.1.0", "6 * batch_per_gpu * im2col_elements / peak_flop_per_s"):
            assert expected in text


@pytest.mark.usefixtures("few_networks")
@pytest.mark.parametrize(
    "suffix",
    [".py", ".js", ".mjs", ".cjs", ".c", ".h", ".sql", ".tex", ".onnx", ".json", ".xlsx", ".html"],
)
def test_every_suffix_writes_one_file_and_never_over_another(suffix, formula_file, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    export(formula_file, folder / f"law{suffix}")
    assert [path.name for path in folder.iterdir()] == [f"law{suffix}"]
    again = CliRunner().invoke(app, ["export", str(formula_file), "--to", str(folder / f"law{suffix}")])
    assert again.exit_code == 2
    forced = CliRunner().invoke(
        app, ["export", str(formula_file), "--to", str(folder / f"law{suffix}"), "--overwrite"]
    )
    assert forced.exit_code == 0


def test_undefined_is_nan_and_null(formula_file, tmp_path, values):
    export(formula_file, tmp_path / "law.py", "--bare")
    undefined = {**values, "clock_ratio": -1.0}
    code = f"{found_in(tmp_path)}import law; print(law.predict(**{undefined!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert math.isnan(float(done.stdout))
    assert np.isnan(
        load_formula(formula_file).predict(
            {name: [value] for name, value in {**values, "clock_ratio": -1.0}.items()}
        )[0]
    )


@pytest.mark.parametrize("name", sorted({*PROGRAMS.values(), *DOCUMENTS.values(), NAMED}))
def test_every_format_names_a_function(name):
    assert callable(resolve_name(name))


def test_no_format_is_a_program_and_a_document():
    assert not set(PROGRAMS) & set(DOCUMENTS)
    assert set(NAMED_SUFFIXES) == set(DIALECTS) and not set(NAMED_SUFFIXES) & set(DOCUMENTS)
