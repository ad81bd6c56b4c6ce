"""A formula as a Python function over numpy arrays."""

import keyword
import math
from dataclasses import replace

from trainlaw.formulas.algebra.expression import Expression
from trainlaw.formulas.formula import Formula
from trainlaw.formulas.printers.language import Language, calls, known_constants, plain_number
from trainlaw.formulas.printers.layout import lay_out
from trainlaw.formulas.printers.naming import as_formula, header

NUMPY = Language(
    forms={
        **calls("abs", "sqrt", "cbrt", "square", "exp", "log", "sin", "cos", "tanh", prefix="np."),
        "cube": "np.power({a}, 3)",
        "pow": "power({a}, {b})",
        "min": "np.minimum({a}, {b})",
        "max": "np.maximum({a}, {b})",
        "step": "np.heaviside({a}, 0.5)",
    },
    finite="finite({a})",
    helpers={
        "finite": "def finite(values):\n    return np.where(np.isfinite(values), values, np.nan)\n",
        # The power functions of C give 1 for nan to the power 0.
        "power": (
            "def power(base, exponent):\n"
            "    known = np.isfinite(base) & np.isfinite(exponent)\n"
            "    return np.where(known, np.power(base, exponent), np.nan)\n"
        ),
        "constants": (
            "def constants(labels, values, default):\n"
            "    return np.vectorize(lambda label: values.get(str(label), default), otypes=[float])(labels)\n"
        ),
    },
    number=plain_number(lambda value: repr(value) if math.isfinite(value) else "np.nan"),
    reserved=frozenset({*keyword.kwlist, "np", "float"}),
)


def print_numpy_function(formula: Formula | Expression, name: str = "predict") -> str:
    """Return the source of a module with one function: features (arrays, in their units) in, target out.

    Grouped constants take an array of the groups' labels as a further argument. The function gives nan where
    the formula is not valid; arrays broadcast as in numpy.
    """
    formula = as_formula(formula)
    layout = lay_out(replace(formula, expression=known_constants(formula.expression)), NUMPY, name)
    arguments = [*layout.inputs.values(), *(f'{label}=""' for label in layout.labels.values())]
    lines = [f"{place} = finite(np.asarray({place}, dtype=float))" for place in layout.inputs.values()]
    for place, constant in layout.grouped:
        table = {str(group): float(value) for group, value in constant.values.items()}
        label = layout.labels[constant.key]
        lines.append(f"{place} = constants({label}, {table!r}, {float(constant.default)!r})")
    lines += [f"{step} = {text}" for step, text in layout.steps]
    lines.append(f"return finite({layout.result})")
    body = "".join(f"        {line}\n" for line in lines)
    used = NUMPY.used_helpers("\n".join(lines))
    comments = "".join(f"# {line}\n" for line in header(formula))
    helpers = "".join(f"\n\n{source}" for source in used)
    start = f'def {name}({", ".join(arguments)}):\n    with np.errstate(all="ignore"):\n'
    return f"{comments}import numpy as np\n{helpers}\n\n{start}{body}"
