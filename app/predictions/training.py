"""A whole training: the images and epochs that an iteration time is multiplied up to."""

from dataclasses import dataclass
from math import ceil

_SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True)
class Training:
    """What is trained on: `images` per epoch, for `epochs`."""

    images: int
    epochs: float

    @property
    def title(self) -> str:
        """The training as text.

        >>> Training(1_281_167, 90).title
        '90 epochs of 1,281,167 images'
        """
        return f"{self.epochs:g} epochs of {self.images:,} images"

    def hours(self, global_batch: int) -> float:
        """Return the hours of the training if an iteration took one second.

        global_batch : images of one iteration on all GPUs; the last one of an epoch may have fewer.

        >>> Training(1000, 36).hours(100)
        0.1
        """
        return self.epochs * ceil(self.images / global_batch) / _SECONDS_PER_HOUR
