"""Classes of runs by precision, stack and vendor, each of which has its prediction interval."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

OTHER_CLASS = "any other"  # runs on GPUs of further vendors
#: GPUs of this vendor are one class.
AMD = "AMD"
# Words that a stack adds to a precision of 16 bits.
STACK_WORDS: Mapping[str, str] = {"channels_last": ", channels last", "fused": ", fused"}
UNKNOWN_STACK = "16 bits, stack unknown"
#: Measured precisions whose convolutions depend on the stack.
STACK_PRECISIONS = ("amp", "fp16")
MAIN_VENDOR = "NVIDIA"  # its runs have a class by precision and stack


def run_classes(precision: npt.ArrayLike, stack: npt.ArrayLike, vendor: npt.ArrayLike) -> np.ndarray:
    """Return the class of each run for its interval, text (n_runs,): the vendor AMD, or precision and stack.

    The few runs on AMD's GPUs differ more from each other than from precision to precision. Vendors without
    any runs are one class, which gets the widest interval of all.
    """
    texts = zip(*(np.asarray(each, str).tolist() for each in (precision, stack, vendor)), strict=True)
    return np.array([run_class(*text) for text in texts], dtype=str)


def run_class(precision: str, stack: str, vendor: str) -> str:
    """Return the class of one run for its interval, as `run_classes` does.

    >>> run_class("amp", "channels_last", "NVIDIA"), run_class("fp32", "eager", "Intel")
    ('amp, channels last', 'any other')
    """
    if vendor != MAIN_VENDOR:
        return AMD if vendor == AMD else OTHER_CLASS
    if precision not in STACK_PRECISIONS:
        return precision
    return UNKNOWN_STACK if stack == "unknown" else precision + STACK_WORDS.get(stack, "")
