"""The warnings of a prediction as sentences, in one place for commands and page.

The page fills numbers in itself: it takes each sentence with a place such as "{value}" instead of the number.
"""

from trainlaw.app.models.multi_gpu import ASSUMPTION, SCALED, SINGLE_GPU_INTERVAL
from trainlaw.app.text.numbers import show_number
from trainlaw.formulas import FeatureSpec, Formula

JOINTLY = "this combination of features is unlike any in the training data"
NOT_DEFINED = "the formula is not defined here"
#: Where a prediction has a time but no interval.
NO_INTERVAL = "no interval: too few groups were held out"


def outside_sentence(formula: Formula, spec: FeatureSpec, value: str) -> str:
    """Return that a feature is outside the training range, which the formula knows; value : a number."""
    unit = "" if spec.unit.is_dimensionless else f" {spec.unit}"
    low, high = map(show_number, formula.ranges[spec.name])
    return f"{spec.name} is {value}{unit}, outside the training range {low} to {high}"


def host_sentence(batch: str, launch: str, is_stated: bool) -> str:
    """Return that the host's launches decide the time; launch : time of a layer, stated or usual."""
    decides = f"the host's launches decide (batch {batch})"
    if is_stated:
        return f"{decides}, at {launch} per layer"
    advice = "measure them with `trainlaw profile --host`, or give --host-launch"
    return f"{decides}, taken as {launch} per layer: {advice}"


def several_gpus_sentence(is_scaled: bool) -> str:
    """Return what a time on several GPUs rests on; is_scaled : on a scaling formula, not the textbook."""
    return f"{SCALED if is_scaled else ASSUMPTION}; {SINGLE_GPU_INTERVAL}"


def default_precision_note(precision: str) -> str:
    """Return that a precision is PyTorch's default on a GPU, and how to ask for another one.

    >>> default_precision_note("fp32")
    "precision: fp32, PyTorch's default for convolutions on this GPU"
    """
    other = "; or choose --precision fp32" if precision == "tf32" else ""
    return f"precision: {precision}, PyTorch's default for convolutions on this GPU{other}"
