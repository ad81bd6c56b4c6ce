"""Formulas of the iteration on several GPUs, from the measured time of the same configuration on one."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.app.inputs.tables import any_table
from trainlaw.app.studies.kinds.kind import StudyKind, StudyRows, study_labels
from trainlaw.app.studies.search import evolved, predicted_seconds
from trainlaw.datasets import FEATURES, TARGET, RunTable, feature_specs
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.formulas import InputError, parse_text
from trainlaw.formulas.scopes import MULTI_GPU
from trainlaw.validate.baselines import baselines_for

MULTI = "multi"
#: Terms required where they vary among the rows: computing, all-reduce in a node, across nodes, its calls.
REQUIRED = (SINGLE_GPU_TIME, "exchange_transfer_s", "network_transfer_s", "exchange_launch_s")
SCALING_TERMS = (*REQUIRED, "server_transfer_s", "iteration_overhead_s")


class ScalingSearch:
    """Evolves a scaling formula: a sum of times on top of the whole time on one GPU.

    Maxima (overlap with computing) and factors of pure numbers fit better and transfer worse: see
    docs/several-gpus.md. After `fit`: `formula_`, `front_`.
    """

    def __init__(self, settings: SearchSettings) -> None:
        """Keep the settings of the search, to which `fit` adds those of such formulas."""
        self.settings = settings

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Search; X : features of runs, (n_runs, k). y, seconds, and groups : (n_runs,)."""
        known = [name for name in SCALING_TERMS if X[name].nunique() > 1]
        required = tuple(name for name in REQUIRED if name in known)
        try:
            search = self._search(known, required).fit(X, y, groups)
        except InputError:
            # A term may fit best with weight zero, so that no formula has it: then none is required.
            search = self._search(known, ()).fit(X, y, groups)
        self.formula_, self.front_ = search.formula_, search.front_
        return self

    def _search(self, known: Sequence[str], required: tuple[str, ...]) -> FormulaRegressor:
        # The form to start from; its constants are fitted on the training rows.
        form = " + ".join(name for name in known if name != "iteration_overhead_s")
        settings = replace(
            self.settings,
            operators=("add",),
            required_features=required,
            constant_ranges=((SINGLE_GPU_TIME, 1.0, 1.0),),
            seeds=(parse_text(form),),
        )
        return evolved(feature_specs(SCALING_TERMS), TARGET, settings, MULTI_GPU)

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return predicted_seconds(self.formula_, X)


def several_gpu_rows(table: RunTable) -> StudyRows:
    """Return all features, seconds and labels of runs; these have `algorithm` and `nodes`, and no `batch`."""
    frame = table.frame
    labels = study_labels(table).drop(columns="batch")
    labels["algorithm"] = frame["algorithm"].astype(str).to_numpy()
    labels["nodes"] = np.where(frame["n_nodes"].to_numpy() > 1, "several nodes", "one node")
    return StudyRows(table.features(tuple(FEATURES)), table.seconds, labels)


def _table(text: str, gpu_file: Path | None, cnn_files: Iterable[Path]) -> RunTable:
    table = any_table(text, gpu_file=gpu_file, cnn_files=cnn_files)
    frame = table.frame
    usable = (frame["n_gpus"] > 1) & frame[SINGLE_GPU_TIME].notna()
    if not usable.any():
        raise InputError(
            f"{text}: expected runs on several GPUs with the time of the same configuration on one in the "
            f"column {SINGLE_GPU_TIME}, got none; `trainlaw study --of multi` alone takes the built-in table"
        )
    return table.where(usable.to_numpy(dtype=bool))


def _search(rows: StudyRows, settings: SearchSettings) -> Callable[[], ScalingSearch]:
    return partial(ScalingSearch, settings)


OF_MANY_GPUS = StudyKind(
    name=MULTI,
    scope=MULTI_GPU,
    title="runs on several GPUs, from the measured time on one",
    read=_table,
    rows=several_gpu_rows,
    features=SCALING_TERMS,
    search=_search,
    baselines=baselines_for("multi_gpu"),
    defaults={
        "table": MULTI,
        "split": "gpu",
        "evaluations": 3_000,
        "against": tuple(baselines_for("multi_gpu")),
    },
    given="the measured time on one GPU is given",
    platform_baselines=("perfect_scaling", "ring_scaling"),
    next_step="trainlaw scaling --cnn vgg16 --gpu V100-SXM2-16GB --batch 64 --scaling-formula {folder}",
)
