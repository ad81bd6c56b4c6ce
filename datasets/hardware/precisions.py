"""The precisions of a training run: bytes per stored element, and the peak rate that applies."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import inf
from types import MappingProxyType

from trainlaw.datasets.files.storage import read_data_rows


@dataclass(frozen=True)
class Precision:
    """One precision: bytes of an activation in memory, and the column of `Gpu` with the peak rate.

    has_fp32_dense : whether linear layers run at the fp32 rate all the same.
    """

    precision: str
    bytes_per_element: float
    peak_column: str
    meaning: str
    has_fp32_dense: bool = False


_ROWS = (
    Precision("fp32", 4.0, "peak_fp32_flop_per_s", "32-bit floats, no tensor cores"),
    Precision(
        "tf32",
        4.0,
        "peak_tf32_flop_per_s",
        "32-bit floats, products rounded to 10 bits of mantissa on tensor cores",
    ),
    Precision(
        "default",
        4.0,
        "peak_tf32_flop_per_s",
        "what the framework does where nothing is set, on NVIDIA's Ampere and later: of PyTorch since 1.12 "
        "convolutions in tf32, linear layers in fp32",
        has_fp32_dense=True,
    ),
    Precision("amp", 2.0, "peak_fp16_flop_per_s", "mixed: 16-bit activations, products accumulated in fp32"),
    Precision("fp16", 2.0, "peak_fp16_flop_per_s", "16-bit floats throughout"),
    Precision("bf16", 2.0, "peak_bf16_flop_per_s", "16-bit brain floats; the fp32 rate on GPUs without them"),
    Precision("unknown", 4.0, "peak_fp32_flop_per_s", "not stated; treated as fp32"),
)
PRECISIONS: Mapping[str, Precision] = MappingProxyType({row.precision: row for row in _ROWS})
# How frameworks name them.
_OTHERWISE: Mapping[str, str] = MappingProxyType(
    {"float32": "fp32", "single": "fp32", "tensorfloat32": "tf32", "mixed": "amp", "mixed_float16": "amp"}
    | {"float16": "fp16", "half": "fp16", "bfloat16": "bf16"}
)


def precision_name(text: str) -> str:
    """Return the name of a precision that frameworks or people write otherwise; any other text as it is.

    >>> precision_name("FP16"), precision_name("bfloat16"), precision_name("fp7")
    ('fp16', 'bf16', 'fp7')
    """
    name = text.strip().lower()
    return _OTHERWISE.get(name, name if name in PRECISIONS else text)


# Of convolutions and linear layers.
_OF_BOTH = {("tf32", "fp32"): "default", ("tf32", "tf32"): "tf32", ("fp32", "fp32"): "fp32"}
_VERSION = re.compile(r"v?(\d+)\.(\d+)")


@cache
def framework_default(framework: str = "pytorch", version: str = "") -> str:
    """Return the precision that a framework trains in on a GPU with TF32 where nothing else is set.

    A framework without rows in `framework_defaults.csv` counts as PyTorch, an unknown version as the newest.

    >>> framework_default(), framework_default("PyTorch", "1.8.1+cu111"), framework_default("tensorflow")
    ('default', 'tf32', 'tf32')
    """
    rows = read_data_rows("framework_defaults.csv")
    fitting = [row for row in rows if re.fullmatch(row["framework"], framework, re.IGNORECASE)] or rows
    found = _VERSION.match(version)
    asked: tuple[float, ...] = tuple(map(int, found.groups())) if found else (inf, 0)
    row = next(row for row in fitting if asked >= tuple(map(int, f"{row['since_version']}.0".split(".")[:2])))
    return _OF_BOTH[row["convolutions"], row["linear_layers"]]
