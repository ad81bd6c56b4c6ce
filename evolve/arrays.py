"""The arrays between search and machine: programs, rows, scratch; named tuples, since compiled code takes
those.

A program is a tree in prefix order, one integer `code + 256 * feature` per node. Codes 0 to 2 are leaves,
the operators follow in the order of their table. Constants are numbered in prefix order.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

CONSTANT, VARIABLE, WEIGHTED = 0, 1, 2
FIRST_OPERATOR = 3
SQUARES, HUBER, SOFT_L1 = 0, 1, 2
# 128 rows of float64 are 1 KiB a node: the values of a usual program and their adjoints stay in a 48 KiB cache.
BLOCK_ROWS = 128
# Nodes and constants of the longest program that the scratch holds.
NODE_LIMIT = 256
CONSTANT_LIMIT = 64


class Programs(NamedTuple):
    """Many programs, end to end.

    tokens : int64 (n_nodes,). offsets : int64 (n_programs + 1,), where each begins in `tokens`. theta,
    lower, upper : float64 (n_constants,), constants and their bounds. scaling : bool (n_constants,),
    those that the whole value is proportional to. pull : float64 (n_constants,), weight of a constant's
    square in the fit, so that one which no row determines goes to zero. constant_offsets : int64
    (n_programs + 1,).
    """

    tokens: NDArray[np.int64]
    offsets: NDArray[np.int64]
    theta: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    scaling: NDArray[np.bool_]
    pull: NDArray[np.float64]
    constant_offsets: NDArray[np.int64]

    @property
    def amount(self) -> int:
        """Number of programs."""
        return self.offsets.size - 1


class Rows(NamedTuple):
    """The data and the loss, rows sorted by group and cut into blocks that never cross a group.

    columns : float64 (n_features, n_rows). table : float64 (n_blocks * n_features, BLOCK_ROWS), the
    columns block after block, as the machine reads them. target : float64 (n_rows,), its logarithm where
    `logarithmic`. scale : float64 (n_rows,), what a difference is multiplied by. weight : float64
    (n_rows,), sum 1. block_start, block_size, block_group : int64 (n_blocks,). group_weight : float64
    (n_groups,), sums of `weight`. robust : 0 squares, 1 Huber, 2 soft L1, bending at `width`.
    """

    columns: NDArray[np.float64]
    table: NDArray[np.float64]
    target: NDArray[np.float64]
    scale: NDArray[np.float64]
    weight: NDArray[np.float64]
    block_start: NDArray[np.int64]
    block_size: NDArray[np.int64]
    block_group: NDArray[np.int64]
    group_weight: NDArray[np.float64]
    logarithmic: bool
    robust: int
    width: float


class Work(NamedTuple):
    """Scratch of one thread.

    arena : (n_table + 1 + nodes, block), the columns' blocks, a row of ones, and the values of the nodes.
    adjoints : (nodes, block). jacobian : (constants, block). residual : (block,). Per node (nodes,): row,
    where its value stands in the arena; moving, 1 where that row moves on with the block; scale, by what
    its row is to be multiplied; left, right, its arguments; live, whether it holds a constant; stack.
    inner : (nodes,), the nodes that are operations, root first. holder : (constants,), the leaf of each
    constant. sizes : (2,), numbers of inner nodes and of constants. loss : (1,), of the rows alone,
    without pulls. normal, system : (constants, constants). gradient, step, lower, upper, pull :
    (constants,).
    """

    arena: np.ndarray
    adjoints: np.ndarray
    jacobian: np.ndarray
    residual: np.ndarray
    row: np.ndarray
    moving: np.ndarray
    scale: np.ndarray
    left: np.ndarray
    right: np.ndarray
    live: np.ndarray
    stack: np.ndarray
    inner: np.ndarray
    holder: np.ndarray
    sizes: np.ndarray
    normal: np.ndarray
    system: np.ndarray
    gradient: np.ndarray
    step: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    pull: np.ndarray
    loss: np.ndarray


@njit(cache=True, nogil=True)
def make_work(table: np.ndarray) -> Work:
    """Scratch for programs up to the limits of this file over `table` (n_table, block), which is copied."""
    rows, block = table.shape
    arena = np.empty((rows + 1 + NODE_LIMIT, block))
    arena[:rows] = table
    arena[rows] = 1.0
    return Work(
        arena,
        np.empty((NODE_LIMIT, block)),
        np.empty((CONSTANT_LIMIT, block)),
        np.empty(block),
        np.zeros(NODE_LIMIT, np.int64),
        np.zeros(NODE_LIMIT, np.int64),
        np.ones(NODE_LIMIT),
        np.zeros(NODE_LIMIT, np.int64),
        np.zeros(NODE_LIMIT, np.int64),
        np.zeros(NODE_LIMIT, np.bool_),
        np.zeros(NODE_LIMIT, np.int64),
        np.zeros(NODE_LIMIT, np.int64),
        np.zeros(CONSTANT_LIMIT, np.int64),
        np.zeros(2, np.int64),
        np.zeros((CONSTANT_LIMIT, CONSTANT_LIMIT)),
        np.zeros((CONSTANT_LIMIT, CONSTANT_LIMIT)),
        np.zeros(CONSTANT_LIMIT),
        np.zeros(CONSTANT_LIMIT),
        np.zeros(CONSTANT_LIMIT),
        np.zeros(CONSTANT_LIMIT),
        np.zeros(CONSTANT_LIMIT),
        np.zeros(1),
    )


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
    """Rows from `columns` (n_features, n_rows) and vectors (n_rows,); `group` counts from 0 without gaps."""
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group)).tolist()
    blocks = [
        (start, min(BLOCK_ROWS, end - start), owner)
        for owner, (begin, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True))
        for start in range(begin, end, BLOCK_ROWS)
    ]
    starts, sizes, owners = np.array(blocks, dtype=np.int64).T.copy()
    share = weight[order] / weight.sum()
    ordered = np.ascontiguousarray(columns[:, order])
    return Rows(
        ordered,
        _blocked(ordered, starts, sizes),
        np.log(target[order]) if logarithmic else target[order].copy(),
        scale[order].copy(),
        share,
        starts,
        sizes,
        owners,
        np.bincount(group[order], weights=share),
        logarithmic,
        robust,
        float(width),
    )


def _blocked(columns: NDArray[np.float64], starts: NDArray, sizes: NDArray) -> NDArray[np.float64]:
    """The columns (n_features, n_rows) block after block; places beyond a block's size hold ones."""
    table = np.ones((starts.size, columns.shape[0], BLOCK_ROWS))
    for number, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        table[number, :, :size] = columns[:, start : start + size]
    return table.reshape(-1, BLOCK_ROWS)
