"""The server in which a GPU usually is: how many GPUs a node has, and the fabric between nodes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from trainlaw.datasets.files.storage import read_data_rows
from trainlaw.formulas import InputError

_ANY_OTHER = "*"


@dataclass(frozen=True)
class Server:
    """A usual server: `gpus_per_node` GPUs, and the `fabric` between nodes as a link."""

    gpus_per_node: int
    fabric: str

    def nodes_of(self, n_gpus: int) -> int:
        """Return over how many such servers GPUs are spread evenly.

        Raises InputError where they cannot be. Numbers below 1 are refused elsewhere.

        >>> usual_server("T4").nodes_of(16)
        2
        """
        if not isinstance(n_gpus, int) or n_gpus < 1:
            return 1
        n_nodes = -(-n_gpus // self.gpus_per_node)
        if n_gpus % n_nodes:
            raise InputError(
                f"expected a number of GPUs that nodes of {self.gpus_per_node} share evenly, got {n_gpus}; "
                "say how they are spread: --nodes, --gpus-per-node, or --allocation 8,1"
            )
        return n_nodes


def usual_server(gpu: str) -> Server:
    """Return the usual server of a GPU by name, also of a changed one ("T4 with 2x peak").

    >>> usual_server("A100-SXM4-40GB").fabric, usual_server("mine").fabric
    ('infiniband-hdr-x8', 'ethernet-10g')
    """
    known = _servers()
    return known.get(gpu.partition(" with ")[0], known[_ANY_OTHER])


@cache
def _servers() -> Mapping[str, Server]:
    return MappingProxyType(
        {
            gpu: Server(int(row["gpus_per_node"]), row["fabric"])
            for row in read_data_rows("servers.csv")
            for gpu in row["gpus"].split(";")
        }
    )
