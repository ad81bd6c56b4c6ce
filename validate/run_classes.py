"""Classes of runs by precision, stack and vendor, each of which has its prediction interval."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

OTHER_CLASS = "any other"  # runs on GPUs of further vendors, and of stacks that are hardly measured
#: GPUs of this vendor are one class.
AMD = "AMD"
# Words that a stack adds to a precision of 16 bits.
STACK_WORDS: Mapping[str, str] = {"channels_last": ", channels last", "fused": ", fused"}
UNKNOWN_STACK = "16 bits, stack unknown"
#: Measured precisions with a class by stack; in others few runs or none have another stack than eager.
STACK_PRECISIONS = ("amp", "fp16")
#: Stacks whose kernels are those of the framework as it is.
PLAIN_STACKS = ("eager", "unknown")
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
    >>> run_class("fp32", "eager", "NVIDIA"), run_class("fp32", "channels_last", "NVIDIA")
    ('fp32', 'any other')
    """
    if vendor != MAIN_VENDOR:
        return AMD if vendor == AMD else OTHER_CLASS
    if precision not in STACK_PRECISIONS:
        return precision if stack in PLAIN_STACKS else OTHER_CLASS
    return UNKNOWN_STACK if stack == "unknown" else precision + STACK_WORDS.get(stack, "")
