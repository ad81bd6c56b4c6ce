"""Setups that the hardware cannot run, which are refused."""

import re
from collections.abc import Mapping
from math import isnan

from trainlaw.datasets.hardware.gpus import FIRST_WITH_TF32, Gpu, built_in_gpus
from trainlaw.datasets.hardware.links import find_link
from trainlaw.datasets.hardware.precisions import PRECISIONS

#: GPUs in a node, as in an HGX-2; the measured runs have no more either.
MOST_GPUS_PER_NODE = 16
_BF16_CAPABILITY = 7.0  # Volta's, which emulates it; PyTorch has no kernels for older GPUs
_WITH_XF32 = "CDNA 3"  # AMD's equivalent of TF32; the matrix units before multiply in fp32, CDNA 4 dropped it
_TRITON_CAPABILITY = 7.0  # Triton, which inductor compiles with, has no code for older GPUs
_GENERATION = re.compile(r"(?:nvlink|nvswitch|pcie)(\d)")
# By the first two letters of their kind.
_FAMILIES = {"PC": "PCIe", "NV": "NVLink", "In": "Infinity Fabric"}
#: What a GPU may lack, with the reason that is given for it and a remedy; {gpu} is its name.
REASONS: Mapping[str, str] = {
    "inductor": "inductor compiles for compute capability 7.0 and later, not for {gpu}; choose eager",
    "tuned": "tuned containers are NVIDIA's, not for {gpu}; leave tuned out",
    **{name: f"{{gpu}} has no {name}; choose precision fp32" for name in PRECISIONS},
}


def has_tf32(gpu: Gpu) -> bool:
    """Return whether a GPU has TF32 or its equivalent; where its capability is not known, by its rates.

    >>> [has_tf32(built_in_gpus().find(name)) for name in ("T4", "A100-SXM4-40GB")]
    [False, True]
    """
    if gpu.vendor == "AMD":
        return gpu.generation == _WITH_XF32
    if isnan(gpu.capability):
        return gpu.peak_tf32_flop_per_s > gpu.peak_fp32_flop_per_s
    return gpu.capability >= FIRST_WITH_TF32


def has_precision(gpu: Gpu, precision: str | None) -> bool:
    """Return whether PyTorch trains in a precision on a GPU; True where that is not known."""
    if precision == "tf32":
        return has_tf32(gpu)
    return precision != "bf16" or not gpu.capability < _BF16_CAPABILITY


def lacking(gpu: Gpu) -> tuple[str, ...]:
    """Return what a GPU cannot train with, as keys of `REASONS`; what is not known is left out.

    >>> [lacking(built_in_gpus().find(name)) for name in ("T4", "K80")]
    [('tf32',), ('inductor', 'tf32', 'bf16')]
    """
    lacks = {"inductor": gpu.capability < _TRITON_CAPABILITY, "tuned": gpu.vendor not in ("", "NVIDIA")}
    lacks |= {name: not has_precision(gpu, name) for name in PRECISIONS}
    return tuple(name for name in REASONS if lacks[name])


def link_family(link: str) -> tuple[str, int]:
    """Return the family of a link within a node and its generation; "" for others, 0 where not known.

    >>> link_family("nvlink2-x6"), link_family("nvlink-bridge"), link_family("pcie3-x16")
    (('NVLink', 2), ('NVLink', 0), ('PCIe', 3))
    """
    found = find_link(link) if link else None
    if found is None or found.kind[:2] not in _FAMILIES or found.scope != "node":
        return "", 0
    generation = _GENERATION.match(found.link)
    return _FAMILIES[found.kind[:2]], int(generation[1]) if generation else 0


def newest_links(gpu: Gpu) -> dict[str, int]:
    """Return the newest generation of each family of links within a node that a GPU has; 0 where not known.

    >>> newest_links(built_in_gpus().find("V100-SXM2-16GB"))
    {'PCIe': 3, 'NVLink': 2}
    """
    newest_pcie = _GENERATION.match(gpu.host_link)
    family, newest = link_family(gpu.gpu_link)
    own = {family: newest} if family not in ("", "PCIe") else {}
    return {"PCIe": int(newest_pcie[1]) if newest_pcie else 0, **own}


def has_link(gpu: Gpu, link: str) -> bool:
    """Return whether a GPU has a kind of link within a node, or a newer PCIe; True where that is not known.

    >>> [has_link(built_in_gpus().find(name), "nvlink2-x6") for name in ("T4", "V100-SXM2-16GB")]
    [False, True]
    """
    family, generation = link_family(link)
    # A changed GPU is named "T4 with 2x peak"; of a GPU from a file, links may just not be stated.
    is_known = gpu.gpu.partition(" with ")[0] in {known.gpu for known in built_in_gpus().gpus}
    if not family or not (is_known or family == "PCIe"):
        return True
    newest = newest_links(gpu).get(family)
    return newest is not None and (not newest or generation <= newest)


def impossible_software(gpu: Gpu, compilation: str | None, tuned: bool | None) -> str:
    """Return why a GPU cannot run compiled or tuned kernels, and a remedy; "" where no reason is known.

    >>> impossible_software(built_in_gpus().find("K80"), "inductor", False)
    'inductor compiles for compute capability 7.0 and later, not for K80; choose eager'
    """
    asked = {"inductor": compilation == "inductor", "tuned": tuned}
    lacks = lacking(gpu) if any(asked.values()) else ()
    return next((_reason(name, gpu) for name in lacks if asked.get(name)), "")


def _reason(name: str, gpu: Gpu) -> str:
    return REASONS[name].replace("{gpu}", gpu.gpu)


def _leaves_the_node(gpu: Gpu, link: str) -> bool:
    """Return whether the link is a switch that racks also have between nodes, such as NVSwitch 5."""
    return find_link(link).kind == "NVSwitch" and has_link(gpu, link)


def impossible_setup(
    gpu: Gpu, precision: str | None, link: str | None, fabric: str | None, *, per_node: int, n_nodes: int
) -> str:
    """Return the reason why the hardware cannot train so, and a remedy; "" where no reason is known.

    per_node : GPUs of the largest node.
    """
    if not has_precision(gpu, precision):
        return _reason(str(precision), gpu)
    if link and per_node > 1 and not has_link(gpu, link):
        known = " and ".join(filter(None, (gpu.gpu_link, gpu.host_link)))
        return f"{gpu.gpu} has no link {link}; it has {known or 'PCIe only'}"
    if link and per_node > 1 and find_link(link).scope == "network":
        return f"{link} connects nodes, not the GPUs of one: give it as --fabric"
    if fabric and n_nodes > 1 and find_link(fabric).scope == "node" and not _leaves_the_node(gpu, fabric):
        return f"{fabric} connects the GPUs of a node, not nodes: give it as --link"
    if per_node > MOST_GPUS_PER_NODE:
        return f"no node holds more than {MOST_GPUS_PER_NODE} GPUs, got {per_node}: give --nodes"
    return ""
