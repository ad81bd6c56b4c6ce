"""The features of the skeleton of a formula, recomputed from figures of a data sheet and of a CNN's table."""

import numpy as np
import pytest
from trainlaw.datasets import FEATURES, configuration
from trainlaw.datasets.cnns.columns import LayerColumns
from trainlaw.datasets.cnns.zoo import build
from trainlaw.datasets.features.run_features import SKELETON_FEATURES

from ...rows import each_row

NAMES = [row.spec.name for row in SKELETON_FEATURES]
# V100-SXM2-16GB: data sheet. ResNet-50 at 224 px: counts per image.
TENSOR, LANES, BANDWIDTH, L2 = 125e12, 15.67e12, 897e9, 6 * 1024**2
MACS, CONV, CONV3, DENSE = 4_089_184_256, 4_087_136_256, 1_502_871_552, 2_048_000
IM2COL, OUTPUTS, INPUTS = 21_814_016, 11_113_984, 10_662_400
ELEMENTWISE, ALL_OUTPUTS, LAYERS, CONVS = 26_445_800, 37_560_784, 175, 53
PARAMS, CONV_PARAMS = 25_557_032, 23_454_912
BATCH = 32
# Bytes of a layer's input and output in 16 bits, of which the level 2 cache holds a part.
IN_OUT = 2 * BATCH * 2 * ALL_OUTPUTS / LAYERS
COST = (1 + 5 * IN_OUT / (IN_OUT + L2)) / 6
PASS = COST * BATCH * 2 / BANDWIDTH
STEM = 118_013_952
# Elements that layers read and write, by the class of their size.
OF_CONV = {2**15: 100_352, 2**17: 4_867_072, 2**19: 14_400_512, 2**21: 2_408_448}
LIGHT = {2**13: 2_000, 2**15: 501_760, 2**17: 6_926_336, 2**19: 25_188_352, 2**21: 26_492_928}
# Moved outside products: normalisations 8 times their outputs, ReLUs 5, sums 3, gradients of readers 3.
MOVED = {2**13: 8_000, 2**15: 1_630_720, 2**17: 23_337_984, 2**19: 82_188_288, 2**21: 67_436_544}
HELD = L2 / BATCH / 2


def own_pass(classes):
    """Seconds of one pass, of which the cache holds a share of each layer."""
    costs = sum(amount * (1 + 5 * size / (size + HELD)) / 6 for size, amount in classes.items())
    return BATCH * 2 * costs / BANDWIDTH


EXPECTED = {
    "conv3x3_matrix_s": 6 * BATCH * CONV3 / TENSOR,
    "other_matrix_s": 6 * BATCH * (CONV - CONV3 + DENSE) / TENSOR,
    "im2col_matrix_s": 6 * BATCH * IM2COL / TENSOR,
    "im2col_simt_s": 6 * BATCH * IM2COL / LANES,
    # Two of four bytes.
    "conv_input_simt_s": 6 * BATCH * INPUTS / LANES / 2,
    "conv_output_simt_s": 6 * BATCH * OUTPUTS / LANES,
    "linear_fp32_s": 0.0,
    "grouped_conv_simt_s": 0.0,
    "grouped_channels_last_simt_s": 0.0,
    "grouped_slow_simt_s": 0.0,
    "depthwise_simt_s": 0.0,
    "depthwise_input_simt_s": 0.0,
    "conv_weight_simt_s": 6 * CONV_PARAMS / LANES,
    "conv_output_cached_s": PASS * OUTPUTS,
    "depthwise_output_cached_s": 0.0,
    "elementwise_cached_s": PASS * ELEMENTWISE,
    "host_launch_s": 120e-6,
    "conv_launch_s": CONVS * 120e-6,
    "host_s": LAYERS * 120e-6,
    "forward_host_s": LAYERS * 40e-6,
    "forward_least_s": 2 * BATCH * (MACS - 5 / 9 * CONV3) / TENSOR,
    "least_time_s": 6 * BATCH * (MACS - 5 / 9 * CONV3) / TENSOR,
    "matrix_flop_per_s": TENSOR,
    "matrix_number": 6.25,
    "mean_layer_elements": ALL_OUTPUTS / LAYERS,
    "cached_byte_cost": COST,
    "is_tuned_tensor": 0.0,
    "cached_elements": HELD,
    # The stem alone has 3 channels.
    "thin_conv_simt_s": 6 * BATCH * STEM / LANES,
    "broad_grouped_matrix_s": 0.0,
    "parameter_memory_s": 4 * PARAMS / BANDWIDTH,
    "input_copy_s": 0.0,
    "batchnorm_pixel_s": 0.0,
    "iteration_overhead_s": 1e-3,
    "conv_own_cached_s": own_pass(OF_CONV),
    "light_own_cached_s": own_pass(LIGHT),
    "moved_own_s": own_pass(MOVED),
    # The softmax reads and writes the classes.
    "gate_cached_s": PASS * 2000,
    "other_normalization_cached_s": 0.0,
    "is_16_bit": 1.0,
    "runs_channels_last": 1.0,
    "runs_channels_last_amd": 0.0,
    "runs_channels_last_32": 0.0,
    "runs_compiled_32": 0.0,
    "runs_fused": 0.0,
}


def run(gpu="V100-SXM2-16GB", cnn="resnet50", **settings):
    defaults = {"batch_per_gpu": BATCH, "precision": "amp", "layout": "channels_last"}
    return configuration(cnn=cnn, gpu=gpu, **(defaults | settings))


def value(name, **settings):
    return run(**settings).matrix([name]).item()


def test_every_feature_is_recomputed_here():
    assert set(EXPECTED) == set(NAMES)
    assert set(NAMES) <= set(FEATURES)


@each_row("name", NAMES)
def test_features_follow_from_data_sheet_and_counts(name):
    assert value(name) == pytest.approx(EXPECTED[name], rel=1e-9)


def test_in_fp32_work_runs_on_the_lanes():
    settings = {"precision": "fp32", "layout": "nchw"}
    assert value("matrix_flop_per_s", **settings) == LANES
    assert value("conv_input_simt_s", **settings) == pytest.approx(6 * BATCH * INPUTS / LANES)
    assert value("cached_byte_cost", **settings) > COST


def test_dual_issue_counts_once_in_fp32():
    """Ampere's data sheet counts two operations per clock; products reach the rate of one."""
    gpu = {"gpu": "RTX 3090", "precision": "fp32"}
    peak, issue, rate = run(**gpu).matrix(["peak_flop_per_s", "dual_issue", "matrix_flop_per_s"])[0]
    assert issue > 1.5
    assert rate == pytest.approx(peak / issue)
    assert value("matrix_flop_per_s", gpu="RTX 3090") == value("peak_flop_per_s", gpu="RTX 3090")


def test_grouped_and_depthwise_convolutions_have_times_of_their_own():
    grouped = {"cnn": "resnext50_32x4d"}
    first = value("grouped_channels_last_simt_s", **grouped)
    assert first == value("grouped_conv_simt_s", **grouped) > 0.0
    assert value("grouped_channels_last_simt_s", layout="nchw", **grouped) == 0.0
    assert value("depthwise_simt_s", cnn="mobilenet_v2") > 0.0
    assert value("depthwise_output_cached_s", cnn="mobilenet_v2") > 0.0


def test_a_channel_that_is_a_plane_has_one_block_of_threads():
    # Each convolution of the CNN has a normalisation.
    expected = 8 * BATCH * 2 * value("conv_output_pixels") / 16e9
    assert value("batchnorm_pixel_s", layout="nchw") == pytest.approx(expected)
    assert value("batchnorm_pixel_s", layout="nchw", compilation="inductor") == 0.0
    assert value("batchnorm_pixel_s", layout="nchw", cnn="vgg16") == 0.0


def test_a_last_level_cache_makes_bytes_cheaper_down_to_a_sixth():
    costs = [value("cached_byte_cost", gpu=gpu) for gpu in ("V100-SXM2-16GB", "Radeon RX 7900 XTX")]
    assert 1 / 6 < costs[1] < costs[0] < 1
    assert value("cached_byte_cost", batch_per_gpu=1) < 0.3


def test_tuned_containers_count_on_tensor_cores_only():
    assert value("is_tuned_tensor", tuned=True) == 1.0
    assert value("is_tuned_tensor", tuned=True, precision="fp32") == 0.0


def test_the_host_takes_the_launch_time_that_was_measured():
    assert value("host_s", host_launch_s=40e-6) == pytest.approx(LAYERS * 40e-6)


def test_small_batches_take_at_least_one_pass_over_the_parameters():
    assert value("least_time_s", cnn="vgg16", batch_per_gpu=1) == pytest.approx(4 * 138_357_544 / BANDWIDTH)
    assert PARAMS * 4 / BANDWIDTH < EXPECTED["least_time_s"]


@pytest.mark.parametrize("cnn", ["resnet50", "vgg16", "mobilenet_v2", "densenet121", "inception_v3"])
@pytest.mark.parametrize("batch", [8, 256])
def test_classes_of_sizes_stand_for_their_layers(cnn, batch):
    layers = LayerColumns(build(cnn))
    held = value("cached_elements", cnn=cnn, batch_per_gpu=batch)
    costs = layers.touched * (1 + 5 * layers.touched / (layers.touched + held)) / 6
    shares, light = costs / np.maximum(layers.touched, 1), ~layers.heavy & layers.layers
    for name, moved in (
        ("conv_own_cached_s", layers.touched * layers.conv),
        ("light_own_cached_s", layers.touched * light),
        ("moved_own_s", layers.moved),
    ):
        exact = batch * 2 * (moved * shares).sum() / BANDWIDTH
        assert value(name, cnn=cnn, batch_per_gpu=batch) == pytest.approx(exact, rel=0.1)
