"""Gradient boosting of one layer's time: alone, or on what the hand-derived matrix product leaves over."""

from trainlaw.validate.baselines.boosting import GradientBoosting
from trainlaw.validate.baselines.layer_terms import layer_matrix_product


def layer_boosting() -> GradientBoosting:
    """Return boosting alone, on all features of layers."""
    return GradientBoosting()


def layer_boosting_on_product() -> GradientBoosting:
    """Return boosting of what the law of a saturating matrix product leaves over."""
    return GradientBoosting(layer_matrix_product)
