"""The built-in runs on one GPU, without those that a fold holds out: more GPUs than a table of pairs has.

A fold's estimator gets numbers, no names. So a GPU is known by its multiprocessors and lanes, an architecture
by its layers; what the whole table has and the training rows lack is held out, and no run of it is used.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from trainlaw.app.error_tables import BY_CNN, BY_GPU
from trainlaw.datasets import RunTable, load

_GPU_FACTS = ("sm_count", "core_count")
_CNN_FACTS = ("n_layers", "n_conv", "conv_params")


@dataclass(frozen=True, eq=False)
class PlainRuns:
    """Features of runs, shape (n_runs, n_features), their seconds and GPU groups, (n_runs,)."""

    X: pd.DataFrame
    seconds: np.ndarray
    groups: np.ndarray


@dataclass(frozen=True, eq=False)
class Origins:
    """Numbers of a table's GPU groups and architectures by their facts; -1 where no built-in run has them.

    gpus, cnns : facts and a column `number`, one row per variant.
    """

    gpus: pd.DataFrame
    cnns: pd.DataFrame

    @classmethod
    def of(cls, X: pd.DataFrame, labels: pd.DataFrame) -> "Origins":
        """Return the origins of rows; X : features (n_rows, k), labels : GPU groups and architectures."""
        known = load("default").labels()
        parts = []
        for facts, label in ((_GPU_FACTS, BY_GPU), (_CNN_FACTS, BY_CNN)):
            numbers = {name: number for number, name in enumerate(sorted(set(known[label])))}
            rows = X[list(facts)].assign(number=[numbers.get(name, -1) for name in labels[label]])
            parts.append(rows.drop_duplicates().reset_index(drop=True))
        return cls(*parts)

    def runs_beside(self, X: pd.DataFrame, names: tuple[str, ...]) -> PlainRuns:
        """Return the built-in runs that training rows `X`, (n_rows, k), allow, with the features `names`."""
        runs = load("default")
        labels = runs.labels()
        allowed = np.ones(len(runs), dtype=bool)
        for table, facts, label in ((self.gpus, _GPU_FACTS, BY_GPU), (self.cnns, _CNN_FACTS, BY_CNN)):
            trained = set(X[list(facts)].drop_duplicates().merge(table, on=list(facts))["number"])
            unseen = set(table["number"]) - trained
            known = sorted(set(labels[label]))
            held_out = [known[number] for number in unseen if number >= 0]
            allowed &= ~labels[label].isin(held_out).to_numpy()
        return _plain(runs.where(allowed), names)


def _plain(runs: RunTable, names: tuple[str, ...]) -> PlainRuns:
    return PlainRuns(runs.features(names), runs.seconds, runs.labels()[BY_GPU].to_numpy(dtype=str))
