"""Names that begin with = + - @, hold quotes, tags, LaTeX or SQL come out inert in every output."""

import csv
import io
import json
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
from trainlaw.app.exports.formats import export_formula
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.datasets.cnns import build, write_layer_table
from trainlaw.formulas import load_formula

from ...commands import invoke

EVIL = [
    '=HYPERLINK("http://x","y")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "</script><script>alert(1)</script>",
    "'; DROP TABLE runs; --",
    "\\input{/etc/passwd} $ % & _ ^ ~ { }",
    "*/ int main(void) { return 1; } /*",
    'x"; process.exit(3); "',
    "\n__import__('os').abort()\n",
]
# For outputs that take long to write: whichever name breaks out first is noticed.
TOGETHER = " ".join(EVIL)
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def hostile(name):
    """The shipped formula, its table and protocol called `name`, as the file of a user may be."""
    law = load_formula(BUILT_IN)
    facts = {**law.provenance, "table": name, name: name}
    return replace(law, provenance=facts, errors={**law.errors, "protocol": name})


def written(name, suffix, folder, bare=False):
    path = folder / f"law{suffix}"
    export_formula(hostile(name), path, bare=bare)
    return path


def runs(*command):
    subprocess.run([str(part) for part in command], check=True, capture_output=True)


@pytest.mark.slow
def test_programs_do_nothing_but_compute(tmp_path):
    path = written(TOGETHER, ".py", tmp_path)
    runs(sys.executable, "-I", "-S", path)
    if shutil.which("node"):
        runs("node", written(TOGETHER, ".js", tmp_path))
    if shutil.which("gcc"):
        # Without the tables, which take most of the compiler's time.
        path = written(TOGETHER, ".c", tmp_path, bare=True)
        runs("gcc", "-std=c99", "-Wall", "-Werror", "-c", "-o", tmp_path / "law.o", path)
        symbols = subprocess.run(
            ["nm", tmp_path / "law.o"], capture_output=True, text=True, check=True
        ).stdout
        assert " main" not in symbols


@pytest.mark.parametrize("name", EVIL, ids=ascii)
def test_queries_do_nothing_but_compute(name, tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb, which is not installed")
    law = hostile(name)
    connection = duckdb.connect()
    columns = ", ".join(f"1.0 AS {spec.name}" for spec in law.used_features)
    connection.execute(f"CREATE TABLE runs AS SELECT {columns}")
    ((*_, value),) = connection.execute(written(name, ".sql", tmp_path).read_text()).fetchall()
    assert value > 0
    assert connection.execute("SELECT count(*) FROM runs").fetchall() == [(1,)]


@pytest.mark.parametrize("name", EVIL, ids=ascii)
def test_latex_holds_names_in_comments_only(name, tmp_path):
    text = written(name, ".tex", tmp_path).read_text()
    body = [line for line in text.splitlines() if not line.startswith("%")]
    assert "\\input" not in text and name.strip() not in "\n".join(body)
    assert body[0] == "\\["


@pytest.mark.slow
def test_page_holds_names_as_text(tmp_path):
    text = written(TOGETHER, ".html", tmp_path).read_text()
    assert text.count("<script>") == text.count("</script>") == 1


@pytest.mark.slow
@pytest.mark.usefixtures("few_networks")
def test_cells_hold_names_as_text(formula, tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl, which is not installed")
    facts = {"table": EVIL[0], **{name: name for name in EVIL}}
    law = replace(
        formula, provenance=formula.provenance | facts, errors={**formula.errors, "protocol": EVIL[1]}
    )
    export_formula(law, tmp_path / "law.xlsx")
    book = openpyxl.load_workbook(tmp_path / "law.xlsx")
    formulas = [cell.value for sheet in book for row in sheet for cell in row if cell.data_type == "f"]
    assert formulas
    assert not any(name.strip() in str(text) for text in formulas for name in EVIL)
    export_formula(law, tmp_path / "law.csv")
    lines = csv.reader(io.StringIO((tmp_path / "law.csv").read_text()))
    cells = [cell for line in lines for cell in line]
    assert not any(cell.startswith(FORMULA_STARTS) and not is_number(cell) for cell in cells)


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("name", EVIL, ids=ascii)
def test_models_hold_names_in_their_documentation_only(name, tmp_path):
    onnx = pytest.importorskip("onnx", reason="needs onnx, which is not installed")
    model = onnx.load(written(name, ".onnx", tmp_path))
    places = [*model.graph.input, *model.graph.output]
    assert all(place.name.isidentifier() for place in places)
    assert name.strip() not in "".join(
        node.SerializeToString().decode("latin-1") for node in model.graph.node
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in EVIL if "\n" not in name], ids=ascii)
def test_predictions_of_cards_and_networks_of_such_names(name, tmp_path):
    cards = tmp_path / "cards.csv"
    rates = {"peak_fp32_flop_per_s": 4e12, "bandwidth_byte_per_s": 2e11, "boost_clock_hz": 1.5e9}
    facts = {"gpu": name, "memory_bytes": 8e9, "sm_count": 20, "core_count": 1280, **rates}
    facts |= {"l1_bytes_per_sm": 65536, "l2_bytes": 2e6, "vendor": "NVIDIA"}
    with cards.open("w", newline="") as file:
        csv.writer(file).writerows([facts.keys(), facts.values()])
    net = tmp_path / (name.replace("/", "_") + ".csv")
    write_layer_table(build("lenet5"), net)
    arguments = ["predict", "--gpu", name, "--gpu-file", cards, "--cnn", net, "--batch", "8"]
    if name.startswith(FORMULA_STARTS):  # such cards are refused, so the network's file alone is called so
        result = invoke(*arguments)
        assert result.exit_code == 2 and len(result.stderr.splitlines()) == 1
        arguments = ["predict", "--gpu", "T4", "--cnn", net, "--batch", "8"]
    texts = {}
    for form in ("table", "csv", "json"):
        result = invoke(*arguments, "--format", form)
        assert result.exit_code == 0, result.output
        texts[form] = result.stdout
    (row,) = json.loads(texts["json"])
    assert row["time_s"] > 0
    lines = list(csv.reader(io.StringIO(texts["csv"])))
    assert len(lines) == 2
    assert not any(cell.startswith(FORMULA_STARTS) and not is_number(cell) for cell in lines[1])
    assert "\x1b" not in texts["table"]
