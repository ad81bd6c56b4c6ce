"""CNNs from files: ONNX, Keras, layer tables and PyTorch modules; suffix and content select the reader."""

import os
from pathlib import Path

from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.readers.keras_reader import read_keras
from trainlaw.datasets.cnns.readers.layer_table import read_layer_table
from trainlaw.datasets.cnns.readers.onnx_reader import read_onnx
from trainlaw.formulas.errors import InputError

# Keras writes the class of the model first.
_HEAD_BYTES = 4096


def read_cnn(
    path: str | os.PathLike[str], input_size_px: int | None = None, restore_batchnorm: bool = False
) -> Cnn:
    """Read a CNN from a file: `.onnx`, the JSON of a Keras model, or a layer table (`.csv`, `.json`).

    `input_size_px` sets the side of the input, pixels, where a file leaves it open; `restore_batchnorm` puts
    back what an export to ONNX folded away. Raises `InputError` for any other or a malformed file.
    """
    ending = Path(path).suffix.lower()
    if ending == ".onnx":
        return read_onnx(path, input_size_px, restore_batchnorm)
    if ending == ".json" and _holds_keras_model(path):
        return read_keras(path, input_size_px)
    if ending in {".csv", ".json"}:
        return read_layer_table(path)
    raise InputError(f"expected a CNN as .onnx, .csv or .json, got {Path(path).name!r}")


def _holds_keras_model(path: str | os.PathLike[str]) -> bool:
    try:
        with Path(path).open("rb") as file:
            return b'"class_name"' in file.read(_HEAD_BYTES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read {path}: {reason}") from None
