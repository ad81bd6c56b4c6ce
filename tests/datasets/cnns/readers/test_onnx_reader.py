import math
import os
import re

import pytest
from trainlaw.datasets.cnns import build, counts, read_cnn, read_onnx
from trainlaw.formulas.errors import InputError, MissingDependencyError, TrainlawError

from ....rows import each_row

onnx = pytest.importorskip("onnx", reason="the extra 'cnn' brings onnx")
helper, TensorProto = onnx.helper, onnx.TensorProto


def saved(model, folder, name="net.onnx"):
    path = folder / name
    path.write_bytes(model.SerializeToString())
    return path


def small_graph(nodes, inputs=((1, 3, 8, 8),), weights=(), outputs=("y",)):
    values = [
        helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, sides) for i, sides in enumerate(inputs)
    ]
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    stored = [TensorProto(name=name, dims=dims, data_type=TensorProto.FLOAT) for name, dims in weights]
    return helper.make_model(helper.make_graph(nodes, "g", values, made, stored))


# Together they have all kinds of layers and of joins that the writer knows.
WRITTEN = """
    resnet50 vgg11_bn densenet121 inception_resnet_v2 mobilenet_v3_small efficientnet_b0 shufflenet_v2_x1_0
    alexnet_profet alexnet_bvlc convnext_tiny nasnet_mobile cspdarknet53 vgg16_atrous
"""


@each_row("name", WRITTEN.split())
def test_a_zoo_net_written_and_read_keeps_its_counts(name, tmp_path, onnx_model):
    cnn = build(name)
    assert counts(read_cnn(saved(onnx_model(cnn), tmp_path))) == counts(cnn)


def test_an_open_size_is_asked_for_and_given(tmp_path, onnx_model):
    cnn = build("resnet18", 64, 10)
    path = saved(onnx_model(cnn, ["batch", 3, "height", "width"]), tmp_path)
    with pytest.raises(InputError, match="give the input size"):
        read_onnx(path)
    again = read_onnx(path, input_size_px=64)
    assert counts(again) == counts(cnn)
    assert (again.name, again.input_size_px, again.n_classes) == ("net", 64, 10)


def folded(cnn_model):
    """The model with each batch normalisation merged into the convolution before it, as exports do."""
    graph = cnn_model.graph
    renamed, nodes = {}, []
    for node in graph.node:
        if node.op_type == "BatchNormalization" and nodes and nodes[-1].op_type == "Conv":
            nodes[-1].input.append(node.input[1])
            renamed[node.output[0]] = node.input[0]
            continue
        for i, name in enumerate(node.input):
            node.input[i] = renamed.get(name, name)
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    return cnn_model


def test_folded_batch_normalisation_is_told_and_put_back(tmp_path, onnx_model):
    cnn = build("resnet18", 64, 10)
    path = saved(folded(onnx_model(cnn)), tmp_path)
    plain = read_onnx(path)
    assert counts(plain)["n_batchnorm"] == 0
    assert "no batch normalisation was found" in plain.notes[0]
    assert counts(read_onnx(path, restore_batchnorm=True)) == counts(cnn)
    assert read_onnx(saved(onnx_model(cnn), tmp_path)).notes == ()


def named_as_folded(model, weight):
    first = model.graph.node[0].input[1]
    model.graph.node[0].input[1] = weight
    next(item for item in model.graph.initializer if item.name == first).name = weight
    return model


def noted_as_folded(model):
    note = model.graph.node[0].metadata_props.add()
    note.key, note.value = "pkg.onnxscript.rewriter.rule_name", "FuseBatchNormIntoConv, RemoveOptionalBias"
    return model


@pytest.mark.parametrize("mark", [lambda m: named_as_folded(m, "onnx::Conv_7"), noted_as_folded])
def test_traces_of_the_exporter_prove_which_convolutions_are_folded(tmp_path, onnx_model, mark):
    path = saved(mark(folded(onnx_model(build("resnet18", 64, 10)))), tmp_path)
    again = read_onnx(path)
    assert "folded into 1 of 20" in again.notes[0] and "restored" in again.notes[0]
    assert counts(again)["n_batchnorm"] == 1
    kept = read_onnx(path, restore_batchnorm=False)
    assert "folded into 1 of 20" in kept.notes[0] and counts(kept)["n_batchnorm"] == 0


def test_a_cnn_that_never_had_a_normalisation_gains_none(tmp_path, onnx_model):
    cnn = build("vgg16", 64, 10)
    assert counts(read_onnx(saved(onnx_model(cnn), tmp_path))) == counts(cnn)


def test_weights_may_be_declared_only(tmp_path, onnx_model):
    cnn = build("lenet5")
    model = onnx_model(cnn)
    for weight in model.graph.initializer:
        model.graph.input.append(
            helper.make_tensor_value_info(weight.name, TensorProto.FLOAT, list(weight.dims))
        )
    del model.graph.initializer[:]
    assert counts(read_onnx(saved(model, tmp_path))) == counts(cnn)


def test_stored_weights_are_skipped(tmp_path, onnx_model):
    model = onnx_model(build("lenet5"))
    expected = counts(read_onnx(saved(model, tmp_path)))
    for weight in model.graph.initializer:
        weight.raw_data = bytes(4 * math.prod(weight.dims))
    assert counts(read_onnx(saved(model, tmp_path))) == expected


def test_activations_written_as_several_operations_are_one(tmp_path):
    half, root = helper.make_tensor("half", 1, [], [0.5]), helper.make_tensor("root", 1, [], [2**0.5])
    one = helper.make_tensor("one", 1, [], [1.0])
    nodes = [
        helper.make_node("Div", ["x0", "root"], ["a"]),
        helper.make_node("Erf", ["a"], ["b"]),
        helper.make_node("Add", ["b", "one"], ["c"]),
        helper.make_node("Mul", ["x0", "c"], ["d"]),
        helper.make_node("Mul", ["d", "half"], ["gelu"]),
        helper.make_node("Softplus", ["gelu"], ["e"]),
        helper.make_node("Tanh", ["e"], ["f"]),
        helper.make_node("Mul", ["gelu", "f"], ["mish"]),
        helper.make_node("HardSigmoid", ["mish"], ["g"]),
        helper.make_node("Mul", ["mish", "g"], ["y"]),
    ]
    model = small_graph(nodes)
    model.graph.initializer.extend([half, root, one])
    kinds = [layer.kind for layer in read_onnx(saved(model, tmp_path)).layers]
    assert kinds == ["input", "gelu", "mish", "hardswish", "softmax"]


def test_shapes_computed_in_the_graph_are_followed(tmp_path):
    nodes = [
        helper.make_node("Shape", ["x0"], ["shape"]),
        helper.make_node("Constant", [], ["zero"], value=helper.make_tensor("z", TensorProto.INT64, [], [0])),
        helper.make_node("Gather", ["shape", "zero"], ["batch"], axis=0),
        helper.make_node("Unsqueeze", ["batch"], ["batch1"], axes=[0]),
        helper.make_node(
            "Constant", [], ["rest"], value=helper.make_tensor("r", TensorProto.INT64, [1], [-1])
        ),
        helper.make_node("Concat", ["batch1", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["x0", "target"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w"], ["product"]),
        helper.make_node("Add", ["product", "b"], ["y"]),
    ]
    model = small_graph(nodes, inputs=((4, 3, 8, 8),), weights=(("w", (192, 10)), ("b", (10,))))
    cnn = read_onnx(saved(model, tmp_path))
    assert [layer.kind for layer in cnn.layers] == ["input", "dense", "softmax"]
    assert cnn.layers[1].parameters == 1930


def test_operations_that_change_the_image(tmp_path):
    numbers = {"pads": [0, 0, 1, 2, 0, 0, 3, 4], "sizes": [1, 3, 24, 28], "parts": [1, 2]}
    stored = [
        helper.make_tensor(key, TensorProto.INT64, [len(value)], value) for key, value in numbers.items()
    ]
    nodes = [
        helper.make_node("Pad", ["x0", "pads"], ["a"]),
        helper.make_node("Resize", ["a", "", "", "sizes"], ["b"]),
        helper.make_node("Split", ["b", "parts"], ["c", "d"], axis=1),
        helper.make_node("Concat", ["d", "c"], ["e"], axis=1),
        helper.make_node(
            "ConvTranspose", ["e", "w"], ["f"], strides=[2, 2], output_padding=[1, 1], pads=[1, 1, 1, 1]
        ),
        helper.make_node("InstanceNormalization", ["f", "s", "s"], ["g"]),
        helper.make_node("PRelu", ["g", "p"], ["h"]),
        helper.make_node("GlobalMaxPool", ["h"], ["y"]),
    ]
    model = small_graph(nodes, weights=(("w", (3, 5, 3, 3)), ("s", (5,)), ("p", (5, 1, 1))))
    model.graph.initializer.extend(stored)
    layers = read_onnx(saved(model, tmp_path)).layers
    shapes = [(layer.kind, layer.out_channels, layer.out_height, layer.out_width) for layer in layers]
    assert shapes == [
        ("input", 3, 8, 8),
        ("pad", 3, 12, 14),
        ("upsample", 3, 24, 28),
        ("slice", 1, 24, 28),
        ("slice", 2, 24, 28),
        ("concat", 3, 24, 28),
        ("conv_transpose", 5, 48, 56),
        ("instancenorm", 5, 48, 56),
        ("prelu", 5, 48, 56),
        ("max_pool", 5, 1, 1),
        ("softmax", 5, 1, 1),
    ]
    assert [layer.parameters for layer in layers[6:9]] == [135, 10, 5]


def test_older_and_rarer_forms_of_operations(tmp_path):
    nodes = [
        helper.make_node("Conv", ["x0", "w"], ["a"], auto_pad="SAME_UPPER", strides=[2, 2]),
        helper.make_node("Upsample", ["a"], ["b"], scales=[1.0, 1.0, 2.0, 2.0]),
        helper.make_node("Pad", ["b"], ["c"], pads=[0, 0, 0, 0, 0, 0, 1, 1]),
        helper.make_node("Slice", ["c"], ["d"], starts=[0, 0], ends=[8, 8], axes=[2, 3]),
        helper.make_node("Split", ["d"], ["e", "f"], axis=1, split=[2, 2]),
        helper.make_node("Sub", ["e", "f"], ["g"]),
        helper.make_node("Exp", ["g"], ["h"]),
        helper.make_node("ReduceMean", ["h"], ["i"], axes=[2, 3], keepdims=0),
        helper.make_node("Unsqueeze", ["i"], ["j"], axes=[2, 3]),
        helper.make_node("Squeeze", ["j"], ["k"]),
        helper.make_node("Gemm", ["k", "m", "n"], ["y"]),
    ]
    model = small_graph(nodes, weights=(("w", (4, 3, 3, 3)), ("m", (2, 7)), ("n", (7,))))
    layers = read_onnx(saved(model, tmp_path)).layers
    shapes = [(layer.kind, layer.out_channels, layer.out_height) for layer in layers[1:]]
    assert shapes == [
        ("conv", 4, 4),
        ("upsample", 4, 8),
        ("pad", 4, 9),
        ("slice", 4, 8),
        ("slice", 2, 8),
        ("slice", 2, 8),
        ("add", 2, 8),
        ("scale", 2, 8),
        ("average_pool", 2, 1),
        ("dense", 7, 1),
        ("softmax", 7, 1),
    ]
    assert layers[-2].parameters == 21


def test_resizing_by_scales_and_equal_parts(tmp_path):
    scales = helper.make_tensor("scales", TensorProto.FLOAT, [4], [1.0, 1.0, 0.5, 2.0])
    nodes = [
        helper.make_node("Resize", ["x0", "", "scales"], ["a"]),
        helper.make_node("Split", ["a"], ["b", "c"], axis=1, num_outputs=2),
        helper.make_node("Concat", ["c", "b"], ["y"], axis=-3),
    ]
    model = small_graph(nodes)
    model.graph.initializer.append(scales)
    layers = read_onnx(saved(model, tmp_path)).layers
    assert [(layer.out_channels, layer.out_height, layer.out_width) for layer in layers[1:4]] == [
        (3, 4, 16),
        (2, 4, 16),
        (1, 4, 16),
    ]


BODY = helper.make_graph([helper.make_node("Identity", ["x0"], ["z"])], "body", [], [])
REFUSED = {
    "an unknown operation": ([helper.make_node("NonMaxSuppression", ["x0"], ["y"])], "NonMaxSuppression"),
    "a weight that depends on the input": (
        [helper.make_node("Conv", ["x0", "x0"], ["y"])],
        "constant weight",
    ),
    "wrong channels": ([helper.make_node("Conv", ["x0", "w"], ["y"])], "expected 7 channels"),
    "a tensor of no one": ([helper.make_node("Relu", ["nobody"], ["y"])], "nobody"),
    "a wrong reshape": ([helper.make_node("Reshape", ["x0"], ["y"], shape=[5, 5])], "cannot become"),
    "a swap of the batch": (
        [helper.make_node("Transpose", ["x0"], ["y"], perm=[1, 0, 2, 3])],
        "keeps the batch",
    ),
    "nothing from the input": ([helper.make_node("Relu", ["x0"], ["z"])], "output that depends on the input"),
    "no nodes": ([], "without nodes"),
    "a wrong split": ([helper.make_node("Split", ["x0"], ["y"], axis=1, split=[9])], "expected parts of 3"),
    "a mean over channels": ([helper.make_node("ReduceMean", ["x0"], ["y"], axes=[1])], "height and width"),
    "a padding of channels": (
        [helper.make_node("Pad", ["x0"], ["y"], pads=[0, 1, 0, 0, 0, 0, 0, 0])],
        "only",
    ),
    "a padding without sides": ([helper.make_node("Pad", ["x0"], ["y"])], "expected pads, got none"),
    "a negative padding": ([helper.make_node("Pad", ["x0"], ["y"], pads=[0, 0, -1, 0, 0, 0, 0, 0])], "0 to"),
    "dilated pooling": (
        [helper.make_node("MaxPool", ["x0"], ["y"], kernel_shape=[2, 2], dilations=[2, 2])],
        "dilated",
    ),
    "negative pads": (
        [helper.make_node("MaxPool", ["x0"], ["y"], kernel_shape=[2, 2], pads=[-1, 0, 0, 0])],
        "pads",
    ),
    "wrong features": ([helper.make_node("MatMul", ["x0", "m"], ["y"])], "expected 7 features"),
    "a transposed first matrix": ([helper.make_node("Gemm", ["x0", "m"], ["y"], transA=1)], "transA"),
    "a shape for the output": (
        [helper.make_node("ConvTranspose", ["x0", "w"], ["y"], output_shape=[9, 9])],
        "output_shape",
    ),
    "a weight of three axes": ([helper.make_node("Conv", ["x0", "v"], ["y"])], "4 axes"),
    "a constant without attributes": (
        [helper.make_node("Constant", [], ["c"]), helper.make_node("Conv", ["x0", "c"], ["y"])],
        "a Constant with one attribute, got 0",
    ),
    "a condition": (
        [helper.make_node("If", ["x0"], ["y"], then_branch=BODY, else_branch=BODY)],
        "loops or conditions",
    ),
}


@each_row("case", REFUSED)
def test_what_cannot_be_followed_is_refused_in_one_line(case, tmp_path):
    nodes, message = REFUSED[case]
    path = saved(small_graph(nodes, weights=(("w", (4, 7, 3, 3)), ("m", (7, 2)), ("v", (4, 3, 3)))), tmp_path)
    with pytest.raises(InputError, match=message) as caught:
        read_onnx(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@each_row("content", [b"", b"not a model", b"\x3a\xff\xff\xff\xff\x0f", b"\x08\x08", b"\x0b"])
def test_other_files_are_refused(content, tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(str(path))):
        read_onnx(path)
    with pytest.raises(InputError, match="cannot read"):
        read_onnx(tmp_path / "absent.onnx")


def test_without_onnx_one_line_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    path = tmp_path / "net.onnx"
    path.write_bytes(b"x")
    with pytest.raises(MissingDependencyError, match=r"trainlaw\[cnn\]"):
        read_onnx(path)
    assert issubclass(MissingDependencyError, TrainlawError)


@each_row(
    ("entries", "data"),
    [
        ({}, b""),
        ({"location": "../../etc/passwd", "offset": "-1"}, b""),
        ({"location": "../../../../etc/passwd"}, b"123"),
        ({"length": "9" * 30}, b"123"),
    ],
)
def test_weights_in_another_file_are_not_opened(tmp_path, entries, data):
    weight = TensorProto(name="w", dims=[4, 3, 3, 3], data_type=1, data_location=1, raw_data=data)
    for key, value in entries.items():
        weight.external_data.add(key=key, value=value)
    model = small_graph([helper.make_node("Conv", ["x0", "w"], ["y"])])
    model.graph.initializer.append(weight)
    assert read_onnx(saved(model, tmp_path)).layers[1].out_channels == 4


def test_gigabytes_of_zeros_are_refused_at_once(tmp_path):
    path = tmp_path / "net.onnx"
    path.touch()
    os.truncate(path, 6 * 2**30)
    with pytest.raises(InputError, match="expected an ONNX model"):
        read_onnx(path)
