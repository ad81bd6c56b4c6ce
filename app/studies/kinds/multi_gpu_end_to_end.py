"""Formulas of the iteration on several GPUs from specifications alone: no time on one GPU is given.

Two searches in sequence: a formula of one GPU from the runs on one, and a scaling formula from the runs whose
time on one GPU was measured. The first then replaces that time in the second, so that the result is one
formula, and a held-out GPU is unknown to both.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.app.inputs.tables import any_table
from trainlaw.app.models.multi_gpu import with_single_gpu_formula
from trainlaw.app.studies.kinds.kind import StudyRows
from trainlaw.app.studies.kinds.multi_gpu import MULTI, OF_MANY_GPUS, several_gpu_rows
from trainlaw.app.studies.scaling_skeleton import SCALING_TERMS, ScalingSearch
from trainlaw.app.studies.search import evolved, predicted_seconds
from trainlaw.datasets import STUDY_FEATURES, TARGET, RunTable, feature_specs, load
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import (
    Expression,
    Formula,
    InputError,
    ParetoFront,
    ScoredFormula,
    complexity,
    parse_text,
    variables,
)
from trainlaw.formulas.scopes import MULTI_GPU_RUN
from trainlaw.validate.baselines import baselines_for, named_baselines

#: A formula of one GPU also needs to distinguish precisions: runs on several GPUs have many.
SINGLE_TERMS = (*STUDY_FEATURES, "tensor_ratio", "clock_ratio")
# As the hand-derived closed forms have it: products at a rate between those with and without tensor cores.
# Each fold finds the constants on its own training rows; Kepler's factor needs a Kepler GPU among them.
_FORMS = tuple(
    parse_text(
        "(conv_other_compute_s + 50 * im2col_compute_s + 500 * conv_weight_compute_s) * tensor_ratio ^ 0.5"
        f"{kepler} + (20 * conv_output_memory_s + 10 * batchnorm_memory_s + 50 * depthwise_output_memory_s)"
        f"{kepler} + 5 * layer_launch_s + iteration_overhead_s"
    )
    for kepler in ("", " * exp(0.5 * wide_sm)")
)
_SCALING_SHARE = 3  # the formula of one GPU has more terms, so it gets two thirds of the evaluations


class TwoStageSearch:
    """Evolves a formula of one GPU, then a scaling formula, and inserts the first into the second.

    single, several : settings of the two searches. After `fit`: `formula_`, `front_`.
    """

    def __init__(self, single: SearchSettings, several: SearchSettings) -> None:
        """Keep what the searches are made of."""
        self.single = single
        self.several = several

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Search; X : features of runs, (n_runs, k). y, seconds, and groups : (n_runs,)."""
        alone = X["n_gpus"].to_numpy() == 1
        known = ~alone & np.isfinite(X[SINGLE_GPU_TIME].to_numpy())
        one = evolved(feature_specs(SINGLE_TERMS), TARGET, replace(self.single, seeds=_forms(X[alone])))
        one.fit(X[alone], y[alone], groups[alone])
        scaling = ScalingSearch(self.several).fit(X[known], y[known], groups[known])
        self.formula_ = with_single_gpu_formula(scaling.formula_, one.formula_)
        self.front_ = _front(scaling, one.formula_, X[~alone], y[~alone])
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return predicted_seconds(self.formula_, X)


def _forms(X: pd.DataFrame) -> tuple[Expression, ...]:
    """The forms whose pure numbers vary among the rows of X, (n_runs, k): a search has no others."""
    constant = {name for name in ("wide_sm", "tensor_ratio") if X[name].nunique() < 2}
    return tuple(form for form in _FORMS if not constant & set(variables(form)))


def _front(scaling: ScalingSearch, one: Formula, X: pd.DataFrame, y: np.ndarray) -> ParetoFront:
    """The front of scaling formulas with one formula of one GPU; loss: mean |ln ratio| on `X`, (n, k)."""
    whole = [with_single_gpu_formula(member.formula, one) for member in scaling.front_]
    losses = [float(np.mean(np.abs(np.log(predicted_seconds(formula, X) / y)))) for formula in whole]
    return ParetoFront.of(
        ScoredFormula(formula, loss, complexity(formula.expression))
        for formula, loss in zip(whole, losses, strict=True)
    )


def _table(text: str, gpu_file: Path | None, cnn_files: Iterable[Path]) -> RunTable:
    table = any_table(text, gpu_file=gpu_file, cnn_files=cnn_files)
    # The built-in table has runs on several GPUs only; those on one are in the table of all precisions.
    whole = load("precisions").merged(table) if text == MULTI else table
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


def _search(rows: StudyRows, settings: SearchSettings) -> Callable[[], TwoStageSearch]:
    evaluations = settings.evaluations or 0
    for_scaling = evaluations // _SCALING_SHARE
    single = replace(settings, evaluations=evaluations - for_scaling)
    return partial(TwoStageSearch, single, replace(settings, evaluations=for_scaling))


_COMMUNICATION = (name for name in SCALING_TERMS if name != SINGLE_GPU_TIME)
_BASELINES = {
    **named_baselines("null_compute", "roofline", "cf21_tensor"),
    **baselines_for(MULTI_GPU_RUN),
}
_TERMS = tuple(dict.fromkeys((*SINGLE_TERMS, *_COMMUNICATION)))

END_TO_END = replace(
    OF_MANY_GPUS,
    name=f"{MULTI}-end-to-end",
    scope=MULTI_GPU_RUN,
    title="runs on several GPUs, from specifications and CNNs alone",
    read=_table,
    rows=_rows,
    features=_TERMS,
    search=_search,
    baselines=_BASELINES,
    defaults={**OF_MANY_GPUS.defaults, "evaluations": 9_000, "against": tuple(_BASELINES)},
    given="",
    platform_baselines=(),
    next_step="trainlaw scaling --cnn resnet50 --gpu V100-SXM2-16GB --batch 64 --formula trainlaw-run",
)
