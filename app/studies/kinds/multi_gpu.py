"""Formulas of the iteration on several GPUs, from the measured time of the same configuration on one.

    time = max(time on one GPU + exposed, forward + buckets) + tensors + servers + max(replicas, host)

Buckets of gradients travel while the backward pass computes the next ones, so their transfers count where
they take longer than it; a part stays exposed. Tensors that are reduced one by one and parameter servers hide
nothing. DataParallel copies the CNN to all GPUs of a node while one host launches for all of them.

Nothing is subtracted, so no prediction is shorter than the time on one GPU, and more bytes or a slower link
never shorten it. The constants that `terms.csv` expects are round figures; docs/explanation/law.md says what
was tuned on which runs.
"""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np
from trainlaw.app.inputs.run_tables import any_table
from trainlaw.app.studies.kinds.kind import (
    FRONT_DEFAULTS,
    StudyKind,
    StudyRows,
    fitted_by,
    study_labels,
)
from trainlaw.app.studies.skeleton import PRIOR_WEIGHT_OF_FEW_GPUS, LawFit, Skeleton, stated_brackets
from trainlaw.datasets import FEATURES, RunTable
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.formulas import InputError
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.formulas.scopes import MULTI_GPU
from trainlaw.validate.baselines import baselines_for

MULTI = "multi"
SCALING_SKELETON = Skeleton(
    stated_brackets("scaling"),
    parse_text(
        f"max({SINGLE_GPU_TIME} + hole_exposed, hole_forward + hole_buckets) + hole_tensors + hole_servers"
        " + max(hole_replicas, hole_host)"
    ),
    scope=MULTI_GPU,
    settings={"max_nodes": 100, "prior_weight": PRIOR_WEIGHT_OF_FEW_GPUS},
    is_balanced=False,
    base=SINGLE_GPU_TIME,
    given=(SINGLE_GPU_TIME,),
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
    defaults={
        **FRONT_DEFAULTS,
        "table": "atlas-multi",
        "against": tuple(baselines_for("multi_gpu")),
    },
    is_proved=True,
    given="the measured time on one GPU is given",
    platform_baselines=("perfect_scaling", "ring_scaling"),
    next_step="trainlaw scaling --cnn vgg16 --gpu V100-SXM2-16GB --batch 64 --scaling-formula {folder}",
)
