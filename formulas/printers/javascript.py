"""A formula as a JavaScript function."""

import json

from trainlaw.formulas.algebra.expression import Expression
from trainlaw.formulas.formula import Formula
from trainlaw.formulas.printers.language import Language, calls, plain_number
from trainlaw.formulas.printers.layout import lay_out
from trainlaw.formulas.printers.naming import as_formula, header


def string_literal(text: str) -> str:
    """Return a JavaScript string literal that is safe inside a script element of a page, too.

    >>> string_literal("</script>")
    '"\\\\u003c/script>"'
    """
    return json.dumps(text).replace("<", "\\u003c")


JAVASCRIPT = Language(
    forms={
        **calls("abs", "sqrt", "cbrt", "exp", "log", "sin", "cos", "tanh", prefix="Math."),
        "square": "power({a}, 2)",
        "cube": "power({a}, 3)",
        "pow": "power({a}, {b})",
        "min": "Math.min({a}, {b})",
        "max": "Math.max({a}, {b})",
        "step": "(0.5 * (Math.sign({a}) + 1))",
    },
    number=plain_number(repr),
    finite="finite({a})",
    helpers={
        "finite": "const finite = (value) => (Number.isFinite(value) ? value : NaN);\n",
        # Math.pow(NaN, 0) is 1.
        "power": (
            "const power = (base, exponent) =>\n"
            "  Number.isFinite(base) && Number.isFinite(exponent) ? Math.pow(base, exponent) : NaN;\n"
        ),
    },
    text_literal=string_literal,
    reserved=frozenset(
        "abstract arguments await boolean break byte case catch char class const continue debugger"
        " default delete do double else enum eval export extends false final finally float for function"
        " goto if implements import in instanceof int interface let long native new null package private"
        " protected public return short static super switch synchronized this throw throws transient"
        " true try typeof var void volatile while with yield undefined NaN Infinity Math Number Map"
        " features labels".split()
    ),
)


def print_javascript(formula: Formula | Expression, name: str = "predict") -> str:
    """Return the source of one function (features, labels) -> number, with its helpers.

    features : an object with a number per feature name, in its unit. labels : an object with the group's
    label per label column, for grouped constants. The function returns NaN where the formula is not valid.
    """
    formula = as_formula(formula)
    layout = lay_out(formula, JAVASCRIPT, name)
    lines = [
        f"const {place} = finite(features[{JAVASCRIPT.text_literal(key)}]);"
        for key, place in layout.inputs.items()
    ]
    lines += [
        f"const {place} = labels[{JAVASCRIPT.text_literal(key)}];" for key, place in layout.labels.items()
    ]
    for place, constant in layout.grouped:
        pairs = ", ".join(
            f"[{JAVASCRIPT.text_literal(str(key))}, {float(value)!r}]"
            for key, value in constant.values.items()
        )
        table = f"new Map([{pairs}]).get({layout.labels[constant.key]})"
        lines.append(f"const {place} = {table} ?? {float(constant.default)!r};")
    lines += [f"const {step} = {text};" for step, text in layout.steps]
    lines.append(f"return finite({layout.result});")
    helpers = "".join(JAVASCRIPT.used_helpers("\n".join(lines)))
    comments = "".join(f"// {line}\n" for line in header(formula))
    body = "".join(f"  {line}\n" for line in lines)
    return f"{comments}{helpers}function {name}(features, labels = {{}}) {{\n{body}}}\n"
