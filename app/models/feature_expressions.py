"""A feature as an expression over raw columns, for a workbook or a page to compute from a GPU and a CNN."""

from trainlaw.datasets import CNN_LAYER_FEATURES, FEATURES
from trainlaw.datasets.features.feature import written_out
from trainlaw.formulas import Expression


def feature_expression(name: str, of_layers: bool = False) -> Expression:
    """Return a feature as an expression over raw columns of runs, GPUs and CNNs, in the feature's unit.

    of_layers : a feature of one layer instead, over facts of the layer and columns of its run.

    Raises UnknownNameError for an unknown feature.

    >>> from trainlaw.formulas import to_text
    >>> to_text(feature_expression("conv_compute_s"))
    '6 * batch_per_gpu * conv_macs / peak_flop_per_s'
    """
    return written_out(CNN_LAYER_FEATURES if of_layers else FEATURES, name)
