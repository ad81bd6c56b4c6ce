"""Whether runs fit into the memory of their GPU."""

from functools import lru_cache

from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.memory import training_memory
from trainlaw.datasets.runs import RunTable

# Cards are sold by GB of 1e9 bytes in our table, and hold that many GiB.
_HELD_PER_SOLD = 2**30 / 1e9


def memory_warnings(table: RunTable) -> list[str]:
    """Return per run one line where its training step cannot or may not fit into its GPU, "" where it fits.

    The least optimizer (none) decides "cannot", momentum "may not". A run on a GPU of unknown memory has no
    warning.

    >>> from trainlaw.datasets.configuration import configuration
    >>> memory_warnings(configuration(cnn="vgg16", gpu="T4", batch_per_gpu=512))
    ['cannot fit: the step keeps 38.6 GB at least, the device has 17.2 GB']
    """
    held = table.matrix(["memory_bytes"])[:, 0] * _HELD_PER_SOLD
    keys = table.frame[["cnn", "input_size_px", "n_classes", "batch_per_gpu", "precision"]]
    rows = zip(keys.itertuples(index=False, name=None), held, strict=True)
    known: dict[tuple[object, ...], str] = {}
    found = []
    for (cnn, size, classes, batch, precision), memory_bytes in rows:
        key = (cnn, size, classes, batch, precision, memory_bytes)
        if key not in known:
            network = table.facts.cnn((str(cnn), int(size), int(classes))).network
            known[key] = _warning(network, int(batch), str(precision), float(memory_bytes))
        found.append(known[key])
    return found


def _warning(network: Cnn, batch: int, precision: str, memory_bytes: float) -> str:
    used = "fp32" if precision == "unknown" else precision
    least, usual = (training_memory(network, batch, used, optimizer) for optimizer in ("none", "momentum"))
    certain = least.warning(memory_bytes)
    if certain.startswith("cannot") or not usual.total > memory_bytes:
        return certain
    return (
        f"may not fit: the step takes about {usual.total / 1e9:.3g} GB with momentum, "
        f"the device has {memory_bytes / 1e9:.3g} GB"
    )
