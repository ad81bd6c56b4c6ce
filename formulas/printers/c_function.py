"""A formula as a C99 function."""

from trainlaw.formulas.algebra.expression import Expression
from trainlaw.formulas.formula import Formula, GroupedConstant
from trainlaw.formulas.printers.language import Language, calls, plain_number
from trainlaw.formulas.printers.layout import lay_out
from trainlaw.formulas.printers.naming import as_formula, header

# Characters without a meaning inside a literal, also to a trigraph or a comment.
_PLAIN = " -_.,:;()+@/=|"


def string_literal(text: str) -> str:
    """Return a C string literal of the UTF-8 bytes of a text.

    >>> string_literal('a"b')
    '"a\\\\042b"'
    """
    plain = "".join(
        chr(byte) if byte < 128 and (chr(byte).isalnum() or chr(byte) in _PLAIN) else f"\\{byte:03o}"
        for byte in text.encode()
    )
    return f'"{plain}"'


C = Language(
    forms={
        **calls("sqrt", "cbrt", "exp", "log", "sin", "cos", "tanh", "step"),
        "abs": "fabs({a})",
        "square": "power({a}, 2.0)",
        "cube": "power({a}, 3.0)",
        "pow": "power({a}, {b})",
        "min": "smaller({a}, {b})",
        "max": "larger({a}, {b})",
    },
    number=plain_number(repr),
    finite="finite_or_nan({a})",
    helpers={
        "finite_or_nan": "static double finite_or_nan(double a) { return isfinite(a) ? a : NAN; }\n",
        # The library's pow, fmin and fmax hide a NAN.
        "power": (
            "static double power(double a, double b) {\n"
            "    return isfinite(a) && isfinite(b) ? pow(a, b) : NAN;\n"
            "}\n"
        ),
        "smaller": "static double smaller(double a, double b) { return isnan(a) || a < b ? a : b; }\n",
        "larger": "static double larger(double a, double b) { return isnan(a) || a > b ? a : b; }\n",
        "step": "static double step(double a) { return isnan(a) ? a : 0.5 * ((a > 0) - (a < 0) + 1); }\n",
    },
    text_literal=string_literal,
    reserved=frozenset(
        "auto break case char const continue default do double else enum extern float for goto if"
        " inline int long register restrict return short signed sizeof static struct switch typedef"
        " union unsigned void volatile while main asm y0 y1 yn j0 j1 jn gamma isnan isfinite fabs sqrt"
        " cbrt exp log pow sin cos tanh strcmp NAN HUGE_VAL M_PI M_E div abs index time remainder round"
        " floor ceil erf hypot fmin fmax".split()
    ),
)


def _choice(label: str, constant: GroupedConstant) -> str:
    """Return the value of a grouped constant as a chain of comparisons."""
    tests = "".join(
        f"strcmp({label}, {C.text_literal(str(group))}) == 0 ? {float(value)!r} : "
        for group, value in constant.values.items()
    )
    return f"{tests}{float(constant.default)!r}"


def print_c_function(formula: Formula | Expression, name: str = "predict") -> str:
    """Return the source of one C99 function: features (doubles, in their units) in, target out.

    Grouped constants take the group's label as a further argument, a string. The function returns NAN where
    the formula is not valid. Not for -ffast-math, which takes NAN and infinity out of the language.
    """
    formula = as_formula(formula)
    layout = lay_out(formula, C, name)
    arguments = [f"double {place}" for place in layout.inputs.values()]
    arguments += [f"const char *{place}" for place in layout.labels.values()]
    checks = " && ".join(f"isfinite({place})" for place in layout.inputs.values())
    lines = [f"if (!({checks})) return NAN;"] if checks else []
    for place, constant in layout.grouped:
        lines.append(f"const double {place} = {_choice(layout.labels[constant.key], constant)};")
    lines += [f"const double {step} = {text};" for step, text in layout.steps]
    lines.append(f"return finite_or_nan({layout.result});")
    helpers = "".join(C.used_helpers("\n".join(lines)))
    comments = "".join(f"// {line}\n" for line in header(formula))
    includes = "#include <math.h>\n" + ("#include <string.h>\n" if layout.labels else "")
    body = "".join(f"    {line}\n" for line in lines)
    return f"{comments}{includes}\n{helpers}\ndouble {name}({', '.join(arguments) or 'void'}) {{\n{body}}}\n"
