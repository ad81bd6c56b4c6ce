"""An entry of the zoo: what is known of a CNN before it is built."""

from collections.abc import Callable
from dataclasses import dataclass

from trainlaw.datasets.cnns.builder import CnnBuilder

# Builder, position of the image, number of classes; returns the position of the class scores.
Architecture = Callable[[CnnBuilder, int, int], int]


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

    def width_px(self, height_px: int) -> int:
        """Return the width of an image of that height, pixels.

        >>> Entry(print, "", "", 832, input_width_px=1344).width_px(800)
        1280
        """
        if self.input_width_px is None:
            return height_px
        # Detectors pad images to multiples of the coarsest stride.
        return max(height_px * self.input_width_px // self.input_size_px // 32 * 32, 32)
