from itertools import pairwise

import pytest
from trainlaw.datasets import find_cnn_counts
from trainlaw.datasets.cnns.zoo import build, dense_names, zoo_entry, zoo_names


@pytest.mark.parametrize("name", dense_names())
def test_every_network_builds_at_its_usual_input(name):
    entry = zoo_entry(name)
    cnn = build(name)
    assert (cnn.input_size_px, cnn.n_classes) == (entry.input_size_px, entry.n_classes)
    assert cnn.layers[-1].kind == "softmax"
    assert find_cnn_counts(name).counts["macs"] > 1e9


def test_names_are_apart_from_the_classifiers():
    assert not set(dense_names()) & set(zoo_names())


def test_ssd_has_8732_boxes_and_the_weights_of_its_parts():
    cnn = build("ssd300_resnet50")
    assert cnn.layers[-1].out_channels == 81 * 8732
    # torchvision's resnet50 without its last stage and its classifier.
    backbone = 25_557_032 - 14_964_736 - 2_049_000
    channels, between, boxes = (1024, 512, 512, 256, 256, 256), (256, 256, 128, 128, 128), (4, 6, 6, 6, 4, 4)
    maps = sum(
        first * middle + 2 * middle + 9 * middle * second + 2 * second
        for (first, second), middle in zip(pairwise(channels), between, strict=True)
    )
    heads = sum((9 * c + 1) * b * (4 + 81) for c, b in zip(channels, boxes, strict=True))
    assert find_cnn_counts("ssd300_resnet50").counts["params"] == backbone + maps + heads


def test_unet_has_the_sizes_and_weights_of_the_paper():
    cnn = build("unet_medical")
    # arXiv:1505.04597, figure 1: 572 pixels in, 28 at the bottom, 388 out.
    assert (cnn.layers[0].out_height, cnn.layers[-1].out_height) == (572, 388)
    assert min(layer.out_height for layer in cnn.layers) == 28
    # 31,030,658 with the paper's 2 x 2 kernels where resolution doubles; NVIDIA's are 3 x 3.
    more = (9 - 4) * sum(2 * width * width for width in (64, 128, 256, 512))
    assert find_cnn_counts("unet_medical").counts["params"] == 31_030_658 + more


def test_padded_unet_keeps_the_sides():
    cnn = build("unet_industrial")
    assert cnn.layers[-1].out_height == 512
    assert find_cnn_counts("unet_industrial").counts["params"] == 1_850_305
