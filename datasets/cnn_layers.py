"""The layers of a network on a GPU: what the law of one layer needs, and the share that each fills."""

from collections.abc import Mapping

import numpy as np
from trainlaw.datasets.cnns.columns import LayerColumns
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.gpus import Gpu
from trainlaw.datasets.precisions import PRECISIONS
from trainlaw.formulas.errors import unknown_name
from trainlaw.formulas.features import FeatureSpec
from trainlaw.formulas.units import SECOND

_LAUNCH_S = 1e-5  # as in the features of measured layers
# Outputs that one thread block of a matrix product computes, and how many such blocks a multiprocessor hosts:
# cuDNN's most common fp32 kernels are named "128x64", and their registers leave room for two (recalled).
_TILE_ROWS, _TILE_COLUMNS, _RESIDENT_TILES = 128, 64, 2
# Threads that a multiprocessor hosts: CUDA C++ Programming Guide, compute capabilities 3.0 to 8.0 (7.5 and
# 8.6 host fewer). A layer without a matrix product has a thread per output.
_RESIDENT_THREADS = 2048

OTHER_MEMORY = FeatureSpec(
    "other_memory_s",
    "m_x",
    SECOND,
    "passes x bytes that a layer without a matrix product reads and writes / bandwidth; 0 for one with",
    low=0.0,
)


def layer_columns(
    cnn: Cnn, gpu: Gpu, batch: int, passes: int, precision: str = "fp32"
) -> Mapping[str, np.ndarray]:
    """Return the features of each layer of a network, by name, float64, shape (n_layers,), times in seconds.

    batch : images. passes : 1 forward, 3 in training. The names are those of `LAYER_FEATURES`, and
    `OTHER_MEMORY`; a convolution in groups counts with the sums of its groups. An input has only zeros.
    Raises UnknownNameError for an unknown precision.

    >>> from trainlaw.datasets import find_cnn, find_gpu
    >>> layer_columns(find_cnn("lenet5"), find_gpu("T4"), 64, 1)["launch_s"][:2].tolist()
    [0.0, 1e-05]
    """
    if precision not in PRECISIONS:
        raise unknown_name("precision", precision, PRECISIONS)
    numbers, layers = PRECISIONS[precision], LayerColumns.of(cnn)
    per_operation = 2.0 * passes / float(getattr(gpu, numbers.peak_column))
    per_element = passes * numbers.bytes_per_element / gpu.bandwidth_byte_per_s
    weights = np.array([layer.weights for layer in cnn.layers], dtype=np.float64)
    heavy, other = layers.heavy.astype(float), (layers.layers & ~layers.heavy).astype(float)
    # The left factor of each matrix product: the unfolded image, or all inputs of a dense layer.
    unfolded = np.where(layers.group["dense"], layers.input_elements, heavy * layers.unfolded)
    read, written = batch * layers.read, batch * layers.output_elements
    base_clock = gpu.boost_clock_hz if np.isnan(gpu.base_clock_hz) else gpu.base_clock_hz
    count = len(cnn.layers)
    return {
        "compute_s": per_operation * batch * layers.macs,
        "output_compute_s": per_operation * heavy * written,
        "im2col_compute_s": per_operation * batch * unfolded,
        "weight_compute_s": per_operation * weights,
        "input_memory_s": per_element * heavy * read,
        "output_memory_s": per_element * heavy * written,
        "weight_memory_s": per_element * weights,
        OTHER_MEMORY.name: per_element * other * (read + written + layers.parameters),
        "launch_s": passes * _LAUNCH_S * layers.layers,
        "is_conv": layers.group["convolution"].astype(float),
        "n_passes": np.full(count, float(passes)),
        "clock_ratio": np.full(count, base_clock / gpu.boost_clock_hz),
        "wide_sm": np.full(count, float(gpu.core_count > 128 * gpu.sm_count)),
    }


def device_shares(cnn: Cnn, gpu: Gpu, batch: int) -> np.ndarray:
    """Return the share of a GPU that each layer keeps busy, float64, shape (n_layers,), in (0, 1].

    Thread blocks over those that fill all multiprocessors: a matrix product has one per 128 x 64 outputs and
    group, two of which fill a multiprocessor; another layer has one thread per output, 2,048 of which do.

    >>> from trainlaw.datasets import find_cnn, find_gpu
    >>> device_shares(find_cnn("lenet5"), find_gpu("V100-SXM2-16GB"), 1).max().round(3).item()
    0.044
    """
    layers = LayerColumns.of(cnn)
    groups = np.array([layer.groups for layer in cnn.layers], dtype=np.float64)
    tiles = np.ceil(batch * layers.rows / _TILE_ROWS) * np.ceil(layers.columns / _TILE_COLUMNS) * groups
    of_product = tiles / (_RESIDENT_TILES * gpu.sm_count)
    of_others = batch * layers.output_elements / (_RESIDENT_THREADS * gpu.sm_count)
    return np.minimum(np.where(layers.heavy, of_product, of_others), 1.0)
