"""Interpolation between two measured times: of a CNN on a GPU, at the smallest and largest batch or image."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from trainlaw.datasets.measurements.runs import RunTable
from trainlaw.formulas.algebra.units import DIMENSIONLESS, SECOND
from trainlaw.formulas.errors import check_name
from trainlaw.formulas.features import FeatureSpec

BATCH, PIXELS = "batch", "pixels"
#: Directions of a series of runs: the column that grows, and those that are constant.
_WAYS = {
    BATCH: ("batch_per_gpu", ("gpu", "cnn", "input_size_px", "n_classes")),
    PIXELS: ("input_size_px", ("gpu", "cnn", "batch_per_gpu")),
}
#: Amounts of work by which to interpolate between the end points.
_AMOUNTS = ("traffic", "macs", "area")
END_POINT_FEATURES: tuple[FeatureSpec, ...] = (
    FeatureSpec("low_time_s", "t_0", SECOND, "time at the smaller end point", low=0.0),
    FeatureSpec("high_time_s", "t_1", SECOND, "time at the larger end point", low=0.0),
    *(
        FeatureSpec(
            f"line_by_{name}_s", f"t_{name[0]}", SECOND, f"time on the straight line by {meaning}", low=0.0
        )
        for name, meaning in zip(
            _AMOUNTS,
            ("bytes of activations and parameters", "MACs of an iteration", "batch x pixels"),
            strict=True,
        )
    ),
    FeatureSpec("power_s", "t_p", SECOND, "time on the power law of batch x pixels", low=0.0),
    FeatureSpec(
        "proportional_s",
        "t_x",
        SECOND,
        "time at the larger end point, scaled down by batch x pixels",
        low=0.0,
    ),
    FeatureSpec(
        "position",
        "x",
        DIMENSIONLESS,
        "position of batch x pixels between the end points, 0 to 1",
        low=0.0,
        high=1.0,
    ),
    FeatureSpec("growth", "r", DIMENSIONLESS, "growth of the time over that of batch x pixels", low=0.0),
)


@dataclass(frozen=True, eq=False)
class EndPoints:
    """Runs between their end points: features (n_rows, n_features), seconds (n_rows,) and labels.

    `whole`, bool (n_rows,), marks series from the smallest to the largest value in the table.
    """

    X: pd.DataFrame
    seconds: np.ndarray
    labels: pd.DataFrame
    whole: np.ndarray


def runs_between_end_points(table: RunTable, along: str) -> EndPoints:
    """Return the runs of a table between the end points of their series; `along` is "batch" or "pixels".

    A series has one GPU, one CNN, one batch or image size, and at least three runs. The times at its ends are
    features; those in between are to be predicted. Raises UnknownNameError for any other `along`.
    """
    check_name("direction of a series", along, _WAYS)
    column, fixed = _WAYS[along]
    work = _with_amounts(table).sort_values([*fixed, column], kind="stable")
    series = work.groupby(list(fixed), sort=False)
    low, high = (series[work.columns.tolist()].transform(end) for end in ("first", "last"))
    between = (work[column] > low[column]) & (work[column] < high[column])
    rows, low, high = work[between], low[between], high[between]
    whole = (low[column] == work[column].min()) & (high[column] == work[column].max())
    labels = table.labels().loc[rows.index].reset_index(drop=True)
    X = _features(rows, low, high).reset_index(drop=True)
    return EndPoints(X, rows["time_s"].to_numpy(), labels, whole.to_numpy())


def _with_amounts(table: RunTable) -> pd.DataFrame:
    """Return the runs with the amounts of work of an iteration, each in a separate unit."""
    facts = table.features(["macs", "activation_memory_s", "parameter_memory_s"])
    frame = table.frame
    batch, side = frame["batch_per_gpu"].astype(float), frame["input_size_px"].astype(float)
    return frame.assign(
        traffic=facts["activation_memory_s"] + facts["parameter_memory_s"],
        macs=batch * facts["macs"],
        area=batch * side * side,
    )


def _features(rows: pd.DataFrame, low: pd.DataFrame, high: pd.DataFrame) -> pd.DataFrame:
    first, last = low["time_s"], high["time_s"]
    found = {"low_time_s": first, "high_time_s": last}
    for name in _AMOUNTS:
        share = (rows[name] - low[name]) / (high[name] - low[name])
        found[f"line_by_{name}_s"] = first + (last - first) * share
    growth = high["area"] / low["area"]
    exponent = np.log(last / first) / np.log(growth)
    found["power_s"] = first * (rows["area"] / low["area"]) ** exponent
    found["proportional_s"] = last * rows["area"] / high["area"]
    found["position"] = (rows["area"] - low["area"]) / (high["area"] - low["area"])
    found["growth"] = last / first / growth
    return pd.DataFrame(found)[[spec.name for spec in END_POINT_FEATURES]]
