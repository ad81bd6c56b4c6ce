"""CF9: nine terms, three exponents: CF5 and batch norm, depthwise, parameters, overhead."""

from trainlaw.validate.baselines.closed_form import ClosedForm, TimeTerm
from trainlaw.validate.baselines.closed_form_5 import CF5_TERMS

CF9_TERMS = (
    *CF5_TERMS,
    TimeTerm("batchnorm_memory_s", "memory"),
    TimeTerm("depthwise_output_memory_s", "memory"),
    TimeTerm("parameter_memory_s", "memory"),
    TimeTerm("iteration_overhead_s", "host"),
)


def cf9(harness_constants: bool = False) -> ClosedForm:
    """Return the closed form of nine terms, optionally with a constant per harness."""
    return ClosedForm(CF9_TERMS, harness_constants)
