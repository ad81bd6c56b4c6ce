import numpy as np
import pytest
from trainlaw.app.feature_expressions import feature_expression
from trainlaw.datasets import FEATURES, STUDY_FEATURES, gpu_table, load
from trainlaw.datasets.cnn_facts import COUNT_COLUMNS
from trainlaw.formulas import InputError, UnknownNameError, evaluate, variables

RAW = {
    *COUNT_COLUMNS,
    *gpu_table().columns,
    *("peak_flop_per_s", "bytes_per_element", "is_tensor_precision"),
    *("batch_per_gpu", "has_optimizer", "has_input_copy"),
}


@pytest.fixture(scope="module")
def columns():
    frame = load("default").features()
    return {name: frame[name].to_numpy() for name in frame}


def form(name):
    try:
        return feature_expression(name)
    except InputError:
        return None


WRITTEN = {name: form(name) for name in sorted(FEATURES)}
ON_ONE_GPU = [
    name for name, expression in WRITTEN.items() if expression and set(variables(expression)) <= RAW
]


@pytest.mark.parametrize("name", ON_ONE_GPU)
def test_expression_computes_what_the_feature_table_computes(name, columns):
    values, valid = evaluate(WRITTEN[name], columns)
    assert valid.all()
    np.testing.assert_allclose(np.broadcast_to(values, columns[name].shape), columns[name], rtol=1e-12)


def test_only_features_of_several_gpus_have_no_form():
    """`ceil` and a choice among algorithms are no operators; a study of one GPU does not need them."""
    assert {name for name, expression in WRITTEN.items() if expression is None} <= {
        "tree_s", "butterfly_s", "communication_s"
    }  # fmt: skip


@pytest.mark.parametrize("name", STUDY_FEATURES)
def test_features_of_a_study_need_raw_columns_only(name):
    assert name in ON_ONE_GPU


def test_unknown_feature_is_said():
    with pytest.raises(UnknownNameError, match="conv3x3_compute_s"):
        feature_expression("conv3x3_compute")
