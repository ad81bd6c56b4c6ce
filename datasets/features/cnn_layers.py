"""The layers of a network on a GPU: the share that each fills, and the time of those without products."""

import numpy as np
from trainlaw.datasets.cnns.columns import LayerColumns
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.hardware.gpus import Gpu
from trainlaw.formulas.features import FeatureSpec
from trainlaw.formulas.units import SECOND

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
