"""What a GPU or a node cannot do, so that no time is given for it."""

import re
from math import ceil

from trainlaw.datasets.hardware.gpus import Gpu, built_in_gpus
from trainlaw.datasets.hardware.links import find_link

#: GPUs in a node, as in an HGX-2; the measured runs have no more either.
MOST_GPUS_PER_NODE = 16
_TF32_CAPABILITY = 8.0  # Ampere's
_BF16_CAPABILITY = 7.0  # Volta's, which emulates it; PyTorch has no kernels for older GPUs
_GENERATION = re.compile(r"(?:nvlink|nvswitch)(\d)")


def has_tf32(gpu: Gpu) -> bool:
    """Return whether a GPU has TF32 or an equal of it; True where that is not known.

    >>> [has_tf32(built_in_gpus().find(name)) for name in ("T4", "A100-SXM4-40GB")]
    [False, True]
    """
    if gpu.compute_capability:
        return float(gpu.compute_capability) >= _TF32_CAPABILITY
    is_stated = not gpu.sources.get("peak_tf32_flop_per_s", "").startswith("derived")
    return not is_stated or gpu.peak_tf32_flop_per_s > gpu.peak_fp32_flop_per_s


def has_precision(gpu: Gpu, precision: str | None) -> bool:
    """Return whether PyTorch trains in a precision on a GPU; True where that is not known."""
    if precision == "tf32":
        return has_tf32(gpu)
    return precision != "bf16" or float(gpu.compute_capability or _BF16_CAPABILITY) >= _BF16_CAPABILITY


def has_link(gpu: Gpu, link: str) -> bool:
    """Return whether a GPU has a kind of link within a node; True where that is not known.

    >>> [has_link(built_in_gpus().find(name), "nvlink2") for name in ("T4", "V100-SXM2-16GB")]
    [False, True]
    """
    kind = find_link(link).kind
    family = kind.partition(" ")[0][:2]
    if family not in ("NV", "In") or gpu.gpu not in {known.gpu for known in built_in_gpus().gpus}:
        return True
    own = find_link(gpu.gpu_link) if gpu.gpu_link else None
    if own is None or own.kind[:2] != family:
        return False
    asked, found = (_GENERATION.match(name) for name in (find_link(link).link, own.link))
    return asked is None or found is None or int(asked[1]) <= int(found[1])


def impossible_setup(gpu: Gpu, precision: str | None, link: str | None, n_gpus: int, n_nodes: int) -> str:
    """Return why a GPU or a node cannot train so, and what to do; "" where it can, as far as is known."""
    if not has_precision(gpu, precision):
        return f"{gpu.gpu} has no {precision}; choose precision fp32"
    if link and n_gpus > n_nodes and not has_link(gpu, link):
        own = gpu.gpu_link or "PCIe only"
        return f"{gpu.gpu} has no link {link}; it has {own}"
    if ceil(n_gpus / n_nodes) > MOST_GPUS_PER_NODE:
        return f"no node holds more than {MOST_GPUS_PER_NODE} GPUs, got {n_gpus} on {n_nodes}: give --nodes"
    return ""
