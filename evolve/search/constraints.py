"""Hard constraints of a search: properties that are proved over the whole training box."""

from collections.abc import Mapping

from trainlaw.evolve.search.individuals import Individual
from trainlaw.evolve.search.problem import Problem
from trainlaw.evolve.search.trees import to_expression
from trainlaw.evolve.settings import Constraint
from trainlaw.formulas import Expression, prove_monotone, prove_sign, variables

# A proof is given up after this many boxes of its bisection: a search cannot wait for a hard one.
MOST_BOXES = 256


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
        proof = prove_sign(expression, box, max_boxes=MOST_BOXES)
    elif constraint.feature not in box:
        return True
    else:
        direction = 1 if constraint.kind == "rising" else -1
        proof = prove_monotone(expression, constraint.feature, box, direction, max_boxes=MOST_BOXES)
    return proof.status == "proved"
