"""The formula as the report typesets it: a line per term, and each side of a maximum on separate lines."""

from collections.abc import Iterator, Mapping
from html import escape

from trainlaw.app.models.terms import plain_expression
from trainlaw.formulas import SCOPES, Apply, Expression, Formula
from trainlaw.formulas.algebra.expression import additive_terms, count_nodes, sides_of
from trainlaw.formulas.printers import mathml_expression

_LONG_TERM = 12  # nodes from which a maximum is written on several lines


#: A line of the formula: how far it is indented, a word in front, and MathML, empty for none.
EquationLine = tuple[int, str, str]


def equation_lines(formula: Formula) -> list[EquationLine]:
    """Return the right side of the formula line by line, its quantities under their names."""
    names = {
        spec.name: f"<mtext>{escape(spec.name.removesuffix('_s').replace('_', ' '))}</mtext>"
        for spec in formula.used_features
    }
    part = SCOPES[formula.scope].part
    summed = f"sum over every {part} of" if part else ""
    return list(_sum(plain_expression(formula), names, 0, summed))


def _sum(
    expression: Expression, names: Mapping[str, str], indent: int, first: str = ""
) -> Iterator[EquationLine]:
    for number, term in enumerate(additive_terms(expression)):
        word = "+" if number else first
        if isinstance(term, Apply) and term.operator == "max" and count_nodes(term) > _LONG_TERM:
            yield indent, f"{word} the largest of".strip(), ""
            for place, side in enumerate(sides_of(term), start=1):
                yield from _sum(side, names, indent + 1, f"{place}.")
        else:
            yield indent, word, mathml_expression(term, names)
