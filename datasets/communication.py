"""Time to exchange bytes between GPUs, in closed form: the textbook alpha-beta forms.

Throughout: `size_bytes` M to be exchanged, `n` participants, `s_per_byte` 1/B in seconds per byte and
direction, `latency_s` a in seconds; arrays of shape (n_runs,) or numbers; results in seconds. One
participant exchanges nothing: 0 s. Forms as in Thakur, Rabenseifner and Gropp, "Optimization of collective
communication operations in MPICH", IJHPCA 19(1), 2005, and Patarasuk and Yuan, "Bandwidth optimal
all-reduce algorithms", JPDC 69(2), 2009.
"""

import numpy as np

Numbers = np.ndarray | float


def ring_transfer_s(size_bytes: Numbers, n: Numbers, s_per_byte: Numbers) -> Numbers:
    """Return the bandwidth part of a ring all-reduce, 2 (n-1)/n M/B, in seconds."""
    return 2 * (n - 1) / n * size_bytes * s_per_byte


def ring_s(size_bytes: Numbers, n: Numbers, s_per_byte: Numbers, latency_s: Numbers) -> Numbers:
    """Return the time of a ring all-reduce, 2 (n-1)/n M/B + 2 (n-1) a, in seconds.

    >>> ring_s(4e9, 4, 1 / 6e9, 0.0)
    1.0
    """
    return ring_transfer_s(size_bytes, n, s_per_byte) + 2 * (n - 1) * latency_s


def tree_s(size_bytes: Numbers, n: Numbers, s_per_byte: Numbers, latency_s: Numbers) -> Numbers:
    """Return the time of a binary-tree reduce and broadcast, 2 ceil(log2 n) (M/B + a), in seconds."""
    return 2 * butterfly_s(size_bytes, n, s_per_byte, latency_s)


def butterfly_s(size_bytes: Numbers, n: Numbers, s_per_byte: Numbers, latency_s: Numbers) -> Numbers:
    """Return the time of recursive doubling, ceil(log2 n) (M/B + a), in seconds."""
    return np.ceil(np.log2(n)) * (size_bytes * s_per_byte + latency_s)


def parameter_server_s(size_bytes: Numbers, n: Numbers, s_per_byte: Numbers, latency_s: Numbers) -> Numbers:
    """Return the time of one server that collects from and returns to n-1 others, 2 (n-1) (M/B + a), in s.

    torch's DataParallel has the same form: its first GPU serves the others.
    """
    return 2 * (n - 1) * (size_bytes * s_per_byte + latency_s)
