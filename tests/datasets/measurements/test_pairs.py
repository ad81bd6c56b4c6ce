import numpy as np
import pytest
from trainlaw.datasets import LAYER_FEATURES, load


def test_pairs_join_every_anchor_with_every_other_gpu():
    pairs = load("profet-pairs")
    frame = pairs.frame
    assert (frame["anchor_gpu"] != frame["target_gpu"]).all()
    assert frame.groupby(["anchor_gpu", "target_gpu"]).size().tolist() == [307] * 12
    assert not frame.duplicated(["anchor_gpu", "target_gpu", "cnn", "input_size_px", "batch_per_gpu"]).any()


def test_times_of_a_pair_belong_to_its_gpus():
    pairs = load("profet-pairs").where(cnn="lenet5", batch_per_gpu=32, input_size_px=64)
    frame = pairs.frame
    of_gpu = {row.anchor_gpu: row.anchor_time_s for row in frame.itertuples()}
    assert [of_gpu[gpu] for gpu in frame["target_gpu"]] == frame["time_s"].tolist()


def test_profiles_are_seconds_of_one_step():
    pairs = load("profet-pairs")
    profile = pairs.frame[list(pairs.operations)]
    assert profile.shape == (3684, 65)
    assert (profile >= 0).all().all()
    device = profile.filter(like="device_").drop(columns="device_IDLE_s").sum(axis=1)
    # The profiled step is the timed one, up to the profiler's own cost.
    ratio = np.median(device / pairs.frame["anchor_time_s"])
    assert 0.5 < ratio < 1.5


def test_pairs_give_the_runs_of_both_sides():
    pairs = load("profet-pairs")
    target, anchor = pairs.target_runs(), pairs.anchor_runs()
    assert (target.seconds == pairs.seconds).all()
    assert (target.labels()["gpu"] == pairs.frame["target_gpu"]).all()
    assert (anchor.labels()["gpu"] == pairs.frame["anchor_gpu"]).all()
    assert list(target.features()) == list(load("fp32-2026").features())
    assert (target.matrix(["has_input_copy", "has_optimizer"]) == 1).all()


@pytest.mark.parametrize("name", ["cde-layers", "neusight-layers"])
def test_layer_features_are_finite_and_in_range(name):
    features = load(name).features()
    assert list(features) == list(LAYER_FEATURES)
    for column in features:
        spec = LAYER_FEATURES[column].spec
        assert features[column].between(spec.low, spec.high).all(), column


def test_layers_have_labels_and_parts():
    layers = load("cde-layers").where(gpu="K80", kind="conv", phase="forward")
    assert len(layers) == 2500
    assert set(layers.labels()["generation"]) == {"Kepler 2.0"}
    assert (layers.features(["wide_sm", "is_conv", "n_passes"]).to_numpy() == [1, 1, 1]).all()
