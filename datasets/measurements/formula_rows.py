"""Design matrices: one row per run, or one row per layer of each run's CNN with a sum per run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from types import MappingProxyType

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
from trainlaw.datasets.hardware.gpus import NUMBER_COLUMNS, Gpu
from trainlaw.datasets.hardware.precisions import PRECISIONS
from trainlaw.datasets.measurements.runs import LABELS, RunTable
from trainlaw.datasets.tables.joins import Maker
from trainlaw.formulas.algebra.expression import variables
from trainlaw.formulas.algebra.row_sums import RowSums
from trainlaw.formulas.errors import InputError, TrainlawError
from trainlaw.formulas.formula import Formula

_SHOWN = 5  # names in a message
_RAW = {
    name for feature in CNN_LAYER_FEATURES for name in variables(written_out(CNN_LAYER_FEATURES, feature))
}
#: Base columns of runs, as a table of runs names them, that features of layers are made of.
RUN_BASE_COLUMNS: tuple[str, ...] = tuple(sorted(_RAW - {*CNN_LAYER_COLUMNS, "n_passes"}))
#: Counts that distinguish one CNN from another where no name is known.
SUMS = ("macs", "params", "activation_elements", "n_layers")

Factors = Mapping[str, float] | Mapping[str, np.ndarray]
_NO_FACTORS: Factors = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class FormulaRows:
    """The rows that a formula is evaluated on: one per run, or one per layer with a sum per run.

    Rows of layers of one run follow each other.

    Parameters
    ----------
    columns : mapping of str to ndarray, shape (n_rows,)
        Features by name, in the units of their specs.
    known : ndarray of bool, shape (n_runs,)
        Which runs have rows: those of a CNN whose layers are not known have none.
    sums : RowSums or None
        Which rows, how often each, make up each known run; None where each row is a run.
    labels : mapping of str to ndarray, shape (n_rows,)
        Labels by name; rows of layers also have `kind`.
    """

    columns: Mapping[str, np.ndarray]
    known: np.ndarray
    sums: RowSums | None = None
    labels: Mapping[str, np.ndarray] = field(default_factory=dict)

    def predict(self, formula: Formula, factors: Factors = _NO_FACTORS) -> np.ndarray:
        """Return the target of each run, in its unit, float64, shape (n_runs,); nan where invalid.

        factors : on columns, by name, each for all rows or (n_rows,).
        """
        scaled = {name: factor * self.columns[name] for name, factor in factors.items()}
        found = formula.predict({**self.columns, **scaled}, self.labels, self.sums)
        # A formula of constants alone has one value for all.
        return self.per_run(np.broadcast_to(found, (int(self.known.sum()),)).copy())

    def predict_scaled(self, formula: Formula, names: Sequence[str], factors: np.ndarray) -> np.ndarray:
        """Return the target of each run for several sets of factors on columns, (n_sets, n_runs).

        names : of the columns. factors : (n_sets, n_names); without names they only say how many.
        """
        if self.sums is not None:
            return np.array([self.predict(formula, dict(zip(names, one, strict=False))) for one in factors])
        # All sets at once: a formula of few runs takes as long as one of many.
        n_sets, n_runs = len(factors), len(self.known)
        labels = {name: np.tile(values, n_sets) for name, values in self.labels.items()}
        columns = {name: np.tile(values, n_sets) for name, values in self.columns.items()}
        repeated = FormulaRows(columns, np.tile(self.known, n_sets), labels=labels)
        of_rows = {name: np.repeat(one, n_runs) for name, one in zip(names, factors.T, strict=False)}
        return repeated.predict(formula, of_rows).reshape(n_sets, n_runs)

    def run_features(self, formula: Formula) -> dict[str, np.ndarray]:
        """Return the used features of known runs by name, each of shape (n_known,).

        A feature with a unit is summed over the layers of each run, a pure number averaged.
        """
        columns = {spec: self.columns[spec.name] for spec in formula.used_features}
        if self.sums is None:
            return {spec.name: column for spec, column in columns.items()}
        layers, found = self.sums.apply(np.ones(len(self.sums.row))), {}
        for spec, column in columns.items():
            total = self.sums.apply(column)
            found[spec.name] = total / layers if spec.unit.is_dimensionless else total
        return found

    def of_runs(self, chosen: np.ndarray) -> "FormulaRows":
        """Return the rows of some of the runs, bool (n_runs,); positions will do where each row is a run."""
        rows, sums = chosen, None
        if self.sums is not None:
            inside, sizes = chosen[self.known], np.diff(self.sums.start)
            rows, start = np.repeat(inside, sizes), np.concatenate([[0], np.cumsum(sizes[inside])])
            sums = RowSums(start, np.arange(start[-1]), self.sums.count[rows])
        columns = {name: values[rows] for name, values in self.columns.items()}
        labels = {name: values[rows] for name, values in self.labels.items()}
        return FormulaRows(columns, self.known[chosen], sums, labels)

    def any_per_run(self, flags: np.ndarray) -> np.ndarray:
        """Return whether a flag, bool (n_rows,), is set for any row of each run, shape (n_runs,)."""
        if self.sums is None:
            return flags
        return self.per_run(self.sums.apply(flags.astype(float)) > 0, False)

    def per_run(self, values: np.ndarray, otherwise: float = np.nan) -> np.ndarray:
        """Return values of known runs (n_known,) for all runs, shape (n_runs,), `otherwise` for the rest."""
        if self.known.all():
            return values
        spread = np.full(len(self.known), otherwise, dtype=values.dtype)
        spread[self.known] = values
        return spread


@dataclass(frozen=True, eq=False)
class CnnLayers:
    """The layers of several CNNs by their counts `SUMS`: an estimator sees counts, not names."""

    layers: Mapping[tuple[float, ...], DistinctLayers]

    @classmethod
    def of(cls, runs: RunTable) -> "CnnLayers":
        """Return the layers of the CNNs of the runs.

        Raises InputError, listing them, for CNNs whose layers are not known.
        """
        facts = runs.joined.cnns
        found = [_layers_of(item) for item in facts]
        _refuse_unknown([item.cnn for item, layers in zip(facts, found, strict=True) if layers is None])
        keys = [tuple(item.counts[name] for name in SUMS) for item in facts]
        return cls({key: layers for key, layers in zip(keys, found, strict=True) if layers is not None})

    def rows(
        self, runs: Mapping[str, Sequence[float]] | pd.DataFrame, names: Iterable[str] | None = None
    ) -> FormulaRows:
        """Return the layers of training runs with features of these names (None: all).

        `runs` has `SUMS` and `RUN_BASE_COLUMNS`, each (n_runs,). Runs of other CNNs have no rows. Raises
        InputError where no run is left.
        """
        keys = zip(*(np.asarray(runs[name], dtype=np.float64).tolist() for name in SUMS), strict=True)
        run_columns = {name: np.asarray(runs[name], dtype=np.float64) for name in RUN_BASE_COLUMNS}
        passes = np.full(len(next(iter(run_columns.values()))), TRAINING_PASSES)
        return _stacked([self.layers.get(key) for key in keys], {**run_columns, "n_passes": passes}, names)


def feature_rows(X: pd.DataFrame, names: Iterable[str], cnn_layers: CnnLayers | None = None) -> FormulaRows:
    """Return the rows of runs that are given as features, as an estimator sees them.

    X : all features of runs, shape (n_runs, n_features). names : of the formula's features. cnn_layers : for
    a formula of one layer; None where each row is a run.
    """
    if cnn_layers is not None:
        return cnn_layers.rows(X, names)
    return FormulaRows({name: X[name].to_numpy(dtype=float) for name in names}, np.ones(len(X), dtype=bool))


def run_rows(runs: RunTable, names: Iterable[str]) -> FormulaRows:
    """Return one row per run with features of these names; raises UnknownNameError for an unknown one."""
    names = list(names)
    columns = dict(zip(names, runs.matrix(names).T, strict=True))
    labels = {name: runs.joined.texts(name) for name in LABELS}
    return FormulaRows(columns, np.ones(len(runs), dtype=bool), labels=labels)


def run_layers(runs: RunTable, names: Iterable[str] | None = None, *, leave_out: bool = False) -> FormulaRows:
    """Return the layers of the CNNs of runs, and one row of kind "iteration" for each run.

    names : of features of layers, None for all. leave_out : leave out runs whose CNN the zoo does not have,
    instead of raising InputError that lists them.

    >>> from trainlaw.datasets import configuration
    >>> rows = run_layers(configuration(cnn="vgg16", gpu="T4", batch_per_gpu=8), ["macs"])
    >>> rows.sums.apply(rows.columns["macs"]).tolist()
    [15470264320.0]
    """
    facts = runs.joined.cnns
    found = [_layers_of(item) for item in facts]
    unknown = [item.cnn for item, layers in zip(facts, found, strict=True) if layers is None]
    if not leave_out or len(unknown) == len(facts):
        _refuse_unknown(unknown)
    features = runs.features(RUN_BASE_COLUMNS)
    parts = runs.frame["timed_parts"].astype(str)
    passes = np.where(parts.str.contains("backward"), TRAINING_PASSES, 1.0)
    run_columns = {name: features[name].to_numpy() for name in RUN_BASE_COLUMNS}
    layers = [found[place] for place in runs.joined.cnn_of_run]
    return _stacked(layers, {**run_columns, "n_passes": passes}, names, runs.labels())


def layer_columns(
    cnn: Cnn, gpu: Gpu, batch: int, passes: int, names: Iterable[str] | None = None
) -> dict[str, np.ndarray]:
    """Return features of each layer of a CNN in fp32, by name, float64, shape (n_layers,).

    Units are those of their specs. batch : images. passes : 1 forward, 3 in training. names : of
    `CNN_LAYER_FEATURES`, None for all. What a run has once is 0, but in the row of an input. Raises
    UnknownNameError for an unknown feature.

    >>> from trainlaw.datasets import find_gpu
    >>> from trainlaw.datasets.cnns.zoo import build
    >>> layer_columns(build("lenet5"), find_gpu("T4"), 64, 3)["layer_launch_s"][:2].tolist()
    [0.0, 1e-05]
    """
    numbers = PRECISIONS["fp32"]
    known = {
        "batch_per_gpu": float(batch),
        "n_passes": float(passes),
        "bytes_per_element": numbers.bytes_per_element,
        "peak_flop_per_s": getattr(gpu, numbers.peak_column),
        **{name: gpu.number(name) for name in NUMBER_COLUMNS},
    }
    run_columns = {name: np.array([known.get(name, 0.0)]) for name in (*RUN_BASE_COLUMNS, "n_passes")}
    facts, index = layer_facts(cnn), pd.RangeIndex(len(cnn.layers))
    columns = _base_columns(facts, run_columns, np.zeros(len(index), dtype=int))
    table = feature_block(CNN_LAYER_FEATURES, columns, index, names)
    return {str(name): table[name].to_numpy() for name in table.columns}


def _layers_of(facts: CnnCounts) -> DistinctLayers | None:
    if facts.custom_graph is not None:
        return DistinctLayers.of(facts.custom_graph)
    try:
        return zoo_layers(facts.key)
    except TrainlawError:
        return None  # a CNN of which only sums are known


@lru_cache(maxsize=1024)
def zoo_layers(key: tuple[str, int, int]) -> DistinctLayers:
    """Return the distinct layers of the zoo's CNN of a name, input size in pixels and class count.

    Raises UnknownNameError or InputError where the zoo has none or cannot build it at that size.
    """
    return DistinctLayers.of(build(*key))


def _refuse_unknown(names: Sequence[str]) -> None:
    if names:
        listed = ", ".join(sorted(set(names))[:_SHOWN])
        more = f" and {len(set(names)) - _SHOWN} more" if len(set(names)) > _SHOWN else ""
        raise InputError(
            f"expected CNNs whose layers are known, got {listed}{more}: choose CNNs of "
            "`trainlaw cnn list`, or give a file of the CNN"
        )


def _base_columns(
    facts: np.ndarray, run_columns: Mapping[str, np.ndarray], run: np.ndarray
) -> dict[str, Maker]:
    """Return how base columns are computed, by name: those of layers, and those of runs for their layers.

    facts : shape (n_rows, n_facts). run_columns : shape (n_runs,). run : of each row, shape (n_rows,).
    """
    runs = {name: partial(values.take, run) for name, values in run_columns.items()}
    layers = {name: partial(facts.T.__getitem__, place) for place, name in enumerate(CNN_LAYER_COLUMNS)}
    return {**runs, **layers}


def _stacked(
    layers: Sequence[DistinctLayers | None],
    run_columns: Mapping[str, np.ndarray],
    names: Iterable[str] | None,
    run_labels: pd.DataFrame | None = None,
) -> FormulaRows:
    """Return the layers of all runs as one block; run_labels : of the runs, (n_runs, k), or None."""
    known = np.array([item is not None for item in layers])
    present = [item for item in layers if item is not None]
    if not present:
        raise InputError("expected at least one run of a CNN whose layers are known, got none")
    sizes = np.array([len(item.count) for item in present])
    start = np.concatenate([[0], np.cumsum(sizes)])
    sums = RowSums(start, np.arange(start[-1]), np.concatenate([item.count for item in present]))
    run = np.repeat(np.flatnonzero(known), sizes)
    base = _base_columns(np.concatenate([item.facts for item in present]), run_columns, run)
    table = feature_block(CNN_LAYER_FEATURES, base, pd.RangeIndex(len(run)), names)
    columns = {str(name): table[name].to_numpy() for name in table.columns}
    # A column that no formula uses, so that a formula without features knows the number of rows.
    columns = columns or {"": np.zeros(len(run))}
    labels = {}
    if run_labels is not None:
        labels = {str(name): run_labels[name].to_numpy(dtype=object)[run] for name in run_labels.columns}
        labels["kind"] = np.array([kind for item in present for kind in item.kinds], dtype=object)
    return FormulaRows(columns, known, sums, labels)
