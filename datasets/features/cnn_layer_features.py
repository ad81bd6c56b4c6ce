"""Features of one layer inside a CNN: those of measured layers, and the amounts of work of whole CNNs.

A layer counts as a CNN of one layer, so that amounts of work sum over the layers to those of the run.
The time of a CNN is the sum over its layers and one row of kind "iteration" for what occurs once per run: the
copy of the images, the update of the parameters, a fixed time. That row has no work of a layer, a layer has
none of its work, and pure numbers that one of them lacks are 1, so that `f(layer) + overhead` is one
expression.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from trainlaw.datasets.cnns.columns import LayerColumns
from trainlaw.datasets.cnns.counts import COUNTS
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.features.feature import Feature, features_of
from trainlaw.datasets.features.layer_features import BLOCK_CHANNELS, LAYER_FEATURES, TILE_PX, tiled
from trainlaw.datasets.features.run_features import FEATURES
from trainlaw.datasets.features.work import resources, works
from trainlaw.datasets.hardware.gpus import Gpu
from trainlaw.formulas.algebra.expression import variables

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

    >>> from trainlaw.datasets import find_cnn, find_gpu
    >>> device_shares(find_cnn("lenet5"), find_gpu("V100-SXM2-16GB"), 1).max().round(3).item()
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


_ONCE_PER_RUN = features_of("cnn_layer", like={**FEATURES, **LAYER_FEATURES})


def _work() -> dict[str, Feature]:
    """Return the amounts of work and the factors of resources by name, and what they are made of.

    Amounts of a run are those of three passes, so that a layer has a third of them per pass.
    """
    amounts = {work.name for work in works()} - _ONCE_PER_RUN.keys()
    factors = {factor.feature for resource in resources().values() for factor in resource.factors}
    pending, found = [*amounts, *factors], dict[str, Feature]()
    while pending:
        name = pending.pop()
        feature = FEATURES[name]
        if name in amounts:
            feature = Feature(feature.spec, f"n_passes / {TRAINING_PASSES:g} * ({feature.definition})")
        found[name] = feature
        pending += [part for part in variables(FEATURES[name].expression) if part not in found]
    # The settings of a layer have the number of images under another name.
    return {name: found[name] for name in FEATURES if name in found} | {
        "batch_per_gpu": Feature(FEATURES["batch_per_gpu"].spec, "batch")
    }


_WORK = _work()
#: What is counted of a layer as of a CNN, for amounts of work.
_COUNTED = tuple(name for name in COUNTS if name in _WORK)
#: Base columns of the features below that depend on the layer alone: per image, without GPU or batch.
CNN_LAYER_COLUMNS: Mapping[str, Feature] = MappingProxyType(
    {**features_of("cnn_layer_column"), **{name: _WORK[name] for name in _COUNTED}}
)
CNN_LAYER_FEATURES: Mapping[str, Feature] = MappingProxyType(
    {**CNN_LAYER_COLUMNS, **_WORK, **_ONCE_PER_RUN, **features_of("gpu")}
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

        >>> from trainlaw.datasets import find_cnn
        >>> layers = DistinctLayers.of(find_cnn("vgg16"))
        >>> layers.kinds[-1], int(layers.count.sum()) == len(find_cnn("vgg16").layers)
        ('iteration', True)
        """
        columns = LayerColumns(cnn)
        present = columns.layers
        kinds = np.array([layer.kind for layer in cnn.layers])[present]
        facts = np.column_stack(_facts(columns))[present]
        _, codes = np.unique(kinds, return_inverse=True)
        _, first, count = np.unique(
            np.column_stack([codes, facts]), axis=0, return_index=True, return_counts=True
        )
        order = np.argsort(first)
        chosen = first[order]
        rows = np.vstack([facts[chosen], _iteration(columns)])
        return cls((*kinds[chosen].tolist(), ITERATION), rows, np.append(count[order], 1.0))


def layer_facts(cnn: Cnn) -> np.ndarray:
    """Return the base columns of every layer of a CNN, in order, float64, shape (n_layers, n_columns).

    Columns are those of `CNN_LAYER_COLUMNS`, in their order; an input has `is_layer` 0.
    """
    return np.column_stack(_facts(LayerColumns(cnn)))


def _facts(columns: LayerColumns) -> list[np.ndarray]:
    """Return the columns of the layers, in the order of `CNN_LAYER_COLUMNS`, each of shape (n_layers,)."""
    layers, heavy = columns.cnn.layers, columns.heavy
    ones, other = np.ones(len(layers)), columns.layers & ~heavy

    def pure(values: np.ndarray) -> np.ndarray:
        return np.where(heavy, np.maximum(values, 1.0), 1.0)

    sides = np.array(
        [(layer.in_channels, layer.in_height, layer.in_width, layer.out_height) for layer in layers],
        dtype=np.float64,
    ).T
    out_width = np.array([layer.out_width for layer in layers], dtype=np.float64)
    return [
        *(flag.astype(float) for flag in _flags(columns)),
        pure(np.sqrt(columns.kernel_height * columns.kernel_width)),
        np.maximum(columns.stride, 1.0),
        np.maximum(sides[0], 1.0),
        np.maximum(columns.out_channels, 1.0),
        np.maximum(sides[1], 1.0),
        np.maximum(sides[2], 1.0),
        np.sqrt(np.maximum(sides[3] * out_width, 1.0)),
        np.sqrt(np.maximum(tiled(sides[3], TILE_PX) * tiled(out_width, TILE_PX), 1.0)),
        np.maximum(tiled(columns.out_channels, BLOCK_CHANNELS), 1.0),
        pure(columns.reduction),
        pure(columns.columns),
        np.array([layer.weights for layer in layers], dtype=np.float64),
        heavy * columns.rows,
        columns.macs,
        np.where(columns.group["dense"], columns.input_elements, heavy * columns.unfolded),
        heavy * columns.read,
        heavy * columns.output_elements,
        other * (columns.read + columns.output_elements),
        other * columns.parameters,
        0.0 * ones,
        0.0 * ones,
        *np.array([[COUNTS[name](one) for name in _COUNTED] for one in columns.one_by_one()]).T,
    ]


def _flags(columns: LayerColumns) -> tuple[np.ndarray, ...]:
    """Return the columns that are 0 or 1, in the order of `CNN_LAYER_COLUMNS`, each of shape (n_layers,)."""
    return (
        columns.layers,
        columns.group["convolution"],
        columns.kernel(3) & (columns.stride == 1),
        columns.kernel(1),
        columns.conv & columns.grouped,
        columns.depthwise,
        columns.group["dense"],
        columns.group["normalization"],
        columns.group["concat"] | columns.group["move"],
    )


def _iteration(columns: LayerColumns) -> np.ndarray:
    """Return the row of kind "iteration", shape (n_columns,)."""
    once = {
        "run_parameters": float(columns.parameters.sum()),
        "run_image_elements": float(columns.output_elements[columns.group["input"]].sum()),
    }
    return np.array([once.get(name, max(row.spec.low, 0.0)) for name, row in CNN_LAYER_COLUMNS.items()])
