"""The exact derivative of an expression, from the partial derivatives of the operator table."""

from functools import cache

from trainlaw.formulas.algebra.expression import Apply, Constant, Expression, Variable, fold, substitute
from trainlaw.formulas.algebra.operators import OPERATORS
from trainlaw.formulas.algebra.text import parse_text
from trainlaw.formulas.algebra.tidying import ONE, ZERO, tidy


def derivative(expression: Expression, name: str) -> Expression:
    """Return the exact derivative with respect to one variable.

    At a kink of abs, min or max it is the mean of both sides; the jump of a step has no derivative and counts
    as zero.

    Parameters
    ----------
    expression : Expression
        Any expression.
    name : str
        Name of the variable.

    Returns
    -------
    Expression
        The derivative, simplified; zero where the variable does not occur.

    Examples
    --------
    >>> from trainlaw.formulas.algebra.text import to_text
    >>> to_text(derivative(parse_text("3 * x^2 + exp(y)"), "x"))
    '6 * x'
    """

    def leaf(node: Constant | Variable) -> tuple[Expression, Expression]:
        return node, ONE if node == Variable(name) else ZERO

    _, slope = fold(expression, leaf, leaf, _chain_rule)
    return tidy(slope)


def _chain_rule(
    node: Apply, answers: tuple[tuple[Expression, Expression], ...]
) -> tuple[Expression, Expression]:
    """Return a node and its slope from the arguments and theirs."""
    places = dict(zip("ab", node.arguments, strict=False))
    slope: Expression = ZERO
    for partial, (_, inner) in zip(partials(node.operator), answers, strict=True):
        # Terms that vanish are not built: the slopes of large formulas are mostly zero.
        if inner != ZERO:
            part = _times(substitute(partial, places), inner)
            slope = part if slope == ZERO else Apply("add", (slope, part))
    return node, slope


def _times(left: Expression, right: Expression) -> Expression:
    if left == ONE:
        return right
    return left if right == ONE else Apply("mul", (left, right))


@cache
def partials(operator: str) -> tuple[Expression, ...]:
    """Return the partial derivatives of an operator, in the variables a and b."""
    return tuple(parse_text(text) for text in OPERATORS[operator].partials)
