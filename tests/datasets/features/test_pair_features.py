import numpy as np
import pytest
from trainlaw.datasets import PAIR_FEATURES, feature_specs, load
from trainlaw.datasets.features.pair_features import OPERATION_FEATURES
from trainlaw.formulas.errors import UnknownNameError


@pytest.fixture(scope="module")
def pairs():
    return load("profet-pairs").where(cnn="resnet50_preact", input_size_px=224)


def test_features_are_those_of_profile_target_and_anchor(pairs):
    X = pairs.features(["conv_forward_s", "peak_flop_per_s", "anchor_peak_flop_per_s", "anchor_time_s"])
    assert (X["anchor_peak_flop_per_s"] == pairs.anchor_runs().features()["peak_flop_per_s"]).all()
    assert (X["peak_flop_per_s"] == pairs.target_runs().features()["peak_flop_per_s"]).all()
    assert (X["anchor_time_s"] == pairs.frame["anchor_time_s"]).all()
    both = pairs.frame[["device_Conv2D_s", "device__FusedConv2D_s"]].sum(axis=1)
    assert np.allclose(X["conv_forward_s"], both)


def test_all_features_are_finite_and_named_once(pairs):
    X = pairs.features()
    assert list(X) == list(PAIR_FEATURES) and len(set(X)) == X.shape[1]
    assert np.isfinite(X.to_numpy()).all()
    assert set(OPERATION_FEATURES) < set(X)


def test_definitions_say_what_is_computed(pairs):
    X = pairs.features()
    by_group = X[[name for name in OPERATION_FEATURES if name != "on_host_s"]].sum(axis=1)
    assert np.allclose(X["profiled_s"], by_group)
    assert np.allclose(X["unprofiled_s"], np.maximum(X["anchor_time_s"] - X["profiled_s"], 0))


def test_labels_name_the_pair(pairs):
    labels = pairs.labels()
    assert len(set(labels["pair"])) == 12
    assert (labels["anchor_group"] != labels["gpu_group"]).all()


def test_units_are_seconds_and_unknown_names_are_refused(pairs):
    assert all(str(spec.unit) == "s" for spec in feature_specs(OPERATION_FEATURES, PAIR_FEATURES))
    with pytest.raises(UnknownNameError, match="conv_forward_s"):
        pairs.features(["conv_forwards_s"])
