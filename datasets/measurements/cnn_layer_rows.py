"""The layers of the network of each run, as rows with the features that a law of one layer needs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pandas as pd
from trainlaw.datasets.cnns.catalog import CnnCounts
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.zoo import build
from trainlaw.datasets.features.cnn_layer_features import (
    CNN_LAYER_COLUMNS,
    CNN_LAYER_FEATURES,
    TRAINING_PASSES,
    DistinctLayers,
    layer_facts,
)
from trainlaw.datasets.features.feature import feature_block, written_out
from trainlaw.datasets.hardware.gpus import Gpu
from trainlaw.datasets.hardware.precisions import PRECISIONS
from trainlaw.datasets.measurements.runs import RunTable
from trainlaw.formulas.errors import InputError, TrainlawError, unknown_name
from trainlaw.formulas.expression import variables
from trainlaw.formulas.row_sums import RowSums

_SHOWN = 5
#: What a run's features call a raw column of layers otherwise.
RUN_FEATURE_NAMES: Mapping[str, str] = {"batch": "batch_per_gpu"}
_RAW = {
    name for feature in CNN_LAYER_FEATURES for name in variables(written_out(CNN_LAYER_FEATURES, feature))
}
#: Raw columns of runs, as a table of runs names them, that features of layers are made of.
RUN_BASE_COLUMNS: tuple[str, ...] = tuple(
    sorted(RUN_FEATURE_NAMES.get(name, name) for name in _RAW - {*CNN_LAYER_COLUMNS, "n_passes"})
)
#: Counts that tell one network from another where no name is known.
SUMS = ("macs", "params", "activation_elements", "n_layers")


@dataclass(frozen=True, eq=False)
class LayerRows:
    """Rows of layers; those of one run follow each other.

    sums : which rows, how often each, make up each known run. run : run of each row, int64, shape (n_rows,),
    counted among all runs. known : whether the layers of a run are known, bool, shape (n_runs,); only such
    runs have sums. kinds : kind of each row, text, shape (n_rows,).
    """

    sums: RowSums
    run: np.ndarray
    known: np.ndarray
    kinds: np.ndarray
    _columns: Mapping[str, np.ndarray] = field(repr=False)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.run)

    def features(self, names: Iterable[str] | None = None) -> pd.DataFrame:
        """Return features of layers (None: all), float64, shape (n_rows, k), in the units of their specs.

        Raises UnknownNameError for an unknown feature.
        """
        index = pd.RangeIndex(len(self.run))
        return feature_block(CNN_LAYER_FEATURES, self._columns, index, names)

    def labels(self, labels: pd.DataFrame) -> dict[str, np.ndarray]:
        """Return the labels of runs (n_runs, k) per row, by name, and `kind`, each of shape (n_rows,)."""
        of_rows = {str(name): labels[name].to_numpy(dtype=object)[self.run] for name in labels.columns}
        return {**of_rows, "kind": self.kinds}

    def per_run(self, values: np.ndarray) -> np.ndarray:
        """Return values of the known runs (n_known,) for all runs, shape (n_runs,), nan for the others."""
        spread = np.full(len(self.known), np.nan)
        spread[self.known] = values
        return spread


@dataclass(frozen=True, eq=False)
class CnnLayers:
    """The layers of several networks by their counts `SUMS`, for those who may not know their names."""

    layers: Mapping[tuple[float, ...], DistinctLayers]

    @classmethod
    def of(cls, runs: RunTable) -> "CnnLayers":
        """Return the networks of the runs.

        Raises InputError, listing them, for networks whose layers are not known.
        """
        _, facts = _networks(runs)
        found = _known_layers(facts)
        _refuse_unknown([item.cnn for item, layers in zip(facts, found, strict=True) if layers is None])
        keys = [tuple(item.counts[name] for name in SUMS) for item in facts]
        return cls({key: layers for key, layers in zip(keys, found, strict=True) if layers is not None})

    def rows(self, runs: Mapping[str, Sequence[float]] | pd.DataFrame) -> LayerRows:
        """Return the layers of training runs; `runs` has `SUMS` and `RUN_BASE_COLUMNS`, each (n_runs,).

        Runs of other networks are left out. Raises InputError where no run is left.
        """
        keys = zip(*(np.asarray(runs[name], dtype=np.float64).tolist() for name in SUMS), strict=True)
        of_runs = {name: np.asarray(runs[name], dtype=np.float64) for name in RUN_BASE_COLUMNS}
        passes = np.full(len(next(iter(of_runs.values()))), TRAINING_PASSES)
        return _rows([self.layers.get(key) for key in keys], {**of_runs, "n_passes": passes})


def run_layers(runs: RunTable, *, leave_out: bool = False) -> LayerRows:
    """Return the layers of the networks of runs, and one row of kind "iteration" for each run.

    leave_out : leave out runs whose network the zoo does not have, instead of raising InputError that lists
    them.

    >>> from trainlaw.datasets import configuration
    >>> rows = run_layers(configuration(cnn="vgg16", gpu="T4", batch_per_gpu=8))
    >>> rows.sums.apply(rows.features(["macs"])["macs"].to_numpy()).tolist()
    [123762114560.0]
    """
    places, facts = _networks(runs)
    found = _known_layers(facts)
    unknown = [item.cnn for item, layers in zip(facts, found, strict=True) if layers is None]
    if not leave_out or len(unknown) == len(facts):
        _refuse_unknown(unknown)
    features = runs.features(RUN_BASE_COLUMNS)
    parts = runs.frame["timed_parts"].astype(str)
    passes = np.where(parts.str.contains("backward"), TRAINING_PASSES, 1.0)
    of_runs = {name: features[name].to_numpy() for name in RUN_BASE_COLUMNS}
    return _rows([found[place] for place in places], {**of_runs, "n_passes": passes})


def layer_columns(
    cnn: Cnn,
    gpu: Gpu,
    batch: int,
    passes: int,
    *,
    precision: str = "fp32",
    names: Iterable[str] | None = None,
) -> dict[str, np.ndarray]:
    """Return features of each layer of a network, by name, float64, shape (n_layers,), units as their specs.

    batch : images. passes : 1 forward, 3 in training. names : of `CNN_LAYER_FEATURES`, None for all. What
    a run has once is 0, but in the row of an input. Raises UnknownNameError for an unknown precision or
    feature.

    >>> from trainlaw.datasets import find_cnn, find_gpu
    >>> layer_columns(find_cnn("lenet5"), find_gpu("T4"), 64, 1)["launch_s"][:2].tolist()
    [0.0, 1e-05]
    """
    if precision not in PRECISIONS:
        raise unknown_name("precision", precision, PRECISIONS)
    numbers = PRECISIONS[precision]
    known = {
        "batch_per_gpu": float(batch),
        "n_passes": float(passes),
        "bytes_per_element": numbers.bytes_per_element,
        "peak_flop_per_s": getattr(gpu, numbers.peak_column),
        "base_clock_hz": gpu.boost_clock_hz if np.isnan(gpu.base_clock_hz) else gpu.base_clock_hz,
    }
    of_run = {
        name: np.array([known.get(name, getattr(gpu, name, 0.0))]) for name in (*RUN_BASE_COLUMNS, "n_passes")
    }
    facts, index = layer_facts(cnn), pd.RangeIndex(len(cnn.layers))
    columns = _Columns(facts, of_run, np.zeros(len(index), dtype=int))
    table = feature_block(CNN_LAYER_FEATURES, columns, index, names)
    return {str(name): table[name].to_numpy() for name in table.columns}


def _networks(runs: RunTable) -> tuple[np.ndarray, list[CnnCounts]]:
    """Return which network each run is of, and the networks."""
    keys = runs.frame[["cnn", "input_size_px", "n_classes"]]
    places = keys.groupby(list(keys.columns), sort=False).ngroup().to_numpy()
    different = keys.drop_duplicates().itertuples(index=False, name=None)
    return places, [runs.facts.cnn((str(name), int(size), int(classes))) for name, size, classes in different]


def _known_layers(facts: Iterable[CnnCounts]) -> list[DistinctLayers | None]:
    return [_layers_of(item) for item in facts]


def _layers_of(facts: CnnCounts) -> DistinctLayers | None:
    if facts.graph is not None:
        return DistinctLayers.of(facts.graph)
    try:
        return zoo_layers(facts.key)
    except TrainlawError:
        return None  # a network of which only sums are known


@lru_cache(maxsize=1024)
def zoo_layers(key: tuple[str, int, int]) -> DistinctLayers:
    """Return the distinct layers of the zoo's network of a name, input size in pixels and class count.

    Raises UnknownNameError or InputError where the zoo has none or cannot build it at that size.
    """
    return DistinctLayers.of(build(*key))


def _refuse_unknown(names: Sequence[str]) -> None:
    if names:
        listed = ", ".join(sorted(set(names))[:_SHOWN])
        more = f" and {len(set(names)) - _SHOWN} more" if len(set(names)) > _SHOWN else ""
        raise InputError(
            f"expected networks whose layers are known, got {listed}{more}: choose networks of "
            "`trainlaw cnn list`, or give a file of the network"
        )


class _Columns(Mapping[str, np.ndarray]):
    """Raw columns by name, float64, shape (n_rows,): facts of layers, and columns of runs for each layer."""

    def __init__(self, facts: np.ndarray, of_runs: Mapping[str, np.ndarray], run: np.ndarray) -> None:
        self.facts = facts
        self.of_runs = of_runs
        self.run = run
        self.places = {name: place for place, name in enumerate(CNN_LAYER_COLUMNS)}

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self.places:
            return self.facts[:, self.places[name]]
        return self.of_runs[RUN_FEATURE_NAMES.get(name, name)][self.run]

    def __contains__(self, name: object) -> bool:
        return name in self.places or RUN_FEATURE_NAMES.get(str(name), name) in self.of_runs

    def __iter__(self) -> Iterator[str]:
        return iter((*self.places, *self.of_runs))

    def __len__(self) -> int:
        return len(self.places) + len(self.of_runs)


def _rows(layers: Sequence[DistinctLayers | None], of_runs: Mapping[str, np.ndarray]) -> LayerRows:
    known = np.array([item is not None for item in layers])
    present = [item for item in layers if item is not None]
    if not present:
        raise InputError("expected at least one run of a network whose layers are known, got none")
    sizes = np.array([len(item.count) for item in present])
    start = np.concatenate([[0], np.cumsum(sizes)])
    sums = RowSums(start, np.arange(start[-1]), np.concatenate([item.count for item in present]))
    run = np.repeat(np.flatnonzero(known), sizes)
    kinds = np.array([kind for item in present for kind in item.kinds], dtype=object)
    facts = np.concatenate([item.facts for item in present])
    return LayerRows(sums, run, known, kinds, _Columns(facts, of_runs, run))
