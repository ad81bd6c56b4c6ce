"""Formulas of the iteration on several GPUs, from the measured time of the same configuration on one.

    time = max(time on one GPU + exposed, forward + buckets) + tensors + servers + max(replicas, host)

Buckets of gradients travel while the backward pass computes the next ones, so their transfers count where
they take longer than it; a part stays exposed. Tensors that are reduced one by one and parameter servers hide
nothing. DataParallel copies the CNN to all GPUs of a node while one host launches for all of them.

Nothing is subtracted, so no prediction is shorter than the time on one GPU, and more bytes or a slower link
never shorten it. Expected constants are round figures: 1 for a ring at the rates that links reach, 2 for
single tensors between nodes; a third of an iteration for the forward pass; 30 us per call. What was tuned on
which runs is said in docs/explanation/law.md.
"""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np
from trainlaw.app.inputs.run_tables import any_table
from trainlaw.app.studies.front_search import FRONT_EVALUATIONS, FRONT_SIZES, FrontSpace
from trainlaw.app.studies.kinds.kind import StudyKind, StudyRows, study_labels
from trainlaw.app.studies.skeleton import (
    PRIOR_WEIGHT_OF_FEW_GPUS,
    LawFit,
    Skeleton,
)
from trainlaw.app.studies.spaces import skeleton_space
from trainlaw.datasets import FEATURES, RunTable
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.evolve import Bracket
from trainlaw.formulas import InputError
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.formulas.scopes import MULTI_GPU
from trainlaw.validate.baselines import baselines_for

MULTI = "multi"
_BRACKETS = (
    Bracket("hole_exposed", (("bucket_wait_s", 0.15), ("bucket_transfer_s", 0.2)), deviation=0.3),
    # The runs alone would make it the whole time: nothing overlaps, and transfers are faster than links.
    Bracket("hole_forward", ((SINGLE_GPU_TIME, 0.33),), deviation=0.1),
    Bracket(
        "hole_buckets",
        (
            ("bucket_node_s", 1.0),
            ("bucket_network_s", 1.0),
            ("bucket_staged_s", 1.0),
            ("bucket_latency_s", 1.0),
        ),
    ),
    Bracket(
        "hole_tensors",
        (
            ("tensor_node_s", 1.0),
            ("tensor_network_s", 2.0),
            ("tensor_staged_s", 1.0),
            ("tensor_launch_s", 3.0),
        ),
    ),
    Bracket("hole_servers", (("server_node_s", 0.3), ("server_network_s", 0.5))),
    Bracket("hole_replicas", (("replica_transfer_s", 1.0),)),
    Bracket("hole_host", (("replica_host_s", 0.6),)),
)
SCALING_SKELETON = Skeleton(
    _BRACKETS,
    parse_text(
        f"max({SINGLE_GPU_TIME} + hole_exposed, hole_forward + hole_buckets) + hole_tensors + hole_servers"
        " + max(hole_replicas, hole_host)"
    ),
    scope=MULTI_GPU,
    loss_width=0.25,
    prior_weight=PRIOR_WEIGHT_OF_FEW_GPUS,
    is_balanced=False,
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


def _space(rows: StudyRows) -> FrontSpace:
    """Return the space of what several GPUs add to the time on one."""
    space = skeleton_space(SCALING_SKELETON, (SINGLE_GPU_TIME,), base=SINGLE_GPU_TIME)
    return FrontSpace(*space, partial(LawFit, SCALING_SKELETON))


OF_MANY_GPUS = StudyKind(
    name=MULTI,
    scope=MULTI_GPU,
    title="runs on several GPUs, from the measured time on one",
    read=_table,
    rows=several_gpu_rows,
    features=SCALING_SKELETON.names,
    search=lambda rows, settings: partial(LawFit, SCALING_SKELETON),
    is_fitted=True,
    space=_space,
    baselines=baselines_for("multi_gpu"),
    defaults={
        "table": "atlas-multi",
        "split": "gpu",
        "evaluations": FRONT_EVALUATIONS,
        "max_constants": FRONT_SIZES[-1],
        "against": tuple(baselines_for("multi_gpu")),
    },
    is_proved=True,
    given="the measured time on one GPU is given",
    platform_baselines=("perfect_scaling", "ring_scaling"),
    next_step="trainlaw scaling --cnn vgg16 --gpu V100-SXM2-16GB --batch 64 --scaling-formula {folder}",
)
