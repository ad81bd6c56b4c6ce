"""Convert forward passes and later training runs into shipped tables: `python -m tools.later_runs FOLDER`.

FOLDER holds `forward/timm_forward.csv.gz`, `atlas/pytorch-ci-a100.csv.gz` and `atlas/milabench-runs.csv.gz`.
The forward passes are those of timm's benchmark whose CNN is shipped; how many are left out, and why, is
printed. The training runs stay outside the default table, whose figures they would change.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from trainlaw.datasets.cnns.catalog import CnnCounts, find_cnn_counts
from trainlaw.datasets.cnns.names import cnn_name
from trainlaw.datasets.hardware.gpus import find_gpu
from trainlaw.formulas.errors import TrainlawError, UnknownNameError

from tools.atlas import Row, _frame, _table
from tools.checksums import write_data_files
from tools.own_runs import packed_runs
from tools.timm_models import MERGED

FORWARD_FILE, COMPILED_FILE = "forward.csv.xz", "compiled.csv.xz"
# Years in which these versions of PyTorch were released.
_YEARS = {"1.13": 2022.0, "2.1.0": 2023.0, "2.4.0": 2024.0, "2.9.1": 2025.0}
# Networks of torchbench by its names.
_TORCHBENCH = {
    "timm_efficientnet": "timm/mixnet_m",
    "timm_nfnet": "timm/dm_nfnet_f0",
    "timm_regnet": "timm/regnety_120",
    "timm_resnest": "timm/resnest14d",
    "timm_vovnet": "timm/vovnet39a",
}
NO_CNN = "no convolutions alone: transformers, hybrids and networks that cannot be followed"
OTHER_LAYERS = "other parameters than this CNN of timm has"


def forward_rows(path: Path) -> Iterator[Row | str]:
    """Yield each forward pass in the columns of the runs schema, or why it is left out."""
    known: dict[tuple[str, int], tuple[CnnCounts | None, ...]] = {}
    for row in _table(path):
        key = row["cnn"], int(row["input_size_px"])
        if key not in known:
            known[key] = _found(*key), _found(f"{key[0]}{MERGED}", key[1])
        found = [cnn for cnn in known[key] if cnn is not None]
        fitting = [cnn for cnn in found if _fits(cnn, float(row["params_m"]))]
        yield _forward_row(row, fitting[0]) if fitting else OTHER_LAYERS if found else NO_CNN


def _found(name: str, input_size_px: int) -> CnnCounts | None:
    """Return the counts of timm's CNN of a name; None where it is not known."""
    try:
        return find_cnn_counts(f"timm/{name}", input_size_px)
    except TrainlawError:
        return None


def _fits(cnn: CnnCounts, params_m: float) -> bool:
    """Whether a figure of two decimals, millions of parameters, is a CNN's: 0.3 % are gains of weights."""
    params = cnn.counts["params"] / 1e6
    return abs(params - params_m) <= 0.011 + 0.003 * params


def _forward_row(row: Mapping[str, str], cnn: CnnCounts) -> Row:
    version, time = row["framework_version"], float(row["time_s"])
    return {
        "gpu": find_gpu(row["gpu"]).gpu,
        "cnn": cnn.cnn,
        "input_size_px": cnn.input_size_px,
        "n_classes": cnn.n_classes,
        "batch_per_gpu": int(row["batch"]),
        "precision_stated": row["precision"],
        "precision": row["precision"],
        "framework": row["framework"],
        "framework_version": f"{version} (CUDA {row['cuda'][:-1]}.{row['cuda'][-1]})",
        "harness": "timm",
        "timed_parts": row["timed_parts"],
        "time_s": time,
        "time_min_s": time,
        "time_max_s": time,
        "source": "timm",
        "source_commit": row["source_commit"],
        "source_path": row["source_path"],
        "licence": row["licence"],
        "bench_year": _YEARS[version],
        "layout": row["layout"],
        "compilation": {"no": "eager"}.get(row["compile"], row["compile"]),
        "data": "synthetic",
    }


def compiled_rows(folder: Path) -> Iterator[Row]:
    """Yield the training runs on one GPU of PyTorch's CI and of milabench's archive."""
    for stem, source in (("pytorch-ci-a100", "pytorch-ci"), ("milabench-runs", "milabench")):
        for row in _table(folder / f"{stem}.csv.gz"):
            try:
                cnn = cnn_name(_TORCHBENCH.get(row["cnn"], row["cnn"]))
            except UnknownNameError:
                continue
            if row["n_gpus"] == "1":
                yield _compiled_row(row, source, cnn)


def _compiled_row(row: Mapping[str, str], source: str, cnn: str) -> Row:
    batch, time = int(row["batch_per_gpu"]), float(row["time_s"])
    rates = re.search(r"([\d.]+)-([\d.]+) img/s", row["note"])
    slowest, fastest = map(float, rates.groups()) if rates else (batch / time, batch / time)
    return {
        "gpu": find_gpu(row["gpu"]).gpu,
        "cnn": cnn,
        "input_size_px": int(float(row["input_size_px"] or 192)),
        "n_classes": 1000,
        "batch_per_gpu": batch,
        "precision_stated": row["precision_stated"],
        "precision": row["precision"],
        "framework": row["framework"],
        "framework_version": row["framework_version"] or "unknown",
        "harness": source,
        "timed_parts": "forward+backward" if source == "pytorch-ci" else "forward+backward+optimizer",
        "time_s": time,
        "time_min_s": min(time, batch / fastest),
        "time_max_s": max(time, batch / slowest),
        "source": source,
        "source_commit": row["source_commit"],
        "source_path": row["source_path"],
        "licence": row["licence"].removesuffix(" (repository)"),
        "bench_year": float(row["bench_year"]),
        "layout": row["layout"],
        "compilation": {"no": "eager"}.get(row["compile"], row["compile"]),
        "data": "synthetic" if source == "pytorch-ci" or "noio" in row["source_path"] else "unknown",
        "pool_reason": _reason(row),
    }


def _reason(row: Mapping[str, str]) -> str:
    if not row["input_size_px"]:
        return "the size of the images was not printed"
    return "spread within a run above 4 %" if row["trust"] == "low" else "none"


def _written(rows: Iterator[Row], file: str) -> bytes:
    runs = _frame(rows)
    runs = runs.assign(pool=(runs["pool_reason"] == "none").astype(int))
    integers = ("input_size_px", "n_classes", "batch_per_gpu", "n_gpus", "n_nodes", "n_repeats", "pool")
    runs = runs.astype(dict.fromkeys(integers, int))
    return packed_runs(file, runs)


def convert(folder: Path) -> dict[str, bytes]:
    """Return the content of both tables by file name, and print what is left out."""
    found = list(forward_rows(folder / "forward" / "timm_forward.csv.gz"))
    print(*(f"{count} rows: {reason}\n" for reason, count in Counter(map(_left_out, found)).items()), sep="")
    rows = (row for row in found if not isinstance(row, str))
    return {
        FORWARD_FILE: _written(rows, FORWARD_FILE),
        COMPILED_FILE: _written(compiled_rows(folder / "atlas"), COMPILED_FILE),
    }


def _left_out(row: Row | str) -> str:
    return row if isinstance(row, str) else "shipped"


if __name__ == "__main__":
    write_data_files(convert(Path(sys.argv[1])), Path("datasets/data"))
