"""Operators of the compiled machine, written by `trainlaw.evolve.machine.kernel_source`."""

import math

import numpy as np
from numba import njit
from trainlaw.evolve.machine.compiler_cache import CACHED
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
_kernel = njit(error_model="numpy", nogil=True, fastmath={"contract"}, cache=CACHED)


@_kernel
def is_binary(code: int) -> bool:
    """Return whether the operator with this code takes two arguments."""
    return code == 4 or code == 5 or code == 6 or code == 7 or code == 17 or code == 18 or code == 19


@_kernel
def apply_operator(
    code: int, arena: np.ndarray, target: int, left: int, right: int, p: float, q: float, begin: int, end: int
) -> None:
    """Compute row `target`, `begin` to `end`, from p times row `left` and q times row `right`."""
    x, y, out = arena[left, begin:end], arena[right, begin:end], arena[target, begin:end]
    if code == 4:  # add
        for i in range(out.size):
            a = p * x[i]
            b = q * y[i]
            out[i] = a + b
    elif code == 5:  # sub
        for i in range(out.size):
            a = p * x[i]
            b = q * y[i]
            out[i] = a - b
    elif code == 6:  # mul
        for i in range(out.size):
            a = p * x[i]
            b = q * y[i]
            out[i] = a * b
    elif code == 7:  # div
        for i in range(out.size):
            a = p * x[i]
            b = q * y[i]
            out[i] = a / b
    elif code == 8:  # neg
        for i in range(out.size):
            a = p * x[i]
            out[i] = -a
    elif code == 9:  # abs
        for i in range(out.size):
            a = p * x[i]
            out[i] = math.fabs(a)
    elif code == 10:  # inv
        for i in range(out.size):
            a = p * x[i]
            out[i] = 1.0 / a
    elif code == 11:  # sqrt
        for i in range(out.size):
            a = p * x[i]
            out[i] = math.sqrt(a)
    elif code == 12:  # cbrt
        for i in range(out.size):
            a = p * x[i]
            out[i] = cube_root(a)
    elif code == 13:  # square
        for i in range(out.size):
            a = p * x[i]
            out[i] = a * a
    elif code == 14:  # cube
        for i in range(out.size):
            a = p * x[i]
            out[i] = a * a * a
    elif code == 15:  # exp
        for i in range(out.size):
            a = p * x[i]
            out[i] = exponential(a)
    elif code == 16:  # log
        for i in range(out.size):
            a = p * x[i]
            out[i] = logarithm(a)
    elif code == 17:  # pow
        for i in range(out.size):
            a = p * x[i]
            b = q * y[i]
            out[i] = power(a, b)
    elif code == 18:  # min
        for i in range(out.size):
            a = p * x[i]
            b = q * y[i]
            out[i] = smaller(a, b)
    elif code == 19:  # max
        for i in range(out.size):
            a = p * x[i]
            b = q * y[i]
            out[i] = larger(a, b)
    elif code == 20:  # sin
        for i in range(out.size):
            a = p * x[i]
            out[i] = sine(a)
    elif code == 21:  # cos
        for i in range(out.size):
            a = p * x[i]
            out[i] = cosine(a)
    elif code == 22:  # tanh
        for i in range(out.size):
            a = p * x[i]
            out[i] = hyperbolic_tangent(a)
    elif code == 23:  # step
        for i in range(out.size):
            a = p * x[i]
            out[i] = 0.5 * (math.copysign(1.0, a) + 1.0) if a != 0.0 else 0.5


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
    first_live: bool,
    second_live: bool,
) -> None:
    """Propagate `n` adjoints of `node` to the nodes `first` and `second` where they are live."""
    if code == 4:  # add
        if first_live:
            for i in range(n):
                adjoints[first, i] = adjoints[node, i] * (1.0)
        if second_live:
            for i in range(n):
                adjoints[second, i] = adjoints[node, i] * (1.0)
    elif code == 5:  # sub
        if first_live:
            for i in range(n):
                adjoints[first, i] = adjoints[node, i] * (1.0)
        if second_live:
            for i in range(n):
                adjoints[second, i] = adjoints[node, i] * (-1.0)
    elif code == 6:  # mul
        if first_live:
            for i in range(n):
                b = q * arena[right, i]
                adjoints[first, i] = adjoints[node, i] * (b)
        if second_live:
            for i in range(n):
                a = p * arena[left, i]
                adjoints[second, i] = adjoints[node, i] * (a)
    elif code == 7:  # div
        if first_live:
            for i in range(n):
                b = q * arena[right, i]
                adjoints[first, i] = adjoints[node, i] * (1.0 / b)
        if second_live:
            for i in range(n):
                a = p * arena[left, i]
                b = q * arena[right, i]
                adjoints[second, i] = adjoints[node, i] * ((-a) / (b * b))
    elif code == 8:  # neg
        if first_live:
            for i in range(n):
                adjoints[first, i] = adjoints[node, i] * (-1.0)
    elif code == 9:  # abs
        if first_live:
            for i in range(n):
                a = p * arena[left, i]
                adjoints[first, i] = adjoints[node, i] * (
                    (2.0 * (0.5 * (math.copysign(1.0, a) + 1.0) if a != 0.0 else 0.5)) - 1.0
                )
    elif code == 10:  # inv
        if first_live:
            for i in range(n):
                a = p * arena[left, i]
                adjoints[first, i] = adjoints[node, i] * (-(1.0 / (a * a)))
    elif code == 11:  # sqrt
        if first_live:
            for i in range(n):
                v = arena[target, i]
                adjoints[first, i] = adjoints[node, i] * (0.5 / v)
    elif code == 12:  # cbrt
        if first_live:
            for i in range(n):
                v = arena[target, i]
                adjoints[first, i] = adjoints[node, i] * (1.0 / (3.0 * (v * v)))
    elif code == 13:  # square
        if first_live:
            for i in range(n):
                a = p * arena[left, i]
                adjoints[first, i] = adjoints[node, i] * (2.0 * a)
    elif code == 14:  # cube
        if first_live:
            for i in range(n):
                a = p * arena[left, i]
                adjoints[first, i] = adjoints[node, i] * (3.0 * (a * a))
    elif code == 15:  # exp
        if first_live:
            for i in range(n):
                v = arena[target, i]
                adjoints[first, i] = adjoints[node, i] * (v)
    elif code == 16:  # log
        if first_live:
            for i in range(n):
                a = p * arena[left, i]
                adjoints[first, i] = adjoints[node, i] * (1.0 / a)
    elif code == 17:  # pow
        if first_live:
            for i in range(n):
                a = p * arena[left, i]
                b = q * arena[right, i]
                adjoints[first, i] = adjoints[node, i] * (b * (power(a, (b - 1.0))))
        if second_live:
            for i in range(n):
                a = p * arena[left, i]
                v = arena[target, i]
                adjoints[second, i] = adjoints[node, i] * (v * (logarithm(a)))
    elif code == 18:  # min
        if first_live:
            for i in range(n):
                a = p * arena[left, i]
                b = q * arena[right, i]
                adjoints[first, i] = adjoints[node, i] * (
                    0.5 * (math.copysign(1.0, (b - a)) + 1.0) if (b - a) != 0.0 else 0.5
                )
        if second_live:
            for i in range(n):
                a = p * arena[left, i]
                b = q * arena[right, i]
                adjoints[second, i] = adjoints[node, i] * (
                    0.5 * (math.copysign(1.0, (a - b)) + 1.0) if (a - b) != 0.0 else 0.5
                )
    elif code == 19:  # max
        if first_live:
            for i in range(n):
                a = p * arena[left, i]
                b = q * arena[right, i]
                adjoints[first, i] = adjoints[node, i] * (
                    0.5 * (math.copysign(1.0, (a - b)) + 1.0) if (a - b) != 0.0 else 0.5
                )
        if second_live:
            for i in range(n):
                a = p * arena[left, i]
                b = q * arena[right, i]
                adjoints[second, i] = adjoints[node, i] * (
                    0.5 * (math.copysign(1.0, (b - a)) + 1.0) if (b - a) != 0.0 else 0.5
                )
    elif code == 20:  # sin
        if first_live:
            for i in range(n):
                a = p * arena[left, i]
                adjoints[first, i] = adjoints[node, i] * (cosine(a))
    elif code == 21:  # cos
        if first_live:
            for i in range(n):
                a = p * arena[left, i]
                adjoints[first, i] = adjoints[node, i] * (-(sine(a)))
    elif code == 22:  # tanh
        if first_live:
            for i in range(n):
                v = arena[target, i]
                adjoints[first, i] = adjoints[node, i] * (1.0 - (v * v))
    elif code == 23:  # step
        if first_live:
            for i in range(n):
                adjoints[first, i] = adjoints[node, i] * (0.0)
