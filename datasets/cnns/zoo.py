"""CNNs by name: their usual inputs and layers are shipped as text.

The zoo's are written by `tools/zoo`. Those of timm 0.6.12 and 1.0.22, with counts at the input sizes of its
published benchmarks, were converted once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import pandas as pd
from trainlaw.datasets.cnns.architectures import built_architecture, shipped_architectures
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.files.limits import check_limit
from trainlaw.datasets.files.storage import read_data_rows, read_data_table
from trainlaw.formulas.errors import InputError, check_name, unknown_name

TIMM_COUNTS_FILE = "cnns_timm.csv.gz"
# CNNs, and sizes of those of the first file, that only benchmarks of forward passes have.
LATER_TIMM_COUNTS_FILE = "cnns_timm1.csv.xz"
_LAYERS_FILE = "zoo_layers.txt.xz"
_TIMM_LAYERS_FILES = ("cnns_timm_layers.txt.xz", "cnns_timm1_layers.txt.xz")
# Names of timm's CNNs begin so: other packages use some of them for other layers.
PREFIX = "timm/"


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of a CNN without building it.

    `base` is the architecture with its variants, `family` the wider group. `input_size_px` is the height of
    the usual image, `input_width_px` its width unless it is square.
    """

    base: str
    family: str
    input_size_px: int
    n_classes: int
    input_width_px: int | None = None

    def width_px(self, height_px: int) -> int:
        """Return the width of an image of that height, pixels.

        >>> Entry("", "", 832, 91, 1344).width_px(800)
        1280
        """
        if self.input_width_px is None:
            return height_px
        # Detectors pad images to multiples of the coarsest stride.
        return max(height_px * self.input_width_px // self.input_size_px // 32 * 32, 32)


@cache
def _entries(purpose: str) -> Mapping[str, Entry]:
    """The entries of classifiers ("classifier"), or of detectors and segmentation ("dense"), by name."""
    found = {}
    for row in read_data_rows("zoo.csv"):
        if row["purpose"] == purpose:
            width = int(row["input_width_px"]) if "input_width_px" in row else None
            size, classes = int(row["input_size_px"]), int(row["n_classes"])
            found[row["cnn"]] = Entry(row["base"], row["family"], size, classes, width)
    return MappingProxyType(found)


@cache
def _timm_entries() -> Mapping[str, Entry]:
    found: dict[str, Entry] = {}
    for file in (TIMM_COUNTS_FILE, LATER_TIMM_COUNTS_FILE):
        first = dict(found)
        for row in read_data_rows(file):
            size, name = int(row["input_size_px"]), row["cnn"]
            # The smallest of the benchmarked sizes is the one that the CNN is trained with.
            if name not in first and (name not in found or size < found[name].input_size_px):
                found[name] = Entry(row["cnn_base"], row["cnn_family"], size, int(row["n_classes"]))
    return MappingProxyType(dict(sorted(found.items())))


def zoo_names() -> tuple[str, ...]:
    """Return the names of the classifiers that `build` knows, sorted."""
    return tuple(_entries("classifier"))


def dense_names() -> tuple[str, ...]:
    """Return the names of detectors and segmentation CNNs that `build` knows, sorted."""
    return tuple(_entries("dense"))


def timm_names() -> tuple[str, ...]:
    """Return the names of timm's CNNs, each with the prefix "timm/", sorted."""
    return tuple(_timm_entries())


def timm_table(later: bool = False) -> pd.DataFrame:
    """Return the counts of timm's CNNs, one row per CNN and input size, as a new frame.

    later : those that only benchmarks of forward passes have, else those of benchmarks of training.
    """
    return read_data_table(LATER_TIMM_COUNTS_FILE if later else TIMM_COUNTS_FILE)


def zoo_entry(name: str) -> Entry:
    """Return family and usual input of a CNN without building it; UnknownNameError with near names."""
    if name.startswith(PREFIX):
        check_name("CNN of timm", name, _timm_entries())
        return _timm_entries()[name]
    entry = _entries("classifier").get(name) or _entries("dense").get(name)
    if entry is None:
        raise unknown_name("CNN", name, (*zoo_names(), *dense_names()))
    return entry


def build(name: str, input_size_px: int | None = None, n_classes: int | None = None) -> Cnn:
    """Build a CNN: one of `zoo_names`, `dense_names` or `timm_names`; UnknownNameError for another.

    input_size_px, n_classes : side of the image in pixels (its height where the CNN's images are not square),
    and classes; None for those usual for the CNN. InputError where the image is too small, or a number is out
    of range.

    >>> build("resnet18", 64, 10).layers[-1].out_channels
    10
    """
    entry = zoo_entry(name)
    size = entry.input_size_px if input_size_px is None else input_size_px
    classes = entry.n_classes if n_classes is None else n_classes
    check_limit("pixels", size)
    check_limit("classes", classes)
    files = _TIMM_LAYERS_FILES if name.startswith(PREFIX) else (_LAYERS_FILE,)
    by_size = {
        pixels: lines
        for known in map(shipped_architectures, reversed(files))
        for pixels, lines in known.get(name, {}).items()
    }
    lines = by_size.get(str(size), by_size.get("any"))
    if lines is None:
        raise InputError(
            f"CNN {name!r}: its layers are known for inputs of {', '.join(by_size)} px only, got {size}"
        )
    layers = built_architecture(lines, (size, entry.width_px(size)), classes)
    return Cnn(name, entry.base, entry.family, size, classes, layers)
