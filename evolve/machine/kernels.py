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


@njit(error_model="numpy", nogil=True, cache=CACHED)
def is_binary(code: int) -> bool:
    """Return whether the operator with this code takes two arguments."""
    return code == 3 or code == 4 or code == 5 or code == 6 or code == 16 or code == 17 or code == 18


def apply_operator(
    address: int, code: int, x: np.ndarray, y: np.ndarray, out: np.ndarray, p: float, q: float, n: int
) -> float:
    """Compute `n` values, up to whole vectors, of an operator from p times `x` and q times `y`."""
    vector_hints()
    n = (n + LANES - 1) & -LANES
    if code == 3:  # add
        for i in range(n):
            a = p * x[i]
            b = q * y[i]
            out[i] = a + b
    elif code == 4:  # sub
        for i in range(n):
            a = p * x[i]
            b = q * y[i]
            out[i] = a - b
    elif code == 5:  # mul
        for i in range(n):
            a = p * x[i]
            b = q * y[i]
            out[i] = a * b
    elif code == 6:  # div
        for i in range(n):
            a = p * x[i]
            b = q * y[i]
            out[i] = a / b
    elif code == 7:  # neg
        for i in range(n):
            a = p * x[i]
            out[i] = -a
    elif code == 8:  # abs
        for i in range(n):
            a = p * x[i]
            out[i] = math.fabs(a)
    elif code == 9:  # inv
        for i in range(n):
            a = p * x[i]
            out[i] = 1.0 / a
    elif code == 10:  # sqrt
        for i in range(n):
            a = p * x[i]
            out[i] = math.sqrt(a)
    elif code == 11:  # cbrt
        for i in range(n):
            a = p * x[i]
            out[i] = cube_root(a)
    elif code == 12:  # square
        for i in range(n):
            a = p * x[i]
            out[i] = a * a
    elif code == 13:  # cube
        for i in range(n):
            a = p * x[i]
            out[i] = (a * a) * a
    elif code == 14:  # exp
        for i in range(n):
            a = p * x[i]
            out[i] = exponential(a)
    elif code == 15:  # log
        for i in range(n):
            a = p * x[i]
            out[i] = logarithm(a)
    elif code == 16:  # pow
        for i in range(n):
            a = p * x[i]
            b = q * y[i]
            out[i] = power(a, b)
    elif code == 17:  # min
        for i in range(n):
            a = p * x[i]
            b = q * y[i]
            out[i] = smaller(a, b)
    elif code == 18:  # max
        for i in range(n):
            a = p * x[i]
            b = q * y[i]
            out[i] = larger(a, b)
    elif code == 19:  # sin
        for i in range(n):
            a = p * x[i]
            out[i] = sine(a)
    elif code == 20:  # cos
        for i in range(n):
            a = p * x[i]
            out[i] = cosine(a)
    elif code == 21:  # tanh
        for i in range(n):
            a = p * x[i]
            out[i] = hyperbolic_tangent(a)
    elif code == 22:  # step
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
    if code == 3:  # add
        if first_live:
            for i in range(n):
                first[i] = adjoint[i] * (1.0)
        if second_live:
            for i in range(n):
                second[i] = adjoint[i] * (1.0)
    elif code == 4:  # sub
        if first_live:
            for i in range(n):
                first[i] = adjoint[i] * (1.0)
        if second_live:
            for i in range(n):
                second[i] = adjoint[i] * (-1.0)
    elif code == 5:  # mul
        if first_live:
            for i in range(n):
                b = q * y[i]
                first[i] = adjoint[i] * (b)
        if second_live:
            for i in range(n):
                a = p * x[i]
                second[i] = adjoint[i] * (a)
    elif code == 6:  # div
        if first_live:
            for i in range(n):
                b = q * y[i]
                first[i] = adjoint[i] * (1.0 / b)
        if second_live:
            for i in range(n):
                a = p * x[i]
                b = q * y[i]
                second[i] = adjoint[i] * ((-a) / (b * b))
    elif code == 7:  # neg
        for i in range(n):
            first[i] = adjoint[i] * (-1.0)
    elif code == 8:  # abs
        for i in range(n):
            a = p * x[i]
            first[i] = adjoint[i] * ((2.0 * (0.5 * (math.copysign(1.0, a) + 1.0) if a != 0.0 else 0.5)) - 1.0)
    elif code == 9:  # inv
        for i in range(n):
            a = p * x[i]
            first[i] = adjoint[i] * (-(1.0 / (a * a)))
    elif code == 10:  # sqrt
        for i in range(n):
            v = value[i]
            first[i] = adjoint[i] * (0.5 / v)
    elif code == 11:  # cbrt
        for i in range(n):
            v = value[i]
            first[i] = adjoint[i] * (1.0 / (3.0 * (v * v)))
    elif code == 12:  # square
        for i in range(n):
            a = p * x[i]
            first[i] = adjoint[i] * (2.0 * a)
    elif code == 13:  # cube
        for i in range(n):
            a = p * x[i]
            first[i] = adjoint[i] * (3.0 * (a * a))
    elif code == 14:  # exp
        for i in range(n):
            v = value[i]
            first[i] = adjoint[i] * (v)
    elif code == 15:  # log
        for i in range(n):
            a = p * x[i]
            first[i] = adjoint[i] * (1.0 / a)
    elif code == 16:  # pow
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
    elif code == 17:  # min
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
    elif code == 18:  # max
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
    elif code == 19:  # sin
        for i in range(n):
            a = p * x[i]
            first[i] = adjoint[i] * (cosine(a))
    elif code == 20:  # cos
        for i in range(n):
            a = p * x[i]
            first[i] = adjoint[i] * (-(sine(a)))
    elif code == 21:  # tanh
        for i in range(n):
            v = value[i]
            first[i] = adjoint[i] * (1.0 - (v * v))
    elif code == 22:  # step
        for i in range(n):
            first[i] = adjoint[i] * (0.0)
    return 0.0
