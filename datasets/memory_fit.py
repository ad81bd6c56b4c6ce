"""Whether runs fit into the memory of their GPU."""

from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.memory import TrainingMemory, training_memory
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
    needs: dict[tuple[object, ...], tuple[TrainingMemory, TrainingMemory]] = {}
    found = []
    for key, memory_bytes in zip(keys.itertuples(index=False, name=None), held, strict=True):
        if key not in needs:
            needs[key] = _needs(table.facts.cnn(key[:3]).network, *key[3:])
        found.append(_warning(*needs[key], float(memory_bytes)))
    return found


def _needs(network: Cnn, batch: int, precision: str) -> tuple[TrainingMemory, TrainingMemory]:
    used = "fp32" if precision == "unknown" else precision
    return training_memory(network, batch, used, "none"), training_memory(network, batch, used, "momentum")


def _warning(least: TrainingMemory, usual: TrainingMemory, memory_bytes: float) -> str:
    certain = least.warning(memory_bytes)
    if certain.startswith("cannot") or not usual.total > memory_bytes:
        return certain
    return (
        f"may not fit: the step takes about {usual.total / 1e9:.3g} GB with momentum, "
        f"the device has {memory_bytes / 1e9:.3g} GB"
    )
