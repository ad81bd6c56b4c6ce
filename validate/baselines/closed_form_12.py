"""CF12: CF9 with the MACs of 3x3 and of larger convolutions and the copy of the input."""

from trainlaw.validate.baselines.closed_form import ClosedForm, TimeTerm
from trainlaw.validate.baselines.closed_form_9 import CF9_TERMS

CF12_TERMS = (
    *CF9_TERMS,
    TimeTerm("conv3x3_compute_s", "compute"),
    TimeTerm("conv5x5_compute_s", "compute"),
    TimeTerm("input_copy_s", "host"),
)


def cf12(harness_constants: bool = False) -> ClosedForm:
    """Return the closed form of twelve terms, optionally with a constant per harness."""
    return ClosedForm(CF12_TERMS, harness_constants)
