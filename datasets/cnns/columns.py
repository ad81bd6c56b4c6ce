"""The layers of a network side by side, as arrays that sums and masks can be taken of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from trainlaw.datasets.cnns.graph import KINDS, Cnn, Layer, longest_path


@dataclass(frozen=True)
class LayerColumns:
    """Columns of the layers of a network: float64 and bool arrays, shape (n_layers,), per sample.

    `group` holds a mask for each group of layer kinds, `read` the elements that a layer reads from others.
    `rows`, `reduction` and `columns` are the sizes of the matrix product of one group of a convolution,
    `unfolded` the elements of its unfolded image.
    """

    cnn: Cnn
    group: Mapping[str, np.ndarray]
    depthwise: np.ndarray
    grouped: np.ndarray
    macs: np.ndarray
    parameters: np.ndarray
    input_elements: np.ndarray
    output_elements: np.ndarray
    read: np.ndarray
    kernel_height: np.ndarray
    kernel_width: np.ndarray
    stride: np.ndarray
    out_channels: np.ndarray
    rows: np.ndarray
    reduction: np.ndarray
    columns: np.ndarray
    unfolded: np.ndarray

    @classmethod
    def of(cls, cnn: Cnn) -> "LayerColumns":
        """The columns of a network."""
        layers = cnn.layers

        def column(value: Callable[[Layer], float]) -> np.ndarray:
            return np.array([value(layer) for layer in layers], dtype=np.float64)

        groups = np.array([layer.group for layer in layers])
        output = column(lambda layer: layer.output_elements)
        products = np.array([_matrix_product(layer) for layer in layers], dtype=np.float64)
        return cls(
            cnn,
            group=MappingProxyType({name: groups == name for name in set(KINDS.values())}),
            depthwise=np.array([layer.is_depthwise for layer in layers]),
            grouped=column(lambda layer: layer.groups) > 1,
            macs=column(lambda layer: layer.macs),
            parameters=column(lambda layer: layer.parameters),
            input_elements=column(lambda layer: layer.input_elements),
            output_elements=output,
            read=column(lambda layer: sum(output[i] for i in layer.inputs)),
            kernel_height=column(lambda layer: layer.kernel_height),
            kernel_width=column(lambda layer: layer.kernel_width),
            stride=column(lambda layer: layer.stride),
            out_channels=column(lambda layer: layer.out_channels),
            rows=products[:, 0],
            reduction=products[:, 1],
            columns=products[:, 2],
            unfolded=products[:, 3],
        )

    @property
    def layers(self) -> np.ndarray:
        """All layers but the inputs, bool, shape (n_layers,)."""
        return ~self.group["input"]

    @property
    def heavy(self) -> np.ndarray:
        """Layers with MACs: convolutions and dense layers, bool, shape (n_layers,)."""
        return self.group["convolution"] | self.group["dense"]

    @property
    def conv(self) -> np.ndarray:
        """Convolutions that are not depthwise, bool, shape (n_layers,)."""
        return self.group["convolution"] & ~self.depthwise

    @property
    def single_conv(self) -> np.ndarray:
        """Convolutions of one group, bool, shape (n_layers,)."""
        return self.conv & ~self.grouped

    @property
    def critical_path_macs(self) -> float:
        """Largest sum of MACs on a way from an input to an output, MAC."""
        return longest_path(self.cnn, self.macs.tolist())

    def kernel(self, side: int) -> np.ndarray:
        """Convolutions of one group whose kernel is `side` pixels high and wide, bool, shape (n_layers,)."""
        return self.single_conv & (self.kernel_height == side) & (self.kernel_width == side)


def _matrix_product(layer: Layer) -> tuple[int, int, int, int]:
    """Rows, reduction length and columns of one group's matrix product; elements of the unfolded image."""
    # A convolution is a product (pixels x reduction) (reduction x channels), once a group; in a transposed
    # one image and unfolded image have changed places.
    kernel = layer.kernel_height * layer.kernel_width
    entering, leaving = layer.in_channels // layer.groups, layer.out_channels // layer.groups
    if layer.kind == "conv_transpose":
        pixels = layer.in_height * layer.in_width
        return pixels, entering, leaving * kernel, pixels * layer.out_channels * kernel
    pixels = layer.out_height * layer.out_width
    return pixels, entering * kernel, leaving, pixels * layer.in_channels * kernel
