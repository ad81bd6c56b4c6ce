import re
import shutil
import subprocess
from numbers import Real

import numpy as np
import pytest
from trainlaw.formulas import OPERATORS, Apply, InputError, Variable, evaluate, parse_text, variables
from trainlaw.formulas.expression import nodes
from trainlaw.formulas.printers import excel_expression, print_excel, split_for_excel
from trainlaw.formulas.printers.excel import MAX_LENGTH, MAX_LEVELS, _levels

RECALCULATE_ALWAYS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop>
</item>
</oor:items>
"""
needs_office = pytest.mark.skipif(
    shutil.which("soffice") is None, reason="needs soffice, which is not on the PATH"
)


def recalculated(path):
    """Return the sheet of a workbook as LibreOffice computes it, whatever values are stored in it."""
    openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl, which is not installed")
    profile, out = path.parent / "profile", path.parent / "out"
    (profile / "user").mkdir(parents=True)
    (profile / "user" / "registrymodifications.xcu").write_text(RECALCULATE_ALWAYS)
    command = ["soffice", f"-env:UserInstallation=file://{profile}", "--headless", "--convert-to", "xlsx"]
    subprocess.run([*command, "--outdir", out, path], check=True, capture_output=True, timeout=300)
    return openpyxl.load_workbook(out / path.name, data_only=True).active


def write(path, rows):
    """Write a workbook whose every stored value is wrong on purpose."""
    xlsxwriter = pytest.importorskip("xlsxwriter", reason="needs XlsxWriter, which is not installed")
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for row, cells in enumerate(rows):
            for column, cell in enumerate(cells):
                if isinstance(cell, str):
                    sheet.write_formula(row, column, cell, value=-12345.678)
                else:
                    sheet.write_number(row, column, cell)


def number(cell):
    """Return the value of a cell, nan for an error value."""
    return float(cell.value) if cell.data_type == "n" and cell.value is not None else np.nan


def beyond_excel(expression, points):
    """Where a sine or cosine is taken of a number that Excel refuses (2^27)."""
    found = np.zeros(60, dtype=bool)
    for node in nodes(expression):
        if isinstance(node, Apply) and node.operator in ("sin", "cos"):
            found |= np.abs(evaluate(node.arguments[0], points)[0]) > 1e8
    return found


def fits(expression):
    return not split_for_excel(expression, dict.fromkeys("xyz", "$A$11"), str).helpers


@needs_office
def test_cells_compute_the_same(expressions, points, judge, tmp_path):
    expressions = [item for item in expressions if fits(item)]
    assert len(expressions) > 90
    names = [{"x": f"$A{row + 1}", "y": f"$B{row + 1}", "z": f"$C{row + 1}"} for row in range(60)]
    rows = []
    for row in range(60):
        inputs = [float(points[name][row]) for name in "xyz"]
        rows.append([*inputs, *(f"={excel_expression(item, names[row])}" for item in expressions)])
    write(tmp_path / "a.xlsx", rows)
    sheet = recalculated(tmp_path / "a.xlsx")
    compared = []
    for column, item in enumerate(expressions, start=4):
        printed = [number(sheet.cell(row + 1, column)) for row in range(60)]
        compared.append(judge(item, printed, beyond_excel(item, points)))
    assert np.sum(compared, axis=0)[0] > 1000


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_second_engine_computes_the_same(expressions, points, judge):
    engine = pytest.importorskip("formulas", reason="needs the package formulas, which is not installed")
    if not hasattr(engine, "Parser"):
        pytest.skip("needs the package formulas; another module of that name was found first")
    names = {name: f"{name.upper()}VAL" for name in "xyz"}
    for item in [item for item in expressions if variables(item) and fits(item)][:25]:
        function = engine.Parser().ast("=" + excel_expression(item, names))[1].compile()
        inputs = [name.lower()[0] for name in function.inputs]
        found = [np.ravel(function(*(points[name][row] for name in inputs)))[0] for row in range(60)]
        judge(
            item,
            [value if isinstance(value, Real) else np.nan for value in found],
            beyond_excel(item, points),
        )


def long_sum(count):
    return parse_text(
        " + ".join(f"{index}.123456789 * x^0.{index} / (y + exp(-x * {index}))" for index in range(1, count))
    )


def deep_chain(levels):
    expression = parse_text("x")
    for _ in range(levels):
        expression = Apply("sqrt", (Apply("add", (expression, Variable("y"))),))
    return expression


def nested_roots(levels):
    expression = parse_text("x + y")
    for _ in range(levels):
        expression = Apply("cbrt", (Apply("sub", (expression, Variable("y"))),))
    return expression


TOO_LARGE = {"long": long_sum(180), "deep": deep_chain(90), "repeated": nested_roots(14)}


@pytest.mark.parametrize("kind", TOO_LARGE)
def test_what_no_cell_holds_is_refused_and_split(kind):
    expression, names = TOO_LARGE[kind], {"x": "A1", "y": "B1"}
    with pytest.raises(InputError, match="split_for_excel"):
        excel_expression(expression, names)
    cells = split_for_excel(expression, names, lambda index: f"C{index + 1}")
    texts = [text for _, text in cells.helpers] + [cells.formula]
    assert len(texts) > 2 and max(map(len, texts)) <= MAX_LENGTH and max(map(_levels, texts)) <= MAX_LEVELS
    for index, (name, text) in enumerate(cells.helpers):
        assert name == f"C{index + 1}"
        assert all(int(used) <= index for used in re.findall(r"\bC(\d+)\b", text))


@needs_office
@pytest.mark.parametrize("kind", TOO_LARGE)
def test_split_cells_compute_the_same(kind, tmp_path):
    expression = TOO_LARGE[kind]
    cells = split_for_excel(expression, {"x": "$A$1", "y": "$B$1"}, lambda index: f"$A${index + 2}")
    rows = [[2.5, 3.5, f"={cells.formula}"], *([f"={text}"] for _, text in cells.helpers)]
    write(tmp_path / "a.xlsx", rows)
    sheet = recalculated(tmp_path / "a.xlsx")
    value = evaluate(expression, {"x": np.array([2.5]), "y": np.array([3.5])})[0][0]
    assert number(sheet.cell(1, 3)) == pytest.approx(value, rel=1e-9)


def test_one_cell_where_it_fits():
    cells = split_for_excel(parse_text("x * (x + 1) / (x + 1)"), {"x": "A1"}, str)
    assert cells == ((), "A1 * (A1 + 1) / (A1 + 1)")


def test_printed_list_uses_names_that_are_no_cells():
    text = print_excel(parse_text("FP32 * L2 + fp32"))
    assert text.splitlines()[-1] == "out_value =in_fp32 * in_l2 + in_fp32_2"
    assert "LAMBDA" not in print_excel(parse_text("max(x, y) ^ y"))


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_is_written(name):
    text = excel_expression(
        Apply(name, (Variable("x"), Variable("y"))[: OPERATORS[name].arity]), {"x": "A1", "y": "B1"}
    )
    assert "A1" in text and "{" not in text
