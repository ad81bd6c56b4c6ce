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
def apply_operator(code: int, values: np.ndarray, node: int, left: int, right: int, n: int) -> None:
    """Writes the first `n` values of `node` from those of its arguments; `values` is (nodes, block)."""
    if code == 3:  # add
        for i in range(n):
            a = values[left, i]
            b = values[right, i]
            values[node, i] = a + b
    elif code == 4:  # sub
        for i in range(n):
            a = values[left, i]
            b = values[right, i]
            values[node, i] = a - b
    elif code == 5:  # mul
        for i in range(n):
            a = values[left, i]
            b = values[right, i]
            values[node, i] = a * b
    elif code == 6:  # div
        for i in range(n):
            a = values[left, i]
            b = values[right, i]
            values[node, i] = a / b
    elif code == 7:  # neg
        for i in range(n):
            a = values[left, i]
            values[node, i] = -a
    elif code == 8:  # abs
        for i in range(n):
            a = values[left, i]
            values[node, i] = math.fabs(a)
    elif code == 9:  # inv
        for i in range(n):
            a = values[left, i]
            values[node, i] = 1.0 / a
    elif code == 10:  # sqrt
        for i in range(n):
            a = values[left, i]
            values[node, i] = math.sqrt(a)
    elif code == 11:  # cbrt
        for i in range(n):
            a = values[left, i]
            values[node, i] = cube_root(a)
    elif code == 12:  # square
        for i in range(n):
            a = values[left, i]
            values[node, i] = a * a
    elif code == 13:  # cube
        for i in range(n):
            a = values[left, i]
            values[node, i] = a * a * a
    elif code == 14:  # exp
        for i in range(n):
            a = values[left, i]
            values[node, i] = exponential(a)
    elif code == 15:  # log
        for i in range(n):
            a = values[left, i]
            values[node, i] = logarithm(a)
    elif code == 16:  # pow
        for i in range(n):
            a = values[left, i]
            b = values[right, i]
            values[node, i] = power(a, b)
    elif code == 17:  # min
        for i in range(n):
            a = values[left, i]
            b = values[right, i]
            values[node, i] = smaller(a, b)
    elif code == 18:  # max
        for i in range(n):
            a = values[left, i]
            b = values[right, i]
            values[node, i] = larger(a, b)
    elif code == 19:  # sin
        for i in range(n):
            a = values[left, i]
            values[node, i] = sine(a)
    elif code == 20:  # cos
        for i in range(n):
            a = values[left, i]
            values[node, i] = cosine(a)
    elif code == 21:  # tanh
        for i in range(n):
            a = values[left, i]
            values[node, i] = hyperbolic_tangent(a)
    elif code == 22:  # step
        for i in range(n):
            a = values[left, i]
            values[node, i] = 0.5 * (math.copysign(1.0, a) + 1.0) if a != 0.0 else 0.5


@_kernel
def apply_partials(
    code: int, values: np.ndarray, adjoints: np.ndarray, node: int, left: int, right: int, n: int
) -> None:
    """Hands the first `n` adjoints of `node` on to its arguments; both arrays are (nodes, block)."""
    if code == 3:  # add
        for i in range(n):
            adjoints[left, i] = adjoints[node, i] * (1.0)
            adjoints[right, i] = adjoints[node, i] * (1.0)
    elif code == 4:  # sub
        for i in range(n):
            adjoints[left, i] = adjoints[node, i] * (1.0)
            adjoints[right, i] = adjoints[node, i] * (-1.0)
    elif code == 5:  # mul
        for i in range(n):
            a = values[left, i]
            b = values[right, i]
            adjoints[left, i] = adjoints[node, i] * (b)
            adjoints[right, i] = adjoints[node, i] * (a)
    elif code == 6:  # div
        for i in range(n):
            a = values[left, i]
            b = values[right, i]
            adjoints[left, i] = adjoints[node, i] * (1.0 / b)
            adjoints[right, i] = adjoints[node, i] * ((-a) / (b * b))
    elif code == 7:  # neg
        for i in range(n):
            adjoints[left, i] = adjoints[node, i] * (-1.0)
    elif code == 8:  # abs
        for i in range(n):
            a = values[left, i]
            adjoints[left, i] = adjoints[node, i] * (
                (2.0 * (0.5 * (math.copysign(1.0, a) + 1.0) if a != 0.0 else 0.5)) - 1.0
            )
    elif code == 9:  # inv
        for i in range(n):
            a = values[left, i]
            adjoints[left, i] = adjoints[node, i] * (-(1.0 / (a * a)))
    elif code == 10:  # sqrt
        for i in range(n):
            v = values[node, i]
            adjoints[left, i] = adjoints[node, i] * (0.5 / v)
    elif code == 11:  # cbrt
        for i in range(n):
            v = values[node, i]
            adjoints[left, i] = adjoints[node, i] * (1.0 / (3.0 * (v * v)))
    elif code == 12:  # square
        for i in range(n):
            a = values[left, i]
            adjoints[left, i] = adjoints[node, i] * (2.0 * a)
    elif code == 13:  # cube
        for i in range(n):
            a = values[left, i]
            adjoints[left, i] = adjoints[node, i] * (3.0 * (a * a))
    elif code == 14:  # exp
        for i in range(n):
            v = values[node, i]
            adjoints[left, i] = adjoints[node, i] * (v)
    elif code == 15:  # log
        for i in range(n):
            a = values[left, i]
            adjoints[left, i] = adjoints[node, i] * (1.0 / a)
    elif code == 16:  # pow
        for i in range(n):
            a = values[left, i]
            b = values[right, i]
            v = values[node, i]
            adjoints[left, i] = adjoints[node, i] * (b * (power(a, (b - 1.0))))
            adjoints[right, i] = adjoints[node, i] * (v * (logarithm(a)))
    elif code == 17:  # min
        for i in range(n):
            a = values[left, i]
            b = values[right, i]
            adjoints[left, i] = adjoints[node, i] * (
                0.5 * (math.copysign(1.0, (b - a)) + 1.0) if (b - a) != 0.0 else 0.5
            )
            adjoints[right, i] = adjoints[node, i] * (
                0.5 * (math.copysign(1.0, (a - b)) + 1.0) if (a - b) != 0.0 else 0.5
            )
    elif code == 18:  # max
        for i in range(n):
            a = values[left, i]
            b = values[right, i]
            adjoints[left, i] = adjoints[node, i] * (
                0.5 * (math.copysign(1.0, (a - b)) + 1.0) if (a - b) != 0.0 else 0.5
            )
            adjoints[right, i] = adjoints[node, i] * (
                0.5 * (math.copysign(1.0, (b - a)) + 1.0) if (b - a) != 0.0 else 0.5
            )
    elif code == 19:  # sin
        for i in range(n):
            a = values[left, i]
            adjoints[left, i] = adjoints[node, i] * (cosine(a))
    elif code == 20:  # cos
        for i in range(n):
            a = values[left, i]
            adjoints[left, i] = adjoints[node, i] * (-(sine(a)))
    elif code == 21:  # tanh
        for i in range(n):
            v = values[node, i]
            adjoints[left, i] = adjoints[node, i] * (1.0 - (v * v))
    elif code == 22:  # step
        for i in range(n):
            adjoints[left, i] = adjoints[node, i] * (0.0)
