import pytest
from trainlaw.datasets import FEATURES, RunTable, load
from trainlaw.datasets.features.scaling_features import SCALING_FEATURES
from trainlaw.datasets.measurements.runs import LABELS
from trainlaw.datasets.tables.measured_table import frame_sha256
from trainlaw.formulas.errors import UnknownNameError


@pytest.fixture(scope="module")
def runs():
    return load("default")


def test_identity_ignores_optional_columns_at_their_defaults(runs):
    frame = runs.frame
    first = frame[list(frame)[: list(frame).index("pool_reason")]]
    assert runs.sha256 == RunTable("first", first).sha256 == frame_sha256(first)
    assert RunTable("other", frame.assign(layout="nchw")).sha256 != runs.sha256
    memory = frame["memory_bytes"].where(frame.index > 0, 1e9)
    assert RunTable("other", frame.assign(memory_bytes=memory)).sha256 != runs.sha256


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
