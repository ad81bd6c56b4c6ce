"""Features of a measured layer, described as the matrix product that it computes."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from trainlaw.datasets.features.feature import Feature, features_of
from trainlaw.datasets.tables.joins import GpuJoin

LAYER_NUMBERS = (
    "batch",
    "in_height_px",
    "in_width_px",
    "in_channels",
    "out_channels",
    "kernel_px",
    "stride_px",
    "out_height_px",
)


#: Side of a tile in outputs, and channels of the smallest block: one per thread of a warp of 32.
TILE_PX, BLOCK_CHANNELS = 4.0, 32.0


def tiled(amounts: np.ndarray, tile: float) -> np.ndarray:
    """Round amounts up to whole tiles; same unit and shape.

    >>> tiled(np.array([7.0, 8.0, 9.0]), TILE_PX).tolist()
    [8.0, 8.0, 12.0]
    """
    return tile * np.ceil(amounts / tile)


#: Arrays that one update reads and writes, by optimizer: the values, and its state; any other: 1.
UPDATE_ARRAYS: Mapping[str, int] = MappingProxyType(
    {"none": 0, "SGD": 1, "Momentum": 2, "Adagrad": 2, "RMSProp": 3, "Adam": 3, "Adadelta": 3}
)
LAYER_FEATURES: Mapping[str, Feature] = MappingProxyType({**features_of("layer"), **features_of("gpu")})
LAYER_RULES: Mapping[str, Callable[[GpuJoin], np.ndarray]] = MappingProxyType(
    {
        "n_passes": lambda rows: rows.looked_up("phase", lambda phase: 3 if "backward" in phase else 1),
        "has_optimizer": lambda rows: rows.looked_up("phase", lambda phase: "optimizer" in phase.split("+")),
        "is_conv": lambda rows: rows.looked_up("kind", lambda kind: kind == "conv"),
        "tiled_height_px": lambda rows: tiled(rows.number("out_height_px"), TILE_PX),
        "tiled_channels": lambda rows: tiled(rows.number("out_channels"), BLOCK_CHANNELS),
        "has_bias": lambda rows: np.nan_to_num(rows.number("bias")),
        "has_activation": lambda rows: rows.looked_up("activation", lambda name: name != "none"),
        "update_arrays": lambda rows: rows.looked_up("optimizer", lambda name: UPDATE_ARRAYS.get(name, 1)),
    }
)
