"""Baselines: what others would do with the same rows. Each is one file and one row here."""

from collections.abc import Mapping

from trainlaw.validate.baselines.boosting import (
    gradient_boosting,
    gradient_boosting_on_cf21,
    gradient_boosting_on_roofline,
)
from trainlaw.validate.baselines.closed_form_5 import cf5
from trainlaw.validate.baselines.closed_form_9 import cf9
from trainlaw.validate.baselines.closed_form_12 import cf12
from trainlaw.validate.baselines.closed_form_21 import cf21
from trainlaw.validate.baselines.compute_null import null_compute
from trainlaw.validate.baselines.memory_null import null_memory
from trainlaw.validate.baselines.mg13 import MG13
from trainlaw.validate.baselines.nonnegative_linear import NonnegativeLinear
from trainlaw.validate.baselines.perceptron import Perceptron
from trainlaw.validate.baselines.perfect_scaling import PerfectScaling
from trainlaw.validate.baselines.power_law import PowerLaw
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
    "random_forest": RandomForest,
    "gradient_boosting": gradient_boosting,
    "gradient_boosting_on_roofline": gradient_boosting_on_roofline,
    "gradient_boosting_on_cf21": gradient_boosting_on_cf21,
    "perceptron": Perceptron,
}

#: Baselines of several GPUs. They need the feature `single_gpu_time_s`, and MG13 the label `algorithm`.
MULTI_GPU_BASELINES: Mapping[str, EstimatorFactory] = {
    "perfect_scaling": PerfectScaling,
    "ring_scaling": RingScaling,
    "mg13": MG13,
}
