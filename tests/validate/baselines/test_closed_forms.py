from functools import partial

import numpy as np
import pytest
from trainlaw.formulas import InputError
from trainlaw.validate import leave_one_group_out, run_study
from trainlaw.validate.baselines import baseline
from trainlaw.validate.baselines.closed_forms import CF9_TERMS, CF21_TERMS, ClosedForm, cf9, cf21

FORMS = {"cf5": 5, "cf9": 9, "cf12": 12, "cf21": 21}


def groups_of(runs):
    return runs.labels["gpu_group"].to_numpy(dtype=str)


@pytest.mark.parametrize("name", FORMS)
def test_the_forms_have_the_terms_of_their_names(name):
    terms = baseline(name).make().terms
    assert len({term.feature for term in terms}) == FORMS[name]


def planted(X, constants, clock, wide_compute, wide_memory):
    """The formula of the docstring, written out."""
    rho, kappa = X["clock_ratio"].to_numpy(), X["wide_sm"].to_numpy()
    total = np.zeros(len(X))
    for term, constant in zip(CF9_TERMS, constants, strict=True):
        seconds = constant * X[term.feature].to_numpy()
        if term.over == "compute":
            seconds = seconds / (rho**clock * np.exp(-wide_compute * kappa))
        if term.over == "memory":
            seconds = seconds / np.exp(-wide_memory * kappa)
        total += seconds
    return total


def test_a_planted_formula_is_recovered(runs):
    constants = np.array([1.5, 60.0, 900.0, 30.0, 8.0, 15.0, 70.0, 10.0, 1.0])
    seconds = planted(runs.X, constants, clock=0.3, wide_compute=0.7, wide_memory=0.5)
    form = cf9().fit(runs.X, seconds, groups_of(runs))
    assert form.constants_ == pytest.approx(constants, rel=0.03)
    assert form.exponents_ == pytest.approx([0.3, 0.7, 0.5], abs=0.01)


def test_harness_constants_are_found_and_an_unknown_harness_gets_one(runs):
    labels = runs.labels[["harness"]]
    slow = (labels["harness"] == "mxnet-docs").to_numpy()
    seconds = planted(runs.X, np.full(9, 10.0), 0.0, 0.0, 0.0) * np.where(slow, 1.3, 1.0)
    form = cf9(harness_constants=True).fit(runs.X, seconds, groups_of(runs), labels=labels)
    ratio = np.exp(form.harness_["mxnet-docs"] - form.harness_["profet"])
    # Seen on four GPUs only, it is believed by a bit more than half.
    assert 1.1 < ratio < 1.3
    known, unknown = (
        form.predict(runs.X, labels=labels.assign(harness=name)) for name in ("mxnet-docs", "new")
    )
    assert known / unknown == pytest.approx(np.exp(form.harness_["mxnet-docs"]))


def test_harness_constants_need_the_label(few_runs):
    with pytest.raises(InputError, match="label column 'harness'"):
        cf9(harness_constants=True).fit(few_runs.X, few_runs.seconds, groups_of(few_runs))


@pytest.mark.parametrize("harness_constants", [False, True])
def test_the_formula_computes_what_the_estimator_predicts(few_runs, harness_constants):
    asked = {"labels": few_runs.labels[["harness"]]} if harness_constants else {}
    form = cf21(harness_constants).fit(few_runs.X, few_runs.seconds, groups_of(few_runs), **asked)
    by_formula = form.formula_.predict(few_runs.X, asked.get("labels"))
    assert by_formula == pytest.approx(form.predict(few_runs.X, **asked), rel=1e-12)
    assert not any(outside.any() for outside in form.formula_.out_of_range(few_runs.X).values())
    assert len(form.formula_.features) == len(CF21_TERMS) + 2


def test_a_term_that_no_run_has_stays_out_of_the_way(few_runs):
    X = few_runs.X.assign(grouped_conv_compute_s=0.0, depthwise_output_memory_s=0.0)
    form = cf21().fit(X, few_runs.seconds, groups_of(few_runs))
    assert np.isfinite(form.constants_).all()
    assert form.constants_[[t.feature for t in CF21_TERMS].index("grouped_conv_compute_s")] < 10


def test_a_form_with_terms_of_one_kind_works(few_runs):
    memory_only = partial(ClosedForm, [term for term in CF9_TERMS if term.over == "memory"])
    splits = leave_one_group_out(few_runs.labels["generation"])
    result = run_study(few_runs.X, few_runs.seconds, few_runs.labels, splits, {"memory": memory_only})
    formula = result.formulas[splits[0].name, "memory"]
    assert formula.predict(few_runs.X.iloc[splits[0].test]) == pytest.approx(
        result.predicted_s("memory")[: len(splits[0].test)]
    )


def test_the_start_knows_nothing_of_the_held_out_kepler(runs):
    """Without Kepler rows its two exponents must stay at zero: a start at published ones would be a leak."""
    others = (runs.X["wide_sm"] == 0).to_numpy()
    form = cf21().fit(runs.X[others], runs.seconds[others], groups_of(runs)[others])
    assert form.exponents_[1:].tolist() == [0.0, 0.0]
