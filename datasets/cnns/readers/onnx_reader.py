"""Networks from `.onnx` files (operators of https://onnx.ai/onnx/operators)."""

import os

from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.readers.folding import unfolded
from trainlaw.datasets.cnns.readers.foreign import faults_of, name_of_file
from trainlaw.datasets.cnns.readers.onnx_graph import ConstantTensor, Node, OnnxGraph, load_onnx_graph
from trainlaw.datasets.cnns.readers.onnx_operations import OPERATIONS
from trainlaw.datasets.cnns.readers.onnx_shapes import constant_result
from trainlaw.datasets.cnns.readers.tensors import GraphTracer, Tensor
from trainlaw.formulas.errors import InputError, shown

Value = Tensor | ConstantTensor


def read_onnx(
    path: str | os.PathLike[str],
    input_size_px: int | None = None,
    restore_batchnorm: bool = False,
) -> Cnn:
    """Read a network from an `.onnx` file; its weights are not needed.

    `input_size_px` sets the side of the input, pixels, where the file leaves it open. Where batch
    normalisation may be folded into the convolutions a note says so; `restore_batchnorm` adds it again.
    Raises `InputError` for what cannot be read, `MissingDependencyError` without the package onnx.
    """
    with faults_of(str(path)):
        graph = load_onnx_graph(path)
        return _Reader(graph, input_size_px, restore_batchnorm).read(name_of_file(path))


class _Reader:
    """One pass over the nodes of a graph."""

    def __init__(self, graph: OnnxGraph, input_size_px: int | None, restore_batchnorm: bool) -> None:
        self._graph = graph
        self._restore_batchnorm = restore_batchnorm
        self._input_size_px = input_size_px
        self._tracer = GraphTracer()
        self._values: dict[str, Value] = dict(graph.constants)
        self._folded: list[int] = []

    def read(self, name: str) -> Cnn:
        for label, sides in self._graph.inputs:
            self._values[label] = self._tracer.input(self._input_shape(label, sides))
        for node in self._graph.nodes:
            with faults_of(f"node {shown(node.name or node.outputs[0])} ({shown(node.operation)})"):
                self._follow(node)
        outputs = [self._values.get(label) for label in self._graph.outputs]
        cnn = self._tracer.finish(name, [value for value in outputs if isinstance(value, Tensor)])
        return unfolded(cnn, self._folded, self._restore_batchnorm)

    def _input_shape(self, label: str, sides: tuple[int, ...]) -> list[int]:
        if len(sides) != 4:
            raise InputError(f"input {shown(label)}: expected (batch, channels, height, width), got {sides}")
        batch, channels, *image = (max(side, 0) for side in sides)
        if self._input_size_px is not None:
            image = [self._input_size_px] * 2
        if 0 in image:
            raise InputError(f"input {shown(label)}: its size is open; give the input size in pixels")
        return [batch or 1, channels, *image]

    def _follow(self, node: Node) -> None:
        absent = [label for label in node.inputs if label and label not in self._values]
        if absent:
            raise InputError(f"reads {shown(absent[0])}, which nothing before it makes")
        arguments = [self._values[label] if label else None for label in node.inputs]
        if node.operation == "Constant":
            results = (_constant_of(node),)
        elif node.operation == "Shape":
            # A shape is known even where the data are not.
            results = (constant_result(node, [ConstantTensor(arguments[0].shape)]),)
        elif not any(isinstance(argument, Tensor) for argument in arguments):
            results = (constant_result(node, [argument for argument in arguments if argument is not None]),)
        elif node.operation in OPERATIONS:
            results = OPERATIONS[node.operation](self._tracer, node, arguments)
            results = results if isinstance(results, tuple) else (results,)
            if node.operation in {"Conv", "ConvTranspose"} and _folded_by_name(node):
                self._folded.append(results[0].layer)
        else:
            raise InputError(f"operation {shown(node.operation)} is not supported")
        self._values.update(zip(node.outputs, results, strict=False))


def _constant_of(node: Node) -> ConstantTensor:
    value = next(iter(node.attributes.values()))
    return value if isinstance(value, ConstantTensor) else ConstantTensor.of(value)


def _folded_by_name(node: Node) -> bool:
    """Whether torch's exporters named the weight or bias as they do after folding."""
    # The older exporter numbers a folded weight, the newer one names the new bias after the weight.
    weight, bias = node.inputs[1], node.inputs[2] if len(node.inputs) > 2 else ""
    return weight.startswith("onnx::Conv") or bias == f"{weight}_bias"
