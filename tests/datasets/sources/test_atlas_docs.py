"""docs/atlas.md states what the shipped tables hold."""

from pathlib import Path

import pytest
from trainlaw.datasets import load
from trainlaw.validate.splits import splits_by_name

DOCS = Path(__file__).parents[3] / "docs"
TEXT = (DOCS / "atlas.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["atlas", "atlas-all", "atlas-multi", "atlas-multi-all"])
def test_sizes_of_the_tables(name):
    assert f"| `{name}` | {len(load(name)):,} |" in TEXT


def test_devices_groups_and_cnns():
    table = load("atlas")
    groups = table.labels()["gpu_group"].nunique()
    assert f"{table.frame['gpu'].nunique()} GPUs in {groups} chip groups" in TEXT
    assert f"{table.frame['cnn'].nunique()} CNNs" in TEXT


def test_every_reason_with_its_counts():
    one, several = (load(name).frame for name in ("atlas-all", "atlas-multi-all"))
    reasons = (set(one["pool_reason"]) | set(several["pool_reason"])) - {"none"}
    for reason in reasons:
        counts = [int((frame["pool_reason"] == reason).sum()) for frame in (one, several)]
        assert f"| {reason} | {counts[0]:,} | {counts[1]:,} |" in TEXT


def test_runs_without_a_commit_by_source_and_gpu():
    one, several = (load(name).frame for name in ("atlas-all", "atlas-multi-all"))
    lost = [frame[frame["source_commit"] == "not recorded"] for frame in (one, several)]
    assert f"{len(lost[0]) + len(lost[1]):,} of the {len(one) + len(several):,} runs" in TEXT
    for source, gpu in {*zip(lost[0]["source"], lost[0]["gpu"], strict=True)}:
        counts = [int(((frame["source"] == source) & (frame["gpu"] == gpu)).sum()) for frame in lost]
        assert f"| {source} | {gpu} | {counts[0]} | {counts[1]} | " in TEXT
    assert set(lost[1]["gpu"]) <= set(lost[0]["gpu"])


def test_errors_of_the_memory_estimate(memory_ratios):
    found = memory_ratios[memory_ratios["data"] == "real"]
    gpus = ("H100-SXM5-80GB", "L40S", "Instinct MI325X")
    rows = {
        "ConvNeXt-L, mixed precision": ("convnext_large", "amp"),
        "ResNet-50, mixed precision, images read from files": ("resnet50", "amp"),
    }
    for title, (cnn, precision) in rows.items():
        part = found[(found["cnn"] == cnn) & (found["precision"] == precision)]
        shown = " | ".join(f"{part[part['gpu'] == gpu]['ratio'].median():.2f}" for gpu in gpus)
        assert f"| {title} | {shown} |" in TEXT


def test_a_line_of_noise_is_current():
    from trainlaw.datasets.measurements.inspection import noise_between_sources

    found = noise_between_sources(load("atlas-all"))
    assert f"{found['configurations'].iloc[0]:,}" in TEXT
    first = found.iloc[0]
    assert f"{100 * first['median']:.1f} %" in TEXT


def test_the_picture_shows_every_gpu():
    picture = (DOCS / "pictures" / "atlas-coverage.svg").read_text(encoding="utf-8")
    for gpu in set(load("atlas").frame["gpu"]):
        assert f">{gpu}</text>" in picture


@pytest.mark.parametrize("scheme", ["gpu", "gpu-5-fold", "cnn", "cnn-family", "generation", "both"])
def test_repeats_of_a_configuration_never_straddle_a_split(scheme):
    table = load("atlas")
    key = ["gpu", "cnn", "input_size_px", "n_classes", "batch_per_gpu", "precision", "layout"]
    configuration = table.frame.groupby(key).ngroup().to_numpy()
    for split in splits_by_name(scheme, table.labels()):
        assert not set(configuration[split.train]) & set(configuration[split.test])


def test_hosts_of_one_source_are_repeats_of_one_harness():
    frame = load("atlas-all").where(source="pytorch-gpu-benchmark-aisensiy").frame
    assert frame["harness"].nunique() == 1
    assert frame["source_path"].str.split("/").str[1].nunique() >= 4
