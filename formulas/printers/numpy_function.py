"""A formula as a Python function over numpy arrays, and what it shares with those of torch and JAX."""

import keyword
import math
from dataclasses import replace

from trainlaw.formulas.algebra.expression import Expression
from trainlaw.formulas.formula import Formula
from trainlaw.formulas.printers.language import Language, calls, known_constants, plain_number
from trainlaw.formulas.printers.layout import lay_out
from trainlaw.formulas.printers.naming import as_formula, header


def numpy_like(name: str) -> Language:
    """Return the language of numpy's functions in a module called `name`."""
    return Language(
        forms={
            **calls("abs", "sqrt", "cbrt", "square", "exp", "log", "sin", "cos", "tanh", prefix=f"{name}."),
            "cube": f"{name}.power({{a}}, 3)",
            "pow": "power({a}, {b})",
            "min": f"{name}.minimum({{a}}, {{b}})",
            "max": f"{name}.maximum({{a}}, {{b}})",
            "step": f"{name}.heaviside({{a}}, 0.5)",
        },
        finite="finite({a})",
        helpers={
            "finite": (
                f"def finite(values):\n    return {name}.where({name}.isfinite(values), values, {name}.nan)\n"
            ),
            # The power functions of C give 1 for nan to the power 0.
            "power": (
                "def power(base, exponent):\n"
                f"    known = {name}.isfinite(base) & {name}.isfinite(exponent)\n"
                f"    return {name}.where(known, {name}.power(base, exponent), {name}.nan)\n"
            ),
            "constants": (
                "def constants(labels, values, default):\n"
                "    labels = [labels] if isinstance(labels, str) else labels\n"
                f"    return {name}.asarray([values.get(str(label), default) for label in labels])\n"
            ),
        },
        number=plain_number(lambda value: repr(value) if math.isfinite(value) else f"{name}.nan"),
        reserved=frozenset({*keyword.kwlist, "np", "jnp", "torch", "float", "isinstance", "str"}),
    )


NUMPY = numpy_like("np")


def print_numpy_function(formula: Formula | Expression, name: str = "predict") -> str:
    """Return the source of a module with one function: features (arrays, in their units) in, target out.

    Grouped constants take an array of the groups' labels as a further argument. The function gives nan where
    the formula is not valid; arrays broadcast as in numpy.
    """
    return print_array_function(
        formula, name, NUMPY, "import numpy as np", "np.asarray({}, dtype=float)",
        'with np.errstate(all="ignore"):',
    )  # fmt: skip


def print_array_function(  # noqa: PLR0917 (what differs between the libraries of arrays)
    formula: Formula | Expression, name: str, language: Language, start: str, array: str, around: str = ""
) -> str:
    """Return the source of a module with one function of arrays.

    start : the imports. array : makes an array of what the function is given. around : line of a block that
    the body is in.
    """
    formula = as_formula(formula)
    layout = lay_out(replace(formula, expression=known_constants(formula.expression)), language, name)
    arguments = [*layout.inputs.values(), *(f'{label}=""' for label in layout.labels.values())]
    lines = [f"{place} = finite({array.format(place)})" for place in layout.inputs.values()]
    for place, constant in layout.grouped:
        table = {str(group): float(value) for group, value in constant.values.items()}
        label = layout.labels[constant.key]
        lines.append(f"{place} = constants({label}, {table!r}, {float(constant.default)!r})")
    lines += [f"{step} = {text}" for step, text in layout.steps]
    lines.append(f"return finite({layout.result})")
    if around:
        lines = [around, *(f"    {line}" for line in lines)]
    comments = "".join(f"# {line}\n" for line in header(formula))
    helpers = "".join(f"\n\n{source}" for source in language.used_helpers("\n".join(lines)))
    body = "".join(f"    {line}\n" for line in lines)
    return f"{comments}{start}\n{helpers}\n\ndef {name}({', '.join(arguments)}):\n{body}"
