"""The CNNs of timm 0.6.12 as shipped: counts at the input sizes of its published benchmarks, and layers.

`tools/timm_models.py` derives both files.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import pandas as pd
from trainlaw.datasets.cnns.architectures import built_architecture, shipped_architectures
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.zoo import Entry
from trainlaw.datasets.files.storage import read_data_table
from trainlaw.formulas.errors import InputError, unknown_name

COUNTS_FILE = "cnns_timm.csv.gz"
ARCHITECTURES_FILE = "cnns_timm_layers.txt.xz"
# Names of timm's CNNs begin so here: other packages use some of them for other layers.
PREFIX = "timm/"
_ANY_SIZE = "any"


def timm_table() -> pd.DataFrame:
    """Return the counts of timm's CNNs, one row per CNN and input size, as a new frame."""
    return read_data_table(COUNTS_FILE)


@cache
def _entries() -> Mapping[str, Entry]:
    columns = ["cnn", "cnn_base", "cnn_family", "input_size_px", "n_classes"]
    # The smallest of the benchmarked sizes is the one that the CNN is trained with.
    rows = timm_table()[columns].sort_values(["cnn", "input_size_px"]).drop_duplicates("cnn")
    return MappingProxyType(
        {
            str(name): Entry(str(base), str(family), int(size), int(classes))
            for name, base, family, size, classes in rows.itertuples(index=False)
        }
    )


def timm_names() -> tuple[str, ...]:
    """Return the names of timm's CNNs, each with the prefix "timm/", sorted."""
    return tuple(_entries())


def timm_entry(name: str) -> Entry:
    """Return kinship and usual input of one of timm's CNNs; raises UnknownNameError."""
    if name not in _entries():
        raise unknown_name("CNN of timm", name, timm_names())
    return _entries()[name]


def build_timm(name: str, input_size_px: int | None = None, n_classes: int | None = None) -> Cnn:
    """Return one of timm's CNNs, for square images of a side (pixels) and a number of classes (or its usual).

    Raises UnknownNameError for an unknown name, InputError for a size at which it cannot be built.

    >>> build_timm("timm/resnet50d", 64, 10).layers[-1].out_channels
    10
    """
    entry = timm_entry(name)
    size = entry.input_size_px if input_size_px is None else input_size_px
    classes = entry.n_classes if n_classes is None else n_classes
    by_size = shipped_architectures(ARCHITECTURES_FILE)[name]
    lines = by_size.get(str(size), by_size.get(_ANY_SIZE))
    if lines is None:
        raise InputError(
            f"CNN {name!r}: its layers are known for inputs of {', '.join(by_size)} px only, got {size}"
        )
    return Cnn(name, entry.base, entry.family, size, classes, built_architecture(lines, size, classes))
