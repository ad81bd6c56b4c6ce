"""Errors on held-out GPUs at equal time: every GPU group of `fp32-2026` is one fold."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
import pandas as pd
from trainlaw.app.studies.clusters import Place
from trainlaw.app.studies.skeleton import RUN_SKELETON
from trainlaw.datasets import TARGET, feature_specs, load
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.validate import leave_one_group_out, run_study
from trainlaw.validate.baselines import baselines_for, named_baselines, title_of

# Baselines without a search, the null models first.
CHEAP = ("null_compute", "roofline", "nnls_path", "cf9", "gradient_boosting")


class TimedSearch:
    """A search with default settings and a time limit, on one thread."""

    def __init__(self, limit_seconds: float, random_seed: int = 0) -> None:
        """Store the settings."""
        self.settings = SearchSettings(evaluations=None, limit_seconds=limit_seconds, random_seed=random_seed)

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Search for seconds `y`, (n_runs,); `groups` are the GPU groups of the training rows."""
        self.search_ = FormulaRegressor(feature_specs(RUN_SKELETON.names), TARGET, self.settings)
        self.search_.fit(X[list(RUN_SKELETON.names)], y, groups=groups)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, (n_runs,), by the chosen formula."""
        return self.search_.predict(X[list(RUN_SKELETON.names)])


def held_out_rows(
    limit_seconds: float, workers: int, engines: Sequence[str], place: Place | None = None
) -> list[dict[str, object]]:
    """Return one row per estimator: held-out error as mean over GPU groups, mean over runs, and median.

    engines : names of those that search. place : where the fits run instead of in `workers` processes.
    """
    runs = load("fp32-2026")
    searches: dict[str, Callable[[], Any]] = {"trainlaw": partial(TimedSearch, limit_seconds)}
    searches |= {
        name: partial(factory, limit_seconds=limit_seconds)
        for name, factory in baselines_for("run", "engine").items()
        if name in engines
    }
    baselines = named_baselines(*CHEAP)
    labels = runs.labels()
    where = place or Place(workers=workers)
    result = run_study(
        runs.features(),
        runs.seconds,
        labels,
        leave_one_group_out(labels["gpu_group"]),
        searches | baselines,
        progress=lambda done: print(done, flush=True),
        **where,
    )
    table = result.summary().set_index("estimator")
    return [
        {
            "estimator": name if name in searches else title_of(name),
            "seconds per fold": limit_seconds if name in searches else "no search",
            "mean over GPU groups %": float(table.loc[name, "macro_gpu_group_mape_percent"]),
            "mean over runs %": float(table.loc[name, "mape_percent"]),
            "median %": float(table.loc[name, "median_ape_percent"]),
        }
        for name in (*searches, *baselines)
    ]
