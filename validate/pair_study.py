"""Studies of pairs of GPUs: a profile on an anchor, the time on a target, one model per pair."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from trainlaw.datasets.features.pair_features import ANCHOR_TIME
from trainlaw.datasets.measurements.pairs import PAIR, PairTable
from trainlaw.validate.baselines import baselines_for
from trainlaw.validate.estimators import EstimatorFactory
from trainlaw.validate.result import StudyResult
from trainlaw.validate.splits import leave_one_group_out
from trainlaw.validate.study import run_study


def run_pair_study(
    table: PairTable,
    estimators: Mapping[str, EstimatorFactory] | None = None,
    *,
    held_out: str = "cnn_base",
    features: Sequence[str] = (),
) -> StudyResult:
    """Return the held-out predictions of every estimator, fitted anew for each pair of GPUs and each split.

    table : anchor profiles and target times. held_out : label column whose groups are left out one by
    one; a workload's repeats and batches leave with it. features : of pairs, for the estimators, beside the
    seconds of each operation and `anchor_time_s`. The labels are those of the table.
    """
    estimators = baselines_for("gpu_pair", "profile") if estimators is None else estimators
    frame = table.frame
    X = table.profile().assign(**{ANCHOR_TIME: frame["anchor_time_s"].to_numpy(dtype=float)})
    X = pd.concat([X, table.features([name for name in features if name not in X])], axis=1)
    labels = table.labels()
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
