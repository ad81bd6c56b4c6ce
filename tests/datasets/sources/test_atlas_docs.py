"""docs/atlas.md states what the shipped tables hold."""

import gzip
from pathlib import Path

import pytest
from trainlaw.datasets import load
from trainlaw.datasets.sources import atlas_conversion as conversion
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


@pytest.mark.slow
def test_a_line_of_noise_is_current():
    from trainlaw.datasets.measurements.inspection import noise_between_sources

    found = noise_between_sources(load("atlas-all"))
    assert f"{found['configurations'].iloc[0]:,}" in TEXT
    first = found.iloc[0]
    assert f"{100 * first['median']:.1f} %" in TEXT


def test_the_picture_shows_every_gpu():
    picture = (DOCS / "atlas-coverage.svg").read_text(encoding="utf-8")
    for gpu in set(load("atlas").frame["gpu"]):
        assert f">{gpu}</text>" in picture


def row(**cells):
    plain = {
        "n_gpus": "1", "n_nodes": "1", "gpu": "T4", "cnn": "resnet50", "input_size_px": "224",
        "batch_per_gpu": "8", "precision_stated": "fp32", "precision": "fp32", "framework": "pytorch",
        "framework_version": "", "timed_parts": "fwd+bwd", "time_s": "0.1",
        "source_commit": "abc (run 2019-03-25)",
        "source_path": "somewhere", "licence": "MIT", "bench_year": "", "layout": "nchw", "compile": "no",
        "trust": "", "note": "",
    }  # fmt: skip
    return {**plain, **cells}


def test_a_row_of_a_source_is_read_into_the_schema():
    found = conversion._atlas_row("milabench-scaling", row(
        note="resnet50: median of 2 observations (70-90 images/s), 1000 MiB; JPEG loader", trust="low"
    ))  # fmt: skip
    assert found["memory_bytes"] == 1000 * 2**20
    assert (found["n_repeats"], found["time_min_s"], found["time_max_s"]) == (2, 8 / 90, 8 / 70)
    assert found["pool_reason"] == conversion.LOADER_BOUND
    assert (found["compilation"], found["timed_parts"], found["data"]) == (
        "eager",
        "forward+backward",
        "real",
    )
    assert (found["source_commit"], found["bench_year"]) == ("abc", 2019.0)


def test_tf_cnn_benchmarks_has_networks_of_its_own_names():
    found = conversion._atlas_row("nd-tensorflow-benchmark", row(cnn="alexnet", compile="xla"))
    assert (found["cnn"], found["n_classes"], found["compilation"]) == ("alexnet_tf", 1001, "xla")


def test_one_figure_in_two_sources_is_kept_once_and_names_both():
    rows = [
        {"gpu": "T4", "cnn": "a", "input_size_px": 224, "batch_per_gpu": 8, "n_gpus": 1, "n_nodes": 1,
         "precision": "fp32", "layout": "nchw", "framework": "pytorch", "framework_version": version,
         "source": source, "source_path": source, "time_s": time}
        for source, time, version in (
            ("one", 0.1, "1.0"), ("two", 0.10005, "unknown"), ("two", 0.11, "1.0"), ("one", 0.1, "1.0"),
            ("three", 0.1, "2.0"),
        )
    ]  # fmt: skip
    kept = conversion._without_duplicates(conversion._frame(iter(rows)))
    # Equal times of one source are repeats, and another version of the framework is another measurement.
    assert kept["source"].tolist() == ["one", "two", "one", "three"]
    assert kept["source_path"].tolist()[0] == "one; also two"


def test_tables_are_the_same_bytes_each_time(tmp_path):
    rows = conversion._frame(iter([{"gpu": "T4", "cnn": "a", "batch_per_gpu": 1, "time_s": 0.1}]))
    written = conversion._written(rows)
    assert written == conversion._written(rows)
    assert gzip.decompress(written).decode().startswith("gpu,cnn,")


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
