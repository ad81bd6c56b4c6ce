"""Studies of pairs of GPUs: a profile on an anchor, the time on a target, one model per pair."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from trainlaw.datasets.pairs import PairTable
from trainlaw.validate.baselines import ANCHOR_BASELINES
from trainlaw.validate.baselines.anchor_ratio import ANCHOR_TIME
from trainlaw.validate.estimators import EstimatorFactory
from trainlaw.validate.result import StudyResult
from trainlaw.validate.splits import leave_one_group_out
from trainlaw.validate.study import run_study

#: Label of the pair, as "T4 to V100".
PAIR = "pair"


def run_pair_study(
    table: PairTable,
    estimators: Mapping[str, EstimatorFactory] = ANCHOR_BASELINES,
    *,
    held_out: str = "cnn_base",
) -> StudyResult:
    """Return the held-out predictions of every estimator, fitted anew for each pair of GPUs and each split.

    table : anchor profiles and target times. held_out : label column whose groups are left out one by one; a
    workload's repeats and batches leave with it. The estimators get the seconds of each operation and
    `anchor_time_s`. The labels are those of the runs on the target, and `pair`.
    """
    frame = table.frame
    X = table.profile().assign(**{ANCHOR_TIME: frame["anchor_time_s"].to_numpy(dtype=float)})
    labels = table.target_runs().labels()
    labels[PAIR] = [f"{a} to {t}" for a, t in zip(frame["anchor_gpu"], frame["target_gpu"], strict=True)]
    pairs = labels[PAIR].to_numpy(dtype=str)
    parts = []
    for pair in np.unique(pairs):
        rows = np.flatnonzero(pairs == pair)
        own = labels.iloc[rows].reset_index(drop=True)
        splits = leave_one_group_out(own[held_out])
        result = run_study(
            X.iloc[rows].reset_index(drop=True),
            table.seconds[rows],
            own,
            splits,
            estimators,
            group_column=held_out,
        )
        part = result.predictions.copy()
        part["row"] = rows[part["row"].to_numpy(dtype=np.int64)]
        part["split"] = [f"{pair}, {name}" for name in part["split"]]
        parts.append(part)
    return StudyResult(pd.concat(parts, ignore_index=True), tuple(estimators))
