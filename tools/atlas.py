"""Convert the sources' files of the atlas into the shipped tables: `python -m tools.atlas FOLDER`.

FOLDER holds `atlas/*.csv.gz` (one file per source), `tables/T5_*_released.csv.gz` and `runs/timm.csv.gz`. The
rows that ship as `runs_single.csv.xz` and `runs_multi.csv.xz` come first and stay as they are.
"""

import io
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from trainlaw.datasets.cnns.catalog import keyed_cnn_counts
from trainlaw.datasets.cnns.names import cnn_key
from trainlaw.datasets.files.storage import read_data_table
from trainlaw.datasets.hardware.gpus import find_gpu
from trainlaw.datasets.measurements.runs import OPTIONAL_COLUMNS, RUN_COLUMNS, with_defaults
from trainlaw.formulas.errors import TrainlawError

from tools.checksums import packed, write_data_files

Row = dict[str, object]

SINGLE_FILE, MULTI_FILE = "atlas_single.csv.xz", "atlas_multi.csv.xz"
NO_FACTS = "the CNN has no counts"
VARYING_IMAGES = "images of varying sizes"
THREE_DIMENSIONS = "three-dimensional convolutions"
SLOW_FP16 = "fp16 on a GPU without fast fp16 kernels"
LOADER_BOUND = "limited by the data loader"
HOST_BOUND = "limited by the host"
_OF_SEVERAL_GPUS = ("allocation", "bucketed")
# Equal to one part in a thousand: the same figure, printed by two sources.
_SAME_TIME = 1e-3

#: What the sources call things, and what their programs fix, by table of `atlas.toml`.
_WORDS: Mapping[str, Mapping[str, Any]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)


def _shipped(file: str) -> pd.DataFrame:
    """Return the runs that ship already, with what their sources' programs say of layout and compilation."""
    runs = with_defaults(read_data_table(file, text_columns=("framework_version",)))
    for source, known in _WORDS["fixed"].items():
        rows = runs["source"] == source
        for column, value in known.items():
            runs[column] = runs[column].mask(rows, str(value))
    real = (runs["source"] == "lambda-tensorflow-benchmark") & ~runs["source_path"].str.contains("/syn-")
    runs.loc[real, "data"] = "unknown"
    vendor = runs["source"] == "nvidia-deeplearningexamples"
    paddle = (runs["harness"] == "dlperf-oneflow:paddlepaddle") & (runs["precision"] == "amp")
    runs.loc[vendor | paddle, "tuned"] = 1
    # Their mixed precision trains in NHWC; other precisions keep the framework's order.
    runs.loc[(vendor & (runs["precision"] == "amp")) | paddle, "layout"] = "channels_last"
    runs.loc[runs["pool"] == 0, "pool_reason"] = LOADER_BOUND + ": the time hardly depends on the batch"
    return runs


def _bucketed(runs: pd.DataFrame) -> pd.Series:
    """Return 1 for frameworks that reduce gradients in buckets, 0 for others; int, (n_runs,).

    NVIDIA's containers of TensorFlow and MXNet train with Horovod. tf_cnn_benchmarks and MXNet's own
    key-value store reduce each tensor alone, as does DataParallel; of MindSpore and PaddlePaddle it is not
    known.
    """
    words = runs["framework"].str.lower() + " " + runs["framework_version"].astype(str).str.lower()
    named = words.str.contains("pytorch|horovod|oneflow|ngc") | (
        runs["source"] == "nvidia-deeplearningexamples"
    )
    alone = runs["algorithm"].isin(["data_parallel", "parameter_server"])
    # On one GPU there is nothing to reduce: such rows keep the default.
    return ((named & ~alone) | (runs["n_gpus"] == 1)).astype(int)


def _table(path: Path) -> list[dict[str, str]]:
    return pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")  # type: ignore[return-value]


def _atlas_rows(folder: Path) -> Iterator[Row]:
    for path in sorted(folder.glob("*.csv.gz")):
        stem = path.name.removesuffix(".csv.gz")
        for row in _table(path):
            yield _atlas_row(stem, row)


def _atlas_row(stem: str, row: Mapping[str, str]) -> Row:
    """Return a row of one source's file in the columns of the runs schema."""
    n_gpus, n_nodes = int(row["n_gpus"]), int(row["n_nodes"])
    # "A100 (40 GB, AWS p4 class; not printed)": p4d instances have the SXM4 board.
    gpu = "A100-SXM4-40GB" if row["gpu"].startswith("A100 (40 GB") else find_gpu(row["gpu"]).gpu
    return {
        "gpu": gpu,
        **_cnn(stem, row),
        "batch_per_gpu": int(row["batch_per_gpu"]),
        "n_gpus": n_gpus,
        "n_nodes": n_nodes,
        **(_links(stem, gpu, n_nodes) if n_gpus > 1 else {}),
        "precision_stated": row["precision_stated"],
        "precision": row["precision"],
        "framework": row["framework"],
        "framework_version": row["framework_version"] or "unknown",
        "harness": _harness(stem, row),
        "timed_parts": _WORDS["timed_parts"][row["timed_parts"]],
        "time_s": float(row["time_s"]),
        **_repeats(row),
        "source": _WORDS["sources"][stem],
        "source_commit": row["source_commit"].split(" ")[0],
        "source_path": row["source_path"][:300],
        "licence": row["licence"],
        "bench_year": _year(row),
        "layout": row["layout"],
        "compilation": _WORDS["compilations"][row["compile"]],
        "data": _data(stem, row["note"]),
        "tuned": int(stem == "nvidia-deeplearningexamples"),
        "memory_bytes": _memory(row["note"]),
        "pool_reason": _reason(stem, row),
    }


def _cnn(stem: str, row: Mapping[str, str]) -> Row:
    has_background = stem in ("nd-tensorflow-benchmark", "tf-cnn-benchmarks-evaluation")
    is_tensorflow = has_background or stem == "tf-metal-experiments"
    cnn = _WORDS["other_names"].get(row["cnn"], row["cnn"])
    cnn = _WORDS["tf_cnn_benchmarks"].get(cnn, cnn) if is_tensorflow else cnn
    n_classes = _WORDS["classes"].get(row["cnn"], 1001 if has_background else 1000)
    # Detectors and segmentation print "800 (min side)" or "192x160": their first number.
    printed = int(re.match(r"\d+", row["input_size_px"]).group())  # type: ignore[union-attr]
    side = _WORDS["sides_px"].get(cnn, printed)
    return {"cnn": cnn, "input_size_px": side, "n_classes": n_classes}


def _links(stem: str, gpu: str, n_nodes: int) -> Row:
    """Return link, fabric and algorithm of several GPUs: nominal, from the label of the source."""
    if stem == "tf-cnn-benchmarks-evaluation":
        link = "pcie3-x16-shared" if gpu == "K80" else "pcie3-x16"
        # tf_cnn_benchmarks: --variable_update=parameter_server is its default.
        return {"link": link, "algorithm": "parameter_server"}
    fabric = "infiniband-hdr" if n_nodes > 1 else "none"
    return {"link": "nvswitch3", "network": fabric, "algorithm": "ring"}


def _harness(stem: str, row: Mapping[str, str]) -> str:
    source = _WORDS["sources"][stem]
    container = re.search(r"container (\w+)", row["note"])
    if container:
        return f"{source}:{container.group(1)}"
    if stem == "milabench-scaling":
        return "milabench:loader" if _is_loader_bound(row["note"]) else "milabench"
    return f"{source}:{row['framework'].split(' ')[0]}" if stem == "nvidia-deeplearningexamples" else source


def _is_loader_bound(note: str) -> bool:
    return "JPEG loader" in note or "loader-bound" in note or "input-bound" in note


def _repeats(row: Mapping[str, str]) -> Row:
    found = re.search(r"median of (\d+) observations \((\d+)-(\d+) images/s\)", row["note"])
    time = float(row["time_s"])
    if not found:
        return {"time_min_s": time, "time_max_s": time, "n_repeats": 1}
    slowest, fastest = int(found.group(2)), int(found.group(3))
    batch = int(row["batch_per_gpu"])
    # The rates are printed as whole numbers, so the median may lie outside them by the rounding.
    return {
        "time_min_s": min(time, batch / fastest),
        "time_max_s": max(time, batch / slowest),
        "n_repeats": int(found.group(1)),
    }


def _year(row: Mapping[str, str]) -> float:
    dated = re.search(r"(20\d\d)[-/]", row["source_commit"] + row["framework_version"])
    return float(row["bench_year"] or (dated.group(1) if dated else "nan"))


def _data(stem: str, note: str) -> str:
    if stem.startswith("pytorch-gpu-benchmark") or stem in (
        "nd-tensorflow-benchmark",
        "tf-metal-experiments",
    ):
        return "synthetic"
    if stem == "tf-cnn-benchmarks-evaluation":
        return "real" if "REAL data" in note else "synthetic"
    if stem.startswith("milabench"):
        return "synthetic" if note.startswith("resnet50-noio") else "real"
    return "real" if stem == "ffcv-imagenet-agg-csv" else "unknown"


def _memory(note: str) -> float:
    found = re.search(r"(\d+) MiB", note)
    return float(found.group(1)) * 2**20 if found else np.nan


def _reason(stem: str, row: Mapping[str, str]) -> str:
    """Return why a run is not pooled, "none" where nothing speaks against it."""
    if row["trust"] == "relabelled":
        return "the folder names another GPU than the log"
    if row["trust"] == "low":
        return _distrusted(row["note"])
    several = row["n_gpus"] != "1"
    # On eight GPUs Mask R-CNN takes as long in amp as in tf32; on one it takes 26 to 36 % less.
    mask_rcnn = stem == "nvidia-deeplearningexamples" and row["cnn"].startswith("maskrcnn")
    alexnet = stem == "nd-tensorflow-benchmark" and row["cnn"] == "alexnet"
    reasons = {
        VARYING_IMAGES: "min side" in row["input_size_px"],
        THREE_DIMENSIONS: row["input_size_px"].count("x") == 2,
        HOST_BOUND: several and (mask_rcnn or alexnet),
    }
    return next((reason for reason, applies in reasons.items() if applies), "none")


def _distrusted(note: str) -> str:
    """Return why a source's file gives a run low trust."""
    if _is_loader_bound(note):
        return LOADER_BOUND
    if "udocker" in note:
        return "slow container (udocker) on this host"
    return "images read from disk" if "REAL data" in note else HOST_BOUND


def _released_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a joined table (T5): one row per configuration with the facts of its GPU and CNN."""
    for row in _table(path):
        yield _released_row(row)


def _released_row(row: Mapping[str, str]) -> Row:
    n_gpus = int(float(row["n_gpus"]))
    is_lamikr = row["source"] == "lamikr-pytorch-gpu-benchmark"
    links = {"pcie": "pcie3-x16", "unknown->pcie": "pcie3-x16", "nvlink": "nvlink3-x12"}
    several = {
        "link": links.get(row.get("link", ""), "none"),
        "algorithm": "data_parallel",
        "peer_access": float(row.get("p2p") or "nan"),
        "single_gpu_time_s": float(row.get("t1_s") or "nan"),
    }
    return {
        "gpu": find_gpu(row["gpu"]).gpu,
        "cnn": row["cnn"],
        "input_size_px": int(row["input_size"]),
        "n_classes": int(float(row["num_classes"])),
        "batch_per_gpu": int(float(row["batch"])),
        "n_gpus": n_gpus,
        **(several if n_gpus > 1 else {}),
        "precision_stated": row["precision"],
        "precision": row["prec"],
        "framework": "pytorch",
        "framework_version": row["framework_version"] or "unknown",
        "harness": "pytorch-gpu-benchmark-lamikr" if is_lamikr else row["harness"],
        "timed_parts": "forward+backward" + "+copy" * (row["has_h2d"] == "1"),
        "time_s": float(row["time_s"]),
        "time_min_s": float(row["lo"]),
        "time_max_s": float(row["hi"]),
        "n_repeats": int(float(row["n_src"])),
        "source": "pytorch-gpu-benchmark-lamikr" if is_lamikr else "pytorch-gpu-benchmark",
        **_released_place(row),
        "licence": row["licence"],
        "bench_year": float(row["bench_year"]),
        "layout": "nchw",
        "compilation": "eager",
        "data": "synthetic",
    }


def _released_place(row: Mapping[str, str]) -> Row:
    """Return commit and path of a row of the joined tables, which do not print them, where they are known."""
    if row["gpu"] == "Radeon RX 5700":
        stem = f"AMD_Radeon_RX_5700__{'half' if row['prec'] == 'fp16' else 'float'}_model_train_benchmark.csv"
        return {
            "source_commit": "21387fe873528dfd22ee7321d5b6caa240880b6f",
            "source_path": f"github.com/lamikr/pytorch-gpu-benchmark results/AMD/AMD_Radeon_RX_5700/{stem}",
        }
    return {"source_commit": "not recorded", "source_path": f"results of {row['gpu']}"}


def _timm_rows(path: Path) -> Iterator[Row]:
    """Yield the training runs of CNNs among timm's benchmark results."""
    for row in _table(path):
        note = dict(part.split("=", 1) for part in row["note"].split(";") if "=" in part)
        if note.get("cnn") == "yes":
            yield _timm_row(row, note)


def _timm_row(row: Mapping[str, str], note: Mapping[str, str]) -> Row:
    time = float(row["time_ms"]) / 1000
    return {
        "gpu": find_gpu(row["gpu"]).gpu,
        # Its variants differ from torchvision's of the same name.
        "cnn": f"timm/{_built_model(row['model'], note['params_M'])}",
        "input_size_px": int(row["input_size"]),
        "n_classes": int(row["num_classes"]),
        "batch_per_gpu": int(row["batch_per_gpu"]),
        "precision_stated": row["precision"],
        "precision": row["precision"],
        "framework": "pytorch",
        "framework_version": _timm_version(row["framework_version"]),
        "harness": "timm",
        "timed_parts": "forward+backward+optimizer",
        "time_s": time,
        "time_min_s": time,
        "time_max_s": time,
        "source": "timm",
        "source_commit": row["source_commit"],
        "source_path": row["source_path"],
        "licence": row["licence"],
        "bench_year": float(row["year"]),
        "layout": {"nchw": "nchw", "nhwc": "channels_last"}[note["layout"]],
        "compilation": "eager",
        "data": "synthetic",
    }


def _timm_version(text: str) -> str:
    """Return "1.12 (CUDA 11.3)" for "pt112 cu113"."""
    torch, cuda = text.removeprefix("pt").split(" cu")
    return f"{torch[0]}.{torch[1:]} (CUDA {cuda[:-1]}.{cuda[-1]})"


def _built_model(model: str, parameters: str) -> str:
    """Return the model that timm built: with torch 1.10 and 1.11 two smaller names gave convnext_base."""
    if parameters == "88.59" and model.endswith("in22ft1k"):
        return re.sub("tiny|small", "base", model)
    return model


def _frame(rows: Iterator[Row]) -> pd.DataFrame:
    defaults = {column.name: column.default for column in RUN_COLUMNS}
    return with_defaults(pd.DataFrame([{**defaults, **row} for row in rows]))


def _without_duplicates(runs: pd.DataFrame) -> pd.DataFrame:
    """Return `runs` without figures that a further source repeats; the kept row names that source.

    Two rows are one figure when sources differ, the times agree to 0.1 % and all else agrees: GPU, CNN,
    sizes, batch, GPUs, precision, layout, framework and its version, where stated.
    """
    key = ["gpu", "cnn", "input_size_px", "batch_per_gpu", "n_gpus", "n_nodes", "precision", "layout"]
    kept = np.ones(len(runs), dtype=bool)
    runs = runs.copy()
    for rows in runs.groupby(key, sort=False).indices.values():
        for at, row in enumerate(rows):
            earlier = [i for i in rows[:at] if kept[i] and _is_same_figure(runs, i, row)]
            if earlier:
                kept[row] = False
                _name_second_source(runs, earlier[0], row)
    return runs[kept].reset_index(drop=True)


def _is_same_figure(runs: pd.DataFrame, first: int, second: int) -> bool:
    times = runs["time_s"].to_numpy()
    is_close = abs(times[second] / times[first] - 1) <= _SAME_TIME
    sources = runs["source"].to_numpy()
    versions = {str(runs["framework_version"].iloc[row]) for row in (first, second)} - {"unknown"}
    frameworks = {str(runs["framework"].iloc[row]).split(" ")[0].lower() for row in (first, second)}
    same_program = len(versions) <= 1 and len(frameworks) == 1
    return bool(is_close and same_program and sources[first] != sources[second])


def _name_second_source(runs: pd.DataFrame, kept: int, dropped: int) -> None:
    place, other = str(runs["source_path"].iloc[kept]), str(runs["source"].iloc[dropped])
    if other not in place:
        runs.loc[runs.index[kept], "source_path"] = f"{place}; also {other}"


def _with_names(runs: pd.DataFrame) -> pd.DataFrame:
    """Return `runs` with our names of CNNs; those whose CNN has no counts leave the pool and say so."""
    keys = runs[["cnn", "input_size_px", "n_classes"]].drop_duplicates().itertuples(index=False, name=None)
    names = {key: _known_cnn(*key) for key in keys}
    found = [names[key] for key in zip(runs["cnn"], runs["input_size_px"], runs["n_classes"], strict=True)]
    unknown = np.array([name is None for name in found])
    runs = runs.assign(cnn=[name or cnn for name, cnn in zip(found, runs["cnn"], strict=True)])
    runs.loc[unknown & (runs["pool_reason"] == "none"), "pool_reason"] = NO_FACTS
    return runs


def _known_cnn(cnn: str, input_size_px: int, n_classes: int) -> str | None:
    try:
        name = cnn_key(cnn)
        keyed_cnn_counts(name, int(input_size_px), int(n_classes))
        return name
    except TrainlawError:
        return None


def _marked(runs: pd.DataFrame) -> pd.DataFrame:
    """Take fp16 runs on GPUs without fast fp16 kernels out of the pool; the reason decides `pool`."""
    slow = runs["gpu"].map(lambda name: find_gpu(name).has_fast_fp16 == 0) & (runs["precision"] == "fp16")
    runs.loc[slow & (runs["pool_reason"] == "none"), "pool_reason"] = SLOW_FP16
    return runs.assign(pool=(runs["pool_reason"] == "none").astype(int))


def _with_single_gpu_times(multi: pd.DataFrame, single: pd.DataFrame) -> pd.DataFrame:
    """Return `multi` with the median time of the same source and configuration on one GPU, where measured."""
    key = ["gpu", "cnn", "input_size_px", "batch_per_gpu", "precision", "harness", "layout", "data"]
    known = single.groupby(key)["time_s"].median().rename("known").reset_index()
    joined = multi.merge(known, on=key, how="left", validate="many_to_one")["known"].to_numpy()
    given = multi["single_gpu_time_s"].to_numpy(dtype=np.float64)
    return multi.assign(single_gpu_time_s=np.where(np.isnan(given), joined, given))


def convert(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the runs on one GPU and those on several, in the columns of the runs schema."""
    added = pd.concat(
        [
            _frame(_released_rows(folder / "tables" / "T5_single_released.csv.gz")),
            _frame(_released_rows(folder / "tables" / "T5_multi_released.csv.gz")),
            _frame(_atlas_rows(folder / "atlas")),
            _frame(_timm_rows(folder / "runs" / "timm.csv.gz")),
        ],
        ignore_index=True,
    )
    single, multi = added[added["n_gpus"] == 1], added[added["n_gpus"] > 1]
    one = _finished(_shipped("runs_single.csv.xz"), single)
    return one, _with_single_gpu_times(_finished(_shipped("runs_multi.csv.xz"), multi), one)


def _finished(shipped: pd.DataFrame, added: pd.DataFrame) -> pd.DataFrame:
    runs = _marked(_with_names(_without_duplicates(pd.concat([shipped, added], ignore_index=True))))
    return runs.assign(bucketed=_bucketed(runs))


def _written(runs: pd.DataFrame) -> bytes:
    integers = [column.name for column in RUN_COLUMNS if column.kind == "integer"]
    runs = runs.assign(**{name: runs[name].astype("Int64") for name in integers})
    # Columns of several GPUs are written only where a run differs from the default.
    unused = [name for name in _OF_SEVERAL_GPUS if (runs[name] == OPTIONAL_COLUMNS[name]).all()]
    runs = runs.drop(columns=unused)
    text = io.StringIO()
    runs.to_csv(text, index=False, lineterminator="\n")
    return text.getvalue().encode()


def main(folder: str) -> None:
    """Write both tables next to the other shipped data."""
    tables = zip((SINGLE_FILE, MULTI_FILE), convert(Path(folder)), strict=True)
    write_data_files({file: packed(file, _written(runs)) for file, runs in tables}, Path("datasets/data"))


if __name__ == "__main__":
    main(sys.argv[1])
