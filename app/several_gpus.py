"""Configurations moved to other machines: several GPUs and nodes, links, a way to exchange gradients."""

from dataclasses import dataclass

from trainlaw.datasets import RunTable, find_link
from trainlaw.datasets.algorithms import ALGORITHMS
from trainlaw.datasets.precisions import PRECISIONS
from trainlaw.formulas import InputError, unknown_name

NO_LINK = "none"
HOST_LINK = "pcie3-x16"  # of a card whose own links are not known
NETWORK = "ethernet-10g"
ALGORITHM = "ring"


@dataclass(frozen=True)
class Machines:
    """How many GPUs on how many nodes, and what joins them; None is the usual: the card's own link, a ring.

    link : between the GPUs of a node. fabric : between nodes. algorithm : of the exchange of gradients.
    """

    n_gpus: int = 1
    n_nodes: int = 1
    link: str | None = None
    fabric: str | None = None
    algorithm: str | None = None

    def __post_init__(self) -> None:
        """Check what belongs together; raises InputError or UnknownNameError."""
        if self.n_gpus % self.n_nodes:
            raise InputError(
                f"expected --gpus as a multiple of --nodes, came {self.n_gpus} on {self.n_nodes} nodes"
            )
        if self.n_gpus == self.n_nodes and self.link:
            raise InputError("--link joins the GPUs of one node: ask for more --gpus than --nodes")
        if self.n_nodes == 1 and self.fabric:
            raise InputError("--fabric joins nodes: ask for several --nodes")
        if self.n_gpus == 1 and self.algorithm:
            raise InputError("--algorithm exchanges gradients: ask for several --gpus")
        if self.algorithm is not None and self.algorithm not in ALGORITHMS[1:]:
            raise unknown_name("algorithm", self.algorithm, ALGORITHMS[1:])


def on_machines(runs: RunTable, machines: Machines) -> RunTable:
    """Return configurations of one GPU as they are on several.

    Raises UnknownNameError for an unknown link.
    """
    if machines == Machines():
        return runs
    frame = runs.frame
    own = [own_link(gpu, runs) for gpu in frame["gpu"]]
    inside = machines.n_gpus > machines.n_nodes
    changed = frame.assign(
        n_gpus=machines.n_gpus,
        n_nodes=machines.n_nodes,
        link=[_name(machines.link or link) for link in own] if inside else NO_LINK,
        network=_name(machines.fabric or NETWORK) if machines.n_nodes > 1 else NO_LINK,
        algorithm=(machines.algorithm or ALGORITHM) if machines.n_gpus > 1 else "none",
    )
    return RunTable(runs.name, changed, runs.facts)


def own_link(gpu: str, runs: RunTable) -> str:
    """Return the link that joins cards of that name unless something else is said."""
    card = runs.facts.gpus.find(gpu)
    return card.gpu_link or card.host_link or HOST_LINK


def _name(link: str) -> str:
    return find_link(link).link


def in_precision(runs: RunTable, precision: str) -> RunTable:
    """Return the same configurations in another precision; raises UnknownNameError for an unknown one."""
    if precision not in PRECISIONS:
        raise unknown_name("precision", precision, PRECISIONS)
    return RunTable(runs.name, runs.frame.assign(precision=precision, precision_stated=precision), runs.facts)
