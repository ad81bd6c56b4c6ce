"""Collective algorithms (ring, tree, ...), the feature that models each, and GPUs spread over nodes."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from trainlaw.formulas.errors import InputError, shown

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


#: Text of an allocation where all nodes have the same number of GPUs.
EVEN = "even"
_ALLOCATION = re.compile(r"[1-9]\d{0,4}([,+ ] ?[1-9]\d{0,4}){0,1023}", re.ASCII)


def gpus_of_nodes(allocation: str) -> tuple[int, ...]:
    """Return the number of GPUs of each node of an allocation.

    Raises InputError for a text that lists no numbers.

    >>> gpus_of_nodes("4,2,1"), gpus_of_nodes("4+2+1")
    ((4, 2, 1), (4, 2, 1))
    """
    if not _ALLOCATION.fullmatch(allocation.strip()):
        raise InputError(
            f"expected an allocation as the GPUs of each node, such as 4,2,1, got {shown(allocation)}"
        )
    return tuple(int(number) for number in re.findall(r"\d+", allocation))


def most_gpus_of_node(allocation: str) -> float:
    """Return the GPUs of the largest node of an allocation; nan for an even one, which does not say."""
    return float("nan") if allocation == EVEN else float(max(gpus_of_nodes(allocation)))
