"""Formulas of the iteration on several GPUs, from the measured time on one, or from specifications alone.

    time = max(time on one GPU + exposed, forward + buckets) + tensors + servers + max(replicas, host)

Buckets of gradients travel while the backward pass computes the next ones, so their transfers count where
they take longer than it; a part stays exposed. Tensors that are reduced one by one and parameter servers hide
nothing. DataParallel copies the CNN to all GPUs of a node while one host launches for all of them.

Nothing is subtracted, so no prediction is shorter than the time on one GPU, and more bytes or a slower link
never shorten it. The constants that `terms.csv` expects are round figures; docs/explanation/law.md says what
was tuned on which runs.

Where no time on one GPU is given, two laws follow one another: that of one GPU, fitted to runs on one,
replaces the measured time in that of scaling. The result is one formula, and a held-out GPU is unknown to
both.
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
from trainlaw.app.studies.estimators import FormulaFit, evolved
from trainlaw.app.studies.kinds.kind import FRONT_DEFAULTS, StudyKind, StudyRows, fitted_by, study_labels
from trainlaw.app.studies.skeleton import (
    PRIOR_WEIGHT_OF_FEW_GPUS,
    RUN_SKELETON,
    LawFit,
    Skeleton,
    stated_brackets,
)
from trainlaw.datasets import FEATURES, TARGET, RunTable, feature_specs, load
from trainlaw.datasets.features.run_features import SINGLE_GPU_TIME
from trainlaw.evolve import SearchSettings
from trainlaw.formulas import InputError
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.formulas.scopes import MULTI_GPU, MULTI_GPU_RUN
from trainlaw.validate.baselines import baselines_for, named_baselines

MULTI = "multi"
_TABLE = "atlas-multi"
# Transfers of buckets, which begin behind the forward pass: no short formula is below both.
_LINKS = ("bucket_node_s", "bucket_network_s", "bucket_staged_s", "bucket_latency_s")
SCALING_SKELETON = Skeleton(
    stated_brackets("scaling"),
    parse_text(
        f"max({SINGLE_GPU_TIME} + hole_exposed, hole_forward + hole_buckets) + hole_tensors + hole_servers"
        " + max(hole_replicas, hole_host)"
    ),
    scope=MULTI_GPU,
    loss_width=0.25,
    prior_weight=PRIOR_WEIGHT_OF_FEW_GPUS,
    is_balanced=False,
    base=SINGLE_GPU_TIME,
    floor=f"0.33 * {SINGLE_GPU_TIME} + {' + '.join(_LINKS)}",
    given=(SINGLE_GPU_TIME, *_LINKS),
)


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


OF_MANY_GPUS = StudyKind(
    name=MULTI,
    **fitted_by(SCALING_SKELETON, lambda rows: partial(LawFit, SCALING_SKELETON)),
    title="runs on several GPUs, from the measured time on one",
    read=_table,
    rows=several_gpu_rows,
    baselines=baselines_for("multi_gpu"),
    defaults={**FRONT_DEFAULTS, "table": _TABLE, "against": tuple(baselines_for("multi_gpu"))},
    is_proved=True,
    given="the measured time on one GPU is given",
    platform_baselines=("perfect_scaling", "ring_scaling"),
    next_step="trainlaw scaling --cnn vgg16 --gpu V100-SXM2-16GB --batch 64 --scaling-formula {folder}",
)


class TwoStageFit(FormulaFit):
    """Fits the law of one GPU, or evolves a formula of it where that does not fit, then the law of scaling.

    settings : of the search for a formula of one GPU.
    """

    division_columns = LawFit.division_columns

    def __init__(self, settings: SearchSettings) -> None:
        """Keep the settings."""
        self.settings = settings

    def fit(
        self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray, divisions: pd.DataFrame | None = None
    ) -> Self:
        """Fit; arguments as of `LawFit.fit`."""
        alone = X["n_gpus"].to_numpy() == 1
        known = ~alone & np.isfinite(X[SINGLE_GPU_TIME].to_numpy())
        rows = X[alone], y[alone], groups[alone]
        if RUN_SKELETON.fits(X[alone]):
            single = LawFit().fit(*rows, None if divisions is None else divisions[alone]).formula_
        else:
            names = RUN_SKELETON.known(X[alone])
            single = evolved(feature_specs(names), TARGET, self.settings).fit(*rows).formula_
        scaling = LawFit(SCALING_SKELETON).fit(X[known], y[known], groups[known])
        self.formula_ = with_single_gpu_formula(scaling.formula_, single)
        return self


def _table_with_single_gpus(text: str, gpu_file: Path | None, cnn_files: Iterable[Path]) -> RunTable:
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


_BASELINES_OF_RUNS = named_baselines("null_compute", "roofline", "cf9", "constant")
_TERMS = tuple(dict.fromkeys((*RUN_SKELETON.names, *SCALING_SKELETON.names)))

END_TO_END = replace(
    OF_MANY_GPUS,
    name=f"{MULTI}-end-to-end",
    scope=MULTI_GPU_RUN,
    title="runs on several GPUs, from specifications and CNNs alone",
    read=_table_with_single_gpus,
    rows=lambda table: replace(several_gpu_rows(table), evaluated=table.frame["n_gpus"].to_numpy() > 1),
    features=tuple(name for name in _TERMS if name != SINGLE_GPU_TIME),
    search=lambda rows, settings: partial(TwoStageFit, settings),
    space=None,
    baselines=_BASELINES_OF_RUNS,
    defaults={**OF_MANY_GPUS.defaults, "against": tuple(_BASELINES_OF_RUNS)},
    given="",
    platform_baselines=(),
    next_step="trainlaw scaling --cnn resnet50 --gpu V100-SXM2-16GB --batch 64 --formula {folder}",
)
