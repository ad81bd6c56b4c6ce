"""Lengths of codes: the formula written down, then its errors.

A formula that errs less is chosen only if it saves more than it takes to write. So the choice pays for the
number of formulas of each size, most of which fit the noise a little, and for constants of many digits.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.search.problem import Problem
from trainlaw.formulas import Expression, Variable, complexity, constants
from trainlaw.formulas.algebra.expression import nodes

# Losses below this share of the target's variance are rounding, which says nothing about a formula.
LEAST_LOSS = 1e-20


def code_length(
    losses: Sequence[float] | NDArray[np.float64], expression: Expression, problem: Problem
) -> float:
    """Return n/2 log loss plus the length of the formula, in nats (Rissanen, 1978).

    losses : of the parts of the rows, each of which says as much: one row that a formula meets by chance does
    not count for all.
    """
    fit = 0.5 * problem.whole.effective_rows * float(np.mean(np.log(np.maximum(losses, LEAST_LOSS))))
    return fit + formula_length(expression, problem)


def formula_length(expression: Expression, problem: Problem) -> float:
    """Return the length of a formula written down, in nats.

    A node takes the logarithm of the number of its kinds, a feature that of the features in addition. A
    number takes log n / 2, its digits that n rows determine, and its size: 1e-90 is as long as 90 digits.
    """
    numbers = constants(expression)
    names = sum(isinstance(node, Variable) for node in nodes(expression))
    per_node = math.log(len(problem.settings.offered) + 2)
    digits = 0.5 * len(numbers) * math.log(problem.whole.effective_rows)
    sizes = sum(abs(math.log(abs(number))) for number in numbers if number)
    return complexity(expression) * per_node + names * math.log(len(problem.features)) + digits + sizes
