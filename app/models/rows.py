"""What a formula is evaluated on: a row per run, or a row per layer of each run's network and their sums."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from trainlaw.datasets import CNN_LAYER_FEATURES, RunTable
from trainlaw.datasets.measurements.cnn_layer_rows import CnnLayers, run_layers
from trainlaw.formulas import Formula, InputError, RowSums
from trainlaw.formulas.errors import unknown_name

LAYER = "layer"  # what `Formula.summed_over` says of a law of one layer
#: What a law may be of, as `trainlaw study --of` names it.
RUNS, LAYERS = "runs", "layers"


def is_of_layers(formula: Formula) -> bool:
    """Return whether a formula is of one layer, to be summed over the layers of each network.

    Raises InputError for sums over anything else, UnknownNameError for a feature that no layer has.
    """
    if not formula.summed_over:
        return False
    if formula.summed_over != LAYER:
        raise InputError(
            f"expected a formula of runs or of each {LAYER}, got one of each {formula.summed_over}: export "
            "it to .py, .c, .js, .sql, .onnx or .json"
        )
    for spec in formula.used_features:
        if spec.name not in CNN_LAYER_FEATURES:
            raise unknown_name("feature of layers", spec.name, CNN_LAYER_FEATURES)
    return True


@dataclass(frozen=True, eq=False)
class FormulaRows:
    """Features by name and labels by name, each (n_rows,), which rows make up each run, which runs are known.

    `sums` is None where each row is a run; `known` is bool, shape (n_runs,).
    """

    columns: Mapping[str, np.ndarray]
    labels: Mapping[str, np.ndarray]
    sums: RowSums | None
    known: np.ndarray

    @classmethod
    def of(cls, formula: Formula, runs: RunTable, features: Sequence[str] | None = None) -> "FormulaRows":
        """Return the rows of runs with the features that a formula needs, or with others of its kind.

        Raises as `is_of_layers` and `run_layers`.
        """
        names = [spec.name for spec in formula.used_features] if features is None else list(features)
        labels = runs.labels()
        if is_of_layers(formula):
            rows = run_layers(runs)
            table = rows.features(names)
            columns = {name: table[name].to_numpy() for name in names}
            return cls(columns or _none(len(rows)), rows.labels(labels), rows.sums, rows.known)
        columns = dict(zip(names, runs.matrix(names).T, strict=True))
        return cls(columns, dict(labels), None, np.ones(len(runs), dtype=bool))

    def predict(self, formula: Formula) -> np.ndarray:
        """Return the target of each run, in its unit, float64, shape (n_runs,); nan where invalid."""
        return self.per_run(formula.predict(self.columns, self.labels, self.sums), np.nan)

    def of_runs(self, formula: Formula) -> dict[str, np.ndarray]:
        """Return the used features of known runs by name, each of shape (n_runs,).

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

    def any_of_run(self, of_rows: np.ndarray) -> np.ndarray:
        """Return whether anything holds for a row of each run; of_rows : bool, shape (n_rows,)."""
        if self.sums is None:
            return of_rows
        return self.per_run(self.sums.apply(of_rows.astype(float)) > 0, False)

    def per_run(self, values: np.ndarray, otherwise: float) -> np.ndarray:
        """Return values of known runs for all runs; `otherwise` is the value of the others."""
        if self.known.all():
            return values
        spread = np.full(len(self.known), otherwise, dtype=values.dtype)
        spread[self.known] = values
        return spread


def _none(length: int) -> dict[str, np.ndarray]:
    """A column that no formula uses, so that a formula without features knows the number of rows."""
    return {"": np.zeros(length)}


@dataclass(frozen=True, eq=False)
class Layout:
    """How a table of features of runs becomes the rows that a law is fitted to and evaluated on.

    networks : the layers of the networks for a law of layers, None for a law of runs.
    """

    networks: CnnLayers | None = None

    def rows(self, X: pd.DataFrame, names: Sequence[str]) -> FormulaRows:
        """Return the features of these names; `X` has all features of runs, shape (n_runs, n_features)."""
        if self.networks is None:
            return FormulaRows(
                {name: X[name].to_numpy() for name in names}, {}, None, np.ones(len(X), dtype=bool)
            )
        rows = self.networks.rows(X)
        features = rows.features(names)
        columns = {name: features[name].to_numpy() for name in names}
        return FormulaRows(columns or _none(len(rows)), {}, rows.sums, rows.known)
