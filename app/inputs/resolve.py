"""The GPUs and CNNs that the user names: known ones, changes of known ones, and custom ones in files."""

import sys
from functools import cache
from pathlib import Path

from trainlaw.datasets import FEATURES, CnnCounts, GpuCatalog, built_in_gpus, find_cnn_counts
from trainlaw.datasets.features.feature import base_columns
from trainlaw.datasets.features.run_features import SKELETON_FEATURES
from trainlaw.datasets.features.work import resources
from trainlaw.datasets.hardware.gpus import NUMBER_COLUMNS
from trainlaw.formulas import InputError
from trainlaw.formulas.errors import shown

_CNN_FILES = (".onnx", ".csv", ".json")
# Files of models that hold weights or code, from which only their framework makes a graph: lines that do.
_BY_TORCH = (
    'import torch; model = {}; torch.onnx.export(model.eval(), torch.zeros(1, 3, 224, 224), "net.onnx")'
)
_EXPORTS = {
    (".pt", ".pth"): _BY_TORCH.format("torch.load({file}, weights_only=False)"),
    (".py",): _BY_TORCH.format("YourNetwork()"),
    (".h5", ".keras"): "import keras; model = keras.models.load_model({file}); "
    'model.export("net.onnx", format="onnx")',
}


def known_gpus(gpu_file: Path | None = None) -> GpuCatalog:
    """Return the built-in GPUs, with those of a user file added or corrected.

    Assumptions about specifications that the file does not state are printed on standard error.
    Raises FaultsError for faulty cells, InputError for a file that is no table.
    """
    if gpu_file is None:
        return built_in_gpus()
    changed = gpu_file.stat().st_mtime_ns if gpu_file.is_file() else 0
    return _gpus_of(gpu_file, changed)


@cache
def _gpus_of(gpu_file: Path, changed: int) -> GpuCatalog:
    """Read a file of GPUs once for each time `changed` at which it was written; announce assumptions."""
    from trainlaw.datasets.hardware.gpu_files import assumptions, with_gpus  # noqa: PLC0415 (checks load slowly)

    catalog = with_gpus(gpu_file)
    for gpu in catalog.gpus:
        for text in assumptions(gpu):
            print(f"note: {shown(gpu.gpu)}: {text}", file=sys.stderr)
    return catalog


def is_cnn_file(text: str) -> bool:
    """Return whether `text` names the file of a CNN rather than a CNN.

    >>> is_cnn_file("nets/mine.onnx"), is_cnn_file("regnet_x_1.6gf")
    (True, False)
    """
    return Path(text).suffix.lower() in _CNN_FILES


def named_cnn(
    text: str, pixels: int | None = None, n_classes: int | None = None, restore_batchnorm: bool | None = None
) -> CnnCounts:
    """Return the CNN of a name, or of a file: .onnx, or a layer table (.csv, .json).

    pixels : side of the input, None for the CNN's default; n_classes : likewise. restore_batchnorm : as
    for `read_cnn`. Raises UnknownNameError for an unknown name, InputError for a faulty file or
    one that fixes another size.
    """
    for suffixes, export in _EXPORTS.items():
        if text.lower().endswith(suffixes):
            raise InputError(
                f"expected a CNN as .onnx, .csv or .json, got {shown(text)}: export it in Python, "
                f"{export.replace('{file}', shown(text))}"
            )
    if not is_cnn_file(text):
        return find_cnn_counts(text, pixels, n_classes)
    from trainlaw.datasets.cnns.readers import read_cnn  # noqa: PLC0415 (readers load slowly)

    counts = CnnCounts.of(read_cnn(text, pixels, restore_batchnorm))
    for wanted, fixed, what in (
        (pixels, counts.input_size_px, "input pixels"),
        (n_classes, counts.n_classes, "classes"),
    ):
        if wanted not in (None, fixed):
            raise InputError(f"{text} fixes the number of {what} at {fixed}; {wanted} was requested")
    return counts


def reader_notes(cnn: CnnCounts) -> tuple[str, ...]:
    """Return what the reader of a CNN's file noticed, such as batch normalisation folded away."""
    return cnn.custom_graph.notes if cnn.custom_graph else ()


@cache
def study_specifications() -> tuple[str, ...]:
    """Return the specifications of a GPU that features of a study and the built-in formula are made of."""
    factors = (row["feature"] for rows in resources().values() for row in rows)
    base = base_columns(FEATURES, (*(feature.spec.name for feature in SKELETON_FEATURES), *factors))
    return tuple(name for name in NUMBER_COLUMNS if name in base)
