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
from trainlaw.datasets import FEATURES, LAYER_FEATURES, PAIR_FEATURES, load
from trainlaw.datasets.features.feature import features_of
from trainlaw.datasets.features.pair_features import PROFILE_FEATURES
from trainlaw.datasets.features.scaling_features import SCALING_FEATURES, SINGLE_GPU_TIME
from trainlaw.formulas import SCOPES, Formula, InputError, UnknownNameError, evaluate, scopes, variables


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
        partly_known = name in (SINGLE_GPU_TIME, "memory_bytes")
        known = np.isfinite(columns[name]) if partly_known else np.ones(shape, bool)
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


@pytest.mark.parametrize("name", BUILT_IN_FORMULAS)
def test_scopes_of_built_in_formulas_are_those_of_files_without_the_field(name):
    formula = BUILT_IN_FORMULAS[name]()
    plain = formula.to_json()
    scope = plain.pop("scope")
    if scope == "layer":
        plain["summed_over"] = "layer"
    assert Formula.from_json(plain).scope == scope == formula.scope


def test_the_rule_for_files_without_the_field_knows_all_features_that_decide():
    rows = features_of("link", "communication").values()
    of_several = {"n_gpus", "n_nodes", "gpus_per_node", *(row.spec.name for row in rows)}
    # Files without the field are older than the features of buckets, replicas and servers.
    assert of_several - {"gradient_bytes"} <= scopes._MULTI_GPU_RUN_MARKERS
    assert scopes._MULTI_GPU_MARKERS <= {row.spec.name for row in SCALING_FEATURES}
    assert set(PROFILE_FEATURES) == scopes._PAIR_MARKERS | {"anchor_time_s"}
    for marker in scopes._MEASURED_LAYER_MARKERS:
        assert marker in LAYER_FEATURES and marker not in FEATURES and marker not in PAIR_FEATURES


def test_a_sum_over_anything_but_layers_is_refused(formula):
    plain = formula.to_json()
    del plain["scope"]
    with pytest.raises(InputError, match="every layer"):
        Formula.from_json({**plain, "summed_over": "kernel"})
    with pytest.raises(UnknownNameError, match="layer"):
        Formula.from_json({**plain, "scope": "layers"})


def test_refusals_state_what_the_formula_models_and_what_to_do():
    with pytest.raises(InputError, match="--scaling-formula"):
        check_predictable(BUILT_IN_FORMULAS["multi"]())
    with pytest.raises(InputError, match="predict-from-profile"):
        check_predictable(BUILT_IN_FORMULAS["anchor"]())
    with pytest.raises(InputError, match="mine: expected a formula that models an iteration on one GPU"):
        check_scope(BUILT_IN_FORMULAS["layer"](), "run", origin="mine")
