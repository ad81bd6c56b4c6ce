"""CNNs from `.onnx` files (operators of https://onnx.ai/onnx/operators)."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from types import MappingProxyType
from typing import Any

from trainlaw.datasets.cnns.graph import Cnn, Layer, kinds_by
from trainlaw.datasets.cnns.readers.foreign import cnn_name_from_file, foreign_faults
from trainlaw.datasets.cnns.readers.onnx_graph import ConstantTensor, Node, OnnxGraph, load_onnx_graph
from trainlaw.datasets.cnns.readers.onnx_shapes import constant_result, slices
from trainlaw.datasets.cnns.readers.tensors import LEARNED, MAX_SIDE_PX, GraphTracer, Tensor
from trainlaw.datasets.cnns.windows import Padding
from trainlaw.formulas.errors import InputError, shown

Argument = Tensor | ConstantTensor | None
Arguments = Sequence[Argument]
Operation = Callable[[GraphTracer, Node, Arguments], Argument | tuple[Tensor, ...]]


def _data(arguments: Arguments, position: int = 0) -> Tensor:
    value = arguments[position]
    if not isinstance(value, Tensor):
        raise InputError(f"expected data as input {position}, got a constant")
    return value


def _weight(arguments: Arguments, rank: int) -> tuple[int, ...]:
    weight = arguments[1]
    if not isinstance(weight, ConstantTensor):
        raise InputError("expected a constant weight, got one that depends on the input")
    if len(weight.shape) != rank:
        raise InputError(f"expected a weight with {rank} axes, got shape {weight.shape}")
    return weight.shape


def _given(arguments: Arguments, position: int) -> ConstantTensor | None:
    """Return a constant optional input, or None."""
    value = arguments[position] if position < len(arguments) else None
    if isinstance(value, Tensor):
        raise InputError(f"expected a constant as input {position}, got one that depends on the input")
    return value


def _integers(node: Node, arguments: Arguments, attribute: str) -> Sequence[int] | None:
    """Return whole numbers that are the optional second input or, in older versions, an attribute."""
    listed = _given(arguments, 1)
    return listed.integers() if listed else node.attributes.get(attribute)


def _needed_integers(node: Node, arguments: Arguments, attribute: str) -> Sequence[int]:
    values = _integers(node, arguments, attribute)
    if values is None:
        raise InputError(f"expected {attribute}, got none")
    return values


# The exporter of torch gives convolutions without a bias a computed bias of zeros: only stored ones count.
def _learned(arguments: Arguments, *positions: int) -> int:
    """Return the learned elements of the optional inputs at these positions."""
    constants = [_given(arguments, position) for position in positions]
    return sum(prod(constant.shape) for constant in constants if constant is not None and constant.learned)


def _pair(values: Sequence[int]) -> tuple[int, int]:
    first, second = values
    return int(first), int(second)


def _padding(node: Node) -> Padding:
    automatic = node.attributes.get("auto_pad", "NOTSET")
    # Whether the odd pixel is at the end or the beginning affects neither counts nor sizes.
    if automatic in {"SAME_UPPER", "SAME_LOWER"}:
        return "same"
    top, left, bottom, right = node.attributes.get("pads", (0, 0, 0, 0))
    if not all(0 <= side <= MAX_SIDE_PX for side in (top, left, bottom, right)):
        raise InputError(f"expected pads of 0 to {MAX_SIDE_PX}, got {(top, left, bottom, right)}")
    return "valid" if automatic == "VALID" else ((top, bottom), (left, right))


def _sliding(node: Node) -> dict[str, Padding]:
    return {
        "stride": _pair(node.attributes.get("strides", (1, 1))),
        "padding": _padding(node),
    }


def _convolving(node: Node, arguments: Arguments) -> dict[str, Any]:
    return {
        **_sliding(node),
        "groups": node.attributes.get("group", 1),
        "dilation": _pair(node.attributes.get("dilations", (1, 1))),
        "bias": _learned(arguments, 2) > 0,
    }


def _conv(tracer: GraphTracer, node: Node, arguments: Arguments) -> Tensor:
    channels, entering, *kernel = _weight(arguments, 4)
    x, options = _data(arguments), _convolving(node, arguments)
    read = entering * options["groups"]
    if len(x.shape) != 4 or x.shape[1] != read:
        raise InputError(f"expected {read} channels, got shape {x.shape}")
    return tracer.conv(x, channels, _pair(kernel), **options)


def _conv_transpose(tracer: GraphTracer, node: Node, arguments: Arguments) -> Tensor:
    _, per_group, *kernel = _weight(arguments, 4)
    if "output_shape" in node.attributes:
        raise InputError("output_shape is not supported; export with pads and output_padding")
    options = _convolving(node, arguments)
    return tracer.conv_transpose(
        _data(arguments),
        per_group * options["groups"],
        _pair(kernel),
        output_padding=_pair(node.attributes.get("output_padding", (0, 0))),
        **options,
    )


def _pool(kind: str) -> Operation:
    def operation(tracer: GraphTracer, node: Node, arguments: Arguments) -> Tensor:
        options = _sliding(node) | {"ceil": bool(node.attributes.get("ceil_mode", 0))}
        kernel, dilation = _pair(node.attributes["kernel_shape"]), node.attributes.get("dilations", ())
        return tracer.pool(_data(arguments), kind, kernel, dilation, **options)

    return operation


def _global_pool(kind: str) -> Operation:
    return lambda tracer, node, arguments: tracer.global_pool(_data(arguments), kind)


def _reduce(kind: str) -> Operation:
    def operation(tracer: GraphTracer, node: Node, arguments: Arguments) -> Tensor:
        x, axes = _data(arguments), _integers(node, arguments, "axes")
        listed = range(len(x.shape)) if axes is None else axes
        return tracer.reduce(x, kind, listed, keep=bool(node.attributes.get("keepdims", 1)))

    return operation


def _gemm(tracer: GraphTracer, node: Node, arguments: Arguments) -> Tensor:
    shape = _weight(arguments, 2)
    if node.attributes.get("transA", 0):
        raise InputError("transA is not supported")
    leaving, entering = shape if node.attributes.get("transB", 0) else shape[::-1]
    return _dense(tracer, _data(arguments), entering, leaving, bias=_learned(arguments, 2) > 0)


def _matmul(tracer: GraphTracer, node: Node, arguments: Arguments) -> Tensor:
    entering, leaving = _weight(arguments, 2)
    return _dense(tracer, _data(arguments), entering, leaving, bias=False)


def _dense(tracer: GraphTracer, x: Tensor, entering: int, leaving: int, bias: bool) -> Tensor:
    if x.shape[-1] != entering:
        raise InputError(f"expected {entering} features, got shape {x.shape}")
    return tracer.dense(x, leaving, bias)


def _elementwise(kind: str) -> Operation:
    def operation(tracer: GraphTracer, node: Node, arguments: Arguments) -> Tensor:
        learned = _learned(arguments, 1, 2) if kind in LEARNED else 0
        return tracer.elementwise(_data(arguments), kind, learned)

    return operation


def _arithmetic(kind: str, adds: bool) -> Operation:
    def operation(tracer: GraphTracer, node: Node, arguments: Arguments) -> Tensor:
        tensors = [argument for argument in arguments if isinstance(argument, Tensor)]
        constants = [argument for argument in arguments if isinstance(argument, ConstantTensor)]
        if kind == "multiply" and not constants and len(tensors) == 2:
            fused = _fused_gate(tracer, *tensors)
            if fused is not None:
                return fused
        x = tracer.merge(kind, tensors)
        for constant in constants:
            x = _with_constant(tracer, x, constant, adds)
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
    # The exact GELU ends in a factor of one half, which its single layer includes.
    halves = constant.values is not None and constant.values.size == 1 and constant.numbers() == [0.5]
    if halves and not adds and tracer.builder.layers[x.layer].kind == "gelu":
        return x
    return tracer.with_constant(x, constant.shape, adds)


def _concat(tracer: GraphTracer, node: Node, arguments: Arguments) -> Tensor:
    tensors = [_data(arguments, position) for position in range(len(arguments))]
    return tracer.concat(tensors, node.attributes["axis"])


def _slice(tracer: GraphTracer, node: Node, arguments: Arguments) -> Tensor:
    x = _data(arguments)
    given = [_given(arguments, position) for position in range(1, len(arguments))]
    constants = [constant for constant in given if constant is not None]
    shape = list(x.shape)
    for axis, first, last, step in slices(node, [ConstantTensor(x.shape), *constants], len(shape)):
        shape[axis] = len(range(*slice(first, last, step).indices(shape[axis])))
    return tracer.slice(x, shape)


def _split(tracer: GraphTracer, node: Node, arguments: Arguments) -> tuple[Tensor, ...]:
    x, axis = _data(arguments), node.attributes.get("axis", 0)
    parts = _integers(node, arguments, "split")
    if parts is None:
        # Since version 18 equal parts, the last one smaller.
        whole, count = x.shape[axis], len(node.outputs)
        size = -(-whole // count)
        parts = [min(size, whole - size * i) for i in range(count)]
    if sum(parts) != x.shape[axis] or len(parts) != len(node.outputs):
        raise InputError(
            f"expected parts of {x.shape[axis]} for {len(node.outputs)} outputs, got {list(parts)}"
        )
    return tracer.split(x, axis, parts)


def _pad(tracer: GraphTracer, node: Node, arguments: Arguments) -> Tensor:
    x, pads = _data(arguments), _needed_integers(node, arguments, "pads")
    half = len(pads) // 2
    axes = _given(arguments, 3)
    chosen = [axis % 4 for axis in axes.integers()] if axes else range(half)
    before, after = dict(zip(chosen, pads[:half], strict=True)), dict(zip(chosen, pads[half:], strict=True))
    if any(side for axis, side in (*before.items(), *after.items()) if axis not in {2, 3}):
        raise InputError(f"expected a padding of height and width only, got {pads}")
    return tracer.pad(x, [before.get(2, 0), before.get(3, 0), after.get(2, 0), after.get(3, 0)])


def _resize(tracer: GraphTracer, node: Node, arguments: Arguments) -> Tensor:
    x = _data(arguments)
    given = [
        constant
        for constant in (_given(arguments, i) for i in (3, 2, 1))
        if constant and prod(constant.shape)
    ]
    if "scales" in node.attributes:
        scales = list(node.attributes["scales"])
    elif len(arguments) > 3 and given and given[0] is arguments[3]:
        return tracer.resize(x, *given[0].integers()[2:])
    else:
        scales = given[0].numbers()
    height, width = (int(side * scale) for side, scale in zip(x.shape[2:], scales[2:], strict=True))
    return tracer.resize(x, height, width)


def _reshape(tracer: GraphTracer, node: Node, arguments: Arguments) -> Tensor:
    return tracer.reshape(_data(arguments), _needed_integers(node, arguments, "shape"))


def _flatten(tracer: GraphTracer, node: Node, arguments: Arguments) -> Tensor:
    return tracer.flatten(_data(arguments), node.attributes.get("axis", 1))


def _squeeze(tracer: GraphTracer, node: Node, arguments: Arguments) -> Tensor:
    x, axes = _data(arguments), _integers(node, arguments, "axes") or ()
    gone = {axis % len(x.shape) for axis in axes} or {i for i, side in enumerate(x.shape) if i and side == 1}
    return tracer.reshape(x, [side for axis, side in enumerate(x.shape) if axis not in gone])


def _unsqueeze(tracer: GraphTracer, node: Node, arguments: Arguments) -> Tensor:
    x, axes = _data(arguments), _needed_integers(node, arguments, "axes")
    shape = list(x.shape)
    for axis in sorted(axis % (len(shape) + len(axes)) for axis in axes):
        shape.insert(axis, 1)
    return tracer.reshape(x, shape)


def _transpose(tracer: GraphTracer, node: Node, arguments: Arguments) -> Tensor:
    return tracer.transpose(_data(arguments), node.attributes["perm"])


def _same(tracer: GraphTracer, node: Node, arguments: Arguments) -> Argument:
    return arguments[0]


OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        **{name: _elementwise(kind) for name, kind in kinds_by("onnx").items()},
        "Conv": _conv,
        "ConvTranspose": _conv_transpose,
        "Gemm": _gemm,
        "MatMul": _matmul,
        "MaxPool": _pool("max_pool"),
        "AveragePool": _pool("average_pool"),
        "GlobalMaxPool": _global_pool("max_pool"),
        "GlobalAveragePool": _global_pool("average_pool"),
        "ReduceMean": _reduce("average_pool"),
        "ReduceMax": _reduce("max_pool"),
        "Add": _arithmetic("add", adds=True),
        "Sub": _arithmetic("add", adds=True),
        "Sum": _arithmetic("add", adds=True),
        "Mul": _arithmetic("multiply", adds=False),
        "Div": _arithmetic("multiply", adds=False),
        "Concat": _concat,
        "Slice": _slice,
        "Split": _split,
        "Pad": _pad,
        "Resize": _resize,
        "Upsample": _resize,
        "Reshape": _reshape,
        "Flatten": _flatten,
        "Squeeze": _squeeze,
        "Unsqueeze": _unsqueeze,
        "Transpose": _transpose,
        "Identity": _same,
        "Cast": _same,
        "CastLike": _same,
        "Expand": _same,
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


Value = Tensor | ConstantTensor


def read_onnx(
    path: str | os.PathLike[str],
    input_size_px: int | None = None,
    restore_batchnorm: bool | None = None,
) -> Cnn:
    """Read a CNN from an `.onnx` file; its weights are not needed.

    Arguments as of `read_cnn`; a note in the result says what was done to batch normalisation. InputError for
    a malformed file or an operation that is not supported, MissingDependencyError without the package onnx.
    """
    with foreign_faults(str(path)):
        graph = load_onnx_graph(path)
        return _Reader(graph, input_size_px, restore_batchnorm).read(cnn_name_from_file(path))


class _Reader:
    """One pass over the nodes of a graph."""

    def __init__(self, graph: OnnxGraph, input_size_px: int | None, restore_batchnorm: bool | None) -> None:
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
            if node.operation in {"Conv", "ConvTranspose"} and _is_folded(node):
                self._folded += [value.layer for value in results if isinstance(value, Tensor)]
        else:
            raise InputError(f"operation {shown(node.operation)} is not supported")
        known = zip(node.outputs, results, strict=False)
        self._values.update({label: value for label, value in known if value is not None})


def _constant_of(node: Node) -> ConstantTensor:
    if len(node.attributes) != 1:
        raise InputError(f"expected a Constant with one attribute, got {len(node.attributes)}")
    (value,) = node.attributes.values()
    return value if isinstance(value, ConstantTensor) else ConstantTensor.of(value)


def _is_folded(node: Node) -> bool:
    """Return whether an exporter of torch notes that it folded, or named weight or bias as it then does."""
    # The older exporter numbers a folded weight; the newer one noted nothing at first, and named the new bias
    # after the weight.
    weight, bias = node.inputs[1], node.inputs[2] if len(node.inputs) > 2 else ""
    return "FuseBatchNorm" in node.merged or weight.startswith("onnx::Conv") or bias == f"{weight}_bias"
