"""Operators of the compiled machine, written by `tools/kernels.py`."""

import math

import numpy as np
from numba import njit
from trainlaw.evolve.machine.arrays import LANES
from trainlaw.evolve.machine.compiler_cache import CACHED
from trainlaw.evolve.machine.kernel_calls import vector_hints
from trainlaw.evolve.machine.vector_maths import (
    cosine,
    cube_root,
    exponential,
    hyperbolic_tangent,
    larger,
    logarithm,
    power,
    sine,
    smaller,
    square_root,
)

OPERATOR_CODES = {
    "add": 4,
    "sub": 5,
    "mul": 6,
    "div": 7,
    "neg": 8,
    "abs": 9,
    "inv": 10,
    "sqrt": 11,
    "cbrt": 12,
    "square": 13,
    "cube": 14,
    "exp": 15,
    "log": 16,
    "pow": 17,
    "min": 18,
    "max": 19,
    "sin": 20,
    "cos": 21,
    "tanh": 22,
    "step": 23,
}


@njit(error_model="numpy", nogil=True, cache=CACHED)
def is_binary(code: int) -> bool:
    """Return whether the operator with this code takes two arguments."""
    return code == 4 or code == 5 or code == 6 or code == 7 or code == 17 or code == 18 or code == 19


def apply_operator(
    address: int, code: int, x: np.ndarray, y: np.ndarray, out: np.ndarray, p: float, q: float, n: int
) -> float:
    """Compute `n` values, up to whole vectors, of an operator from p times `x` and q times `y`."""
    vector_hints()
    n = (n + LANES - 1) & -LANES
    if code == 4:  # add
        for i in range(n):
            a = p * x[i]
            b = q * y[i]
            out[i] = a + b
    elif code == 5:  # sub
        for i in range(n):
            a = p * x[i]
            b = q * y[i]
            out[i] = a - b
    elif code == 6:  # mul
        for i in range(n):
            a = p * x[i]
            b = q * y[i]
            out[i] = a * b
    elif code == 7:  # div
        for i in range(n):
            a = p * x[i]
            b = q * y[i]
            out[i] = a / b
    elif code == 8:  # neg
        for i in range(n):
            a = p * x[i]
            out[i] = -a
    elif code == 9:  # abs
        for i in range(n):
            a = p * x[i]
            out[i] = math.fabs(a)
    elif code == 10:  # inv
        for i in range(n):
            a = p * x[i]
            out[i] = 1.0 / a
    elif code == 11:  # sqrt
        for i in range(n):
            a = p * x[i]
            out[i] = square_root(a)
    elif code == 12:  # cbrt
        for i in range(n):
            a = p * x[i]
            out[i] = cube_root(a)
    elif code == 13:  # square
        for i in range(n):
            a = p * x[i]
            out[i] = a * a
    elif code == 14:  # cube
        for i in range(n):
            a = p * x[i]
            out[i] = a * a * a
    elif code == 15:  # exp
        for i in range(n):
            a = p * x[i]
            out[i] = exponential(a)
    elif code == 16:  # log
        for i in range(n):
            a = p * x[i]
            out[i] = logarithm(a)
    elif code == 17:  # pow
        for i in range(n):
            a = p * x[i]
            b = q * y[i]
            out[i] = power(a, b)
    elif code == 18:  # min
        for i in range(n):
            a = p * x[i]
            b = q * y[i]
            out[i] = smaller(a, b)
    elif code == 19:  # max
        for i in range(n):
            a = p * x[i]
            b = q * y[i]
            out[i] = larger(a, b)
    elif code == 20:  # sin
        for i in range(n):
            a = p * x[i]
            out[i] = sine(a)
    elif code == 21:  # cos
        for i in range(n):
            a = p * x[i]
            out[i] = cosine(a)
    elif code == 22:  # tanh
        for i in range(n):
            a = p * x[i]
            out[i] = hyperbolic_tangent(a)
    elif code == 23:  # step
        for i in range(n):
            a = p * x[i]
            out[i] = 0.5 * (math.copysign(1.0, a) + 1.0) if a != 0.0 else 0.5
    return 0.0


def apply_partials(
    address: int,
    code: int,
    x: np.ndarray,
    y: np.ndarray,
    value: np.ndarray,
    p: float,
    q: float,
    n: int,
    adjoint: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    first_live: int,
    second_live: int,
) -> float:
    """Propagate `n` adjoints, up to whole vectors, to the arguments that are live."""
    vector_hints()
    n = (n + LANES - 1) & -LANES
    if code == 4:  # add
        if first_live:
            for i in range(n):
                first[i] = adjoint[i] * (1.0)
        if second_live:
            for i in range(n):
                second[i] = adjoint[i] * (1.0)
    elif code == 5:  # sub
        if first_live:
            for i in range(n):
                first[i] = adjoint[i] * (1.0)
        if second_live:
            for i in range(n):
                second[i] = adjoint[i] * (-1.0)
    elif code == 6:  # mul
        if first_live:
            for i in range(n):
                b = q * y[i]
                first[i] = adjoint[i] * (b)
        if second_live:
            for i in range(n):
                a = p * x[i]
                second[i] = adjoint[i] * (a)
    elif code == 7:  # div
        if first_live:
            for i in range(n):
                b = q * y[i]
                first[i] = adjoint[i] * (1.0 / b)
        if second_live:
            for i in range(n):
                a = p * x[i]
                b = q * y[i]
                second[i] = adjoint[i] * ((-a) / (b * b))
    elif code == 8:  # neg
        if first_live:
            for i in range(n):
                first[i] = adjoint[i] * (-1.0)
    elif code == 9:  # abs
        if first_live:
            for i in range(n):
                a = p * x[i]
                first[i] = adjoint[i] * (
                    (2.0 * (0.5 * (math.copysign(1.0, a) + 1.0) if a != 0.0 else 0.5)) - 1.0
                )
    elif code == 10:  # inv
        if first_live:
            for i in range(n):
                a = p * x[i]
                first[i] = adjoint[i] * (-(1.0 / (a * a)))
    elif code == 11:  # sqrt
        if first_live:
            for i in range(n):
                v = value[i]
                first[i] = adjoint[i] * (0.5 / v)
    elif code == 12:  # cbrt
        if first_live:
            for i in range(n):
                v = value[i]
                first[i] = adjoint[i] * (1.0 / (3.0 * (v * v)))
    elif code == 13:  # square
        if first_live:
            for i in range(n):
                a = p * x[i]
                first[i] = adjoint[i] * (2.0 * a)
    elif code == 14:  # cube
        if first_live:
            for i in range(n):
                a = p * x[i]
                first[i] = adjoint[i] * (3.0 * (a * a))
    elif code == 15:  # exp
        if first_live:
            for i in range(n):
                v = value[i]
                first[i] = adjoint[i] * (v)
    elif code == 16:  # log
        if first_live:
            for i in range(n):
                a = p * x[i]
                first[i] = adjoint[i] * (1.0 / a)
    elif code == 17:  # pow
        if first_live:
            for i in range(n):
                a = p * x[i]
                b = q * y[i]
                first[i] = adjoint[i] * (b * (power(a, (b - 1.0))))
        if second_live:
            for i in range(n):
                a = p * x[i]
                v = value[i]
                second[i] = adjoint[i] * (v * (logarithm(a)))
    elif code == 18:  # min
        if first_live:
            for i in range(n):
                a = p * x[i]
                b = q * y[i]
                first[i] = adjoint[i] * (0.5 * (math.copysign(1.0, (b - a)) + 1.0) if (b - a) != 0.0 else 0.5)
        if second_live:
            for i in range(n):
                a = p * x[i]
                b = q * y[i]
                second[i] = adjoint[i] * (
                    0.5 * (math.copysign(1.0, (a - b)) + 1.0) if (a - b) != 0.0 else 0.5
                )
    elif code == 19:  # max
        if first_live:
            for i in range(n):
                a = p * x[i]
                b = q * y[i]
                first[i] = adjoint[i] * (0.5 * (math.copysign(1.0, (a - b)) + 1.0) if (a - b) != 0.0 else 0.5)
        if second_live:
            for i in range(n):
                a = p * x[i]
                b = q * y[i]
                second[i] = adjoint[i] * (
                    0.5 * (math.copysign(1.0, (b - a)) + 1.0) if (b - a) != 0.0 else 0.5
                )
    elif code == 20:  # sin
        if first_live:
            for i in range(n):
                a = p * x[i]
                first[i] = adjoint[i] * (cosine(a))
    elif code == 21:  # cos
        if first_live:
            for i in range(n):
                a = p * x[i]
                first[i] = adjoint[i] * (-(sine(a)))
    elif code == 22:  # tanh
        if first_live:
            for i in range(n):
                v = value[i]
                first[i] = adjoint[i] * (1.0 - (v * v))
    elif code == 23:  # step
        if first_live:
            for i in range(n):
                first[i] = adjoint[i] * (0.0)
    return 0.0
