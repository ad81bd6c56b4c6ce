from dataclasses import replace

import pytest
from trainlaw.datasets.cnns import Cnn, CnnBuilder, build
from trainlaw.formulas.errors import InputError

LENET = build("lenet5")

FAULTS = {
    "an unknown kind": (1, {"kind": "attention"}, "known layer kind"),
    "a layer of no one": (1, {"inputs": ()}, "predecessors"),
    "an input that reads": (0, {"inputs": (0,)}, "predecessors"),
    "a layer that reads a later one": (1, {"inputs": (3,)}, "predecessors"),
    "no channels": (1, {"out_channels": 0}, "channels and sizes"),
    "a huge side": (1, {"out_height": 2**31}, "channels and sizes"),
    "groups that do not divide": (4, {"groups": 5}, "groups"),
    "no groups": (4, {"groups": 0}, "groups"),
    "no kernel": (4, {"kernel_height": 0}, "kernel"),
    "a size that does not fit": (4, {"in_height": 13}, "to match"),
    "a dense layer that does not fit": (7, {"in_channels": 399}, "to match"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_layers_that_form_no_network_are_refused(case):
    position, changes, message = FAULTS[case]
    layers = list(LENET.layers)
    layers[position] = replace(layers[position], **changes)
    with pytest.raises(InputError, match=f"layer {position} .*{message}"):
        replace(LENET, layers=tuple(layers))


def test_branches_must_agree():
    layers = build("resnet18", 64, 10).layers
    position = next(i for i, layer in enumerate(layers) if layer.kind == "add")
    wrong = replace(layers[position], inputs=(0, layers[position].inputs[1]))
    with pytest.raises(InputError, match="to match"):
        Cnn("net", "net", "net", 64, 10, (*layers[:position], wrong))


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
