"""Runs joined with the facts of their GPU, CNN and links: columns made on demand, never stored."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from types import MappingProxyType

import numpy as np
import pandas as pd
from trainlaw.datasets.cnns.catalog import COUNT_COLUMNS, CnnCounts, find_cnn_counts
from trainlaw.datasets.hardware.collectives import ALGORITHMS, FEATURE_OF_ALGORITHM, algorithm_indicator
from trainlaw.datasets.hardware.gpus import GpuCatalog, built_in_gpus
from trainlaw.datasets.hardware.links import find_link
from trainlaw.datasets.tables.gpu_columns import GpuColumns
from trainlaw.formulas.errors import TrainlawError, unknown_name

RUN_NUMBERS = (
    "input_size_px",
    "n_classes",
    "batch_per_gpu",
    "n_gpus",
    "n_nodes",
    "time_s",
    "single_gpu_time_s",
)


@dataclass(frozen=True)
class Facts:
    """What runs are joined with: a catalog of cards, and networks beyond the shipped ones."""

    gpus: GpuCatalog
    cnns: tuple[CnnCounts, ...] = ()

    def cnn(self, key: tuple[str, int, int]) -> CnnCounts:
        """Return the facts of a network by name, input size in pixels and number of classes.

        Raises UnknownNameError or InputError when it is neither shipped, nor added, nor in the zoo.
        """
        added = next((cnn for cnn in self.cnns if cnn.key == key), None)
        return added or find_cnn_counts(*key)


@cache
def built_in_facts() -> Facts:
    """Return the shipped facts."""
    return Facts(built_in_gpus())


class JoinedColumns(GpuColumns):
    """Columns of a run table and of the facts of each run by name; float64, shape (n_runs,)."""

    def __init__(self, runs: pd.DataFrame, facts: Facts) -> None:
        """Join `runs` (a frame of the runs schema) with `facts`.

        Raises UnknownNameError or InputError for a GPU, link, algorithm or precision without facts; a CNN
        without counts raises where a column needs them.
        """
        super().__init__(runs, facts.gpus, RUN_NUMBERS, _COMPUTED)
        key_columns = ["cnn", "input_size_px", "n_classes"]
        self.cnn_of_run = runs.groupby(key_columns, sort=False, dropna=False).ngroup().to_numpy()
        first = runs[key_columns].drop_duplicates().itertuples(index=False, name=None)
        self._facts = facts
        self._keys = [(str(name), int(size), int(classes)) for name, size, classes in first]

    @cached_property
    def cnns(self) -> list[CnnCounts]:
        """The different CNNs of the runs, in the order of their first run."""
        return [self._facts.cnn(key) for key in self._keys]

    def __getitem__(self, name: str) -> np.ndarray:
        """Return one column; raises UnknownNameError."""
        if name in COUNT_COLUMNS:
            return np.array([cnn.counts[name] for cnn in self.cnns], dtype=np.float64)[self.cnn_of_run]
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        """Return whether there is a column of that name, without computing it."""
        return name in COUNT_COLUMNS or super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the columns."""
        return iter((*super().__iter__(), *COUNT_COLUMNS))

    def texts(self, column: str) -> np.ndarray:
        """Return a text of each run, dtype object: also of its CNN (`cnn_base`, `cnn_family`)."""
        if column in ("cnn_base", "cnn_family"):
            names = [self._cnn_label(key, column) for key in self._keys]
            return np.array(names, dtype=object)[self.cnn_of_run]
        return super().texts(column)

    def _cnn_label(self, key: tuple[str, int, int], column: str) -> str:
        """Return a label of a CNN: its own name where it has no counts, as a run that is not pooled may."""
        try:
            return str(getattr(self._facts.cnn(key), column))
        except TrainlawError:
            return key[0] if column == "cnn_base" else "unknown"


def _peer_access(columns: GpuColumns) -> np.ndarray:
    stated = columns.table["peer_access"].to_numpy(dtype=np.float64)
    return np.where(np.isnan(stated), columns.of_gpu("peer_access"), stated)


def _link_column(column: str, fact: str) -> Callable[[GpuColumns], np.ndarray]:
    # Where there is no link (one GPU, one node), its facts are 0: it takes no time.
    return lambda columns: np.nan_to_num(
        columns.looked_up(column, lambda name: getattr(find_link(name), fact))
    )


def _takes(feature: str) -> Callable[[GpuColumns], np.ndarray]:
    """Return the column that is 1 where a run's algorithm takes the time `feature`."""

    def is_own(text: str) -> float:
        if text not in ALGORITHMS:
            raise unknown_name("algorithm", text, ALGORITHMS)
        return FEATURE_OF_ALGORITHM.get(text) == feature

    return lambda columns: columns.looked_up("algorithm", is_own)


def _base_clock(columns: GpuColumns) -> np.ndarray:
    known = columns.of_gpu("base_clock_hz")
    return np.where(np.isnan(known), columns.of_gpu("boost_clock_hz"), known)


def _times_part(part: str) -> Callable[[GpuColumns], np.ndarray]:
    return lambda columns: columns.looked_up("timed_parts", lambda parts: part in parts.split("+"))


_COMPUTED: Mapping[str, Callable[[GpuColumns], np.ndarray]] = MappingProxyType(
    {
        "has_optimizer": _times_part("optimizer"),
        "has_input_copy": _times_part("copy"),
        "is_tensor_precision": lambda c: c.looked_up(
            "precision", lambda text: text not in ("fp32", "unknown")
        ),
        **{algorithm_indicator(feature): _takes(feature) for feature in FEATURE_OF_ALGORITHM.values()},
        "exchange_rounds": lambda c: np.ceil(np.log2(c["n_gpus"])),
        "base_clock_hz": _base_clock,
        "peer_access": _peer_access,
        "link_byte_per_s": _link_column("link", "effective_byte_per_s"),
        "link_s_per_byte": _link_column("link", "s_per_byte"),
        "link_latency_s": _link_column("link", "latency_s"),
        "network_byte_per_s": _link_column("network", "effective_byte_per_s"),
        "network_s_per_byte": _link_column("network", "s_per_byte"),
        "network_latency_s": _link_column("network", "latency_s"),
    }
)
