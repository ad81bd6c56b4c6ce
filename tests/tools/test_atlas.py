from tools import atlas as conversion


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
    assert written.decode().startswith("gpu,cnn,")
