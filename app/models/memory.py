"""The memory that a training iteration needs, as expressions that workbook and page compute.

The same numbers as `trainlaw.datasets.memory_needs`, which counts on the graph of the CNN: what an iteration
keeps for one image is a column of the table of CNNs, so that the rest is a sum.
"""

from math import isnan

from trainlaw.datasets import RunTable
from trainlaw.datasets.cnns.memory import (
    CONTEXT_BYTES,
    MARGIN,
    MAX_WORKSPACE_BYTES,
    MEMORY_COLUMNS,
    bytes_per_parameter,
)
from trainlaw.datasets.measurements.memory_fit import CANNOT_FIT, FITS, HELD_PER_SOLD, MAY_NOT_FIT, NOT_KNOWN
from trainlaw.formulas import parse_text, variables

#: Bytes that an iteration needs even without an optimizer.
LEAST_NEED = parse_text(
    "params * least_bytes_per_param + batch_per_gpu * (bytes_per_element * kept_elements + kept_bytes)"
)
#: Bytes of everything, with momentum.
USUAL_NEED = parse_text(
    "params * (least_bytes_per_param + momentum_bytes_per_param)"
    " + batch_per_gpu * (bytes_per_element * kept_elements + kept_bytes)"
    " + batch_per_gpu * bytes_per_element * working_elements"
    f" + min(batch_per_gpu * bytes_per_element * unfolded_elements, {MAX_WORKSPACE_BYTES}) + {CONTEXT_BYTES}"
)
LEAST_MEANING = "weights, gradients, what the backward pass reads"
USUAL_MEANING = "and momentum, gradients of outputs, workspaces, driver"
OF_PRECISION = ("least_bytes_per_param", "momentum_bytes_per_param")
NEEDED = tuple(sorted({*variables(LEAST_NEED), *variables(USUAL_NEED)}))
#: Quantities that no formula has: those of a CNN, and those of a precision.
OF_MEMORY = (*MEMORY_COLUMNS, *OF_PRECISION)
#: Rough substitutes, from counts, for the empty cells of a CNN that the user adds.
INSTEAD = {
    "kept_elements": "activation_elements",
    "kept_bytes": "",
    "working_elements": "max_layer_elements",
    "unfolded_elements": "im2col_elements",
}


def memory_columns(run: RunTable) -> dict[str, float]:
    """Return the `OF_MEMORY` of a table's first run."""
    row = run.frame.iloc[0]
    sample = run.facts.cnn((row["cnn"], row["input_size_px"], row["n_classes"])).memory_per_image
    found = {name: float(getattr(sample, name)) for name in MEMORY_COLUMNS}
    sizes = bytes_per_parameter(str(row["precision"]))
    return found | dict(zip(OF_PRECISION, map(float, sizes), strict=True))


def fits_formula(least: str, usual: str, sold: str) -> str:
    """Return the cell formula of the word for whether an iteration fits; sold : the GPU's memory, in bytes.

    >>> fits_formula("A1", "A2", "A3").count("IF(")
    3
    """
    held = f"{sold}*{HELD_PER_SOLD!r}"
    words = f'IF({usual}>{held},"{MAY_NOT_FIT}","{FITS}")'
    words = f'IF({least}>{MARGIN!r}*{held},"{CANNOT_FIT}",{words})'
    return f'IF(COUNT({sold})=0,"{NOT_KNOWN}",{words})'


def fits_word(least: float, usual: float, sold: float) -> str:
    """Return whether an iteration fits, in the words of `fits_formula`; bytes, `sold` nan where unknown.

    >>> fits_word(10e9, 14e9, 16e9), fits_word(10e9, 14e9, 8e9), fits_word(8e9, 9e9, 8e9)
    ('fits', 'cannot fit', 'may not fit')
    """
    held = sold * HELD_PER_SOLD
    if isnan(held):
        return NOT_KNOWN
    if least > MARGIN * held:
        return CANNOT_FIT
    return MAY_NOT_FIT if usual > held else FITS
