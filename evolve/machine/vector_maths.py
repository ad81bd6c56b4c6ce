"""Elementary functions without branches, so that LLVM turns a loop over them into vector instructions.

The mathematics library is called one number at a time; these are the same functions as polynomials.
Each is within a few units in the last place of `math` over the range in its docstring (measured in
tests/evolve/machine/test_vector_maths.py). Arguments and results are float64 scalars, dimensionless.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

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
# pi in three parts of 33 bits (twice those of pi/2 in fdlibm e_rem_pio2.c).
ONE_OVER_PI = 0.3183098861837907
PI_1 = 2.0 * 1.57079632673412561417e00
PI_2 = 2.0 * 6.07710050630396597660e-11
PI_3 = 2.0 * 2.02226624879595063154e-21


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


Maths = TypeVar("Maths", bound=Callable[..., float])
# numba's types do not know the result of an intrinsic, nor all options.
bits_of: Any = intrinsic(_bits_of)
float_of: Any = intrinsic(_float_of)
# `contract` lets a product and a sum become one instruction; it cannot make a valid value invalid.
compiler: Any = njit


def inline_maths(function: Maths) -> Maths:
    """Decorate an elementary function, which is compiled into its callers."""
    made: Maths = compiler(
        error_model="numpy", fastmath={"contract"}, forceinline=True, no_cfunc_wrapper=True
    )(function)
    return made


@inline_maths
def exponential(x: float) -> float:
    """Return e to the power `x`: 0 below -708.05, infinite above 709.78. Taylor series of degree 13."""
    # At the lower bound the scale below is 0. Above the upper one the product is infinite. Two bounds of the
    # same number would be merged into more instructions.
    bounded = x
    if bounded < -708.4:
        bounded = -708.4
    shifted = bounded * LOG2_E + ROUNDER
    if shifted > ROUNDER + 1024.0:
        shifted = ROUNDER + 1024.0
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
    return p * scale * 2.0


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
    invalid = -math.inf if x == 0.0 else math.nan
    value = value if x > 0.0 else invalid
    return math.inf if x == math.inf else value


@inline_maths
def _sine_of(r: float, flip: int) -> float:
    """Return the sine of `r` between -pi/2 and pi/2, negative for an odd `flip`.

    A polynomial of degree 17 through the values at the Chebyshev nodes; relative error below 4e-17.
    """
    z = r * r
    p = -7.643967132130914e-13 + z * 2.7314053169647314e-15
    p = 1.6058977213318265e-10 + z * p
    p = -2.505210761546661e-08 + z * p
    p = 2.755731921915122e-06 + z * p
    p = -1.9841269841254928e-04 + z * p
    p = 8.333333333333316e-03 + z * p
    p = -1.6666666666666666e-01 + z * p
    value: float = float_of(bits_of(r + r * z * p) ^ (flip << 63))
    return value


@inline_maths
def _less_turns(x: float, k: float) -> float:
    """Return `x` minus `k` times pi; exact up to 1e6: larger angles have no use in a formula, so are nan."""
    r = x - k * PI_1
    r = r - k * PI_2
    r = r - k * PI_3
    return r if math.fabs(x) < 1.0e6 else math.nan


@inline_maths
def sine(x: float) -> float:
    """Return the sine of `x` radians; nan from 1e6 radians."""
    shifted = x * ONE_OVER_PI + ROUNDER
    return _sine_of(_less_turns(x, shifted - ROUNDER), bits_of(shifted))


@inline_maths
def cosine(x: float) -> float:
    """Return the cosine of `x` radians; nan from 1e6 radians."""
    shifted = (x * ONE_OVER_PI - 0.5) + ROUNDER
    return _sine_of(_less_turns(x, (shifted - ROUNDER) + 0.5), bits_of(shifted) + 1)


@inline_maths
def hyperbolic_tangent(x: float) -> float:
    """Return the hyperbolic tangent: e^t - 1 over e^t + 1, where t = 2 |x|.

    The polynomial, through the values at the Chebyshev nodes, is e^r - 1 with a relative error below 5e-17,
    so that nothing cancels for small arguments.
    """
    t = 2.0 * math.fabs(x)
    # The result is 1 from here on.
    if t > 40.0:
        t = 40.0
    shifted = t * LOG2_E + ROUNDER
    k = shifted - ROUNDER
    r = t - k * LN2_HIGH
    r = r - k * LN2_LOW
    p = 2.7620201591031547e-07 + r * 2.5100472505694996e-08
    p = 2.7557268276905696e-06 + r * p
    p = 2.4801521057868204e-05 + r * p
    p = 1.9841269863171557e-04 + r * p
    p = 1.3888888917367081e-03 + r * p
    p = 8.333333333330039e-03 + r * p
    p = 4.1666666666623824e-02 + r * p
    p = 1.6666666666666669e-01 + r * p
    p = 5.000000000000001e-01 + r * p
    p = r + r * r * p
    scale: float = float_of((bits_of(shifted) - ROUNDER_BITS + 1023) << 52)
    above = scale * p + (scale - 1.0)
    return math.copysign(above / (above + 2.0), x)


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
