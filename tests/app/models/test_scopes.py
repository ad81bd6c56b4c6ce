"""What formulas of each scope are made of, and the functions that handle them."""

from dataclasses import replace

import numpy as np
import pytest
from trainlaw.app.models.builtin import BUILT_IN_FORMULAS
from trainlaw.app.models.scopes import (
    SCOPE_HANDLING,
    Inputs,
    check_predictable,
    check_scope,
    chosen_output,
    feature_expression,
)
from trainlaw.datasets import FEATURES, load
from trainlaw.formulas import SCOPES, InputError, UnknownNameError, evaluate, variables


@pytest.fixture(scope="module", params=["default", "multi"])
def columns(request):
    frame = load(request.param).features(tuple(FEATURES))
    return {name: frame[name].to_numpy() for name in frame}


def test_every_feature_is_an_expression_over_raw_columns(columns, check_each):
    def check(name):
        expression = feature_expression(name)
        assert all(FEATURES[part].is_base for part in variables(expression))
        values, valid = evaluate(expression, {part: columns[part] for part in variables(expression)})
        shape = columns[name].shape
        # Not every run has a measured time on one GPU, and graphics units of processors have no memory size.
        parts = [np.isfinite(columns[part]) for part in variables(expression)]
        known = np.logical_and.reduce([np.ones(shape, bool), *parts])
        np.testing.assert_array_equal(np.broadcast_to(valid, shape), known)
        np.testing.assert_allclose(np.broadcast_to(values, shape)[known], columns[name][known], rtol=1e-12)

    check_each(check, FEATURES)


def test_an_unknown_feature_is_reported():
    with pytest.raises(UnknownNameError, match="conv3x3_compute_s"):
        feature_expression("conv3x3_compute")


def test_each_scope_has_one_row_of_handling():
    assert set(SCOPE_HANDLING) == set(SCOPES)
    assert all(scope.title for scope in SCOPES.values())


def test_an_output_that_a_scope_lacks_is_refused_with_advice(formula):
    layer, own = (replace(formula, scope=scope) for scope in ("layer", "custom"))
    assert chosen_output(own, "page", {Inputs.FEATURES: lambda law: law.scope}) == "custom"
    with pytest.raises(InputError, match=r"no page; export it to \.xlsx"):
        chosen_output(layer, "page", {})


def test_refusals_state_what_the_formula_models_and_what_to_do():
    with pytest.raises(InputError, match="--scaling-formula"):
        check_predictable(BUILT_IN_FORMULAS["multi"]())
    with pytest.raises(InputError, match="predict-from-profile"):
        check_predictable(BUILT_IN_FORMULAS["anchor"]())
    with pytest.raises(InputError, match="mine: expected a formula that models an iteration on one GPU"):
        check_scope(BUILT_IN_FORMULAS["layer"](), "run", origin="mine")
