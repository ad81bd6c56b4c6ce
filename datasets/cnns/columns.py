"""The layers of a CNN as columns: arrays to sum and to mask."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from trainlaw.datasets.cnns.graph import KINDS, Cnn, Layer, longest_path

Mask = NDArray[np.bool_]
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class LayerColumns:
    """Columns of the layers of a CNN: float64 and bool arrays, shape (n_layers,), per sample.

    `group` holds a mask for each group of layer kinds, `read` the elements that a layer reads from others.
    `rows`, `reduction` and `columns` are the sizes of the matrix product of one group of a convolution,
    `unfolded` the elements of its unfolded image.
    """

    cnn: Cnn
    group: Mapping[str, Mask]
    depthwise: Mask
    groups: Numbers
    macs: Numbers
    parameters: Numbers
    input_elements: Numbers
    output_elements: Numbers
    read: Numbers
    kernel_height: Numbers
    kernel_width: Numbers
    stride: Numbers
    in_channels: Numbers
    out_channels: Numbers
    rows: Numbers
    reduction: Numbers
    columns: Numbers
    unfolded: Numbers

    @classmethod
    def of(cls, cnn: Cnn) -> "LayerColumns":
        """Return the columns of a CNN."""
        layers = cnn.layers

        def column(value: Callable[[Layer], float]) -> Numbers:
            return np.array([value(layer) for layer in layers], dtype=np.float64)

        groups = np.array([layer.group for layer in layers])
        output = column(lambda layer: layer.output_elements)
        products = np.array([_matrix_product(layer) for layer in layers], dtype=np.float64)
        return cls(
            cnn,
            group=MappingProxyType({name: groups == name for name in set(KINDS.values())}),
            depthwise=np.array([layer.is_depthwise for layer in layers]),
            groups=column(lambda layer: layer.groups),
            macs=column(lambda layer: layer.macs),
            parameters=column(lambda layer: layer.parameters),
            input_elements=column(lambda layer: layer.input_elements),
            output_elements=output,
            read=column(lambda layer: sum(output[i] for i in layer.inputs)),
            kernel_height=column(lambda layer: layer.kernel_height),
            kernel_width=column(lambda layer: layer.kernel_width),
            stride=column(lambda layer: layer.stride),
            in_channels=column(lambda layer: layer.in_channels),
            out_channels=column(lambda layer: layer.out_channels),
            rows=products[:, 0],
            reduction=products[:, 1],
            columns=products[:, 2],
            unfolded=products[:, 3],
        )

    @property
    def layers(self) -> Mask:
        """All layers but the inputs, bool, shape (n_layers,)."""
        return ~self.group["input"]

    @property
    def heavy(self) -> Mask:
        """Layers with MACs: convolutions and dense layers, bool, shape (n_layers,)."""
        return self.group["convolution"] | self.group["dense"]

    @property
    def grouped(self) -> Mask:
        """Layers of several groups, bool, shape (n_layers,)."""
        return self.groups > 1

    @property
    def conv(self) -> Mask:
        """Convolutions that are not depthwise, bool, shape (n_layers,)."""
        return self.group["convolution"] & ~self.depthwise

    @property
    def single_conv(self) -> Mask:
        """Convolutions of one group, bool, shape (n_layers,)."""
        return self.conv & ~self.grouped

    @property
    def critical_path_macs(self) -> float:
        """Largest sum of MACs on a way from an input to an output, MAC."""
        return longest_path(self.cnn, self.macs.tolist())

    @property
    def touched(self) -> Numbers:
        """Elements that a layer reads and writes, float64, shape (n_layers,)."""
        return self.read + self.output_elements

    def of_kind(self, *kinds: str) -> Mask:
        """Return the layers of these kinds, bool, shape (n_layers,)."""
        return np.array([layer.kind in kinds for layer in self.cnn.layers])

    def kernel(self, side: int) -> Mask:
        """Return the convolutions of one group with a kernel of that side, bool, shape (n_layers,)."""
        square: Mask = (self.kernel_height == side) & (self.kernel_width == side)
        return self.single_conv & square


def _matrix_product(layer: Layer) -> tuple[int, int, int, int]:
    """Return rows, reduction and columns of the product of one group, and elements of the unfolded image."""
    # A convolution is a product (pixels x reduction) (reduction x channels) per group; in a transposed one,
    # image and unfolded image swap places.
    kernel = layer.kernel_height * layer.kernel_width
    entering, leaving = layer.in_channels // layer.groups, layer.out_channels // layer.groups
    if layer.kind == "conv_transpose":
        pixels = layer.in_height * layer.in_width
        return pixels, entering, leaving * kernel, pixels * layer.out_channels * kernel
    pixels = layer.out_height * layer.out_width
    return pixels, entering * kernel, leaving, pixels * layer.in_channels * kernel
