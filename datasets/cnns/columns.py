"""The layers of a CNN as columns: arrays to sum and to mask."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from trainlaw.datasets.cnns.graph import KINDS, Cnn, Layer, moves_by_layer

Mask = NDArray[np.bool_]
Numbers = NDArray[np.float64]


class LayerColumns:
    """Columns of the layers of a CNN: float64 and bool arrays, shape (n_layers,), per sample.

    Each number of `Layer` is a column of its name. `group` holds a mask for each group of layer kinds, `read`
    the elements that a layer reads from others. `rows`, `reduction` and `columns` are the sizes of the matrix
    product of one group of a convolution, `unfolded` the elements of its unfolded image. Further masks:
    `layers` are all but the inputs, `heavy` those with MACs (convolutions and dense layers), `grouped` those
    of several groups, `conv` the convolutions that are not depthwise, `single_conv` those of one group.
    """

    def __init__(self, cnn: Cnn) -> None:
        """Take the columns of a CNN."""
        self.cnn = cnn
        groups = np.array([layer.group for layer in cnn.layers])
        self.group = {name: groups == name for name in set(KINDS.values())}
        self.depthwise = np.array([layer.is_depthwise for layer in cnn.layers])
        output = self.output_elements
        self.read = np.array([sum(output[i] for i in layer.inputs) for layer in cnn.layers], dtype=np.float64)
        products = np.array([_matrix_product(layer) for layer in cnn.layers], dtype=np.float64)
        self.rows, self.reduction, self.columns, self.unfolded = products.T.copy()
        self.layers: Mask = ~self.group["input"]
        self.linear = self.of_kind("dense", "linear")
        self.batchnorm = self.of_kind("batchnorm")
        self.heavy: Mask = self.group["convolution"] | self.group["dense"]
        self.grouped: Mask = self.groups > 1
        self.conv: Mask = self.group["convolution"] & ~self.depthwise
        self.single_conv: Mask = self.conv & ~self.grouped

    def __getattr__(self, name: str) -> Numbers:
        """Return what each layer has under a name, such as `macs`, float64, shape (n_layers,)."""
        values = np.array([getattr(layer, name) for layer in self.cnn.layers], dtype=np.float64)
        vars(self)[name] = values
        return values

    @property
    def touched(self) -> Numbers:
        """Elements that a layer reads and writes, float64, shape (n_layers,)."""
        return self.read + self.output_elements

    @cached_property
    def moved(self) -> Numbers:
        """Elements that kernels other than products move in an iteration, float64, shape (n_layers,).

        Those of layers without MACs, of biases, and of gradients that are added where a tensor has several
        readers. By `moves.csv`.
        """
        moves, readers = moves_by_layer(), np.zeros(len(self.cnn.layers))
        for layer in self.cnn.layers:
            np.add.at(readers, list(layer.inputs), 1)
        names = [layer.kind if layer.kind in moves else layer.group for layer in self.cnn.layers]
        inputs, outputs = np.array([moves.get(name, (0.0, 0.0)) for name in names]).T
        outputs = outputs + moves["bias"][1] * (self.heavy & (self.vector_parameters > 0))
        outputs += moves["reader"][1] * np.maximum(readers - 1, 0) * self.layers
        moved: Numbers = inputs * self.read + outputs * self.output_elements
        return moved

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
