"""The operators of the compiled machine. Written by `trainlaw.evolve.machine_source`: do not edit."""

import math

import numpy as np
from numba import njit
from trainlaw.evolve.vector_maths import (
    cosine,
    cube_root,
    exponential,
    hyperbolic_tangent,
    larger,
    logarithm,
    power,
    sine,
    smaller,
)

OPERATOR_CODES = {
    "add": 3,
    "sub": 4,
    "mul": 5,
    "div": 6,
    "neg": 7,
    "abs": 8,
    "inv": 9,
    "sqrt": 10,
    "cbrt": 11,
    "square": 12,
    "cube": 13,
    "exp": 14,
    "log": 15,
    "pow": 16,
    "min": 17,
    "max": 18,
    "sin": 19,
    "cos": 20,
    "tanh": 21,
    "step": 22,
}
_kernel = njit(error_model="numpy", nogil=True, fastmath={"contract"}, cache=True)


@_kernel
def is_binary(code: int) -> bool:
    """Whether the operator with this code takes two arguments."""
    return code == 3 or code == 4 or code == 5 or code == 6 or code == 16 or code == 17 or code == 18


@_kernel
def apply_operator(
    code: int, arena: np.ndarray, target: int, left: int, right: int, p: float, q: float, n: int
) -> None:
    """Writes `n` values of row `target` from p times row `left` and q times row `right` of the arena."""
    if code == 3:  # add
        for i in range(n):
            a = p * arena[left, i]
            b = q * arena[right, i]
            arena[target, i] = a + b
    elif code == 4:  # sub
        for i in range(n):
            a = p * arena[left, i]
            b = q * arena[right, i]
            arena[target, i] = a - b
    elif code == 5:  # mul
        for i in range(n):
            a = p * arena[left, i]
            b = q * arena[right, i]
            arena[target, i] = a * b
    elif code == 6:  # div
        for i in range(n):
            a = p * arena[left, i]
            b = q * arena[right, i]
            arena[target, i] = a / b
    elif code == 7:  # neg
        for i in range(n):
            a = p * arena[left, i]
            arena[target, i] = -a
    elif code == 8:  # abs
        for i in range(n):
            a = p * arena[left, i]
            arena[target, i] = math.fabs(a)
    elif code == 9:  # inv
        for i in range(n):
            a = p * arena[left, i]
            arena[target, i] = 1.0 / a
    elif code == 10:  # sqrt
        for i in range(n):
            a = p * arena[left, i]
            arena[target, i] = math.sqrt(a)
    elif code == 11:  # cbrt
        for i in range(n):
            a = p * arena[left, i]
            arena[target, i] = cube_root(a)
    elif code == 12:  # square
        for i in range(n):
            a = p * arena[left, i]
            arena[target, i] = a * a
    elif code == 13:  # cube
        for i in range(n):
            a = p * arena[left, i]
            arena[target, i] = a * a * a
    elif code == 14:  # exp
        for i in range(n):
            a = p * arena[left, i]
            arena[target, i] = exponential(a)
    elif code == 15:  # log
        for i in range(n):
            a = p * arena[left, i]
            arena[target, i] = logarithm(a)
    elif code == 16:  # pow
        for i in range(n):
            a = p * arena[left, i]
            b = q * arena[right, i]
            arena[target, i] = power(a, b)
    elif code == 17:  # min
        for i in range(n):
            a = p * arena[left, i]
            b = q * arena[right, i]
            arena[target, i] = smaller(a, b)
    elif code == 18:  # max
        for i in range(n):
            a = p * arena[left, i]
            b = q * arena[right, i]
            arena[target, i] = larger(a, b)
    elif code == 19:  # sin
        for i in range(n):
            a = p * arena[left, i]
            arena[target, i] = sine(a)
    elif code == 20:  # cos
        for i in range(n):
            a = p * arena[left, i]
            arena[target, i] = cosine(a)
    elif code == 21:  # tanh
        for i in range(n):
            a = p * arena[left, i]
            arena[target, i] = hyperbolic_tangent(a)
    elif code == 22:  # step
        for i in range(n):
            a = p * arena[left, i]
            arena[target, i] = 0.5 * (math.copysign(1.0, a) + 1.0) if a != 0.0 else 0.5


@_kernel
def apply_partials(
    code: int,
    arena: np.ndarray,
    target: int,
    left: int,
    right: int,
    p: float,
    q: float,
    n: int,
    adjoints: np.ndarray,
    node: int,
    first: int,
    second: int,
) -> None:
    """Hands `n` adjoints of `node` on to the nodes `first` and `second`, whose values the rows hold."""
    if code == 3:  # add
        for i in range(n):
            adjoints[first, i] = adjoints[node, i] * (1.0)
            adjoints[second, i] = adjoints[node, i] * (1.0)
    elif code == 4:  # sub
        for i in range(n):
            adjoints[first, i] = adjoints[node, i] * (1.0)
            adjoints[second, i] = adjoints[node, i] * (-1.0)
    elif code == 5:  # mul
        for i in range(n):
            a = p * arena[left, i]
            b = q * arena[right, i]
            adjoints[first, i] = adjoints[node, i] * (b)
            adjoints[second, i] = adjoints[node, i] * (a)
    elif code == 6:  # div
        for i in range(n):
            a = p * arena[left, i]
            b = q * arena[right, i]
            adjoints[first, i] = adjoints[node, i] * (1.0 / b)
            adjoints[second, i] = adjoints[node, i] * ((-a) / (b * b))
    elif code == 7:  # neg
        for i in range(n):
            adjoints[first, i] = adjoints[node, i] * (-1.0)
    elif code == 8:  # abs
        for i in range(n):
            a = p * arena[left, i]
            adjoints[first, i] = adjoints[node, i] * (
                (2.0 * (0.5 * (math.copysign(1.0, a) + 1.0) if a != 0.0 else 0.5)) - 1.0
            )
    elif code == 9:  # inv
        for i in range(n):
            a = p * arena[left, i]
            adjoints[first, i] = adjoints[node, i] * (-(1.0 / (a * a)))
    elif code == 10:  # sqrt
        for i in range(n):
            v = arena[target, i]
            adjoints[first, i] = adjoints[node, i] * (0.5 / v)
    elif code == 11:  # cbrt
        for i in range(n):
            v = arena[target, i]
            adjoints[first, i] = adjoints[node, i] * (1.0 / (3.0 * (v * v)))
    elif code == 12:  # square
        for i in range(n):
            a = p * arena[left, i]
            adjoints[first, i] = adjoints[node, i] * (2.0 * a)
    elif code == 13:  # cube
        for i in range(n):
            a = p * arena[left, i]
            adjoints[first, i] = adjoints[node, i] * (3.0 * (a * a))
    elif code == 14:  # exp
        for i in range(n):
            v = arena[target, i]
            adjoints[first, i] = adjoints[node, i] * (v)
    elif code == 15:  # log
        for i in range(n):
            a = p * arena[left, i]
            adjoints[first, i] = adjoints[node, i] * (1.0 / a)
    elif code == 16:  # pow
        for i in range(n):
            a = p * arena[left, i]
            b = q * arena[right, i]
            v = arena[target, i]
            adjoints[first, i] = adjoints[node, i] * (b * (power(a, (b - 1.0))))
            adjoints[second, i] = adjoints[node, i] * (v * (logarithm(a)))
    elif code == 17:  # min
        for i in range(n):
            a = p * arena[left, i]
            b = q * arena[right, i]
            adjoints[first, i] = adjoints[node, i] * (
                0.5 * (math.copysign(1.0, (b - a)) + 1.0) if (b - a) != 0.0 else 0.5
            )
            adjoints[second, i] = adjoints[node, i] * (
                0.5 * (math.copysign(1.0, (a - b)) + 1.0) if (a - b) != 0.0 else 0.5
            )
    elif code == 18:  # max
        for i in range(n):
            a = p * arena[left, i]
            b = q * arena[right, i]
            adjoints[first, i] = adjoints[node, i] * (
                0.5 * (math.copysign(1.0, (a - b)) + 1.0) if (a - b) != 0.0 else 0.5
            )
            adjoints[second, i] = adjoints[node, i] * (
                0.5 * (math.copysign(1.0, (b - a)) + 1.0) if (b - a) != 0.0 else 0.5
            )
    elif code == 19:  # sin
        for i in range(n):
            a = p * arena[left, i]
            adjoints[first, i] = adjoints[node, i] * (cosine(a))
    elif code == 20:  # cos
        for i in range(n):
            a = p * arena[left, i]
            adjoints[first, i] = adjoints[node, i] * (-(sine(a)))
    elif code == 21:  # tanh
        for i in range(n):
            v = arena[target, i]
            adjoints[first, i] = adjoints[node, i] * (1.0 - (v * v))
    elif code == 22:  # step
        for i in range(n):
            adjoints[first, i] = adjoints[node, i] * (0.0)
