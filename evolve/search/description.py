"""Lengths of codes: the formula written down, then its errors.

A formula that errs less is chosen only if it saves more than it takes to write. So the choice pays for the
number of formulas of each size, most of which fit the noise a little, and for constants of many digits.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.search.problem import Problem

# Losses below this share of the target's variance are rounding, which says nothing about a formula.
LEAST_LOSS = 1e-20


def code_length(
    losses: Sequence[float] | NDArray[np.float64],
    complexity: int,
    names: int,
    numbers: Sequence[float],
    problem: Problem,
) -> float:
    """Return n/2 log loss plus the length of the formula, in nats (Rissanen, 1978).

    A node takes the logarithm of the number of its kinds, a feature that of the features in addition. A
    number takes log n / 2, its digits that n rows determine, and its size: 1e-90 is as long as 90 digits.
    losses : of the parts of the rows, each of which says as much: one row that a formula meets by chance does
    not count for all. names : occurrences of features. numbers : constants.
    """
    rows = problem.whole.effective_rows
    fit = 0.5 * rows * float(np.mean(np.log(np.maximum(losses, LEAST_LOSS))))
    per_node = math.log(len(problem.settings.offered) + 2)
    digits = 0.5 * len(numbers) * math.log(rows)
    sizes = sum(abs(math.log(abs(number))) for number in numbers if number)
    return fit + complexity * per_node + names * math.log(len(problem.features)) + digits + sizes
