"""Pairs of an operation profile on one GPU (anchor) and the iteration time on another (target)."""

from dataclasses import dataclass

import pandas as pd
from trainlaw.datasets.measured_table import MeasuredTable
from trainlaw.datasets.run_schema import RUN_COLUMNS, with_defaults
from trainlaw.datasets.runs import RunTable

WORKLOAD = ("cnn", "input_size_px", "n_classes", "batch_per_gpu")


def pairs_of_profiles(profiles: pd.DataFrame) -> pd.DataFrame:
    """Return one row per workload and ordered pair of different GPUs that both profiled it.

    `profiles` has one row per GPU and workload: `gpu`, `time_s` and the seconds of each operation in one
    step. The result has `anchor_gpu`, `anchor_time_s`, `target_gpu`, `time_s` (of the target) and the
    anchor's profile.
    """
    anchors = profiles.rename(columns={"gpu": "anchor_gpu", "time_s": "anchor_time_s"})
    targets = profiles[["gpu", *WORKLOAD, "time_s"]].rename(columns={"gpu": "target_gpu"})
    both = anchors.merge(targets, on=list(WORKLOAD))
    return both[both["anchor_gpu"] != both["target_gpu"]].reset_index(drop=True)


@dataclass(frozen=True, eq=False)
class PairTable(MeasuredTable):
    """One row per anchor profile and target GPU; `time_s` is the step time on the target, in seconds."""

    @property
    def operations(self) -> tuple[str, ...]:
        """Names of the profile columns: `device_*_s` and `host_*_s`."""
        return tuple(name for name in self._rows if name.startswith(("device_", "host_")))

    def profile(self) -> pd.DataFrame:
        """Return the seconds of each operation in one step on the anchor, shape (n_pairs, n_operations)."""
        return self._rows[list(self.operations)].copy()

    def target_runs(self) -> RunTable:
        """Return the runs on the target GPUs, row by row: their features, labels and times."""
        return self._runs("target_gpu", "time_s")

    def anchor_runs(self) -> RunTable:
        """Return the runs on the anchor GPUs, row by row: their features, labels and times."""
        return self._runs("anchor_gpu", "anchor_time_s")

    def _runs(self, gpu: str, time_s: str) -> RunTable:
        rows = self._rows[[column.name for column in RUN_COLUMNS if column.name in self._rows]]
        return RunTable(self.name, with_defaults(rows.assign(gpu=self._rows[gpu], time_s=self._rows[time_s])))
