"""Spreadsheets as different people keep them: each is imported right, after one failed command at most."""

import csv
import io
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from trainlaw.app.cli import app
from trainlaw.app.inputs.tables import read_runs
from trainlaw.app.models.plausibility import law_seconds
from trainlaw.datasets import RunTable, built_in_gpus
from trainlaw.datasets.measurements.importing import runs_from_frame
from typer.testing import CliRunner

openpyxl = pytest.importorskip("openpyxl")

CONFIGURATIONS = [
    (gpu, cnn, batch, precision, 1)
    for gpu in ("T4", "V100-SXM2-16GB", "RTX 3090")
    for cnn in ("resnet50", "vgg16", "mobilenet_v2")
    for batch in (16, 64)
    for precision in ("fp32", "amp")
]
SEVERAL = [("V100-SXM2-16GB", cnn, 32, "amp", n) for cnn in ("resnet50", "vgg16") for n in (1, 2, 4, 8)]
NAMES = {
    "T4": "Tesla T4", "V100-SXM2-16GB": "Tesla V100-SXM2-16GB", "RTX 3090": "NVIDIA GeForce RTX 3090",
    "resnet50": "ResNet-50", "vgg16": "VGG 16", "mobilenet_v2": "MobileNetV2",
}  # fmt: skip


def with_times(configurations) -> pd.DataFrame:
    columns = ["gpu", "cnn", "batch_per_gpu", "precision", "n_gpus"]
    frame = pd.DataFrame(configurations, columns=columns)
    several = frame["n_gpus"] > 1
    linked = frame.assign(
        time_s=1.0,
        link=np.where(several, "nvlink2-x6", "none"),
        algorithm=np.where(several, "ring", "none"),
    )
    law = law_seconds(runs_from_frame(linked, "truth", built_in_gpus()))
    noise = np.exp(np.random.default_rng(0).normal(0.0, 0.2, len(frame)))
    return frame.assign(
        time_s=[float(f"{value:.6g}") for value in law * noise],
        images_s=lambda t: t["batch_per_gpu"] * t["n_gpus"] / t["time_s"],
    )


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    return with_times(CONFIGURATIONS)


@pytest.fixture(scope="module")
def amp(runs) -> pd.DataFrame:
    return runs[runs["precision"] == "amp"].reset_index(drop=True)


@pytest.fixture(scope="module")
def several() -> pd.DataFrame:
    return with_times(SEVERAL)


def text(rows, separator=",") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator="\n").writerows(rows)
    return out.getvalue()


def comma(value, digits=3) -> str:
    return f"{value:,.{digits}f}".translate(str.maketrans(",.", ".,"))


def book(path, **sheets):
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, (rows, merged) in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
        for area in merged:
            sheet.merge_cells(area)
    made.save(path)


def run(*arguments):
    return CliRunner().invoke(app, ["data", "import", *map(str, arguments)])


def imported(path, answers=()) -> tuple[RunTable, str]:
    """Import as a user would: run, read what is asked, run the printed command with the choices filled in."""
    first = run(path, "--to", path.with_name("out.csv"))
    said = first.stdout + first.stderr
    if first.exit_code == 0:
        return read_runs(path.with_name("out.csv")), said
    assert first.exit_code == 2, first.output
    assert len(first.stderr.splitlines()) == 1
    command = shlex.split(first.stderr.partition("trainlaw data import ")[2])
    for choice in answers:
        place = next(number for number, word in enumerate(command) if word.endswith("CHOICE"))
        command[place] = command[place].replace("CHOICE", choice)
    second = run(*command)
    assert second.exit_code == 0, (command, second.output)
    return read_runs(path.with_name("out.csv")), said


def assert_same(table, truth, columns=("gpu", "cnn", "batch_per_gpu", "precision", "n_gpus"), precise=1e-3):
    columns = list(columns)
    assert table.frame[columns].to_numpy().tolist() == truth[columns].to_numpy().tolist()
    np.testing.assert_allclose(table.seconds, truth["time_s"], rtol=precise)


def test_csv_with_milliseconds(tmp_path, amp):
    rows = [["GPU", "Model", "Batch Size", "Time (ms)"]]
    rows += [
        [NAMES[r.gpu], NAMES[r.cnn], r.batch_per_gpu, f"{1000 * r.time_s:.4f}"] for r in amp.itertuples()
    ]
    (tmp_path / "runs.csv").write_text(text(rows))
    table, said = imported(tmp_path / "runs.csv", ["amp"])
    assert_same(table, amp)
    assert "--precision fp32 | --precision tf32" in said


def test_throughput_with_booleans_for_mixed_precision(tmp_path, runs):
    rows = [["device", "arch", "bs", "use_amp", "Images/s", "GPU util %", "loss"]]
    rows += [
        [NAMES[r.gpu], r.cnn, r.batch_per_gpu, r.precision == "amp", round(r.images_s, 2), 97, 6.9]
        for r in runs.itertuples()
    ]
    (tmp_path / "runs.csv").write_text(text(rows))
    table, _ = imported(tmp_path / "runs.csv")
    # Without mixed precision PyTorch uses tf32 on this one of the GPUs.
    truth = runs.assign(
        precision=runs["precision"].where((runs["gpu"] != "RTX 3090") | (runs["precision"] == "amp"), "tf32")
    )
    assert_same(table, truth)


def test_german_excel_with_semicolons_and_decimal_commas(tmp_path, runs):
    rows = [["Grafikkarte", "Modell", "Batchgröße", "Genauigkeit", "Zeit pro Iteration (ms)", "Bemerkung"]]
    rows += [
        [NAMES[r.gpu], NAMES[r.cnn], r.batch_per_gpu, r.precision.upper(), comma(1000 * r.time_s), "ok"]
        for r in runs.itertuples()
    ]
    (tmp_path / "Messung.csv").write_bytes(text(rows, ";").replace("\n", "\r\n").encode("cp1252"))
    table, said = imported(tmp_path / "Messung.csv")
    assert_same(table, runs)
    assert "not read: Bemerkung" in said


def test_workbook_with_merged_headers_and_notes(tmp_path, runs):
    rows = [
        ["Setup", None, None, None, None, "Results", None],
        ["GPU", "Model", None, "Batch", "Precision", "Time [ms]", "Std [ms]"],
        *(
            [NAMES[r.gpu], r.cnn, "x", r.batch_per_gpu, r.precision, 1000 * r.time_s, 0.1]
            for r in runs.itertuples()
        ),
        [],
        ["All runs with driver 470."],
    ]
    book(tmp_path / "runs.xlsx", Tabelle1=(rows, ["A1:E1", "F1:G1"]), Info=([["written by me"]], []))
    table, said = imported(tmp_path / "runs.xlsx")
    assert_same(table, runs)
    assert "column C" in said and "row 28 not read: a note" in re.sub(r"row \d+", "row 28", said)


def test_workbook_with_a_title_block_and_a_line_of_units(tmp_path, amp):
    rows = [
        ["Training benchmark of our lab"], ["mixed precision, PyTorch 1.12"], [],
        ["Nr", "GPU", "Network", "Batch", "Step time", "Date"], [None, None, None, "images", "ms", None],
        *(
            [place, NAMES[r.gpu], NAMES[r.cnn], r.batch_per_gpu, 1000 * r.time_s, pd.Timestamp(2022, 5, 3)]
            for place, r in enumerate(amp.itertuples(), start=1)
        ),
    ]  # fmt: skip
    book(tmp_path / "lab.xlsx", Sheet1=(rows, ["A1:F1"]))
    table, _ = imported(tmp_path / "lab.xlsx")
    assert_same(table, amp)
    assert set(table.frame["bench_year"]) == {2022}


def test_results_in_the_style_of_mlperf(tmp_path, several):
    rows = [
        [
            "Submitter",
            "System",
            "Accelerator",
            "# Accelerators",
            "Benchmark",
            "Global batch size",
            "Precision",
            "Throughput (samples/s)",
        ]
    ]
    rows += [
        [
            "Us",
            "dgx1_x",
            NAMES[r.gpu],
            r.n_gpus,
            "ResNet-50 v1.5" if r.cnn == "resnet50" else "vgg16",
            r.batch_per_gpu * r.n_gpus,
            "mixed",
            round(r.images_s, 1),
        ]
        for r in several.itertuples()
    ]
    (tmp_path / "mlperf.csv").write_text(text(rows))
    table, said = imported(tmp_path / "mlperf.csv", ["images/s/total"])
    assert_same(table, several)
    assert "throughput of all together or of each GPU" in said


def test_tabs_of_a_shell_script(tmp_path, amp):
    lines = ["# started Mon 3 May 10:00:01", "#gpu\tnet\tbs\tmode\tmsec"]
    lines += [f"{r.gpu}\t{r.cnn}\t{r.batch_per_gpu}\ttrain\t{1000 * r.time_s:.3f}" for r in amp.itertuples()]
    lines.insert(6, lines[1])
    lines.append("V100-SXM2-16GB\tvgg16\t512\ttrain\tOOM")
    (tmp_path / "log.tsv").write_text("\n".join(lines) + "\n")
    table, said = imported(tmp_path / "log.tsv", ["amp"])
    assert_same(table, amp)
    assert "--skip-unmeasured" in said


def test_excels_export_in_utf_16(tmp_path, runs):
    rows = [["GPU Name", "Model", "Batch", "FP16", "Throughput"]]
    rows += [
        [
            f"{NAMES[r.gpu]}",
            NAMES[r.cnn],
            r.batch_per_gpu,
            "Yes" if r.precision == "amp" else "No",
            comma(r.images_s, 1),
        ]
        for r in runs.itertuples()
    ]
    (tmp_path / "export.txt").write_bytes(text(rows, "\t").encode("utf-16"))
    table, said = imported(tmp_path / "export.txt")
    assert "the built-in formula says images/s" in said
    precision = runs["precision"]
    truth = runs.assign(precision=precision.where((runs["gpu"] != "RTX 3090") | (precision == "amp"), "tf32"))
    assert_same(table, truth)


def test_one_row_per_number_of_gpus(tmp_path, several):
    rows = [["gpu", "model", "batch_size", "num_gpus", "dtype", "step time (s)"]]
    rows += [
        ["V100 SXM2 16 GB", r.cnn, r.batch_per_gpu * r.n_gpus, r.n_gpus, "AMP", r.time_s]
        for r in several.itertuples()
    ]
    (tmp_path / "scaling.csv").write_text(text(rows))
    table, said = imported(tmp_path / "scaling.csv")
    assert_same(table, several)
    assert "assumed for several GPUs" in said and "the batch is that of all GPUs together" in said


def test_a_wide_table_with_a_column_per_gpu(tmp_path, amp):
    wide = amp.pivot(index=["cnn", "batch_per_gpu"], columns="gpu", values="images_s").reset_index()
    rows = [["model", "batch", "T4", "V100 (16GB)", "3090"]]
    rows += [
        [
            r["cnn"],
            r["batch_per_gpu"],
            round(r["T4"], 1),
            round(r["V100-SXM2-16GB"], 1),
            round(r["RTX 3090"], 1),
        ]
        for _, r in wide.iterrows()
    ]
    (tmp_path / "wide.csv").write_text(text(rows))
    table, said = imported(tmp_path / "wide.csv", ["amp", "V100-SXM2-16GB"])
    order = ["gpu", "cnn", "batch_per_gpu"]
    found = RunTable("sorted", table.frame.sort_values(order).reset_index(drop=True), table.facts)
    assert_same(found, amp.sort_values(order).reset_index(drop=True))
    assert "became rows" in said and "the built-in formula says images/s" in said


def test_names_as_nvidia_smi_prints_them(tmp_path, amp):
    memory = {"T4": 15360, "V100-SXM2-16GB": 16384, "RTX 3090": 24576}
    rows = [["GPU", "CNN", "batch/GPU", "# GPUs", "precision", "s/it", "img_size"]]
    rows += [
        [
            f"GPU 0: {NAMES[r.gpu]}, {memory[r.gpu]} MiB",
            NAMES[r.cnn],
            r.batch_per_gpu,
            1,
            "16-mixed",
            r.time_s,
            "224x224",
        ]
        for r in amp.itertuples()
    ]
    (tmp_path / "smi.csv").write_text(text(rows))
    table, _ = imported(tmp_path / "smi.csv")
    assert_same(table, amp)


def test_results_of_timm(tmp_path, amp):
    own = amp[(amp["gpu"] == "RTX 3090")].reset_index(drop=True)
    rows = [
        [
            "model",
            "train_samples_per_sec",
            "train_step_time",
            "train_batch_size",
            "train_img_size",
            "param_count",
        ]
    ]
    rows += [
        [
            f"{r.cnn}.tv_in1k" if r.cnn == "resnet50" else r.cnn,
            round(r.images_s, 2),
            round(1000 * r.time_s, 3),
            r.batch_per_gpu,
            224,
            25.6,
        ]
        for r in own.itertuples()
    ]
    path = tmp_path / "benchmark-train-amp-nhwc-pt112-cu113-rtx3090.csv"
    path.write_text(text(rows))
    table, said = imported(path)
    assert "gpu=RTX 3090" in said
    assert_same(table, own.assign(cnn=own["cnn"].replace({"resnet50": "timm/resnet50"})))


@pytest.mark.parametrize(
    ("answer", "is_terminal", "expected"), [("y", True, True), ("", True, False), ("y", False, False)]
)
def test_columns_are_confirmed_on_a_terminal_only(monkeypatch, answer, is_terminal, expected):
    from trainlaw.app.terminal.spreadsheets import confirmed

    monkeypatch.setattr("builtins.input", lambda _: answer)
    monkeypatch.setattr("sys.stdin.isatty", lambda: is_terminal)
    assert confirmed() is expected
