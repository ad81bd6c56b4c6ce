"""Networks written as ONNX models for the tests: operators as torch exports them, weights without data."""

import onnx
from onnx import TensorProto, helper
from trainlaw.datasets.cnns.graph import Cnn, Layer

_PLAIN = {
    "relu": "Relu",
    "leaky_relu": "LeakyRelu",
    "sigmoid": "Sigmoid",
    "hardsigmoid": "HardSigmoid",
    "hardswish": "HardSwish",
    "gelu": "Gelu",
    "mish": "Mish",
    "lrn": "LRN",
    "dropout": "Dropout",
    "softmax": "Softmax",
    "add": "Add",
}


class _Writer:
    def __init__(self) -> None:
        self.nodes = []
        self.weights = []

    def weight(self, *dims: int) -> str:
        name = f"weight_{len(self.weights)}"
        self.weights.append(TensorProto(name=name, dims=dims, data_type=TensorProto.FLOAT))
        return name

    def numbers(self, values, kind=TensorProto.INT64) -> str:
        name = f"numbers_{len(self.weights)}"
        self.weights.append(helper.make_tensor(name, kind, [len(values)], values))
        return name

    def node(self, operation: str, inputs: list[str], output: str, **attributes: object) -> None:
        self.nodes.append(
            helper.make_node(operation, list(inputs), [output], name=f"node_{output}", **attributes)
        )


def _window(layer: Layer) -> dict:
    return {
        "kernel_shape": [layer.kernel_height, layer.kernel_width],
        "strides": [layer.stride_height, layer.stride_width],
        "pads": [layer.pad_top, layer.pad_left, max(layer.pad_bottom, 0), max(layer.pad_right, 0)],
    }


def _write(writer: _Writer, layer: Layer, inputs: list[str], output: str) -> None:
    channels = layer.out_channels
    if layer.kind == "conv":
        weight = writer.weight(
            channels, layer.in_channels // layer.groups, layer.kernel_height, layer.kernel_width
        )
        bias = [writer.weight(channels)] if layer.vector_parameters else []
        dilations = [layer.dilation_height, layer.dilation_width]
        writer.node(
            "Conv",
            [*inputs, weight, *bias],
            output,
            group=layer.groups,
            dilations=dilations,
            **_window(layer),
        )
    elif layer.kind == "linear":
        writer.node("Transpose", inputs, f"{output}_turned", perm=[0, 2, 3, 1])
        weight = writer.weight(layer.in_channels, channels)
        writer.node("MatMul", [f"{output}_turned", weight], f"{output}_product")
        writer.node("Add", [f"{output}_product", writer.weight(channels)], f"{output}_sum")
        writer.node("Transpose", [f"{output}_sum"], output, perm=[0, 3, 1, 2])
    elif layer.kind == "dense":
        bias = [writer.weight(channels)] if layer.vector_parameters else []
        writer.node("Flatten", inputs, f"{output}_flat")
        writer.node(
            "Gemm", [f"{output}_flat", writer.weight(channels, layer.in_channels), *bias], output, transB=1
        )
    elif layer.kind in {"batchnorm", "layernorm"}:
        operation = {"batchnorm": "BatchNormalization", "layernorm": "LayerNormalization"}[layer.kind]
        extra = [writer.weight(channels), writer.weight(channels)] if layer.kind == "batchnorm" else []
        writer.node(operation, [*inputs, writer.weight(channels), writer.weight(channels), *extra], output)
    elif layer.kind in {"max_pool", "average_pool"}:
        operation = {"max_pool": "MaxPool", "average_pool": "AveragePool"}[layer.kind]
        writer.node(operation, inputs, output, **_window(layer))
    else:
        _write_elementwise(writer, layer, inputs, output)


def _write_elementwise(writer: _Writer, layer: Layer, inputs: list[str], output: str) -> None:
    if layer.kind == "silu":
        writer.node("Sigmoid", inputs, f"{output}_gate")
        writer.node("Mul", [*inputs, f"{output}_gate"], output)
    elif layer.kind == "relu6":
        limits = [writer.numbers([0.0], TensorProto.FLOAT), writer.numbers([6.0], TensorProto.FLOAT)]
        writer.node("Clip", [*inputs, *limits], output)
    elif layer.kind == "scale":
        size = layer.vector_parameters
        factor = writer.weight(size, 1, 1) if size else writer.numbers([0.5], TensorProto.FLOAT)
        writer.node("Mul", [*inputs, factor], output)
    elif layer.kind == "multiply":
        writer.node("Reshape", [inputs[1], writer.numbers([0, -1, 1, 1])], f"{output}_gate")
        writer.node("Mul", [inputs[0], f"{output}_gate"], output)
    elif layer.kind in _PLAIN:
        writer.node(_PLAIN[layer.kind], inputs, output)
    else:
        _write_move(writer, layer, inputs, output)


def _write_move(writer: _Writer, layer: Layer, inputs: list[str], output: str) -> None:
    channels = layer.out_channels
    if layer.kind == "concat":
        writer.node("Concat", inputs, output, axis=1)
    elif layer.kind == "pad":
        bottom = layer.out_height - layer.in_height - layer.pad_top
        right = layer.out_width - layer.in_width - layer.pad_left
        writer.node(
            "Pad",
            [*inputs, writer.numbers([0, 0, layer.pad_top, layer.pad_left, 0, 0, bottom, right])],
            output,
        )
    elif layer.kind == "slice":
        writer.node("Slice", [*inputs, *(writer.numbers([n]) for n in (0, channels, 1))], output)
    elif layer.kind == "channel_shuffle":
        image = [layer.out_height, layer.out_width]
        shape = [0, layer.groups, channels // layer.groups, *image]
        writer.node("Reshape", [*inputs, writer.numbers(shape)], f"{output}_split")
        writer.node("Transpose", [f"{output}_split"], f"{output}_swapped", perm=[0, 2, 1, 3, 4])
        writer.node("Reshape", [f"{output}_swapped", writer.numbers([0, -1, *image])], output)
    else:
        raise ValueError(layer.kind)


def onnx_model(cnn: Cnn, input_sides=None) -> onnx.ModelProto:
    """The network as an ONNX model, its last softmax left out as in a training export."""
    writer = _Writer()
    names = [f"tensor_{position}" for position in range(len(cnn.layers))]
    for position, layer in enumerate(cnn.layers[:-1]):
        if layer.kind != "input":
            _write(writer, layer, [names[i] for i in layer.inputs], names[position])
    first = cnn.layers[0]
    sides = input_sides or ["batch", first.out_channels, first.out_height, first.out_width]
    image = helper.make_tensor_value_info(names[0], TensorProto.FLOAT, sides)
    scores = helper.make_tensor_value_info(names[-2], TensorProto.FLOAT, ["batch", cnn.n_classes])
    graph = helper.make_graph(writer.nodes, cnn.name, [image], [scores], writer.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
