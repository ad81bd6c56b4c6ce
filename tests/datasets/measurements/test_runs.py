import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.datasets import FEATURES, RunTable, load
from trainlaw.datasets.features.scaling_features import SCALING_FEATURES
from trainlaw.datasets.measurements.runs import LABELS
from trainlaw.datasets.tables.measured_table import frame_sha256
from trainlaw.formulas.errors import InputError, UnknownNameError


@pytest.fixture(scope="module")
def runs():
    return load("default")


def test_a_table_cannot_be_changed_from_outside(runs):
    before = runs.sha256
    frame = runs.frame
    frame["time_s"] = 0.0
    seconds = runs.seconds
    seconds[:] = 0.0
    mine = RunTable("mine", frame)
    frame.loc[:, "gpu"] = "T4"
    assert runs.seconds.min() > 0
    assert set(mine.frame["gpu"]) != {"T4"}
    assert RunTable("again", runs.frame).sha256 == before
    with pytest.raises(AttributeError):
        runs.name = "other"


def test_identity_follows_values_names_and_order(runs):
    frame = runs.frame
    assert RunTable("copy", frame) == runs
    assert hash(RunTable("copy", frame)) == hash(runs)
    changed = frame.assign(time_s=np.nextafter(frame["time_s"], 1))
    texts = frame.assign(harness=frame["harness"].where(frame.index > 0, "other"))
    tables = [changed, texts, frame.iloc[::-1], frame.rename(columns={"pool": "pooled"})]
    assert len({runs.sha256, *(RunTable("other", table).sha256 for table in tables)}) == 5


def test_identity_ignores_optional_columns_at_their_defaults(runs):
    frame = runs.frame
    first = frame[list(frame)[: list(frame).index("pool_reason")]]
    assert runs.sha256 == RunTable("first", first).sha256 == frame_sha256(first)
    assert RunTable("other", frame.assign(layout="nchw")).sha256 != runs.sha256
    memory = frame["memory_bytes"].where(frame.index > 0, 1e9)
    assert RunTable("other", frame.assign(memory_bytes=memory)).sha256 != runs.sha256


def test_identity_is_the_same_in_another_process(runs):
    assert pickle.loads(pickle.dumps(runs)).sha256 == runs.sha256


def test_identity_does_not_depend_on_how_texts_are_held(runs):
    held_otherwise = runs.frame.astype({"gpu": object, "cnn": "category"})
    assert RunTable("again", held_otherwise).sha256 == runs.sha256


@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_where_keeps_the_masked_rows_in_order(seed, share):
    runs = load("default")
    mask = np.random.default_rng(seed).random(1730) < share
    chosen = runs.where(mask)
    assert len(chosen) == mask.sum()
    assert (chosen.seconds == runs.seconds[mask]).all()


def test_where_takes_values_and_lists(runs):
    both = runs.where(gpu=["T4", "K80"], cnn="resnet50_preact")
    assert set(both.frame["gpu"]) == {"T4", "K80"}
    assert set(both.frame["cnn"]) == {"resnet50_preact"}
    assert len(runs.where()) == len(runs)
    assert len(runs.where(gpu="no such gpu")) == 0


@pytest.mark.parametrize("mask", [[True], np.ones(3, bool), np.ones(1730), np.ones((1730, 1), bool)])
def test_bad_masks_are_refused(runs, mask):
    with pytest.raises(InputError, match="bool mask"):
        runs.where(mask)


def test_unknown_columns_are_refused(runs):
    with pytest.raises(UnknownNameError, match="gpu"):
        runs.where(gpus="T4")


def test_features_come_in_the_order_asked(runs):
    names = ["macs", "batch_per_gpu", "conv_compute_s"]
    assert list(runs.features(names)) == names
    assert runs.matrix(names).shape == (1730, 3)
    assert (runs.matrix(names) == runs.features()[names].to_numpy()).all()
    assert runs.features().shape == (1730, len(FEATURES) - len(SCALING_FEATURES))
    assert runs.features([]).shape == (1730, 0)


def test_labels_are_texts_of_each_run(runs):
    labels = runs.labels()
    assert tuple(labels) == LABELS
    assert labels["gpu_group"].nunique() == 17
    assert labels["gpu"].nunique() == 25
    assert labels["cnn_base"].nunique() == 28
    assert labels["harness"].nunique() == 18
    assert labels.map(lambda text: isinstance(text, str) and text != "").all().all()


def test_merge_keeps_all_rows_and_gpus(runs):
    part, rest = runs.where(source="profet"), runs.where(runs.frame["source"].to_numpy() != "profet")
    merged = part.merged(rest)
    assert len(merged) == len(runs)
    assert merged.seconds.sum() == pytest.approx(runs.seconds.sum())
    assert merged.name == "default+default"
    assert part.merged(part).frame.duplicated().sum() == len(part)


def test_a_run_of_an_unknown_gpu_or_network_is_told(runs):
    frame = runs.frame.iloc[:2]
    with pytest.raises(UnknownNameError, match="unknown GPU 'T5'"):
        RunTable("bad", frame.assign(gpu="T5")).features(["macs"])
    with pytest.raises(UnknownNameError, match="unknown CNN 'resnet51'"):
        RunTable("bad", frame.assign(cnn="resnet51")).features(["macs"])
    with pytest.raises(UnknownNameError, match="unknown precision 'fp31'"):
        RunTable("bad", frame.assign(precision="fp31")).features(["peak_flop_per_s"])
    with pytest.raises(UnknownNameError, match="unknown algorithm 'rings'"):
        RunTable("bad", frame.assign(algorithm="rings")).features(["communication_s"])
