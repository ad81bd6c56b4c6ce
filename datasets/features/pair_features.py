"""Features of a pair of GPUs: the profile on the anchor, and the features of both runs.

The seconds of each group of operations in one iteration on the anchor, the rest of the iteration that no
operation accounts for, and the features of the anchor run, named as those of runs with the prefix `anchor_`.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pandas as pd
from trainlaw.datasets.features.feature import Feature, features_of
from trainlaw.datasets.features.run_features import FEATURES, SINGLE_GPU_TIME
from trainlaw.datasets.profiles.operations import OPERATION_GROUPS, operation_group

HOST = "on_host"
OTHER = "elementwise"  # the group of unclassified operations, as most of them are elementwise
ANCHOR_TIME = "anchor_time_s"
ANCHOR = "anchor_"
_DEVICE, _HOST, _IDLE = "device_", "host_", "IDLE"

_GROUPS = features_of("operation")
OPERATION_FEATURES: tuple[str, ...] = tuple(_GROUPS)
#: Features of a profile alone.
PROFILE_FEATURES: Mapping[str, Feature] = MappingProxyType({**_GROUPS, **features_of("profile")})


def _of_anchor(feature: Feature) -> Feature:
    spec, name = feature.spec, ANCHOR + feature.spec.name
    return Feature(
        replace(spec, name=name, symbol=f"{spec.symbol}_a", meaning=f"anchor: {spec.meaning}"), name
    )


_OF_RUN = {name: feature for name, feature in FEATURES.items() if name != SINGLE_GPU_TIME}
#: Features that both runs of a pair can have, by name.
PAIR_RUN_FEATURES: tuple[str, ...] = tuple(_OF_RUN)
#: All features of a pair by name: of the profile, of the run on the target, of the run on the anchor.
PAIR_FEATURES: Mapping[str, Feature] = MappingProxyType(
    {
        **PROFILE_FEATURES,
        **_OF_RUN,
        **{ANCHOR + name: _of_anchor(feature) for name, feature in _OF_RUN.items()},
    }
)


def grouped_seconds(operations: Mapping[str, np.ndarray], step_s: np.ndarray) -> pd.DataFrame:
    """Return the profile features: seconds of operations by group, shape (n_steps, n_features).

    operations : `device_<name>_s` and `host_<name>_s` to seconds of one iteration, (n_steps,). step_s : of
    the whole iteration, (n_steps,). Idle times, which the profiler causes, are left out.
    """
    length = len(step_s)
    columns = {name: np.zeros(length) for name in OPERATION_FEATURES}
    for title, seconds in operations.items():
        name = title.removeprefix(_DEVICE).removeprefix(_HOST).removesuffix("_s")
        if name != _IDLE:
            group = HOST if title.startswith(_HOST) else operation_group(name) or OTHER
            columns[f"{group}_s"] = columns[f"{group}_s"] + np.asarray(seconds, dtype=float)
    device = sum((columns[f"{group}_s"] for group in OPERATION_GROUPS), np.zeros(length))
    step = np.asarray(step_s, dtype=float)
    columns |= {ANCHOR_TIME: step, "profiled_s": device, "unprofiled_s": np.maximum(step - device, 0.0)}
    return pd.DataFrame(columns)
