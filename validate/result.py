"""The result of a study: predictions of held-out rows, and the error tables computed from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import InputError, check_name
from trainlaw.formulas.formula import Formula
from trainlaw.validate.bootstrap import central_interval, drawn_rows, mean_interval, pair_interval
from trainlaw.validate.metrics import (
    METRICS,
    by_group,
    faster_gpu_percent,
    gpu_pairs,
    macro,
    mape_percent,
)

OURS = "trainlaw"  # the name of the evolved formula among the estimators
#: Begins the name of the same search with another random seed.
SEED = f"{OURS} seed "
MEASURED = "measured_s"
CONFIGURATION = "configuration"
#: Label columns by whose groups a summary averages errors, if the study has them.
MACRO_COLUMNS = ("gpu_group", "cnn_base")


def member_name(estimator: str, name: object) -> str:
    """Return the name of a further model of an estimator, such as its formula of six constants.

    >>> member_name("evolution", 6)
    'evolution 6'
    """
    return f"{estimator} {name}"


@dataclass(frozen=True, eq=False)
class StudyResult:
    """Held-out predictions of a finished or interrupted study.

    Attributes
    ----------
    predictions : DataFrame
        One row per held-out row of each finished split: `row` (position in the table of the study), `split`,
        the label columns, `measured_s`, and one column of predicted seconds per estimator.
    estimators : tuple of str
        Names in the given order.
    missing_splits : tuple of str
        Names of the splits missing because of an interruption.
    formulas : mapping
        Fitted formula by (split, estimator), for estimators that have one.
    """

    predictions: pd.DataFrame
    estimators: tuple[str, ...]
    missing_splits: tuple[str, ...] = ()
    formulas: Mapping[tuple[str, str], Formula] = field(default_factory=dict)

    @property
    def measured_s(self) -> np.ndarray:
        """Return the measured seconds of the held-out rows, shape (n_predictions,)."""
        return self.predictions[MEASURED].to_numpy(dtype=float)

    @property
    def searches(self) -> tuple[str, ...]:
        """The names of the estimators that evolve the formula: `OURS`, then those with other seeds."""
        return (OURS, *(name for name in self.estimators if name.startswith(SEED)))

    def predicted_s(self, estimator: str) -> np.ndarray:
        """Return predicted seconds, shape (n_predictions,); UnknownNameError for an unknown estimator."""
        return self._column("estimator", estimator, self.estimators, float)

    def labels(self, column: str) -> np.ndarray:
        """Return one label column, strings, shape (n_predictions,); UnknownNameError if there is none."""
        labels = [str(name) for name in self.predictions if name not in self.estimators]
        return self._column("label column", column, labels, str)

    def _column(self, kind: str, name: str, known: Sequence[str], dtype: type) -> np.ndarray:
        check_name(kind, name, known)
        return self.predictions[name].to_numpy(dtype=dtype)

    def chosen(self, names: Mapping[str, str]) -> "StudyResult":
        """Return the study of some estimators; names : theirs, by the new names that they get."""
        kept = self.predictions.drop(columns=list(self.estimators))
        columns = {new: self.predictions[old] for new, old in names.items()}
        formulas = {
            (split, new): formula
            for new, old in names.items()
            for (split, name), formula in self.formulas.items()
            if name == old
        }
        return StudyResult(kept.assign(**columns), tuple(names), self.missing_splits, formulas)

    def errors_by(self, column: str) -> pd.DataFrame:
        """Return the errors of each group: columns `column`, `estimator`, `n_rows` and one per metric.

        column : a label column, such as "cnn_base" for the error per architecture, or "split".
        """
        groups, measured = self.labels(column), self.measured_s
        predicted = {estimator: self.predicted_s(estimator) for estimator in self.estimators}
        rows = []
        for name in np.unique(groups):
            inside = groups == name
            for estimator, seconds in predicted.items():
                errors = _figures(measured[inside], seconds[inside])
                rows.append(
                    {column: str(name), "estimator": estimator, "n_rows": int(inside.sum()), **errors}
                )
        return pd.DataFrame(rows)

    def summary(self) -> pd.DataFrame:
        """Return one row per estimator: `n_rows`, all `METRICS`, macro MAPE, share of faster GPUs picked.

        InputError if no split was finished.
        """
        if not len(self.predictions):
            raise InputError(
                "the study was interrupted before its first fold was finished: there is no error yet"
            )
        measured = self.measured_s
        columns = [name for name in (*MACRO_COLUMNS, CONFIGURATION) if name in self.predictions]
        labels = {name: self.labels(name) for name in columns}
        # The choice between two GPUs needs runs of the same work on both.
        same_work = labels.pop(CONFIGURATION, None)
        rows = []
        for estimator in self.estimators:
            predicted = self.predicted_s(estimator)
            row: dict[str, object] = {"estimator": estimator, "n_rows": len(predicted)}
            row |= _figures(measured, predicted)
            for column, groups in labels.items():
                row[f"macro_{column}_mape_percent"] = macro(mape_percent, measured, predicted, groups)
            if same_work is not None and "gpu_group" in labels:
                gpus = labels["gpu_group"]
                row["faster_gpu_percent"] = faster_gpu_percent(measured, predicted, gpus, same_work)
            rows.append(row)
        return pd.DataFrame(rows)

    def intervals(self, over: str = "gpu_group", level: float = 0.9, resamples: int = 500) -> pd.DataFrame:
        """Return a bootstrap interval of every metric, resampling the groups of the label column `over`.

        Columns `estimator`, `metric`, `value`, `low`, `high`; `macro_mape_percent` is the mean over the
        groups of `over`; `faster_gpu_percent` is included if these are GPU groups.
        """
        groups, measured = self.labels(over), self.measured_s
        paired = over == "gpu_group" and CONFIGURATION in self.predictions
        same_work = self.labels(CONFIGURATION) if paired else None
        # A single group cannot be resampled.
        draws = drawn_rows(groups, resamples, 0) if len(np.unique(groups)) > 1 else []
        rows = []
        for estimator in self.estimators:
            predicted = self.predicted_s(estimator)
            drawn = [(measured[places], predicted[places]) for places in draws]
            for name, metric in METRICS.items():
                interval = central_interval([metric(*times) for times in drawn], level)
                rows.append((estimator, name, metric(measured, predicted), *interval))
            values = by_group(mape_percent, measured, predicted, groups).values()
            rows.append((estimator, "macro_mape_percent", *mean_interval(values, level, resamples)))
            if same_work is not None:
                pairs = gpu_pairs(measured, predicted, groups, same_work)
                picked = 100.0 * pairs["picked"]
                figure = pair_interval(pairs[["first", "second"]], picked, level, resamples)
                rows.append((estimator, "faster_gpu_percent", *figure))
        return pd.DataFrame(rows, columns=["estimator", "metric", "value", "low", "high"])


def _figures(measured: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    return {name: metric(measured, predicted) for name, metric in METRICS.items()}
