"""A formula as a function of JAX: it can be traced, differentiated and compiled."""

from trainlaw.formulas.algebra.expression import Expression
from trainlaw.formulas.formula import Formula
from trainlaw.formulas.printers.numpy_function import numpy_like, print_array_function

JAX = numpy_like("jnp")


def print_jax_function(formula: Formula | Expression, name: str = "predict") -> str:
    """Return the source of a module with one function: features (arrays, in their units) in, target out.

    Arguments and invalid values as of the numpy function. JAX computes in single precision unless
    `jax_enable_x64` is set.
    """
    return print_array_function(formula, name, JAX, "import jax.numpy as jnp", "jnp.asarray({}, dtype=float)")
