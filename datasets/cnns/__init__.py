"""CNNs as graphs of layers: a zoo by name, readers, counts, memory, schedules."""

from typing import TYPE_CHECKING

from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.counts import counts, explain
from trainlaw.datasets.cnns.graph import Cnn, Layer, longest_path
from trainlaw.datasets.cnns.memory import training_memory
from trainlaw.datasets.cnns.zoo import build, zoo_entry, zoo_names
from trainlaw.formulas.lazy_names import lazy_names

if TYPE_CHECKING:
    from trainlaw.datasets.cnns.readers import read_cnn
    from trainlaw.datasets.cnns.readers.layer_table import cnn_from_records, layer_records, write_layer_table
    from trainlaw.datasets.cnns.readers.onnx_reader import read_onnx
    from trainlaw.datasets.cnns.readers.torch_reader import read_torch

__all__ = [
    "Cnn",
    "CnnBuilder",
    "Layer",
    "build",
    "cnn_from_records",
    "counts",
    "explain",
    "layer_records",
    "longest_path",
    "read_cnn",
    "read_onnx",
    "read_torch",
    "training_memory",
    "write_layer_table",
    "zoo_entry",
    "zoo_names",
]

_HOMES = {
    "readers": "read_cnn",
    "readers.layer_table": "cnn_from_records layer_records write_layer_table",
    "readers.onnx_reader": "read_onnx",
    "readers.torch_reader": "read_torch",
}

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _HOMES)
