"""Operators and losses that a user defines by known operators, as text; no text is ever executed.

A definition is a prefix of tokens into which the programs of its arguments are put, so that the machine
computes it without being compiled again. Numbers of a definition are not fitted: they are columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from trainlaw.formulas import (
    Apply,
    Expression,
    InputError,
    UnitError,
    parse_text,
    substitute,
    variables,
)
from trainlaw.formulas.algebra.expression import COSTS, fold
from trainlaw.formulas.algebra.unit_inference import constant_units, infer_unit
from trainlaw.formulas.algebra.units import Unit

# The variables of a loss.
PREDICTION, TARGET = "prediction", "target"
# Codes of defined operators, which only expand to those of the machine.
FIRST_DEFINED = 128
MOST_DEFINED = 64


@dataclass(frozen=True)
class Definition:
    """An operator by others: `swish(x) = x / (1 + exp(-x))`.

    parameters : in the order of their last occurrence, which is that of the arguments in a tree.
    """

    name: str
    parameters: tuple[str, ...]
    body: Expression

    @property
    def cost(self) -> int:
        """Complexity without that of the arguments."""
        own = fold(
            self.body, lambda node: COSTS["constant"], lambda node: 0,
            lambda node, costs: COSTS[node.operator] + sum(costs),
        )  # fmt: skip
        return max(own, 1)

    def applied(self, arguments: Sequence[Expression]) -> Expression:
        """Return the definition with its arguments put in."""
        return substitute(self.body, dict(zip(self.parameters, arguments, strict=True)))

    def unit(self, units: Sequence[Unit]) -> Unit | None:
        """Return the unit for arguments of these units, its numbers without unit; None if there is none."""
        known = dict(zip(self.parameters, units, strict=True))
        try:
            found = infer_unit(self.body, known)
            numbers = constant_units(self.body, known, found) if found else ()
        except UnitError:
            return None
        return found if all(unit is None or unit.is_dimensionless for unit in numbers) else None


@lru_cache(maxsize=256)
def definition(text: str) -> Definition:
    """Return the definition in `name(x, y) = expression`; raises InputError for any other text.

    >>> definition("swish(x) = x / (1 + exp(-x))").body
    x / (1 + exp(-x))
    """
    head, equals, right = text.partition("=")
    name, bracket, inside = head.strip().partition("(")
    parameters = [part.strip() for part in inside.removesuffix(")").split(",")]
    named = all(one.isidentifier() for one in (name, *parameters))
    if not (equals and bracket and inside.endswith(")") and named):
        raise InputError(f"expected an operator such as 'swish(x) = x / (1 + exp(-x))', got {text!r}")
    body = parse_text(right)
    if not isinstance(body, Apply) or {*parameters} != {*variables(body)} or name in COSTS:
        raise InputError(f"expected a new name and an expression in {', '.join(parameters)}, got {text!r}")
    if len(parameters) > 2:
        raise InputError(f"expected one or two arguments, got {text!r}")
    found = fold(body, lambda node: [], lambda node: [node.name], lambda node, parts: [*chain(*parts)])
    last = sorted(parameters, key=lambda one: -found[::-1].index(one))
    return Definition(name, tuple(last), body)


@lru_cache(maxsize=16)
def loss_expression(text: str) -> Expression | None:
    """Return the loss in a text, an expression of `prediction` and `target`; None if it is none.

    >>> loss_expression("abs(prediction - target) / target")
    abs(prediction - target) / target
    """
    if PREDICTION not in text:
        return None
    found = parse_text(text)
    if not isinstance(found, Apply) or {*variables(found)} != {PREDICTION, TARGET}:
        raise InputError(f"expected a loss of prediction and target, got {text!r}")
    return found


def _numbers(body: Expression) -> list[float]:
    return fold(body, lambda node: [node.value], lambda node: [], lambda node, parts: list(chain(*parts)))


def numbers_of(bodies: Sequence[Expression]) -> tuple[float, ...]:
    """Return the different numbers in definitions, sorted."""
    return tuple(sorted({number for body in bodies for number in _numbers(body)}))


def pattern(body: Expression, tokens: Mapping[str | float, int], parameters: Sequence[str]) -> list[int]:
    """Return the tokens of a body in prefix order, an argument as -1 less its place among the parameters.

    tokens : of operators and other variables, by name, and of numbers.
    """
    return fold(
        body,
        lambda node: [tokens[node.value]],
        lambda node: [-1 - parameters.index(node.name) if node.name in parameters else tokens[node.name]],
        lambda node, parts: [tokens[node.operator], *chain(*parts)],
    )


def put_in(body: Sequence[int], parts: Sequence[Sequence[int]], repeated: int) -> list[int]:
    """Return a pattern with the programs of its arguments: each at its last place, repeated at the others.

    repeated : the token that repeats a node at no distance; the machine counts the distance in columns.

    >>> put_in([6, -1, -1], [[4, 1, 257]], 1)
    [6, -255, 4, 1, 257]
    """
    places = {item: place for place, item in enumerate(body) if item < 0}
    found: list[int] = []
    begins: dict[int, int] = {}
    waiting = []
    for place, item in enumerate(body):
        if places.get(item) == place:
            begins[item] = len(found)
            found += parts[-1 - item]
        else:
            if item < 0:
                waiting.append((len(found), item))
            found.append(item)
    for place, item in waiting:
        found[place] = repeated - 256 * (begins[item] - place)
    return found
