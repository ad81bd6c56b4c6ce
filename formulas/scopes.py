"""The table of scopes: the quantities that formulas model."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Scope:
    """The quantity that a formula gives.

    name : as stored in `Formula.scope`. title : for people. part : what the expression is evaluated on where
    the target is a sum over such parts; empty otherwise.
    """

    name: str
    title: str
    part: str = ""


RUN = "run"
FORWARD = "forward"
LAYER = "layer"
MEASURED_LAYER = "measured_layer"
MULTI_GPU = "multi_gpu"
MULTI_GPU_RUN = "multi_gpu_run"
GPU_PAIR = "gpu_pair"
CUSTOM = "custom"

SCOPES: Mapping[str, Scope] = MappingProxyType(
    {
        scope.name: scope
        for scope in (
            Scope(RUN, "an iteration on one GPU"),
            Scope(FORWARD, "a forward pass on one GPU"),
            Scope(LAYER, "one layer of a CNN, summed over its layers", part="layer"),
            Scope(MEASURED_LAYER, "one layer measured alone"),
            Scope(MULTI_GPU, "an iteration on several GPUs, given the time on one"),
            Scope(MULTI_GPU_RUN, "an iteration on one or several GPUs, from specifications alone"),
            Scope(GPU_PAIR, "an iteration on a target GPU, given its profile on an anchor GPU"),
            Scope(CUSTOM, "a quantity in features of the user's own definition"),
        )
    }
)
