"""CF5: five terms, three exponents. The im2col volume carries what looks like a per-layer efficiency."""

from trainlaw.validate.baselines.closed_form import ClosedForm, TimeTerm

CF5_TERMS = (
    TimeTerm("conv_other_compute_s", "compute"),
    TimeTerm("im2col_compute_s", "compute"),
    TimeTerm("conv_weight_compute_s", "compute"),
    TimeTerm("conv_output_memory_s", "memory"),
    TimeTerm("layer_launch_s", "host"),
)


def cf5(harness_constants: bool = False) -> ClosedForm:
    """Return the closed form of five terms, optionally with a constant per harness."""
    return ClosedForm(CF5_TERMS, harness_constants)
