"""A formula in presentation MathML, as browsers show it."""

from collections.abc import Mapping
from html import escape

from trainlaw.formulas.algebra.expression import Expression
from trainlaw.formulas.algebra.text import ATOM, STRENGTHS, number_text
from trainlaw.formulas.formula import Formula
from trainlaw.formulas.printers.language import SIGNED, Language, Piece
from trainlaw.formulas.printers.naming import indexed, letter


def _call(name: str, arguments: str = "{a}") -> str:
    """Return the form of a function."""
    return f"<mrow><mi>{name}</mi><mo>(</mo>{arguments}<mo>)</mo></mrow>"


def _mathml() -> Language:
    """Return how MathML writes formulas."""
    both = "{a}<mo>,</mo>{b}"
    base = "<mrow>{a:atom}</mrow>"
    return Language(
        forms={
            "div": "<mfrac><mrow>{a}</mrow><mrow>{b}</mrow></mfrac>",
            "abs": "<mrow><mo>|</mo>{a}<mo>|</mo></mrow>",
            "inv": "<mfrac><mn>1</mn><mrow>{a}</mrow></mfrac>",
            "sqrt": "<msqrt>{a}</msqrt>",
            "cbrt": "<mroot><mrow>{a}</mrow><mn>3</mn></mroot>",
            "square": f"<msup>{base}<mn>2</mn></msup>",
            "cube": f"<msup>{base}<mn>3</mn></msup>",
            "pow": f"<msup>{base}<mrow>{{b}}</mrow></msup>",
            "log": _call("ln"),
            "min": _call("min", both),
            "max": _call("max", both),
            "step": _call("&#952;"),
            **{name: _call(name) for name in ("exp", "sin", "cos", "tanh")},
        },
        form_strengths=dict.fromkeys(("square", "cube", "pow"), STRENGTHS["pow"]),
        infix={
            "add": "<mo>+</mo>",
            "sub": "<mo>&#8722;</mo>",
            "mul": "<mo>&#183;</mo>",
            "neg": "<mo>&#8722;</mo>",
        },
        parentheses=("<mrow><mo>(</mo>", "<mo>)</mo></mrow>"),
        number=_number,
    )


def _number(value: float) -> Piece:
    """Return a number of three significant digits, its sign and its power of ten written out."""
    mantissa, _, exponent = number_text(abs(value), 3).partition("e")
    text = f"<mn>{mantissa}</mn>"
    if exponent:
        power = f"<msup><mn>10</mn><mn>{int(exponent)}</mn></msup>".replace("<mn>-", "<mn>&#8722;")
        text += f"<mo>&#215;</mo>{power}"
    negative = number_text(value).startswith("-")
    strength = STRENGTHS["mul"] if exponent else ATOM
    return Piece("<mo>&#8722;</mo>" + text if negative else text, SIGNED if negative else strength)


def mathml_symbol(symbol: str) -> str:
    """Return a symbol, with an index for A_b.

    >>> mathml_symbol("W_conv")
    '<msub><mi>W</mi><mi>conv</mi></msub>'
    """
    base, _, index = symbol.partition("_")
    printable = [escape("".join(c for c in letter(part) if c.isprintable())) for part in (base, index)]
    if base and index:
        return f"<msub><mi>{printable[0]}</mi><mi>{printable[1]}</mi></msub>"
    return f"<mi>{escape(''.join(c for c in letter(symbol) if c.isprintable()))}</mi>"


def mathml_expression(expression: Expression, symbols: Mapping[str, str]) -> str:
    """Return the expression as one element of MathML, constants with three significant digits.

    symbols : the MathML of each variable.

    >>> from trainlaw.formulas.algebra.text import parse_text
    >>> mathml_expression(parse_text("2 * x"), {"x": "<mi>x</mi>"})
    '<mrow><mn>2</mn><mo>&#183;</mo><mi>x</mi></mrow>'
    """
    language = _mathml()
    return f"<mrow>{language.write(language.known(expression), symbols)}</mrow>"


def mathml_symbols(formula: Formula) -> dict[str, str]:
    """Return the MathML of each feature and grouped constant of a formula, by name."""
    found = {spec.name: mathml_symbol(spec.symbol) for spec in formula.used_features}
    return found | {constant.name: mathml_symbol(indexed(constant.name)) for constant in formula.grouped}
