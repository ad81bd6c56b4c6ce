"""A formula as a function of R, without any package."""

from trainlaw.formulas.algebra.expression import Expression
from trainlaw.formulas.formula import Formula
from trainlaw.formulas.printers.language import Language, calls, plain_number
from trainlaw.formulas.printers.layout import lay_out
from trainlaw.formulas.printers.naming import as_formula, header, unicode_literal

R = Language(
    forms={
        **calls("abs", "sqrt", "exp", "log", "sin", "cos", "tanh"),
        "cbrt": "cube_root({a})",
        "square": "power({a}, 2)",
        "cube": "power({a}, 3)",
        "pow": "power({a}, {b})",
        "min": "pmin({a}, {b})",
        "max": "pmax({a}, {b})",
        "step": "(0.5 * (sign({a}) + 1))",
    },
    number=plain_number(repr),
    finite="finite({a})",
    helpers={
        "finite": "finite <- function(a) ifelse(is.finite(a), a, NaN)\n",
        # NaN^0 is 1 in R.
        "power": "power <- function(a, b) ifelse(is.finite(a) & is.finite(b), a^b, NaN)\n",
        "cube_root": "cube_root <- function(a) sign(a) * abs(a)^(1 / 3)\n",
    },
    text_literal=unicode_literal,
    reserved=frozenset(
        "if else repeat while function for next break TRUE FALSE NULL Inf NaN NA in T F ifelse".split()
    ),
)


def print_r(formula: Formula | Expression, name: str = "predict_time") -> str:
    """Return the source of one function of R: features (numeric vectors, in their units) in, target out.

    Grouped constants take the group's label as a further argument. The value is NaN where the formula is not
    valid.
    """
    formula = as_formula(formula)
    layout = lay_out(formula, R, name)
    arguments = [*layout.inputs.values(), *(f'{label} = ""' for label in layout.labels.values())]
    lines = [f"{place} <- finite({place})" for place in layout.inputs.values()]
    for place, constant in layout.grouped:
        label = layout.labels[constant.key]
        groups = ", ".join(R.text_literal(str(group)) for group in constant.values)
        values = ", ".join(repr(float(value)) for value in constant.values.values())
        place_of = f"match({label}, c({groups}), {len(constant.values) + 1})"
        chosen = f"c({values}, {float(constant.default)!r})[{place_of}]"
        lines.append(f"{place} <- {chosen}")
    lines += [f"{step} <- {text}" for step, text in layout.steps]
    lines.append(f"finite({layout.result})")
    helpers = "".join(R.used_helpers("\n".join(lines)))
    comments = "".join(f"# {line}\n" for line in header(formula))
    body = "".join(f"  {line}\n" for line in lines)
    return f"{comments}{helpers}{name} <- function({', '.join(arguments)}) suppressWarnings({{\n{body}}})\n"
