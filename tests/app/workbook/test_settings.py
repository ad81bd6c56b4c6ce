"""Yellow cells for layout, tuning and the host's launch time: only where used, and as `predict` computes."""

import pytest
from trainlaw.app.models.builtin import formula_named
from trainlaw.app.models.settings import host_margin
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.sheets.xlsx import xlsx_bytes
from trainlaw.app.workbook.model import LAYOUTS, first_choice, workbook_model
from trainlaw.datasets import TARGET, configuration, feature_specs
from trainlaw.formulas import Formula, parse_text, variables

from ...libreoffice import needs_libreoffice, recalculated
from .test_book import (
    all_gpus,
    named_value,
    small_plan,
    value_of,
    with_values,
    workbook_plan,
)

LAW = (
    "max(2 * other_matrix_s * (1 - 0.1 * is_tuned) + 3 * grouped_channels_last_simt_s, 1.5 * host_s)"
    " + 4 * conv_output_cached_s * exp(0.5 * is_amd)"
)
CELLS = ("tl_layout_choice", "tl_is_tuned", "tl_host_launch_us")


@pytest.fixture(scope="module")
def law():
    expression = parse_text(LAW)
    return Formula(expression, feature_specs(variables(expression)), TARGET)


@pytest.fixture(scope="module")
def plan(law):
    return small_plan(workbook_plan(law))


@pytest.mark.slow
@pytest.mark.usefixtures("few_networks")
def test_cells_exist_only_where_the_formula_uses_them(law, formula):
    assert set(CELLS) <= set(workbook_plan(law).names)
    # What several GPUs add depends on the host for every formula.
    assert not {*CELLS[:2], "tl_is_amd"} & set(workbook_plan(formula).names)


def test_the_first_choice_is_that_of_predict(law):
    model = workbook_model(law)
    (expected,) = predict_runs(law, first_choice())
    assert model.seconds == pytest.approx(expected.time_s, rel=1e-12)
    assert model.values["stated_launch_s"] == 0 and model.values["is_channels_last"] == 0
    margin = host_margin(law, model.expression)
    assert margin is not None and set(variables(margin)) <= set(model.values)


# Other settings are asked of the built-in formula in `test_same_answers.py`.
CHOICES = [
    ({"tl_layout_choice": LAYOUTS[1], "tl_is_tuned": 1.0}, {"layout": "channels_last", "tuned": True}),
    (
        {"tl_host_launch_us": 40.0, "tl_gpu_choice": "Instinct MI50"},
        {"host_launch_s": 4e-5, "gpu": "Instinct MI50"},
    ),
    (
        {"tl_n_gpus": 16.0, "tl_nodes": 2.0, "tl_is_bucketed": 0.0},
        {"n_gpus": 16, "n_nodes": 2, "bucketed": False},
    ),
    (
        {"tl_n_gpus": 7.0, "tl_nodes": 3.0, "tl_largest_node": 4.0, "tl_gpu_choice": "T4"},
        {"allocation": "4,2,1", "gpu": "T4"},
    ),
    (
        {"tl_n_gpus": 4.0, "tl_nodes": 4.0, "tl_algorithm": "tree"},
        {"n_gpus": 4, "n_nodes": 4, "algorithm": "tree"},
    ),
]


@needs_libreoffice
def test_every_setting_is_computed_as_predict_does(law, plan, tmp_path):
    files = {f"{n}.xlsx": xlsx_bytes(with_values(plan, cells)) for n, (cells, _) in enumerate(CHOICES)}
    hidden = {"tl_n_gpus": 8.0, "tl_hidden": 0.5}
    books = recalculated(files | {"hidden.xlsx": xlsx_bytes(with_values(plan, hidden))}, tmp_path)
    base = {"cnn": "resnet50", "gpu": "V100-SXM2-16GB", "batch_per_gpu": 64}
    for number, (_, settings) in enumerate(CHOICES):
        (expected,) = predict_runs(law, configuration(**(base | settings)), formula_named("multi"))
        book = books[f"{number}.xlsx"]
        assert named_value(book, plan, "tl_time_s") == pytest.approx(expected.time_s, rel=1e-9), settings
        assert all_gpus(book)[expected.gpu]["iteration time"] == pytest.approx(expected.time_s, rel=1e-9)
        assert value_of(book, "warnings") == (*expected.warnings, "no warning")[0]
    # A hidden share is one of the textbook's all-reduce.
    (whole,) = predict_runs(law, configuration(**base, n_gpus=8))
    half = whole.time_s - 0.5 * whole.exchange_s
    assert named_value(books["hidden.xlsx"], plan, "tl_time_s") == pytest.approx(half, rel=1e-9)
