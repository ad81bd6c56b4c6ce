"""Runs: their schema, features and labels, measured with an iteration time or wanted without one."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property, lru_cache
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, get_args

import numpy as np
import pandas as pd
from trainlaw.datasets.cnns.catalog import CnnCounts, find_cnn_counts
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.features.feature import base_columns, feature_block
from trainlaw.datasets.features.run_features import FEATURES, OF_ANY_RUN
from trainlaw.datasets.files.columns import shipped_schema
from trainlaw.datasets.files.constants import constant
from trainlaw.datasets.files.limits import check_limit
from trainlaw.datasets.hardware.collectives import ALGORITHMS, EVEN, gpus_of_nodes
from trainlaw.datasets.hardware.gpus import Gpu, GpuCatalog, built_in_gpus
from trainlaw.datasets.hardware.hypothetical import wanted_gpu
from trainlaw.datasets.hardware.links import find_link, links
from trainlaw.datasets.hardware.precisions import PRECISIONS
from trainlaw.datasets.hardware.servers import Server, usual_server
from trainlaw.datasets.measurements.stacks import layout_of, stacks_of
from trainlaw.datasets.tables.joins import FEW_ROWS, Facts, RunJoin
from trainlaw.datasets.tables.measured_table import MeasuredTable, frame_sha256
from trainlaw.formulas.errors import InputError, check_name, shown

RUN_COLUMNS = shipped_schema("runs")
TIMED_PARTS = next(column.allowed for column in RUN_COLUMNS if column.name == "timed_parts")
#: Columns that `trainlaw profile` writes beyond the schema; no feature is made of them.
PROFILER_COLUMNS = (
    "device",
    "threads",
    "forward_s",
    "backward_s",
    "update_s",
    "interval_percent",
    "warm_up_iterations",
    "other_load",
    "clock_hz",
    "optimizer",
    "hardware",
    "software",
    "measured_at",
    "remark",
)
RUN_FILE_COLUMNS = (*(column.name for column in RUN_COLUMNS), *PROFILER_COLUMNS)
#: Columns of a plan in which `trainlaw suggest` states why a configuration is in it.
PLAN_NOTES = (
    "predicted_s",
    "cost_s",
    "represents_percent",
    "uncertainty_percent",
    "disagreement_percent",
    "new_range",
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
    return _complete(dict(runs.items()), runs.index)


def _complete(columns: Mapping[Any, Any], index: pd.Index) -> pd.DataFrame:
    """Return columns by name as `with_defaults` does."""
    filled = {
        column.name: columns[column.name] if column.name in columns else constant(column.default, index)
        for column in RUN_COLUMNS
    }
    # Of a million runs, copies of the defaults alone would take 250 MB.
    complete = pd.DataFrame(filled, index=index, copy=False)
    stated = complete["stack"].notna().to_numpy()
    if stated.all():
        return complete
    return complete.assign(stack=np.where(stated, complete["stack"], stacks_of(complete)))


@lru_cache(maxsize=8)
def _defaults(n_rows: int) -> dict[str, pd.Series]:
    """Return the default of each column, numbered from 0; predictions are often of as many rows."""
    index = pd.RangeIndex(n_rows)
    return {column.name: constant(column.default, index) for column in RUN_COLUMNS}


def without_defaults(runs: pd.DataFrame) -> pd.DataFrame:
    """Return `runs` without the optional columns that hold nothing but their default."""
    plain = [
        name
        for name, default in OPTIONAL_COLUMNS.items()
        if name in runs and (runs[name].isna() if pd.isna(default) else runs[name] == default).all()
    ]
    if "stack" in runs and (runs["stack"] == stacks_of(runs)).all():
        plain.append("stack")
    return runs.drop(columns=plain)


LABELS = (
    "gpu_group",
    "gpu",
    "cnn_base",
    "cnn",
    "cnn_family",
    "source",
    "harness",
    "generation",
    "precision",
    "framework",
)


@dataclass(frozen=True, eq=False)
class RunTable(MeasuredTable):
    """One row per measured configuration, with the columns of the runs schema.

    Attributes
    ----------
    name : str
        Name of the table, for messages and provenance.
    _rows : DataFrame
        The rows, never changed; `frame` gives a copy.
    facts : Facts
        Specifications of the GPUs, links and CNNs that the rows name.
    """

    @cached_property
    def sha256(self) -> str:
        """Identity of the rows: sha256 of all names and values, as hexadecimal digits.

        Optional columns count only where a run differs from their default, so a table keeps its identity when
        the schema grows.
        """
        return frame_sha256(without_defaults(self._rows))

    def features(self, names: Iterable[str] | None = None) -> pd.DataFrame:
        """Return the features of these names, float64, shape (n_runs, k), in the units of `FEATURES`.

        names : None for all except `SCALING_FEATURES`, which runs on one GPU lack.
        Raises UnknownNameError for an unknown feature.
        """
        chosen = OF_ANY_RUN if names is None else names
        kept = self._computed if len(self) <= FEW_ROWS else None
        return feature_block(FEATURES, self.joined.columns(), self._rows.index, chosen, kept)

    @cached_property
    def _computed(self) -> dict[str, np.ndarray]:
        """What features of few runs are made of, by name, (n_runs,) each: a prediction asks several times."""
        return {}

    def with_batches(self, batches: Sequence[int]) -> "RunTable":
        """Return the runs with other batches per GPU; what does not depend on them is not computed again."""
        found = RunTable(self.name, self._rows.assign(batch_per_gpu=batches), self.facts)
        found._computed.update(
            {name: values for name, values in self._computed.items() if name not in _of_batch()}
        )
        return found

    @cached_property
    def joined(self) -> RunJoin:
        """The runs joined with their GPUs, CNNs and links."""
        return RunJoin(self._rows, self.facts)

    def matrix(self, names: Iterable[str]) -> np.ndarray:
        """Return the features of these names as float64, shape (n_runs, k), in the units of `FEATURES`."""
        return self.features(names).to_numpy()

    def labels(self) -> pd.DataFrame:
        """Return the labels that runs are grouped by, as text columns `LABELS`, shape (n_runs, 10)."""
        return pd.DataFrame({name: self.joined.texts(name) for name in LABELS}, dtype=object)

    def merged(self, other: "RunTable") -> "RunTable":
        """Return the runs of both tables, those of this table first; all repeats are kept."""
        facts = Facts(self.facts.gpus.with_gpus(other.facts.gpus.gpus), (*self.facts.cnns, *other.facts.cnns))
        rows = pd.concat([self._rows, other._rows], ignore_index=True)
        return RunTable(f"{self.name}+{other.name}", rows, facts)


@cache
def _of_batch() -> frozenset[str]:
    """Return the features that depend on the batch per GPU."""
    return frozenset(name for name in FEATURES if "batch_per_gpu" in base_columns(FEATURES, [name]))


_COLUMNS = {column.name: column for column in RUN_COLUMNS}
LAYOUTS, COMPILATIONS = (
    tuple(name for name in _COLUMNS[column].allowed if name != "unknown")
    for column in ("layout", "compilation")
)
STACKS = _COLUMNS["stack"].allowed
#: Value of `precision_stated` where no precision was asked for.
BY_DEFAULT = "PyTorch's default"
#: Of forward passes, unless another one is asked for: all that were measured are in it.
PRECISION_OF_PASSES = "amp"


#: Kinds of the fields of a `Setup` by their type, as they are said.
_KINDS: Mapping[type, tuple[type, str]] = {
    int: (Integral, "a whole number"),
    float: (Real, "a number of seconds"),
    bool: (bool, "True or False"),
    str: (str, "a text"),
}


@dataclass(frozen=True)
class Setup:
    """How a configuration trains; None where the default holds.

    precision : one of `PRECISIONS`; by default PyTorch's on the GPU, "default" or fp32.
    n_gpus, n_nodes : the first is a multiple of the second; 1, and as many as the GPU's usual servers
    are. link : within a node, by default that of the GPU, which the beginning of its name also selects
    ("nvlink2" on a V100). fabric : between nodes, by default that of usual servers with the GPU.
    algorithm : of the collective, a ring by default. timed_parts : phases that the time includes, one of
    `TIMED_PARTS`; the whole iteration by default. layout, compilation : one of `LAYOUTS` and of
    `COMPILATIONS`, by default nchw and eager. tuned : whether training runs in a vendor's container with
    fused kernels. host_launch_s : time that the host needs to launch the kernels of one layer, in
    seconds; not known by default. allocation : GPUs of each node, such as "4,2,1", in place of both
    numbers. bucketed : whether gradients are reduced in buckets of about 25 MB, as PyTorch does by
    default; otherwise tensor by tensor. stack : kernels of 16-bit convolutions, one of `STACKS`; by
    default the stack that layout, compilation and `tuned` imply.
    """

    precision: str | None = None
    n_gpus: int | None = None
    n_nodes: int | None = None
    link: str | None = None
    fabric: str | None = None
    algorithm: str | None = None
    timed_parts: str | None = None
    layout: str | None = None
    compilation: str | None = None
    tuned: bool | None = None
    host_launch_s: float | None = None
    allocation: str | None = None
    bucketed: bool | None = None
    stack: str | None = None

    def __post_init__(self) -> None:
        """Raise InputError for a value of another kind, such as True for a number."""
        for setting in fields(self):
            kind, said = _KINDS[get_args(setting.type)[0]]
            value = getattr(self, setting.name)
            is_flag = isinstance(value, bool | np.bool_)
            is_right = is_flag if kind is bool else isinstance(value, kind) and not is_flag
            if value is not None and not is_right:
                raise InputError(f"expected {setting.name} as {said}, got {shown(value)}")

    @property
    def asked_precision(self) -> str | None:
        """The precision, None for PyTorch's default, however it is asked for."""
        return None if self.precision == "default" else self.precision


def configuration(
    *,
    cnn: str | Cnn | CnnCounts,
    gpu: str | Gpu,
    batch_per_gpu: int,
    precision: str | None = "fp32",
    input_size_px: int | None = None,
    n_classes: int | None = None,
    network: str | None = None,
    gpus: GpuCatalog | None = None,
    **setup: Any,
) -> RunTable:
    """Return the run table of one unmeasured configuration; its `time_s` is nan.

    Parameters
    ----------
    cnn : str, Cnn or CnnCounts
        A name of the zoo, a graph or its counts.
    gpu : str or Gpu
        A name in `gpus`, a name with overrides ("T4 with 2x bandwidth"), or a GPU.
    batch_per_gpu : int
        Images per iteration and GPU.
    precision : str, optional
        One of `PRECISIONS`; None for PyTorch's on the GPU, "default" or fp32.
    input_size_px, n_classes : int, optional
        Side of the square image in pixels, and classes; those usual for the CNN by default.
    network : str, optional
        Fabric between nodes; that of usual servers with the GPU by default.
    gpus : GpuCatalog, optional
        Known GPUs; the shipped ones by default.
    **setup : object
        The other fields of `Setup`, such as `n_gpus=8` or `layout="channels_last"`.

    Returns
    -------
    RunTable, one row

    Raises
    ------
    UnknownNameError
        A name is not known.
    InputError
        A number is out of range.

    Examples
    --------

    >>> configuration(cnn="resnet50", gpu="Tesla T4", batch_per_gpu=64).matrix(["macs"])
    array([[4.08918426e+09]])
    """
    catalog = gpus or built_in_gpus()
    chosen = gpu if isinstance(gpu, Gpu) else wanted_gpu(gpu, catalog)
    known = _counted(cnn, input_size_px, n_classes)
    row = configuration_row(known, chosen, batch_per_gpu, Setup(precision, fabric=network, **setup))
    return unmeasured_runs("configuration", [row], Facts(catalog.with_gpus([chosen]), (known,)))


def unmeasured_runs(name: str, rows: Iterable[Mapping[str, object]], facts: Facts) -> RunTable:
    """Return a run table of rows that `configuration_row` made; facts : of their GPUs and CNNs."""
    listed = list(rows)
    columns = {column: [row[column] for row in listed] for column in (listed[0] if listed else ())}
    defaults = _defaults(len(listed))
    return RunTable(name, _complete({**defaults, **columns}, defaults["gpu"].index), facts)


def configuration_row(cnn: CnnCounts, gpu: Gpu, batch_per_gpu: int, setup: Setup) -> dict[str, object]:
    """Return the row of one unmeasured configuration by column; raises as `configuration`."""
    server = usual_server(gpu.gpu)
    n_gpus, n_nodes, spread = _spread(setup, server)
    check_counts(batch_per_gpu, n_gpus, n_nodes, spread)
    timed_parts = setup.timed_parts or "forward+backward+optimizer"
    layout, compilation = setup.layout or layout_of(setup.stack), setup.compilation or "eager"
    precision, algorithm = setup.asked_precision or gpu.default_precision, setup.algorithm or "ring"
    check_name("precision", precision, PRECISIONS)
    check_name("algorithm", algorithm, ALGORITHMS)
    check_name("timed parts", timed_parts, TIMED_PARTS)
    check_name("layout", layout, LAYOUTS)
    check_name("compilation", compilation, COMPILATIONS)
    check_name("stack", STACKS[0] if setup.stack is None else setup.stack, STACKS)
    _check_host_launch(setup.host_launch_s)
    used_link = "none" if n_gpus == n_nodes else _link_name(gpu, setup.link)
    used_network = "none" if n_nodes == 1 else setup.fabric or server.fabric
    return {
        "gpu": gpu.gpu,
        "cnn": cnn.cnn,
        "input_size_px": cnn.input_size_px,
        "n_classes": cnn.n_classes,
        "batch_per_gpu": batch_per_gpu,
        "n_gpus": n_gpus,
        "n_nodes": n_nodes,
        "link": find_link(used_link).link,
        "network": find_link(used_network).link,
        "algorithm": "none" if n_gpus == 1 else algorithm,
        "allocation": spread,
        "bucketed": int(setup.bucketed is not False),
        "precision_stated": setup.asked_precision or BY_DEFAULT,
        "precision": precision,
        "timed_parts": timed_parts,
        "time_s": math.nan,
        "layout": layout,
        "compilation": compilation,
        "tuned": int(bool(setup.tuned)),
        "host_launch_s": math.nan if setup.host_launch_s is None else setup.host_launch_s,
        "stack": setup.stack,
        "n_repeats": 0,
        "source": "configuration",
    }


def _link_name(gpu: Gpu, link: str | None) -> str:
    """Return the name of a link; "nvlink2" selects that of the GPU if it is one, such as nvlink2-x6."""
    usual = gpu.usual_link
    if link is None or link in links():
        return link or usual
    return usual if usual.startswith(f"{link.strip().lower()}-") else link


def _counted(cnn: str | Cnn | CnnCounts, input_size_px: int | None, n_classes: int | None) -> CnnCounts:
    if isinstance(cnn, CnnCounts):
        return cnn
    return find_cnn_counts(cnn, input_size_px, n_classes) if isinstance(cnn, str) else CnnCounts.of(cnn)


def _check_host_launch(seconds: float | None) -> None:
    column = _COLUMNS["host_launch_s"]
    if seconds is not None and not column.low <= seconds <= column.high:
        raise InputError(f"expected host_launch_s as {column.expected}, got {shown(seconds)}")


def _spread(setup: Setup, server: Server) -> tuple[int, int, str]:
    """Return the numbers of GPUs and nodes, and the allocation as the column has it.

    Raises InputError where the numbers contradict the allocation.
    """
    n_gpus, n_nodes, allocation = setup.n_gpus, setup.n_nodes, setup.allocation
    n_gpus = 1 if n_gpus is None else n_gpus
    if allocation is None or allocation == EVEN:
        return n_gpus, server.nodes_of(n_gpus) if n_nodes is None else n_nodes, EVEN
    parts = gpus_of_nodes(allocation)
    for what, given, found in (("GPUs", n_gpus, sum(parts)), ("nodes", n_nodes, len(parts))):
        if given not in (None, 1, found):
            raise InputError(
                f"the allocation {allocation} has {found} {what}, got {given}; leave the number out"
            )
    spread = EVEN if len(set(parts)) == 1 else "+".join(map(str, parts))
    return sum(parts), len(parts), spread


def check_counts(batch_per_gpu: int, n_gpus: int = 1, n_nodes: int = 1, allocation: str = EVEN) -> None:
    """Raise InputError for numbers of images, GPUs or nodes that no run has."""
    check_limit("batch", batch_per_gpu, "batch_per_gpu")
    check_limit("n_gpus", n_gpus)
    check_limit("n_nodes", n_nodes)
    if allocation == EVEN and n_gpus % n_nodes:
        raise InputError(
            f"expected n_gpus as a multiple of n_nodes, got {n_gpus} GPUs on {n_nodes} nodes; an allocation "
            "such as 4,2,1 names the GPUs of each node"
        )
