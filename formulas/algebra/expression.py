"""Expressions: trees of three kinds of immutable nodes, and the fold that all functions of them use."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import TypeVar

from trainlaw.formulas.algebra.operators import OPERATORS
from trainlaw.formulas.errors import InputError

# Formula files may come from anyone. These limits are far above any readable formula, and keep every
# conversion (sympy and JSON recurse) within Python's stack and a second.
MAX_DEPTH = 200
MAX_NODES = 10_000
# What each kind of node adds to the complexity.
COSTS: Mapping[str, int] = MappingProxyType(
    {name: row.cost for name, row in OPERATORS.items()} | {"constant": 1, "variable": 1}
)

Answer = TypeVar("Answer")


class _Node:
    """A node shows itself as the text of its tree."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the tree as text, such as `2 * x`."""
        # The text is made from trees: the one import upwards, an exception in .importlinter.
        from trainlaw.formulas.algebra.text import to_text  # noqa: PLC0415

        return to_text(self)  # type: ignore[arg-type]  # each subclass is a kind of expression


@dataclass(frozen=True, slots=True, repr=False)
class Constant(_Node):
    """A number.

    Parameters
    ----------
    value : float
        The number.
    """

    value: float


@dataclass(frozen=True, slots=True, repr=False)
class Variable(_Node):
    """A column of numbers.

    Parameters
    ----------
    name : str
        Name of a feature or of a grouped constant.
    """

    name: str


@dataclass(frozen=True, slots=True, repr=False)
class Apply(_Node):
    """An operator applied to as many arguments as its arity.

    Parameters
    ----------
    operator : str
        Name in the operator table.
    arguments : tuple of Expression
        One expression per argument.
    """

    operator: str
    arguments: tuple["Expression", ...]
    # Stored, since trees are often dictionary keys, and computing the hash visits the whole tree.
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the hash from those of the arguments."""
        object.__setattr__(self, "_hash", hash((self.operator, self.arguments)))

    def __hash__(self) -> int:
        """Return the stored hash."""
        return self._hash

    def __reduce__(self) -> tuple[type["Apply"], tuple[str, tuple["Expression", ...]]]:
        """Rebuild when unpickled, since hashes of strings differ between processes."""
        return Apply, (self.operator, self.arguments)


Expression = Constant | Variable | Apply


def fold(
    expression: Expression,
    constant: Callable[[Constant], Answer],
    variable: Callable[[Variable], Answer],
    apply: Callable[[Apply, tuple[Answer, ...]], Answer],
) -> Answer:
    """Return the answer for the root, made from the leaves upwards, left before right; no recursion.

    `apply` gets a node and the answers of its arguments.

    >>> square = Apply("square", (Variable("x"),))
    >>> fold(square, lambda node: 1, lambda node: 1, lambda node, sizes: 1 + sum(sizes))
    2
    """
    answers: list[Answer] = []
    for node in reversed(nodes(expression)):
        if isinstance(node, Apply):
            count = len(node.arguments)
            arguments = tuple(answers[-count:])
            del answers[-count:]
            answers.append(apply(node, arguments))
        else:
            answers.append(constant(node) if isinstance(node, Constant) else variable(node))
    return answers[0]


def _same(node: Expression) -> Expression:
    return node


def _applied(node: Apply, arguments: tuple[Expression, ...]) -> Expression:
    return Apply(node.operator, arguments)


def rebuilt(
    expression: Expression,
    *,
    constant: Callable[[Constant], Expression] = _same,
    variable: Callable[[Variable], Expression] = _same,
    apply: Callable[[Apply, tuple[Expression, ...]], Expression] = _applied,
) -> Expression:
    """Return the expression with its nodes replaced from the leaves upwards; by default they stay."""
    return fold(expression, constant, variable, apply)


def nodes(expression: Expression) -> list[Expression]:
    """Return all nodes, root first, each before its arguments, and the last argument before the first."""
    pending, found = [expression], []
    while pending:
        node = pending.pop()
        found.append(node)
        if isinstance(node, Apply):
            pending.extend(node.arguments)
    return found


# Features are made of features: their definitions are asked for their names over and over.
@lru_cache(maxsize=4096)
def variables(expression: Expression) -> tuple[str, ...]:
    """Return the names of the variables, each once, sorted.

    Parameters
    ----------
    expression : Expression
        Any expression.

    Returns
    -------
    tuple of str
        Names of features and grouped constants.
    """
    return tuple(sorted({node.name for node in nodes(expression) if isinstance(node, Variable)}))


def constants(expression: Expression) -> tuple[float, ...]:
    """Return the values of the constants in prefix order, which is from left to right in text.

    Parameters
    ----------
    expression : Expression
        Any expression.

    Returns
    -------
    tuple of float
        One value per occurrence.
    """
    return tuple(node.value for node in reversed(nodes(expression)) if isinstance(node, Constant))


def with_constants(expression: Expression, values: Sequence[float]) -> Expression:
    """Return the expression with its constants, from left to right, replaced by `values`.

    Raises InputError when there are more or fewer values than constants.
    """
    expected = len(constants(expression))
    if len(values) != expected:
        raise InputError(f"expected {expected} constants for this expression, got {len(values)}")
    following = iter(values)
    return rebuilt(expression, constant=lambda node: Constant(float(next(following))))


def substitute(expression: Expression, mapping: Mapping[str, Expression]) -> Expression:
    """Return the expression with variables replaced by expressions.

    Parameters
    ----------
    expression : Expression
        Any expression.
    mapping : mapping of str to Expression
        Replacement per variable name; other variables stay.

    Returns
    -------
    Expression
        The new expression.
    """
    return rebuilt(expression, variable=lambda node: mapping.get(node.name, node))


def count_nodes(expression: Expression) -> int:
    """Return the number of nodes."""
    return len(nodes(expression))


def depth(expression: Expression) -> int:
    """Return the number of nodes on the longest path from the root to a leaf."""
    return fold(expression, lambda node: 1, lambda node: 1, lambda node, depths: 1 + max(depths))


def complexity(expression: Expression) -> int:
    """Return the sum of the operators' costs plus one per leaf.

    Parameters
    ----------
    expression : Expression
        Any expression.

    Returns
    -------
    int
        Complexity, at least 1.
    """
    kinds = {Constant: COSTS["constant"], Variable: COSTS["variable"]}
    return sum(
        COSTS[node.operator] if isinstance(node, Apply) else kinds[type(node)] for node in nodes(expression)
    )


def sides_of(term: Expression) -> list[Expression]:
    """Return the sides of a maximum, those of maxima inside it among them; any other term alone."""
    if isinstance(term, Apply) and term.operator == "max":
        return [side for argument in term.arguments for side in sides_of(argument)]
    return [term]


def additive_terms(expression: Expression) -> list[Expression]:
    """Return expressions whose sum is `expression`, none of them a sum, from left to right.

    >>> additive_terms(Apply("sub", (Variable("x"), Variable("y"))))
    [x, -y]
    """
    pending, terms = [(expression, False)], []
    while pending:
        node, negative = pending.pop()
        if isinstance(node, Apply) and node.operator in ("add", "sub"):
            left, right = node.arguments
            pending += [(right, negative != (node.operator == "sub")), (left, negative)]
        elif isinstance(node, Apply) and node.operator == "neg":
            pending.append((node.arguments[0], not negative))
        else:
            terms.append(_negated(node) if negative else node)
    return terms


def _negated(term: Expression) -> Expression:
    return Constant(-term.value) if isinstance(term, Constant) else Apply("neg", (term,))


def check_size(expression: Expression) -> Expression:
    """Return `expression` itself; raises InputError when it has too many nodes or is nested too deeply."""
    count = count_nodes(expression)
    if count > MAX_NODES:
        raise InputError(f"expected a formula of at most {MAX_NODES} nodes, got {count}: it is too long")
    # No path is longer than there are nodes, so that short formulas need no second pass.
    levels = depth(expression) if count > MAX_DEPTH else count
    if levels > MAX_DEPTH:
        raise InputError(f"expected at most {MAX_DEPTH} nested levels in a formula, got {levels}")
    return expression
