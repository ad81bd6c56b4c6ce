"""Whether runs fit into the memory of their GPU: the one rule for commands, workbook and page."""

from bisect import bisect_left

import numpy as np
import pandas as pd
from trainlaw.datasets.cnns.catalog import CnnCounts
from trainlaw.datasets.cnns.memory import MARGIN, step_memory
from trainlaw.datasets.measurements.runs import RunTable

# Data sheets state GB, which the GPU table takes as 1e9 bytes; GPUs hold that number of GiB.
HELD_PER_SOLD = 2**30 / 1e9
FITS, MAY_NOT_FIT, CANNOT_FIT, NOT_KNOWN = "fits", "may not fit", "cannot fit", "not known"
#: Follows a warning where the memory was estimated without layers.
ROUGH_MEMORY = " (rough: no layers are known)"


def memory_needs(table: RunTable) -> pd.DataFrame:
    """Return per run the columns `least_bytes`, `usual_bytes`, `held_bytes` and `fits`, one of four phrases.

    `least_bytes` is the minimum for an iteration without an optimizer, `usual_bytes` everything with
    momentum; `held_bytes` is nan for a GPU of unknown memory. "cannot fit": less than the minimum, with a
    margin of 6 % for frameworks that keep less; "may not fit": less than usual.
    """
    held = table.matrix(["memory_bytes"])[:, 0] * HELD_PER_SOLD
    setups = table.frame[["cnn", "input_size_px", "n_classes", "batch_per_gpu", "precision"]]
    keys = list(setups.itertuples(index=False, name=None))
    needs = {key: _needs(table.facts.cnn(key[:3]), *key[3:]) for key in dict.fromkeys(keys)}
    found = pd.DataFrame([needs[key] for key in keys], columns=["least_bytes", "usual_bytes"])
    found["held_bytes"] = held
    fits = np.where(found["usual_bytes"] > held, MAY_NOT_FIT, FITS)
    fits = np.where(found["least_bytes"] > MARGIN * held, CANNOT_FIT, fits)
    return found.assign(fits=np.where(np.isnan(held), NOT_KNOWN, fits))


def _needs(facts: CnnCounts, batch: int, precision: str) -> tuple[int, int]:
    known = (facts.counts["params"], facts.memory, batch, precision)
    return step_memory(*known, momentum=False).needed, step_memory(*known, momentum=True).total


_MOST_BATCH = 2**20  # larger ones are not looked for


def _forward_need(facts: CnnCounts, batch: int, precision: str) -> int:
    """Return the bytes of a forward pass: weights, the largest layer, workspace and driver."""
    parameters = int(facts.counts["params"])
    needs = step_memory(parameters, facts.memory, batch, precision, momentum=False)
    return 4 * parameters + needs.working + needs.workspace + needs.context


def largest_batch(facts: CnnCounts, memory_bytes: float, precision: str, forward: bool = False) -> int:
    """Return the largest batch of a CNN whose training fits into a GPU; 0 where none does or it is not known.

    memory_bytes : of the data sheet. forward : whether the forward pass alone is to fit. "fits" is that of
    `memory_needs`, with momentum.

    >>> from trainlaw.datasets import find_cnn_counts
    >>> largest_batch(find_cnn_counts("vgg16"), 16e9, "fp32")
    149
    """
    held = memory_bytes * HELD_PER_SOLD
    fits = range(_MOST_BATCH + 1)

    # The memory of an iteration rises with its batch. Nothing fits into an unknown memory.
    def need(batch: int) -> int:
        return _forward_need(facts, batch, precision) if forward else _needs(facts, batch, precision)[1]

    return bisect_left(fits, 1, lo=1, key=lambda batch: not need(batch) <= held) - 1


def gigabytes(size: float) -> str:
    """Format bytes in GB with three significant digits.

    >>> gigabytes(38.64e9), gigabytes(1234.4e9)
    ('38.6', '1230')
    """
    return f"{float(f'{size / 1e9:.3g}'):g}"
