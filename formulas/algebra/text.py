"""Write expressions as text, and read such text exactly."""

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from trainlaw.formulas.algebra.expression import (
    MAX_DEPTH,
    MAX_NODES,
    Apply,
    Constant,
    Expression,
    Variable,
    check_size,
    fold,
)
from trainlaw.formulas.algebra.operators import operator_named
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
    """A number, a name, a quoted name or the end; of a symbol the kind is the symbol."""

    kind: str
    text: str
    start: int


class _Parser:
    """Precedence climbing: Richards, Whitby-Strevens, "BCPL: the language and its compiler", 1980."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self.tokenize())
        self.place = self.level = 0
        # A node takes at most four tokens: a name, parentheses and a comma.
        if len(self.tokens) > 4 * MAX_NODES:
            raise InputError(f"expected a formula of at most {MAX_NODES} nodes, got more")

    def fault(self, expected: str, token: _Token) -> InputError:
        """Return the error that `token` stands where something else was expected."""
        found = "the end" if token.kind == "end" else shown(token.text)
        return InputError(
            f"expected {expected}, got {found} at character {token.start + 1} of {shown(self.text)}"
        )

    def tokenize(self) -> Iterator[_Token]:
        """Yield the tokens, and some of kind "end" so that there always is a next one."""
        position, length = 0, len(self.text.rstrip())
        while position < length:
            match = _TOKEN.match(self.text, position)
            if match is None or match.lastgroup is None:
                raise self.fault("a formula", _Token("other", self.text[position:].split()[0], position))
            kind, found = match.lastgroup, match[match.lastgroup]
            yield _Token(found if kind == "symbol" else kind, found, match.start(kind))
            position = match.end()
        yield from [_Token("end", "", length)] * 3

    def parse(self) -> Expression:
        """Return the whole expression."""
        whole = self.read(1)
        if self.tokens[self.place].kind != "end":
            raise self.fault("an operator or the end", self.tokens[self.place])
        return whole

    def read(self, strength: int) -> Expression:
        """Read a value, and all after it that operators bind at least as strongly as `strength`."""
        self.level += 1
        # An operand in parentheses takes two levels, as a call does.
        if self.level > 2 * MAX_DEPTH:
            raise InputError(f"expected at most {MAX_DEPTH} nested levels in a formula, got more")
        token, following, after = self.tokens[self.place : self.place + 3]
        is_number = following.kind == "number" and INFIX.get(after.kind) != "pow"
        left: Expression
        if token.kind == "-" and not is_number:
            self.place += 1
            left = Apply("neg", (self.read(STRENGTHS["neg"]),))
        elif token.kind == "(":
            self.place += 1
            left = self.read(1)
            self.close(token)
        else:
            left = self.call() if (token.kind, following.kind) == ("name", "(") else self.leaf()
        while (name := self.infix()) and STRENGTHS[name] >= strength:
            self.place += 1
            # A power groups to the right: 2^3^4 is 2^(3^4).
            left = Apply(name, (left, self.read(STRENGTHS[name] + (name != "pow"))))
        self.level -= 1
        return left

    def leaf(self) -> Constant | Variable:
        """Read a name, or a number with its minus sign."""
        sign = -1.0 if self.tokens[self.place].kind == "-" else 1.0
        token = self.tokens[self.place + (sign < 0)]
        self.place += 1 + (sign < 0)
        if token.kind == "number" and math.isfinite(float(token.text)):
            return Constant(sign * float(token.text))
        if token.kind in ("name", "quoted"):
            return Variable(token.text if token.kind == "name" else token.text.replace("``", "`"))
        expected = "a finite number" if token.kind == "number" else "a number, a name or '('"
        raise self.fault(expected, token)

    def infix(self) -> str:
        """Return the operator that stands here between two values; "" where no further value follows."""
        token = self.tokens[self.place]
        if token.kind not in (*INFIX, ",", ")", "end"):
            raise self.fault("an operator or ')'", token)
        return INFIX.get(token.kind, "")

    def call(self) -> Apply:
        """Read an operator with its arguments in parentheses."""
        name = self.tokens[self.place]
        self.level += 1
        try:
            operator = operator_named(name.text)
        except UnknownNameError as error:
            place = f"at character {name.start + 1} of {shown(self.text)}"
            raise UnknownNameError(f"{error} ({place})") from None
        self.place += 2
        arguments = [self.read(1)]
        while self.tokens[self.place].kind == ",":
            self.place += 1
            arguments.append(self.read(1))
        end, arity, count = self.tokens[self.place], operator.arity, len(arguments)
        self.close(name)
        if count != arity:
            raise self.fault(f"{arity} argument{'s' * (arity > 1)} of {operator.name}, not {count}", end)
        self.level -= 1
        return Apply(operator.name, tuple(arguments))

    def close(self, opened: _Token) -> None:
        """Read the parenthesis that closes what began with a token."""
        token = self.tokens[self.place]
        if token.kind == "end":
            raise self.fault(f"')' for the '(' at character {opened.start + 1}", token)
        if token.kind != ")":
            raise self.fault("an operator or the end", token)
        self.place += 1
