"""Collective algorithms (ring, tree, ...) and the feature that models the time of each."""

from collections.abc import Mapping
from types import MappingProxyType

FEATURE_OF_ALGORITHM: Mapping[str, str] = MappingProxyType(
    {
        "ring": "ring_s",
        # A ring over a message-passing library that stages through the host: same form, other constants.
        "mpi": "ring_s",
        "tree": "tree_s",
        "butterfly": "butterfly_s",
        "parameter_server": "parameter_server_s",
        "hierarchical_ring": "hierarchical_ring_s",
        "data_parallel": "data_parallel_s",
        "model_parallel": "model_parallel_s",
    }
)
ALGORITHMS = ("none", *FEATURE_OF_ALGORITHM)


def algorithm_indicator(feature: str) -> str:
    """Return the name of the indicator column: 1 where the time of a run's algorithm is `feature`.

    >>> algorithm_indicator("hierarchical_ring_s")
    'is_hierarchical_ring'
    """
    return "is_" + feature.removesuffix("_s")
