"""Baselines that a program selects from many candidates: a sparse sum of times, a sparse log-linear model.

Both follow a lasso's path of penalties (Tibshirani, "Regression shrinkage and selection via the lasso", J. R.
Statist. Soc. B 58(1), 1996) and choose the penalty by leaving out groups of the training rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from trainlaw.datasets.features.run_features import SKELETON_FEATURES, STUDY_FEATURES
from trainlaw.formulas.algebra.units import SECOND
from trainlaw.validate.baselines.inputs import balanced_weights, columns, rows_drawn
from trainlaw.validate.least_squares import nonnegative_lasso_path, product_by_blocks
from trainlaw.validate.splits import grouped_k_fold

_INNER_FOLDS = 5
# Shares of the penalty at which the first column enters.
_PENALTIES = np.geomspace(1.0, 2e-3, 20)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of a lasso, A x near b, with columns of about unit length, roots of weights, and groups."""

    A: np.ndarray
    b: np.ndarray
    roots: np.ndarray
    groups: np.ndarray


#: Path of x from A'A, A'b and penalties.
_Path = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
#: Misses of each row, (n_rows, n_penalties), from A x of that shape and b, (n_rows, 1).
_Misses = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _chosen(rows: _Rows, path: _Path, misses: _Misses) -> np.ndarray:
    """Return x, shape (k,), at the penalty with the least mean miss of inner held-out groups."""
    folds = _inner_folds(rows.groups)
    weighted = rows.roots[:, None] * np.column_stack([rows.A, rows.b])
    parts = [product_by_blocks(weighted[test], weighted[test]) for test in folds]
    whole = sum(parts, start=np.zeros_like(parts[0]))
    penalties = _PENALTIES * np.abs(whole[:-1, -1]).max()
    missed = np.zeros(len(penalties))
    for test, part in zip(folds, parts, strict=True):
        rest = whole - part
        held_out = rows.A[test] @ path(rest[:-1, :-1], rest[:-1, -1], penalties).T
        by_row = pd.DataFrame(misses(held_out, rows.b[test][:, None]))
        missed += by_row.groupby(rows.groups[test]).mean().sum().to_numpy()
    best = int(np.argmin(missed))
    return np.asarray(path(whole[:-1, :-1], whole[:-1, -1], penalties[: best + 1])[-1])


def _inner_folds(groups: np.ndarray) -> list[np.ndarray]:
    """Return the rows of each inner fold; single rows are held out where there is one group only."""
    keys = groups if len(np.unique(groups)) > 1 else np.arange(len(groups)).astype(str)
    return [split.test for split in grouped_k_fold(keys, min(_INNER_FOLDS, len(np.unique(keys))))]


_TIMES = tuple(
    dict.fromkeys(
        [
            row.spec.name
            for row in SKELETON_FEATURES
            if row.spec.unit == SECOND and row.spec.name != "least_time_s"
        ]
        + [name for name in STUDY_FEATURES if name.endswith("_s")]
    )
)
# Fixed powers, because a sum that is linear in its constants cannot fit any: round figures from hardware.
_POWERS = (("matrix_number", 0.3), ("cache_per_lane", -0.8), ("clock_ratio", -0.5))
_FLAGS = ("is_amd", "is_tensor_precision", "is_channels_last", "is_tuned_tensor")


class NonnegativePath:
    """`time = sum of constants x times x pure numbers`, constants >= 0, selected by a lasso.

    Candidates: each time of a formula's skeleton and of a study, times the 8 products of the peak rate of the
    precision (power 0 or 0.3), the level 1 cache per lane (0 or -0.8) and the clock ratio (0 or -0.5); and
    times a flag, with the first power and without. Relative errors are squared; weights are (rows of the GPU
    group)^-0.35 (rows of the precision class)^-0.35. Of groups with more than 400 rows, 400 are drawn with a
    fixed seed.
    """

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `constants_`, shape (n_candidates,), to seconds `y`, (n_runs,); `groups` for inner folds."""
        table, drawn = self._table(X), rows_drawn(groups)
        seconds, groups = np.asarray(y)[drawn], np.asarray(groups, dtype=str)[drawn]
        roots = np.sqrt(balanced_weights(X.iloc[drawn], groups, 1.0))
        relative = table[drawn] / seconds[:, None]
        lengths = np.linalg.norm(roots[:, None] * relative, axis=0)
        lengths[lengths == 0] = 1.0  # a column of zeros stays as it is
        rows = _Rows(relative / lengths, np.ones(len(drawn)), roots, groups)
        self.constants_ = _chosen(rows, nonnegative_lasso_path, _log_misses) / lengths
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        return np.asarray(self._table(X) @ self.constants_)

    @staticmethod
    def _table(X: pd.DataFrame) -> np.ndarray:
        """Return the candidates, seconds, shape (n_runs, n_candidates)."""
        names = [*_TIMES, *(name for name, _ in _POWERS), *_FLAGS]
        times, bases, flags = np.split(
            columns(X, names, "non-negative path"), [len(_TIMES), len(_TIMES) + len(_POWERS)], axis=1
        )
        factors = np.ones((len(X), 1))
        for base, (_, power) in zip(bases.T, _POWERS, strict=True):
            factors = np.hstack([factors, factors * base[:, None] ** power])
        factors = np.hstack([factors, flags, factors[:, 1:2] * flags])
        return np.asarray((times[:, :, None] * factors[:, None, :]).reshape(len(X), -1))


def _log_misses(predicted: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """Return |ln(predicted / measured)|, at most ln(1000); a sum without terms predicts 0."""
    return np.asarray(np.abs(np.log(np.maximum(predicted / measured, 1e-3))))


# Positive for every CNN but the last four, which are floored.
_WORK = (
    "total_compute_s conv3x3_matrix_s other_matrix_s im2col_matrix_s conv_weight_matrix_s im2col_simt_s "
    "conv_output_cached_s elementwise_cached_s parameter_memory_s conv_kernel_s host_s "
    "grouped_conv_simt_s depthwise_output_cached_s concat_cached_s input_copy_s"
).split()
_RUN = ("batch_per_gpu", "matrix_number", "cache_per_lane", "clock_ratio")
_RUN_FLAGS = (
    "is_tensor_precision",
    "is_channels_last",
    "is_tuned",
    "is_amd",
    "has_optimizer",
    "has_input_copy",
)
# Of the longest time of the run: a logarithm of 0 would outweigh all others.
_LEAST_SHARE = 1e-3


class LogarithmicLasso:
    """`ln(time) = constant + lasso in logarithms and their pairwise products`, squares included.

    Logarithms of 15 times of the skeleton, the batch and three pure numbers of the GPU, and six flags:
    25 columns, limited to their range in training, because their products extrapolate badly. Weights are
    (rows of the GPU group)^-0.35 (rows of the precision class)^-0.35. Of groups with more than 400 rows, 400
    are drawn with a fixed seed.
    """

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `coefficients_` to seconds `y`, shape (n_runs,); `groups` for inner folds and weights."""
        drawn = rows_drawn(groups)
        logs, groups = self._logs(X)[drawn], np.asarray(groups, dtype=str)[drawn]
        weights = balanced_weights(X.iloc[drawn], groups, 1.0)
        log_seconds = np.log(np.asarray(y)[drawn])
        self.low_, self.high_ = logs.min(axis=0), logs.max(axis=0)
        self.logs_ = _Scale.of(logs, weights)
        products = self._products(logs)
        self.products_ = _Scale.of(products, weights)
        self.constant_ = float(np.average(log_seconds, weights=weights))
        rows = _Rows(self.products_.scaled(products), log_seconds - self.constant_, np.sqrt(weights), groups)
        self.coefficients_ = _chosen(rows, _signed_path, lambda found, true: np.abs(found - true))
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Return seconds, shape (n_runs,)."""
        products = self._products(np.clip(self._logs(X), self.low_, self.high_))
        return np.asarray(np.exp(self.constant_ + self.products_.scaled(products) @ self.coefficients_))

    @staticmethod
    def _logs(X: pd.DataFrame) -> np.ndarray:
        """Return the columns, shape (n_runs, 25)."""
        table = columns(X, [*_WORK, *_RUN, *_RUN_FLAGS], "logarithmic lasso")
        work, run, flags = np.split(table, [len(_WORK), len(_WORK) + len(_RUN)], axis=1)
        floored = np.maximum(work, _LEAST_SHARE * work.max(axis=1, keepdims=True))
        return np.hstack([np.log(floored), np.log(run), flags])

    def _products(self, logs: np.ndarray) -> np.ndarray:
        """Return the scaled columns and their products, shape (n_runs, 350)."""
        scaled = self.logs_.scaled(logs)
        left, right = np.triu_indices(scaled.shape[1])
        return np.hstack([scaled, scaled[:, left] * scaled[:, right]])


@dataclass(frozen=True, eq=False)
class _Scale:
    """Weighted mean and deviation of columns, (k,); infinite where a column does not vary."""

    centre: np.ndarray
    deviation: np.ndarray

    @classmethod
    def of(cls, table: np.ndarray, weights: np.ndarray) -> Self:
        """Return the scale of a table, shape (n_rows, k)."""
        centre = np.average(table, axis=0, weights=weights)
        deviation = np.sqrt(np.average((table - centre) ** 2, axis=0, weights=weights))
        return cls(centre, np.where(deviation < 1e-9, np.inf, deviation))

    def scaled(self, table: np.ndarray) -> np.ndarray:
        """Return the table in deviations from the centre."""
        return np.asarray((table - self.centre) / self.deviation)


def _signed_path(gram: np.ndarray, moment: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    """Return the path of a lasso without signs, as the difference of two non-negative ones."""
    both = np.block([[gram, -gram], [-gram, gram]])
    path = nonnegative_lasso_path(both, np.append(moment, -moment), penalties)
    return np.asarray(path[:, : len(moment)] - path[:, len(moment) :])
