"""Errors of estimators by group: splits by whole groups, guarded studies, error intervals, baselines.

`run_study` takes any object with `fit` and `predict` (see `Estimator`). Reference models are listed in
`trainlaw.validate.baselines`, error measures in `trainlaw.validate.metrics`, named ways to split in
`trainlaw.validate.splits.SCHEMES`.
"""

from typing import TYPE_CHECKING

from trainlaw.formulas.lazy_names import lazy_names

if TYPE_CHECKING:
    from trainlaw.validate.bootstrap import bootstrap_interval
    from trainlaw.validate.estimators import Estimator, EstimatorFactory
    from trainlaw.validate.guard import LeakError
    from trainlaw.validate.result import StudyResult
    from trainlaw.validate.splits import Split, grouped_k_fold, leave_one_group_out
    from trainlaw.validate.study import StudyProgress, run_study

__all__ = [
    "Estimator",
    "EstimatorFactory",
    "LeakError",
    "Split",
    "StudyProgress",
    "StudyResult",
    "bootstrap_interval",
    "grouped_k_fold",
    "leave_one_group_out",
    "run_study",
]

_HOMES = {
    "bootstrap": "bootstrap_interval",
    "estimators": "Estimator EstimatorFactory",
    "guard": "LeakError",
    "result": "StudyResult",
    "splits": "Split grouped_k_fold leave_one_group_out",
    "study": "StudyProgress run_study",
}

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _HOMES)
