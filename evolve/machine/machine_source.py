"""Writes `machine_kernels.py`, the compiled machine's operators, from the one operator table.

`python -m trainlaw.evolve.machine.machine_source` writes the file anew after a row of the table has changed; a test
holds file and table together. A checked-in file is what lets numba keep the compiled machine on disk.
"""

import re
from pathlib import Path

from trainlaw.evolve.machine.arrays import FIRST_OPERATOR
from trainlaw.formulas import OPERATORS, Apply, Constant, Expression, Variable, parse_text
from trainlaw.formulas.files import write_text_atomically
from trainlaw.formulas.operators import Operator

KERNELS_PATH = Path(__file__).with_name("machine_kernels.py")
# Operators whose `math` function has no vector form: the same values from `vector_maths`.
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
_HEADER = '''"""The operators of the compiled machine. Written by `trainlaw.evolve.machine.machine_source`: do not edit."""

import math

import numpy as np
from numba import njit

from trainlaw.evolve.machine.vector_maths import (
    {imports},
)

OPERATOR_CODES = {codes}
_kernel = njit(error_model="numpy", nogil=True, fastmath={{"contract"}}, cache=True)


@_kernel
def is_binary(code: int) -> bool:
    """Whether the operator with this code takes two arguments."""
    return {binary}


'''


def operator_codes() -> dict[str, int]:
    """Code of each operator, in the order of the table."""
    return {name: code for code, name in enumerate(OPERATORS, FIRST_OPERATOR)}


def machine_text() -> str:
    """The whole text of `machine_kernels.py`."""
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
        "@_kernel",
        "def apply_operator(",
        "    code: int, arena: np.ndarray, target: int, left: int, right: int, p: float, q: float,",
        "    begin: int, end: int",
        ") -> None:",
        '    """Values `begin` to `end` of row `target` from p times row `left` and q times row `right`."""',
        # Indices from 0 in slices: a loop from an unknown beginning is not turned into vector instructions.
        "    x, y, out = arena[left, begin:end], arena[right, begin:end], arena[target, begin:end]",
    ]
    for position, (name, row) in enumerate(OPERATORS.items()):
        lines.append(f"    {'el' if position else ''}if code == {codes[name]}:  # {name}")
        lines.append("        for i in range(out.size):")
        lines.append("            a = p * x[i]")
        if row.arity == 2:
            lines.append("            b = q * y[i]")
        lines.append(f"            out[i] = {VECTOR_FORMS.get(name, row.scalar)}")
    return "\n".join(lines) + "\n"


def _partials_text(codes: dict[str, int]) -> str:
    sources = {"a": "p * arena[left, i]", "b": "q * arena[right, i]", "v": "arena[target, i]"}
    lines = [
        "@_kernel",
        "def apply_partials(",
        "    code: int, arena: np.ndarray, target: int, left: int, right: int, p: float, q: float, n: int,",
        "    adjoints: np.ndarray, node: int, first: int, second: int, first_live: bool, second_live: bool",
        ") -> None:",
        '    """Hands `n` adjoints of `node` on to the nodes `first` and `second` where they are live."""',
    ]
    for position, (name, row) in enumerate(OPERATORS.items()):
        partials = [_python(parse_text(text), row) for text in row.partials]
        lines.append(f"    {'el' if position else ''}if code == {codes[name]}:  # {name}")
        for child, partial in zip(("first", "second"), partials, strict=False):
            used = re.findall(r"\b[abv]\b", partial)
            lines.append(f"        if {child}_live:")
            lines.append("            for i in range(n):")
            lines += [
                f"                {letter} = {form}" for letter, form in sources.items() if letter in used
            ]
            lines.append(f"                adjoints[{child}, i] = adjoints[node, i] * ({partial})")
    return "\n".join(lines) + "\n"


def _python(partial: Expression, row: Operator) -> str:
    """Python text of a partial derivative; where the operator's own value occurs in it, the stored `v` is
    read.
    """
    own_value = Apply(row.name, tuple(Variable(letter) for letter in "ab"[: row.arity]))

    def text_of(node: Expression) -> str:
        if node == own_value:
            return "v"
        if isinstance(node, Constant):
            return repr(node.value)
        if isinstance(node, Variable):
            return node.name
        form = VECTOR_FORMS.get(node.operator, OPERATORS[node.operator].scalar)
        arguments = dict(zip("ab", (text_of(argument) for argument in node.arguments), strict=False))
        return _fill(form, arguments)

    return text_of(partial)


def _fill(form: str, arguments: dict[str, str]) -> str:
    """Puts argument texts, which are names or in parentheses, for the words a and b of an operator's form."""
    return "(" + re.sub(r"\b[ab]\b", lambda word: arguments.get(word.group(), word.group()), form) + ")"


if __name__ == "__main__":
    write_text_atomically(KERNELS_PATH, machine_text())
