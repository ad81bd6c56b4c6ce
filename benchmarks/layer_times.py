"""Formulas of measured layers: held-out errors with those of all baselines, and known GPUs mixed at random.

python -m benchmarks.layer_times held-out [TABLE/KIND/PASS ...]   each GPU group held out in turn
python -m benchmarks.layer_times shapes [TABLE/KIND/PASS ...]     each family of shapes held out in turn
python -m benchmarks.layer_times mixed [TABLE/KIND/PASS ...]      a random fifth of the rows of all GPUs

Errors are means over all held-out rows, percent. The published error for known GPUs, 10.9 % (Justus, Brennan,
Bonner, McGough, "Predicting the computational cost of deep learning models", IEEE Big Data 2018), is that of
a perceptron on layers of these six GPUs, with rows split at random.
"""

import argparse
import time
from collections.abc import Mapping
from functools import partial
from typing import Self

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from trainlaw.app.studies.kinds.layer_times import LayerTimeSearch, layer_time_rows, read_layer_times
from trainlaw.evolve import SearchSettings
from trainlaw.validate import (
    EstimatorFactory,
    Split,
    leave_one_group_out,
    run_study,
)
from trainlaw.validate.baselines import baselines_for, title_of
from trainlaw.validate.baselines.learned import GradientBoosting

CONVOLUTIONS = ("neusight-layers/conv/forward", "cde-layers/conv/forward", "cde-layers/conv/train")
DENSE = ("neusight-layers/dense/forward", "cde-layers/dense/forward", "cde-layers/dense/train")
_SETTINGS = SearchSettings(evaluations=2_000, random_seed=0, islands=2, population=200)
#: As in `trainlaw study --of layer-times`.
SEARCH = partial(LayerTimeSearch, _SETTINGS)


class SearchPerGpu:
    """A formula for each GPU, identified by peak rate and bandwidth; for known GPUs only."""

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Search on the rows of each GPU; X : (n_layers, k). y, seconds, and groups : (n_layers,)."""
        keys = _gpu_keys(X)
        self.searches_ = {
            key: SEARCH().fit(X[keys == key], y[keys == key], _inner_groups(int((keys == key).sum())))
            for key in np.unique(keys)
        }
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_layers,)."""
        keys, found = _gpu_keys(X), np.full(len(X), np.nan)
        for key, search in self.searches_.items():
            found[keys == key] = search.predict(X[keys == key])
        return found


def _gpu_keys(X: pd.DataFrame) -> np.ndarray:
    return (X["peak_flop_per_s"].astype(str) + " " + X["bandwidth_byte_per_s"].astype(str)).to_numpy(str)


def _inner_groups(count: int) -> np.ndarray:
    """Return four groups of rows for the inner validation of a search on one GPU."""
    return (np.arange(count) % 4).astype(str)


class LongBoosting:
    """Boosting of ln(seconds / evolved formula) by absolute error, 800 trees.

    The loss is close to the reported error.
    """

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit; X : (n_layers, k). y, seconds, and groups : (n_layers,)."""
        self.search_ = SEARCH().fit(X, y, groups)
        boosting = HistGradientBoostingRegressor(
            loss="absolute_error", max_iter=800, learning_rate=0.05, min_samples_leaf=10, random_state=0
        )
        self.boosting_ = boosting.fit(X.to_numpy(dtype=float), np.log(y / self.search_.predict(X)))
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_layers,)."""
        return self.search_.predict(X) * np.exp(self.boosting_.predict(X.to_numpy(dtype=float)))


_MIXED: Mapping[str, EstimatorFactory] = {
    "formula": SEARCH,
    "formula per GPU": SearchPerGpu,
    "boosting on formula": partial(GradientBoosting, SEARCH),
    "boosting on formula per GPU": partial(GradientBoosting, SearchPerGpu),
    "long boosting on formula": LongBoosting,
}


def measure(text: str, part: str, only: str) -> None:
    """Print mean, median and each held-out group's error of the estimators whose names contain `only`."""
    rows = layer_time_rows(read_layer_times(text, None, ()))
    if part == "mixed":
        order = np.random.default_rng(0).permutation(len(rows.seconds))
        fifth = len(order) // 5
        splits = (Split("a random fifth", np.sort(order[fifth:]), np.sort(order[:fifth]), ()),)
        estimators = {**_MIXED, **baselines_for("measured_layer")}
    else:
        label = {"held-out": "gpu_group", "shapes": "cnn_base"}[part]
        splits = leave_one_group_out(rows.labels[label])
        estimators = {"formula": SEARCH, **baselines_for("measured_layer")}
    estimators = {name: factory for name, factory in estimators.items() if only in name}
    began = time.monotonic()
    result = run_study(rows.X, rows.seconds, rows.labels, splits, estimators)
    print(f"\n{text}, {part}: {len(result.predictions):,} rows, {time.monotonic() - began:.0f} s")
    groups = result.predictions["split"].to_numpy(str)
    for name in estimators:
        error = 100 * np.abs(result.predicted_s(name) / result.measured_s - 1)
        each = ", ".join(f"{group} {error[groups == group].mean():.1f}" for group in np.unique(groups))
        print(f"  {title_of(name):30} {error.mean():6.2f} / median {np.median(error):6.2f}   {each}")
    for (split, _), formula in result.formulas.items():
        print(f"  without {split}: {formula.text()}")


def main() -> None:
    """Measure the requested tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=["held-out", "shapes", "mixed"])
    parser.add_argument("tables", nargs="*", default=[*CONVOLUTIONS, *DENSE])
    parser.add_argument("--only", default="", help="estimators whose names contain this; default: all")
    arguments = parser.parse_args()
    for text in arguments.tables:
        measure(text, arguments.part, arguments.only)


if __name__ == "__main__":
    main()
