"""Layers of a network on a GPU: the features of measured layers, and shares of the GPU."""

import numpy as np
import pandas as pd
import pytest
from trainlaw.datasets import LAYER_FEATURES, LayerTable, find_cnn, find_gpu, load
from trainlaw.datasets.features.cnn_layer_features import OTHER_MEMORY, device_shares
from trainlaw.datasets.measurements.formula_rows import layer_columns
from trainlaw.formulas import UnknownNameError

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
    assert not found[OTHER_MEMORY.name][weights].any()
    assert (found["compute_s"] > 0).tolist() == weights.tolist()
    relu = next(place for place, layer in enumerate(cnn.layers) if layer.kind == "relu")
    elements = 4 * cnn.layers[relu].output_elements
    assert found[OTHER_MEMORY.name][relu] == pytest.approx(2 * 4 * elements / GPU.bandwidth_byte_per_s)


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


def test_an_unknown_precision_is_refused():
    with pytest.raises(UnknownNameError, match="fp32"):
        layer_columns(find_cnn("lenet5"), GPU, 1, 1, precision="fp23")


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
