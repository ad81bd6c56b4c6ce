"""Errors of estimators by group: splits by whole groups, guarded studies, error intervals, baselines.

`run_study` takes any object with `fit` and `predict` (see `Estimator`). Reference models are listed in
`trainlaw.validate.baselines`, error measures in `trainlaw.validate.metrics`, named ways to split in
`trainlaw.validate.splits.SCHEMES`.
"""

from typing import TYPE_CHECKING

from trainlaw.formulas.lazy_names import lazy_names

# Imported at once: its file has the same name, and would take the place of the function.
from trainlaw.validate.time_factors import TimeFactors, time_factors

if TYPE_CHECKING:
    from trainlaw.validate.applicability import JointRange
    from trainlaw.validate.bootstrap import bootstrap_interval
    from trainlaw.validate.comparison import Comparison, compare_studies
    from trainlaw.validate.conformal import ConformalInterval
    from trainlaw.validate.estimators import Estimator, EstimatorFactory
    from trainlaw.validate.guard import LeakError
    from trainlaw.validate.levels import LevelError, calibration_levels, known_gpu_levels
    from trainlaw.validate.measured_rates import MeasuredRates, read_rates
    from trainlaw.validate.platforms import cross_platform
    from trainlaw.validate.refit import RefittedFormula
    from trainlaw.validate.result import StudyResult
    from trainlaw.validate.splits import (
        Split,
        grouped_k_fold,
        leave_one_group_out,
        listed_splits,
        pairs_of_folds,
        splits_by_name,
    )
    from trainlaw.validate.study import StudyProgress, run_study

__all__ = [
    "Comparison",
    "ConformalInterval",
    "Estimator",
    "EstimatorFactory",
    "JointRange",
    "LeakError",
    "LevelError",
    "MeasuredRates",
    "RefittedFormula",
    "Split",
    "StudyProgress",
    "StudyResult",
    "TimeFactors",
    "bootstrap_interval",
    "calibration_levels",
    "compare_studies",
    "cross_platform",
    "grouped_k_fold",
    "known_gpu_levels",
    "leave_one_group_out",
    "listed_splits",
    "pairs_of_folds",
    "read_rates",
    "run_study",
    "splits_by_name",
    "time_factors",
]

_HOMES = {
    "applicability": "JointRange",
    "bootstrap": "bootstrap_interval",
    "levels": "LevelError calibration_levels known_gpu_levels",
    "comparison": "Comparison compare_studies",
    "conformal": "ConformalInterval",
    "estimators": "Estimator EstimatorFactory",
    "guard": "LeakError",
    "measured_rates": "MeasuredRates read_rates",
    "platforms": "cross_platform",
    "refit": "RefittedFormula",
    "result": "StudyResult",
    "splits": "Split grouped_k_fold leave_one_group_out listed_splits pairs_of_folds splits_by_name",
    "study": "StudyProgress run_study",
}

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _HOMES)
