"""CNNs from `.onnx` files (operators of https://onnx.ai/onnx/operators)."""

import os
from collections.abc import Sequence
from dataclasses import replace

from trainlaw.datasets.cnns.graph import Cnn, Layer
from trainlaw.datasets.cnns.readers.foreign import cnn_name_from_file, foreign_faults
from trainlaw.datasets.cnns.readers.onnx_graph import ConstantTensor, Node, OnnxGraph, load_onnx_graph
from trainlaw.datasets.cnns.readers.onnx_operations import OPERATIONS
from trainlaw.datasets.cnns.readers.onnx_shapes import constant_result
from trainlaw.datasets.cnns.readers.tensors import GraphTracer, Tensor
from trainlaw.formulas.errors import InputError, shown


def unfolded(cnn: Cnn, folded: Sequence[int], restore: bool) -> Cnn:
    """Return the CNN with a note on folded batch normalisation, which is restored if `restore` is set.

    `folded` are positions of convolutions known to be folded; without any, a CNN that has no normalisation
    at all may be folded as a whole.
    """
    # A CNN without any normalisation may never have had one: that is noted, not decided.
    convolutions = [i for i, layer in enumerate(cnn.layers) if layer.group == "convolution"]
    normalised = any(layer.group == "normalization" for layer in cnn.layers)
    if not folded and (normalised or not convolutions):
        return cnn
    known = f"batch normalisation is folded into {len(folded)} of {len(convolutions)} convolutions"
    found = known if folded else "no batch normalisation was found; an export in evaluation mode folds it"
    if not restore:
        advice = "export in training mode, or have it restored"
        return replace(cnn, notes=(*cnn.notes, f"{found}: {advice}"))
    note = f"{found}: it was restored after {'these' if folded else 'all'} convolutions"
    return replace(cnn, layers=_restored(cnn, set(folded or convolutions)), notes=(*cnn.notes, note))


def _restored(cnn: Cnn, folded: set[int]) -> tuple[Layer, ...]:
    layers: list[Layer] = []
    moved: list[int] = []
    for position, layer in enumerate(cnn.layers):
        here = replace(layer, inputs=tuple(moved[i] for i in layer.inputs))
        if position in folded:
            layers += [replace(here, vector_parameters=0), _normalisation(here, len(layers))]
        else:
            layers.append(here)
        moved.append(len(layers) - 1)
    return tuple(layers)


def _normalisation(convolution: Layer, position: int) -> Layer:
    channels, height, width = convolution.out_channels, convolution.out_height, convolution.out_width
    return Layer(
        f"{convolution.name}_batchnorm",
        "batchnorm",
        (position,),
        in_channels=channels,
        out_channels=channels,
        in_height=height,
        in_width=width,
        out_height=height,
        out_width=width,
        vector_parameters=2 * channels,
    )


Value = Tensor | ConstantTensor


def read_onnx(
    path: str | os.PathLike[str],
    input_size_px: int | None = None,
    restore_batchnorm: bool = False,
) -> Cnn:
    """Read a CNN from an `.onnx` file; its weights are not needed.

    Parameters
    ----------
    path : str or PathLike
        The file.
    input_size_px : int, optional
        Side of the input in pixels, where the file leaves it open.
    restore_batchnorm : bool
        Whether to restore batch normalisation that the export folded into convolutions; a note in the result
        states where that may be the case.

    Returns
    -------
    Cnn

    Raises
    ------
    InputError
        The file is malformed or has an operation that is not supported.
    MissingDependencyError
        The package onnx is not installed.
    """
    with foreign_faults(str(path)):
        graph = load_onnx_graph(path)
        return _Reader(graph, input_size_px, restore_batchnorm).read(cnn_name_from_file(path))


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
            with foreign_faults(f"node {shown(node.name or node.outputs[0])} ({shown(node.operation)})"):
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
            raise InputError(f"reads {shown(absent[0])}, which no earlier node produces")
        arguments = [self._values[label] if label else None for label in node.inputs]
        constants = [argument for argument in arguments if isinstance(argument, ConstantTensor)]
        results: Sequence[Value | None]
        if node.operation == "Constant":
            results = (_constant_of(node),)
        elif node.operation == "Shape" and arguments[0] is not None:
            # A shape is known even where the data are not.
            results = (constant_result(node, [ConstantTensor(arguments[0].shape)]),)
        elif not any(isinstance(argument, Tensor) for argument in arguments):
            results = (constant_result(node, constants),)
        elif node.operation in OPERATIONS:
            made = OPERATIONS[node.operation](self._tracer, node, arguments)
            results = made if isinstance(made, tuple) else (made,)
            if node.operation in {"Conv", "ConvTranspose"} and _folded_by_name(node):
                self._folded += [value.layer for value in results if isinstance(value, Tensor)]
        else:
            raise InputError(f"operation {shown(node.operation)} is not supported")
        known = zip(node.outputs, results, strict=False)
        self._values.update({label: value for label, value in known if value is not None})


def _constant_of(node: Node) -> ConstantTensor:
    value = next(iter(node.attributes.values()))
    return value if isinstance(value, ConstantTensor) else ConstantTensor.of(value)


def _folded_by_name(node: Node) -> bool:
    """Return whether the exporters of torch named the weight or bias as they do after folding."""
    # The older exporter numbers a folded weight; the newer one names the new bias after the weight.
    weight, bias = node.inputs[1], node.inputs[2] if len(node.inputs) > 2 else ""
    return weight.startswith("onnx::Conv") or bias == f"{weight}_bias"
