"""Values of a formula at the edge of the training rows and a little beyond, where no row holds it."""

import itertools

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.search.problem import Problem
from trainlaw.formulas import Apply, Expression, evaluate, variables
from trainlaw.formulas.algebra.expression import nodes

# A range is widened to both sides by this share of it: new rows are a little outside more often than far.
WIDENED = 0.2
# Corners of the box beyond this number are drawn, as are points inside, where a pole may lie between rows.
MOST_CORNERS, INNER_POINTS = 1_024, 2_000
# Values further from the middle of the target than this multiple of its range explode: products of powers on
# uniform rows stay below 30 at their corners, exponentials of noise exceed 1e6.
MOST_SPREAD = 100.0


def explodes(expression: Expression, problem: Problem) -> bool:
    """Return whether values explode in the box of the rows, a little widened; where invalid, they do not.

    A feature of one sign keeps it: one that is never negative is a size, and the pole at 0 is no defect.
    A divisor of both signs is a pole between the rows, which points hardly meet.
    """
    names = variables(expression)
    if not names:
        return False
    low, high = np.array([problem.box[name] for name in names]).T
    margin = WIDENED * (high - low)
    below = np.where(low >= 0.0, np.maximum(low - margin, 0.5 * low), low - margin)
    above = np.where(high <= 0.0, np.minimum(high + margin, 0.5 * high), high + margin)
    columns = dict(zip(names, (below + (above - below) * _points(len(names))).T, strict=True))
    low_target, high_target = problem.target_range
    spread = (high_target - low_target) or abs(high_target) or 1.0
    with np.errstate(all="ignore"):
        far = np.abs(evaluate(expression, columns)[0] - 0.5 * (low_target + high_target))
        for node in nodes(expression):
            if isinstance(node, Apply) and node.operator in ("div", "inv"):
                divisors = evaluate(node.arguments[-1], columns)[0]
                if np.any(divisors < 0.0) and np.any(divisors > 0.0):
                    return True
    return bool(np.any(far > MOST_SPREAD * spread))


def _points(count: int) -> NDArray[np.float64]:
    """Return points of a box from 0 to 1, (n_points, count): corners first."""
    generator = np.random.default_rng(0)
    if 2**count <= MOST_CORNERS:
        corners = np.array([*itertools.product((0.0, 1.0), repeat=count)])
    else:
        corners = generator.integers(0, 2, (MOST_CORNERS, count)).astype(np.float64)
    return np.vstack([corners, generator.random((INNER_POINTS, count))])
