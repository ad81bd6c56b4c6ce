import numpy as np
import pytest
from trainlaw.datasets import FEATURES, RunTable, configuration, find_cnn_counts, load
from trainlaw.datasets.cnns.zoo import build
from trainlaw.datasets.features.run_features import OF_ANY_RUN, SCALING_FEATURES
from trainlaw.datasets.measurements.runs import LABELS
from trainlaw.datasets.tables.measured_table import frame_sha256


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
    plain = runs.features()
    assert list(plain) == list(OF_ANY_RUN) and plain.notna().all().all()
    assert set(plain) < set(FEATURES) - {row.spec.name for row in SCALING_FEATURES}
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
    assert merged.name == "fp32-2026+fp32-2026"
    assert part.merged(part).frame.duplicated().sum() == len(part)


def test_a_configuration_has_the_features_of_the_run():
    runs = load("fp32-2026").where(gpu="T4", cnn="vgg16_profet", batch_per_gpu=32, input_size_px=128)
    wanted = configuration(
        cnn="vgg16_profet",
        gpu="Tesla T4",
        batch_per_gpu=32,
        input_size_px=128,
        n_classes=100,
        timed_parts="forward+backward+optimizer+copy",
    )
    assert (wanted.features().to_numpy() == runs.features().to_numpy()).all()
    assert np.isnan(wanted.seconds).all()


def test_defaults_are_the_usual_ones():
    frame = configuration(cnn="inception_v3", gpu="T4", batch_per_gpu=1).frame
    assert frame["input_size_px"].item() == 299
    assert frame["n_classes"].item() == 1000
    assert frame[["link", "network", "algorithm"]].iloc[0].tolist() == ["none"] * 3


def test_links_default_to_the_gpus_own():
    run = configuration(cnn="resnet18", gpu="A100-SXM4-40GB", batch_per_gpu=1, n_gpus=8)
    assert run.frame[["link", "algorithm"]].iloc[0].tolist() == ["nvswitch3", "ring"]
    spread = configuration(
        cnn="resnet18", gpu="T4", batch_per_gpu=1, n_gpus=4, n_nodes=4, network="infiniband-edr"
    )
    assert spread.frame[["link", "network"]].iloc[0].tolist() == ["none", "infiniband-edr"]


def test_a_network_of_ones_own_is_counted():
    own = build("resnet18", 64, 7)
    run = configuration(cnn=own, gpu="T4", batch_per_gpu=4)
    assert run.matrix(["params"]).item() == 11_180_103
    assert run.features().shape == (1, len(OF_ANY_RUN))


def test_sizes_outside_the_shipped_table_are_counted_on_the_graph():
    small = configuration(cnn="resnet50", gpu="T4", batch_per_gpu=4, input_size_px=160, n_classes=10)
    large = configuration(cnn="resnet50", gpu="T4", batch_per_gpu=4, input_size_px=320, n_classes=10)
    ratio = (large.matrix(["conv_macs"]) / small.matrix(["conv_macs"])).item()
    assert ratio == pytest.approx(4, rel=0.01)
    assert find_cnn_counts("resnet50", 160, 10).counts["params"] == 25557032 - 990 * 2049


@pytest.mark.parametrize(
    ("gpu", "link", "expected"),
    [
        ("V100-DGXS-16GB", None, "nvlink2-x3"),
        ("V100-DGXS-16GB", " NVLink2", "nvlink2-x3"),
        ("V100-DGXS-16GB", "nvlink2-x6", "nvlink2-x6"),
        ("V100-DGXS-16GB", "pcie4-x16", "pcie4-x16"),
        ("Instinct MI250", "infinity-fabric2", "infinity-fabric2-x3"),
        # A link by its whole name, though the GPU's own begins with it.
        ("A30", "nvlink3-bridge", "nvlink3-bridge"),
    ],
)
def test_a_short_name_of_a_link_means_that_of_the_gpu(gpu, link, expected):
    run = configuration(cnn="vgg16", gpu=gpu, batch_per_gpu=8, n_gpus=2, link=link)
    assert run.frame["link"].tolist() == [expected]
