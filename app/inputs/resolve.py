"""The GPUs and CNNs that a person names: known ones, changes of known ones, and files of their own."""

from functools import cache
from math import isnan
from pathlib import Path

from trainlaw.datasets import (
    FEATURES,
    STUDY_FEATURES,
    CnnCounts,
    Gpu,
    GpuCatalog,
    built_in_gpus,
    find_cnn_counts,
)
from trainlaw.datasets.cnns import read_cnn
from trainlaw.datasets.features.feature import written_out
from trainlaw.datasets.hardware.gpus import NUMBER_COLUMNS
from trainlaw.formulas import InputError, variables

_CNN_FILES = (".onnx", ".csv", ".json")


def known_gpus(gpu_file: Path | None = None) -> GpuCatalog:
    """Return the built-in cards, with those of a person's file added or corrected.

    Raises FaultsError for faulty cells, InputError for a file that is no table.
    """
    if gpu_file is None:
        return built_in_gpus()
    from trainlaw.datasets.hardware.gpu_files import with_gpus  # noqa: PLC0415 (checks load slowly)

    return with_gpus(gpu_file)


def is_cnn_file(text: str) -> bool:
    """Return whether `text` names a file of a network rather than a network.

    >>> is_cnn_file("nets/mine.onnx"), is_cnn_file("regnet_x_1.6gf")
    (True, False)
    """
    return Path(text).suffix.lower() in _CNN_FILES


def named_cnn(
    text: str, pixels: int | None = None, n_classes: int | None = None, restore_batchnorm: bool = False
) -> CnnCounts:
    """Return the network of a name, or of a file: .onnx, a layer table (.csv, .json), Keras' JSON.

    pixels : side of the input, None for the network's own; n_classes : likewise. restore_batchnorm : put back
    what an export folded away. Raises UnknownNameError for an unknown name, InputError for a faulty file or
    one that fixes another size.
    """
    if not is_cnn_file(text):
        return find_cnn_counts(text, pixels, n_classes)
    facts = CnnCounts.of(read_cnn(text, pixels, restore_batchnorm))
    for wanted, own, what in (
        (pixels, facts.input_size_px, "pixels of its input"),
        (n_classes, facts.n_classes, "classes"),
    ):
        if wanted not in (None, own):
            raise InputError(f"{text} fixes the {what} at {own}, so {wanted} cannot be had")
    return facts


def notes_of(facts: CnnCounts) -> tuple[str, ...]:
    """Return what the reader of a network's file noticed, such as batch normalisation folded away."""
    return facts.graph.notes if facts.graph else ()


@cache
def _facts_of_a_study() -> tuple[str, ...]:
    raw = {name for feature in STUDY_FEATURES for name in variables(written_out(FEATURES, feature))}
    return tuple(name for name in NUMBER_COLUMNS if name in raw)


def unknown_facts(gpu: Gpu) -> tuple[str, ...]:
    """Return a line for each unknown fact of a card that the features of a study are made of."""
    return tuple(
        f"{name} of {gpu.gpu} is not known, so formulas that need it are not defined; a GPU file may add it"
        for name in _facts_of_a_study()
        if isnan(getattr(gpu, name))
    )
