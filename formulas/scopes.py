"""What a formula models: the table of scopes, and the one rule for files written before they were stored."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from trainlaw.formulas.errors import InputError, check_name


@dataclass(frozen=True, slots=True)
class Scope:
    """What the value of a formula stands for.

    Parameters
    ----------
    name : str
        Name as stored in `Formula.scope`.
    title : str
        Human-readable description.
    part : str
        What the expression is evaluated on where the target is a sum over such parts; empty otherwise.
    """

    name: str
    title: str
    part: str = ""


RUN = "run"
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
            Scope(LAYER, "one layer of a CNN, summed over its layers", part="layer"),
            Scope(MEASURED_LAYER, "one layer measured alone"),
            Scope(MULTI_GPU, "an iteration on several GPUs, given the time on one"),
            Scope(MULTI_GPU_RUN, "an iteration on one or several GPUs, from specifications alone"),
            Scope(GPU_PAIR, "an iteration on a target GPU, given its profile on an anchor GPU"),
            Scope(CUSTOM, "a quantity in features of the user's own definition"),
        )
    }
)

# Only formulas of one scope had these features when files did not store the scope. Names, not imports:
# this folder knows no data, and the rule is about files of the past, so that the names cannot change.
_PAIR_MARKERS = frozenset(
    "channelwise_s conv_backward_s pool_s conv_forward_s update_s loss_s dense_s activation_s transfer_s "
    "movement_s elementwise_s on_host_s profiled_s unprofiled_s".split()
)
_PAIR_PREFIX = "anchor_"
_MULTI_GPU_MARKERS = frozenset({"single_gpu_time_s"})
_MULTI_GPU_RUN_MARKERS = frozenset(
    "butterfly_s communication_s cut_bytes data_parallel_s exchange_launch_s exchange_rounds "
    "exchange_transfer_s gpus_per_node hierarchical_ring_s is_butterfly is_data_parallel "
    "is_hierarchical_ring is_model_parallel is_parameter_server is_ring is_tree link_byte_per_s "
    "link_latency_s link_s_per_byte log2_gpus log2_nodes model_parallel_s n_gpus n_nodes "
    "network_byte_per_s network_latency_s network_ring_s network_s_per_byte network_transfer_s "
    "node_ring_s parameter_server_s peer_access ring_s ring_steps ring_transfer_s server_transfer_s "
    "slowest_latency_s slowest_s_per_byte tree_s".split()
)
_MEASURED_LAYER_MARKERS = frozenset({"launch_s"})


def check_scope_name(name: str) -> None:
    """Raise UnknownNameError, with near names, for a scope that is not in `SCOPES`."""
    check_name("scope of a formula", name, SCOPES)


def inferred_scope(features: Iterable[str], summed_over: str, provenance: Mapping[str, Any]) -> str:
    """Return the scope of a formula file that does not store it.

    features : names of the features that the formula uses. summed_over : a field that files had instead,
    "layer" or empty. provenance : of the formula; only custom features have worked examples (`cases`).
    Raises InputError for a sum over anything but layers.

    >>> inferred_scope(["single_gpu_time_s", "network_transfer_s"], "", {})
    'multi_gpu'
    """
    if summed_over not in ("", SCOPES[LAYER].part):
        raise InputError(f"expected a sum over every layer, got 'summed_over' {summed_over!r}")
    names = frozenset(features)
    if summed_over:
        return LAYER
    if names & _PAIR_MARKERS or any(name.startswith(_PAIR_PREFIX) for name in names):
        return GPU_PAIR
    if "cases" in provenance:
        return CUSTOM
    for scope, markers in (
        (MULTI_GPU, _MULTI_GPU_MARKERS),
        (MULTI_GPU_RUN, _MULTI_GPU_RUN_MARKERS),
        (MEASURED_LAYER, _MEASURED_LAYER_MARKERS),
    ):
        if names & markers:
            return scope
    return RUN
