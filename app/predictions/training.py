"""A whole training: the images and epochs that an iteration time is multiplied up to."""

from dataclasses import dataclass
from math import ceil

import numpy as np
from trainlaw.datasets import RunTable


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
        return f"{self.epochs:g} epoch{'s' * (self.epochs != 1)} of {self.images:,} images"

    def columns(self, runs: RunTable) -> dict[str, np.ndarray]:
        """Return what the table of answers has to know of the training, (n_runs,) each.

        `iterations` are those of an epoch, whose last one may have fewer images.
        """
        sizes = (runs.frame["n_gpus"] * runs.frame["batch_per_gpu"]).tolist()
        return {
            "epochs": np.full(len(runs), float(self.epochs)),
            "iterations": np.array([float(ceil(self.images / size)) for size in sizes]),
            "training": np.full(len(runs), self.title),
        }
