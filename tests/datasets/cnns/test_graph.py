from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.zoo import build

LENET = build("lenet5")


def test_facts_that_follow_from_fields():
    conv, pool, dense = LENET.layers[1], LENET.layers[3], LENET.layers[7]
    assert (conv.group, conv.weights, conv.parameters, conv.macs) == ("convolution", 450, 456, 352_800)
    assert (pool.group, pool.parameters, pool.macs, pool.stride) == ("pooling", 0, 0, 2)
    assert dense.weights == dense.macs == 48_000
    assert (dense.input_elements, dense.output_elements) == (400, 120)
    assert not conv.is_depthwise
    assert [layer.is_depthwise for layer in build("mobilenet_v2").layers[:5]] == [False] * 4 + [True]


def test_padding_after_the_image_follows_from_the_sizes():
    net = CnnBuilder()
    image = net.input(3, 10)
    net.conv(image, 4, 3, 2, padding="same")
    net.conv(image, 4, 3, 2)
    net.conv(image, 4, 3, 2, padding="valid")
    net.conv_transpose(image, 4, 3, 2, padding=1, output_padding=1)
    assert [(layer.pad_top, layer.pad_bottom, layer.pad_right) for layer in net.layers[1:]] == [
        (0, 1, 1),
        (1, 0, 0),
        (0, -1, -1),
        (1, 0, 0),
    ]
