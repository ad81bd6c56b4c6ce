"""A formula in LaTeX, with the meaning and the unit of every symbol."""

import unicodedata
from collections.abc import Mapping

from trainlaw.formulas.algebra.expression import Expression
from trainlaw.formulas.algebra.text import ATOM, STRENGTHS, number_text
from trainlaw.formulas.algebra.units import Unit
from trainlaw.formulas.features import FeatureSpec
from trainlaw.formulas.formula import Formula
from trainlaw.formulas.printers.language import SIGNED, Language, Piece
from trainlaw.formulas.printers.naming import header, indexed, letter

SPECIAL = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{character: "\\" + character for character in "{}$&#%_"},
}


def latex_language(digits: int | None) -> Language:
    """Return how LaTeX writes formulas, with constants of `digits` significant digits (None: exact)."""
    return Language(
        forms={
            "div": r"\frac{{{a}}}{{{b}}}",
            "abs": r"\left|{a}\right|",
            "inv": r"\frac{{1}}{{{a}}}",
            "sqrt": r"\sqrt{{{a}}}",
            "cbrt": r"\sqrt[3]{{{a}}}",
            "square": "{a:atom}^{{2}}",
            "cube": "{a:atom}^{{3}}",
            "log": r"\ln\left({a}\right)",
            "pow": "{a:atom}^{{{b}}}",
            "min": r"\min\left({a}, {b}\right)",
            "max": r"\max\left({a}, {b}\right)",
            "step": r"\theta\left({a}\right)",
            **{name: rf"\{name}\left({{a}}\right)" for name in ("exp", "sin", "cos", "tanh")},
        },
        form_strengths=dict.fromkeys(("square", "cube", "pow"), STRENGTHS["pow"]),
        infix={"add": " + ", "sub": " - ", "mul": r" \cdot ", "neg": "-"},
        parentheses=(r"\left(", r"\right)"),
        number=lambda value: _number(value, digits),
    )


def _number(value: float, digits: int | None) -> Piece:
    mantissa, _, exponent = number_text(value, digits).partition("e")
    text = rf"{mantissa} \times 10^{{{int(exponent)}}}" if exponent else mantissa
    strength = STRENGTHS["mul"] if exponent else ATOM
    return Piece(text, SIGNED if mantissa.startswith("-") else strength)


def escaped(text: str) -> str:
    """Return a text that LaTeX sets as it is.

    >>> escaped("50% of C_1")
    '50\\\\% of C\\\\_1'
    """
    printable = "".join(character if character.isprintable() else " " for character in text)
    return "".join(SPECIAL.get(character, character) for character in printable)


def latex_symbol(symbol: str) -> str:
    """Return a symbol for a formula: a letter as it is, a Greek one by its command, A_b with an index.

    >>> latex_symbol("W_conv"), latex_symbol("\\u03c1")
    ('W_{\\\\mathrm{conv}}', '\\\\rho')
    """
    symbol = letter(symbol)
    base, _, index = symbol.partition("_")
    if symbol == "\u2113":
        return "\\ell"
    if index and base:
        return f"{latex_symbol(base)}_{{\\mathrm{{{escaped(index)}}}}}"
    if len(symbol) == 1 and symbol.isascii() and symbol.isalpha():
        return symbol
    words = unicodedata.name(symbol, "").split() if len(symbol) == 1 else []
    # omicron and the capitals that look Latin have no command.
    if words[:3] == ["GREEK", "SMALL", "LETTER"] and len(words) == 4 and words[3] != "OMICRON":
        return "\\" + words[3].lower().replace("lamda", "lambda")
    return f"\\mathrm{{{escaped(symbol)}}}"


def latex_expression(expression: Expression, symbols: Mapping[str, str], digits: int | None = 3) -> str:
    """Return the expression as LaTeX mathematics.

    symbols : the LaTeX of each variable. digits : significant digits of the constants (None: exact).

    >>> from trainlaw.formulas.algebra.text import parse_text
    >>> latex_expression(parse_text("x / 1e13"), {"x": "x"})
    '\\\\frac{x}{1 \\\\times 10^{13}}'
    """
    language = latex_language(digits)
    return language.write(language.known(expression), symbols)


def print_latex(formula: Formula, digits: int | None = 3) -> str:
    """Return a displayed equation and a table of its symbols with units and meanings."""
    comments = "".join(f"% {line}\n" for line in header(formula))
    equation = latex_equation(formula, digits)
    rows = "".join(_row(spec) for spec in (formula.target, *formula.used_features))
    return f"{comments}\\[\n{equation}\n\\]\n\\begin{{tabular}}{{lll}}\n{rows}\\end{{tabular}}\n"


def latex_equation(formula: Formula, digits: int | None = 3) -> str:
    """Return a formula as one equation; digits : significant digits of the constants (None: exact)."""
    symbols = {spec.name: latex_symbol(spec.symbol) for spec in formula.used_features}
    symbols |= {constant.name: latex_symbol(indexed(constant.name)) for constant in formula.grouped}
    right = latex_expression(formula.expression, symbols, digits)
    return f"{latex_symbol(formula.target.symbol)} = {right}"


def _row(spec: FeatureSpec) -> str:
    return f"${latex_symbol(spec.symbol)}$ & {_unit(spec.unit)} & {escaped(spec.meaning or spec.name)} \\\\\n"


def _unit(unit: Unit) -> str:
    return f"$\\mathrm{{{unit}}}$" if not unit.is_dimensionless else "1"
