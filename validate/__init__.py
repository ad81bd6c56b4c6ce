"""How wrong an estimator is, and where: splits by whole groups, metrics, studies, baselines.

Takes any object with `fit` and `predict`; see `Estimator` for the protocol and `run_study` for the way in.
"""

from trainlaw.validate.applicability import JointRange, joint_range_of, jointly_outside
from trainlaw.validate.baselines import many_core_seconds, title_of
from trainlaw.validate.bootstrap import bootstrap_interval
from trainlaw.validate.calibration import Calibration, anchor_errors, calibrate
from trainlaw.validate.calibration_levels import LevelError, calibration_levels
from trainlaw.validate.comparison import Comparison, compare_studies
from trainlaw.validate.conformal import ConformalInterval, conformal_coverage
from trainlaw.validate.estimators import SHAREABLE_LABELS, Estimator, EstimatorFactory
from trainlaw.validate.guard import IDENTITY_COLUMNS, LeakError, assert_blind
from trainlaw.validate.measured_rates import MeasuredRates, read_rates
from trainlaw.validate.metrics import (
    METRICS,
    absolute_percentage_errors,
    by_group,
    faster_gpu_percent,
    log_bias,
    macro,
    mape_percent,
    median_ape_percent,
    rmse_s,
    share_within_percent,
    spearman,
)
from trainlaw.validate.pair_study import run_pair_study
from trainlaw.validate.platforms import cross_platform
from trainlaw.validate.progress import StudyProgress
from trainlaw.validate.refit import RefittedFormula
from trainlaw.validate.result import StudyResult
from trainlaw.validate.splits import (
    SCHEMES,
    Split,
    grouped_k_fold,
    leave_one_group_out,
    leave_pairs_out,
    listed_splits,
    newest_gpus_out,
    newest_out,
    splits_by_name,
)
from trainlaw.validate.study import run_study

__all__ = [
    "IDENTITY_COLUMNS",
    "METRICS",
    "SCHEMES",
    "SHAREABLE_LABELS",
    "Calibration",
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
    "absolute_percentage_errors",
    "anchor_errors",
    "assert_blind",
    "bootstrap_interval",
    "by_group",
    "calibrate",
    "calibration_levels",
    "compare_studies",
    "conformal_coverage",
    "cross_platform",
    "faster_gpu_percent",
    "grouped_k_fold",
    "joint_range_of",
    "jointly_outside",
    "leave_one_group_out",
    "leave_pairs_out",
    "listed_splits",
    "log_bias",
    "macro",
    "many_core_seconds",
    "mape_percent",
    "median_ape_percent",
    "newest_gpus_out",
    "newest_out",
    "read_rates",
    "rmse_s",
    "run_pair_study",
    "run_study",
    "share_within_percent",
    "spearman",
    "splits_by_name",
    "title_of",
]
