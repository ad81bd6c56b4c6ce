import pytest
from trainlaw.datasets.cnns.builder import CnnBuilder

IMAGE = (6, 20, 30)


@pytest.fixture
def net():
    """A builder with an input of 6 channels, 20 x 30 pixels, at position 0."""
    builder = CnnBuilder()
    assert builder.input(*IMAGE) == 0
    return builder


def one_pixel(net):
    return net.pool(0, "average_pool", (20, 30))


SHAPES = {
    "a convolution keeps the size with half padding": (lambda n: n.conv(0, 8, 3), (8, 20, 30)),
    "a stride divides the size": (lambda n: n.conv(0, 8, 3, 2), (8, 10, 15)),
    "without padding the reach is lost": (lambda n: n.conv(0, 8, 3, padding=0), (8, 18, 28)),
    "dilation widens the reach": (lambda n: n.conv(0, 8, 3, padding=0, dilation=3), (8, 14, 24)),
    "sides may differ": (lambda n: n.conv(0, 8, (1, 5), (2, 3), padding=0), (8, 10, 9)),
    "a transposed convolution enlarges": (lambda n: n.conv_transpose(0, 4, 2, 2), (4, 40, 60)),
    "its padding is cut off": (lambda n: n.conv_transpose(0, 4, 4, 2, padding=1), (4, 40, 60)),
    "its output padding is added": (
        lambda n: n.conv_transpose(0, 4, 3, 2, padding=1, output_padding=(1, 0)),
        (4, 40, 59),
    ),
    "a dense layer is flat": (lambda n: n.dense(0, 7), (7, 1, 1)),
    "a pool moves by its kernel": (lambda n: n.pool(0, "max_pool", 2), (6, 10, 15)),
    "unless a stride is given": (lambda n: n.pool(0, "average_pool", 3, 1), (6, 18, 28)),
    "an incomplete window is dropped": (lambda n: n.pool(0, "max_pool", 3), (6, 6, 10)),
    "or kept": (lambda n: n.pool(0, "max_pool", 3, ceil=True), (6, 7, 10)),
    "a mean to a side": (lambda n: n.adaptive_pool(0, "average_pool", 7, 7), (6, 7, 7)),
    "a pool to two sides": (lambda n: n.adaptive_pool(0, "max_pool", 5, 3), (6, 5, 3)),
    "a slice of channels": (lambda n: n.slice(0, 2), (2, 20, 30)),
    "a slice of all": (lambda n: n.slice(0, 6, 20, 30), IMAGE),
    "a slice of the image": (lambda n: n.slice(0, 1, 1, 4), (1, 1, 4)),
    "padding is added to its sides": (lambda n: n.pad(0, 1, 2, 3, 5), (6, 24, 37)),
    "an image is resampled": (lambda n: n.upsample(0, 40, 50), (6, 40, 50)),
    "channels are concatenated": (lambda n: n.concat(0, n.slice(0, 2)), (8, 20, 30)),
    "or all elements": (lambda n: n.concat(0, one_pixel(n), flat=True), (3606, 1, 1)),
    "a sum repeats sides of one": (lambda n: n.merge("add", (0, one_pixel(n))), IMAGE),
    "a product does, too": (lambda n: n.merge("multiply", (one_pixel(n), 0)), IMAGE),
    "a shuffle keeps the shape": (lambda n: n.channel_shuffle(0, 3), IMAGE),
}


@pytest.mark.parametrize("case", SHAPES)
def test_shapes_are_those_of_the_definitions(net, case):
    add, shape = SHAPES[case]
    x = add(net)
    assert (x, net.shape(x), net.channels(x)) == (len(net.layers) - 1, shape, shape[0])


PARAMETERS = {
    "conv": (lambda n: n.conv(0, 8, 3), 6 * 8 * 9),
    "conv with bias": (lambda n: n.conv(0, 8, 3, bias=True), 6 * 8 * 9 + 8),
    "conv in groups": (lambda n: n.conv(0, 8, 3, groups=2), 3 * 8 * 9),
    "conv_transpose": (lambda n: n.conv_transpose(0, 4, 3, groups=2, bias=True), 3 * 4 * 9 + 4),
    "dense": (lambda n: n.dense(0, 7), 3600 * 7 + 7),
    "dense without bias": (lambda n: n.dense(0, 7, bias=False), 3600 * 7),
    "scale": (lambda n: n.elementwise(0, "scale"), 0),
    "learned scale": (lambda n: n.elementwise(0, "scale", vector_parameters=6), 6),
    "bias added later": (lambda n: n.with_bias(n.conv(0, 8, 1)), 48 + 8),
}


@pytest.mark.parametrize("case", PARAMETERS)
def test_parameters_are_those_of_the_definitions(net, case):
    add, count = PARAMETERS[case]
    x = add(net)
    assert net.layers[x].parameters == count


def test_an_adaptive_pool_covers_the_image_with_windows_of_one_size(net):
    x = net.adaptive_pool(0, "average_pool", 3, 40)
    layer = net.layers[x]
    # 20 pixels: steps of 6, and a window of 20 - 2 * 6; fewer columns than asked for are read one by one.
    assert (layer.stride_height, layer.kernel_height) == (6, 8)
    assert (layer.stride_width, layer.kernel_width) == (1, 1)


def test_the_last_layers_become_one(net):
    x = net.conv(0, 8, 1)
    net.elementwise(net.elementwise(x, "scale"), "relu")
    assert net.fuse_last(2, "hard_swish") == 2
    assert [layer.kind for layer in net.layers] == ["input", "conv", "hard_swish"]
    assert net.layers[2].inputs == (x,)


def test_an_image_may_shrink_to_one_pixel(net):
    assert net.shape(net.conv(0, 8, 20, padding=0)) == (8, 1, 11)
    square = CnnBuilder()
    assert square.shape(square.input(3, 32)) == (3, 32, 32)
