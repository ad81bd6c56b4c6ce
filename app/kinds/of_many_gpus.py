"""Laws of the iteration on several GPUs, from the measured time of the same configuration on one."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from trainlaw.app.kinds.kind import StudyKind, StudyRows
from trainlaw.app.labels_of_runs import study_labels
from trainlaw.app.run_tables import any_table
from trainlaw.app.search import evolved
from trainlaw.datasets import FEATURES, TARGET, RunTable, feature_specs
from trainlaw.datasets.scaling_features import SINGLE_GPU_TIME
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.formulas import InputError, parse_text
from trainlaw.validate import MULTI_GPU_BASELINES

MULTI = "multi"
#: What every law must know: computing, exchange within a node, across nodes, and its calls.
REQUIRED = (SINGLE_GPU_TIME, "exchange_transfer_s", "network_transfer_s", "exchange_launch_s")
SCALING_TERMS = (*REQUIRED, "server_transfer_s", "iteration_overhead_s")
# A form to start from. Each fold finds its constants on its own training rows.
_FORM = " + ".join((*REQUIRED, "server_transfer_s"))


def scaling_settings(settings: SearchSettings) -> SearchSettings:
    """Return the settings of a search for a law of several GPUs.

    Sums of times on top of the whole time on one GPU. Maxima (what hides behind computing) and factors of
    pure numbers fit better and transfer worse: see docs/several-gpus.md.
    """
    return replace(
        settings,
        operators=("add",),
        required_features=REQUIRED,
        constant_ranges=((SINGLE_GPU_TIME, 1.0, 1.0),),
        seeds=(parse_text(_FORM),),
    )


def several_gpu_rows(table: RunTable) -> StudyRows:
    """Return all features, seconds and labels of runs; labels have `algorithm` and `nodes`, too."""
    frame = table.frame
    labels = study_labels(table)
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
            f"column {SINGLE_GPU_TIME}, came none; `trainlaw study --of multi` alone takes the built-in table"
        )
    return table.where(usable.to_numpy(dtype=bool))


def _search(rows: StudyRows, settings: SearchSettings) -> Callable[[], FormulaRegressor]:
    return partial(evolved, feature_specs(SCALING_TERMS), TARGET, scaling_settings(settings))


OF_MANY_GPUS = StudyKind(
    name=MULTI,
    title="runs on several GPUs, from the measured time on one",
    read=_table,
    rows=several_gpu_rows,
    features=SCALING_TERMS,
    search=_search,
    rivals=MULTI_GPU_BASELINES,
    defaults={
        "table": MULTI,
        "split": "gpu",
        "evaluations": 3_000,
        "against": tuple(MULTI_GPU_BASELINES),
    },
    platform_rivals=("perfect_scaling", "ring_scaling"),
    next_step="trainlaw scaling --cnn vgg16 --gpu V100-SXM2-16GB --batch 64",
)
