"""A formula as a function of Julia, without any package."""

from trainlaw.formulas.algebra.expression import Expression
from trainlaw.formulas.formula import Formula
from trainlaw.formulas.printers.language import Language, calls, plain_number
from trainlaw.formulas.printers.layout import lay_out
from trainlaw.formulas.printers.naming import as_formula, header, unicode_literal

JULIA = Language(
    forms={
        **calls("abs", "sqrt", "cbrt", "exp", "log", "sin", "cos", "tanh"),
        "square": "power({a}, 2)",
        "cube": "power({a}, 3)",
        "pow": "power({a}, {b})",
        "min": "min({a}, {b})",
        "max": "max({a}, {b})",
        "step": "(0.5 * (sign({a}) + 1))",
    },
    number=plain_number(repr),
    finite="finite({a})",
    helpers={
        "finite": "finite(a) = isfinite(a) ? a : NaN\n",
        # NaN^0 is 1 in Julia.
        "power": "power(a, b) = isfinite(a) && isfinite(b) ? Float64(a)^b : NaN\n",
    },
    text_literal=unicode_literal,
    reserved=frozenset(
        "baremodule begin break catch const continue do else elseif end export false finally for function"
        " global if import in isa let local macro module mutable outer primitive quote return struct true try"
        " type using where while abstract NaN Inf pi ifelse isfinite min max abs sign error get Dict".split()
    ),
)


def print_julia(formula: Formula | Expression, name: str = "predict") -> str:
    """Return the source of one function of Julia: features (numbers, in their units) in, target out.

    Grouped constants take the group's label as a further argument. The value is NaN where the formula is not
    valid.
    """
    formula = as_formula(formula)
    layout = lay_out(formula, JULIA, name)
    arguments = [*layout.inputs.values(), *(f'{label} = ""' for label in layout.labels.values())]
    checks = " && ".join(f"isfinite({place})" for place in layout.inputs.values())
    lines = [f"({checks}) || return NaN"] if checks else []
    for place, constant in layout.grouped:
        pairs = ", ".join(
            f"{JULIA.text_literal(str(group))} => {float(value)!r}"
            for group, value in constant.values.items()
        )
        groups = f"Dict{{String,Float64}}({pairs})"
        lines.append(f"{place} = get({groups}, {layout.labels[constant.key]}, {float(constant.default)!r})")
    lines += [f"{step} = {text}" for step, text in layout.steps]
    lines.append(f"return finite({layout.result})")
    helpers = "".join(JULIA.used_helpers("\n".join(lines)))
    comments = "".join(f"# {line}\n" for line in header(formula))
    body = "".join(f"        {line}\n" for line in lines)
    # Roots and logarithms of negative numbers raise a DomainError.
    return (
        f"{comments}{helpers}function {name}({', '.join(arguments)})\n    try\n{body}    catch fault\n"
        "        fault isa DomainError ? NaN : rethrow()\n    end\nend\n"
    )
