"""Measured runs of a CNN, GPU, precision, layout and image size, and the one with the nearest batch."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from math import log

from trainlaw.datasets.files.storage import read_data_file

#: Shipped table with a line per CNN and GPU, its measurements packed.
FILE = "measured.csv"
#: Precisions in packed runs; the letter is a capital for channels last. Without linear layers of weight, the
#: default is tf32.
LETTERS: Mapping[str, str] = {"fp32": "f", "tf32": "t", "default": "t", "amp": "a", "fp16": "h", "bf16": "b"}
_RUN = re.compile(r"(\d+)([a-zA-Z])([\d.]+)(?:-([\d.]+))?(?:\*\d+)?(?:@(\d+))?")


@dataclass(frozen=True)
class Measured:
    """Runs of one configuration: least and greatest time in seconds.

    letter : as in `LETTERS`. input_size_px : None for the CNN's usual size.
    """

    batch_per_gpu: int
    letter: str
    input_size_px: int | None
    low_s: float
    high_s: float


def nearest_measured(
    cnn: str, gpu: str, batch: int, precision: str, *, is_channels_last: bool, pixels: int | None
) -> Measured | None:
    """Return the runs with the nearest batch of a CNN on a GPU; None where there are none.

    cnn : its key. batch : images per GPU. pixels : side of an image, None for the CNN's usual size.
    Precision, layout and size are those of the runs.

    >>> nearest_measured(
    ...     "resnet50", "V100-SXM2-16GB", 60, "fp32", is_channels_last=False, pixels=None
    ... ).batch_per_gpu
    96
    """
    letter = LETTERS.get(precision, "")
    wanted = (letter.upper() if is_channels_last else letter, pixels)
    alike = (run for run in _runs(cnn, gpu) if (run.letter, run.input_size_px) == wanted)
    return min(alike, key=lambda run: (abs(log(run.batch_per_gpu / batch)), run.batch_per_gpu), default=None)


def _runs(cnn: str, gpu: str) -> Iterable[Measured]:
    """Yield the runs with a CNN and a GPU; the line is looked for as text, which takes no time."""
    text, beginning = _text(), f"\n{cnn},{gpu},"
    place = text.find(beginning)
    line = "" if place < 0 else text[place + len(beginning) : text.find("\n", place + 1)]
    yield from _unpacked(line)


def _unpacked(runs: str) -> Iterable[Measured]:
    for found in _RUN.finditer(runs):
        batch, letter, low, high, pixels = found.groups()
        yield Measured(
            batch_per_gpu=int(batch),
            letter=letter,
            input_size_px=int(pixels) if pixels else None,
            low_s=float(low) / 1e3,
            high_s=float(high or low) / 1e3,
        )


@cache
def _text() -> str:
    return read_data_file(FILE).decode()
