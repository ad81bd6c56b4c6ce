"""An expression as a sequence of named steps: parts that occur more than once are computed once."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from trainlaw.formulas.algebra.expression import Apply, Expression, Variable, nodes, rebuilt, variables


class Steps(NamedTuple):
    """Named expressions, each over variables and earlier names, and the result over all of them."""

    assignments: tuple[tuple[str, Expression], ...]
    result: Expression


def named_steps(
    expression: Expression, wanted: Callable[[Apply, int], bool] = lambda node, place: False
) -> Steps:
    """Return the expression in steps step_1, step_2, ...: one per operator node that occurs more than once.

    wanted : whether an argument, given by its node and place, gets a step even if it occurs once.

    >>> from trainlaw.formulas.algebra.text import parse_text
    >>> len(named_steps(parse_text("(x + y) * exp(x + y)")).assignments)
    1
    """
    # Trees are hashed once, so that equal sub-expressions are found in linear time.
    distinct = {node for node in nodes(expression) if isinstance(node, Apply)}
    uses = Counter(argument for node in distinct for argument in node.arguments)
    prefix = _free_prefix(expression)
    assignments: list[tuple[str, Expression]] = []
    known: dict[Expression, Variable] = {}

    def named(original: Expression, changed: Expression) -> Expression:
        if isinstance(changed, Apply):
            known[original] = Variable(f"{prefix}{len(assignments) + 1}")
            assignments.append((known[original].name, changed))
        return known.get(original, changed)

    def rebuild(node: Apply, arguments: tuple[Expression, ...]) -> Expression:
        if node in known:
            return known[node]
        parts = [
            named(node.arguments[place], argument) if wanted(node, place) else argument
            for place, argument in enumerate(arguments)
        ]
        changed = Apply(node.operator, tuple(parts))
        return named(node, changed) if uses[node] > 1 else changed

    result = rebuilt(expression, apply=rebuild)
    return Steps(tuple(assignments), result)


def _free_prefix(expression: Expression) -> str:
    prefix = "step_"
    while any(name.startswith(prefix) for name in variables(expression)):
        prefix = "_" + prefix
    return prefix
