"""Two studies side by side: paired differences of error on the rows that both predicted."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from trainlaw.formulas.errors import InputError
from trainlaw.validate.bootstrap import bootstrap_interval
from trainlaw.validate.metrics import absolute_percentage_errors
from trainlaw.validate.result import MEASURED, StudyResult


@dataclass(frozen=True, eq=False)
class Comparison:
    """How much larger the absolute percentage error of the second of two estimators is, in points of percent.

    difference_percent, low_percent, high_percent : mean over groups and its bootstrap interval, groups drawn
    anew; negative where the second is better. by_group : `group`, `n_rows`, `first_mape_percent`,
    `second_mape_percent`, `difference_percent`. n_rows : rows that both predicted; n_unpaired : rows that
    only one did.
    """

    difference_percent: float
    low_percent: float
    high_percent: float
    by_group: pd.DataFrame
    n_rows: int
    n_unpaired: int

    @property
    def is_decided(self) -> bool:
        """Whether the interval excludes zero."""
        return bool(self.low_percent > 0 or self.high_percent < 0)


def compare_studies(
    first: StudyResult,
    second: StudyResult,
    estimators: tuple[str, str],
    by: str = "gpu_group",
    level: float = 0.9,
) -> Comparison:
    """Compare an estimator of the first study with one of the second, row by row, on the rows of both.

    estimators : one name per study; the studies may be one and the same. by : label column of the groups.
    InputError where the studies share no row, or disagree on what was measured in a row.
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
    differences = table["difference_percent"].to_numpy(dtype=float)
    low, high = bootstrap_interval(
        lambda rows: differences[rows].mean(), range(len(differences)), level, resamples=2000
    )
    unpaired = len(first.predictions) + len(second.predictions) - 2 * len(pairs)
    return Comparison(float(differences.mean()), low, high, table.reset_index(), len(pairs), unpaired)


def _paired(first: StudyResult, second: StudyResult, estimators: tuple[str, str], by: str) -> pd.DataFrame:
    """Return `measured`, `first`, `second` seconds and `group` of the rows that both studies held out."""
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
    if not np.allclose(pairs["measured"], pairs["measured_second"], rtol=1e-9, atol=0.0):
        raise InputError(f"the studies differ in {MEASURED} of the same row: they are of different tables")
    return pairs.rename(columns={"predicted": "first", "predicted_second": "second"})
