"""Trees as programs of the machine, as expressions, and in their simplest form."""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
from numba import njit
from numpy.typing import NDArray
from trainlaw.evolve.arrays import NODE_LIMIT, VARIABLE, WEIGHTED, Programs
from trainlaw.evolve.grammar import Grammar, Leaf, Node
from trainlaw.evolve.machine_kernels import OPERATOR_CODES, is_binary
from trainlaw.evolve.variation import Individual
from trainlaw.formulas import OPERATORS, Apply, Constant, Expression, InputError, Variable

_ADD, _MUL = OPERATOR_CODES["add"], OPERATOR_CODES["mul"]
_UNORDERED = np.array([OPERATOR_CODES[name] for name in ("add", "mul", "max", "min")])
# Complexity of each code as the expression counts it; a weighted leaf is a constant times a variable.
_COSTS = np.array([1, 1, 2 + OPERATORS["mul"].cost] + [row.cost for row in OPERATORS.values()])
# The four nodes around a tree that has an offset and a slope: add, constant, mul, constant.
_AFFINE = [_ADD, 0, _MUL, 0]


def encode(trees: Sequence[Individual], affine: bool) -> Programs:
    """The programs of many trees; with `affine` each gets its offset and slope in front."""
    front = _AFFINE if affine else []
    tokens = [front + [node.token for node in tree] for tree in trees]
    held = [[node for node in tree if node.constant is not None] for tree in trees]
    constants = [
        (list(tree.affine) if affine else []) + [leaf.constant for leaf in own]
        for tree, own in zip(trees, held, strict=True)
    ]
    free = [(-np.inf, np.inf, False, 0.0)] * 2 if affine else []
    facts = np.array(
        [
            fact
            for own in held
            for fact in chain(free, ((leaf.lower, leaf.upper, leaf.scaling, leaf.pull) for leaf in own))
        ],
        dtype=np.float64,
    ).reshape(-1, 4)
    return Programs(
        np.fromiter(chain.from_iterable(tokens), np.int64),
        np.cumsum([0, *map(len, tokens)]),
        np.fromiter(chain.from_iterable(constants), np.float64),
        facts[:, 0].copy(),
        facts[:, 1].copy(),
        facts[:, 2] > 0.0,
        facts[:, 3].copy(),
        np.cumsum([0, *map(len, constants)]),
    )


def with_fitted(tree: Individual, constants: Sequence[float], affine: bool) -> Individual:
    """The tree with its constants, in prefix order (offset and slope first), replaced."""
    values: Iterator[float] = iter(constants)
    pair = (next(values), next(values)) if affine else (0.0, 1.0)
    fitted = Individual([node if node.constant is None else node.holding(next(values)) for node in tree])
    fitted.affine = pair
    return fitted


@njit(cache=True, nogil=True)
def _mix(key: np.uint64) -> np.uint64:
    """Scrambles 64 bits. Source: splitmix64, Steele, Lea and Flood 2014."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


@njit(cache=True, nogil=True)
def _structure_keys(tokens: np.ndarray, offsets: np.ndarray, unordered: np.ndarray) -> np.ndarray:
    keys = np.zeros(offsets.size - 1, np.uint64)
    stack = np.zeros(NODE_LIMIT, np.uint64)
    # What a sum (product, extremum) of the same kind adds of this subtree: so (a + b) + c = a + (b + c).
    spread = np.zeros(NODE_LIMIT, np.uint64)
    kind = np.zeros(NODE_LIMIT, np.int64)
    for program in range(keys.size):
        depth = 0
        for k in range(offsets[program + 1] - 1, offsets[program] - 1, -1):
            token = tokens[k]
            code = token & 255
            if code <= WEIGHTED:
                key = _mix(np.uint64(token + 1))
                gathered = _mix(key)
            elif not is_binary(code):
                depth -= 1
                key = _mix(stack[depth] + np.uint64(code * 7919))
                gathered = _mix(key)
            else:
                a, b = depth - 1, depth - 2
                depth -= 2
                if np.any(unordered == code):
                    gathered = spread[a] if kind[a] == code else _mix(stack[a])
                    gathered += spread[b] if kind[b] == code else _mix(stack[b])
                    key = _mix(gathered + np.uint64(code * 104729))
                else:
                    key = _mix(_mix(stack[a]) * np.uint64(3) + stack[b] + np.uint64(code * 104729))
                    gathered = _mix(key)
            stack[depth] = key
            spread[depth] = gathered
            kind[depth] = code
            depth += 1
        keys[program] = stack[0]
    return keys


def structure_keys(programs: Programs) -> NDArray[np.uint64]:
    """One hash per program of what it is apart from its constants; order in sums and products does not
    count.
    """
    return _structure_keys(programs.tokens, programs.offsets, _UNORDERED)


def complexities(programs: Programs) -> NDArray[np.int64]:
    """Complexity per program, as `trainlaw.formulas.complexity` counts the expression."""
    return np.add.reduceat(_COSTS[programs.tokens & 255], programs.offsets[:-1])


def prune(tree: Individual) -> Individual:
    """The tree without the terms whose fitted weight is zero; the same object where there are none."""
    if not any(node.constant == 0.0 and node.lower == 0.0 for node in tree if node.constant is not None):
        return tree
    nodes, _ = _prune_from(tree, 0)
    smaller = Individual(nodes)
    smaller.affine = tree.affine
    return smaller


def _prune_from(tree: Sequence[Node], begin: int) -> tuple[list[Node], int]:
    """Pruned nodes of the subtree at `begin`, and where the next one begins; a lone zero leaf means zero."""
    node = tree[begin]
    if node.arity == 0:
        return [node], begin + 1
    parts = []
    following = begin + 1
    for _ in range(node.arity):
        part, following = _prune_from(tree, following)
        parts.append(part)
    zero = [_is_zero(part) for part in parts]
    if node.name == "add" and any(zero):
        return parts[0] if zero[1] else parts[1], following
    if node.name == "mul" and any(zero):
        dead = parts[zero.index(True)]
        if dead[0].ret is node.ret:
            return dead, following
    if node.name == "div" and zero[0] and parts[0][0].ret is node.ret:
        return parts[0], following
    return [node, *chain.from_iterable(parts)], following


def _is_zero(part: Sequence[Node]) -> bool:
    return len(part) == 1 and isinstance(part[0], Leaf) and part[0].constant == 0.0 and part[0].lower == 0.0


def to_expression(tree: Individual) -> Expression:
    """The expression that the tree computes, offset and slope and weights written out."""
    stack: list[Expression] = []
    for node in reversed(tree):
        if node.arity:
            arguments = tuple(stack.pop() for _ in range(node.arity))
            stack.append(Apply(node.name, arguments))
        elif node.feature is None:
            stack.append(Constant(node.constant))
        elif node.constant is None or node.constant == 1.0:
            stack.append(Variable(node.feature))
        else:
            stack.append(Apply("mul", (Constant(node.constant), Variable(node.feature))))
    whole = stack[0]
    offset, slope = tree.affine
    if slope != 1.0:
        whole = Apply("mul", (Constant(slope), whole))
    return whole if offset == 0.0 else Apply("add", (Constant(offset), whole))


def from_expression(expression: Expression, grammar: Grammar) -> Individual:
    """The tree of an expression in this grammar, constants times features as weighted leaves where it has
    them.

    Raises InputError where the grammar has no such expression (unknown feature, operator or mixture of
    units).
    """
    nodes = _nodes_of(expression, grammar.target, grammar)
    if nodes is None:
        raise InputError(
            "expected a seed within the search's operators, features and units: add what it needs"
        )
    return Individual(nodes)


def _nodes_of(expression: Expression, ret: type, grammar: Grammar) -> list[Node] | None:
    if isinstance(expression, Constant):
        leaf = next((leaf for leaf in grammar.leaves(ret) if leaf.feature is None), None)
        return None if leaf is None else [leaf.holding(expression.value)]
    if isinstance(expression, Variable):
        leaf = _leaf_of(expression.name, ret, grammar)
        return None if leaf is None else [leaf if leaf.constant is None else leaf.holding(1.0)]
    weighted = _weighted_leaf(expression, ret, grammar)
    if weighted is not None:
        return [weighted]
    for operation in grammar.operations(ret):
        if operation.name == expression.operator:
            for arguments in (expression.arguments, expression.arguments[::-1])[
                : 1 + (expression.operator == "mul")
            ]:
                parts = [
                    _nodes_of(part, cls, grammar) for part, cls in zip(arguments, operation.args, strict=True)
                ]
                if all(part is not None for part in parts):
                    return [operation, *chain.from_iterable(part for part in parts if part)]
    return None


def _leaf_of(name: str, ret: type, grammar: Grammar) -> Leaf | None:
    own = [leaf for leaf in grammar.leaves(ret) if leaf.feature == name]
    return min(own, key=lambda leaf: leaf.token & 255 != VARIABLE, default=None)


def _weighted_leaf(expression: Apply, ret: type, grammar: Grammar) -> Leaf | None:
    """The weighted leaf that stands for constant * variable, in either order."""
    if expression.operator != "mul":
        return None
    for first, second in (expression.arguments, expression.arguments[::-1]):
        if isinstance(first, Constant) and isinstance(second, Variable):
            for leaf in grammar.leaves(ret):
                if leaf.feature == second.name and leaf.token & 255 == WEIGHTED:
                    return leaf.holding(first.value)
    return None
