"""Formulas of the iteration on several GPUs, from the measured time of the same configuration on one."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from trainlaw.app.inputs.run_tables import any_table
from trainlaw.app.studies.kinds.kind import StudyKind, StudyRows, study_labels
from trainlaw.app.studies.scaling_skeleton import SCALING_EVALUATIONS, SCALING_TERMS, ScalingSearch
from trainlaw.app.studies.search import skeleton_of, with_settings
from trainlaw.datasets import FEATURES, RunTable
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.formulas import InputError
from trainlaw.formulas.scopes import MULTI_GPU
from trainlaw.validate.baselines import baselines_for

MULTI = "multi"


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
    scope=MULTI_GPU,
    title="runs on several GPUs, from the measured time on one",
    read=_table,
    rows=several_gpu_rows,
    features=SCALING_TERMS,
    search=with_settings(ScalingSearch),
    no_search=skeleton_of(ScalingSearch),
    baselines=baselines_for("multi_gpu"),
    defaults={
        "max_constants": 30,
        "table": "atlas-multi",
        "split": "gpu",
        "evaluations": SCALING_EVALUATIONS,
        "seeds": 3,
        "against": tuple(baselines_for("multi_gpu")),
    },
    is_proved=True,
    given="the measured time on one GPU is given",
    platform_baselines=("perfect_scaling", "ring_scaling"),
    next_step="trainlaw scaling --cnn vgg16 --gpu V100-SXM2-16GB --batch 64 --scaling-formula {folder}",
)
