"""A formula as a function of torch, in double precision: gradients pass through it."""

from dataclasses import replace

from trainlaw.formulas.algebra.expression import Expression
from trainlaw.formulas.formula import Formula
from trainlaw.formulas.printers.language import calls
from trainlaw.formulas.printers.numpy_function import numpy_like, print_array_function

_BASE = numpy_like("torch")
# Functions of two tensors accept no numbers, and there is no cube root.
TORCH = replace(
    _BASE,
    forms={
        **_BASE.forms,
        **calls("cbrt", "step"),
        "cube": "power({a}, 3)",
        "min": "torch.minimum(tensor({a}), tensor({b}))",
        "max": "torch.maximum(tensor({a}), tensor({b}))",
    },
    helpers={
        "tensor": "def tensor(values):\n    return torch.as_tensor(values, dtype=torch.float64)\n",
        "finite": (
            "def finite(values):\n"
            "    values = torch.as_tensor(values, dtype=torch.float64)\n"
            "    return torch.where(torch.isfinite(values), values, torch.nan)\n"
        ),
        "power": (
            "def power(base, exponent):\n"
            "    base = torch.as_tensor(base, dtype=torch.float64)\n"
            "    exponent = torch.as_tensor(exponent, dtype=torch.float64)\n"
            "    known = torch.isfinite(base) & torch.isfinite(exponent)\n"
            "    return torch.where(known, torch.pow(base, exponent), torch.nan)\n"
        ),
        "cbrt": "def cbrt(values):\n    return torch.sign(values) * torch.abs(values) ** (1 / 3)\n",
        "step": (
            "def step(values):\n"
            "    return torch.where(torch.isnan(values), values, 0.5 * (torch.sign(values) + 1))\n"
        ),
        "constants": _BASE.helpers["constants"]
        .replace("asarray(", "as_tensor(")
        .replace("for label in labels])", "for label in labels], dtype=torch.float64)"),
    },
)


def print_torch_function(formula: Formula | Expression, name: str = "predict") -> str:
    """Return the source of a module with one function: features (tensors, in their units) in, target out.

    Arguments and invalid values as of the numpy function.
    """
    return print_array_function(formula, name, TORCH, "import torch", "tensor({})")
