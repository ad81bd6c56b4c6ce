"""Elementary functions without branches, so that LLVM turns a loop over them into vector instructions.

The mathematics library is called one number at a time; these are the same functions as polynomials.
Each is within a few units in the last place of `math` over the range in its docstring (measured in
tests/evolve/machine/test_vector_maths.py). Arguments and results are float64 scalars, dimensionless.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

# Adding and subtracting 1.5 * 2**52 rounds to the nearest integer.
ROUNDER = 6755399441055744.0
ROUNDER_BITS = 0x4338000000000000
LOG2_E = 1.4426950408889634
# ln 2 in two parts, the first with trailing zeros (fdlibm e_log.c).
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
# pi/2 in three parts of 33 bits (fdlibm e_rem_pio2.c).
TWO_OVER_PI = 0.6366197723675814
HALF_PI_1 = 1.57079632673412561417e00
HALF_PI_2 = 6.07710050630396597660e-11
HALF_PI_3 = 2.02226624879595063154e-21


def _bits_of(typing_context: Any, value: Any) -> Any:
    """Return the 64 bits of a float64 as an int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


def _float_of(typing_context: Any, bits: Any) -> Any:
    """Return the float64 with these 64 bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


# numba's types do not know what an intrinsic returns.
bits_of: Any = intrinsic(_bits_of)
float_of: Any = intrinsic(_float_of)
# `contract` lets a product and a sum become one instruction; it cannot make a valid value invalid.
inline_maths = njit(error_model="numpy", fastmath={"contract"}, forceinline=True)


@inline_maths
def exponential(x: float) -> float:
    """Return e to the power `x`: 0 below -708.39, infinite above 709.78. Taylor series of degree 13."""
    bounded = x
    if bounded < -708.39:
        bounded = -708.39
    if bounded > 709.78:
        bounded = 709.78
    shifted = bounded * LOG2_E + ROUNDER
    k = shifted - ROUNDER
    r = bounded - k * LN2_HIGH
    r = r - k * LN2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    # One factor of 2 is applied separately, since 2**1024 does not fit into the exponent field.
    scale: float = float_of((bits_of(shifted) - ROUNDER_BITS + 1022) << 52)
    value = p * scale * 2.0
    if x < -708.39:
        value = 0.0
    if x > 709.78:
        value = math.inf
    return value


@inline_maths
def logarithm(x: float) -> float:
    """Return the natural logarithm: -infinity at 0, nan below. Source: fdlibm e_log.c, Lg1..Lg7."""
    tiny = x < 2.3e-308
    scaled = x * 18014398509481984.0 if tiny else x
    bits: int = bits_of(scaled)
    offset = bits - 0x3FE6A09E00000000
    exponent = offset >> 52
    m: float = float_of(bits - (exponent << 52))
    k: float = float_of(ROUNDER_BITS + exponent) - ROUNDER
    k = k - 54.0 if tiny else k
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01))
    odd = w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)
    odd = z * (6.666666666666735130e-01 + w * 2.857142874366239149e-01 + w * odd)
    half = 0.5 * f * f
    value = k * LN2_HIGH - ((half - (s * (half + even + odd) + k * LN2_LOW)) - f)
    if x == 0.0:
        value = -math.inf
    if x < 0.0:
        value = math.nan
    if x == math.inf:
        value = math.inf
    if x != x:
        value = math.nan
    return value


@inline_maths
def _circular(x: float, quarter_turns: float) -> float:
    """Return the sine of `x` plus a whole number of quarter turns; not an int, or numba compiles it twice."""
    shifted = x * TWO_OVER_PI + ROUNDER
    k = shifted - ROUNDER
    r = x - k * HALF_PI_1
    r = r - k * HALF_PI_2
    r = r - k * HALF_PI_3
    z = r * r
    # fdlibm k_sin.c and k_cos.c, S1..S6 and C1..C6.
    sine_part = -2.50507602534068634195e-08 + z * 1.58969099521155010221e-10
    sine_part = 2.75573137070700676789e-06 + z * sine_part
    sine_part = -1.98412698298579493134e-04 + z * sine_part
    sine_part = 8.33333333332248946124e-03 + z * sine_part
    sine_part = -1.66666666666666324348e-01 + z * sine_part
    sine_value = r + r * z * sine_part
    cosine_part = 2.08757232129817482790e-09 + z * -1.13596475577881948265e-11
    cosine_part = -2.75573143513906633035e-07 + z * cosine_part
    cosine_part = 2.48015872894767294178e-05 + z * cosine_part
    cosine_part = -1.38888888888741095749e-03 + z * cosine_part
    cosine_part = 4.16666666666666019037e-02 + z * cosine_part
    cosine_value = 1.0 - (0.5 * z - z * z * cosine_part)
    quadrant = bits_of(shifted) + int(quarter_turns)
    value = cosine_value if (quadrant & 1) == 1 else sine_value
    value = -value if (quadrant & 2) == 2 else value
    # The reduction is exact only up to here; larger angles have no use in a formula, so they are invalid.
    return value if math.fabs(x) < 1.0e6 else math.nan


@inline_maths
def sine(x: float) -> float:
    """Return the sine of `x` radians; nan from 1e6 radians."""
    return _circular(x, 0.0)


@inline_maths
def cosine(x: float) -> float:
    """Return the cosine of `x` radians; nan from 1e6 radians."""
    return _circular(x, 1.0)


@inline_maths
def hyperbolic_tangent(x: float) -> float:
    """Return the hyperbolic tangent. Source: Cephes tanh.c below 0.625, the exponential above."""
    size = math.fabs(x)
    z = x * x
    top = (-9.64399179425052238628e-01 * z - 9.92877231001918586564e01) * z - 1.61468768441708447952e03
    bottom = ((z + 1.12811678491632931402e02) * z + 2.23548839060100448583e03) * z + 4.84406305325125486048e03
    small = x + x * z * (top / bottom)
    large = 1.0 - 2.0 / (exponential(2.0 * size) + 1.0)
    large = -large if x < 0.0 else large
    return small if size < 0.625 else large


@inline_maths
def cube_root(x: float) -> float:
    """Return the real cube root, negative for a negative `x`.

    The exponential of a third of the logarithm, then one Newton step.
    """
    size = math.fabs(x)
    guess = exponential(logarithm(size) / 3.0)
    guess = guess - (guess - size / (guess * guess)) / 3.0
    guess = 0.0 if size == 0.0 else guess
    guess = size if size == math.inf else guess
    return -guess if x < 0.0 else guess


@inline_maths
def power(a: float, b: float) -> float:
    """Return `a` to the power `b`, with a relative error of about 1e-16 * |b log a|.

    A negative base needs a whole exponent; other exponents give nan.
    """
    value = exponential(b * logarithm(math.fabs(a)))
    half = 0.5 * b
    # A negative base keeps its sign for an odd exponent, and gives nan for one that is no whole number.
    sign = 1.0 if np.floor(half) == half else -1.0
    sign = sign if np.floor(b) == b else math.nan
    sign = sign if a < 0.0 else 1.0
    of_zero = 0.0 if b > 0.0 else math.inf
    value = of_zero if a == 0.0 else value * sign
    of_one = 1.0 if a == a else math.nan
    return of_one if b == 0.0 else value


@inline_maths
def larger(a: float, b: float) -> float:
    """Return the larger of two numbers; nan where either is nan."""
    return a if (a > b or a != a) else b


@inline_maths
def smaller(a: float, b: float) -> float:
    """Return the smaller of two numbers; nan where either is nan."""
    return a if (a < b or a != a) else b
