"""Expressions over rows and columns of the sheet Compare, split into a part of each."""

import pytest
from trainlaw.app.workbook.compare import COLUMN, ROW, SHARED, factorized
from trainlaw.formulas import evaluate, parse_text, substitute

SIDES = {"macs": ROW, "layers": ROW, "peak": COLUMN, "rate": COLUMN, "batch": SHARED}


@pytest.mark.parametrize(
    "text",
    [
        "6 * batch * macs / peak + max(layers * 1e-5, macs / rate) * (1 + 1 / rate) - -layers",
        "(macs / rate) ^ 0.5 / (layers + batch) + 3",
        "batch / 2",
        "exp(-macs) * (peak - rate) / (macs + peak)",
    ],
)
def test_an_expression_factorized_has_the_same_value(text):
    values = {
        "macs": [0.3, 4.0],
        "layers": [7.0, 2.0],
        "peak": [2.0, 9.0],
        "rate": [5.0, 0.5],
        "batch": [8.0, 3.0],
    }
    whole = parse_text(text)
    found = factorized(whole, SIDES.__getitem__)
    parts = {f"row_{n}": part for n, part in enumerate(found.rows, start=1)}
    parts |= {f"column_{n}": part for n, part in enumerate(found.columns, start=1)}
    expected, again = evaluate(whole, values)[0], evaluate(substitute(found.cell, parts), values)[0]
    assert again.tolist() == pytest.approx(expected.tolist(), rel=1e-12)
