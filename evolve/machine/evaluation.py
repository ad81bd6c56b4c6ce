"""Values of a program on a block of rows, and their derivatives with respect to its constants.

Reverse mode, so that the cost does not grow with the number of constants: Griewank and Walther, "Evaluating
Derivatives", 2008. Everything here is compiled and releases the interpreter's lock.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import njit
from numba import types as numba_types
from numba.core import codegen
from numba.core import compiler as numba_compiler
from trainlaw.evolve.machine.arrays import (
    CONSTANT,
    FIRST_OPERATOR,
    HUBER,
    LANES,
    SOFT_L1,
    VARIABLE,
    WEIGHTED,
    Rows,
    Work,
)
from trainlaw.evolve.machine.compiler_cache import CACHED
from trainlaw.evolve.machine.kernel_calls import Kernel, flat_from
from trainlaw.evolve.machine.kernels import apply_operator, apply_partials, is_binary
from trainlaw.evolve.machine.vector_maths import logarithm

Function = TypeVar("Function", bound=Callable[..., Any])
# numba's types know neither its compiler nor these options. Without wrappers and rewrites a seventh of the
# time is saved.
compiler: Any = njit
Library: Any = codegen.JITCodeLibrary
Compiler: Any = numba_compiler.Compiler


class _LinkedPart(Library):  # type: ignore[misc]
    """The code of a part; a numba that names these steps differently takes them, and more time."""

    def _optimize_final_module(self) -> None:
        """Leave the code as it is: the caller's is optimised whole."""

    def _finalize_final_module(self) -> None:
        """Make no machine code, which nothing would run."""
        self._finalized = True

    @property
    def codegen(self) -> Any:
        """Where numba sets the environment of machine code, which a part has not."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Set no environment."""

    def get_pointer_to_function(self, name: str) -> int:
        """Return that of no function."""
        return 0


class PartCompiler(Compiler):  # type: ignore[misc]
    """Compiles functions that only compiled functions call once, in the function that Python calls.

    numba links the code of a function into each of its callers, and optimises every copy and makes machine
    code of it. Parts are linked as they are, so that LLVM optimises each of them once, where its callers end:
    a third of the compilation is saved.
    """

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """Compile a function into a part."""
        self.state.library = _LinkedPart(self.state.targetctx.codegen(), function.__qualname__)
        return super().compile_extra(function)


def compiled(function: Function, fastmath: Any = False) -> Function:
    """Decorate a function that only compiled functions call, and that makes no arrays.

    References are not counted, and numbers written in a call have the type of all others: numba would compile
    the function again for each of them. fastmath : as of numba.
    """
    made = compiler(
        error_model="numpy",
        nogil=True,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        pipeline_class=PartCompiler,
        no_rewrites=True,
        _nrt=False,
        fastmath=fastmath,
    )(function)
    template = made.get_call_template
    made.get_call_template = lambda args, kws: template(tuple(map(numba_types.unliteral, args)), kws)
    compiled_function: Function = made
    return compiled_function


def entry(function: Function) -> Function:
    """Decorate a compiled function that Python calls, and that makes no arrays."""
    made: Function = compiler(
        error_model="numpy", nogil=True, cache=CACHED, no_cfunc_wrapper=True, _nrt=False
    )(function)
    return made


# Sums may be reordered into vector lanes; that cannot make an invalid value valid.
SUMMING = frozenset({"contract", "reassoc"})
# Arguments of compiled functions: for an ordinary number numba would compile the function a second time.
FIRST: Any = np.int64(0)
NO_GROUP: Any = np.int64(-1)
# Places of the kernels' addresses in `Work.kernels`.
OPERATOR, PARTIALS, RESIDUALS, EQUATIONS, SCALE = range(5)


def weigh_values(
    address: int,
    values: np.ndarray,
    targets: np.ndarray,
    scales: np.ndarray,
    weights: np.ndarray,
    residuals: np.ndarray,
    factors: np.ndarray,
    n: int,
    logarithmic: int,
    robust: int,
    width: float,
) -> float:
    """Return the weighted loss of `n` values, and leave weighted residuals and their slopes."""
    total = 0.0
    for i in range(n):
        if logarithmic:
            r = logarithm(values[i]) - targets[i]
            slope = 1.0 / values[i]
        else:
            slope = scales[i]
            r = (values[i] - targets[i]) * slope
        size = math.fabs(r)
        rho = r * r
        share = 1.0
        if robust == HUBER:
            far = size > width
            rho = (2.0 * size - width) * width if far else rho
            share = width / size if far else 1.0
        elif robust == SOFT_L1:
            bend = math.sqrt(1.0 + rho / (width * width))
            rho = 2.0 * width * width * (bend - 1.0)
            share = 1.0 / bend
        factor = math.sqrt(weights[i] * share)
        residuals[i] = r * factor
        factors[i] = slope * factor
        total += weights[i] * rho
    return total


KERNELS = {
    OPERATOR: Kernel(apply_operator, "iipppffi", frozenset({"contract"})),
    PARTIALS: Kernel(apply_partials, "iipppffipppii", frozenset({"contract"})),
    RESIDUALS: Kernel(weigh_values, "ippppppiiif", SUMMING),
}
call_operator, call_partials, call_residuals = (KERNELS[i].call for i in (OPERATOR, PARTIALS, RESIDUALS))


@compiled
def link(program: np.ndarray, nodes: int, work: Work) -> None:
    """Find the arguments, the row and the constants of each node; `set_constants` then sets their values.

    program : int64, tokens of the program's nodes and perhaps of others.
    """
    # Without branches, every second of which would be predicted wrongly: leaves get any arguments.
    depth = 1
    for node in range(nodes - 1, -1, -1):
        code = program[node] & 255
        work.scale[node] = 1.0
        work.moving[node] = (code == VARIABLE) | (code == WEIGHTED)
        is_operation = int(code >= FIRST_OPERATOR)
        a = work.stack[depth - 1]
        depth -= is_operation + int(is_binary(code))
        b = work.stack[depth]
        work.left[node] = a
        work.right[node] = b
        inside = (work.live[a] | work.live[b]) & is_operation
        work.live[node] = inside | (code == CONSTANT) | (code == WEIGHTED)
        work.stack[depth] = node
        depth += 1
    inner = 0
    constants = 0
    for node in range(nodes):
        code = program[node] & 255
        is_computed = int(code >= FIRST_OPERATOR)
        column = (program[node] >> 8) * (code != CONSTANT)
        work.row[node] = is_computed * (1 + inner) + (1 - is_computed) * column
        # The next node overwrites one that does not count.
        work.inner[inner] = node
        inner += is_computed
        work.holder[constants] = node
        constants += int(code == CONSTANT) | int(code == WEIGHTED)
    work.sizes[0] = inner
    work.sizes[1] = constants


@compiled
def set_constants(theta: np.ndarray, work: Work) -> None:
    """Set the constants of the linked program to `theta` (n_constants,): a leaf is one times its row."""
    for constant in range(theta.size):
        work.scale[work.holder[constant]] = theta[constant]


@compiled
def values_from(rows: Rows, node: int, shift: int, first: int, work: Work) -> np.ndarray:
    """Return the values of a node, without its factor, from row `first` of the block at `shift` on."""
    # Both places are computed, so that none is guessed.
    column = flat_from(rows.columns, 0, work.row[node] * rows.stride + shift + first)
    computed = flat_from(work.arena, work.row[node], first)
    values: np.ndarray = column if work.moving[node] else computed
    return values


@compiled
def backward(program: np.ndarray, rows: Rows, shift: int, n: int, work: Work) -> None:
    """Compute the derivatives with respect to each constant on the first `n` rows of a block.

    They go into `work.jacobian`; the root's adjoint is given.
    """
    live = work.live
    for k in range(work.sizes[0]):
        node = work.inner[k]
        code = program[node] & 255
        if not live[node]:
            continue
        a, b = work.left[node], work.right[node]
        call_partials(
            work.kernels[PARTIALS],
            code,
            values_from(rows, a, shift, FIRST, work),
            values_from(rows, b, shift, FIRST, work),
            flat_from(work.arena, work.row[node], 0),
            work.scale[a],
            work.scale[b],
            n,
            flat_from(work.adjoints, node, 0),
            flat_from(work.adjoints, a, 0),
            flat_from(work.adjoints, b, 0),
            live[a],
            live[b],
        )
    for constant in range(work.sizes[1]):
        node = work.holder[constant]
        slopes, adjoints = flat_from(work.jacobian, constant, 0), flat_from(work.adjoints, node, 0)
        values = values_from(rows, node, shift, FIRST, work)
        for i in range(n):
            slopes[i] = adjoints[i] * values[i]


@compiled
def observe(program: np.ndarray, rows: Rows, block: int, first: int, last: int, work: Work) -> None:
    """Compute `work.value` of the rows `first` to `last` of a block.

    A leaf costs nothing: its row and its factor are read where it is used.
    """
    shift = rows.block_start[block]
    begin = first // LANES * LANES
    end = min((last + LANES - 1) // LANES * LANES, work.value.size)
    for k in range(work.sizes[0] - 1, -1, -1):
        node = work.inner[k]
        code = program[node] & 255
        out = flat_from(work.arena, work.row[node], begin)
        a, b = work.left[node], work.right[node]
        x, y = values_from(rows, a, shift, begin, work), values_from(rows, b, shift, begin, work)
        call_operator(work.kernels[OPERATOR], code, x, y, out, work.scale[a], work.scale[b], end - begin)
    values, out = values_from(rows, FIRST, shift, begin, work), flat_from(work.value, 0, begin)
    factor = work.scale[0]
    for i in range(end - begin):
        out[i] = factor * values[i]


@compiled
def differentiate(program: np.ndarray, rows: Rows, block: int, work: Work) -> None:
    """Compute the derivatives of the weighted residuals of the block observed last, into `work.jacobian`."""
    n = rows.block_start[block + 1] - rows.block_start[block]
    adjoint = flat_from(work.adjoints, 0, 0)
    whole = (n + LANES - 1) // LANES * LANES
    for i in range(whole):
        adjoint[i] = work.factor[i] if i < n else 0.0
    backward(program, rows, rows.block_start[block], whole, work)


@compiled
def weigh_residuals(rows: Rows, start: int, begin: int, end: int, work: Work) -> float:
    """Return the weighted loss of the rows `begin` to `end`, of the block that begins at `start`.

    Weighted residuals and their slopes are left in `work`. Not finite = invalid.
    """
    first = begin - start
    loss: float = call_residuals(
        work.kernels[RESIDUALS],
        flat_from(work.value, 0, first),
        flat_from(rows.target, 0, begin),
        flat_from(rows.scale, 0, begin),
        flat_from(rows.weight, 0, begin),
        flat_from(work.residual, 0, first),
        flat_from(work.factor, 0, first),
        end - begin,
        rows.logarithmic,
        rows.robust,
        rows.width,
    )
    return loss


@compiled
def skipped_range(rows: Rows, start: int, n: int, skip: int) -> tuple[int, int]:
    """Return where the group `skip` begins and ends among the `n` rows of the block at `start`.

    An empty range at the end for -1, which skips nothing.
    """
    if skip < 0:
        return n, n
    begin = min(max(rows.group_start[skip] - start, 0), n)
    return begin, min(max(rows.group_start[skip + 1] - start, 0), n)


@compiled
def weigh_block(rows: Rows, block: int, skip: int, work: Work) -> float:
    """Return the weighted loss of a block without the group `skip` (-1 none), whose residuals become zero."""
    start, n = rows.block_start[block], rows.block_start[block + 1] - rows.block_start[block]
    begin, end = skipped_range(rows, start, n, skip)
    loss: float = weigh_residuals(rows, start, start, start + begin, work)
    for i in range(begin, end):
        work.residual[i] = 0.0
        work.factor[i] = 0.0
    return loss + weigh_residuals(rows, start, start + end, start + n, work)
