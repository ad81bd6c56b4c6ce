"""A sparse non-negative sum of times, selected from many candidates.

Follows a lasso's path of penalties (Tibshirani, "Regression shrinkage and selection via the lasso", J. R.
Statist. Soc. B 58(1), 1996) and chooses the penalty by leaving out groups of the training rows.
"""

from typing import Self

import numpy as np
import pandas as pd
from trainlaw.datasets.features.run_features import SKELETON_FEATURES
from trainlaw.formulas.algebra.units import SECOND
from trainlaw.validate.baselines.inputs import balanced_weights, columns, rows_drawn
from trainlaw.validate.least_squares import nonnegative_lasso_path, product_by_blocks
from trainlaw.validate.splits import grouped_k_fold

_INNER_FOLDS = 5
# Shares of the penalty at which the first column enters.
_PENALTIES = np.geomspace(1.0, 2e-3, 20)
# Fine enough that hardly two columns enter at once.
_FINE_PENALTIES = np.geomspace(1.0, 2e-3, 400)


# Work of each kind at data-sheet rates, as a plain sum counts it.
_FURTHER_TIMES = (
    "conv3x3_compute_s conv1x1_compute_s conv5x5_compute_s conv_other_compute_s grouped_conv_compute_s "
    "dense_compute_s im2col_compute_s conv_output_compute_s conv_weight_compute_s conv_output_memory_s "
    "depthwise_output_memory_s batchnorm_memory_s elementwise_memory_s concat_memory_s "
    "parameter_memory_s optimizer_memory_s layer_launch_s kernel_launch_s input_copy_s "
    "iteration_overhead_s"
).split()
_TIMES = tuple(
    dict.fromkeys(
        [
            row.spec.name
            for row in SKELETON_FEATURES
            if row.spec.unit == SECOND and not row.spec.name.startswith(("least_time", "forward_"))
        ]
        + _FURTHER_TIMES
    )
)
# Fixed powers, because a sum that is linear in its constants cannot fit any: round figures from hardware.
_POWERS = (("matrix_number", 0.3), ("cache_per_lane", -0.8), ("clock_ratio", -0.5))
_FLAGS = ("is_amd", "is_tensor_precision", "is_channels_last", "is_tuned_tensor")


class NonnegativePath:
    """`time = sum of constants x times x pure numbers`, constants >= 0, selected by a lasso.

    Candidates: each time of a formula's skeleton and of a kind of work, times the 8 products of the peak
    rate of the precision (power 0 or 0.3), the level 1 cache per lane (0 or -0.8) and the clock ratio (0 or
    -0.5); and times a flag, with the first power and without. Relative errors are squared; weights are (rows
    of the GPU group)^-0.35 (rows of the precision class)^-0.35. Of groups with more than 400 rows, 400 are
    drawn with a fixed seed.
    """

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit `constants_`, shape (n_candidates,), to seconds `y`, (n_runs,); `groups` for inner folds."""
        relative, lengths, roots, groups = self._scaled(X, y, groups)
        self.constants_ = _chosen(relative, roots, groups) / lengths
        return self

    def _scaled(
        self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the candidates of drawn rows over their times, of length 1, as `_chosen` takes them.

        Also their lengths before, the roots of the weights, and the groups.
        """
        drawn = rows_drawn(groups)
        seconds, groups = np.asarray(y)[drawn], np.asarray(groups, dtype=str)[drawn]
        roots = np.sqrt(balanced_weights(X.iloc[drawn], groups))
        relative = self._table(X.iloc[drawn]) / seconds[:, None]
        lengths = np.linalg.norm(roots[:, None] * relative, axis=0)
        lengths[lengths == 0] = 1.0  # a column of zeros stays as it is
        return relative / lengths, lengths, roots, groups

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


class NonnegativePathBySize(NonnegativePath):
    """The sums of `NonnegativePath` with few constants: first columns of the path, fitted without penalty.

    sizes : numbers of constants; after `fit` each has its sum in `members_`, the largest one that of this
    estimator.
    """

    def __init__(self, sizes: tuple[int, ...]) -> None:
        """Keep the numbers of constants."""
        self.sizes = sizes

    def fit(self, X: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Self:
        """Fit a sum of each size to seconds `y`, (n_runs,); X : features, (n_runs, n_features)."""
        relative, lengths, roots, groups = self._scaled(X, y, groups)
        weighted = roots[:, None] * np.column_stack([relative, np.ones(len(relative))])
        whole = product_by_blocks(weighted, weighted)
        gram, moment = whole[:-1, :-1], whole[:-1, -1]
        path = nonnegative_lasso_path(gram, moment, _FINE_PENALTIES * np.abs(moment).max())
        self.members_ = {}
        for size in self.sizes:
            inside = np.flatnonzero([row for row in path if np.count_nonzero(row) <= size][-1])
            member = NonnegativePath()
            member.constants_ = np.zeros(len(moment))
            refitted = nonnegative_lasso_path(gram[np.ix_(inside, inside)], moment[inside], np.zeros(1))[0]
            member.constants_[inside] = refitted / lengths[inside]
            self.members_[str(size)] = member
        self.constants_ = self.members_[str(max(self.sizes))].constants_
        return self


def _chosen(table: np.ndarray, roots: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the constants, (n_candidates,), of the penalty with the least mean miss of held-out groups.

    table : candidates over the measured time, columns of about unit length. roots : of the weights.
    """
    # Single rows are held out where there is one group only.
    keys = groups if len(np.unique(groups)) > 1 else np.arange(len(groups)).astype(str)
    folds = [split.test for split in grouped_k_fold(keys, min(_INNER_FOLDS, len(np.unique(keys))))]
    weighted = roots[:, None] * np.column_stack([table, np.ones(len(table))])
    parts = [product_by_blocks(weighted[test], weighted[test]) for test in folds]
    whole = sum(parts, start=np.zeros_like(parts[0]))
    penalties = _PENALTIES * np.abs(whole[:-1, -1]).max()
    missed = np.zeros(len(penalties))
    for test, part in zip(folds, parts, strict=True):
        rest = whole - part
        predicted = table[test] @ nonnegative_lasso_path(rest[:-1, :-1], rest[:-1, -1], penalties).T
        # A sum without terms predicts 0: no miss counts more than that by a factor of 1000.
        misses = pd.DataFrame(np.abs(np.log(np.maximum(predicted, 1e-3))))
        missed += misses.groupby(groups[test]).mean().sum().to_numpy()
    best = int(np.argmin(missed))
    return np.asarray(nonnegative_lasso_path(whole[:-1, :-1], whole[:-1, -1], penalties[: best + 1])[-1])
