"""CF21: the full closed form, CF12 with 1x1, grouped, dense, elementwise, concat, optimizer."""

from trainlaw.validate.baselines.closed_form import ClosedForm, TimeTerm
from trainlaw.validate.baselines.closed_form_12 import CF12_TERMS

CF21_TERMS = (
    *CF12_TERMS,
    TimeTerm("conv1x1_compute_s", "compute"),
    TimeTerm("grouped_conv_compute_s", "compute"),
    TimeTerm("conv_output_compute_s", "compute"),
    TimeTerm("dense_compute_s", "compute"),
    TimeTerm("dense_weight_compute_s", "compute"),
    TimeTerm("elementwise_memory_s", "memory"),
    TimeTerm("concat_memory_s", "memory"),
    TimeTerm("optimizer_memory_s", "memory"),
    TimeTerm("kernel_launch_s", "host"),
)


def cf21(harness_constants: bool = False) -> ClosedForm:
    """Return the closed form of 21 terms, optionally with a constant per harness."""
    return ClosedForm(CF21_TERMS, harness_constants)


def cf21_tensor() -> ClosedForm:
    """Return CF21 with one more exponent, for tables of several precisions (see `ClosedForm`)."""
    return ClosedForm(CF21_TERMS, tensor_exponent=True)
