"""The functions of torch as the reader follows them; no torch is needed, since only shapes matter."""

import pytest
from trainlaw.datasets.cnns.readers.tensors import GraphTracer
from trainlaw.datasets.cnns.readers.torch_reader import OPERATIONS, ModuleCall, Weight
from trainlaw.formulas.errors import InputError

SHAPE = (2, 6, 8, 8)


def follow(name, arguments, *shapes):
    """Layers after the input, and the tensors that come out, of one function on an image."""
    tracer = GraphTracer()
    made = OPERATIONS[name](ModuleCall(tracer, [tracer.input(SHAPE), *arguments], {}, shapes))
    return tracer.builder.layers[1:], made if isinstance(made, tuple) else (made,)


def weight(*shape):
    return Weight(shape, learned=True)


CASES = {
    "conv2d": ([weight(4, 3, 3, 3), None, 2, 1, 1, 2], (2, 4, 4, 4), "conv", 108),
    "conv_transpose2d": ([weight(6, 2, 4, 4), weight(4), 2, 1, 0, 2], (2, 4, 16, 16), "conv_transpose", 196),
    "max_pool2d": ([2], (2, 6, 4, 4), "max_pool", 0),
    "avg_pool2d": ([3, 2, 1, True], (2, 6, 5, 5), "average_pool", 0),
    "adaptive_avg_pool2d": ([4], (2, 6, 4, 4), "average_pool", 0),
    "adaptive_max_pool2d": ([1], (2, 6, 1, 1), "max_pool", 0),
    "mean": ([[2, 3], True], (2, 6, 1, 1), "average_pool", 0),
    "amax": ([(-2, -1)], (2, 6), "max_pool", 0),
    "batch_norm": ([None, None, weight(6), weight(6)], SHAPE, "batchnorm", 12),
    "group_norm": ([2, weight(6), weight(6)], SHAPE, "groupnorm", 12),
    "prelu": ([weight(6)], SHAPE, "prelu", 6),
    "silu": ([], SHAPE, "silu", 0),
    "mul": ([weight(6, 1, 1)], SHAPE, "scale", 6),
    "add": ([3], SHAPE, "scale", 0),
    "getitem": ([None], (2, 2, 8, 8), "slice", 0),
    "pad": ([(1, 2, 3, 4)], (2, 6, 15, 11), "pad", 0),
    "interpolate": ([None, 2.0], (2, 6, 16, 16), "upsample", 0),
    "channel_shuffle": ([3], SHAPE, "channel_shuffle", 0),
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_makes_one_layer(name):
    arguments, shape, kind, parameters = CASES[name]
    (layer,), (made,) = follow(name, arguments, shape)
    assert (layer.kind, layer.parameters, made.shape) == (kind, parameters, shape)
    assert (layer.out_channels, layer.out_height, layer.out_width) == (*shape[1:], 1, 1)[:3]


def test_parts_of_a_tensor():
    layers, made = follow("chunk", [2, 1], (2, 3, 8, 8), (2, 3, 8, 8))
    assert [layer.out_channels for layer in layers] == [3, 3]
    assert [tensor.shape for tensor in made] == [(2, 3, 8, 8)] * 2
    layers, _ = follow("split", [[1, 5], 1], (2, 1, 8, 8), (2, 5, 8, 8))
    assert [layer.out_channels for layer in layers] == [1, 5]


def test_shapes_alone_make_no_layer():
    for name, arguments, shape in (
        ("flatten", [1], (2, 384)),
        ("permute", [(0, 2, 3, 1)], (2, 8, 8, 6)),
        ("permute", [0, 2, 3, 1], (2, 8, 8, 6)),
    ):
        layers, (made,) = follow(name, arguments, shape)
        assert layers == ()
        assert made.shape == shape


def test_dense_layers_see_flat_input_or_channels_last():
    tracer = GraphTracer()
    image = tracer.input(SHAPE)
    turned = OPERATIONS["permute"](ModuleCall(tracer, [image, (0, 2, 3, 1)], {}, ((2, 8, 8, 6),)))
    mixed = OPERATIONS["linear"](ModuleCall(tracer, [turned, weight(5, 6), weight(5)], {}, ((2, 8, 8, 5),)))
    back = OPERATIONS["permute"](ModuleCall(tracer, [mixed, (0, 3, 1, 2)], {}, ((2, 5, 8, 8),)))
    flat = OPERATIONS["flatten"](ModuleCall(tracer, [back, 1], {}, ((2, 320),)))
    both = OPERATIONS["cat"](ModuleCall(tracer, [[flat, flat], 1], {}, ((2, 640),)))
    scores = OPERATIONS["linear"](ModuleCall(tracer, [both, weight(7, 640), None], {}, ((2, 7),)))
    assert scores.shape == (2, 7)
    made = [(layer.kind, layer.parameters) for layer in tracer.builder.layers[1:]]
    assert made == [("linear", 35), ("concat", 0), ("dense", 4480)]


def test_a_negative_padding_cuts_pixels_off():
    layers, (made,) = follow("pad", [(-1, 1, -1, 1)], SHAPE)
    assert [layer.kind for layer in layers] == ["slice", "pad"]
    assert (layers[0].out_height, layers[0].out_width) == (7, 7)
    assert made.shape == SHAPE


def test_images_are_stacked_and_summed_over_the_stack():
    tracer = GraphTracer()
    image = tracer.input(SHAPE)
    (stack,) = [OPERATIONS["stack"](ModuleCall(tracer, [[image, image], 1], {}, ((2, 2, 6, 8, 8),)))]
    made = OPERATIONS["sum"](ModuleCall(tracer, [stack, 1], {}, (SHAPE,)))
    assert [layer.kind for layer in tracer.builder.layers[1:]] == ["concat", "slice", "slice", "add"]
    assert made.shape == SHAPE
    with pytest.raises(InputError, match="over axis 1 of five"):
        OPERATIONS["sum"](ModuleCall(tracer, [image, 1], {}, ((2, 8, 8),)))


def test_a_convolution_along_the_channels_is_a_scale():
    tracer = GraphTracer()
    means = tracer.reshape(tracer.global_pool(tracer.input(SHAPE), "average_pool", (2, 6)), (2, 1, 6))
    call = ModuleCall(tracer, [means, weight(1, 1, 3), None], {}, ((2, 1, 6),))
    OPERATIONS["conv1d"](call)
    assert (tracer.builder.layers[-1].kind, tracer.builder.layers[-1].parameters) == ("scale", 3)
    assert "along channels" in tracer.notes[0]
    with pytest.raises(InputError, match="keeps its length"):
        OPERATIONS["conv1d"](ModuleCall(tracer, [means, weight(1, 1, 3)], {}, ((2, 1, 4),)))
