"""Layers of a network on a GPU: the features of measured layers, and shares of the GPU."""

import numpy as np
import pandas as pd
import pytest
from trainlaw.datasets import find_gpu
from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.counts import counts
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.zoo import build
from trainlaw.datasets.features.cnn_layer_features import (
    CNN_LAYER_COLUMNS,
    CNN_LAYER_FEATURES,
    DistinctLayers,
    device_shares,
    layer_facts,
)
from trainlaw.datasets.measurements.formula_rows import layer_columns

GPU = find_gpu("V100-SXM2-16GB")


def test_shares_lie_in_range_and_rise_with_the_batch():
    cnn = build("googlenet")
    few, many = (device_shares(cnn, GPU, batch) for batch in (1, 64))
    assert (few > 0).all()
    assert (many <= 1).all()
    assert (many >= few).all()
    assert many.mean() > few.mean()


def test_share_by_hand():
    """The last convolutions of googlenet: 7 x 7 pixels, so 49 rows at batch 1, one tile high."""
    cnn = build("googlenet")
    place = max(p for p, layer in enumerate(cnn.layers) if layer.kind == "conv")
    layer = cnn.layers[place]
    assert (layer.out_height, layer.out_width) == (7, 7)
    blocks = -(-layer.out_channels // 64)
    assert device_shares(cnn, GPU, 1)[place] == blocks / (2 * 80)
    assert device_shares(cnn, GPU, 8)[place] == 4 * blocks / (2 * 80)  # 392 rows, four tiles high


@pytest.mark.parametrize("batch", [1, 64])
def test_the_share_of_a_layer_is_its_blocks_or_threads_over_those_of_the_gpu(batch):
    cnn, gpu = build("lenet5"), find_gpu("V100-SXM2-16GB")
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
    pooled = net.pool(net.concat(net.conv(normal, 8, 1), normal), "max_pool", 2)
    net.dense(net.conv(pooled, 24, 3, groups=4), 10)
    return Cnn("small", "small", "small", 9, 10, net.layers)


def test_a_layer_is_counted_as_a_cnn_of_one_layer(small):
    found = pd.DataFrame(layer_facts(small), columns=list(CNN_LAYER_COLUMNS))
    whole = counts(small)
    assert {"moved_elements_8k", "thin_conv_macs", "conv_params"} <= set(CNN_LAYER_COLUMNS)
    assert found.sum().to_dict() == pytest.approx({name: whole[name] for name in CNN_LAYER_COLUMNS})
    # Input, strided convolution, depthwise 3 x 5, normalisation, 1 x 1 convolution of 40 channels,
    # concatenation, pooling, convolution of 48 channels in 4 groups, dense layer.
    by_hand = {
        "n_layers": [0, 1, 1, 1, 1, 1, 1, 1, 1],
        "input_elements": [297, 0, 0, 0, 0, 0, 0, 0, 0],
        "depthwise_input_macs": [0, 0, 18000, 0, 0, 0, 0, 0, 0],
        "batchnorm_output_elements": [0, 0, 0, 1200, 0, 0, 0, 0, 0],
        "conv1x1_macs": [0, 0, 0, 0, 9600, 0, 0, 0, 0],
        "grouped_conv_macs": [0, 0, 0, 0, 0, 0, 0, 15552, 0],
        "conv_reduction_length": [0, 27, 0, 0, 40, 0, 0, 108, 0],
        "dense_params": [0, 0, 0, 0, 0, 0, 0, 0, 1450],
    }
    assert found[list(by_hand)].to_dict("list") == by_hand


def test_the_row_of_an_iteration_has_what_a_run_has_once(small):
    layers = DistinctLayers.of(small)
    row = dict(zip(CNN_LAYER_COLUMNS, layers.facts[-1], strict=True))
    assert {name: value for name, value in row.items() if value} == {"input_elements": 3 * 9 * 11}
    assert layers.count.tolist() == [1.0] * 9


def test_equal_layers_are_one_row_that_counts():
    net = CnnBuilder()
    x = net.input(3, 8)
    for _ in range(3):
        x = net.elementwise(net.conv(x, 3, 3), "relu")
    layers = DistinctLayers.of(Cnn("net", "net", "net", 8, 10, net.layers))
    assert layers.kinds == ("conv", "relu", "iteration")
    assert layers.count.tolist() == [3.0, 3.0, 1.0]


def test_times_of_layers_by_hand(small):
    found, forward = layer_columns(small, GPU, 2, 3), layer_columns(small, GPU, 2, 1)
    peak, bandwidth = GPU.peak_fp32_flop_per_s, GPU.bandwidth_byte_per_s
    # The grouped convolution: 2 images, 3 passes, 2 FLOP per MAC, 4 bytes.
    assert found["grouped_conv_compute_s"][7] == pytest.approx(2 * 3 * 2 * 15552 / peak)
    assert found["im2col_compute_s"][7] == pytest.approx(2 * 3 * 2 * 2592 / peak)
    assert found["conv_output_memory_s"][7] == pytest.approx(4 * 2 * 144 / bandwidth)
    assert found["layer_launch_s"].tolist() == pytest.approx([0.0, *[1e-5] * 8])
    once = {"input_copy_s", "iteration_overhead_s"}
    for name in (name for name in found if name.endswith("_s") and "per_" not in name and name not in once):
        if CNN_LAYER_FEATURES[name].definition.startswith("n_passes"):
            assert forward[name] == pytest.approx(found[name] / 3), name
    assert (
        found["iteration_overhead_s"].tolist() == forward["iteration_overhead_s"].tolist() == [1e-3, *[0] * 8]
    )
