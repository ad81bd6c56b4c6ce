"""Features of measured layers, by hand."""

import numpy as np
import pandas as pd
import pytest
from trainlaw.datasets import (
    CNN_LAYER_FEATURES,
    FEATURES,
    LAYER_FEATURES,
    PAIR_FEATURES,
    LayerTable,
    find_gpu,
    load,
)
from trainlaw.datasets.features.layer_features import tiled

GPU = find_gpu("V100-SXM2-16GB")
CONV = {
    "gpu": GPU.gpu,
    "kind": "conv",
    "phase": "forward",
    "precision": "fp32",
    "batch": 2,
    "in_height_px": 10,
    "in_width_px": 12,
    "in_channels": 5,
    "out_channels": 40,
    "kernel_px": 3,
    "stride_px": 1,
    "out_height_px": 10,
    "bias": 1,
    "activation": "relu",
    "optimizer": "none",
}
STRIDED = {**CONV, "stride_px": 2, "out_height_px": 5, "bias": 0, "activation": "none", "optimizer": "Adam"}
DENSE = {
    **CONV,
    "kind": "dense",
    "phase": "forward+backward+optimizer",
    "kernel_px": 1,
    "in_height_px": 1,
    "in_width_px": 1,
    "out_height_px": 1,
    "optimizer": "Momentum",
    "bias": np.nan,
}


@pytest.fixture(scope="module")
def found():
    pattern = load("cde-layers").frame.iloc[0].to_dict()
    rows = pd.DataFrame([{**pattern, **row} for row in (CONV, STRIDED, DENSE)])
    return LayerTable("made", rows).features()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("n_passes", [1, 1, 3]),
        ("has_optimizer", [0, 0, 1]),
        ("is_conv", [1, 1, 0]),
        ("tiled_height_px", [12, 8, 4]),
        ("tiled_channels", [64, 64, 64]),
        ("has_bias", [1, 0, 0]),
        ("has_activation", [1, 0, 1]),
        ("update_arrays", [0, 3, 2]),
        ("rows", [200, 50, 2]),
        ("reduction", [45, 45, 5]),
        ("weights", [1800, 1800, 200]),
        ("input_elements", [1200, 1200, 10]),
        ("output_elements", [8000, 2000, 80]),
        ("macs", [360_000, 90_000, 400]),
        ("is_fast", [1, 0, 1]),
        # (12 (3 + 3) / (4 * 10 * 3))^2, and of one pixel in a tile of 4: (4 (1 + 3) / 4)^2.
        ("tile_ratio", [0.36, 1, 16]),
        ("launch_s", [1e-5, 1e-5, 3e-5]),
    ],
)
def test_counts_by_hand(found, name, values):
    assert found[name].tolist() == pytest.approx(values, rel=1e-12)


PEAK, BANDWIDTH = GPU.peak_fp32_flop_per_s, GPU.bandwidth_byte_per_s


@pytest.mark.parametrize(
    ("name", "amounts", "rate"),
    [
        # 2 FLOP per MAC or element, 3 passes of the dense layer.
        ("compute_s", [720_000, 180_000, 2400], PEAK),
        ("output_compute_s", [16_000, 4000, 480], PEAK),
        ("im2col_compute_s", [18_000, 4500, 60], PEAK),
        ("weight_compute_s", [3600, 3600, 1200], PEAK),
        ("tiled_compute_s", [1_152_000, 288_000, 3840], PEAK),
        ("fast_compute_s", [414_720, 288_000, 61_440], PEAK),
        ("fast_input_compute_s", [6480, 4500, 960], PEAK),
        ("wave_compute_s", [90 * 8192 * 80, 90 * 8192 * 80, 30 * 8192 * 80], PEAK),
        ("fast_wave_compute_s", [4 * 90 * 8192 * 80, 90 * 8192 * 80, 16 * 30 * 8192 * 80], PEAK),
        # 4 bytes per element.
        ("input_memory_s", [4800, 4800, 120], BANDWIDTH),
        ("output_memory_s", [32_000, 8000, 960], BANDWIDTH),
        ("weight_memory_s", [7200, 7200, 2400], BANDWIDTH),
        ("epilogue_memory_s", [64_000, 0, 960], BANDWIDTH),
        ("update_memory_s", [0, 14_400, 80], BANDWIDTH),
    ],
)
def test_times_by_hand(found, name, amounts, rate):
    assert (found[name] * rate).tolist() == pytest.approx(amounts, rel=1e-12)


def test_amounts_are_rounded_up_to_whole_tiles():
    assert tiled(np.array([0.0, 1.0, 32.0, 33.0]), 32.0).tolist() == [0.0, 32.0, 32.0, 64.0]


FAMILIES = {
    "runs": FEATURES,
    "layers": LAYER_FEATURES,
    "CNN layers": CNN_LAYER_FEATURES,
    "pairs": PAIR_FEATURES,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_ranges_of_features_follow_from_what_they_are(family):
    """Flags are 0 or 1, numbers of things begin at 1, and nothing is negative but differences."""
    for name, row in FAMILIES[family].items():
        low, high = row.spec.low, row.spec.high
        if name.startswith(("is_", "has_", "wide_")):
            assert (low, high) == (0, 1), name
        elif name.endswith("_px") or name in ("batch", "batch_per_gpu", "n_gpus", "n_nodes", "out_channels"):
            assert (low, high) == (1, np.inf), name
        elif name.endswith("_s") and not name.endswith("per_s"):
            assert (low, high) == (0, np.inf), name
        else:
            assert low in (0, 1, -np.inf) and high in (1, 3, 8, 12, np.inf), (name, low, high)
