"""What formulas of each scope are made of, and the functions that handle them."""

from dataclasses import replace

import numpy as np
import pytest
from trainlaw.app.models.multi_gpu import formula_of_choices
from trainlaw.app.models.scopes import SCOPE_HANDLING, feature_expression
from trainlaw.datasets import FEATURES, load
from trainlaw.formulas import SCOPES, InputError, evaluate, variables

from ...rows import each_row


@pytest.fixture(scope="module", params=["default", "multi"])
def columns(request):
    frame = load(request.param).features(tuple(FEATURES))
    return {name: frame[name].to_numpy() for name in frame}


@each_row("name", FEATURES)
def test_every_feature_is_an_expression_over_raw_columns(columns, name):
    expression = feature_expression(name)
    assert all(FEATURES[part].is_base for part in variables(expression))
    values, valid = evaluate(expression, {part: columns[part] for part in variables(expression)})
    shape = columns[name].shape
    # Not every run has a measured time on one GPU, and graphics units of processors have no memory size.
    parts = [np.isfinite(columns[part]) for part in variables(expression)]
    known = np.logical_and.reduce([np.ones(shape, bool), *parts])
    np.testing.assert_array_equal(np.broadcast_to(valid, shape), known)
    np.testing.assert_allclose(np.broadcast_to(values, shape)[known], columns[name][known], rtol=1e-12)


def test_each_scope_has_one_row_of_handling():
    assert set(SCOPE_HANDLING) == set(SCOPES)
    assert all(scope.title for scope in SCOPES.values())


def test_an_output_that_a_scope_lacks_is_refused_with_advice(formula):
    with pytest.raises(InputError, match=r"no page; export it to \.py"):
        formula_of_choices(replace(formula, scope="layer"), "page")
