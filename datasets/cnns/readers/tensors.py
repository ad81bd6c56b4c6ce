"""A builder for foreign graphs, which tracks the shape of each tensor as the other program sees it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.graph import KINDS, Cnn
from trainlaw.datasets.cnns.windows import Size
from trainlaw.formulas.errors import InputError

MAX_SIDE_PX = 65_536
#: Kinds that keep the shape and learn numbers: a scale and a shift, or a slope.
LEARNED = frozenset(kind for kind, group in KINDS.items() if group == "normalization") | {"prelu"}


@dataclass(frozen=True, slots=True)
class Tensor:
    """The output of a layer in a foreign graph: shape, batch first, and axis of the channels."""

    layer: int
    shape: tuple[int, ...]
    channel_axis: int = 1


class GraphTracer:
    """Builds layers from the operations of a foreign graph.

    Every method that takes and returns a `Tensor` raises `InputError` where it cannot follow the operation.
    """

    def __init__(self) -> None:
        self.builder = CnnBuilder()
        self.notes: list[str] = []

    def input(self, shape: Sequence[int]) -> Tensor:
        """Add an input of shape (batch, channels, height, width)."""
        batch, channels, height, width = shape
        if not all(1 <= side <= MAX_SIDE_PX for side in shape):
            raise InputError(f"expected input sides from 1 to {MAX_SIDE_PX}, got {tuple(shape)}")
        return Tensor(self.builder.input(channels, height, width), (batch, channels, height, width))

    def finish(self, name: str, outputs: Sequence[Tensor]) -> Cnn:
        """Return the CNN, each output followed by a softmax (part of the loss if not of the CNN)."""
        if not outputs:
            raise InputError(f"CNN {name!r}: expected an output that depends on the input")
        # Several outputs are several classifiers, as in the Inception CNNs during training.
        for output in outputs:
            if self.builder.layers[output.layer].kind != "softmax":
                self.builder.elementwise(output.layer, "softmax")
        layers = self.builder.layers
        classes = layers[outputs[0].layer].out_channels
        return Cnn(name, name, name, layers[0].out_height, classes, layers, tuple(dict.fromkeys(self.notes)))

    def conv(self, x: Tensor, channels: int, kernel: Size, **options: Any) -> Tensor:
        """Add a convolution; options are those of `CnnBuilder.conv`."""
        return self._image(self.builder.conv(self._channels_first(x), channels, kernel, **options), x)

    def conv_transpose(self, x: Tensor, channels: int, kernel: Size, **options: Any) -> Tensor:
        """Add a transposed convolution; options are those of `CnnBuilder.conv_transpose`."""
        return self._image(
            self.builder.conv_transpose(self._channels_first(x), channels, kernel, **options), x
        )

    def pool(self, x: Tensor, kind: str, kernel: Size, dilation: Sequence[int], **options: Any) -> Tensor:
        """Add a pooling of kind `max_pool` or `average_pool`; options are those of `CnnBuilder.pool`."""
        if any(step != 1 for step in dilation):
            raise InputError("dilated pooling is not supported")
        return self._image(self.builder.pool(self._channels_first(x), kind, kernel, **options), x)

    def global_pool(self, x: Tensor, kind: str, shape: Sequence[int]) -> Tensor:
        """Add a pooling over the whole image to a shape, which may leave out the sides of 1."""
        flat = (x.shape[0], x.shape[x.channel_axis])
        kept = tuple(side if axis in {0, x.channel_axis} else 1 for axis, side in enumerate(x.shape))
        if len(x.shape) != 4 or tuple(shape) not in {flat, kept}:
            raise InputError(f"expected it over height and width, got shape {tuple(shape)} of {x.shape}")
        layer = self._whole(x)
        layer = self.builder.pool(layer, kind, self.builder.shape(layer)[1:], 1)
        return Tensor(layer, tuple(shape), x.channel_axis if len(shape) == 4 else 1)

    def adaptive_pool(self, x: Tensor, kind: str, height: int, width: int) -> Tensor:
        """Add a pooling to a height and width, pixels."""
        return self._image(self.builder.adaptive_pool(self._channels_first(x), kind, height, width), x)

    def dense(self, x: Tensor, features: int, bias: bool) -> Tensor:
        """Add a dense layer on the last axis; on an image with channels last it acts on each pixel."""
        if len(x.shape) == 2:
            return Tensor(self.builder.dense(x.layer, features, bias), (x.shape[0], features))
        layer = self._whole(x)
        if x.channel_axis != len(x.shape) - 1:
            raise InputError(f"expected a dense layer on flat input or on channels last, got shape {x.shape}")
        return Tensor(self.builder.linear(layer, features, bias), (*x.shape[:-1], features), x.channel_axis)

    def elementwise(self, x: Tensor, kind: str, vector_parameters: int = 0) -> Tensor:
        """Add a layer that keeps the shape."""
        layer = self.builder.elementwise(x.layer, kind, vector_parameters=vector_parameters)
        return Tensor(layer, x.shape, x.channel_axis)

    def merge(self, kind: str, xs: Sequence[Tensor]) -> Tensor:
        """Add a sum or product (`add`, `multiply`) of tensors."""
        if len(xs) == 1:
            return xs[0]
        flat = [x for x in xs if prod(x.shape[1:]) != prod(self.builder.shape(x.layer))]
        if flat:
            raise InputError(f"{kind}: cannot follow an operand of shape {flat[0].shape}")
        # One that is repeated along height and width, or along the channels, has the smaller shape.
        largest = max(xs, key=lambda x: prod(x.shape))
        alike = [x.shape for x in xs if len(x.shape) == len(largest.shape)]
        shape = tuple(max(sides) for sides in zip(*alike, strict=True))
        return Tensor(self.builder.merge(kind, tuple(x.layer for x in xs)), shape, largest.channel_axis)

    def concat(self, xs: Sequence[Tensor], axis: int) -> Tensor:
        """Concatenate tensors along the channels, or along the only axis of flat ones."""
        first = xs[0]
        axis %= len(first.shape)
        if axis != first.channel_axis or any(len(x.shape) != len(first.shape) for x in xs):
            raise InputError(f"concat: expected the channel axis {first.channel_axis}, got axis {axis}")
        layer = self.builder.concat(*(x.layer for x in xs), flat=len(first.shape) == 2)
        shape = list(first.shape)
        shape[axis] = sum(x.shape[axis] for x in xs)
        return Tensor(layer, tuple(shape), first.channel_axis)

    def slice(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        """Slice channels, rows and columns to a shape (batch first); the full shape adds no layer."""
        shape = tuple(shape)
        if shape == x.shape:
            return x
        is_flattened = len(x.shape) != 4 and self.builder.shape(x.layer)[1:] != (1, 1)
        if len(shape) != len(x.shape) or shape[0] != x.shape[0] or is_flattened:
            raise InputError(f"slice: cannot follow one from {x.shape} to {shape}")
        order = (x.channel_axis, *(i for i in range(1, len(shape)) if i != x.channel_axis))
        return Tensor(self.builder.slice(x.layer, *(shape[i] for i in order)), shape, x.channel_axis)

    def pad(self, x: Tensor, sides: Sequence[int]) -> Tensor:
        """Pad top, left, bottom and right, pixels; zeros add no layer."""
        layer = self._channels_first(x)
        if not any(sides):
            return x
        if min(sides) < 0 or max(sides) > MAX_SIDE_PX:
            raise InputError(f"expected a padding of 0 to {MAX_SIDE_PX} pixels, got {tuple(sides)}")
        return self._image(self.builder.pad(layer, *sides), x)

    def resize(self, x: Tensor, height: int, width: int) -> Tensor:
        """Resample an image to a height and width, pixels."""
        if not (1 <= height <= MAX_SIDE_PX and 1 <= width <= MAX_SIDE_PX):
            raise InputError(f"expected an image of 1 to {MAX_SIDE_PX} pixels a side, got {height} x {width}")
        return self._image(self.builder.upsample(self._channels_first(x), height, width), x)

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        """Change the shape of the same elements."""
        if prod(shape) != prod(x.shape):
            raise InputError(f"reshape: {x.shape} cannot become {tuple(shape)}")
        # Which axis holds the channels is lost in a reshape; four sides that end in them are channels last.
        channels = self.builder.shape(x.layer)[0]
        axis = len(shape) - 1 if len(shape) == 4 and shape[1] != channels == shape[-1] else 1
        return Tensor(x.layer, tuple(shape), axis)

    def transpose(self, x: Tensor, order: Sequence[int]) -> Tensor:
        """Permute the axes: channels first or last, or the swap inside a channel shuffle."""
        if sorted(order) != list(range(len(x.shape))) or order[0] != 0:
            raise InputError(f"transpose: expected an order of axes that keeps the batch, got {tuple(order)}")
        shape = tuple(x.shape[axis] for axis in order)
        # Between two reshapes this interleaves groups of channels (ShuffleNet, arXiv:1707.01083).
        if tuple(order) == (0, 2, 1, 3, 4):
            layer = self.builder.channel_shuffle(x.layer, x.shape[1])
            return Tensor(layer, shape)
        if len(shape) > 4:
            raise InputError(f"transpose: cannot follow the order {tuple(order)} of shape {x.shape}")
        return Tensor(x.layer, shape, list(order).index(x.channel_axis))

    def _whole(self, x: Tensor) -> int:
        """Return the layer of an image with channels first or last."""
        c, h, w = self.builder.shape(x.layer)
        seen = x.shape[1:]
        if seen not in {(c, h, w), (h, w, c)} and not ((h, w) == (1, 1) and seen == (c,)):
            raise InputError(f"expected an image of {c} channels, {h} x {w} pixels, got shape {x.shape}")
        return x.layer

    def _channels_first(self, x: Tensor) -> int:
        if x.shape[1:] != self.builder.shape(x.layer):
            raise InputError(f"expected an image with channels first, got shape {x.shape}")
        return x.layer

    def _image(self, layer: int, like: Tensor) -> Tensor:
        return Tensor(layer, (like.shape[0], *self.builder.shape(layer)))
