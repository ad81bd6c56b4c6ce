"""Counted moves against kernels timed by TensorFlow: one share of the bandwidth serves all kinds."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest
from trainlaw.datasets.cnns.columns import LayerColumns
from trainlaw.datasets.cnns.graph import KINDS, moves_by_layer
from trainlaw.datasets.cnns.zoo import build
from trainlaw.datasets.files.storage import read_data_rows, read_data_table
from trainlaw.datasets.hardware.gpus import built_in_gpus

Layers = Callable[[LayerColumns], np.ndarray]
# Per kind: its layers, and the operations that together make the counted moves of an iteration.
KINDS_TIMED: dict[str, tuple[str, Layers, tuple[str, ...]]] = {
    "normalization": (
        "normalization",
        lambda t: t.group["normalization"],
        ("FusedBatchNormV3", "FusedBatchNormGradV3"),
    ),
    "relu": ("activation", lambda t: t.of_kind("relu"), ("Relu", "ReluGrad")),
    "relu6": ("activation", lambda t: t.of_kind("relu6"), ("Relu6", "Relu6Grad")),
    "add": ("add", lambda t: t.group["add"], ("AddV2",)),
    "largest": ("pooling", lambda t: t.of_kind("max_pool"), ("MaxPool", "MaxPoolGrad")),
    "reader": ("reader", lambda t: t.layers & (readers(t) > 1), ("AddN",)),
}
# Kernels shorter than this are launches rather than moves, seconds.
_SHORTEST = 1e-4
# Kepler adds gradients of overlapping windows one by one: half as fast as its other kernels.
_SLOW = {("K80", "largest")}


def readers(t: LayerColumns) -> np.ndarray:
    read = np.zeros(len(t.cnn.layers))
    for layer in t.cnn.layers:
        np.add.at(read, list(layer.inputs), 1)
    return read


@cache
def layer_columns(*key) -> LayerColumns:
    return LayerColumns(build(*key))


def seconds_at_bandwidth(run, kind: str) -> float:
    """Return the seconds that the moves of a kind take at the full bandwidth, own cache shares left out."""
    row, layers, _ = KINDS_TIMED[kind]
    t = layer_columns(run["cnn"], run["input_size_px"], run["n_classes"])
    inputs, outputs = moves_by_layer()[row]
    times = np.maximum(readers(t) - 1, 0) if kind == "reader" else 1.0
    moved = (times * (inputs * t.read + outputs * t.output_elements))[layers(t)].sum()
    return 4 * run["batch_per_gpu"] * moved / built_in_gpus().find(run["gpu"]).number("bandwidth_byte_per_s")


def test_each_kind_costs_its_bytes_at_one_share_of_the_bandwidth():
    shares: dict[str, dict[str, list[float]]] = {}
    for run in read_data_table("profet_profiles.csv.xz").to_dict("records"):
        for kind, (_, layers, operations) in KINDS_TIMED.items():
            times = [run[f"device_{name}_s"] for name in operations]
            count = layers(layer_columns(run["cnn"], run["input_size_px"], run["n_classes"])).sum()
            if count and min(times) > _SHORTEST * count:
                share = seconds_at_bandwidth(run, kind) / sum(times)
                shares.setdefault(run["gpu"], {}).setdefault(kind, []).append(share)
    assert len(shares) == 4
    for gpu, by_kind in shares.items():
        median = pd.Series({kind: np.median(found) for kind, found in by_kind.items()})
        kept = median[[kind for kind in median.index if (gpu, kind) not in _SLOW]]
        assert len(kept) >= 4
        assert kept.between(0.7 * kept.median(), 1.3 * kept.median()).all(), (gpu, median.to_dict())


def test_every_layer_without_products_has_moves():
    named = {row["layer"] for row in read_data_rows("moves.csv")}
    without = set(KINDS.values()) - {"input", "convolution", "dense"}
    assert without | {"prelu", "bias", "reader"} == named
    assert all(row["source"] for row in read_data_rows("moves.csv"))


@pytest.mark.parametrize("name", ["xception", "mobilenet_v2"])
def test_depthwise_gradients_visit_every_input_pixel(name):
    layers = [layer for layer in build(name).layers if layer.is_depthwise]
    taps = sum(layer.input_elements * layer.kernel_height * layer.kernel_width for layer in layers)
    assert taps >= sum(layer.macs for layer in layers)
