"""Published closed forms (a) and (b) of the training time on a many-core processor, the Xeon Phi 7120P.

Viebke, Pllana, Memeti, Kolodziej, "Performance modelling of deep learning on Intel many integrated core
architectures", HPCS 2019. (a) counts operations, (b) uses measured times of one image. The constants below
are recalled, not copied from the paper; they reproduce its 24 predictions and its predictions by epochs to
0.05 min. They make no claim about measured times.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from trainlaw.formulas.errors import InputError, unknown_name

#: The Xeon Phi 7120P, and the factor between counted and executed operations.
CLOCK_HZ = 1.238e9
CORES = 61
OPERATION_FACTOR = 15.0
#: Cycles per instruction of a thread, by threads per core; the value for four also holds beyond four.
CYCLES = (1.0, 1.0, 1.5, 2.0)
#: Numbers of threads in the table of memory contention.
THREADS = (1, 15, 30, 60, 120, 180, 240, 480, 960, 1920, 3840)


@dataclass(frozen=True)
class ManyCoreCnn:
    """One of the three CNNs: operations and seconds per image, forward and backward; preparation.

    contention_s : memory contention per image, seconds, at the numbers of threads in `THREADS` (measured up
    to 240). epochs : of the published runs.
    """

    forward_operations: float
    backward_operations: float
    preparation_operations: float
    forward_s: float
    backward_s: float
    preparation_s: float
    epochs: int
    contention_s: tuple[float, ...]


MANY_CORE_CNNS: Mapping[str, ManyCoreCnn] = MappingProxyType(
    {
        "small": ManyCoreCnn(
            58e3, 524e3, 1e9, 1.45e-3, 5.3e-3, 12.56, 70,
            # At 240 threads 1.40e-2 is recalled; of the values that round to it, 1.4041e-2 to 1.4050e-2
            # reproduces the published predictions by epochs. This is the middle.
            (7.10e-6, 6.40e-4, 1.36e-3, 3.07e-3, 6.76e-3, 9.95e-3, 1.4045e-2, 2.78e-2, 5.60e-2, 0.112, 0.225),
        ),
        "medium": ManyCoreCnn(
            559e3, 6119e3, 1e9, 12.55e-3, 69.73e-3, 12.7, 70,
            (1.56e-4, 2.00e-3, 3.97e-3, 8.03e-3, 1.65e-2, 2.50e-2, 3.83e-2, 7.31e-2, 0.147, 0.295, 0.591),
        ),
        "large": ManyCoreCnn(
            5349e3, 73178e3, 1e11, 148.88e-3, 859.19e-3, 13.5, 15,
            (8.83e-4, 8.75e-3, 1.67e-2, 3.22e-2, 6.74e-2, 0.100, 0.138, 0.273, 0.546, 1.09, 2.19),
        ),
    }
)  # fmt: skip


def many_core_seconds(
    cnn: str,
    threads: int,
    model: str = "a",
    epochs: int | None = None,
    *,
    train: int = 60_000,
    test: int = 10_000,
) -> float:
    """Return the predicted time of a whole training, seconds.

    cnn : "small", "medium" or "large". threads : of the processor, at least 1. model : "a" (operations)
    or "b" (measured times). epochs : None for the published number. train, test : numbers of images.
    Raises UnknownNameError for another CNN or model, InputError for fewer than one thread.

    >>> [round(many_core_seconds("small", 480, model) / 60, 1) for model in ("a", "b")]
    [6.6, 6.7]
    """
    if cnn not in MANY_CORE_CNNS:
        raise unknown_name("CNN", cnn, MANY_CORE_CNNS)
    if threads < 1:
        raise InputError(f"expected at least one thread, got {threads}")
    counts = MANY_CORE_CNNS[cnn]
    epochs = counts.epochs if epochs is None else epochs
    cycles = CYCLES[min(-(-threads // CORES), len(CYCLES)) - 1]
    contention = _contention_s(counts, threads) * train * epochs / threads
    # Per epoch: one pass over the training images, one to validate on as many, one to test.
    if model == "a":
        preparation = (counts.preparation_operations + 4 * train + 2 * test + 10 * epochs) / CLOCK_HZ
        forward, backward = counts.forward_operations / CLOCK_HZ, counts.backward_operations / CLOCK_HZ
        images = (forward + backward) * train + forward * train + forward * test
        return OPERATION_FACTOR * (preparation + cycles * images * epochs / threads) + contention
    if model == "b":
        images = (counts.forward_s + counts.backward_s) * train + counts.forward_s * (train + test)
        return counts.preparation_s + cycles * images * epochs / threads + contention
    raise unknown_name("model", model, ("a", "b"))


def _contention_s(counts: ManyCoreCnn, threads: int) -> float:
    """Return the contention per image, seconds, by linear interpolation of logarithms between the entries."""
    return float(np.exp(np.interp(np.log(threads), np.log(THREADS), np.log(counts.contention_s))))
