"""Features of one layer inside a CNN: those of a CNN of one layer.

The time of a CNN is the sum over its layers and one row of kind "iteration" for what occurs once per run: the
copy of the images, a fixed time. That row has no work of a layer, a layer has none of its work, so that
`f(layer) + overhead` is one expression.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from trainlaw.datasets.cnns.columns import LayerColumns
from trainlaw.datasets.cnns.counts import COUNTS
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.features.feature import Feature, features_of
from trainlaw.datasets.features.layer_features import LAYER_FEATURES
from trainlaw.datasets.features.run_features import FEATURES
from trainlaw.datasets.features.work import resources, works
from trainlaw.datasets.hardware.gpus import Gpu
from trainlaw.formulas.algebra.expression import variables
from trainlaw.formulas.algebra.units import SECOND

# Outputs that one thread block of a matrix product computes, and how many such blocks a multiprocessor hosts:
# cuDNN's most common fp32 kernels are named "128x64", and their registers leave room for two (recalled).
_TILE_ROWS, _TILE_COLUMNS, _RESIDENT_TILES = 128, 64, 2
# Threads that a multiprocessor hosts: CUDA C++ Programming Guide, compute capabilities 3.0 to 8.0 (7.5 and
# 8.6 host fewer). A layer without a matrix product has a thread per output.
_RESIDENT_THREADS = 2048


def device_shares(cnn: Cnn, gpu: Gpu, batch: int) -> np.ndarray:
    """Return the share of a GPU that each layer occupies, float64, shape (n_layers,), in (0, 1].

    Thread blocks over those that fill all multiprocessors. A matrix product has one block per 128 x 64
    outputs and group, and two fill a multiprocessor; any other layer has one thread per output, and 2,048
    fill one.

    >>> from trainlaw.datasets import find_gpu
    >>> from trainlaw.datasets.cnns.zoo import build
    >>> device_shares(build("lenet5"), find_gpu("V100-SXM2-16GB"), 1).max().round(3).item()
    0.044
    """
    layers = LayerColumns(cnn)
    groups = np.array([layer.groups for layer in cnn.layers], dtype=np.float64)
    tiles = np.ceil(batch * layers.rows / _TILE_ROWS) * np.ceil(layers.columns / _TILE_COLUMNS) * groups
    of_product = tiles / (_RESIDENT_TILES * gpu.sm_count)
    of_others = batch * layers.output_elements / (_RESIDENT_THREADS * gpu.sm_count)
    return np.minimum(np.where(layers.heavy, of_product, of_others), 1.0)


ITERATION = "iteration"  # kind of the row with what a run has once
TRAINING_PASSES = 3.0  # forward, gradient of the input, gradient of the weights
# Sizes of a layer as a matrix product, next to the parts of its time.
_SIZES = ("conv_output_pixels", "conv_output_channels", "conv_reduction_length")
# What a run has once, and no layer a part of; their definitions are multiplied by this.
_ONCE = {"input_copy_s": "", "iteration_overhead_s": "(1 - n_layers) * "}


def _features() -> dict[str, Feature]:
    """Return the features of a layer by name: times, factors of resources, and what they are made of.

    Times of a run are those of three passes, so that a layer has a third of them per pass.
    """
    times = {work.name: work.feature for work in works()}
    times |= {name: row for name, row in features_of("time").items() if row.spec.unit == SECOND}
    factors = {row["feature"] for rows in resources().values() for row in rows}
    found = {**features_of("gpu"), "n_passes": LAYER_FEATURES["n_passes"]}
    pending = [*times, *factors, *_SIZES]
    while pending:
        feature = FEATURES[pending.pop()]
        name = feature.spec.name
        parts = variables(feature.expression)
        if name in times:
            scale = _ONCE.get(name, f"n_passes / {TRAINING_PASSES:g} * ")
            parts, feature = (*parts, "n_layers"), Feature(feature.spec, f"{scale}({feature.definition})")
        found[name] = feature
        pending += [part for part in parts if part not in found]
    return {name: found[name] for name in (*FEATURES, "n_passes") if name in found}


CNN_LAYER_FEATURES: Mapping[str, Feature] = MappingProxyType(_features())
#: Base columns of the features above that depend on the layer alone: per image, without GPU or batch.
CNN_LAYER_COLUMNS: Mapping[str, Feature] = MappingProxyType(
    {name: CNN_LAYER_FEATURES[name] for name in COUNTS if name in CNN_LAYER_FEATURES}
)


@dataclass(frozen=True, eq=False)
class DistinctLayers:
    """The distinct layers of a CNN, and last the row of kind "iteration".

    kinds : of each row, such as "conv". facts : base columns, float64, shape (n_rows, n_columns), in the
    order of `CNN_LAYER_COLUMNS`. count : how often each row occurs, float64, shape (n_rows,).
    """

    kinds: tuple[str, ...]
    facts: np.ndarray
    count: np.ndarray

    @classmethod
    def of(cls, cnn: Cnn) -> "DistinctLayers":
        """Return the distinct layers of a CNN, in order of first occurrence.

        >>> from trainlaw.datasets.cnns.zoo import build
        >>> layers = DistinctLayers.of(build("vgg16"))
        >>> layers.kinds[-1], int(layers.count.sum()) == len(build("vgg16").layers)
        ('iteration', True)
        """
        facts = layer_facts(cnn)
        present = np.array([layer.group != "input" for layer in cnn.layers])
        kinds = np.array([layer.kind for layer in cnn.layers])[present]
        once, facts = facts[~present].sum(axis=0), facts[present]
        _, codes = np.unique(kinds, return_inverse=True)
        _, first, count = np.unique(
            np.column_stack([codes, facts]), axis=0, return_index=True, return_counts=True
        )
        order = np.argsort(first)
        chosen = first[order]
        rows = np.vstack([facts[chosen], once])
        return cls((*kinds[chosen].tolist(), ITERATION), rows, np.append(count[order], 1.0))


def layer_facts(cnn: Cnn) -> np.ndarray:
    """Return the base columns of every layer of a CNN, in order, float64, shape (n_layers, n_columns).

    Columns are those of `CNN_LAYER_COLUMNS`, in their order; an input has `n_layers` 0.
    """
    layers = LayerColumns(cnn)
    return np.column_stack([COUNTS[name](layers) for name in CNN_LAYER_COLUMNS]).astype(np.float64)
