"""What mutations that aim compare with: the target on a few rows, and a library of small expressions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.equations.library import Quantity
from trainlaw.evolve.grammar import Grammar
from trainlaw.evolve.grammar_tables import constant_of
from trainlaw.evolve.machine.aiming import Aims
from trainlaw.evolve.machine.batch import kernel_addresses
from trainlaw.evolve.machine.evaluation import OPERATOR
from trainlaw.evolve.search.trees import nodes_of


@dataclass(frozen=True, eq=False)
class Targeting:
    """What mutations that aim compare with.

    aims : target, columns and the nodes of a library of expressions. values : theirs, (n_rows,
    n_expressions), each of root mean square 1, with few digits, which suffice to compare.
    """

    aims: Aims
    values: NDArray[np.float32]


_NOTHING, _NO_KINDS = np.zeros(0), np.zeros(0, np.int64)
NOT_AIMED = Targeting(
    Aims(
        columns=_NOTHING, target=_NOTHING, kinds=_NO_KINDS, values=_NOTHING, start=_NO_KINDS, sizes=_NOTHING,
        constant=-1, address=0, rows=0,
    ),
    np.zeros((0, 0), np.float32),
)  # fmt: skip


def make_targeting(
    library: Sequence[Quantity],
    target: NDArray[np.float64],
    columns: NDArray[np.float64],
    grammar: Grammar,
) -> Targeting:
    """Return what mutations aim at, `NOT_AIMED` where the grammar has nothing to write it with.

    library : expressions with their values (n_rows,). target : (n_rows,). columns : (n_features, n_rows).
    """
    ret = grammar.target
    free = grammar.free_constant(ret)
    known = [(nodes_of(item.expression, ret, grammar), item.values) for item in library]
    usable = [(nodes, values) for nodes, values in known if nodes]
    if not usable or free is None or not grammar.operation("mul", ret, ret, ret):
        return NOT_AIMED
    nodes = [node for own, _ in usable for node in own]
    values = np.array([values for _, values in usable])
    sizes = np.sqrt(np.mean(values**2, axis=1))
    aims = Aims(
        columns=columns.ravel(),
        target=target,
        kinds=np.array([node.kind for node in nodes]),
        values=np.array([constant_of(node) for node in nodes]),
        start=np.cumsum([0, *(len(own) for own, _ in usable)]),
        sizes=sizes,
        constant=free.kind,
        address=kernel_addresses()[OPERATOR],
        rows=target.size,
    )
    return Targeting(aims, np.ascontiguousarray((values / sizes[:, None]).T.astype(np.float32)))
