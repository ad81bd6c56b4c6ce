"""A formula as a function of Python, C, JavaScript, R or Julia: a table of texts per language.

Each printer takes a formula and the name of the function, and returns its source: features in their units in,
target out. Grouped constants take the group's label as a further argument. The function gives nan where the
formula is not valid. Those of Python, R and Julia need no package.
"""

import json
import keyword
from collections.abc import Callable, Mapping
from types import MappingProxyType

from trainlaw.formulas.formula import Formula
from trainlaw.formulas.printers.functions import FunctionForm
from trainlaw.formulas.printers.language import Language, calls, plain_number
from trainlaw.formulas.printers.naming import unicode_literal

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


#: Numbers in, for Python 3.11 alone.
print_python_function = FunctionForm(
    language=PYTHON,
    check="{name}",
    also=", ",
    guard="if not all(map(math.isfinite, [{checks}])):\n    return math.nan",
    pair="{key}: {value}",
    lookup="{name} = {{{pairs}}}.get({label}, {default})",
    before_steps="try:",
    step="    {name} = {value}",
    result="    return finite({value})\nexcept (ArithmeticError, ValueError):\n    return math.nan",
    before_helper="\n\n",
    whole="{comments}import math\n{helpers}\n\ndef {name}({parameters}):\n{body}",
).write


# Characters without a meaning inside a literal, also to a trigraph or a comment.
_PLAIN = " -_.,:;()+@/=|"


def c_text(text: str) -> str:
    """Return a C string literal of the UTF-8 bytes of a text.

    >>> c_text('a"b')
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
    finite="or_nan({a})",
    helpers={
        "or_nan": "static double or_nan(double a) { return isfinite(a) ? a : NAN; }\n",
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
    text_literal=c_text,
    reserved=frozenset(
        "auto break case char const continue default do double else enum extern float for goto if"
        " inline int long register restrict return short signed sizeof static struct switch typedef"
        " union unsigned void volatile while main asm y0 y1 yn j0 j1 jn gamma isnan isfinite fabs sqrt"
        " cbrt exp log pow sin cos tanh strcmp NAN HUGE_VAL M_PI M_E div abs index time remainder round"
        " floor ceil erf hypot fmin fmax".split()
    ),
)


#: Doubles and strings in, C99. Not for -ffast-math, which takes NAN and infinity out of the language.
print_c_function = FunctionForm(
    language=C,
    comment="// ",
    parameter="double {name}",
    label="const char *{name}",
    no_parameters="void",
    check="isfinite({name})",
    guard="if (!({checks})) return NAN;",
    pair="strcmp({label}, {key}) == 0 ? {value} : ",
    between="",
    lookup="const double {name} = {pairs}{default};",
    step="const double {name} = {value};",
    result="return or_nan({value});",
    if_labels="#include <string.h>\n",
    whole=("{comments}#include <math.h>\n{if_labels}\n{helpers}\ndouble {name}({parameters}) {{\n{body}}}\n"),
).write


def javascript_text(text: str) -> str:
    """Return a JavaScript string literal that is safe inside a script element of a page, too.

    >>> javascript_text("</script>")
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
    text_literal=javascript_text,
    reserved=frozenset(
        "abstract arguments await boolean break byte case catch char class const continue debugger"
        " default delete do double else enum eval export extends false final finally float for function"
        " goto if implements import in instanceof int interface let long native new null package private"
        " protected public return short static super switch synchronized this throw throws transient"
        " true try typeof var void volatile while with yield undefined NaN Infinity Math Number Map"
        " features labels".split()
    ),
)


#: (features, labels) in: objects with a number per feature, and a group's label per label column.
print_javascript = FunctionForm(
    language=JAVASCRIPT,
    comment="// ",
    indent="  ",
    input="const {name} = finite(features[{key}]);",
    label_input="const {name} = labels[{key}];",
    pair="[{key}, {value}]",
    lookup="const {name} = new Map([{pairs}]).get({label}) ?? {default};",
    step="const {name} = {value};",
    result="return finite({value});",
    whole="{comments}{helpers}function {name}(features, labels = {{}}) {{\n{body}}}\n",
).write


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


#: Numeric vectors in.
print_r = FunctionForm(
    language=R,
    usual_name="predict_time",
    indent="  ",
    label='{name} = ""',
    input="{name} <- finite({name})",
    lookup="{name} <- c({values}, {default})[match({label}, c({keys}), {count})]",
    step="{name} <- {value}",
    result="finite({value})",
    whole="{comments}{helpers}{name} <- function({parameters}) suppressWarnings({{\n{body}}})\n",
).write


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


#: Numbers in.
print_julia = FunctionForm(
    language=JULIA,
    indent="        ",
    label='{name} = ""',
    check="isfinite({name})",
    guard="({checks}) || return NaN",
    pair="{key} => {value}",
    lookup="{name} = get(Dict{{String,Float64}}({pairs}), {label}, {default})",
    step="{name} = {value}",
    result="return finite({value})",
    # Roots and logarithms of negative numbers raise a DomainError.
    whole=(
        "{comments}{helpers}function {name}({parameters})\n    try\n{body}    catch fault\n"
        "        fault isa DomainError ? NaN : rethrow()\n    end\nend\n"
    ),
).write

#: Functions of features, without tables of GPUs and CNNs, by suffix.
FUNCTIONS: Mapping[str, Callable[[Formula], str]] = MappingProxyType(
    {
        ".py": print_python_function,
        ".js": print_javascript,
        ".c": print_c_function,
        ".R": print_r,
        ".jl": print_julia,
    }
)
