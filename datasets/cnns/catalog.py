"""CNNs by name: lookup, and their aggregate counts at one input size and number of classes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from types import MappingProxyType

import pandas as pd
from trainlaw.datasets.cnns.counts import COUNTS, counts
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.memory import MEMORY_COLUMNS, MemoryPerSample, memory_per_sample
from trainlaw.datasets.cnns.names import cnn_name
from trainlaw.datasets.cnns.zoo import LATER_TIMM_COUNTS_FILE, PREFIX, TIMM_COUNTS_FILE, build, zoo_entry
from trainlaw.datasets.files.storage import read_data_rows, read_data_table

_COUNTS_FILE = "cnns.csv"
COUNT_COLUMNS = tuple(COUNTS)


@dataclass(frozen=True)
class CnnCounts:
    """Aggregate counts of one CNN.

    Attributes
    ----------
    cnn, cnn_base, cnn_family : str
        Name with its variant, architecture whose variants are held out together, and family.
    input_size_px : int
        Side of the square input, in pixels.
    n_classes : int
        Width of the classifier.
    counts : mapping of str to float
        Per image and forward pass, by the names, units and definitions of `counts.explain`.
    memory : MemoryPerSample
        What a training iteration needs for one image.
    custom_graph : Cnn or None
        Layers of a CNN that is not known by name.
    """

    cnn: str
    cnn_base: str
    cnn_family: str
    input_size_px: int
    n_classes: int
    counts: Mapping[str, float]
    memory: MemoryPerSample = field(repr=False, compare=False)
    custom_graph: Cnn | None = field(default=None, repr=False, compare=False)

    @property
    def graph(self) -> Cnn:
        """The CNN as a graph of layers.

        Raises UnknownNameError or InputError where it is neither given nor in the zoo at that size.
        """
        return self.custom_graph or build(*self.key)

    @property
    def key(self) -> tuple[str, int, int]:
        """Name, input size in pixels and number of classes: the key by which runs refer to a CNN."""
        return (self.cnn, self.input_size_px, self.n_classes)

    @classmethod
    def of(cls, cnn: Cnn) -> "CnnCounts":
        """Return the counts of a graph of layers."""
        names = (cnn.name, cnn.base, cnn.family)
        size = (cnn.input_size_px, cnn.n_classes)
        return cls(*names, *size, MappingProxyType(counts(cnn)), memory_per_sample(cnn), cnn)


def cnn_table() -> pd.DataFrame:
    """Return the CNNs whose counts are shipped.

    Returns
    -------
    DataFrame
        One row per CNN and size; counts under their names (a new frame).
    """
    return read_data_table(_COUNTS_FILE)


@cache
def _shipped_rows(file: str) -> Mapping[tuple[str, int, int], Mapping[str, str]]:
    """The rows of a shipped table of counts by name, input size in pixels and number of classes."""
    rows = read_data_rows(file)
    return {(row["cnn"], int(row["input_size_px"]), int(row["n_classes"])): row for row in rows}


def find_cnn_counts(text: str, input_size_px: int | None = None, n_classes: int | None = None) -> CnnCounts:
    """Return the counts of the CNN of that name: from the shipped tables, else counted on its layers.

    Parameters
    ----------
    text : str
        A name as `cnn_name` reads it.
    input_size_px, n_classes : int or None
        Side of the input in pixels and width of the classifier; None for the usual ones.

    Returns
    -------
    CnnCounts
        Its counts, per image and forward pass.

    Raises
    ------
    UnknownNameError
        For a name that no CNN or that several CNNs have.
    InputError
        For a size at which the CNN cannot be built.

    Examples
    --------
    >>> find_cnn_counts("resnet50", 224, 1000).counts["params"]
    25557032.0
    """
    return keyed_cnn_counts(cnn_name(text), input_size_px, n_classes)


@lru_cache(maxsize=4096)
def keyed_cnn_counts(name: str, input_size_px: int | None = None, n_classes: int | None = None) -> CnnCounts:
    """Return the counts of the CNN that tables of runs hold under a name; as `find_cnn_counts` otherwise."""
    usual = zoo_entry(name)
    size = usual.input_size_px if input_size_px is None else input_size_px
    classes = usual.n_classes if n_classes is None else n_classes
    of_timm = name.startswith(PREFIX)
    for file in (TIMM_COUNTS_FILE, LATER_TIMM_COUNTS_FILE) if of_timm else (_COUNTS_FILE,):
        # Only this row becomes numbers: a table has hundreds.
        if row := _shipped_rows(file).get((name, size, classes)):
            numbers = {column: float(row[column]) for column in COUNT_COLUMNS}
            memory = MemoryPerSample(*(int(row[column]) for column in MEMORY_COLUMNS))
            return CnnCounts(name, row["cnn_base"], row["cnn_family"], size, classes, numbers, memory)
    return CnnCounts.of(build(name, size, classes))
