"""Null model by compute: time in proportion to batch x MACs / peak FLOP/s."""

from trainlaw.validate.baselines.null_model import ScaledColumn


def null_compute() -> ScaledColumn:
    """Return the estimator `time = k x 6 b MACs / peak`."""
    return ScaledColumn("total_compute_s")
