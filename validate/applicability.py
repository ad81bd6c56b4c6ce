"""How unlike the training rows a configuration is, all features together.

Each feature may lie in its training range and yet their combination be new (a huge batch of a tiny network).
The measure is the Mahalanobis distance (Mahalanobis, "On the generalised distance in statistics", 1936) of
the logarithms of a formula's features; what is far is said by the training rows themselves: by how far the
rows of each group lie from the rows of all other groups.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.formula import Formula

#: Where a formula's `errors` carry the joint range.
KEY = "joint_range"
_RIDGE = 0.05  # of the mean variance: so that two features in step do not make a tiny change look far


@dataclass(frozen=True, eq=False)
class JointRange:
    """Distance from training and the distance beyond which a row counts as outside.

    names : features, (k,). floors : added to each before the logarithm, so that zeros have one, (k,).
    centre : mean of ln(feature + floor), (k,). whitening : (k, k); the distance of a row is the length of
    whitening @ (ln(feature + floor) - centre) over the root of k. limit : nine tenths of the rows of a new
    group of GPUs lie within it, each group weighing the same.
    """

    names: tuple[str, ...]
    floors: np.ndarray
    centre: np.ndarray
    whitening: np.ndarray
    limit: float

    @classmethod
    def fit(
        cls, columns: Mapping[str, Sequence[float]], groups: Sequence[object], level: float = 0.9
    ) -> "JointRange":
        """Learn the range from training rows: `columns`, features by name, and `groups`, each (n_runs,).

        Features that never vary are left out. InputError without any feature or for negative values.
        """
        names = tuple(name for name, values in columns.items() if np.ptp(np.asarray(values, dtype=float)) > 0)
        if not names:
            raise InputError("joint range: expected at least one feature that varies")
        table = np.column_stack([np.asarray(columns[name], dtype=float) for name in names])
        if not np.isfinite(table).all() or (table < 0).any():
            raise InputError("joint range: expected finite features, none negative")
        floors = np.array([np.quantile(values[values > 0], 0.05) for values in table.T])
        logs, labels = np.log(table + floors), np.asarray(groups, dtype=str)
        distances, weights = np.zeros(len(logs)), np.zeros(len(logs))
        group_names = np.unique(labels)
        for name in group_names:
            inside = labels == name
            # A group is measured against the others only, as a new GPU will be.
            reference = logs[~inside] if len(group_names) > 1 else logs
            distances[inside] = _distances(logs[inside], *_shape(reference))
            weights[inside] = 1.0 / (inside.sum() * len(group_names))
        order = np.argsort(distances, kind="stable")
        position = int(np.searchsorted(np.cumsum(weights[order]), level - 1e-12))
        limit = float(distances[order][min(position, len(order) - 1)])
        return cls(names, floors, *_shape(logs), limit)

    def distance(self, columns: Mapping[str, Sequence[float]]) -> np.ndarray:
        """Return the distance of each row from training, (n_runs,); 1 is typical, nan where undefined."""
        table = np.column_stack([np.asarray(columns[name], dtype=float) for name in self.names])
        with np.errstate(invalid="ignore", divide="ignore"):
            return _distances(np.log(table + self.floors), self.centre, self.whitening)

    def outside(self, columns: Mapping[str, Sequence[float]]) -> np.ndarray:
        """Return which rows are farther than `limit`, bool, shape (n_runs,); undefined ones are."""
        return ~(self.distance(columns) <= self.limit)

    def to_json(self) -> dict[str, object]:
        """Return the range as plain JSON values, seven digits each."""
        return {
            "names": list(self.names),
            "floors": _short(self.floors),
            "centre": _short(self.centre),
            "whitening": [_short(row) for row in self.whitening],
            "limit": float(f"{self.limit:.7g}"),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, object]) -> "JointRange":
        """Return the range that `to_json` gave; InputError where a part is missing or of another size."""
        try:
            names = tuple(str(name) for name in value["names"])
            floors, centre, whitening = (
                np.array(value[key], dtype=float) for key in ("floors", "centre", "whitening")
            )
            limit = float(value["limit"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"this is no joint range: {type(error).__name__} {error}") from None
        size = len(names)
        if floors.shape != (size,) or centre.shape != (size,) or whitening.shape != (size, size):
            raise InputError(f"joint range: expected {size} floors, centres and rows of whitening")
        return cls(names, floors, centre, whitening, limit)


def joint_range_of(formula: Formula) -> JointRange | None:
    """Return the joint range that a formula carries in its `errors`, or None where it carries none."""
    value = formula.errors.get(KEY)
    return JointRange.from_json(value) if value else None


def jointly_outside(formula: Formula, columns: Mapping[str, Sequence[float]]) -> np.ndarray:
    """Return which rows are, all features together, unlike the formula's training rows, bool, (n_runs,).

    columns : the used features by name, each (n_runs,). All False for a formula without a joint range.
    """
    found = joint_range_of(formula)
    lengths = {len(np.atleast_1d(np.asarray(values))) for values in columns.values()}
    return found.outside(columns) if found else np.zeros(max(lengths, default=0), dtype=bool)


def _shape(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean, (k,), and inverse root of the covariance, (k, k), of rows of logarithms."""
    centre = logs.mean(axis=0)
    scatter = np.atleast_2d(np.cov(logs, rowvar=False, bias=True))
    scatter = scatter + _RIDGE * np.trace(scatter) / len(scatter) * np.eye(len(scatter))
    return centre, np.linalg.inv(np.linalg.cholesky(scatter))


def _distances(logs: np.ndarray, centre: np.ndarray, whitening: np.ndarray) -> np.ndarray:
    return np.sqrt(np.mean(((logs - centre) @ whitening.T) ** 2, axis=1))


def _short(values: np.ndarray) -> list[float]:
    return [float(f"{value:.7g}") for value in values]
