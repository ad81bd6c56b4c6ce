"""The base of all printers: a table of forms per language, and how an expression is written with it."""

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from trainlaw.formulas.algebra.expression import (
    Apply,
    Constant,
    Expression,
    fold,
    rebuilt,
    substitute,
    variables,
)
from trainlaw.formulas.algebra.operators import OPERATORS
from trainlaw.formulas.algebra.text import ATOM, STRENGTHS, SYMBOLS, parse_text
from trainlaw.formulas.errors import check_name

# A number with a sign binds weakest of all: no language reads 2 - -3 or -2^2 alike.
SIGNED = 0
INFIX = MappingProxyType(
    {name: symbol if name == "neg" else f" {symbol} " for name, symbol in SYMBOLS.items() if name != "pow"}
)


class Piece(NamedTuple):
    """A piece of text, how strongly it binds, and whether its value may be infinite."""

    text: str
    strength: int = ATOM
    infinite: bool = False


def plain_number(write: Callable[[float], str]) -> Callable[[float], Piece]:
    """Return the writer of constants whose text is `write(value)`."""
    return lambda value: Piece(write(value), SIGNED if math.copysign(1.0, value) < 0 else ATOM)


def calls(*names: str, prefix: str = "") -> dict[str, str]:
    """Return the forms of functions of one argument that a language has under our names, after a prefix.

    >>> calls("sin", prefix="math.")
    {'sin': 'math.sin({a})'}
    """
    return {name: f"{prefix}{name}({{a}})" for name in names}


@dataclass(frozen=True, slots=True)
class Language:
    """How one language writes formulas.

    forms : per operator a text with {a} and {b}; {a:atom} puts all that is not atomic in parentheses.
    What has no form is infix. form_strengths : of forms that are not atomic. infix : the symbols of infix
    operators. constant_power : the form of a power to a given constant, where that differs from the form of
    "pow". finite : a form that gives the language's invalid value where {a} is not finite; empty where the
    language has no infinity. raising : operators that raise an error rather than give an infinite value.
    helpers : source text of functions that the forms call, by their name. number : how a constant is written.
    text_literal : how a label of a group is written. reserved : words that no variable may be called.
    """

    forms: Mapping[str, str]
    number: Callable[[float], Piece]
    form_strengths: Mapping[str, int] = field(default_factory=dict)
    infix: Mapping[str, str] = field(default_factory=lambda: INFIX)
    parentheses: tuple[str, str] = ("(", ")")
    constant_power: Callable[[float], str] | None = None
    finite: str = ""
    raising: Collection[str] = ()
    helpers: Mapping[str, str] = field(default_factory=dict)
    text_literal: Callable[[str], str] = repr
    reserved: Collection[str] = ()

    def write(self, expression: Expression, names: Mapping[str, str]) -> str:
        """Return the expression in the language; `names` gives the text of each variable.

        Raises UnknownNameError for a variable without a name.
        """
        for name in variables(expression):
            check_name("variable with a place", name, names)
        return fold(
            expression,
            lambda node: self.number(node.value),
            lambda node: Piece(names[node.name]),
            self._apply,
        ).text

    def form(self, node: Apply) -> str:
        """Return the form of a node; empty for infix operators and the minus sign."""
        exponent = node.arguments[-1]
        if node.operator == "pow" and isinstance(exponent, Constant) and self.constant_power:
            return self.constant_power(exponent.value)
        return self.forms.get(node.operator, "")

    def repeats(self, node: Apply, place: int) -> int:
        """Return how often the form of a node writes its argument at `place`."""
        return len(re.findall(r"\{" + "ab"[place] + r"[:}]", self.form(node))) or 1

    def _apply(self, node: Apply, pieces: tuple[Piece, ...]) -> Piece:
        """Return a node over written arguments, guarded where it would hide that one is not finite."""
        guarded = [self._guarded(node.operator, place, piece) for place, piece in enumerate(pieces)]
        overflows = may_overflow(node.operator) and node.operator not in self.raising
        infinite = overflows or any(piece.infinite for piece in guarded)
        form, strength = self.form(node), STRENGTHS.get(node.operator, ATOM)
        if form:
            places = dict(zip("ab", (_Place(piece, self.parentheses) for piece in guarded), strict=False))
            return Piece(form.format(**places), self.form_strengths.get(node.operator, ATOM), infinite)
        symbol = self.infix[node.operator]
        if node.operator == "neg":
            return Piece(symbol + self._within(guarded[0], ATOM), strength, infinite)
        left, right = self._within(guarded[0], strength), self._within(guarded[1], strength + 1)
        return Piece(f"{left}{symbol}{right}", strength, infinite)

    def _guarded(self, operator: str, place: int, piece: Piece) -> Piece:
        """Return an argument that is checked where the operator would hide that it is not finite."""
        if self.finite and piece.infinite and hides_infinity(operator)[place]:
            return Piece(self.finite.format(a=piece.text))
        return piece

    def _within(self, piece: Piece, strength: int) -> str:
        """Return the text of a piece, in parentheses where it binds less than `strength`."""
        return piece.text if piece.strength >= strength else piece.text.join(self.parentheses)

    def known(self, expression: Expression) -> Expression:
        """Return the expression with operators that the language has no form for replaced by definitions."""

        def defined(node: Apply, arguments: tuple[Expression, ...]) -> Expression:
            definition = OPERATORS[node.operator].definition
            if node.operator in self.forms or node.operator in self.infix or definition is None:
                return Apply(node.operator, arguments)
            return substitute(parse_text(definition), dict(zip("ab", arguments, strict=False)))

        return rebuilt(expression, apply=defined)

    def used_helpers(self, text: str) -> list[str]:
        """Return the source of the helpers that are called in `text`."""
        return [source for name, source in self.helpers.items() if re.search(rf"\b{name}\(", text)]


class _Place(NamedTuple):
    """An argument as a form sees it: {a} is its text, {a:atom} puts all that is not atomic in parentheses."""

    piece: Piece
    parentheses: tuple[str, str]

    def __format__(self, specification: str) -> str:
        bare = not specification or self.piece.strength >= ATOM
        return self.piece.text if bare else self.piece.text.join(self.parentheses)


# Finite numbers of every kind: large, small, negative, zero, beyond the domain of roots and logarithms.
PROBES = (-1.7e308, -2.0, -0.5, 0.0, 5e-324, 0.5, 1.0, 3.0, 1.7e308)
NOT_FINITE = (np.inf, -np.inf, np.nan)


@cache
def may_overflow(operator: str) -> bool:
    """Return whether finite arguments can give an infinite value, found by trying the table's function.

    >>> may_overflow("exp"), may_overflow("tanh")
    (True, False)
    """
    row = OPERATORS[operator]
    with np.errstate(all="ignore"):
        return any(
            np.isinf(row.function(*map(np.float64, point))) for point in product(PROBES, repeat=row.arity)
        )


@cache
def hides_infinity(operator: str) -> tuple[bool, ...]:
    """Return, per argument, whether one that is not finite can give a finite value, found by trying.

    >>> hides_infinity("div"), hides_infinity("add")
    ((False, True), (False, False))
    """
    row = OPERATORS[operator]
    choices = [
        [NOT_FINITE if place == odd else PROBES for place in range(row.arity)] for odd in range(row.arity)
    ]
    with np.errstate(all="ignore"):
        return tuple(
            any(np.isfinite(row.function(*map(np.float64, point))) for point in product(*choice))
            for choice in choices
        )
