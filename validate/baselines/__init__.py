"""Baselines: what others would do with the same rows. Each is one file and one row here."""

from collections.abc import Mapping

from trainlaw.validate.baselines.anchor_line import AnchorLine
from trainlaw.validate.baselines.anchor_rates import anchor_bandwidth_ratio, anchor_peak_ratio
from trainlaw.validate.baselines.anchor_ratio import AnchorRatio
from trainlaw.validate.baselines.boosting import (
    gradient_boosting,
    gradient_boosting_on_cf21,
    gradient_boosting_on_perfect_scaling,
    gradient_boosting_on_roofline,
)
from trainlaw.validate.baselines.closed_form_5 import cf5
from trainlaw.validate.baselines.closed_form_9 import cf9
from trainlaw.validate.baselines.closed_form_12 import cf12
from trainlaw.validate.baselines.closed_form_21 import cf21, cf21_tensor
from trainlaw.validate.baselines.composed_scaling import ComposedScaling
from trainlaw.validate.baselines.compute_null import null_compute
from trainlaw.validate.baselines.genetic_programming import GeneticProgramming
from trainlaw.validate.baselines.layer_boosting import layer_boosting, layer_boosting_on_product
from trainlaw.validate.baselines.layer_null import layer_null
from trainlaw.validate.baselines.layer_perceptron import LayerPerceptron
from trainlaw.validate.baselines.layer_terms import layer_matrix_product, layer_roofline
from trainlaw.validate.baselines.layerwise_roofline import LayerwiseRoofline
from trainlaw.validate.baselines.many_core import MANY_CORE_NETS, many_core_seconds
from trainlaw.validate.baselines.memory_null import null_memory
from trainlaw.validate.baselines.mg13 import MG13
from trainlaw.validate.baselines.nonnegative_linear import NonnegativeLinear
from trainlaw.validate.baselines.operations_nonnegative import OperationsNonnegative
from trainlaw.validate.baselines.operon import Operon
from trainlaw.validate.baselines.perceptron import Perceptron
from trainlaw.validate.baselines.perfect_scaling import PerfectScaling
from trainlaw.validate.baselines.power_law import PowerLaw
from trainlaw.validate.baselines.profet_ensemble import ProfetEnsemble
from trainlaw.validate.baselines.random_forest import RandomForest
from trainlaw.validate.baselines.ring_scaling import RingScaling
from trainlaw.validate.baselines.roofline import Roofline
from trainlaw.validate.estimators import EstimatorFactory

#: Baselines of the iteration time on one GPU, from the simplest on; all are picklable factories.
BASELINES: Mapping[str, EstimatorFactory] = {
    "null_compute": null_compute,
    "null_memory": null_memory,
    "roofline": Roofline,
    "power_law": PowerLaw,
    "nonnegative_linear": NonnegativeLinear,
    "cf5": cf5,
    "cf9": cf9,
    "cf12": cf12,
    "cf21": cf21,
    "cf21_tensor": cf21_tensor,
    "layerwise_roofline": LayerwiseRoofline,
    "random_forest": RandomForest,
    "gradient_boosting": gradient_boosting,
    "gradient_boosting_on_roofline": gradient_boosting_on_roofline,
    "gradient_boosting_on_cf21": gradient_boosting_on_cf21,
    "perceptron": Perceptron,
}

#: Symbolic regressions of others; they need the optional packages of `trainlaw[peers]`.
PEER_BASELINES: Mapping[str, EstimatorFactory] = {"gplearn": GeneticProgramming, "pyoperon": Operon}

#: Baselines of several GPUs. They need the feature `single_gpu_time_s`, and MG13 the label `algorithm`.
MULTI_GPU_BASELINES: Mapping[str, EstimatorFactory] = {
    "perfect_scaling": PerfectScaling,
    "ring_scaling": RingScaling,
    "mg13": MG13,
    "gradient_boosting_on_perfect_scaling": gradient_boosting_on_perfect_scaling,
}

#: Baselines of several GPUs from data sheets alone, fitted to runs on one GPU and on several.
END_TO_END_BASELINES: Mapping[str, EstimatorFactory] = {
    "null_compute": null_compute,
    "roofline": Roofline,
    "cf21_tensor": cf21_tensor,
    "composed_scaling": ComposedScaling,
}

#: Baselines of a target GPU from a profile on an anchor GPU, one model per pair (see `run_pair_study`). They
#: need the features `anchor_time_s` and the seconds of each operation.
ANCHOR_BASELINES: Mapping[str, EstimatorFactory] = {
    "anchor_ratio": AnchorRatio,
    "profet_line": AnchorLine,
    "operations_nonnegative": OperationsNonnegative,
    "profet_ensemble": ProfetEnsemble,
}

#: Baselines of any target GPU from the time on any anchor. They need the features of pairs: those of the
#: target's run, `anchor_time_s`, and rates of the anchor.
TRANSFER_BASELINES: Mapping[str, EstimatorFactory] = {
    "anchor_peak_ratio": anchor_peak_ratio,
    "anchor_bandwidth_ratio": anchor_bandwidth_ratio,
}

#: Baselines of the time of one layer; they need the features of a `LayerTable`.
LAYER_BASELINES: Mapping[str, EstimatorFactory] = {
    "layer_null": layer_null,
    "layer_roofline": layer_roofline,
    "layer_matrix_product": layer_matrix_product,
    "layer_boosting": layer_boosting,
    "layer_boosting_on_product": layer_boosting_on_product,
    "layer_perceptron": LayerPerceptron,
}

#: What people are shown for the name of an estimator.
TITLES: Mapping[str, str] = {
    "null_compute": "null: FLOPs / peak",
    "null_memory": "null: bytes / bandwidth",
    "roofline": "roofline",
    "power_law": "power law",
    "nonnegative_linear": "non-negative linear",
    "cf5": "hand-derived, 5 terms",
    "cf9": "hand-derived, 9 terms",
    "cf12": "hand-derived, 12 terms",
    "cf21": "hand-derived, 21 terms",
    "cf21_tensor": "hand-derived, 21 terms, tensor exponent",
    "layerwise_roofline": "layer-wise roofline",
    "random_forest": "random forest",
    "gradient_boosting": "gradient boosting",
    "gradient_boosting_on_roofline": "boosting on roofline",
    "gradient_boosting_on_cf21": "boosting on 21 terms",
    "perceptron": "perceptron",
    "perfect_scaling": "null: perfect scaling",
    "ring_scaling": "ring all-reduce",
    "mg13": "hand-derived, 13 constants",
    "gradient_boosting_on_perfect_scaling": "boosting on perfect scaling",
    "composed_scaling": "21 terms, then a ring",
    "anchor_ratio": "null: ratio per pair",
    "profet_line": "PROFET, linear leg",
    "operations_nonnegative": "non-negative operations",
    "profet_ensemble": "PROFET, ensemble",
    "anchor_peak_ratio": "null: anchor's time x peak ratio",
    "anchor_bandwidth_ratio": "null: anchor's time x bandwidth ratio",
    "layer_null": "null: FLOPs / peak",
    "layer_roofline": "roofline of a layer",
    "layer_matrix_product": "hand-derived matrix product",
    "layer_boosting": "boosting",
    "layer_boosting_on_product": "boosting on matrix product",
    "layer_perceptron": "perceptron, as MLPredict",
    "gplearn": "gplearn",
    "pyoperon": "pyoperon",
}


def title_of(estimator: str) -> str:
    """Return what people are shown for the name of an estimator; a name that is not known stays as it is.

    >>> title_of("cf9")
    'hand-derived, 9 terms'
    """
    return TITLES.get(estimator, estimator)


__all__ = [
    "ANCHOR_BASELINES",
    "BASELINES",
    "END_TO_END_BASELINES",
    "LAYER_BASELINES",
    "MANY_CORE_NETS",
    "MULTI_GPU_BASELINES",
    "PEER_BASELINES",
    "TITLES",
    "TRANSFER_BASELINES",
    "many_core_seconds",
    "title_of",
]
