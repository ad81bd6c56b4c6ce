"""How wrong an estimator is, and where: splits by whole groups, guarded studies, error intervals, baselines.

`run_study` takes any object with `fit` and `predict` (see `Estimator`). Reference models are listed in
`trainlaw.validate.baselines`, error measures in `trainlaw.validate.metrics`, named ways to split in
`trainlaw.validate.splits.SCHEMES`.
"""

from trainlaw.validate.applicability import JointRange
from trainlaw.validate.bootstrap import bootstrap_interval
from trainlaw.validate.calibration_levels import LevelError, calibration_levels
from trainlaw.validate.comparison import Comparison, compare_studies
from trainlaw.validate.conformal import ConformalInterval
from trainlaw.validate.estimators import Estimator, EstimatorFactory
from trainlaw.validate.guard import LeakError, assert_blind
from trainlaw.validate.measured_rates import MeasuredRates, read_rates
from trainlaw.validate.platforms import cross_platform
from trainlaw.validate.refit import RefittedFormula
from trainlaw.validate.result import StudyResult
from trainlaw.validate.splits import (
    Split,
    grouped_k_fold,
    leave_one_group_out,
    listed_splits,
    splits_by_name,
)
from trainlaw.validate.study import StudyProgress, run_pair_study, run_study
from trainlaw.validate.time_factors import TimeFactors, time_factors

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
    "assert_blind",
    "bootstrap_interval",
    "calibration_levels",
    "compare_studies",
    "cross_platform",
    "grouped_k_fold",
    "leave_one_group_out",
    "listed_splits",
    "read_rates",
    "run_pair_study",
    "run_study",
    "splits_by_name",
    "time_factors",
]
