"""Layers of a network on a GPU: the features of measured layers, and shares of the GPU."""

import numpy as np
import pandas as pd
import pytest
from trainlaw.datasets import LAYER_FEATURES, LayerTable, find_cnn, find_gpu, load
from trainlaw.datasets.cnns import Cnn, CnnBuilder
from trainlaw.datasets.cnns.counts import counts
from trainlaw.datasets.features.cnn_layer_features import (
    CNN_LAYER_COLUMNS,
    DistinctLayers,
    device_shares,
    layer_facts,
)
from trainlaw.datasets.measurements.formula_rows import layer_columns

from ...rows import each_row

GPU = find_gpu("V100-SXM2-16GB")


@pytest.mark.parametrize(("passes", "phase"), [(1, "forward"), (3, "forward+backward+optimizer")])
def test_features_equal_those_of_the_table_of_layers(passes, phase):
    """A square ungrouped convolution of a network, written as a row of the table, has the same features."""
    cnn, batch = find_cnn("vgg16"), 8
    found = layer_columns(cnn, GPU, batch, passes)
    heavy = [place for place, layer in enumerate(cnn.layers) if layer.weights]
    pattern = load("cde-layers").frame.iloc[0].to_dict()
    rows = []
    for place in heavy:
        layer, dense = cnn.layers[place], cnn.layers[place].kind == "dense"
        rows.append({
            **pattern, "gpu": GPU.gpu, "kind": "dense" if dense else "conv", "phase": phase, "batch": batch,
            "in_height_px": layer.in_height, "in_width_px": layer.in_width, "in_channels": layer.in_channels,
            "out_channels": layer.out_channels, "kernel_px": max(layer.kernel_height, 1),
            "stride_px": layer.stride, "out_height_px": layer.out_height,
        })  # fmt: skip
    # A bias, an activation and an update are parts of the layer in the table only; the reduction length of a
    # dense layer is told by its weights.
    alone = {"has_optimizer", "epilogue_memory_s", "update_memory_s", "reduction"}
    names = [name for name in found if name in LAYER_FEATURES and name not in alone]
    assert "fast_compute_s" in names and "clock_drop" in names
    expected = LayerTable("made", pd.DataFrame(rows)).features(names)
    for name in names:
        assert found[name][heavy] == pytest.approx(expected[name].to_numpy(), rel=1e-12), name


def test_only_other_layers_have_other_memory():
    cnn = find_cnn("resnet50")
    found = layer_columns(cnn, GPU, 4, 1)
    weights = np.array([layer.weights > 0 for layer in cnn.layers])
    assert not found["other_memory_s"][weights].any()
    assert (found["compute_s"] > 0).tolist() == weights.tolist()
    relu = next(place for place, layer in enumerate(cnn.layers) if layer.kind == "relu")
    elements = 4 * cnn.layers[relu].output_elements
    assert found["other_memory_s"][relu] == pytest.approx(2 * 4 * elements / GPU.bandwidth_byte_per_s)


def test_shares_lie_in_range_and_rise_with_the_batch():
    cnn = find_cnn("googlenet")
    few, many = (device_shares(cnn, GPU, batch) for batch in (1, 64))
    assert (few > 0).all()
    assert (many <= 1).all()
    assert (many >= few).all()
    assert many.mean() > few.mean()


def test_share_by_hand():
    """The last convolutions of googlenet: 7 x 7 pixels, so 49 rows at batch 1, one tile high."""
    cnn = find_cnn("googlenet")
    place = max(p for p, layer in enumerate(cnn.layers) if layer.kind == "conv")
    layer = cnn.layers[place]
    assert (layer.out_height, layer.out_width) == (7, 7)
    blocks = -(-layer.out_channels // 64)
    assert device_shares(cnn, GPU, 1)[place] == blocks / (2 * 80)
    assert device_shares(cnn, GPU, 8)[place] == 4 * blocks / (2 * 80)  # 392 rows, four tiles high


@pytest.mark.parametrize("batch", [1, 64])
def test_the_share_of_a_layer_is_its_blocks_or_threads_over_those_of_the_gpu(batch):
    cnn, gpu = find_cnn("lenet5"), find_gpu("V100-SXM2-16GB")
    shares = device_shares(cnn, gpu, batch)
    for layer, share in zip(cnn.layers, shares, strict=True):
        if layer.macs:
            pixels = batch * layer.out_height * layer.out_width
            blocks = np.ceil(pixels / 128) * np.ceil(layer.out_channels / 64)
            assert share == pytest.approx(min(blocks / (2 * gpu.sm_count), 1))
        else:
            assert share == pytest.approx(min(batch * layer.output_elements / (2048 * gpu.sm_count), 1))


@pytest.fixture(scope="module")
def small():
    """Layers of every group, with other heights than widths, and kernels of other heights than widths."""
    net = CnnBuilder()
    x = net.conv(net.input(3, 9, 11), 40, 3, 2, bias=True)
    x = net.conv(x, 40, (3, 5), groups=40)
    normal = net.elementwise(x, "batchnorm", vector_parameters=2 * net.channels(x))
    pooled = net.max_pool(net.concat(net.conv(normal, 8, 1), normal), 2)
    net.dense(net.conv(pooled, 24, 3, groups=4), 10)
    return Cnn("small", "small", "small", 9, 10, net.layers)


# Input 9 x 11, convolution 3 -> 40 of stride 2, depthwise 3 x 5, normalisation, 1 x 1 convolution 40 -> 8,
# concatenation to 48, pooling to 2 x 3, convolution 48 -> 24 in 4 groups, dense layer of 10: by hand.
BY_HAND = {
    "is_layer": [0, 1, 1, 1, 1, 1, 1, 1, 1],
    "is_conv": [0, 1, 1, 0, 1, 0, 0, 1, 0],
    "is_conv3x3": [0, 0, 0, 0, 0, 0, 0, 0, 0],
    "is_conv1x1": [0, 0, 0, 0, 1, 0, 0, 0, 0],
    "is_grouped": [0, 0, 0, 0, 0, 0, 0, 1, 0],
    "is_depthwise": [0, 0, 1, 0, 0, 0, 0, 0, 0],
    "is_dense": [0, 0, 0, 0, 0, 0, 0, 0, 1],
    "is_batchnorm": [0, 0, 0, 1, 0, 0, 0, 0, 0],
    "is_concat": [0, 0, 0, 0, 0, 1, 0, 0, 0],
    "kernel_px": [1, 3, 15**0.5, 1, 1, 1, 1, 3, 1],
    "stride_px": [1, 2, 1, 1, 1, 1, 2, 1, 1],
    "in_channels": [3, 3, 40, 40, 40, 48, 48, 48, 144],
    "out_channels": [3, 40, 40, 40, 8, 48, 48, 24, 10],
    "in_height_px": [9, 9, 5, 5, 5, 5, 5, 2, 1],
    "in_width_px": [11, 11, 6, 6, 6, 6, 6, 3, 1],
    "out_height_px": [99**0.5, *[30**0.5] * 5, 6**0.5, 6**0.5, 1],
    "tiled_height_px": [12, 8, 8, 8, 8, 8, 4, 4, 4],
    "tiled_channels": [32, 64, 64, 64, 32, 64, 64, 32, 32],
    "reduction": [1, 27, 15, 1, 40, 1, 1, 108, 1],
    "columns": [1, 40, 1, 1, 8, 1, 1, 6, 10],
    "weights": [0, 1080, 600, 0, 320, 0, 0, 2592, 1440],
    "image_rows": [0, 30, 30, 0, 30, 0, 0, 6, 1],
    "image_macs": [0, 32400, 18000, 0, 9600, 0, 0, 15552, 1440],
    "image_unfolded": [0, 810, 18000, 0, 1200, 0, 0, 2592, 144],
    "image_inputs": [0, 297, 1200, 0, 1200, 0, 0, 288, 144],
    "image_outputs": [0, 1200, 1200, 0, 240, 0, 0, 144, 10],
    "image_moved": [0, 0, 0, 2400, 0, 2880, 1728, 0, 0],
    "other_parameters": [0, 0, 0, 80, 0, 0, 0, 0, 0],
    "run_parameters": [0] * 9,
    "run_image_elements": [0] * 9,
}


@each_row("name", BY_HAND)
def test_base_columns_by_hand(small, name):
    found = layer_facts(small)[:, list(CNN_LAYER_COLUMNS).index(name)]
    assert found.tolist() == pytest.approx(BY_HAND[name], rel=1e-12)


def test_a_layer_is_counted_as_a_cnn_of_one_layer(small):
    found = pd.DataFrame(layer_facts(small), columns=list(CNN_LAYER_COLUMNS))
    whole = counts(small)
    counted = [name for name in CNN_LAYER_COLUMNS if name in whole]
    assert {"moved_elements_8k", "thin_conv_macs", "conv_params"} <= set(counted)
    assert found[counted].sum().to_dict() == pytest.approx({name: whole[name] for name in counted})
    assert (found["depthwise_input_macs"] > 0).tolist() == [kind == 1 for kind in BY_HAND["is_depthwise"]]


def test_the_row_of_an_iteration_has_what_a_run_has_once(small):
    layers = DistinctLayers.of(small)
    row = dict(zip(CNN_LAYER_COLUMNS, layers.facts[-1], strict=True))
    # Convolutions with a bias, scale and shift, and the dense layer.
    assert row.pop("run_parameters") == 1120 + 600 + 80 + 320 + 2592 + 1450
    assert row.pop("run_image_elements") == 3 * 9 * 11
    ones = {name for name, value in row.items() if value == 1}
    assert ones == {name for name, feature in CNN_LAYER_COLUMNS.items() if feature.spec.low == 1}
    assert all(value == 0 for name, value in row.items() if name not in ones)
    assert layers.count.tolist() == [1.0] * 9


def test_equal_layers_are_one_row_that_counts():
    net = CnnBuilder()
    x = net.input(3, 8)
    for _ in range(3):
        x = net.activation(net.conv(x, 3, 3), "relu")
    layers = DistinctLayers.of(Cnn("net", "net", "net", 8, 10, net.layers))
    assert layers.kinds == ("conv", "relu", "iteration")
    assert layers.count.tolist() == [3.0, 3.0, 1.0]


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("conv1x1_compute_s", {"conv1x1"}),
        ("grouped_conv_compute_s", {"grouped"}),
        ("depthwise_compute_s", {"depthwise"}),
        ("dense_compute_s", {"dense"}),
        ("depthwise_memory_s", {"depthwise"}),
        ("batchnorm_memory_s", {"batchnorm"}),
        ("concat_memory_s", {"concat"}),
    ],
)
def test_times_of_a_kind_are_those_of_its_layers(small, name, kinds):
    found = layer_columns(small, GPU, 2, 3)
    names = ("input", "strided", "depthwise", "batchnorm", "conv1x1", "concat", "pool", "grouped", "dense")
    whole = found[
        {"depthwise_memory_s": "output_memory_s"}.get(name)
        or ("other_memory_s" if "memory" in name else "compute_s")
    ]
    expected = [value if kind in kinds else 0.0 for kind, value in zip(names, whole, strict=True)]
    assert found[name].tolist() == expected and sum(expected) > 0


def test_times_of_layers_by_hand(small):
    found = layer_columns(small, GPU, 2, 3)
    peak, bandwidth = GPU.peak_fp32_flop_per_s, GPU.bandwidth_byte_per_s
    # The grouped convolution: 2 images, 3 passes, 2 FLOP per MAC, 4 bytes.
    assert found["compute_s"][7] == pytest.approx(2 * 3 * 2 * 15552 / peak)
    assert found["im2col_compute_s"][7] == pytest.approx(2 * 3 * 2 * 2592 / peak)
    assert found["input_memory_s"][7] == pytest.approx(3 * 4 * 2 * 288 / bandwidth)
    assert found["weight_memory_s"][7] == pytest.approx(3 * 4 * 2592 / bandwidth)
    assert found["wave_compute_s"][7] == pytest.approx(2 * 3 * 108 * 8192 * 80 / peak)
    assert found["other_memory_s"][3] == pytest.approx(3 * 4 * (2 * 2400 + 80) / bandwidth)
    assert found["launch_s"].tolist() == pytest.approx([0.0, *[3e-5] * 8])
    assert found["rows"].tolist() == [1, 60, 60, 1, 60, 1, 1, 12, 2]
