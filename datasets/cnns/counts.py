"""Aggregate counts of a network, per image and forward pass."""

from trainlaw.datasets.cnns.aggregates import COLUMNS
from trainlaw.datasets.cnns.columns import LayerColumns
from trainlaw.datasets.cnns.graph import Cnn


def counts(cnn: Cnn) -> dict[str, float]:
    """All aggregate columns of a network, by name; units and definitions are those of `explain`.

    >>> from trainlaw.datasets.cnns.zoo import build
    >>> counts(build("resnet50"))["params"]
    25557032.0
    """
    table = LayerColumns.of(cnn)
    return {column.name: float(column.count(table)) for column in COLUMNS}


def explain() -> tuple[tuple[str, str, str], ...]:
    """Name, unit and definition of each aggregate column, in the order of `counts`."""
    return tuple(column[:3] for column in COLUMNS)
