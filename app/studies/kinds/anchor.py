"""Formulas of the time on one GPU from the measured time on another: any pair of GPUs, measured or not."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from trainlaw.app.studies.kinds.anchor_search import TRANSFER_FEATURES, TransferSearch
from trainlaw.app.studies.kinds.kind import GPU_FOLDS, StudyKind, StudyRows, study_labels
from trainlaw.datasets import DATASETS, PairTable, load
from trainlaw.datasets.features.pair_features import ANCHOR, ANCHOR_TIME, PAIR_RUN_FEATURES
from trainlaw.evolve import SearchSettings
from trainlaw.formulas.errors import unknown_name
from trainlaw.formulas.scopes import GPU_PAIR
from trainlaw.validate.baselines import baselines_for, named_baselines

ANCHOR_KIND = "anchor"
_TABLE = "profet-pairs"
_ALSO = ("null_compute", "roofline", "cf9", "cf21", "random_forest")


def _table(text: str, gpu_file: Path | None, cnn_files: Iterable[Path]) -> PairTable:
    known = [name for name, dataset in DATASETS.items() if dataset.kind == "pairs"]
    if text not in known or gpu_file is not None or any(cnn_files):
        raise unknown_name("table of pairs of GPUs", text, known)
    return load(text, PairTable)


def rows_of_pairs(table: PairTable) -> StudyRows:
    """Return the pairs, and below them the built-in runs, each its own anchor, which only train."""
    runs = load("default")
    own = runs.features(PAIR_RUN_FEATURES)
    plain = pd.concat([own, own.add_prefix(ANCHOR)], axis=1)
    plain[ANCHOR_TIME] = runs.seconds
    names = (*PAIR_RUN_FEATURES, ANCHOR_TIME, *(ANCHOR + name for name in PAIR_RUN_FEATURES))
    X = pd.concat([table.features(names), plain[list(names)]], ignore_index=True)
    labels = pd.concat([study_labels(table.target_runs()), study_labels(runs)], ignore_index=True)
    evaluated = np.arange(len(X)) < len(table)
    return StudyRows(X, np.concatenate([table.seconds, runs.seconds]), labels, evaluated=evaluated)


def _search(rows: StudyRows, settings: SearchSettings) -> Callable[[], TransferSearch]:
    return partial(TransferSearch, settings)


OF_PAIRS = StudyKind(
    name=ANCHOR_KIND,
    scope=GPU_PAIR,
    title="the time on one GPU, from the measured time on another",
    read=_table,
    rows=rows_of_pairs,
    features=TRANSFER_FEATURES,
    search=_search,
    baselines={**baselines_for("gpu_pair"), **named_baselines(*_ALSO)},
    defaults={
        "table": _TABLE,
        "split": "gpu",
        "evaluations": 12_000,
        "against": (*baselines_for("gpu_pair"), "null_compute", "roofline", "cf9"),
    },
    splits=("gpu", GPU_FOLDS, "cnn"),
    has_joint_range=False,
    next_step="trainlaw predict-from-profile --profile step.txt --anchor-gpu T4 --gpu A40 --cnn vgg16 "
    "--batch 32",
)
