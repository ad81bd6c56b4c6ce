import numpy as np
import pytest
from trainlaw.datasets import TARGET, feature_specs
from trainlaw.formulas import Formula, InputError, constants, parse_text
from trainlaw.validate.refit import RefittedFormula

FORM = "2 * conv_output_memory_s + 3 * im2col_compute_s + 0.001"
NAMES = ["conv_output_memory_s", "im2col_compute_s"]


@pytest.fixture
def formula():
    return Formula(parse_text(FORM), feature_specs(NAMES), TARGET, errors={"mine": 1}, provenance={"seed": 1})


def test_constants_are_found_again(formula, few_runs):
    seconds = few_runs.X[NAMES].to_numpy() @ [4.0, 9.0] + 0.002
    groups = few_runs.labels["gpu_group"].to_numpy(dtype=str)
    fitted = RefittedFormula(formula).fit(few_runs.X, seconds, groups)
    assert fitted.predict(few_runs.X) == pytest.approx(seconds, rel=0.1)
    found = sorted(constants(fitted.formula_.expression))
    assert found == pytest.approx([0.002, 4.0, 9.0], rel=0.2)


def test_it_carries_no_errors_of_other_rows(formula):
    assert not RefittedFormula(formula).formula.errors
    assert not RefittedFormula(formula).formula.provenance


def test_a_form_without_a_time_is_refused(few_runs):
    no_time = Formula(parse_text("log(conv_output_memory_s)"), feature_specs(NAMES[:1]), TARGET)
    groups = few_runs.labels["gpu_group"].to_numpy(dtype=str)
    with pytest.raises(InputError, match="no finite, positive time"):
        RefittedFormula(no_time).fit(few_runs.X, few_runs.seconds, groups)


def test_slopes_of_a_sum_are_the_shares_of_its_terms(formula, few_runs):
    groups = few_runs.labels["gpu_group"].to_numpy(dtype=str)
    fitted = RefittedFormula(formula).fit(few_runs.X, few_runs.seconds, groups)
    outputs, unfolded, overhead = constants(fitted.formula_.expression)
    terms = np.column_stack(
        [outputs * few_runs.X[NAMES[0]], unfolded * few_runs.X[NAMES[1]], np.full(len(few_runs.X), overhead)]
    )
    shares = terms / terms.sum(axis=1, keepdims=True)
    assert fitted.log_slopes(few_runs.X) == pytest.approx(shares, abs=1e-6)
