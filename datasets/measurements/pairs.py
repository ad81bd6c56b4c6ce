"""Pairs: an operation profile on one GPU (anchor) and the iteration time on another (target)."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from trainlaw.datasets.features.feature import chosen_features
from trainlaw.datasets.features.pair_features import ANCHOR, PAIR_FEATURES, PROFILE_FEATURES, grouped_seconds
from trainlaw.datasets.measurements.runs import RUN_COLUMNS, RunTable, with_defaults
from trainlaw.datasets.tables.measured_table import MeasuredTable

#: Label of the pair, such as "T4 to V100-SXM2-16GB".
PAIR = "pair"
WORKLOAD = ("cnn", "input_size_px", "n_classes", "batch_per_gpu")


def profile_pairs(profiles: pd.DataFrame) -> pd.DataFrame:
    """Return one row per workload and ordered pair of different GPUs that both profiled it.

    `profiles` has one row per GPU and workload: `gpu`, `time_s` and the seconds of each operation in one
    iteration. The result has `anchor_gpu`, `anchor_time_s`, `target_gpu`, `time_s` (of the target) and the
    anchor's profile.
    """
    anchors = profiles.rename(columns={"gpu": "anchor_gpu", "time_s": "anchor_time_s"})
    targets = profiles[["gpu", *WORKLOAD, "time_s"]].rename(columns={"gpu": "target_gpu"})
    both = anchors.merge(targets, on=list(WORKLOAD))
    return both[both["anchor_gpu"] != both["target_gpu"]].reset_index(drop=True)


@dataclass(frozen=True, eq=False)
class PairTable(MeasuredTable):
    """One row per anchor profile and target GPU; `time_s` is the iteration time on the target, in seconds.

    Attributes
    ----------
    name : str
        Name of the table, for messages and provenance.
    _rows : DataFrame
        The rows, never changed; `frame` gives a copy.
    facts : Facts
        Specifications of the GPUs, links and CNNs that the rows name.
    """

    @property
    def operations(self) -> tuple[str, ...]:
        """Names of the profile columns, `device_*_s` and `host_*_s`."""
        return tuple(name for name in map(str, self._rows) if name.startswith(("device_", "host_")))

    def features(self, names: Iterable[str] | None = None) -> pd.DataFrame:
        """Return features of the pairs (None: all), float64, shape (n_pairs, k), units as in `PAIR_FEATURES`.

        Raises UnknownNameError for an unknown feature.

        >>> from trainlaw.datasets import load
        >>> load("profet-pairs").features(["conv_forward_s", "anchor_peak_flop_per_s"]).shape
        (3684, 2)
        """
        chosen = [feature.spec.name for feature in chosen_features(PAIR_FEATURES, names)]
        profile = [name for name in chosen if name in PROFILE_FEATURES]
        anchor = [name for name in chosen if name.startswith(ANCHOR) and name not in PROFILE_FEATURES]
        target = [name for name in chosen if name not in profile and name not in anchor]
        operations = {name: self._rows[name].to_numpy(dtype=float) for name in self.operations}
        grouped = grouped_seconds(operations, self._rows["anchor_time_s"].to_numpy(dtype=float))
        parts = [grouped[profile], self.target_runs().features(target)]
        parts.append(
            self.anchor_runs().features([name.removeprefix(ANCHOR) for name in anchor]).add_prefix(ANCHOR)
        )
        return pd.concat(parts, axis=1)[chosen]

    def labels(self) -> pd.DataFrame:
        """Return the labels of the runs on the target, with `anchor_group` (of the anchor) and `pair`."""
        labels = self.target_runs().labels()
        labels["anchor_group"] = self.anchor_runs().labels()["gpu_group"]
        ends = zip(self._rows["anchor_gpu"], self._rows["target_gpu"], strict=True)
        labels[PAIR] = np.array([f"{anchor} to {target}" for anchor, target in ends], dtype=object)
        return labels

    def target_runs(self) -> RunTable:
        """Return the runs on the target GPUs, in the order of the pairs."""
        return self._runs("target_gpu", "time_s")

    def anchor_runs(self) -> RunTable:
        """Return the runs on the anchor GPUs, in the order of the pairs."""
        return self._runs("anchor_gpu", "anchor_time_s")

    def _runs(self, gpu: str, time_s: str) -> RunTable:
        rows = self._rows[[column.name for column in RUN_COLUMNS if column.name in self._rows]]
        return RunTable(self.name, with_defaults(rows.assign(gpu=self._rows[gpu], time_s=self._rows[time_s])))
