"""CNNs by name: one file per group of families; a CNN is built on request."""

from collections.abc import Mapping
from types import MappingProxyType

from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.zoo import (
    classic,
    darknet,
    dense_prediction,
    detection,
    efficientnet,
    inception,
    mobilenet,
    nasnet,
    resnet,
)
from trainlaw.datasets.cnns.zoo.entry import Entry
from trainlaw.formulas.errors import InputError, unknown_name

_FAMILIES = (
    classic,
    darknet,
    efficientnet,
    inception,
    mobilenet,
    nasnet,
    resnet,
)
# Larger images are typing errors; no measured run comes near.
MAX_INPUT_PX = 8192
MAX_CLASSES = 1_000_000


def _registry() -> Mapping[str, Entry]:
    entries: dict[str, Entry] = {}
    for family in _FAMILIES:
        twice = entries.keys() & family.CNNS.keys()
        if twice:
            raise ValueError(f"two CNNs with the same name: {sorted(twice)}")
        entries.update(family.CNNS)
    return MappingProxyType(dict(sorted(entries.items())))


_NETS = _registry()
_DENSE: Mapping[str, Entry] = dict(sorted({**dense_prediction.CNNS, **detection.CNNS}.items()))


def zoo_names() -> tuple[str, ...]:
    """List the classifiers that `build` knows.

    Returns
    -------
    tuple of str
        Their names, sorted.
    """
    return tuple(_NETS)


def dense_names() -> tuple[str, ...]:
    """Return the names of the other CNNs that `build` knows: detectors and segmentation, sorted."""
    return tuple(_DENSE)


def zoo_entry(name: str) -> Entry:
    """Return architecture family and usual input of a CNN, without building it.

    Parameters
    ----------
    name : str
        One of `zoo_names` or `dense_names`.

    Returns
    -------
    Entry

    Raises
    ------
    UnknownNameError
        No CNN has that name; the message suggests near names.
    """
    if name not in _NETS and name not in _DENSE:
        raise unknown_name("CNN", name, (*_NETS, *_DENSE))
    return _NETS.get(name) or _DENSE[name]


def build(name: str, input_size_px: int | None = None, n_classes: int | None = None) -> Cnn:
    """Build a CNN of the zoo.

    Parameters
    ----------
    name : str
        One of `zoo_names`.
    input_size_px, n_classes : int, optional
        Side of the image in pixels (its height where the CNN's images are not square), and classes; those
        usual for the CNN by default.

    Returns
    -------
    Cnn

    Raises
    ------
    UnknownNameError
        No CNN has that name.
    InputError
        The image is too small, or a number is out of range.

    Examples
    --------

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
    scores = entry.architecture(cnn, cnn.input(entry.input_channels, size, entry.width_px(size)), classes)
    # Training always ends in a softmax, in the loss if not in the CNN: it is counted once.
    cnn.softmax(scores)
    return Cnn(name, entry.base, entry.family, size, classes, cnn.layers)
