"""A formula as a plain Python function without any dependency."""

import keyword

from trainlaw.formulas.algebra.expression import Expression
from trainlaw.formulas.formula import Formula
from trainlaw.formulas.printers.language import Language, calls, plain_number
from trainlaw.formulas.printers.layout import lay_out
from trainlaw.formulas.printers.naming import as_formula, header

PYTHON = Language(
    forms={
        **calls("sqrt", "cbrt", "exp", "log", "sin", "cos", "tanh", prefix="math."),
        "abs": "abs({a})",
        "square": "math.pow({a}, 2)",
        "cube": "math.pow({a}, 3)",
        "pow": "math.pow({a}, {b})",
        "min": "min({a}, {b})",
        "max": "max({a}, {b})",
        "step": "step({a})",
    },
    number=plain_number(repr),
    finite="finite({a})",
    raising=("square", "cube", "exp", "log", "pow"),
    helpers={
        "finite": (
            "def finite(number):\n"
            "    if not math.isfinite(number):\n"
            '        raise ArithmeticError("a part of the formula is not finite")\n'
            "    return number\n"
        ),
        "step": "def step(number):\n    return 0.5 * ((number > 0) - (number < 0) + 1)\n",
    },
    reserved=frozenset({*keyword.kwlist, "math", "abs", "min", "max", "all", "map", "str"}),
)


def print_python_function(formula: Formula | Expression, name: str = "predict") -> str:
    """Return the source of a module with one function: features (numbers, in their units) in, target out.

    Grouped constants take the group's label as a further argument. The function returns nan where the formula
    is not valid. The module only needs Python 3.11.
    """
    formula = as_formula(formula)
    layout = lay_out(formula, PYTHON, name)
    arguments = [*layout.inputs.values(), *(f'{label}=""' for label in layout.labels.values())]
    checks = ", ".join(layout.inputs.values())
    lines = [f"if not all(map(math.isfinite, [{checks}])):", "    return math.nan"] if checks else []
    for name_, constant in layout.grouped:
        table = {str(group): float(value) for group, value in constant.values.items()}
        lines.append(f"{name_} = {table!r}.get({layout.labels[constant.key]}, {float(constant.default)!r})")
    lines.append("try:")
    lines += [f"    {step} = {text}" for step, text in layout.steps]
    lines += [
        f"    return finite({layout.result})",
        "except (ArithmeticError, ValueError):",
        "    return math.nan",
    ]
    comments = "".join(f"# {line}\n" for line in header(formula))
    helpers = "".join(f"\n\n{source}" for source in PYTHON.used_helpers("finite(" + "".join(layout.helpers)))
    body = "".join(f"    {line}\n" for line in lines)
    return f"{comments}import math\n{helpers}\n\ndef {name}({', '.join(arguments)}):\n{body}"
