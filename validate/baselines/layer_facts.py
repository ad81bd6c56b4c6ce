"""The layers of a network that is known by its sums only, for a baseline that goes layer by layer.

An estimator gets numbers and no name of a CNN. So the shipped networks are looked up by what identifies their
arithmetic: MACs, parameters and activations of one image. What is found is a fact of the network, not of a
run.
"""

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from trainlaw.datasets.cnns.columns import LayerColumns
from trainlaw.datasets.cnns.facts import cnn_table
from trainlaw.datasets.cnns.zoo import build
from trainlaw.formulas.errors import TrainlawError

#: Features that a network is looked up by.
SUMS = ("macs", "params", "activation_elements")
# Networks whose sums differ by more than a quarter in all are other networks.
_TOLERANCE = 0.25


@dataclass(frozen=True, eq=False)
class LayerFacts:
    """Layers of a network, one image, equal ones once with their `count`; each array has shape (n_layers,).

    rows, reduction, columns : sizes of the matrix product of one group. macs : of all groups. moved :
    elements read and written, weights included. weights : elements. kind :
    0 stride-1 3x3, 1 1x1, 2 other ungrouped convolution, 3 grouped
    or depthwise convolution, 4 dense, 5 anything without MACs.
    """

    count: np.ndarray
    kind: np.ndarray
    macs: np.ndarray
    rows: np.ndarray
    reduction: np.ndarray
    columns: np.ndarray
    moved: np.ndarray
    weights: np.ndarray


N_KINDS = 5


@cache
def _shipped() -> tuple[np.ndarray, tuple[tuple[str, int, int], ...]]:
    """Return ln of the sums of the shipped networks, (n_networks, 3), and how to build each."""
    table = cnn_table()
    keys = zip(table["cnn"], table["input_size_px"], table["n_classes"], strict=True)
    return np.log(table[list(SUMS)].to_numpy(dtype=float)), tuple(
        (str(cnn), int(pixels), int(classes)) for cnn, pixels, classes in keys
    )


def layers_of_sums(sums: tuple[float, float, float]) -> LayerFacts | None:
    """Return the layers of the shipped network with these `SUMS`, or None where there is none like it."""
    logs, keys = _shipped()
    distances = np.abs(logs - np.log(sums)).sum(axis=1)
    nearest = int(np.argmin(distances))
    return _built(keys[nearest]) if distances[nearest] < _TOLERANCE else None


@lru_cache(maxsize=512)
def _built(key: tuple[str, int, int]) -> LayerFacts | None:
    try:
        columns = LayerColumns.of(build(*key))
    except TrainlawError:
        return None  # a network of which only sums are known
    return _facts(columns)


def _facts(columns: LayerColumns) -> LayerFacts:
    kind = np.select(
        [
            columns.group["dense"],
            columns.depthwise | (columns.conv & columns.grouped),
            columns.kernel(3) & (columns.stride == 1),
            columns.kernel(1),
            columns.single_conv,
        ],
        [4, 3, 0, 1, 2],
        default=5,
    )
    moved = columns.read + columns.output_elements + columns.parameters
    table = np.column_stack(
        [kind, columns.macs, columns.rows, columns.reduction, columns.columns, moved, columns.parameters]
    )[columns.layers]
    distinct, count = np.unique(table, axis=0, return_counts=True)
    kinds, macs, rows, reduction, width, moved, weights = distinct.T
    return LayerFacts(count.astype(float), kinds.astype(int), macs, rows, reduction, width, moved, weights)
