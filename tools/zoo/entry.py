"""An entry of the zoo: how a CNN is built, and its usual input."""

from collections.abc import Callable
from dataclasses import dataclass

from tools.zoo.recorder import Recorder

# Builder, position of the image, number of classes; returns the position of the class scores.
Architecture = Callable[[Recorder, int, int], int]


@dataclass(frozen=True, slots=True)
class Entry:
    """A CNN of the zoo: architecture, family and usual input.

    `architecture(cnn, image, n_classes)` adds the layers after the input and returns the position of the
    last one (the class scores). `base` is the architecture with its variants, `family` the wider group.
    `input_size_px` is the height of the usual image, `input_width_px` its width unless it is square.
    """

    architecture: Architecture
    base: str
    family: str
    input_size_px: int = 224
    n_classes: int = 1000
    input_channels: int = 3
    input_width_px: int | None = None
