"""The sheets Plan, All plans and Shorter: hours, interval and cost of `trainlaw plan`, the best first."""

from dataclasses import replace

import pytest
import trainlaw
from trainlaw.app.models.builtin import SHORTER, formula_named
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.sheets.xlsx import xlsx_bytes
from trainlaw.app.workbook.compare import FIRST_GPUS
from trainlaw.app.workbook.model import FIRST, first_choice
from trainlaw.app.workbook.plan import COUNTS

from ...libreoffice import needs_libreoffice, recalculated
from .test_book import built_in_plan, named_value, note_of, small_plan, value_of, with_values

NAMES = ("gpu", "n_gpus", "training_h", "training_low_h", "training_high_h")
TITLES = ("GPU", "number of GPUs", "time of the training, h", "interval from, h", "interval to, h")


@pytest.fixture(scope="module")
def plan():
    return small_plan(built_in_plan(), without=("Compare", "Ranking"))


def rows_of(book):
    """The plans that the sheet shows, by the titles of its columns."""
    rows = book["Plan"].iter_rows(min_row=3, values_only=True)
    titles = next(rows)
    return [dict(zip(titles, row, strict=False)) for row in rows if row[0]]


def price_cells(plan, prices):
    """The yellow cells of prices of GPUs."""
    cells = next(sheet for sheet in plan.sheets if sheet.name == "GPUs").cells
    return {
        ("GPUs", row, 1): prices[cell.value]
        for (row, column), cell in cells.items()
        if column == 0 and cell.value in prices
    }


@needs_libreoffice
def test_plans_are_those_of_the_command(plan, tmp_path):
    prices = {"T4": 0.35, "RTX 4090": 0.5, "H100-SXM5-80GB": 2.5}
    odd = {("All plans", 4, 0): "T4", ("All plans", 4, 1): 24.0, ("All plans", 5, 1): 9.0}
    amp = {"tl_precision_choice": "amp", "tl_batch_per_gpu": 128.0, "tl_epochs": 30.0, **odd}
    others = ("All GPUs", "Plan", "All plans")
    without_plans = replace(plan, sheets=[sheet for sheet in plan.sheets if sheet.name not in others])
    books = recalculated(
        {
            "plain.xlsx": xlsx_bytes(with_values(plan, {"tl_precision_choice": "fp32"})),
            "family.xlsx": xlsx_bytes(with_values(without_plans, {"tl_gpu_choice": "nvidia a100"})),
            "amp.xlsx": xlsx_bytes(with_values(plan, {**amp, **price_cells(plan, prices)})),
        },
        tmp_path,
    )
    cells = (cell for row in books["amp.xlsx"]["All plans"].iter_rows(values_only=True) for cell in row)
    assert not [cell for cell in cells if str(cell).startswith("#")]
    asked = {"gpu": FIRST_GPUS, "n_gpus": COUNTS}
    expected = trainlaw.plan("resnet50", batch=[64], precision=["fp32"], **asked).sort_values("training_h")
    listed = trainlaw.plan("resnet50", batch=[64], precision=["fp32"], prices="example", **asked)
    costs = {(row["gpu"], row["n_gpus"]): row["cost"] for row in listed.to_dict("records")}
    shown = rows_of(books["plain.xlsx"])
    assert len(shown) == len(expected) > 60
    for found, right in zip(shown, expected.to_dict("records"), strict=True):
        for name, title in zip(NAMES[2:], TITLES[2:], strict=True):
            assert found[title] == pytest.approx(right[name], rel=1e-9)
        cost = costs.get((right["gpu"], right["n_gpus"]))
        assert found["cost of the training, USD"] == (cost and pytest.approx(cost, rel=1e-9))
        assert found["training runs of its generation"] == ("yes" if right["is_measured"] else "no")
    dearest = trainlaw.plan("resnet50", batch=[128], precision=["amp"], epochs=30, gpu="T4", n_gpus=[24])
    found = {(row["GPU"], row["number of GPUs"]): row for row in rows_of(books["amp.xlsx"])}
    assert found["T4", 24]["time of the training, h"] == pytest.approx(dearest["training_h"][0], rel=1e-9)
    assert found["T4", 24]["cost of the training, USD"] == pytest.approx(24 * 0.35 * dearest["training_h"][0])
    # Two nodes with up to eight K80 do not share nine evenly.
    assert ("K80", 9) not in found and found["H100-SXM5-80GB", 8]["cost of the training, USD"] > 0
    costs = [row["cost of the training, USD"] for row in rows_of(books["amp.xlsx"])]
    priced = [cost for cost in costs if cost]
    assert priced == sorted(costs[: len(priced)]) and len(priced) > 40
    for name, batch, precision in (("plain", 64, "fp32"), ("amp", 128, "amp")):
        figures = trainlaw.predict("resnet50", FIRST.gpu, batch, precision=precision).figures
        assert value_of(books[f"{name}.xlsx"], "measured") == dict(figures)["measured"]
    assert note_of(books["family.xlsx"], "GPU").startswith("choose A100-PCIE-40GB or ")
    for name in SHORTER:
        (short,) = predict_runs(formula_named(name), first_choice())
        assert named_value(books["plain.xlsx"], plan, f"tl_{name}_s") == pytest.approx(short.time_s, rel=1e-9)
