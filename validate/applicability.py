"""Distance of a configuration from the training rows in all features jointly.

Each feature may lie in its training range although their combination is new (a huge batch of a tiny CNN). The
measure is the Mahalanobis distance (Mahalanobis, "On the generalised distance in statistics", 1936) of the
logarithms of a formula's features. The limit is taken from the training rows: from the distances of the rows
of each group to the rows of all other groups.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from trainlaw.formulas.errors import InputError, shown
from trainlaw.formulas.files.stored_facts import JOINT_RANGE
from trainlaw.formulas.formula import Formula
from trainlaw.validate.conformal import group_quantile

#: Key of the joint range in the `errors` of a formula.
KEY = "joint_range"
# Share of the mean variance added to each: with two nearly proportional features, a tiny change would
# otherwise look far.
_RIDGE = 0.05
# Share of the runs that have a feature, below which it says nothing about how runs are spread.
_LEAST_SHARE = 0.05


@dataclass(frozen=True, eq=False)
class JointRange:
    """Distance from the training rows, and the limit beyond which a row counts as outside.

    names : k features. floors : added to each feature before the logarithm, so that zeros have one, (k,).
    centre : mean of ln(feature + floor), (k,). whitening : (k, k); the distance of a row is the length of
    whitening @ (ln(feature + floor) - centre) over sqrt(k). limit : distance within which nine tenths of the
    rows of a new GPU group lie, with equal weight per group.
    """

    names: tuple[str, ...]
    floors: np.ndarray
    centre: np.ndarray
    whitening: np.ndarray
    limit: float

    @classmethod
    def fit(
        cls, columns: Mapping[str, npt.ArrayLike], groups: npt.ArrayLike, level: float = 0.9
    ) -> "JointRange":
        """Return the joint range of training rows.

        columns : features by name, (n_runs,); those without variation are omitted, and those that are zero in
        nearly all runs: any run that has them would be far. groups : GPU group of each run. level : share of
        the rows of a new group within the limit. Raises InputError where no feature varies, or a value is
        negative or not finite.
        """
        arrays = {name: np.asarray(values, dtype=float) for name, values in columns.items()}
        varying = [name for name, values in arrays.items() if np.ptp(values) > 0]
        if not varying:
            raise InputError("joint range: expected at least one feature that varies")
        frequent = [name for name in varying if np.mean(arrays[name] != 0.0) >= _LEAST_SHARE]
        names = tuple(frequent or varying)
        table = np.column_stack([arrays[name] for name in names])
        if not np.isfinite(table).all() or (table < 0).any():
            raise InputError("joint range: expected finite features, none negative")
        floors = np.array([np.quantile(values[values > 0], 0.05) for values in table.T])
        logs, labels = np.log(table + floors), np.asarray(groups, dtype=str)
        distances, group_names = np.zeros(len(logs)), np.unique(labels)
        for name in group_names:
            inside = labels == name
            # The distance of a group is to the others only, because a new GPU is not among them either.
            reference = logs[~inside] if len(group_names) > 1 else logs
            distances[inside] = _distances(logs[inside], *_shape(reference))
        return cls(names, floors, *_shape(logs), group_quantile(distances, labels, level))

    def distance(self, columns: Mapping[str, npt.ArrayLike]) -> np.ndarray:
        """Return the distance of each row from training, shape (n_runs,); 1 is typical, nan if undefined."""
        table = np.column_stack([np.asarray(columns[name], dtype=float) for name in self.names])
        with np.errstate(invalid="ignore", divide="ignore"):
            return _distances(np.log(table + self.floors), self.centre, self.whitening)

    def outside(self, columns: Mapping[str, npt.ArrayLike]) -> np.ndarray:
        """Return whether each row is farther than `limit`, bool, shape (n_runs,); True if undefined."""
        return ~(self.distance(columns) <= self.limit)

    def to_json(self) -> dict[str, object]:
        """Return the range as plain JSON values with seven digits."""
        return {
            "names": list(self.names),
            "floors": _short(self.floors),
            "centre": _short(self.centre),
            "whitening": [_short(row) for row in self.whitening],
            "limit": float(f"{self.limit:.7g}"),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "JointRange":
        """Return the range that `to_json` wrote; InputError if a part is missing or of another size."""
        found = JOINT_RANGE(value, "the joint range")
        names, size = tuple(found["names"]), len(found["names"])
        rows = [found["floors"], found["centre"], *found["whitening"]]
        if any(len(row) != size for row in rows) or len(rows) != size + 2:
            raise InputError(f"joint range: expected {size} floors, centres and rows of whitening")
        return cls(names, np.array(rows[0]), np.array(rows[1]), np.array(rows[2:]), found["limit"])


def joint_range_json(columns: Mapping[str, npt.ArrayLike], groups: npt.ArrayLike) -> dict[str, object]:
    """Return the entry of a joint range for a formula's errors; {} where nothing varies, as with constants.

    Arguments and errors as for `JointRange.fit`.
    """
    if not any(np.ptp(np.asarray(column, dtype=float)) > 0 for column in columns.values()):
        return {}
    return {KEY: JointRange.fit(columns, groups).to_json()}


def stored_joint_range(formula: Formula) -> JointRange | None:
    """Return the joint range stored in the `errors` of a formula, or None; InputError for a faulty one."""
    value = formula.errors.get(KEY)
    found = JointRange.from_json(value) if value else None
    unknown = set(found.names) - {spec.name for spec in formula.used_features} if found else ()
    if unknown:
        raise InputError(f"joint range: expected features of the formula, got {shown(min(unknown))}")
    return found


def _shape(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean, (k,), and the inverse root of the covariance, (k, k), of rows of logarithms."""
    centre = logs.mean(axis=0)
    scatter = np.atleast_2d(np.cov(logs, rowvar=False, bias=True))
    scatter = scatter + _RIDGE * np.trace(scatter) / len(scatter) * np.eye(len(scatter))
    return centre, np.linalg.inv(np.linalg.cholesky(scatter))


def _distances(logs: np.ndarray, centre: np.ndarray, whitening: np.ndarray) -> np.ndarray:
    distances: np.ndarray = np.sqrt(np.mean(((logs - centre) @ whitening.T) ** 2, axis=1))
    return distances


def _short(values: np.ndarray) -> list[float]:
    return [float(f"{value:.7g}") for value in values]
