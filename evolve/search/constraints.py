"""Hard constraints of a search: properties that are proved over the whole training box."""

from collections.abc import Mapping, Sequence

from trainlaw.evolve.search.individuals import Individual
from trainlaw.evolve.search.problem import Problem
from trainlaw.evolve.search.trees import grouped_constants, to_expression
from trainlaw.evolve.settings import Constraint
from trainlaw.formulas import Elasticities, Expression, GroupedConstant, variables


def keeps_constraints(tree: Individual, problem: Problem) -> bool:
    """Return whether every constraint of the search is proved for the tree over the training box."""
    if not problem.settings.constraints:
        return True
    return keeps_as(to_expression(tree), grouped_constants(tree, problem.grammar), problem)


def keeps_as(expression: Expression, grouped: Sequence[GroupedConstant], problem: Problem) -> bool:
    """Return whether every constraint is proved for this form of a formula; another may be harder."""
    factors = {
        constant.name: (min(1.0, *constant.values.values()), max(1.0, *constant.values.values()))
        for constant in grouped
    }
    box = {name: factors[name] if name in factors else problem.box[name] for name in variables(expression)}
    return all(is_kept(constraint, expression, box) for constraint in problem.settings.constraints)


def is_kept(constraint: Constraint, expression: Expression, box: Mapping[str, tuple[float, float]]) -> bool:
    """Return whether one constraint is proved over `box`; without its feature nothing rises or falls."""
    if constraint.kind == "nonnegative":
        return Elasticities(expression, box).nonnegative
    if constraint.feature not in box:
        return True
    direction = 1 if constraint.kind == "rising" else -1
    return Elasticities(expression, box).monotone(constraint.feature, direction).proved
