"""Conversions of trees: to programs of the machine, to and from expressions, and to a pruned form."""

import math
from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.grammar import Grammar
from trainlaw.evolve.leaves import Leaf, Node
from trainlaw.evolve.machine.arrays import CONSTANT, FIRST_OPERATOR, NODE_LIMIT, VARIABLE, WEIGHTED, Programs
from trainlaw.evolve.machine.evaluation import entry
from trainlaw.evolve.machine.kernels import is_binary
from trainlaw.evolve.machine.moves import mix
from trainlaw.evolve.search.individuals import Forest, Individual
from trainlaw.formulas import (
    OPERATORS,
    Apply,
    Constant,
    Expression,
    InputError,
    Variable,
    substitute,
    tidy,
    variables,
)
from trainlaw.formulas.algebra.expression import COSTS

_UNORDERED = np.array([False] * FIRST_OPERATOR + [name in ("add", "mul", "max", "min") for name in OPERATORS])
_TWO_SIDED = np.array([False] * FIRST_OPERATOR + [row.arity == 2 for row in OPERATORS.values()])
# Complexity of each code: a weighted leaf is a constant times a variable.
_LEAVES = (COSTS["constant"], COSTS["variable"], COSTS["constant"] + COSTS["mul"] + COSTS["variable"])
_COSTS = np.array([*_LEAVES, *(COSTS[name] for name in OPERATORS)])
# Powers up to the fourth are written as products where there is no operator for them.
LARGEST_DOUBLED_POWER = 8


def encode(forest: Forest) -> Programs:
    """Return the programs of many trees; raises InputError for one longer than the machine's scratch."""
    if forest.sizes.max(initial=0) > NODE_LIMIT:
        raise InputError(f"expected trees of at most {NODE_LIMIT} nodes, got {forest.sizes.max()}")
    tables, held = forest.grammar.tables, forest.holds
    rules = forest.grammar.rules[forest.kinds[held]]
    return Programs(
        tables.token[forest.kinds],
        forest.offsets,
        forest.values[held],
        rules[:, 0].copy(),
        rules[:, 1].copy(),
        rules[:, 2] > 0.0,
        rules[:, 3].copy(),
        rules[:, 4].copy(),
        np.concatenate([[0], np.cumsum(forest.per_tree(held))]),
    )


def with_fitted(forest: Forest, theta: NDArray[np.float64]) -> Forest:
    """Return the trees with the fitted constants (n_constants,) of their programs."""
    values = forest.values.copy()
    values[forest.holds] = theta
    return forest._replace(values=values)


@entry
def _structure_keys(
    tokens: np.ndarray, offsets: np.ndarray, unordered: np.ndarray, scratch: np.ndarray, keys: np.ndarray
) -> None:
    """Set `keys` to a hash per program, computed from the leaves to the root on a stack.

    unordered : per code, whether the order of its arguments does not matter. scratch : uint64 (3, nodes).
    """
    # Second row: the contribution of a subtree to a sum (product, extremum) of the same operator, which adds
    # up the contributions: so (a + b) + c equals a + (b + c). Third row: the operator.
    stack, spread, kind = scratch[0], scratch[1], scratch[2]
    for program in range(keys.size):
        depth = 0
        for k in range(offsets[program + 1] - 1, offsets[program] - 1, -1):
            token = tokens[k]
            code = token & 255
            if code < FIRST_OPERATOR:
                key = mix(np.uint64(token + 1))
                gathered = mix(key)
            elif not is_binary(code):
                depth -= 1
                key = mix(stack[depth] + np.uint64(code * 7919))
                gathered = mix(key)
            else:
                a, b = depth - 1, depth - 2
                depth -= 2
                if unordered[code]:
                    operator = np.uint64(code)
                    gathered = spread[a] if kind[a] == operator else mix(stack[a])
                    gathered += spread[b] if kind[b] == operator else mix(stack[b])
                    key = mix(gathered + np.uint64(code * 104729))
                else:
                    key = mix(mix(stack[a]) * np.uint64(3) + stack[b] + np.uint64(code * 104729))
                    gathered = mix(key)
            stack[depth] = key
            spread[depth] = gathered
            kind[depth] = np.uint64(code)
            depth += 1
        keys[program] = stack[0]


def structure_keys(forest: Forest) -> NDArray[np.uint64]:
    """Return a hash of each tree's structure: constants and the order in sums and products do not matter."""
    keys, scratch = np.zeros(forest.amount, np.uint64), np.zeros((3, NODE_LIMIT), np.uint64)
    _structure_keys(forest.grammar.tables.token[forest.kinds], forest.offsets, _UNORDERED, scratch, keys)
    return keys


def complexities(forest: Forest) -> NDArray[np.int64]:
    """Return the complexity of each tree's expression."""
    return forest.per_tree(_COSTS[forest.grammar.tables.token[forest.kinds] & 255])


def untidy(programs: Programs, theta: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether `prune` would change each program, bool (n_programs,).

    theta : fitted constants (n_constants,). A term with weight zero, or an operation on free constants alone.
    """
    amount, codes = programs.amount, programs.tokens & 255
    free = np.append(programs.tokens == CONSTANT, [False, False])
    numbers = (codes >= FIRST_OPERATOR) & free[1:-1] & (free[2:] | ~_TWO_SIDED[codes])
    vanished = (theta == 0.0) & (programs.lower == 0.0)
    return (_per_program(numbers, programs.offsets, amount) > 0) | (
        _per_program(vanished, programs.constant_offsets, amount) > 0
    )


def _per_program(flags: NDArray[np.bool_], offsets: NDArray[np.int64], amount: int) -> NDArray[np.float64]:
    """Return how many of the `flags` are true in each program, (n_programs,)."""
    owners = np.repeat(np.arange(amount), np.diff(offsets))
    return np.bincount(owners, weights=flags, minlength=amount).astype(np.float64)


def prune(tree: Individual, grammar: Grammar) -> Individual:
    """Return the tree without terms of weight zero, and with operations on constants computed.

    Pruning keeps the values, so that the fitness stays, apart from the complexity.
    """
    stack: list[list[Node]] = []
    for node in reversed(tree):
        stack.append(_pruned(node, [stack.pop() for _ in range(node.arity)], grammar))
    return Individual(stack[0], tree.fitness)


def _pruned(node: Node, parts: Sequence[list[Node]], grammar: Grammar) -> list[Node]:
    """Return the nodes of an operation on pruned parts, or of a leaf; a single zero leaf means zero."""
    if all(len(part) > 1 for part in parts):
        return [node, *chain.from_iterable(parts)]
    number = _number_of_numbers(node, parts, grammar)
    if number is not None:
        return [number]
    zero = [_is_zero(part) for part in parts]
    if any(zero) and (node.name == "add" or (node.name == "max" and grammar.only_positive)):
        return parts[0] if zero[1] else parts[1]
    if node.name == "mul" and any(zero):
        dead = parts[zero.index(True)]
        if dead[0].ret is node.ret:
            return dead
    if node.name == "div" and zero[0] and parts[0][0].ret is node.ret:
        return parts[0]
    return [node, *chain.from_iterable(parts)]


def _number_of_numbers(node: Node, parts: Sequence[Sequence[Node]], grammar: Grammar) -> Leaf | None:
    """Return the value of an operation on free constants alone as a leaf, where the grammar has one."""
    if any(len(part) != 1 or part[0].token != CONSTANT for part in parts):
        return None
    leaf = grammar.free_constant(node.ret)
    if leaf is None:
        return None
    numbers = [np.asarray(part[0].constant, dtype=np.float64) for part in parts]
    with np.errstate(all="ignore"):
        value = float(OPERATORS[node.name].function(*numbers))
    return leaf.holding(value) if leaf.rule.lower <= value <= leaf.rule.upper else None


def _is_zero(part: Sequence[Node]) -> bool:
    return (
        len(part) == 1 and isinstance(part[0], Leaf) and part[0].constant == 0.0 and part[0].rule.lower == 0.0
    )


def to_expression(tree: Individual) -> Expression:
    """Return the expression that the tree computes, with weights written out."""
    stack: list[Expression] = []
    for node in reversed(tree):
        if node.arity:
            stack.append(Apply(node.name, tuple(stack.pop() for _ in range(node.arity))))
        elif node.feature is None:
            stack.append(Constant(node.constant))
        elif node.constant is None or node.constant == 1.0:
            stack.append(Variable(node.feature))
        else:
            stack.append(Apply("mul", (Constant(node.constant), Variable(node.feature))))
    return stack[0]


def from_expression(expression: Expression, grammar: Grammar) -> Individual:
    """Return the tree of an expression in this grammar, with constant times feature as a weighted leaf.

    A feature that never changes is replaced by its value. Raises InputError where the grammar has no such
    expression (unknown feature or operator, or inconsistent units).
    """
    silent = {name: Constant(value) for name, value in grammar.silent.items()}
    if set(silent) & set(variables(expression)):
        expression = tidy(substitute(expression, silent))
    nodes = nodes_of(expression, grammar.target, grammar)
    if nodes is None:
        raise InputError(
            "expected a seed within the search's operators, features and units: add what it needs"
        )
    return Individual(nodes)


def nodes_of(
    expression: Expression,
    ret: type,
    grammar: Grammar,
    stand_in: Callable[[str, type], Leaf | None] = lambda name, ret: None,
) -> list[Node] | None:
    """Return the nodes of an expression of type `ret`, or None where the grammar has none.

    stand_in : returns a leaf for a variable that is no feature, such as the hole of a template.
    """
    known = {operation.name for operation in grammar.operations(ret)}
    if isinstance(expression, Apply) and expression.operator in {"pow", "cube"} - known:
        expression = _as_product(expression)
    if isinstance(expression, Constant):
        leaf = grammar.free_constant(ret)
        # Only an exponent outside its range is moved into it; any other constant must fit.
        if leaf is None or (expression.value < leaf.rule.lower and math.isinf(leaf.rule.upper)):
            return None
        return [leaf.holding(expression.value)]
    if isinstance(expression, Variable):
        leaf = stand_in(expression.name, ret) or _variable_leaf(expression.name, ret, grammar)
        return None if leaf is None else [leaf if leaf.constant is None else leaf.holding(1.0)]
    weighted = _weighted_leaf(expression, ret, grammar)
    if weighted is not None:
        return [weighted]
    operator, written = expression.operator, expression.arguments
    if operator == "sub" and operator not in known and isinstance(written[1], Constant):
        operator, written = "add", (written[0], Constant(-written[1].value))
    for operation in grammar.operations(ret):
        if operation.name == operator:
            for arguments in (written, written[::-1])[: 1 + (operator in ("mul", "add"))]:
                parts = [
                    nodes_of(part, cls, grammar, stand_in)
                    for part, cls in zip(arguments, operation.args, strict=True)
                ]
                if all(part is not None for part in parts):
                    return [operation, *chain.from_iterable(part for part in parts if part)]
    return None


def _as_product(power: Apply) -> Expression:
    """Return a power as a product of its base and the square root of it, or unchanged where it is none.

    Tidy formulas have powers such as `x^1.5` even where the search has no operator for them.
    """
    base, exponent = power.arguments if power.operator == "pow" else (*power.arguments, Constant(3.0))
    doubled = 2.0 * exponent.value if isinstance(exponent, Constant) else 0.0
    if not 0 < abs(doubled) <= LARGEST_DOUBLED_POWER or doubled % 1.0:
        return power
    whole, half = divmod(int(abs(doubled)), 2)
    factors: list[Expression] = [base] * whole + [Apply("sqrt", (base,))] * half
    product = factors.pop()
    while factors:
        product = Apply("mul", (factors.pop(), product))
    return product if doubled > 0.0 else Apply("div", (Constant(1.0), product))


def _variable_leaf(name: str, ret: type, grammar: Grammar) -> Leaf | None:
    """Return the leaf of a variable, one without a weight if there is a choice."""
    found = [leaf for leaf in grammar.leaves(ret) if name in (leaf.feature, leaf.name)]
    return min(found, key=lambda leaf: leaf.token & 255 != VARIABLE, default=None)


def _weighted_leaf(expression: Apply, ret: type, grammar: Grammar) -> Leaf | None:
    """Return the weighted leaf of constant * variable, in either order, or None where there is none."""
    if expression.operator != "mul":
        return None
    for first, second in (expression.arguments, expression.arguments[::-1]):
        if isinstance(first, Constant) and isinstance(second, Variable):
            for leaf in grammar.leaves(ret):
                if leaf.feature == second.name and leaf.token & 255 == WEIGHTED:
                    return leaf.holding(first.value)
    return None
