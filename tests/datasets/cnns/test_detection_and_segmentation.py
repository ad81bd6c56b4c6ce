"""Detectors and networks of segmentation: published figures, shared heads, images that are not square."""

from itertools import pairwise

import pytest
from trainlaw.datasets import find_cnn_counts
from trainlaw.datasets.cnns.counts import counts
from trainlaw.datasets.cnns.zoo import build, dense_names, zoo_entry, zoo_names

# Learned elements, as torchvision's documentation and, for the last, detectron2's tests state them; frozen
# batch normalisations have none.
PARAMETERS = {
    "fasterrcnn_resnet50_fpn": 41_755_286,
    "maskrcnn_resnet50_fpn": 44_401_393,
    "retinanet_resnet50_fpn": 34_014_999,
    "retinanet_resnet50_fpn_c5": 37_915_572,
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_published_parameters(name):
    assert find_cnn_counts(name).counts["params"] == PARAMETERS[name]


def test_efficientdet_has_the_figures_of_the_paper():
    counted = find_cnn_counts("efficientdet_d0").counts
    # arXiv:1911.09070, table 2: 3.9 million parameters, 2.5 billion operations.
    assert counted["params"] == pytest.approx(3.9e6, rel=0.01)
    assert counted["macs"] == pytest.approx(2.5e9, rel=0.01)


def test_operations_of_detectron2():
    # Its tests count 146 (RetinaNet) and 117 (Faster R-CNN without boxes) billion on 800 x 800 pixels, on a
    # ResNet-50 with the stride in the first convolution of a block.
    early = 800 * 800 / 224**2 * (4_087_136_256 - 3_855_925_248)
    share = 800 / 1280
    retina = find_cnn_counts("retinanet_resnet50_fpn_c5", 800).counts["macs"]
    assert retina * share - early == pytest.approx(146e9, rel=0.01)
    boxes = 512 * (7 * 7 * 256 * 1024 + 1024 * 1024 + 1024 * 5 * 91)
    faster = find_cnn_counts("fasterrcnn_resnet50_fpn", 800).counts["macs"]
    assert (faster - boxes) * share - early == pytest.approx(117e9, rel=0.01)


def test_regions_add_the_work_of_their_heads():
    counted = [find_cnn_counts(f"{name}_resnet50_fpn").counts["macs"] for name in ("fasterrcnn", "maskrcnn")]
    # 128 outlines of 14 x 14 pixels, doubled at the end.
    convolutions = 14 * 14 * 256 * 256 * (4 * 9 + 4) + 28 * 28 * 256 * 91
    assert counted[1] - counted[0] == 128 * convolutions


@pytest.mark.parametrize(
    ("name", "size", "width"),
    [("maskrcnn_resnet50_fpn", 832, 1344), ("maskrcnn_resnet50_fpn", 800, 1280), ("nnunet_2d", 192, 160)],
)
def test_images_that_are_not_square(name, size, width):
    image = build(name, size).layers[0]
    assert (image.out_height, image.out_width) == (size, width)
    assert zoo_entry("resnet50").width_px(size) == size


def test_shared_heads_learn_once_and_work_at_each_level():
    heads = [layer for layer in build("retinanet_resnet50_fpn").layers if layer.out_channels == 9 * 91]
    assert [layer.learns_weights for layer in heads] == [1, 0, 0, 0, 0]
    assert [layer.parameters for layer in heads] == [256 * 9 * 819 + 819, 0, 0, 0, 0]
    assert all(layer.macs == 256 * 9 * 819 * layer.out_height * layer.out_width for layer in heads)


def test_number_of_boxes():
    # 320 pixels: 40, 20, 10, 5 and 3 places a side, six boxes each.
    places = sum(side * side for side in (40, 20, 10, 5, 3))
    assert build("ssd320_resnet50_fpn").layers[-1].out_channels == 6 * places * 91
    assert build("efficientdet_d0").layers[-1].out_channels == 9 * 90 * sum(4**i for i in range(2, 7))


def test_nnunet_halves_five_times_and_comes_back():
    cnn = build("nnunet_2d")
    shapes = [(layer.out_channels, layer.out_height, layer.out_width) for layer in cnn.layers]
    assert (512, 6, 5) in shapes and shapes[-1] == (4, 192, 160)
    down, up = (4, 32, 64, 128, 256, 512, 512), (32, 64, 128, 256, 512)
    convs = sum(9 * a * b + 9 * b * b + 4 * b for a, b in pairwise(down))
    ups = sum(
        4 * a * b + b + 9 * 2 * b * b + 9 * b * b + 4 * b for a, b in zip((*up[1:], 512), up, strict=True)
    )
    assert find_cnn_counts("nnunet_2d").counts["params"] == convs + ups + 32 * 4 + 4


def test_blurred_strides_are_fixed_kernels():
    plain, blurred = (find_cnn_counts(name).counts for name in ("resnet50", "resnet50_blurpool"))
    assert blurred["params"] == plain["params"]
    assert blurred["n_depthwise"] == plain["n_depthwise"] + 6
    # Before three strided convolutions and three shortcuts, at the larger size.
    elements = sum(
        side * side * (width + shortcut)
        for side, width, shortcut in ((56, 128, 256), (28, 256, 512), (14, 512, 1024))
    )
    assert blurred["macs"] - plain["macs"] == 9 * elements


def test_batch_normalisations_of_detectors_are_frozen():
    assert counts(build("fasterrcnn_resnet50_fpn"))["n_batchnorm"] == 0


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
