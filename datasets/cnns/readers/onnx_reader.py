"""CNNs from `.onnx` files (operators of https://onnx.ai/onnx/operators)."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
from trainlaw.datasets.cnns.graph import Cnn, Layer, kinds_by
from trainlaw.datasets.cnns.readers.foreign import cnn_name_from_file, foreign_faults
from trainlaw.datasets.cnns.readers.onnx_graph import ConstantTensor, Node, load_onnx_graph
from trainlaw.datasets.cnns.readers.onnx_shapes import Argument, constant_result, result_shapes
from trainlaw.datasets.cnns.readers.tensors import LEARNED, MAX_SIDE_PX, GraphTracer, Tensor
from trainlaw.datasets.cnns.windows import Padding, pair
from trainlaw.formulas.errors import InputError, shown


@dataclass(frozen=True, slots=True)
class NodeCall:
    """A node with the values of its inputs."""

    tracer: GraphTracer
    node: Node
    arguments: Sequence[Argument]

    def get(self, attribute: str, default: Any = None) -> Any:
        """Return an attribute of the node."""
        return self.node.attributes.get(attribute, default)

    def data(self, position: int = 0) -> Tensor:
        """Return an input that depends on that of the CNN."""
        value = self.arguments[position]
        if not isinstance(value, Tensor):
            raise InputError(f"expected data as input {position}, got a constant")
        return value

    def weight(self, rank: int) -> tuple[int, ...]:
        """Return the shape of the second input, a constant with that number of axes."""
        weight = self.arguments[1]
        if not isinstance(weight, ConstantTensor):
            raise InputError("expected a constant weight, got one that depends on the input")
        if len(weight.shape) != rank:
            raise InputError(f"expected a weight with {rank} axes, got shape {weight.shape}")
        return weight.shape

    def given(self, position: int) -> ConstantTensor | None:
        """Return a constant optional input, or None."""
        value = self.arguments[position] if position < len(self.arguments) else None
        if isinstance(value, Tensor):
            raise InputError(f"expected a constant as input {position}, got one that depends on the input")
        return value

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each result."""
        return result_shapes(self.node, self.arguments)

    def learned(self, *positions: int) -> int:
        """Return the learned elements of the optional inputs at these positions."""
        constants = [self.given(position) for position in positions]
        # The exporter of torch gives convolutions without a bias a computed bias of zeros.
        return sum(prod(each.shape) for each in constants if each is not None and each.learned)

    def sliding(self) -> dict[str, Padding]:
        """Return stride and padding of a window."""
        return {"stride": pair(self.get("strides", (1, 1))), "padding": _padding(self)}

    def convolving(self) -> dict[str, Any]:
        """Return the options of a convolution."""
        return {
            **self.sliding(),
            "groups": self.get("group", 1),
            "dilation": pair(self.get("dilations", (1, 1))),
            "bias": self.learned(2) > 0,
        }


# Where torch's exporter notes which of its rewritings made a node.
_REWRITINGS = "pkg.onnxscript.rewriter.rule_name"
Operation = Callable[[NodeCall], Argument | tuple[Tensor, ...]]


def _padding(call: NodeCall) -> Padding:
    automatic = call.get("auto_pad", "NOTSET")
    # Whether the odd pixel is at the end or the beginning affects neither counts nor sizes.
    if automatic in {"SAME_UPPER", "SAME_LOWER"}:
        return "same"
    top, left, bottom, right = call.get("pads", (0, 0, 0, 0))
    if not all(0 <= side <= MAX_SIDE_PX for side in (top, left, bottom, right)):
        raise InputError(f"expected pads of 0 to {MAX_SIDE_PX}, got {(top, left, bottom, right)}")
    return "valid" if automatic == "VALID" else ((top, bottom), (left, right))


def _conv(call: NodeCall) -> Tensor:
    channels, entering, *kernel = call.weight(4)
    x, options = call.data(), call.convolving()
    read = entering * options["groups"]
    if len(x.shape) != 4 or x.shape[1] != read:
        raise InputError(f"expected {read} channels, got shape {x.shape}")
    return call.tracer.conv(x, channels, pair(kernel), **options)


def _conv_transpose(call: NodeCall) -> Tensor:
    _, per_group, *kernel = call.weight(4)
    if "output_shape" in call.node.attributes:
        raise InputError("output_shape is not supported; export with pads and output_padding")
    options = call.convolving()
    options["output_padding"] = pair(call.get("output_padding", (0, 0)))
    return call.tracer.conv_transpose(call.data(), per_group * options["groups"], pair(kernel), **options)


def _pool(kind: str) -> Operation:
    def operation(call: NodeCall) -> Tensor:
        kernel = pair(call.node.attributes["kernel_shape"])
        options = {**call.sliding(), "ceil": bool(call.get("ceil_mode", 0))}
        return call.tracer.pool(call.data(), kind, kernel, call.get("dilations", ()), **options)

    return operation


def _global_pool(kind: str) -> Operation:
    return lambda call: call.tracer.global_pool(call.data(), kind, call.shapes[0])


def _gemm(call: NodeCall) -> Tensor:
    shape = call.weight(2)
    if call.get("transA", 0):
        raise InputError("transA is not supported")
    return _dense(call, shape[::-1] if call.get("transB", 0) else shape, bias=call.learned(2) > 0)


def _dense(call: NodeCall, shape: tuple[int, ...], bias: bool = False) -> Tensor:
    x, (entering, leaving) = call.data(), shape
    if x.shape[-1] != entering:
        raise InputError(f"expected {entering} features, got shape {x.shape}")
    return call.tracer.dense(x, leaving, bias)


def _elementwise(kind: str) -> Operation:
    is_learned = kind in LEARNED
    return lambda call: call.tracer.elementwise(call.data(), kind, call.learned(1, 2) if is_learned else 0)


def _arithmetic(kind: str) -> Operation:
    def operation(call: NodeCall) -> Tensor:
        tensors = [argument for argument in call.arguments if isinstance(argument, Tensor)]
        constants = [argument for argument in call.arguments if isinstance(argument, ConstantTensor)]
        if kind == "multiply" and not constants and len(tensors) == 2:
            fused = _fused_gate(call.tracer, *tensors)
            if fused is not None:
                return fused
        x = call.tracer.merge(kind, tensors)
        for constant in constants:
            x = _with_constant(call.tracer, x, constant, adds=kind == "add")
        return x

    return operation


# Exports split an activation into several operations; a framework trains it as one.
_GATED: Mapping[tuple[str, ...], str] = {
    ("sigmoid",): "silu",
    ("hardsigmoid",): "hardswish",
    ("softplus", "tanh"): "mish",
    ("scale", "tanh", "scale"): "gelu",
}


def _fused_gate(tracer: GraphTracer, left: Tensor, right: Tensor) -> Tensor | None:
    """Return the activation that equals the product of a tensor with a function of it, if there is one."""
    layers = tracer.builder.layers
    x = min(left, right, key=lambda tensor: tensor.layer)
    for kinds, activation in _GATED.items():
        chain = layers[-len(kinds) :]
        positions = range(len(layers) - len(kinds), len(layers))
        sources = [x.layer, *positions[:-1]]
        newest = max(left.layer, right.layer) == len(layers) - 1
        if newest and [layer.kind for layer in chain] == list(kinds):
            if all(layer.inputs == (source,) for layer, source in zip(chain, sources, strict=True)):
                return Tensor(tracer.builder.fuse_last(len(kinds), activation), x.shape, x.channel_axis)
    return None


def _with_constant(tracer: GraphTracer, x: Tensor, constant: ConstantTensor, adds: bool) -> Tensor:
    """Add a sum or product with a constant: a bias where the layer lacks one, else a scale."""
    size, last = prod(constant.shape), tracer.builder.layers[x.layer]
    # The exact GELU ends in a factor of one half, which its single layer includes.
    halves = constant.values is not None and constant.values.size == 1 and constant.values.item() == 0.5
    if halves and not adds and last.kind == "gelu":
        return x
    newest = x.layer == len(tracer.builder.layers) - 1
    if adds and newest and last.weights and not last.vector_parameters and size == last.out_channels:
        return replace(x, layer=tracer.builder.with_bias(x.layer))
    return tracer.elementwise(x, "scale", size if size > 1 else 0)


def _slices(call: NodeCall) -> tuple[Tensor, ...]:
    return tuple(call.tracer.slice(call.data(), shape) for shape in call.shapes)


def _squeeze(call: NodeCall) -> Tensor:
    x, shape = call.data(), call.shapes[0]
    # Without axes, ONNX squeezes a batch of one, too.
    return call.tracer.reshape(x, shape if shape[:1] == x.shape[:1] else (x.shape[0], *shape))


def _pad(call: NodeCall) -> Tensor:
    listed, axes = call.given(1), call.given(3)
    pads = listed.array().tolist() if listed else call.node.attributes["pads"]
    half = len(pads) // 2
    chosen = [axis % 4 for axis in axes.array().tolist()] if axes else range(half)
    before, after = dict(zip(chosen, pads[:half], strict=True)), dict(zip(chosen, pads[half:], strict=True))
    if any(side for axis, side in (*before.items(), *after.items()) if axis not in {2, 3}):
        raise InputError(f"expected a padding of height and width only, got {pads}")
    sides = [before.get(2, 0), before.get(3, 0), after.get(2, 0), after.get(3, 0)]
    return call.tracer.pad(call.data(), sides)


def _concat(call: NodeCall) -> Tensor:
    tensors = [call.data(position) for position in range(len(call.arguments))]
    return call.tracer.concat(tensors, call.node.attributes["axis"])


OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        **{name: _elementwise(kind) for name, kind in kinds_by("onnx").items()},
        "Conv": _conv,
        "ConvTranspose": _conv_transpose,
        "Gemm": _gemm,
        "MatMul": lambda call: _dense(call, call.weight(2)),
        "MaxPool": _pool("max_pool"),
        "AveragePool": _pool("average_pool"),
        **dict.fromkeys(("GlobalMaxPool", "ReduceMax"), _global_pool("max_pool")),
        **dict.fromkeys(("GlobalAveragePool", "ReduceMean"), _global_pool("average_pool")),
        **dict.fromkeys(("Add", "Sub", "Sum"), _arithmetic("add")),
        **dict.fromkeys(("Mul", "Div"), _arithmetic("multiply")),
        "Concat": _concat,
        "Pad": _pad,
        **dict.fromkeys(("Slice", "Split"), _slices),
        **dict.fromkeys(
            ("Resize", "Upsample"), lambda call: call.tracer.resize(call.data(), *call.shapes[0][2:])
        ),
        **dict.fromkeys(
            ("Reshape", "Flatten", "Unsqueeze"),
            lambda call: call.tracer.reshape(call.data(), call.shapes[0]),
        ),
        "Squeeze": _squeeze,
        "Transpose": lambda call: call.tracer.transpose(call.data(), call.node.attributes["perm"]),
        **dict.fromkeys(("Identity", "Cast", "CastLike", "Expand"), lambda call: call.arguments[0]),
    }
)


def unfolded(cnn: Cnn, folded: Sequence[int], restore: bool | None) -> Cnn:
    """Return the CNN with a note on folded batch normalisation, which is restored unless `restore` is False.

    `folded` are positions of convolutions known to be folded. Without any, a CNN that has no normalisation
    at all may be folded as a whole: it is restored only if `restore` is True.
    """
    convolutions = [i for i, layer in enumerate(cnn.layers) if layer.group == "convolution"]
    kinds = {layer.kind for layer in cnn.layers if layer.group == "normalization"}
    # Convolutions of a CNN with another normalisation compute their weights, which are named as folded ones.
    folded = () if kinds - {"batchnorm"} else folded
    if not folded and (kinds or not convolutions):
        return cnn
    known = f"batch normalisation is folded into {len(folded)} of {len(convolutions)} convolutions"
    found = known if folded else "no batch normalisation was found; an export in evaluation mode folds it"
    # A CNN without any normalisation may never have had one: that is noted, not decided.
    if not (folded if restore is None else restore):
        advice = "--restore-batchnorm restores it, an export in training mode keeps it"
        return replace(cnn, notes=(*cnn.notes, f"{found}: {advice}"))
    note = f"{found}: it was restored after {'these' if folded else 'all'} convolutions"
    note += "; --keep-folded leaves it" if restore is None else ""
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
    channels, sides = convolution.out_channels, (convolution.out_height, convolution.out_width)
    name = f"{convolution.name}_batchnorm"
    return Layer(
        name, "batchnorm", (position,), channels, channels, *sides, *sides, vector_parameters=2 * channels
    )


def read_onnx(
    path: str | os.PathLike[str], input_size_px: int | None = None, restore_batchnorm: bool | None = None
) -> Cnn:
    """Read a CNN from an `.onnx` file; its weights are not needed.

    Arguments as of `read_cnn`; a note in the result says what was done to batch normalisation. InputError for
    a malformed file or an operation that is not supported, MissingDependencyError without the package onnx.
    """
    with foreign_faults(str(path)):
        graph, tracer, folded = load_onnx_graph(path), GraphTracer(), list[int]()
        values: dict[str, Argument] = dict(graph.constants)
        for label, sides in graph.inputs:
            values[label] = tracer.input(_input_shape(label, sides, input_size_px))
        for node in graph.nodes:
            name = node.proto.name or node.proto.output[0]
            with foreign_faults(f"node {shown(name)} ({shown(node.proto.op_type)})"):
                results = _results(node, values, tracer)
                if node.proto.op_type in {"Conv", "ConvTranspose"} and _is_folded(node):
                    folded += [value.layer for value in results if isinstance(value, Tensor)]
            values |= dict(zip(node.proto.output, results, strict=False))
        outputs = [values.get(label) for label in graph.outputs]
        made = [value for value in outputs if isinstance(value, Tensor)]
        return unfolded(tracer.finish(cnn_name_from_file(path), made), folded, restore_batchnorm)


def _input_shape(label: str, sides: tuple[int, ...], input_size_px: int | None) -> list[int]:
    batch, channels, *image = (max(side, 0) for side in sides)
    if input_size_px is not None:
        image = [input_size_px] * 2
    if 0 in image:
        raise InputError(f"input {shown(label)}: its size is open; give the input size in pixels")
    return [batch or 1, channels, *image]


def _results(node: Node, values: Mapping[str, Argument], tracer: GraphTracer) -> Sequence[Argument]:
    """Return the results of a node, of which layers are added."""
    operation, labels = node.proto.op_type, node.proto.input
    absent = [label for label in labels if label and label not in values]
    if absent:
        raise InputError(f"reads {shown(absent[0])}, which no earlier node produces")
    arguments = [values[label] if label else None for label in labels]
    if operation == "Constant":
        return (_constant_of(node),)
    if operation == "Shape" and arguments[0] is not None:
        # A shape is known even where the data are not.
        part = slice(node.attributes.get("start"), node.attributes.get("end"))
        return (ConstantTensor.of(np.array(arguments[0].shape, dtype=np.int64)[part]),)
    if not any(isinstance(argument, Tensor) for argument in arguments):
        return (constant_result(node, arguments),)
    if operation not in OPERATIONS:
        raise InputError(f"operation {shown(operation)} is not supported")
    made = OPERATIONS[operation](NodeCall(tracer, node, arguments))
    return made if isinstance(made, tuple) else (made,)


def _constant_of(node: Node) -> ConstantTensor:
    if len(node.attributes) != 1:
        raise InputError(f"expected a Constant with one attribute, got {len(node.attributes)}")
    (value,) = node.attributes.values()
    return value if isinstance(value, ConstantTensor) else ConstantTensor.of(value)


def _is_folded(node: Node) -> bool:
    """Return whether an exporter of torch notes that it folded, or named weight or bias as it then does."""
    # The older exporter numbers a folded weight; the newer one noted nothing at first, and named the new bias
    # after the weight.
    inputs: list[str] = [*node.proto.input, ""]
    weight, bias = inputs[1], inputs[2]
    # Files and packages before ONNX 1.16 have no such notes.
    notes = {note.key: note.value for note in getattr(node.proto, "metadata_props", ())}
    is_noted = "FuseBatchNorm" in notes.get(_REWRITINGS, "")
    return is_noted or weight.startswith("onnx::Conv") or bias == f"{weight}_bias"
