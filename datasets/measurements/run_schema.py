"""The runs schema: one row per measured configuration of a CNN's training on one or more GPUs."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd
from trainlaw.datasets.files.columns import Column, Range, table_schema
from trainlaw.datasets.hardware.collectives import ALGORITHMS
from trainlaw.datasets.hardware.precisions import PRECISIONS

_PARTS = ("forward+backward", "forward+backward+optimizer")
LAYOUTS = ("nchw", "channels_last", "unknown")
COMPILATIONS = ("eager", "xla", "inductor", "unknown")
DATA_KINDS = ("synthetic", "real", "unknown")
TIMED_PARTS = ("forward", *_PARTS, *(part + "+copy" for part in _PARTS))
_TIME_LIMITS: Range = {"unit": "s", "low": 1e-9, "high": 1e7}
_MAX_COUNT = 1e7

RUN_COLUMNS: tuple[Column, ...] = (
    Column("gpu", "text", "name of the GPU, as in the GPU table or as its driver prints it"),
    Column("cnn", "text", "name of the CNN and its variant"),
    Column("input_size_px", "integer", "side of the square input image", "px", 1, 8192, default=np.nan),
    Column("n_classes", "integer", "width of the classifier", "", 1, 1e6, default=np.nan),
    Column("batch_per_gpu", "integer", "images per iteration and GPU", "", 1, _MAX_COUNT),
    Column("n_gpus", "integer", "number of GPUs", "", 1, _MAX_COUNT, default=1),
    Column("n_nodes", "integer", "number of nodes", "", 1, _MAX_COUNT, default=1),
    Column("link", "text", "link between the GPUs of one node, as in the link table", default="none"),
    Column("network", "text", "fabric between nodes, as in the link table", default="none"),
    Column(
        "peer_access",
        "number",
        "1 where GPUs copy to each other directly, 0.5 where only in pairs; empty: as specified",
        "",
        0,
        1,
        default=np.nan,
        may_be_empty=True,
    ),
    Column("algorithm", "text", "collective algorithm for the gradients", allowed=ALGORITHMS, default="none"),
    Column("precision_stated", "text", "precision as the source states it", default="unknown"),
    Column("precision", "text", "precision that ran", allowed=tuple(PRECISIONS), default="unknown"),
    Column("framework", "text", "training framework", default="unknown"),
    Column("framework_version", "text", "version of the framework", default="unknown"),
    Column("harness", "text", "program and protocol of the measurement", default="unknown"),
    Column(
        "timed_parts",
        "text",
        "phases that the time includes",
        allowed=TIMED_PARTS,
        default="forward+backward+optimizer",
    ),
    Column("time_s", "number", "median time of one iteration", **_TIME_LIMITS),
    Column("time_min_s", "number", "shortest repeat", **_TIME_LIMITS, default=np.nan, may_be_empty=True),
    Column("time_max_s", "number", "longest repeat", **_TIME_LIMITS, default=np.nan, may_be_empty=True),
    Column("n_repeats", "integer", "number of repeats", "", 1, _MAX_COUNT, default=1),
    Column(
        "single_gpu_time_s",
        "number",
        "measured time of the same configuration on one GPU",
        **_TIME_LIMITS,
        default=np.nan,
        may_be_empty=True,
    ),
    Column("source", "text", "origin of the measurement", default="unknown"),
    Column("source_commit", "text", "version of the source", default="unknown"),
    Column("source_path", "text", "location inside the source", default="unknown"),
    Column("licence", "text", "licence of the figures", default="unknown"),
    Column(
        "bench_year", "integer", "year of the measurement", "", 2000, 2100, default=np.nan, may_be_empty=True
    ),
    Column("pool", "integer", "1 where suitable for pooling with other sources, else 0", "", 0, 1, default=1),
    Column("pool_reason", "text", "why a run is not pooled", default="none"),
    Column(
        "layout",
        "text",
        "order of the dimensions of activations in memory: channels first (nchw) or last",
        allowed=LAYOUTS,
        default="unknown",
    ),
    Column(
        "compilation",
        "text",
        "eager: one kernel per operation; xla, inductor: fused by that compiler",
        allowed=COMPILATIONS,
        default="unknown",
    ),
    Column(
        "data",
        "text",
        "synthetic: images made once, in memory; real: images read through an input pipeline",
        allowed=DATA_KINDS,
        default="unknown",
    ),
    Column(
        "tuned", "integer", "1 for a container that a vendor tuned, with fused kernels", "", 0, 1, default=0
    ),
    Column(
        "memory_bytes",
        "number",
        "measured peak memory of the process on one GPU",
        "B",
        1e6,
        1e14,
        default=np.nan,
        may_be_empty=True,
    ),
)
# Columns that tables lacked at first. At their defaults they do not change the identity of a table.
OPTIONAL_COLUMNS: Mapping[str, str | float | None] = MappingProxyType(
    {
        column.name: column.default
        for column in RUN_COLUMNS[[column.name for column in RUN_COLUMNS].index("pool_reason") :]
    }
)


def with_defaults(runs: pd.DataFrame) -> pd.DataFrame:
    """Return `runs` with all columns of the schema, in its order; absent ones hold their default."""
    absent = {column.name: column.default for column in RUN_COLUMNS if column.name not in runs}
    return runs.assign(**absent)[[column.name for column in RUN_COLUMNS]]


def run_table_schema() -> dict[str, object]:
    """Return the runs schema as a Frictionless Table Schema, ready for JSON."""
    return table_schema(RUN_COLUMNS, "trainlaw runs")


def without_defaults(runs: pd.DataFrame) -> pd.DataFrame:
    """Return `runs` without the optional columns that hold nothing but their default."""
    plain = [
        name
        for name, default in OPTIONAL_COLUMNS.items()
        if name in runs and _holds_only(runs[name], default)
    ]
    return runs.drop(columns=plain)


def _holds_only(values: pd.Series, default: str | float | None) -> bool:
    return bool((values.isna() if pd.isna(default) else values == default).all())
