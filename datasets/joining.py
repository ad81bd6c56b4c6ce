"""Runs joined with the facts of their GPU, CNN and links: columns made on demand, never stored."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import numpy as np
import pandas as pd
from trainlaw.datasets.algorithms import ALGORITHMS
from trainlaw.datasets.cnn_facts import COUNT_COLUMNS, CnnFacts, find_cnn_facts, shipped_facts
from trainlaw.datasets.gpus import NUMBER_COLUMNS, GpuCatalog, built_in_gpus
from trainlaw.datasets.links import find_link
from trainlaw.datasets.precisions import PRECISIONS
from trainlaw.formulas.errors import unknown_name

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
    cnns: tuple[CnnFacts, ...] = ()

    def cnn(self, key: tuple[str, int, int]) -> CnnFacts:
        """Return the facts of a network by name, input size in pixels and number of classes.

        Raises UnknownNameError or InputError when it is neither shipped, nor added, nor in the zoo.
        """
        added = next((cnn for cnn in self.cnns if cnn.key == key), None)
        return added or shipped_facts().get(key) or find_cnn_facts(*key)


@cache
def built_in_facts() -> Facts:
    """Return the shipped facts."""
    return Facts(built_in_gpus())


class JoinedColumns(Mapping[str, np.ndarray]):
    """Columns of a run table and of the facts of each run by name; float64, shape (n_runs,)."""

    def __init__(self, runs: pd.DataFrame, facts: Facts) -> None:
        """Join `runs` (a frame of the runs schema) with `facts`.

        Raises UnknownNameError or InputError for a GPU, CNN, link or precision without facts.
        """
        self.runs = runs
        self.gpu_of_run, names = pd.factorize(runs["gpu"])
        self.gpus = [facts.gpus.find(name) for name in names]
        index = pd.MultiIndex.from_frame(runs[["cnn", "input_size_px", "n_classes"]])
        self.cnn_of_run, keys = pd.factorize(index)
        self.cnns = [facts.cnn((str(name), int(size), int(classes))) for name, size, classes in keys]

    def __getitem__(self, name: str) -> np.ndarray:
        """Return one column."""
        if name in COUNT_COLUMNS:
            return np.array([cnn.counts[name] for cnn in self.cnns])[self.cnn_of_run]
        if name in _OWN_COLUMNS:
            return _OWN_COLUMNS[name](self)
        if name in NUMBER_COLUMNS:
            return np.array([getattr(gpu, name) for gpu in self.gpus])[self.gpu_of_run]
        if name in RUN_NUMBERS:
            return self.runs[name].to_numpy(dtype=np.float64)
        raise unknown_name("column", name, self)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the columns."""
        return iter(_COLUMN_NAMES)

    def __len__(self) -> int:
        """Return the number of columns."""
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        """Return whether there is a column of that name, without computing it."""
        return name in _COLUMN_NAMES

    def looked_up(self, column: str, value_of: Callable[[str], float]) -> np.ndarray:
        """Return `value_of` each text of a run column; it is asked once per different text."""
        codes, texts = pd.factorize(self.runs[column])
        return np.array([value_of(str(text)) for text in texts], dtype=np.float64)[codes]

    def texts(self, column: str) -> np.ndarray:
        """Return a text column of the runs, their GPUs (`gpu_group`, ...) or their CNNs (`cnn_base`, ...)."""
        if column in ("gpu_group", "generation"):
            return np.array([getattr(gpu, column) for gpu in self.gpus], dtype=object)[self.gpu_of_run]
        if column in ("cnn_base", "cnn_family"):
            return np.array([getattr(cnn, column) for cnn in self.cnns], dtype=object)[self.cnn_of_run]
        return self.runs[column].to_numpy(dtype=object)


def _peak(columns: JoinedColumns) -> np.ndarray:
    # A code per precision and the peak of each, so that one pass over the runs suffices.
    code = columns.looked_up("precision", lambda text: list(PRECISIONS).index(text)).astype(np.intp)
    peaks = {row.peak_column: columns[row.peak_column] for row in PRECISIONS.values()}
    order = [list(peaks).index(row.peak_column) for row in PRECISIONS.values()]
    return np.choose(np.array(order)[code], list(peaks.values()))


def _peer_access(columns: JoinedColumns) -> np.ndarray:
    stated = columns.runs["peer_access"].to_numpy(dtype=np.float64)
    card = np.array([gpu.peer_access for gpu in columns.gpus])[columns.gpu_of_run]
    return np.where(np.isnan(stated), card, stated)


def _link_column(column: str, fact: str) -> Callable[[JoinedColumns], np.ndarray]:
    # Where there is no link (one GPU, one node), its facts are 0: it takes no time.
    return lambda columns: np.nan_to_num(
        columns.looked_up(column, lambda name: getattr(find_link(name), fact))
    )


_OWN_COLUMNS: Mapping[str, Callable[[JoinedColumns], np.ndarray]] = MappingProxyType(
    {
        "peak_flop_per_s": _peak,
        "bytes_per_element": lambda c: c.looked_up(
            "precision", lambda text: PRECISIONS[text].bytes_per_element
        ),
        "has_optimizer": lambda c: c.looked_up("timed_parts", lambda parts: "optimizer" in parts.split("+")),
        "has_input_copy": lambda c: c.looked_up("timed_parts", lambda parts: "copy" in parts.split("+")),
        "is_tensor_precision": lambda c: c.looked_up(
            "precision", lambda text: text not in ("fp32", "unknown")
        ),
        "algorithm_code": lambda c: c.looked_up("algorithm", ALGORITHMS.index),
        "peer_access": _peer_access,
        "link_byte_per_s": _link_column("link", "effective_byte_per_s"),
        "link_s_per_byte": _link_column("link", "s_per_byte"),
        "link_latency_s": _link_column("link", "latency_s"),
        "network_byte_per_s": _link_column("network", "effective_byte_per_s"),
        "network_s_per_byte": _link_column("network", "s_per_byte"),
        "network_latency_s": _link_column("network", "latency_s"),
    }
)
_COLUMN_NAMES = tuple(dict.fromkeys((*RUN_NUMBERS, *_OWN_COLUMNS, *NUMBER_COLUMNS, *COUNT_COLUMNS)))
