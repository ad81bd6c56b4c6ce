"""Write expressions as text, and read such text exactly."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from trainlaw.formulas.algebra.expression import (
    MAX_NODES,
    Apply,
    Constant,
    Expression,
    Variable,
    check_size,
    fold,
)
from trainlaw.formulas.algebra.operators import OPERATORS, operator_named
from trainlaw.formulas.errors import InputError, UnknownNameError, shown

# 10,000 nodes with long names; longer text is refused before it is split into tokens.
MAX_LENGTH = 1_000_000
SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "^", "neg": "-"}
# Binding strength: sums, products, the minus sign, powers, then all that needs no parentheses.
STRENGTHS = {"add": 1, "sub": 1, "mul": 2, "div": 2, "neg": 3, "pow": 4}
ATOM = 5
#: Operators by the symbol between their arguments.
INFIX = {symbol: name for name, symbol in SYMBOLS.items() if name != "neg"} | {"**": "pow"}
# The index in brackets is that of a grouped constant: C[harness].
_NAME = r"[^\W\d]\w*(?:\[\w+\])?"
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>{_NAME})"
    r"|`(?P<quoted>(?:[^`]|``)+)`|(?P<symbol>\*\*|[-+*/^(),]))"
)


class _Written(NamedTuple):
    """A piece of text and how strongly it binds."""

    text: str
    strength: int

    def within(self, strength: int) -> str:
        """Return the text, in parentheses where it binds less than `strength`."""
        return self.text if self.strength >= strength else f"({self.text})"


def to_text(expression: Expression, digits: int | None = None) -> str:
    """Return the expression as text that `parse_text` reads.

    Parameters
    ----------
    expression : Expression
        Any expression.
    digits : int, optional
        Significant digits of the constants, for reading; by default the text is exact and reads back as an
        equal tree.

    Returns
    -------
    str
        One line.

    Examples
    --------
    >>> to_text(Apply("add", (Constant(0.5), Apply("mul", (Constant(2.0), Variable("x"))))))
    '0.5 + 2 * x'
    """
    return fold(
        expression,
        lambda node: _write_number(node.value, digits),
        lambda node: _Written(quote_name(node.name), ATOM),
        _write_operator,
    ).text


def number_text(value: float, digits: int | None = None) -> str:
    """Return a number as text: the shortest that reads back exactly, or `digits` significant digits.

    >>> number_text(6.0), number_text(1600.4, digits=3), number_text(1.6e9, digits=3)
    ('6', '1600', '1.6e+09')
    """
    text = repr(float(value)) if digits is None else f"{value:.{digits}g}"
    if digits is not None and math.isfinite(float(text)):
        # 1600 rather than 1.6e+03, as long as it is no longer than that.
        text = min(repr(float(text)).removesuffix(".0"), text, key=len)
    # The largest numbers would be rounded up to infinity.
    if not math.isfinite(float(text)):
        text = repr(float(value))
    return text[:-2] if text.endswith(".0") else text


def quote_name(name: str) -> str:
    """Return the name of a variable as written in text, between backticks unless it is a plain name."""
    return name if re.fullmatch(_NAME, name) else "`" + name.replace("`", "``") + "`"


def _write_number(value: float, digits: int | None) -> _Written:
    text = number_text(value, digits)
    return _Written(text, STRENGTHS["neg"] if text.startswith("-") else ATOM)


def _write_operator(node: Apply, arguments: tuple[_Written, ...]) -> _Written:
    name = node.operator
    if name not in STRENGTHS:
        return _Written(f"{name}({', '.join(argument.text for argument in arguments)})", ATOM)
    strength = STRENGTHS[name]
    if name == "neg":
        # A minus sign before a bare number would read back as a negative constant.
        bare = isinstance(node.arguments[0], Constant)
        return _Written("-" + (f"({arguments[0].text})" if bare else arguments[0].within(strength)), strength)
    left, right = arguments
    if name == "pow":
        return _Written(f"{left.within(ATOM)}^{right.within(STRENGTHS['neg'])}", strength)
    return _Written(f"{left.within(strength)} {SYMBOLS[name]} {right.within(strength + 1)}", strength)


def parse_text(text: str) -> Expression:
    """Return the expression that a text describes; no text is ever executed.

    Infix operators are ``+ - * / ^`` (or ``**``), all others are functions. Names are letters, digits and
    underscores, with an optional index in brackets: C[harness]; any other name is quoted by backticks.

    Parameters
    ----------
    text : str
        One line.

    Returns
    -------
    Expression
        The expression.

    Raises
    ------
    InputError
        If the text cannot be read (the message says where), or has too many nodes or levels.
    UnknownNameError
        If a function is no operator.

    Examples
    --------
    >>> parse_text("2 * x")
    2 * x
    """
    if len(text) > MAX_LENGTH:
        raise InputError(f"expected a formula of at most {MAX_LENGTH} characters, got {len(text)}")
    return check_size(_Parser(text).parse())


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


@dataclass(slots=True)
class _Pending:
    """An operator, parenthesis or call that waits for its right-hand side; `count` arguments are complete."""

    kind: str
    name: str
    strength: int
    count: int = 0
    start: int = 0


class _Parser:
    """Operator-precedence parser with an explicit stack (Dijkstra's shunting yard): no recursion."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self.tokenize())
        self.values: list[Expression] = []
        self.pending: list[_Pending] = []

    def fault(self, expected: str, token: _Token) -> InputError:
        """Return the error that `token` stands where something else was expected."""
        found = "the end" if token.kind == "end" else shown(token.text)
        return InputError(
            f"expected {expected}, got {found} at character {token.start + 1} of {shown(self.text)}"
        )

    def tokenize(self) -> Iterator[_Token]:
        """Yield the tokens, then one of kind "end"."""
        position, length = 0, len(self.text.rstrip())
        while position < length:
            match = _TOKEN.match(self.text, position)
            if match is None or match.lastgroup is None:
                raise self.fault("a formula", _Token("other", self.text[position:].split()[0], position))
            yield _Token(match.lastgroup, match.group(match.lastgroup), match.start(match.lastgroup))
            position = match.end()
        yield _Token("end", "", length)

    def parse(self) -> Expression:
        """Return the whole expression."""
        position, expects_value = 0, True
        while position < len(self.tokens):
            read = self.read_value if expects_value else self.read_after_value
            position, expects_value = read(position)
            if len(self.values) + len(self.pending) > 2 * MAX_NODES:
                raise InputError(f"expected a formula of at most {MAX_NODES} nodes, got more")
        return self.values[0]

    def read_value(self, position: int) -> tuple[int, bool]:
        """Read where a value must begin; return the next position and whether a value must begin there."""
        token = self.tokens[position]
        following = self.tokens[position + 1] if position + 1 < len(self.tokens) else token
        if token.text == "-" and token.kind == "symbol":
            return self.read_minus(position, following)
        if token.text == "(" and token.kind == "symbol":
            self.pending.append(_Pending("group", "(", 0, start=token.start))
            return position + 1, True
        if token.kind == "number":
            self.values.append(self.number(token))
        elif token.kind == "name" and following.text == "(" and following.kind == "symbol":
            self.pending.append(_Pending("call", self.operator(token), 0, start=token.start))
            return position + 2, True
        elif token.kind in ("name", "quoted"):
            name = token.text.replace("``", "`") if token.kind == "quoted" else token.text
            self.values.append(Variable(name))
        else:
            raise self.fault("a number, a name or '('", token)
        return position + 1, False

    def operator(self, token: _Token) -> str:
        """Return the name of the operator that is called."""
        try:
            return operator_named(token.text).name
        except UnknownNameError as error:
            place = f"at character {token.start + 1} of {shown(self.text)}"
            raise UnknownNameError(f"{error} ({place})") from None

    def read_minus(self, position: int, following: _Token) -> tuple[int, bool]:
        """Read a minus sign: part of a number unless that number is the base of a power."""
        after = self.tokens[min(position + 2, len(self.tokens) - 1)]
        if following.kind == "number" and INFIX.get(after.text) != "pow":
            self.values.append(Constant(-self.number(following).value))
            return position + 2, False
        self.pending.append(_Pending("prefix", "neg", STRENGTHS["neg"]))
        return position + 1, True

    def read_after_value(self, position: int) -> tuple[int, bool]:
        """Read the token after a value: an infix operator, a comma, a ')' or the end."""
        token = self.tokens[position]
        if token.kind == "symbol" and token.text in INFIX:
            name = INFIX[token.text]
            # A power groups to the right: 2^3^4 is 2^(3^4).
            self.reduce(STRENGTHS[name] + (name == "pow"))
            self.pending.append(_Pending("infix", name, STRENGTHS[name]))
            return position + 1, True
        if token.text not in (",", ")") and token.kind != "end":
            raise self.fault("an operator or ')'", token)
        self.reduce(1)
        return self.close(token, position)

    def close(self, token: _Token, position: int) -> tuple[int, bool]:
        """Read a comma, a ')' or the end after all operators before it were applied."""
        opened = self.pending[-1] if self.pending else None
        if token.kind == "end":
            if opened:
                raise self.fault(f"')' for the '(' at character {opened.start + 1}", token)
            return position + 1, False
        if opened is None or (token.text == "," and opened.kind != "call"):
            raise self.fault("an operator or the end", token)
        opened.count += 1
        if token.text == ",":
            return position + 1, True
        self.pending.pop()
        if opened.kind == "call":
            self.apply_call(opened, token)
        return position + 1, False

    def apply_call(self, call: _Pending, token: _Token) -> None:
        """Replace the arguments of a call by its node."""
        arity = OPERATORS[call.name].arity
        if call.count != arity:
            raise self.fault(f"{arity} argument{'s' * (arity > 1)} of {call.name}, not {call.count}", token)
        self.apply(call.name, arity)

    def apply(self, name: str, arity: int) -> None:
        """Replace the last `arity` values by the node of the operator `name`."""
        arguments = tuple(self.values[-arity:])
        del self.values[-arity:]
        self.values.append(Apply(name, arguments))

    def reduce(self, strength: int) -> None:
        """Apply the waiting operators that bind at least as strongly as `strength`."""
        while self.pending and self.pending[-1].strength >= strength:
            name = self.pending.pop().name
            self.apply(name, OPERATORS[name].arity)

    def number(self, token: _Token) -> Constant:
        """Return the constant that a number writes."""
        value = float(token.text)
        if not math.isfinite(value):
            raise self.fault("a finite number", token)
        return Constant(value)
