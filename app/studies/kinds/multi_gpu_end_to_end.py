"""Formulas of the iteration on several GPUs from specifications alone: no time on one GPU is given.

Two laws in sequence: one of one GPU from the runs on one, and one of scaling from the runs whose
time on one GPU was measured. The first then replaces that time in the second, so that the result is one
formula, and a held-out GPU is unknown to both.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.app.inputs.run_tables import any_table
from trainlaw.app.models.multi_gpu import with_single_gpu_formula
from trainlaw.app.studies.estimators import FormulaSearch, evolved
from trainlaw.app.studies.kinds.kind import StudyRows
from trainlaw.app.studies.kinds.multi_gpu import (
    MULTI,
    OF_MANY_GPUS,
    SCALING_SKELETON,
    several_gpu_rows,
)
from trainlaw.app.studies.skeleton import RUN_SKELETON, LawFit
from trainlaw.datasets import TARGET, RunTable, feature_specs, load
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.evolve import FormulaRegressor
from trainlaw.formulas import InputError
from trainlaw.formulas.scopes import MULTI_GPU_RUN
from trainlaw.validate.baselines import named_baselines

_TABLE = "atlas-multi"


class TwoStageFit(FormulaSearch):
    """Fits the law of one GPU, or evolves a formula of it where that does not fit, then the law of scaling.

    settings : of the search for a formula of one GPU.
    """

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit; X : features of runs, (n_runs, k). y, seconds, and groups : (n_runs,)."""
        alone = X["n_gpus"].to_numpy() == 1
        known = ~alone & np.isfinite(X[SINGLE_GPU_TIME].to_numpy())
        one = self._single(X[alone]).fit(X[alone], y[alone], groups[alone])
        scaling = LawFit(SCALING_SKELETON).fit(X[known], y[known], groups[known])
        self.formula_ = with_single_gpu_formula(scaling.formula_, one.formula_)
        return self

    def _single(self, X: pd.DataFrame) -> LawFit | FormulaRegressor:
        """Return what makes a formula of one GPU from X, (n_runs, k)."""
        if RUN_SKELETON.fits(X):
            return LawFit()
        return evolved(feature_specs(RUN_SKELETON.known(X)), TARGET, self.settings)


def _table(text: str, gpu_file: Path | None, cnn_files: Iterable[Path]) -> RunTable:
    table = any_table(text, gpu_file=gpu_file, cnn_files=cnn_files)
    # The built-in tables have runs on several GPUs only; those on one are in the default table.
    whole = load("default").merged(table) if text in (_TABLE, MULTI) else table
    frame = whole.frame
    one, several = frame["n_gpus"] == 1, (frame["n_gpus"] > 1) & frame[SINGLE_GPU_TIME].notna()
    if not (one.any() and several.any()):
        raise InputError(
            f"{text}: expected runs on one GPU and on several, these with the column {SINGLE_GPU_TIME}; got "
            f"{int(one.sum())} and {int(several.sum())}"
        )
    return whole.where((one | several).to_numpy(dtype=bool))


def _rows(table: RunTable) -> StudyRows:
    return replace(several_gpu_rows(table), evaluated=table.frame["n_gpus"].to_numpy() > 1)


_COMMUNICATION = (name for name in SCALING_SKELETON.names if name != SINGLE_GPU_TIME)
_BASELINES = named_baselines("null_compute", "roofline", "cf9", "constant")
_TERMS = tuple(dict.fromkeys((*RUN_SKELETON.names, *_COMMUNICATION)))

END_TO_END = replace(
    OF_MANY_GPUS,
    name=f"{MULTI}-end-to-end",
    scope=MULTI_GPU_RUN,
    title="runs on several GPUs, from specifications and CNNs alone",
    read=_table,
    rows=_rows,
    features=_TERMS,
    search=lambda rows, settings: partial(TwoStageFit, settings),
    space=None,
    baselines=_BASELINES,
    defaults={**OF_MANY_GPUS.defaults, "against": tuple(_BASELINES)},
    given="",
    platform_baselines=(),
    next_step="trainlaw scaling --cnn resnet50 --gpu V100-SXM2-16GB --batch 64 --formula {folder}",
)
