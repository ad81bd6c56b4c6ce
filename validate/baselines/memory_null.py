"""Null model by memory: time in proportion to batch x activation bytes / bandwidth."""

from trainlaw.validate.baselines.null_model import ScaledColumn


def null_memory() -> ScaledColumn:
    """Return the estimator `time = k x b e activations / bandwidth`."""
    return ScaledColumn("activation_memory_s")
