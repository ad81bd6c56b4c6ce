"""Hard constraints of a search: properties that are proved over the whole training box."""

from collections.abc import Mapping

from trainlaw.evolve.search.individuals import Individual
from trainlaw.evolve.search.problem import Problem
from trainlaw.evolve.search.trees import to_expression
from trainlaw.evolve.settings import Constraint
from trainlaw.formulas import Elasticities, Expression, variables


def keeps_constraints(tree: Individual, problem: Problem) -> bool:
    """Return whether every constraint of the search is proved for the tree over the training box."""
    if not problem.settings.constraints:
        return True
    return keeps_as(to_expression(tree), problem)


def keeps_as(expression: Expression, problem: Problem) -> bool:
    """Return whether every constraint is proved for this form of a formula; another may be harder."""
    box = {name: problem.box[name] for name in variables(expression)}
    return all(is_kept(constraint, expression, box) for constraint in problem.settings.constraints)


def is_kept(constraint: Constraint, expression: Expression, box: Mapping[str, tuple[float, float]]) -> bool:
    """Return whether one constraint is proved over `box`; without its feature nothing rises or falls."""
    if constraint.kind == "nonnegative":
        return Elasticities(expression, box).nonnegative
    if constraint.feature not in box:
        return True
    direction = 1 if constraint.kind == "rising" else -1
    return Elasticities(expression, box).monotone(constraint.feature, direction).proved
