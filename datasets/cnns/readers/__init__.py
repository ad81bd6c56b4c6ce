"""CNNs from files: ONNX, layer tables and PyTorch modules; the suffix selects the reader."""

import os
from pathlib import Path

from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.readers.layer_table import read_layer_table
from trainlaw.datasets.cnns.readers.onnx_reader import read_onnx
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.files.text_files import opened_file

# Keras writes the class of the model first.
_HEAD_BYTES = 4096
_Path = str | os.PathLike[str]


def _read_layers(path: _Path, input_size_px: int | None, restore_batchnorm: bool | None) -> Cnn:
    with opened_file(path) as file:
        if Path(path).suffix.lower() == ".json" and b'"class_name"' in file.read(_HEAD_BYTES):
            raise InputError(
                f"{Path(path).name}: expected .onnx or a layer table, got a Keras model; "
                'export it by model.export("net.onnx", format="onnx")'
            )
    return read_layer_table(path)


_READERS = {".onnx": read_onnx, ".csv": _read_layers, ".json": _read_layers}


def read_cnn(path: _Path, input_size_px: int | None = None, restore_batchnorm: bool | None = None) -> Cnn:
    """Read a CNN from a file: `.onnx`, or a layer table (`.csv`, `.json`).

    input_size_px : side of the input in pixels, where the file leaves it open. restore_batchnorm : whether to
    restore batch normalisation that an export to ONNX folded into convolutions: None where the file proves
    it, True also where the CNN has no normalisation at all, False never. InputError for a file of another
    format or a malformed one.
    """
    ending = Path(path).suffix.lower()
    if ending not in _READERS:
        raise InputError(f"expected a CNN as .onnx, .csv or .json, got {Path(path).name!r}")
    return _READERS[ending](path, input_size_px, restore_batchnorm)
