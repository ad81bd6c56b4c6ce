from functools import partial

import numpy as np
import pytest
from trainlaw.datasets import TARGET, feature_specs
from trainlaw.formulas import Formula, InputError, constants, parse_text
from trainlaw.validate import RefittedFormula, cross_platform
from trainlaw.validate.baselines.null_models import ScaledColumn

FORM = "2 * conv_output_memory_s + 3 * im2col_compute_s + 0.001"
NAMES = ["conv_output_memory_s", "im2col_compute_s"]
NULL = {"null": partial(ScaledColumn, "compute_s")}


@pytest.fixture
def law():
    return Formula(parse_text(FORM), feature_specs(NAMES), TARGET, errors={"mine": 1}, provenance={"seed": 1})


def test_constants_are_found_again(law, few_runs):
    seconds = few_runs.X[NAMES].to_numpy() @ [4.0, 9.0] + 0.002
    groups = few_runs.labels["gpu_group"].to_numpy(dtype=str)
    fitted = RefittedFormula(law).fit(few_runs.X, seconds, groups)
    assert fitted.predict(few_runs.X) == pytest.approx(seconds, rel=0.1)
    found = sorted(constants(fitted.formula_.expression))
    assert found == pytest.approx([0.002, 4.0, 9.0], rel=0.2)


def test_it_carries_no_errors_of_other_rows(law):
    assert not RefittedFormula(law).formula.errors
    assert not RefittedFormula(law).formula.provenance


def test_a_form_without_a_time_is_refused(few_runs):
    law = Formula(parse_text("log(conv_output_memory_s)"), feature_specs(NAMES[:1]), TARGET)
    groups = few_runs.labels["gpu_group"].to_numpy(dtype=str)
    with pytest.raises(InputError, match="no finite, positive time"):
        RefittedFormula(law).fit(few_runs.X, few_runs.seconds, groups)


def test_platforms_that_differ_by_a_factor(toy):
    """Fitted on one platform, the other, twice as slow, is wrong by that factor; each alone is right."""
    platforms = np.where(np.arange(len(toy.seconds)) % 2 == 0, "fast", "slow")
    seconds = toy.seconds * np.where(platforms == "slow", 2.0, 1.0)
    matrix = cross_platform(toy.X, seconds, toy.labels, platforms, NULL, least_runs=5)
    errors = matrix.set_index(["train", "test"])["macro_mape_percent"]
    assert errors["fast", "slow"] == pytest.approx(50.0, abs=3)
    assert errors["slow", "fast"] == pytest.approx(100.0, abs=4)
    assert errors["fast", "fast"] < 3
    assert (matrix["low"] <= matrix["macro_mape_percent"]).all()


def test_one_platform_or_few_runs_are_refused(toy):
    with pytest.raises(InputError, match="at least two platforms"):
        cross_platform(toy.X, toy.seconds, toy.labels, ["a"] * len(toy.seconds), NULL)
    platforms = [f"p{index % 5}" for index in range(len(toy.seconds))]
    with pytest.raises(InputError, match="at least 20 runs"):
        cross_platform(toy.X, toy.seconds, toy.labels, platforms, NULL)


def test_slopes_of_a_sum_are_the_shares_of_its_terms(law, few_runs):
    groups = few_runs.labels["gpu_group"].to_numpy(dtype=str)
    fitted = RefittedFormula(law).fit(few_runs.X, few_runs.seconds, groups)
    outputs, unfolded, overhead = constants(fitted.formula_.expression)
    terms = np.column_stack(
        [outputs * few_runs.X[NAMES[0]], unfolded * few_runs.X[NAMES[1]], np.full(len(few_runs.X), overhead)]
    )
    shares = terms / terms.sum(axis=1, keepdims=True)
    assert fitted.log_slopes(few_runs.X) == pytest.approx(shares, abs=1e-6)
