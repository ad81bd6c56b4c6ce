"""CNNs by name: lookup, and their aggregate counts at one input size and number of classes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from types import MappingProxyType

import pandas as pd
from trainlaw.datasets.cnns.counts import counts, explain
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.memory import MEMORY_COLUMNS, MemoryPerSample, memory_per_sample
from trainlaw.datasets.cnns.zoo import build, zoo_entry, zoo_names
from trainlaw.datasets.files.mapping import joined_name
from trainlaw.datasets.files.storage import read_data_table, records
from trainlaw.formulas.errors import unknown_name

COUNT_COLUMNS = tuple(name for name, _, _ in explain())
MAX_NAME_LENGTH = 200


@dataclass(frozen=True)
class CnnCounts:
    """Aggregate counts of one CNN; `input_size_px` is the side of the input in pixels.

    `counts` are per image and forward pass, by the names, units and definitions of
    `trainlaw.datasets.cnns.explain`. `custom_graph` holds the layers of a CNN that is not in the zoo.
    `memory` is what a training iteration needs for one image, where layers were known to count it.
    """

    cnn: str
    cnn_base: str
    cnn_family: str
    input_size_px: int
    n_classes: int
    counts: Mapping[str, float]
    memory: MemoryPerSample | None = field(default=None, repr=False, compare=False)
    custom_graph: Cnn | None = field(default=None, repr=False, compare=False)

    @property
    def graph(self) -> Cnn:
        """The CNN as a graph of layers.

        Raises UnknownNameError or InputError where it is neither given nor in the zoo at that size.
        """
        return self.custom_graph or build(*self.key)

    @property
    def memory_per_image(self) -> MemoryPerSample:
        """What a training iteration needs for one image; without layers a rough figure from the counts."""
        return self.memory or MemoryPerSample(*(int(number) for number in rough_memory(self.counts)))

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


def rough_memory(counts_of_cnn: Mapping[str, float]) -> tuple[float, float, float, float]:
    """Return the `MEMORY_COLUMNS` of a CNN whose layers are not known: all outputs kept, no masks."""
    number = counts_of_cnn
    return (
        number["activation_elements"],
        0.0,
        2.0 * number["max_layer_elements"],
        number["im2col_elements"],
    )


def cnn_table() -> pd.DataFrame:
    """Return the CNNs whose counts are shipped.

    Returns
    -------
    DataFrame
        One row per CNN and size; counts under their names (a new frame).
    """
    return read_data_table("cnns.csv")


@cache
def shipped_counts() -> Mapping[tuple[str, int, int], CnnCounts]:
    """Return the shipped counts by name, input size in pixels and number of classes."""
    rows = (_counts_of_row(row) for row in records(cnn_table()))
    return MappingProxyType({facts.key: facts for facts in rows})


def _counts_of_row(row: Mapping[str, object]) -> CnnCounts:
    numbers = {name: float(str(row[name])) for name in COUNT_COLUMNS}
    texts = (str(row["cnn"]), str(row["cnn_base"]), str(row["cnn_family"]))
    memory = MemoryPerSample(*(int(str(row[name])) for name in MEMORY_COLUMNS))
    return CnnCounts(*texts, int(str(row["input_size_px"])), int(str(row["n_classes"])), numbers, memory)


@cache
def _names_by_key() -> Mapping[str, str]:
    return MappingProxyType({joined_name(name): name for name in zoo_names()})


def cnn_name(text: str) -> str:
    """Return the name in the zoo that `text` means, ignoring case and separators.

    Raises UnknownNameError, with near names.

    >>> cnn_name("ResNet-50")
    'resnet50'
    """
    if text in zoo_names():
        return text
    key = joined_name(text[: MAX_NAME_LENGTH + 1])
    if len(text) > MAX_NAME_LENGTH or key not in _names_by_key():
        raise unknown_name("CNN", text.lower()[:MAX_NAME_LENGTH], zoo_names())
    return _names_by_key()[key]


def find_cnn(text: str, input_size_px: int | None = None, n_classes: int | None = None) -> Cnn:
    """Return a CNN of the zoo as a graph of layers.

    Parameters
    ----------
    text : str
        Its name; case and separators do not matter.
    input_size_px, n_classes : int, optional
        Side of the square image in pixels, and classes; those usual for the CNN by default.

    Returns
    -------
    Cnn

    Raises
    ------
    UnknownNameError
        No CNN has that name.
    InputError
        The CNN cannot be built at that size.

    Examples
    --------

    >>> find_cnn("ResNet-50").n_classes
    1000
    """
    return build(cnn_name(text), input_size_px, n_classes)


@lru_cache(maxsize=4096)
def _counted(name: str, input_size_px: int, n_classes: int) -> CnnCounts:
    return CnnCounts.of(build(name, input_size_px, n_classes))


def find_cnn_counts(text: str, input_size_px: int | None = None, n_classes: int | None = None) -> CnnCounts:
    """Return the counts of a CNN of the zoo: from the shipped table, else counted on its graph.

    Parameters
    ----------
    text, input_size_px, n_classes
        As for `find_cnn`.

    Returns
    -------
    CnnCounts

    Raises
    ------
    UnknownNameError, InputError
        As `find_cnn`.

    Examples
    --------

    >>> find_cnn_counts("resnet50", 224, 1000).counts["params"]
    25557032.0
    """
    name = cnn_name(text)
    usual = zoo_entry(name)
    size = usual.input_size_px if input_size_px is None else input_size_px
    classes = usual.n_classes if n_classes is None else n_classes
    return shipped_counts().get((name, size, classes)) or _counted(name, size, classes)
