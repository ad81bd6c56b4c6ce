import re
from io import BytesIO
from numbers import Real

import numpy as np
import pytest
from openpyxl.utils import get_column_letter
from trainlaw.formulas import Apply, InputError, Variable, evaluate, parse_text
from trainlaw.formulas.algebra.expression import nodes
from trainlaw.formulas.printers.excel import (
    MAX_LENGTH,
    MAX_LEVELS,
    _levels,
    excel_expression,
    split_for_excel,
)

from ...libreoffice import needs_libreoffice, recalculated


def workbook(rows):
    """The bytes of a workbook whose every stored value is wrong on purpose."""
    xlsxwriter = pytest.importorskip("xlsxwriter", reason="needs XlsxWriter, which is not installed")
    content = BytesIO()
    with xlsxwriter.Workbook(content, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        for row, cells in enumerate(rows):
            for column, cell in enumerate(cells):
                if isinstance(cell, str):
                    sheet.write_formula(row, column, cell, value=-12345.678)
                else:
                    sheet.write_number(row, column, cell)
    return content.getvalue()


def number(cell):
    """Return the value of a cell, nan for an error value."""
    return float(cell.value) if cell.data_type == "n" and cell.value is not None else np.nan


def beyond_excel(expression, points):
    """Where a sine or cosine is taken of a number that Excel refuses (2^27), or a step is below 2.2E-308.

    Spreadsheets take such a small number for 0.
    """
    found = np.zeros(60, dtype=bool)
    for node in nodes(expression):
        values = np.abs(evaluate(node, points)[0])
        found |= (values > 0) & (values < np.finfo(float).tiny)
        if isinstance(node, Apply) and node.operator in ("sin", "cos"):
            found |= np.abs(evaluate(node.arguments[0], points)[0]) > 1e8
    return found


def overflowing(expression, points):
    """Where a step is infinite: a spreadsheet shows #NUM!, the second engine goes on with infinity."""
    return np.logical_or.reduce(
        [~np.isfinite(evaluate(node, points)[0]) | np.zeros(60, bool) for node in nodes(expression)]
    )


NAMES = [{"x": f"$A{row}", "y": f"$B{row}", "z": f"$C{row}"} for row in range(1, 61)]


@pytest.fixture(scope="module")
def many(random_expressions):
    """120 random expressions over all operators."""
    return random_expressions(120, seed=33)


def laid_out(expressions, first):
    """Columns of formulas from column `first` on, helpers first, and the column of each result."""
    columns, results = [], []
    for item in expressions:
        start = first + len(columns)
        rows = [
            split_for_excel(item, names, lambda index, line=line, start=start: place(start + index, line))
            for line, names in enumerate(NAMES)
        ]
        for index in range(len(rows[0].helpers)):
            columns.append([f"={row.helpers[index][1]}" for row in rows])
        results.append(first + len(columns))
        columns.append([f"={row.formula}" for row in rows])
    return columns, results


def place(column, row):
    return f"${get_column_letter(column + 1)}{row + 1}"


@pytest.fixture(scope="module")
def columns_of_many(many):
    """The columns of formulas of `many`, and the place of each result."""
    return laid_out(many, first=3)


@pytest.fixture(scope="module")
def books(columns_of_many, points, tmp_path_factory):
    """The workbooks of all tests below, as LibreOffice computes them in one start."""
    columns = columns_of_many[0]
    rows = [
        [*(float(points[name][row]) for name in "xyz"), *(column[row] for column in columns)]
        for row in range(60)
    ]
    files = {"many": rows, **{kind: split_rows(kind) for kind in TOO_LARGE}}
    content = {f"{name}.xlsx": workbook(rows) for name, rows in files.items()}
    return recalculated(content, tmp_path_factory.mktemp("books"))


@needs_libreoffice
def test_cells_compute_the_same(many, columns_of_many, books, points, judge):
    table = [[number(cell) for cell in row] for row in books["many.xlsx"].active.iter_rows()]
    compared = []
    for column, item in zip(columns_of_many[1], many, strict=True):
        printed = [row[column] for row in table]
        compared.append(judge(item, printed, beyond_excel(item, points)))
    valid, invalid = np.sum(compared, axis=0)
    assert len(many) == 120 and valid > 2_400 and invalid > 1_200


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_second_engine_computes_the_same(many, points, judge):
    engine = pytest.importorskip("formulas", reason="needs the package formulas, which is not installed")
    if not hasattr(engine, "Parser"):
        pytest.skip("needs the package formulas; another module of that name was found first")
    names = {name: f"{name.upper()}VAL" for name in "xyz"}
    # Every operator is at the root of one of these. A cell takes this engine a millisecond.
    for number, item in enumerate(many[:80]):
        rows = np.arange(60) % 3 == number % 3
        cells = split_for_excel(item, names, "STEP{}VAL".format)
        known = {f"{name.upper()}VAL": points[name][rows] for name in "xyz"}
        for name, text in cells.helpers:
            known[name] = second_opinion(engine, text, known)
        beyond = beyond_excel(item, points) | (overflowing(item, points) & ~evaluate(item, points)[1])
        printed = np.full(60, np.nan, dtype=object)
        printed[rows] = second_opinion(engine, cells.formula, known)
        judge(item, plain(printed), beyond | ~rows)


def second_opinion(engine, text, known):
    """The values of a cell formula over named columns, shape (n,), as the other engine computes it."""
    function = engine.Parser().ast("=" + text)[1].compile()
    inputs = [known[name] for name in function.inputs]
    rows = zip(*inputs, strict=True) if inputs else [()] * len(next(iter(known.values())))
    return np.array([np.ravel(function(*row))[0] for row in rows], dtype=object)


def plain(values):
    return [value if isinstance(value, Real) else np.nan for value in values]


def long_sum(count):
    return parse_text(
        " + ".join(f"{index}.123456789 * x^0.{index} / (y + exp(-x * {index}))" for index in range(1, count))
    )


def nested(outer, inner, begin, levels):
    expression = parse_text(begin)
    for _ in range(levels):
        expression = Apply(outer, (Apply(inner, (expression, Variable("y"))),))
    return expression


TOO_LARGE = {
    "long": long_sum(180),
    "deep": nested("sqrt", "add", "x", 90),
    "repeated": nested("cbrt", "sub", "x + y", 14),
}


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


def split_rows(kind):
    cells = split_for_excel(TOO_LARGE[kind], {"x": "$A$1", "y": "$B$1"}, lambda index: f"$A${index + 2}")
    return [[2.5, 3.5, f"={cells.formula}"], *([f"={text}"] for _, text in cells.helpers)]


@needs_libreoffice
@pytest.mark.parametrize("kind", TOO_LARGE)
def test_split_cells_compute_the_same(kind, books):
    value = evaluate(TOO_LARGE[kind], {"x": np.array([2.5]), "y": np.array([3.5])})[0][0]
    assert number(books[f"{kind}.xlsx"].active.cell(1, 3)) == pytest.approx(value, rel=1e-9)


def test_one_cell_where_it_fits():
    cells = split_for_excel(parse_text("x * (x + 1) / (x + 1)"), {"x": "A1"}, str)
    assert cells == ((), "A1 * (A1 + 1) / (A1 + 1)", ())


@pytest.mark.parametrize("text", ["{0} - ({1})", "{1} - ({0})"])
def test_of_parts_alike_in_depth_the_longest_gets_a_cell(text):
    names = {"short": "S" * 560, "long": "L" * 570}
    difference = parse_text(text.format(*(" + ".join([name] * 7) for name in names)))
    (helper,) = split_for_excel(difference, names, str).helpers
    assert helper[1].count(names["long"]) == 7


@pytest.mark.parametrize("kind", TOO_LARGE)
def test_helpers_stand_for_what_is_said(kind):
    expression = TOO_LARGE[kind]
    cells = split_for_excel(expression, {"x": "A1", "y": "B1"}, str)
    assert len(cells.expressions) == len(cells.helpers)
    assert set(cells.expressions) <= set(nodes(expression))
