import numpy as np
import pytest
from trainlaw.app.models.feature_expressions import feature_expression
from trainlaw.datasets import FEATURES, load
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.formulas import UnknownNameError, evaluate, variables


@pytest.fixture(scope="module", params=["default", "multi"])
def columns(request):
    frame = load(request.param).features(tuple(FEATURES))
    return {name: frame[name].to_numpy() for name in frame}


@pytest.mark.parametrize("name", FEATURES)
def test_every_feature_is_an_expression_over_raw_columns(name, columns):
    expression = feature_expression(name)
    assert all(FEATURES[part].is_base for part in variables(expression))
    values, valid = evaluate(expression, {part: columns[part] for part in variables(expression)})
    shape = columns[name].shape
    # The time on one GPU is a measurement, and not every run has it.
    known = np.isfinite(columns[name]) if name == SINGLE_GPU_TIME else np.ones(shape, bool)
    np.testing.assert_array_equal(np.broadcast_to(valid, shape), known)
    np.testing.assert_allclose(np.broadcast_to(values, shape)[known], columns[name][known], rtol=1e-12)


def test_unknown_feature_is_said():
    with pytest.raises(UnknownNameError, match="conv3x3_compute_s"):
        feature_expression("conv3x3_compute")
