"""Comparison of two studies: paired differences of error on the rows that both predicted."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import InputError
from trainlaw.validate.bootstrap import bootstrap_interval
from trainlaw.validate.metrics import absolute_percentage_errors
from trainlaw.validate.result import MEASURED, StudyResult


@dataclass(frozen=True, eq=False)
class Comparison:
    """Difference of the absolute percentage errors of two estimators, second minus first.

    difference_percent, low_percent, high_percent : mean over groups and its bootstrap interval, percentage
    points; negative if the second is better. by_group : columns `group`, `n_rows`, `first_mape_percent`,
    `second_mape_percent`, `difference_percent`. n_rows : rows that both predicted. n_unpaired : rows that
    only one predicted.
    """

    difference_percent: float
    low_percent: float
    high_percent: float
    by_group: pd.DataFrame
    n_rows: int
    n_unpaired: int

    @property
    def is_decided(self) -> bool:
        """Return whether the interval excludes zero."""
        return bool(self.low_percent > 0 or self.high_percent < 0)


def compare_studies(
    first: StudyResult,
    second: StudyResult,
    estimators: tuple[str, str],
    by: str = "gpu_group",
) -> Comparison:
    """Compare an estimator of the first study with one of the second, row by row.

    first, second : studies of the same table, perhaps the same one. estimators : a name of the first study
    and one of the second. by : label column of the groups. InputError if the studies share no row, hold out a
    row twice, or differ in the measured time of a row.
    """
    pairs = _paired(first, second, estimators, by)
    frame = pd.DataFrame(
        {
            "group": pairs["group"],
            "first": absolute_percentage_errors(pairs["measured"], pairs["first"]),
            "second": absolute_percentage_errors(pairs["measured"], pairs["second"]),
        }
    )
    table = frame.groupby("group").agg(
        n_rows=("first", "size"), first_mape_percent=("first", "mean"), second_mape_percent=("second", "mean")
    )
    table["difference_percent"] = table["second_mape_percent"] - table["first_mape_percent"]
    # Paired by group: the difficulty of a GPU for both estimators cancels in the difference.
    differences = table["difference_percent"].to_numpy(dtype=float)
    low, high = bootstrap_interval(
        lambda rows: differences[rows].mean(), range(len(differences)), resamples=2000
    )
    unpaired = len(first.predictions) + len(second.predictions) - 2 * len(pairs)
    return Comparison(float(differences.mean()), low, high, table.reset_index(), len(pairs), unpaired)


def _paired(first: StudyResult, second: StudyResult, estimators: tuple[str, str], by: str) -> pd.DataFrame:
    """Return columns `measured`, `first` and `second`, seconds, and `group`, of the rows held out by both."""
    tables = [
        pd.DataFrame(
            {
                "row": study.predictions["row"],
                "measured": study.measured_s,
                "predicted": study.predicted_s(name),
            }
        )
        for study, name in zip((first, second), estimators, strict=True)
    ]
    for table in tables:
        if table["row"].duplicated().any():
            raise InputError(
                "a row is held out more than once in one of the studies; compare studies without overlap"
            )
    tables[0]["group"] = first.labels(by)
    pairs = tables[0].merge(tables[1], on="row", suffixes=("", "_second"))
    if not len(pairs):
        raise InputError("the studies share no held-out row")
    # A written and reread study keeps all digits, so anything beyond rounding is another measurement.
    if not np.allclose(pairs["measured"], pairs["measured_second"], rtol=1e-9, atol=0.0):
        raise InputError(f"the studies differ in {MEASURED} of the same row: they use different tables")
    return pairs.rename(columns={"predicted": "first", "predicted_second": "second"})
