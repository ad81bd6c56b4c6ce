"""Names that begin with = + - @, hold quotes, tags, LaTeX or SQL come out inert in every output."""

import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
from trainlaw.app.exports.formats import export_formula
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.formulas import load_formula

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


def test_programs_do_nothing_but_compute(tmp_path):
    path = written(TOGETHER, ".py", tmp_path)
    runs(sys.executable, "-I", "-S", path)
    if shutil.which("node"):
        runs("node", written(TOGETHER, ".mjs", tmp_path))
    if shutil.which("gcc"):
        path = written(TOGETHER, ".c", tmp_path, bare=True)
        runs("gcc", "-std=c99", "-Wall", "-Werror", "-c", "-o", tmp_path / "law.o", path)
        symbols = subprocess.run(
            ["nm", tmp_path / "law.o"], capture_output=True, text=True, check=True
        ).stdout
        assert " main" not in symbols


@pytest.mark.parametrize("name", EVIL, ids=ascii)
def test_latex_holds_names_in_comments_only(name, tmp_path):
    text = written(name, ".tex", tmp_path).read_text()
    body = [line for line in text.splitlines() if not line.startswith("%")]
    assert "\\input" not in text and name.strip() not in "\n".join(body)
    assert body[0] == "\\["


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
