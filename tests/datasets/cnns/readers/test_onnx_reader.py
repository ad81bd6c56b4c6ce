import math
import os
import re

import pytest
from trainlaw.datasets.cnns.counts import counts
from trainlaw.datasets.cnns.readers import read_cnn
from trainlaw.datasets.cnns.readers.onnx_reader import read_onnx
from trainlaw.datasets.cnns.zoo import build
from trainlaw.formulas.errors import InputError

from ....rows import each_row

onnx = pytest.importorskip("onnx", reason="the extra 'cnn' brings onnx")
pytest.importorskip("onnx.parser")
helper, TensorProto = onnx.helper, onnx.TensorProto


def saved(model, folder, name="net.onnx"):
    path = folder / name
    path.write_bytes(model.SerializeToString())
    return path


def small_graph(nodes, stored="", weights=(), sides="1, 3, 8, 8", opset=20):
    """A model of nodes in ONNX's own syntax; `stored` are tensors with values, weights have only a shape."""
    text = f"g (float[{sides}] x0) => (float[n] y) <{stored}> {{ {nodes} }}"
    graph = onnx.parser.parse_graph(text)
    for name, dims in weights:
        graph.initializer.append(TensorProto(name=name, dims=dims, data_type=TensorProto.FLOAT))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


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


def shapes(cnn):
    layers = cnn.layers[1:-1]
    return [f"{layer.kind} {layer.out_channels}x{layer.out_height}x{layer.out_width}" for layer in layers]


def test_activations_written_as_several_operations_are_one(tmp_path):
    nodes = """
        a = Div(x0, root)  b = Erf(a)  c = Add(b, one)  d = Mul(x0, c)  gelu = Mul(d, half)
        e = Softplus(gelu)  f = Tanh(e)  mish = Mul(gelu, f)
        g = HardSigmoid(mish)  y = Mul(mish, g)
    """
    model = small_graph(nodes, "float half = {0.5}, float root = {1.4142135}, float one = {1.0}")
    kinds = [layer.kind for layer in read_onnx(saved(model, tmp_path)).layers]
    assert kinds == ["input", "gelu", "mish", "hardswish", "softmax"]


def test_shapes_computed_in_the_graph_are_followed(tmp_path):
    nodes = """
        shape = Shape(x0)
        zero = Constant<value = int64 {0}>()
        batch = Gather<axis = 0>(shape, zero)
        first = Constant<value = int64[1] {0}>()
        batch1 = Unsqueeze(batch, first)
        rest = Constant<value = int64[1] {-1}>()
        target = Concat<axis = 0>(batch1, rest)
        flat = Reshape(x0, target)
        product = MatMul(flat, w)
        y = Add(product, b)
    """
    model = small_graph(nodes, weights=(("w", (192, 10)), ("b", (10,))), sides="4, 3, 8, 8")
    cnn = read_onnx(saved(model, tmp_path))
    assert [layer.kind for layer in cnn.layers] == ["input", "dense", "softmax"]
    assert cnn.layers[1].parameters == 1930


def test_operations_that_change_the_image(tmp_path):
    nodes = """
        a = Pad(x0, pads)
        b = Resize(a, , , sizes)
        c, d = Split<axis = 1>(b, parts)
        e = Concat<axis = 1>(d, c)
        f = ConvTranspose<strides = [2, 2], output_padding = [1, 1], pads = [1, 1, 1, 1]>(e, w)
        g = InstanceNormalization(f, s, s)
        h = PRelu(g, p)
        y = GlobalMaxPool(h)
    """
    stored = (
        "int64[8] pads = {0, 0, 1, 2, 0, 0, 3, 4}, int64[4] sizes = {1, 3, 24, 28}, int64[2] parts = {1, 2}"
    )
    model = small_graph(nodes, stored, (("w", (3, 5, 3, 3)), ("s", (5,)), ("p", (5, 1, 1))))
    cnn = read_onnx(saved(model, tmp_path))
    assert shapes(cnn) == [
        "pad 3x12x14",
        "upsample 3x24x28",
        "slice 1x24x28",
        "slice 2x24x28",
        "concat 3x24x28",
        "conv_transpose 5x48x56",
        "instancenorm 5x48x56",
        "prelu 5x48x56",
        "max_pool 5x1x1",
    ]
    assert [layer.parameters for layer in cnn.layers[6:9]] == [135, 10, 5]


def test_older_and_rarer_forms_of_operations(tmp_path):
    nodes = """
        a = Conv<auto_pad = "SAME_UPPER", strides = [2, 2]>(x0, w)
        b = Upsample<scales = [1.0, 1.0, 2.0, 2.0]>(a)
        c = Pad<pads = [0, 0, 0, 0, 0, 0, 1, 1]>(b)
        d = Slice<starts = [0, 0], ends = [8, 8], axes = [2, 3]>(c)
        e, f = Split<axis = 1, split = [2, 2]>(d)
        g = Sub(e, f)
        h = Exp(g)
        i = ReduceMean<axes = [2, 3], keepdims = 0>(h)
        j = Unsqueeze<axes = [2, 3]>(i)
        k = Squeeze(j)
        y = Gemm(k, m, n)
    """
    model = small_graph(nodes, weights=(("w", (4, 3, 3, 3)), ("m", (2, 7)), ("n", (7,))), opset=8)
    cnn = read_onnx(saved(model, tmp_path))
    assert shapes(cnn) == [
        "conv 4x4x4",
        "upsample 4x8x8",
        "pad 4x9x9",
        "slice 4x8x8",
        "slice 2x8x8",
        "slice 2x8x8",
        "add 2x8x8",
        "scale 2x8x8",
        "average_pool 2x1x1",
        "dense 7x1x1",
    ]
    assert cnn.layers[-2].parameters == 21


def test_resizing_by_scales_and_equal_parts(tmp_path):
    nodes = (
        "a = Resize(x0, , scales)  b, c = Split<axis = 1, num_outputs = 2>(a)  y = Concat<axis = -3>(c, b)"
    )
    model = small_graph(nodes, "float[4] scales = {1.0, 1.0, 0.5, 2.0}")
    cnn = read_onnx(saved(model, tmp_path))
    assert shapes(cnn)[:3] == ["upsample 3x4x16", "slice 2x4x16", "slice 1x4x16"]


REFUSED = {
    "an unknown operation": ("y = NonMaxSuppression(x0)", "NonMaxSuppression"),
    "a weight that depends on the input": ("y = Conv(x0, x0)", "constant weight"),
    "wrong channels": ("y = Conv(x0, w)", "expected 7 channels"),
    "a tensor of no one": ("y = Relu(nobody)", "nobody"),
    "a wrong reshape": ("s = Constant<value_ints = [5, 5]>()  y = Reshape(x0, s)", "cannot become"),
    "a shape of a later version": ("y = Reshape<shape = [5, 5]>(x0)", "has no shape"),
    "a swap of the batch": ("y = Transpose<perm = [1, 0, 2, 3]>(x0)", "keeps the batch"),
    "nothing from the input": ("z = Relu(x0)", "output that depends on the input"),
    "no nodes": ("", "without nodes"),
    "a wrong split": ("s = Constant<value_ints = [9]>()  y = Split<axis = 1>(x0, s)", "has no shape"),
    "a mean over channels": ("s = Constant<value_ints = [1]>()  y = ReduceMean(x0, s)", "height and width"),
    "a padding of channels": ("y = Pad<pads = [0, 1, 0, 0, 0, 0, 0, 0]>(x0)", "only"),
    "a padding without sides": ("y = Pad(x0)", "pads"),
    "a negative padding": ("y = Pad<pads = [0, 0, -1, 0, 0, 0, 0, 0]>(x0)", "0 to"),
    "dilated pooling": ("y = MaxPool<kernel_shape = [2, 2], dilations = [2, 2]>(x0)", "dilated"),
    "negative pads": ("y = MaxPool<kernel_shape = [2, 2], pads = [-1, 0, 0, 0]>(x0)", "pads"),
    "wrong features": ("y = MatMul(x0, m)", "expected 7 features"),
    "a transposed first matrix": ("y = Gemm<transA = 1>(x0, m)", "transA"),
    "a shape for the output": ("y = ConvTranspose<output_shape = [9, 9]>(x0, w)", "output_shape"),
    "a weight of three axes": ("y = Conv(x0, v)", "4 axes"),
    "a constant without attributes": ("c = Constant()  y = Conv(x0, c)", "one attribute, got 0"),
    "a condition": (
        "y = If<then_branch = b () => (float z) { z = Identity(x0) }>(x0)",
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
    model = small_graph("y = Conv(x0, w)")
    model.graph.initializer.append(weight)
    assert read_onnx(saved(model, tmp_path)).layers[1].out_channels == 4


def test_gigabytes_of_zeros_are_refused_at_once(tmp_path):
    path = tmp_path / "net.onnx"
    path.touch()
    os.truncate(path, 6 * 2**30)
    with pytest.raises(InputError, match="at most 1073741824 bytes"):
        read_onnx(path)
