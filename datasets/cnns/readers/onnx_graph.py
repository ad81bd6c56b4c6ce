"""An `.onnx` file as nodes, constants and inputs; of the weights only shapes are used."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from trainlaw.datasets.cnns.graph import MAX_LAYERS
from trainlaw.datasets.files.table_files import read_as
from trainlaw.formulas.errors import InputError, optional_package
from trainlaw.formulas.files.text_files import opened_file

# Larger constants are weights; smaller ones may be shapes, axes or limits, whose values matter.
MAX_VALUES = 1024
MAX_RANK = 8
# The largest CNNs, in fp32, are below; memory for twice a file is needed to read it.
_MAX_BYTES = 2**30
_DATA_FIELDS = ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data")


@dataclass(frozen=True, slots=True)
class ConstantTensor:
    """A tensor that does not depend on the input: its shape, and its values where there are few.

    `learned` distinguishes a stored tensor (a weight) from a computed one.
    """

    shape: tuple[int, ...]
    values: np.ndarray | None = None
    learned: bool = False

    @classmethod
    def of(cls, values: Any) -> "ConstantTensor":
        """Return a constant with these values."""
        array = np.asarray(values)
        return cls(array.shape, array)

    def array(self) -> np.ndarray:
        """Return the values as an array; raises `InputError` if they are unknown."""
        if self.values is None:
            raise InputError(f"expected known values, got a constant of shape {self.shape} without any")
        return self.values


@dataclass(frozen=True, slots=True)
class Node:
    """One operation as in the file, with the version of the operations and its attributes."""

    proto: Any
    opset: int
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OnnxGraph:
    """Nodes in order of execution, constants by name, inputs (name, sides; 0 for an open side), outputs."""

    nodes: tuple[Node, ...]
    constants: Mapping[str, ConstantTensor]
    inputs: tuple[tuple[str, tuple[int, ...]], ...]
    outputs: tuple[str, ...]


def load_onnx_graph(path: str | os.PathLike[str]) -> OnnxGraph:
    """Read the graph of an `.onnx` file; weights in other files are not opened.

    Raises `InputError` for any other file, `MissingDependencyError` without the package onnx.
    """
    onnx = optional_package("onnx", "cnn")
    with opened_file(path, limit_bytes=_MAX_BYTES) as file:
        content = file.read()
    model = onnx.ModelProto()
    with read_as(Path(path), "an ONNX model"):
        model.ParseFromString(content)
    graph = model.graph
    if not graph.node:
        raise InputError("expected an ONNX model, got one without nodes")
    if len(graph.node) > MAX_LAYERS:
        raise InputError(f"expected at most {MAX_LAYERS} nodes, got {len(graph.node)}")
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    return _graph(graph, versions[0] if versions else 1, onnx)


def _graph(graph: Any, opset: int, onnx: Any) -> OnnxGraph:
    nodes = tuple(
        Node(node, opset, {each.name: _attribute(each, onnx) for each in node.attribute})
        for node in graph.node
    )
    constants = {tensor.name: replace(_constant(tensor, onnx), learned=True) for tensor in graph.initializer}
    inputs = {
        value.name: tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
        for value in graph.input
        if value.name not in constants
    }
    # Weights may be declared as inputs without values: those that are not images or are used as weights.
    seen_as_data = {node.input[0] for node in graph.node if node.input}
    weights = {name for node in graph.node for name in node.input[1:]} - seen_as_data
    for name in [name for name, shape in inputs.items() if len(shape) != 4 or name in weights]:
        constants[name] = ConstantTensor(_checked_shape(inputs.pop(name)), learned=True)
    return OnnxGraph(nodes, constants, tuple(inputs.items()), tuple(value.name for value in graph.output))


def _attribute(attribute: Any, onnx: Any) -> Any:
    if attribute.type in {onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS}:
        raise InputError("CNNs with loops or conditions (If, Loop, Scan) are not supported")
    if attribute.type == onnx.AttributeProto.TENSOR:
        return _constant(attribute.t, onnx)
    value = onnx.helper.get_attribute_value(attribute)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _constant(tensor: Any, onnx: Any) -> ConstantTensor:
    shape = _checked_shape(tuple(tensor.dims))
    # Values matter where a shape, an axis or a limit is computed from them; those are small.
    size = prod(shape)
    if size > MAX_VALUES:
        return ConstantTensor(shape)
    stored = any(len(getattr(tensor, field)) for field in _DATA_FIELDS)
    # What lies in another file is not opened.
    elsewhere = tensor.data_location == onnx.TensorProto.EXTERNAL
    if (size and not stored) or elsewhere or tensor.data_type == onnx.TensorProto.STRING:
        return ConstantTensor(shape)
    return ConstantTensor(shape, onnx.numpy_helper.to_array(tensor))


def _checked_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    if len(shape) > MAX_RANK or any(not 0 <= side < 2**31 for side in shape):
        raise InputError(
            f"expected a shape of at most {MAX_RANK} sides from 0 to 2^31, got {shape[:MAX_RANK]}"
        )
    return shape
