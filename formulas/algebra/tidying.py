"""Cheap rewrites: fold constants, merge like terms and factors, undo inverse functions, round constants.

A rewrite keeps the value wherever the expression was valid; it may make it valid at more points (x/x becomes
1).
"""

import math
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from trainlaw.formulas.algebra.evaluation import evaluate
from trainlaw.formulas.algebra.expression import (
    Apply,
    Constant,
    Expression,
    complexity,
    constants,
    rebuilt,
    with_constants,
)
from trainlaw.formulas.algebra.operators import OPERATORS
from trainlaw.formulas.algebra.row_sums import RowSums

ZERO, ONE = Constant(0.0), Constant(1.0)
SUMS = frozenset({"add", "sub"})
# Operators that are one factor, or a factor and a power: exponent of each argument.
PRODUCTS = {
    "mul": (1.0, 1.0),
    "div": (1.0, -1.0),
    "neg": (1.0,),
    "inv": (-1.0,),
    "square": (2.0,),
    "cube": (3.0,),
}
POWERS = {"sqrt": 0.5}
# exp(log(a)) is a: it becomes valid where a is not positive, which a rewrite may do.
UNDONE_BY = {"exp": "log", "log": "exp"}
# Operators that cost less than a power with a constant exponent.
BY_EXPONENT = {2.0: "square", 3.0: "cube", 0.5: "sqrt"}

Factors = tuple[float, dict[Expression, float]]


def fold_constants(expression: Expression) -> Expression:
    """Return the expression with every sub-expression of constants alone replaced by its value, where finite.

    >>> from trainlaw.formulas.algebra.text import parse_text
    >>> fold_constants(parse_text("x + 2 * 3"))
    x + 6
    """
    return rebuilt(expression, apply=lambda node, parts: folded(node.operator, parts))


def folded(operator: str, arguments: tuple[Expression, ...]) -> Expression:
    """Return the node of `operator` over `arguments`, or its value where that is constant and finite."""
    numbers = [np.float64(argument.value) for argument in arguments if isinstance(argument, Constant)]
    if len(numbers) == len(arguments):
        with np.errstate(all="ignore"):
            value = OPERATORS[operator].function(*numbers)
        if np.isfinite(value):
            return Constant(float(value))
    return Apply(operator, arguments)


def tidy(expression: Expression) -> Expression:
    """Return an equal expression of at most the same complexity, with like terms and like factors merged.

    Parameters
    ----------
    expression : Expression
        Any expression.

    Returns
    -------
    Expression
        Equal wherever `expression` is valid.

    Examples
    --------
    >>> from trainlaw.formulas.algebra.text import parse_text, to_text
    >>> to_text(tidy(parse_text("2 * x * y + y * x / 4 - 0 * z")))
    '2.25 * x * y'
    """
    tidied = merged(expression)
    # Merging may lengthen a formula, as where a factor moves into a sum.
    return tidied if complexity(tidied) <= complexity(expression) else fold_constants(expression)


def merged(expression: Expression) -> Expression:
    """Return an equal expression with like terms and like factors merged, which may be longer.

    >>> from trainlaw.formulas.algebra.text import parse_text, to_text
    >>> to_text(merged(parse_text("max((x + y) - x, 0)")))
    'max(y, 0)'
    """
    return rebuilt(expression, apply=_tidy_node)


def _tidy_node(node: Apply, arguments: tuple[Expression, ...]) -> Expression:
    plain = folded(node.operator, arguments)
    if not isinstance(plain, Apply):
        return plain
    if plain.operator in SUMS:
        return _merged_sum(plain)
    if plain.operator in PRODUCTS or _constant_exponent(plain) is not None:
        return product(*factors(plain))
    return _without_identities(plain)


def _constant_exponent(node: Apply) -> float | None:
    """Return the exponent of a root or of a power to a constant, None for other operators."""
    if node.operator == "pow" and isinstance(node.arguments[1], Constant):
        return node.arguments[1].value
    return POWERS.get(node.operator)


def _without_identities(node: Apply) -> Expression:
    """Return the node, or its simpler equal: exp(log(a)), max(a, a), abs(-a), 1^a."""
    first = node.arguments[0]
    inner = first if isinstance(first, Apply) else None
    if len(node.arguments) == 2 and node.operator in ("min", "max") and first == node.arguments[1]:
        return first
    if inner and UNDONE_BY.get(node.operator) == inner.operator:
        return inner.arguments[0]
    if inner and node.operator == "abs" and inner.operator in ("abs", "neg"):
        return Apply("abs", inner.arguments)
    return ONE if node.operator == "pow" and first == ONE else node


def _signed_terms(expression: Expression, sign: float) -> Iterable[Factors]:
    if isinstance(expression, Apply) and expression.operator in SUMS:
        left, right = expression.arguments
        yield from _signed_terms(left, sign)
        yield from _signed_terms(right, -sign if expression.operator == "sub" else sign)
    else:
        coefficient, bases = factors(expression)
        yield sign * coefficient, bases


def _merged_sum(node: Apply) -> Expression:
    """Return a sum with like terms merged, in the order of first occurrence."""
    collected: dict[frozenset[tuple[Expression, float]], Factors] = {}
    for coefficient, bases in _signed_terms(node, 1.0):
        key = frozenset(bases.items())
        total, first = collected.get(key, (0.0, bases))
        collected[key] = total + coefficient, first
    terms = [term for term in collected.values() if term[0]]
    return _sum(terms) if all(math.isfinite(coefficient) for coefficient, _ in terms) else node


def _sum(terms: list[Factors]) -> Expression:
    """Return the sum of the terms, a positive one first, so that a difference needs no minus sign."""
    ordered = sorted(terms, key=lambda term: term[0] < 0)
    return reduce(_plus, ordered[1:], product(*ordered[0])) if ordered else ZERO


def _plus(total: Expression, term: Factors) -> Expression:
    """Return the sum of `total` and a term."""
    coefficient, bases = term
    return Apply("add" if coefficient > 0 else "sub", (total, product(abs(coefficient), bases)))


def factors(expression: Expression) -> Factors:
    """Return coefficient and {base: exponent} whose product the expression is."""
    if isinstance(expression, Constant):
        return expression.value, {}
    opaque: Factors = (1.0, {expression: 1.0})
    if not isinstance(expression, Apply):
        return opaque
    exponent = _constant_exponent(expression)
    if exponent is not None:
        parts = [_to_power(factors(expression.arguments[0]), exponent)]
    elif expression.operator in PRODUCTS:
        exponents = PRODUCTS[expression.operator]
        parts = [_to_power(factors(item), n) for item, n in zip(expression.arguments, exponents, strict=True)]
    else:
        return opaque
    return _merged(parts, -1.0 if expression.operator == "neg" else 1.0) or opaque


def _merged(parts: list[Factors | None], coefficient: float) -> Factors | None:
    """Return the product of the parts, None where it is not finite."""
    merged: dict[Expression, float] = {}
    for part in parts:
        if part is None:
            return None
        coefficient *= part[0]
        for base, exponent in part[1].items():
            merged[base] = merged.get(base, 0.0) + exponent
    return (coefficient, {base: n for base, n in merged.items() if n}) if math.isfinite(coefficient) else None


def _to_power(factors_: Factors, exponent: float) -> Factors | None:
    """Return the factors to a constant power, None where the coefficient has no such power."""
    coefficient, bases = factors_
    if exponent == 1:
        return factors_
    if coefficient == 0 or not math.isfinite(exponent):
        return None
    if exponent == round(exponent):
        return _power_or_none(coefficient, exponent), {base: n * exponent for base, n in bases.items()}
    if coefficient < 0:
        # A root of a negative number times something: only the size of the coefficient can leave the root.
        inner = product(-1.0, bases)
        return _power_or_none(-coefficient, exponent), {inner: exponent}
    return _power_or_none(coefficient, exponent), _root_of(bases, exponent)


def _power_or_none(coefficient: float, exponent: float) -> float:
    """Return coefficient**exponent, nan where it overflows or vanishes."""
    try:
        return math.pow(coefficient, exponent) or math.nan
    except OverflowError:
        return math.nan


def _root_of(bases: dict[Expression, float], exponent: float) -> dict[Expression, float]:
    """Return a product to a power that is no whole number: defined where the product is not negative."""
    if len(bases) != 1:
        return {product(1.0, bases): exponent} if bases else {}
    ((base, inner),) = bases.items()
    if inner % 2 == 0:
        # The square root of x^2 is |x|.
        base = Apply("abs", (base,))
    return {base: inner * exponent}


def product(coefficient: float, bases: dict[Expression, float]) -> Expression:
    """Return the expression of a coefficient and {base: exponent}, powers of one exponent joined."""
    above: list[Expression] = []
    below: list[Expression] = []
    for size in dict.fromkeys(abs(exponent) for exponent in bases.values()):
        upper = [base for base, exponent in bases.items() if exponent == size]
        lower = [base for base, exponent in bases.items() if exponent == -size]
        if size == 1:
            above, below = above + upper, below + lower
        elif upper:
            above.append(_power(_quotient(1.0, upper, lower), size))
        else:
            below.append(_power(_quotient(1.0, lower, []), size))
    return _quotient(coefficient, above, below)


def _power(base: Expression, exponent: float) -> Expression:
    if exponent in BY_EXPONENT:
        return Apply(BY_EXPONENT[exponent], (base,))
    return Apply("pow", (base, Constant(exponent)))


def _quotient(coefficient: float, above: list[Expression], below: list[Expression]) -> Expression:
    if coefficient == 0 or not (above or below):
        return Constant(coefficient)
    coefficient, above = _absorbed(coefficient, above)
    negative = coefficient == -1.0
    leading = [] if abs(coefficient) == 1.0 else [Constant(coefficient)]
    numerator = leading + above
    whole: Expression
    if below and numerator:
        whole = Apply("div", (_chain(numerator), _chain(below)))
    else:
        whole = _chain(numerator) if numerator else Apply("inv", (_chain(below),))
    return Apply("neg", (whole,)) if negative else whole


def _absorbed(coefficient: float, above: list[Expression]) -> tuple[float, list[Expression]]:
    """Return coefficient and factors, the coefficient moved into a sum whose every term has one already."""
    if abs(coefficient) == 1.0:
        return coefficient, above
    for place, item in enumerate(above):
        if isinstance(item, Apply) and item.operator in SUMS:
            terms = list(_signed_terms(item, 1.0))
            scaled = [(coefficient * number, bases) for number, bases in terms]
            numbered = all(abs(number) != 1.0 for number, _ in terms)
            if numbered and all(number and math.isfinite(number) for number, _ in scaled):
                return 1.0, [*above[:place], _sum(scaled), *above[place + 1 :]]
    return coefficient, above


def _chain(items: list[Expression]) -> Expression:
    return reduce(lambda left, right: Apply("mul", (left, right)), items)


# 17 significant digits identify every float64.
MAX_DIGITS = 17


# By how much rounding may make all times longer or shorter, as a multiple of the limit of the error.
_MOST_SHIFT = 10.0


class RoundedExpression(NamedTuple):
    """An expression with rounded constants, and its mean absolute percentage errors before and after."""

    expression: Expression
    exact_error_percent: float
    rounded_error_percent: float


def round_constants(
    expression: Expression,
    columns: Mapping[str, NDArray[np.float64]],
    target: ArrayLike,
    limit_points: float = 0.1,
    sums: RowSums | None = None,
) -> RoundedExpression:
    """Return the expression with constants of the fewest significant digits.

    First one number of digits for all constants, the smallest that keeps the limit; then fewer for each in
    turn.

    Parameters
    ----------
    expression : Expression
        Any expression.
    columns : mapping of str to ndarray, shape (n_rows,)
        Values per variable.
    target : array_like, shape (n_runs,)
        Measured values, above zero.
    limit_points : float
        By how many percentage points the mean absolute percentage error may rise in all. It alone would
        favour small constants: on average, times may become longer or shorter by ten times as much at most.
    sums : RowSums, optional
        Which rows, such as layers, add up to each run; by default each row is a run.

    Returns
    -------
    RoundedExpression
        The expression with its errors.

    Examples
    --------
    >>> from trainlaw.formulas.algebra.text import parse_text, to_text
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> rounded = round_constants(parse_text("2.000012345 * x"), {"x": x}, 2 * x)
    >>> to_text(rounded.expression)
    '2 * x'
    """
    measured = np.asarray(target, dtype=np.float64)
    exact, length = constants(expression), max((len(column) for column in columns.values()), default=1)

    def predictions(values: tuple[float, ...]) -> NDArray[np.float64]:
        found, valid = evaluate(with_constants(expression, values), columns)
        predicted = np.where(valid, found, np.inf)
        return predicted if sums is None else sums.apply(np.broadcast_to(predicted, length))

    def error(predicted: NDArray[np.float64]) -> float:
        return float(np.mean(np.abs(predicted / measured - 1.0)) * 100.0)

    def fits(values: tuple[float, ...]) -> bool:
        predicted = predictions(values)
        with np.errstate(all="ignore"):
            shift = abs(float(np.mean(np.log(predicted / before))))
        # Predictions that are not positive, or not numbers, have no shift: the error alone decides.
        return error(predicted) <= limit and not shift > _MOST_SHIFT * limit_points / 100.0

    before = predictions(exact)
    limit = error(before) + limit_points
    # Rounding to 17 digits changes nothing, so that the search always ends with a result.
    common = next(
        (digits for digits in range(1, MAX_DIGITS) if fits(tuple(rounded(value, digits) for value in exact))),
        MAX_DIGITS,
    )
    values = tuple(rounded(value, common) for value in exact)
    for index, value in enumerate(exact):
        for digits in range(1, common):
            trial = (*values[:index], rounded(value, digits), *values[index + 1 :])
            if fits(trial):
                values = trial
                break
    return RoundedExpression(with_constants(expression, values), error(before), error(predictions(values)))


def rounded(value: float, digits: int) -> float:
    """Return `value` rounded to `digits` significant decimal digits.

    >>> rounded(123456.0, 2)
    120000.0
    """
    return float(f"{value:.{digits - 1}e}")
