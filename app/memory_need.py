"""How much GPU memory a training iteration needs at least, from counts alone: a rough bound, said as such.

Kept for the backward pass: the outputs of all layers. Kept per learned element: weight, gradient and one
momentum, each 4 bytes (with 16-bit activations the master weights stay in 32 bits). Left out: workspaces of
the libraries, fragmentation, the framework itself; memory saved by recomputing or by working in place.
"""

from trainlaw.datasets import RunTable

BYTES_PER_PARAMETER = 12.0
COLUMNS = ("params", "batch_per_gpu", "bytes_per_element", "activation_elements")
MEANING = "12 B per learned element + the outputs of all layers, kept for the backward pass"


def memory_need_bytes(
    params: float, batch_per_gpu: float, bytes_per_element: float, activation_elements: float
) -> float:
    """Return the least memory of one GPU, in bytes.

    params : learned elements. bytes_per_element : of an activation. activation_elements : outputs of all
    layers, per image. Arrays of one shape do as well.

    >>> memory_need_bytes(1e6, 2, 4, 1e6)
    20000000.0
    """
    return BYTES_PER_PARAMETER * params + batch_per_gpu * bytes_per_element * activation_elements


def fits_in_memory(runs: RunTable) -> list[bool | None]:
    """Return per run whether it may fit into its GPU's memory; None where that memory is not known."""
    need = memory_need_bytes(*runs.matrix(COLUMNS).T)
    has = runs.matrix(["memory_bytes"])[:, 0]
    return [None if size != size else bool(needed <= size) for needed, size in zip(need, has, strict=True)]
