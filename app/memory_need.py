"""How much GPU memory a training iteration needs at least, from counts alone: a rough bound, said as such.

Kept for the backward pass: the outputs of all layers. Kept per learned element: weight, gradient and one
momentum, each 4 bytes (with 16-bit activations the master weights stay in 32 bits). Left out: workspaces of
the libraries, fragmentation, the framework itself; memory saved by recomputing or by working in place.
"""

import numpy as np
from trainlaw.datasets import RunTable
from trainlaw.formulas import evaluate, parse_text, variables

MEMORY_NEED = parse_text("12 * params + batch_per_gpu * bytes_per_element * activation_elements")
MEANING = "12 B per learned element + the outputs of all layers, kept for the backward pass"


def memory_need_bytes(runs: RunTable) -> np.ndarray:
    """Return the least memory of one GPU for each run, in bytes, shape (n_runs,)."""
    names = variables(MEMORY_NEED)
    return evaluate(MEMORY_NEED, dict(zip(names, runs.matrix(names).T, strict=True)))[0]


def fits_in_memory(runs: RunTable) -> list[bool | None]:
    """Return per run whether it may fit into its GPU's memory; None where that memory is not known."""
    held = runs.matrix(["memory_bytes"])[:, 0]
    pairs = zip(memory_need_bytes(runs), held, strict=True)
    return [None if np.isnan(size) else bool(needed <= size) for needed, size in pairs]
