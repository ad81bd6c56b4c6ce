"""CNNs by name: one file per family; a name is built only when it is asked for."""

from collections.abc import Mapping
from types import MappingProxyType

from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.zoo import (
    alexnet,
    convnext,
    darknet,
    densenet,
    efficientnet,
    googlenet,
    inception,
    mobilenet,
    nasnet,
    regnet,
    resnet,
    shufflenet,
    small,
    squeezenet,
    vgg,
)
from trainlaw.datasets.cnns.zoo.entry import Entry
from trainlaw.formulas.errors import InputError, unknown_name

_FAMILIES = (
    alexnet,
    convnext,
    darknet,
    densenet,
    efficientnet,
    googlenet,
    inception,
    mobilenet,
    nasnet,
    regnet,
    resnet,
    shufflenet,
    small,
    squeezenet,
    vgg,
)
# Larger images are a slip of the pen; no run comes near.
MAX_INPUT_PX = 8192
MAX_CLASSES = 1_000_000


def _registry() -> Mapping[str, Entry]:
    nets: dict[str, Entry] = {}
    for family in _FAMILIES:
        twice = nets.keys() & family.CNNS.keys()
        if twice:
            raise ValueError(f"two CNNs of one name: {sorted(twice)}")
        nets.update(family.CNNS)
    return MappingProxyType(dict(sorted(nets.items())))


_NETS = _registry()


def zoo_names() -> tuple[str, ...]:
    """Names of all CNNs that `build` knows, sorted."""
    return tuple(_NETS)


def zoo_entry(name: str) -> Entry:
    """Kinship and usual input of a CNN, without building it; `UnknownNameError` suggests near names."""
    if name not in _NETS:
        raise unknown_name("network", name, zoo_names())
    return _NETS[name]


def build(name: str, input_size_px: int | None = None, n_classes: int | None = None) -> Cnn:
    """The CNN of a name, for square images of a side (pixels) and a number of classes (or its usual).

    Raises `UnknownNameError` for an unknown name, `InputError` for an image that is too small or bad numbers.

    >>> build("resnet18", 64, 10).layers[-1].out_channels
    10
    """
    entry = zoo_entry(name)
    size = entry.input_size_px if input_size_px is None else input_size_px
    classes = entry.n_classes if n_classes is None else n_classes
    if not 1 <= size <= MAX_INPUT_PX:
        raise InputError(f"CNN {name!r}: expected an input size of 1 to {MAX_INPUT_PX} pixels, got {size}")
    if not 1 <= classes <= MAX_CLASSES:
        raise InputError(f"CNN {name!r}: expected 1 to {MAX_CLASSES} classes, got {classes}")
    cnn = CnnBuilder()
    scores = entry.architecture(cnn, cnn.input(entry.input_channels, size), classes)
    # Training ends in a softmax, inside the loss where not in the CNN: it is counted once, always.
    cnn.softmax(scores)
    return Cnn(name, entry.base, entry.family, size, classes, cnn.layers)
