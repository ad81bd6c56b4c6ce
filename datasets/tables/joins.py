"""Joins of rows with the specifications of their GPU, CNN and links: columns computed on demand."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from trainlaw.datasets.cnns.catalog import COUNT_COLUMNS, CnnCounts, keyed_cnn_counts
from trainlaw.datasets.hardware.collectives import (
    ALGORITHMS,
    FEATURE_OF_ALGORITHM,
    algorithm_indicator,
    most_gpus_of_node,
)
from trainlaw.datasets.hardware.gpus import NUMBER_COLUMNS, Gpu, GpuCatalog, built_in_gpus
from trainlaw.datasets.hardware.links import find_link
from trainlaw.datasets.hardware.precisions import PRECISIONS
from trainlaw.formulas.errors import TrainlawError, check_name

RUN_NUMBERS = (
    "input_size_px",
    "n_classes",
    "batch_per_gpu",
    "n_gpus",
    "n_nodes",
    "time_s",
    "single_gpu_time_s",
)
#: Share of the eager launches that a compiler leaves: the median of inductor over 17 CNNs on an A100 (small
#: batches of DenseNet-121: 0.84), taken for XLA too. A CUDA graph launches an iteration at once.
LAUNCHES_LEFT: Mapping[str, float] = {"xla": 0.84, "inductor": 0.84, "cuda_graphs": 0.04}
# More codes than these would not fit into 64 bits.
_MOST_CODES = 2**62
#: Rows up to which arrays of columns are kept: of many, texts as objects take more than the table itself.
FEW_ROWS = 1_000
#: Computes a column when it is asked for, float64, shape (n_rows,): all columns of a million rows at once
#: would take gigabytes, and a formula uses few of them.
Maker = Callable[[], np.ndarray]


class GpuJoin:
    """A table with the text columns `gpu` and `precision`, joined with the GPU of each row."""

    def __init__(self, table: pd.DataFrame, gpus: GpuCatalog) -> None:
        """Find the GPU of each row; raises UnknownNameError for one that is not in the catalog."""
        self.table = table
        # Each GPU is looked up once, not once per row.
        self._gpu_of_row, names = coded(self._values("gpu"))
        self._gpus = [gpus.find(str(name)) for name in names]

    def makers(
        self, numbers: Iterable[str], rules: Mapping[str, Callable[["GpuJoin"], np.ndarray]]
    ) -> dict[str, Maker]:
        """Return how each column is computed: `numbers` of the table, of its GPUs, and by further `rules`."""
        rules = {
            "peak_flop_per_s": _peak,
            "bytes_per_element": lambda rows: rows.looked_up(
                "precision", lambda text: PRECISIONS[text].bytes_per_element
            ),
            **rules,
        }
        return {
            **{name: partial(self.number, name) for name in numbers},
            **{name: partial(self.gpu_number, name) for name in NUMBER_COLUMNS},
            **{name: partial(rule, self) for name, rule in rules.items()},
        }

    def number(self, column: str) -> NDArray[np.float64]:
        """Return a column of the table as numbers; nan where empty."""
        return self.table[column].to_numpy(dtype=np.float64, na_value=np.nan)

    def gpu_number(self, column: str) -> NDArray[np.float64]:
        """Return a specification of the GPU of each row, as `Gpu.number` gives it."""
        return np.array([gpu.number(column) for gpu in self._gpus], dtype=np.float64)[self._gpu_of_row]

    def looked_up(self, column: str, value_of: Callable[[str], float]) -> NDArray[np.float64]:
        """Return `value_of` each text of a column of the table, called once per different text."""
        codes, texts = coded(self._values(column))
        return np.array([value_of(str(text)) for text in texts], dtype=np.float64)[codes]

    def texts(self, column: str) -> NDArray[Any]:
        """Return a text of each row, dtype object: of its GPU (`gpu_group`, `generation`) or of the table."""
        if column in ("gpu_group", "generation"):
            return np.array([getattr(gpu, column) for gpu in self._gpus], dtype=object)[self._gpu_of_row]
        return np.asarray(self._values(column), dtype=object)

    def _values(self, column: str) -> pd.Series | NDArray[Any]:
        """Return a column of the table; of few rows as an array of objects."""
        return self.table[column] if len(self.table) > FEW_ROWS else self._kept[column]

    @cached_property
    def _kept(self) -> dict[str, NDArray[Any]]:
        return dict(zip(map(str, self.table), self.table.to_numpy(dtype=object).T, strict=True))


def _peak(rows: GpuJoin) -> np.ndarray:
    # A code per precision and the peak of each, so that one pass over the rows suffices.
    code = rows.looked_up("precision", _precision_code).astype(np.intp)
    return np.choose(code, [rows.gpu_number(row.peak_column) for row in PRECISIONS.values()])


def _precision_code(text: str) -> float:
    check_name("precision", text, PRECISIONS)
    return list(PRECISIONS).index(text)


@dataclass(frozen=True)
class Facts:
    """What runs are joined with: a catalog of GPUs, and CNNs beyond the shipped ones.

    usual_launch_s : launch time of the host where none is stated, s; None for that of each GPU's years.
    """

    gpus: GpuCatalog
    cnns: tuple[CnnCounts, ...] = ()
    usual_launch_s: float | None = None

    @classmethod
    def compared(cls, catalog: GpuCatalog, gpus: Sequence[Gpu], cnn: CnnCounts) -> "Facts":
        """Return the facts of a table that compares GPUs: all have one host, the slowest of theirs."""
        slowest = max((gpu.usual_launch_s for gpu in gpus), default=None)
        return cls(catalog.with_gpus(gpus), (cnn,), slowest)

    def cnn(self, key: tuple[str, int, int]) -> CnnCounts:
        """Return the counts of a CNN by name, input size in pixels and number of classes.

        Raises UnknownNameError or InputError when it is neither shipped, nor added, nor in the zoo.
        """
        return next((cnn for cnn in self.cnns if cnn.key == key), None) or keyed_cnn_counts(*key)


@cache
def built_in_facts() -> Facts:
    """Return the shipped GPUs and CNNs."""
    return Facts(built_in_gpus())


class RunJoin(GpuJoin):
    """Runs (a frame of the runs schema) joined with their GPU, CNN and links."""

    def __init__(self, runs: pd.DataFrame, facts: Facts) -> None:
        """Find the GPU and the CNN of each run; raises UnknownNameError for an unknown GPU.

        A CNN without counts raises only where a column needs them.
        """
        super().__init__(runs, facts.gpus)
        self.cnn_of_run, different = self.different(("cnn", "input_size_px", "n_classes"))
        self._facts = facts
        self._keys = [(str(name), int(size), int(classes)) for name, size, classes in different]

    def columns(self) -> dict[str, Maker]:
        """Return the rule of each column of the runs and of the tables joined with them.

        A column raises UnknownNameError or InputError for a link, algorithm or precision that is not known.
        """
        counts = {name: partial(self._count, name) for name in COUNT_COLUMNS}
        return {**self.makers(RUN_NUMBERS, _RULES), "usual_launch_s": self._usual_launch, **counts}

    def texts(self, column: str) -> NDArray[Any]:
        """Return a text of each run, dtype object: of its CNN (`cnn_base`, `cnn_family`), or as `GpuJoin`."""
        if column in ("cnn_base", "cnn_family"):
            names = [self._cnn_label(key, column) for key in self._keys]
            return np.array(names, dtype=object)[self.cnn_of_run]
        return super().texts(column)

    def different(self, columns: Sequence[str]) -> tuple[NDArray[np.intp], list[tuple[Any, ...]]]:
        """Return a number per run, equal where all columns are, and the different values by number.

        columns : of the runs, or labels as for `texts`.
        """
        keys = [self._values(name) if name in self.table else self.texts(name) for name in columns]
        numbers, first = numbered(keys)
        return numbers, list(zip(*(np.asarray(key)[first].tolist() for key in keys), strict=True))

    def _usual_launch(self) -> NDArray[np.float64]:
        """Return the launch time of the host of all runs, else of each GPU's usual one; s, (n_runs,)."""
        one = self._facts.usual_launch_s
        eager = self.gpu_number("usual_launch_s") if one is None else one
        return eager * self.looked_up("compilation", lambda text: LAUNCHES_LEFT.get(text, 1.0))

    @cached_property
    def cnns(self) -> list[CnnCounts]:
        """The different CNNs of the runs, in the order of their first run."""
        return [self._facts.cnn(key) for key in self._keys]

    def _count(self, name: str) -> NDArray[np.float64]:
        return np.array([cnn.counts[name] for cnn in self.cnns], dtype=np.float64)[self.cnn_of_run]

    def _cnn_label(self, key: tuple[str, int, int], column: str) -> str:
        """Return a label of a CNN, its name where it has no counts (only runs that are not pooled)."""
        try:
            return str(getattr(self._facts.cnn(key), column))
        except TrainlawError:
            return key[0] if column == "cnn_base" else "unknown"


def coded(key: pd.Series | NDArray[Any]) -> tuple[NDArray[np.intp], Any]:
    """Return a number per row, equal where the values are, counted as rows come, and the different values."""
    # A single prediction asks sixty times; `factorize` takes 0.1 ms for one row.
    if len(key) == 1:
        return np.zeros(1, dtype=np.intp), np.asarray(key)
    return pd.factorize(key, use_na_sentinel=False)


def numbered(keys: Iterable[pd.Series | NDArray[Any]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return a number per row, equal where all keys are, counted as rows come, and the first row of each."""
    code, most, keys = np.zeros(1, dtype=np.intp), 1, list(keys)
    if all(len(key) == 1 for key in keys):
        return code, code
    for key in keys:
        part, values = coded(key)
        if most * len(values) > _MOST_CODES:
            code = pd.factorize(code)[0]
            most = len(code)
        code, most = code * len(values) + part, most * len(values)
    number = pd.factorize(code)[0]
    return number, np.unique(number, return_index=True)[1]


def _peer_access(rows: GpuJoin) -> np.ndarray:
    # Most GPUs access each other's memory; a table of GPUs may leave it out.
    usual = np.nan_to_num(rows.gpu_number("peer_access"), nan=1.0)
    stated = rows.number("peer_access")
    return np.where(np.isnan(stated), usual, stated)


def _gpus_per_node(rows: GpuJoin) -> np.ndarray:
    """GPUs of the largest node: its ring is the slowest, and all nodes wait for it."""
    most = rows.looked_up("allocation", most_gpus_of_node)
    return np.where(np.isnan(most), rows.number("n_gpus") / rows.number("n_nodes"), most)


def _link_number(column: str, name: str) -> Callable[[GpuJoin], np.ndarray]:
    # Where there is no link (one GPU, one node), its figures are 0: it takes no time.
    return lambda rows: np.nan_to_num(rows.looked_up(column, lambda link: getattr(find_link(link), name)))


def _has_algorithm(feature: str) -> Callable[[GpuJoin], np.ndarray]:
    """Return the column that is 1 where the time of a run's algorithm is `feature`."""

    def is_own(text: str) -> float:
        check_name("algorithm", text, ALGORITHMS)
        return FEATURE_OF_ALGORITHM.get(text) == feature

    return lambda rows: rows.looked_up("algorithm", is_own)


def _includes(part: str) -> Callable[[GpuJoin], np.ndarray]:
    return lambda rows: rows.looked_up("timed_parts", lambda parts: part in parts.split("+"))


def _is(column: str, text: str) -> Callable[[GpuJoin], np.ndarray]:
    return lambda rows: (rows.texts(column) == text).astype(np.float64)


# PyTorch 1.12 has cuDNN 8.3, by which RegNetZ takes 0.15 of its time before on an RTX 3090.
_BEFORE_FAST_GROUPS = re.compile(r"1\.(\d|1[01])(\D.*)?")


def _is_slow_grouped(rows: GpuJoin) -> np.ndarray:
    is_torch = rows.looked_up("framework", lambda text: "torch" in text)
    is_old = rows.looked_up("framework_version", lambda text: bool(_BEFORE_FAST_GROUPS.fullmatch(text)))
    return _is("layout", "channels_last")(rows) * is_torch * is_old


_RULES: Mapping[str, Callable[[GpuJoin], np.ndarray]] = {
    "has_optimizer": _includes("optimizer"),
    "has_input_copy": _includes("copy"),
    "is_tensor_precision": lambda rows: rows.looked_up(
        "precision", lambda text: text not in ("fp32", "unknown")
    ),
    "has_fp32_dense": lambda rows: rows.looked_up("precision", lambda text: PRECISIONS[text].has_fp32_dense),
    "is_channels_last": _is("layout", "channels_last"),
    "is_tuned": lambda rows: rows.number("tuned"),
    "is_stack_channels_last": _is("stack", "channels_last"),
    "is_stack_fused": _is("stack", "fused"),
    "is_slow_grouped": _is_slow_grouped,
    "is_bucketed": lambda rows: rows.number("bucketed"),
    "gpus_per_node": _gpus_per_node,
    "stated_launch_s": lambda rows: np.nan_to_num(rows.number("host_launch_s")),
    **{algorithm_indicator(feature): _has_algorithm(feature) for feature in FEATURE_OF_ALGORITHM.values()},
    "exchange_rounds": lambda rows: np.ceil(np.log2(rows.number("n_gpus"))),
    "peer_access": _peer_access,
    "link_byte_per_s": _link_number("link", "effective_byte_per_s"),
    "link_s_per_byte": _link_number("link", "s_per_byte"),
    "link_latency_s": _link_number("link", "latency_s"),
    "network_byte_per_s": _link_number("network", "effective_byte_per_s"),
    "network_s_per_byte": _link_number("network", "s_per_byte"),
    "network_latency_s": _link_number("network", "latency_s"),
}
