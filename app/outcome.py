"""What a study leaves behind, as one value that workbook, report and run folder are written from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from trainlaw.formulas import Formula, ParetoFront

OURS = "trainlaw"  # the estimator name of the evolved formula in every table
OVERALL = "all"
BY_GPU = "gpu_group"
BY_CNN = "cnn_base"


@dataclass(frozen=True)
class FoldFormula:
    """What one fold found: `held_out` names the GPU groups it never saw, `text` is its formula."""

    held_out: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class StudyOutcome:
    """A finished or interrupted study.

    formula : from the search on all rows, its `errors` are those of the folds
    front : Pareto front of that search
    held_out : one row per held-out run; label columns, `measured_s` and one column of seconds per estimator
    errors : long table with columns level, name, rows, estimator and one column per metric, in percent
    folds : one per finished fold; missing : sentences, what an interrupted study lacks
    absent_rivals : estimator name to the way of getting it; provenance : plain JSON values
    """

    formula: Formula
    front: ParetoFront
    held_out: pd.DataFrame
    errors: pd.DataFrame
    folds: tuple[FoldFormula, ...]
    missing: tuple[str, ...] = ()
    absent_rivals: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, object] = field(default_factory=dict)

    @property
    def estimators(self) -> tuple[str, ...]:
        """Names of the estimators that were compared, ours first."""
        return tuple(dict.fromkeys(self.errors["estimator"])) if len(self.errors) else ()

    def error_table(self, level: str) -> pd.DataFrame:
        """Mean absolute percentage errors of one level: names as index, estimators as columns.

        level : `OVERALL`, `BY_GPU` or `BY_CNN`.
        Returns percent, sorted by our own error, with a column `rows` in front.
        """
        part = self.errors[self.errors["level"] == level]
        table = part.pivot(index="name", columns="estimator", values="mape_percent")[list(self.estimators)]
        table.insert(0, "rows", part.groupby("name")["rows"].first())
        return table.sort_values(OURS, kind="stable")
