"""Null model of a layer: time in proportion to MACs over the peak rate."""

from trainlaw.validate.baselines.null_model import ScaledColumn


def layer_null() -> ScaledColumn:
    """Return the estimator `time = k x 2 passes MACs / peak`."""
    return ScaledColumn("compute_s")
