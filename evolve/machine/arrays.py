"""The arrays between search and machine: programs, rows and scratch, as named tuples, which numba compiles.

A program is a tree in prefix order, one integer `code + 256 * column` per node. Codes 0 to 2 are leaves,
the operators follow in the order of their table. Constants are numbered in prefix order.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.machine.kernel_calls import Packed
from trainlaw.formulas import InputError

CONSTANT, VARIABLE, WEIGHTED, FIRST_OPERATOR = 0, 1, 2, 3
SQUARES, HUBER, SOFT_L1 = 0, 1, 2
# A block is long enough to pay for the dispatch of each node, and short enough that values, adjoints and
# derivatives of a typical program stay in the second-level cache.
BLOCK_ROWS = 512
# Operators compute a multiple of this number of rows, four vectors: no loop ends in single rows.
LANES = 32
# Bytes of a line of the caches, and of the widest vector.
LINE_BYTES = 64
# Nodes and constants of the longest program that the scratch holds.
NODE_LIMIT = 256
CONSTANT_LIMIT = 64
# Most groups of rows, and most kernels.
GROUP_LIMIT = 32
KERNEL_LIMIT = 8


class Programs(NamedTuple):
    """Many programs, concatenated.

    tokens : int64 (n_nodes,). offsets : int64 (n_programs + 1,), where each program begins in `tokens`.
    theta, lower, upper : float64 (n_constants,), constants and their bounds. scaling : bool (n_constants,),
    those to which the whole value is proportional. pull, centre : float64 (n_constants,), weight of the
    squared distance of a constant from its centre in the fit, where one that no row determines ends.
    constant_offsets : int64
    (n_programs + 1,), where each program begins in `theta`.
    """

    tokens: NDArray[np.int64]
    offsets: NDArray[np.int64]
    theta: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    scaling: NDArray[np.bool_]
    pull: NDArray[np.float64]
    centre: NDArray[np.float64]
    constant_offsets: NDArray[np.int64]

    @property
    def amount(self) -> int:
        """Number of programs."""
        return self.offsets.size - 1

    def packed(self) -> Any:
        """Return the programs for compiled code."""
        return Packed(**self._asdict(), amount=self.amount)


class Rows(NamedTuple):
    """The data and the loss: rows are sorted by group and cut into blocks.

    columns : float64 (n_columns, n_rows), rows in the order used here, then `padded` with ones. target :
    float64 (n_rows,), its logarithm where `logarithmic`. scale : float64 (n_rows,), factor of a difference.
    weight : float64 (n_rows,), sum 1. group_start : int64 (n_groups + 1,), rows. group_weight : float64
    (n_groups,), sums of `weight`. block_start : int64 (n_blocks + 1,), rows. robust : 0 squares, 1 Huber, 2
    soft L1, bending at `width`.
    """

    columns: NDArray[np.float64]
    target: NDArray[np.float64]
    scale: NDArray[np.float64]
    weight: NDArray[np.float64]
    group_start: NDArray[np.int64]
    group_weight: NDArray[np.float64]
    block_start: NDArray[np.int64]
    logarithmic: bool
    robust: int
    width: float

    @property
    def stride(self) -> int:
        """Number of rows of `columns`."""
        return int(self.columns.shape[1])

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return self.block_start.size - 1

    @property
    def groups(self) -> int:
        """Number of groups."""
        return self.group_weight.size

    @property
    def stop(self) -> NDArray[np.int64]:
        """The flag that ends a fit early, (1,): 0 outside compiled code, where `packed` gets it."""
        return np.zeros(1, np.int64)

    def packed(self, stop: NDArray[np.int64]) -> Any:
        """Return the rows for compiled code; stop : (1,), fits end soon after it is no longer 0."""
        further = {name: getattr(self, name) for name in ("stride", "blocks", "groups")}
        return Packed(**self._asdict(), **further, stop=stop)


#: Scratch of one thread, a record of `make_work`; its fields are below.
Work = np.record

_NODES, _CONSTANTS = (NODE_LIMIT,), (CONSTANT_LIMIT,)
_NODE_NUMBERS = ("row", "moving", "left", "right", "live", "stack", "inner")
_CONSTANT_NUMBERS = ("gradient", "step", "trial", "lower", "upper", "pull", "centre", "kept_gradient")
# One record instead of many arrays: compiled code hands it on as one pointer.
#
# arena : (nodes + 1, block), a row of ones, and the values of the nodes. adjoints : (nodes, block).
# jacobian : (constants, block), derivatives. value, residual, factor : (block,), of the rows of a block;
# factor is the slope of the weighted residual in the value. Per node (nodes,): row, of its value in the arena
# or, where moving is 1, among the columns; scale, factor of its row; left, right, its arguments; live,
# whether it holds a constant; stack. inner : (nodes,), the nodes to be computed, root first. holder :
# (constants + 1,), the leaf of each constant. sizes : (2,), numbers of inner nodes and of constants. loss :
# (1,), of the rows alone, without pulls. normal, system, kept_normal : (constants, constants). gradient,
# step, trial, lower, upper, pull, centre, kept_gradient, fixed : (constants,). group_normal : (groups,
# constants * constants). group_gradient : (groups, constants). sums : (8,), of a kernel. kernels :
# (kernels,), their addresses.
_WORK_FIELDS: tuple[tuple[str, type, tuple[int, ...]], ...] = (
    *((name, np.int64, _NODES) for name in _NODE_NUMBERS),
    ("scale", np.float64, _NODES),
    ("holder", np.int64, (CONSTANT_LIMIT + 1,)),
    ("fixed", np.int64, _CONSTANTS),
    *((name, np.float64, _CONSTANTS) for name in _CONSTANT_NUMBERS),
    ("sizes", np.int64, (2,)),
    ("loss", np.float64, (1,)),
    ("sums", np.float64, (8,)),
    ("kernels", np.int64, (KERNEL_LIMIT,)),
    *((name, np.float64, _CONSTANTS * 2) for name in ("normal", "system", "kept_normal")),
    *((name, np.float64, (BLOCK_ROWS,)) for name in ("value", "residual", "factor")),
    ("jacobian", np.float64, (CONSTANT_LIMIT, BLOCK_ROWS)),
    ("adjoints", np.float64, (NODE_LIMIT, BLOCK_ROWS)),
    ("arena", np.float64, (NODE_LIMIT + 1, BLOCK_ROWS)),
    ("group_normal", np.float64, (GROUP_LIMIT, CONSTANT_LIMIT * CONSTANT_LIMIT)),
    ("group_gradient", np.float64, (GROUP_LIMIT, CONSTANT_LIMIT)),
)


def _work_type() -> Any:
    """Return the type of the record, each of whose arrays begins at a multiple of a line of the caches."""
    names, kinds, shapes = zip(*_WORK_FIELDS, strict=True)
    formats = [(kind, shape) for kind, shape in zip(kinds, shapes, strict=True)]
    sizes = [-(-np.dtype(form).itemsize // LINE_BYTES) * LINE_BYTES for form in formats]
    ends = np.cumsum(sizes).tolist()
    layout: Any = {"names": names, "formats": formats, "offsets": [0, *ends[:-1]], "itemsize": ends[-1]}
    return np.dtype((np.record, np.dtype(layout)))


_WORK_TYPE = _work_type()


def at_line(shape: tuple[int, ...], kind: Any = np.float64) -> NDArray[Any]:
    """Return zeros that begin at a line of the caches: a wide vector that crosses one takes twice as long."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    memory = np.zeros(size + LINE_BYTES, np.uint8)
    begin = -memory.ctypes.data % LINE_BYTES
    aligned: NDArray[Any] = memory[begin : begin + size].view(kind).reshape(shape)
    return aligned


def make_work(addresses: Sequence[int]) -> NDArray[Any]:
    """Return scratch for the longest program, one record (1,), with the addresses of the kernels."""
    scratch = at_line((1,), _WORK_TYPE)
    scratch[0].arena[0] = 1.0
    scratch[0].kernels[: len(addresses)] = addresses
    return scratch


def make_rows(
    columns: NDArray[np.float64],
    target: NDArray[np.float64],
    scale: NDArray[np.float64],
    weight: NDArray[np.float64],
    group: NDArray[np.int64],
    *,
    logarithmic: bool,
    robust: int = SQUARES,
    width: float = 1.0,
) -> Rows:
    """Return the rows from `columns` (n_columns, n_rows) and vectors (n_rows,).

    group : numbers from 0 without gaps. Raises InputError for more groups than the scratch holds.
    """
    if int(group.max()) >= GROUP_LIMIT:
        raise InputError(f"expected at most {GROUP_LIMIT} groups of rows, got {int(group.max()) + 1}")
    # Groups become ranges, so that a held-out group is skipped without a mask.
    order = np.argsort(group, kind="stable")
    share = weight[order] / weight.sum()
    return Rows(
        columns=padded(columns, order),
        target=np.log(target[order]) if logarithmic else target[order].copy(),
        scale=scale[order].copy(),
        weight=share,
        group_start=np.cumsum([0, *np.bincount(group).tolist()]),
        group_weight=np.bincount(group[order], weights=share).astype(np.float64),
        block_start=np.append(np.arange(0, order.size, BLOCK_ROWS), order.size),
        logarithmic=logarithmic,
        robust=robust,
        width=float(width),
    )


def padded(columns: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return rows of the columns (n_columns, n_rows) in this order, then ones.

    Enough that a block of any size may be read up to whole vectors; with ones no operator raises a
    floating-point exception there.
    """
    ordered = at_line((columns.shape[0], (order.size // LANES + 2) * LANES))
    ordered[:, order.size :] = 1.0
    for row, column in zip(ordered, columns, strict=True):
        row[: order.size] = column[order]
    return ordered
