"""Write `evolve/machine/kernels.py`, the operators of the compiled machine, from the operator table.

Run `python -m tools.kernels` from the root of a checkout after a change of the table; a test compares the
file with the table. It is checked in because numba caches compiled functions on disk only for source files.
"""

import re
from pathlib import Path

from trainlaw.evolve.machine.arrays import FIRST_OPERATOR
from trainlaw.formulas import OPERATORS, Apply, Constant, Expression, Variable, parse_text
from trainlaw.formulas.algebra.operators import Operator
from trainlaw.formulas.files.text_files import write_text_atomically

KERNELS_PATH = Path("evolve/machine/kernels.py")
# Operators whose `math` function has no fast vector instruction; `vector_maths` computes the same values.
VECTOR_FORMS = {
    "cbrt": "cube_root(a)",
    "cos": "cosine(a)",
    "exp": "exponential(a)",
    "log": "logarithm(a)",
    "max": "larger(a, b)",
    "min": "smaller(a, b)",
    "pow": "power(a, b)",
    "sin": "sine(a)",
    "tanh": "hyperbolic_tangent(a)",
}
# With a whole number of vectors LLVM writes no loop over single rows.
_START = ("    vector_hints()", "    n = (n + LANES - 1) & -LANES")
_HEADER = '''"""Operators of the compiled machine, written by `tools/kernels.py`."""

import math

import numpy as np
from numba import njit
from trainlaw.evolve.machine.arrays import LANES
from trainlaw.evolve.machine.compiler_cache import CACHED
from trainlaw.evolve.machine.kernel_calls import vector_hints
from trainlaw.evolve.machine.vector_maths import (
    {imports},
)

OPERATOR_CODES = {codes}


@njit(error_model="numpy", nogil=True, cache=CACHED)
def is_binary(code: int) -> bool:
    """Return whether the operator with this code takes two arguments."""
    return {binary}


'''


def operator_codes() -> dict[str, int]:
    """Return the code of each operator, in the order of the table."""
    return {name: code for code, name in enumerate(OPERATORS, FIRST_OPERATOR)}


def kernels_text() -> str:
    """Return the whole text of `kernels.py`."""
    codes = operator_codes()
    imports = sorted(form.partition("(")[0] for form in VECTOR_FORMS.values())
    binary = [f"code == {codes[name]}" for name, row in OPERATORS.items() if row.arity == 2]
    header = _HEADER.format(
        imports=",\n    ".join(imports),
        codes="{\n" + "".join(f'    "{name}": {code},\n' for name, code in codes.items()) + "}",
        binary="(\n        " + "\n        or ".join(binary) + "\n    )",
    )
    return header + _values_text(codes) + "\n\n" + _partials_text(codes)


def _values_text(codes: dict[str, int]) -> str:
    lines = [
        "def apply_operator(",
        "    address: int, code: int, x: np.ndarray, y: np.ndarray, out: np.ndarray,",
        "    p: float, q: float, n: int",
        ") -> float:",
        '    """Compute `n` values, up to whole vectors, of an operator from p times `x` and q times `y`."""',
        *_START,
    ]
    for position, (name, row) in enumerate(OPERATORS.items()):
        lines.append(f"    {'el' if position else ''}if code == {codes[name]}:  # {name}")
        lines.append("        for i in range(n):")
        lines.append("            a = p * x[i]")
        if row.arity == 2:
            lines.append("            b = q * y[i]")
        lines.append(f"            out[i] = {_form(name)}")
    return "\n".join([*lines, "    return 0.0"]) + "\n"


def _partials_text(codes: dict[str, int]) -> str:
    sources = {"a": "p * x[i]", "b": "q * y[i]", "v": "value[i]"}
    lines = [
        "def apply_partials(",
        "    address: int, code: int, x: np.ndarray, y: np.ndarray, value: np.ndarray,",
        "    p: float, q: float, n: int,",
        "    adjoint: np.ndarray, first: np.ndarray, second: np.ndarray, first_live: int, second_live: int",
        ") -> float:",
        '    """Propagate `n` adjoints, up to whole vectors, to the arguments that are live."""',
        *_START,
    ]
    for position, (name, row) in enumerate(OPERATORS.items()):
        partials = [_python(parse_text(text), row) for text in row.partials]
        lines.append(f"    {'el' if position else ''}if code == {codes[name]}:  # {name}")
        for child, partial in zip(("first", "second"), partials, strict=False):
            used = re.findall(r"\b[abv]\b", partial)
            # A single argument is live where the operation is.
            lines += [f"        if {child}_live:"] if row.arity == 2 else []
            indent = "    " * row.arity
            lines.append(f"    {indent}for i in range(n):")
            lines += [
                f"        {indent}{letter} = {form}" for letter, form in sources.items() if letter in used
            ]
            lines.append(f"        {indent}{child}[i] = adjoint[i] * ({partial})")
    return "\n".join([*lines, "    return 0.0"]) + "\n"


def _form(name: str) -> str:
    """Return the value of an operator over a and b as Python text, by functions with vector instructions."""
    row = OPERATORS[name]
    if name in VECTOR_FORMS or row.definition is None:
        return VECTOR_FORMS.get(name, row.scalar)
    return _python(parse_text(row.definition), row)[1:-1]  # without the outer parentheses


def _python(partial: Expression, row: Operator) -> str:
    """Return a derivative or definition as Python text; `v` is the operator's own value, which is stored."""
    own_value = Apply(row.name, tuple(Variable(letter) for letter in "ab"[: row.arity]))

    def text_of(node: Expression) -> str:
        if node == own_value:
            return "v"
        if isinstance(node, Constant):
            return repr(node.value)
        if isinstance(node, Variable):
            return node.name
        form = _form(node.operator)
        arguments = dict(zip("ab", (text_of(argument) for argument in node.arguments), strict=False))
        # The words a and b of the form are the arguments: names, or in parentheses.
        return "(" + re.sub(r"\b[ab]\b", lambda word: arguments.get(word.group(), word.group()), form) + ")"

    return text_of(partial)


if __name__ == "__main__":
    write_text_atomically(KERNELS_PATH, kernels_text())
