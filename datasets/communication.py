"""Time to exchange bytes between GPUs, in closed form: the textbook alpha-beta forms.

Throughout: `size_bytes` M to be exchanged, `n` participants, `rate` B in bytes per second and direction,
`latency` a in seconds; arrays of shape (n_runs,) or numbers; results in seconds. One participant exchanges
nothing: 0 s. Forms as in Thakur, Rabenseifner and Gropp, "Optimization of collective communication
operations in MPICH", IJHPCA 19(1), 2005, and Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms",
JPDC 69(2), 2009.
"""

import numpy as np
from numpy.typing import ArrayLike


def transfer_s(size_bytes: ArrayLike, rate: ArrayLike) -> np.ndarray:
    """Return size / rate in seconds; 0 where nothing is sent, whatever the rate.

    >>> float(transfer_s(24e9, 12e9))
    2.0
    """
    size, speed = np.broadcast_arrays(np.asarray(size_bytes, np.float64), np.asarray(rate, np.float64))
    with np.errstate(divide="ignore"):
        return np.divide(size, speed, out=np.zeros(size.shape), where=size > 0)


def ring_transfer_s(size_bytes: ArrayLike, n: ArrayLike, rate: ArrayLike) -> np.ndarray:
    """Return the bandwidth part of a ring all-reduce, 2 (n-1)/n M/B, in seconds."""
    count = np.asarray(n, np.float64)
    return transfer_s(2 * (count - 1) / count * size_bytes, rate)


def ring_s(size_bytes: ArrayLike, n: ArrayLike, rate: ArrayLike, latency: ArrayLike) -> np.ndarray:
    """Return the time of a ring all-reduce, 2 (n-1)/n M/B + 2 (n-1) a, in seconds.

    >>> float(ring_s(4e9, 4, 6e9, 0.0))
    1.0
    """
    return ring_transfer_s(size_bytes, n, rate) + 2 * (np.asarray(n, np.float64) - 1) * latency


def tree_s(size_bytes: ArrayLike, n: ArrayLike, rate: ArrayLike, latency: ArrayLike) -> np.ndarray:
    """Return the time of a binary-tree reduce and broadcast, 2 ceil(log2 n) (M/B + a), in seconds."""
    return 2 * butterfly_s(size_bytes, n, rate, latency)


def butterfly_s(size_bytes: ArrayLike, n: ArrayLike, rate: ArrayLike, latency: ArrayLike) -> np.ndarray:
    """Return the time of recursive doubling, ceil(log2 n) (M/B + a), in seconds."""
    rounds = np.ceil(np.log2(np.asarray(n, np.float64)))
    return rounds * (transfer_s(np.where(rounds > 0, size_bytes, 0.0), rate) + latency)


def parameter_server_s(
    size_bytes: ArrayLike, n: ArrayLike, rate: ArrayLike, latency: ArrayLike
) -> np.ndarray:
    """Return the time of one server that collects and returns all, 2 (n-1) M/B + 2 a, in seconds."""
    others = np.asarray(n, np.float64) - 1
    return transfer_s(2 * others * size_bytes, rate) + np.where(others > 0, 2 * np.asarray(latency), 0.0)


def data_parallel_s(size_bytes: ArrayLike, n: ArrayLike, rate: ArrayLike, latency: ArrayLike) -> np.ndarray:
    """Return the time of one GPU that sends weights to n-1 others and collects gradients, in seconds.

    The first GPU is the server of all others, 2 (n-1) (M/B + a): torch's DataParallel.
    """
    others = np.asarray(n, np.float64) - 1
    return transfer_s(2 * others * size_bytes, rate) + 2 * others * latency
