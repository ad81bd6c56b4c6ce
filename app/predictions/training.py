"""A whole training: the images and epochs that an iteration time is multiplied up to."""

from dataclasses import dataclass
from math import ceil

import numpy as np
from trainlaw.datasets import RunTable
from trainlaw.datasets.files.limits import check_limit
from trainlaw.formulas import InputError

IMAGENET_IMAGES, USUAL_EPOCHS = 1_281_167, 90
_MILLION = 1_000_000


@dataclass(frozen=True)
class Training:
    """A training of `images` per epoch for `epochs`, or inference of images, in one epoch."""

    images: int
    epochs: float
    is_inference: bool = False

    def __post_init__(self) -> None:
        """Raise InputError for numbers outside their limits."""
        check_limit("images", self.images)
        check_limit("epochs", self.epochs)

    @property
    def title(self) -> str:
        """The training as text.

        >>> Training(1_281_167, 90).title
        '90 epochs of 1,281,167 images'
        """
        if self.is_inference:
            return f"inference of {self.images:,} images"
        epochs = "epoch" if self.epochs == 1 else "epochs"
        return f"{self.epochs:g} {epochs} of {self.images:,} images"

    def columns(self, runs: RunTable) -> dict[str, np.ndarray]:
        """Return what the table of answers has to know of the training, (n_runs,) each.

        `iterations` are those of an epoch, whose last one may have fewer images.
        """
        sizes = (runs.frame["n_gpus"] * runs.frame["batch_per_gpu"]).tolist()
        if self.images < min(sizes, default=0):
            raise InputError(f"expected at least one batch of {min(sizes)} images, got {self.images} images")
        return {
            "epochs": np.full(len(runs), float(self.epochs)),
            "iterations": np.array([float(ceil(self.images / size)) for size in sizes]),
            "training": np.full(len(runs), self.title),
        }


def asked_training(images: int | None, epochs: float | None, forward: bool = False) -> Training:
    """Return a training, by default of ImageNet and its usual epochs, or (forward) inference, of a million.

    Raises InputError for epochs of inference.

    >>> asked_training(None, None, forward=True).title
    'inference of 1,000,000 images'
    """
    if not forward:
        return Training(
            IMAGENET_IMAGES if images is None else images, USUAL_EPOCHS if epochs is None else epochs
        )
    if epochs is not None:
        raise InputError("expected no epochs with --forward, since inference has none; name --images")
    return Training(_MILLION if images is None else images, 1, is_inference=True)
