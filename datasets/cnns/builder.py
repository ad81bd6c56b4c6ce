"""A builder of CNNs: each call adds one layer, infers its shape and returns its position."""

from dataclasses import replace
from math import prod

from trainlaw.datasets.cnns.graph import Layer
from trainlaw.datasets.cnns.windows import (
    Padding,
    Size,
    axis_paddings,
    pair,
    transposed_output,
    window_fields,
    window_output,
)
from trainlaw.formulas.errors import InputError

Shape = tuple[int, int, int]


class CnnBuilder:
    """A CNN under construction.

    Layers are identified by their positions (int). `padding` is pixels (one number; height and width; or
    before and after for each) or a word as in `window_output`. Methods that add a layer return its position
    and raise `InputError` for shapes that do not fit.

    >>> cnn = CnnBuilder()
    >>> image = cnn.input(3, 32)
    >>> cnn.shape(cnn.conv(image, 16, 3, stride=2))
    (16, 16, 16)
    """

    def __init__(self) -> None:
        self._layers: list[Layer] = []

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers added so far."""
        return tuple(self._layers)

    def shape(self, x: int) -> Shape:
        """Return channels, height and width of the output of a layer."""
        layer = self._layers[x]
        return layer.out_channels, layer.out_height, layer.out_width

    def channels(self, x: int) -> int:
        """Return the channels of the output of a layer."""
        return self._layers[x].out_channels

    def input(self, channels: int, height: int, width: int | None = None) -> int:
        """Add an input; `width` defaults to `height`, pixels."""
        shape = (channels, height, height if width is None else width)
        return self._append("input", (), shape, shape)

    def conv(
        self,
        x: int,
        channels: int,
        kernel: Size,
        stride: Size = 1,
        *,
        padding: Padding = "half",
        groups: int = 1,
        dilation: Size = 1,
        bias: bool = False,
        learned: bool = True,
    ) -> int:
        """Add a convolution with `channels` output channels.

        `learned` is false for a fixed kernel, and for one that an earlier layer learns with its bias.
        """
        return self._window(
            "conv",
            x,
            kernel,
            stride,
            padding,
            dilation=dilation,
            channels=channels,
            groups=groups,
            vector_parameters=channels * (bias and learned),
            learns_weights=int(learned),
        )

    def linear(self, x: int, channels: int, bias: bool = True) -> int:
        """Add a dense layer on each pixel: a 1 x 1 convolution that frameworks run as a matrix product."""
        return self._window("linear", x, 1, 1, 0, channels=channels, vector_parameters=channels * bias)

    def conv_transpose(
        self,
        x: int,
        channels: int,
        kernel: Size,
        stride: Size = 1,
        *,
        padding: Padding = 0,
        output_padding: Size = 0,
        groups: int = 1,
        dilation: Size = 1,
        bias: bool = False,
    ) -> int:
        """Add a transposed convolution; `padding` is cut off, `output_padding` added at the end."""
        c, h, w = self.shape(x)
        fields = window_fields(kernel, stride, dilation)
        (ph, pw), (eh, ew) = axis_paddings(padding), pair(output_padding)
        height, top = transposed_output(h, _reach(fields, "height"), fields["stride_height"], ph, eh)
        width, left = transposed_output(w, _reach(fields, "width"), fields["stride_width"], pw, ew)
        fields |= {"pad_top": top, "pad_left": left, "groups": groups, "vector_parameters": channels * bias}
        return self._append("conv_transpose", (x,), (c, h, w), (channels, height, width), **fields)

    def dense(self, x: int, features: int, bias: bool = True) -> int:
        """Add a fully connected layer on the flattened input."""
        c, h, w = self.shape(x)
        return self._append(
            "dense", (x,), (c * h * w, 1, 1), (features, 1, 1), vector_parameters=features * bias
        )

    def elementwise(self, x: int, kind: str, **fields: int) -> int:
        """Add a layer of any kind that keeps the shape; `fields` are those of `Layer`."""
        return self._append(kind, (x,), self.shape(x), self.shape(x), **fields)

    def pool(
        self,
        x: int,
        kind: str,
        kernel: Size,
        stride: Size | None = None,
        padding: Padding = 0,
        *,
        ceil: bool = False,
    ) -> int:
        """Add a maximum or mean over windows (`max_pool`, `average_pool`), by default side by side.

        `ceil` keeps a last incomplete window.
        """
        return self._window(kind, x, kernel, kernel if stride is None else stride, padding, ceil=ceil)

    def adaptive_pool(self, x: int, kind: str, height: int, width: int) -> int:
        """Add a pooling over windows of about equal size to an output height and width, pixels."""
        c, h, w = self.shape(x)
        # Frameworks vary the windows by a pixel; here one size that covers the image represents them.
        stride = (max(h // height, 1), max(w // width, 1))
        kernel = (max(h - (height - 1) * stride[0], 1), max(w - (width - 1) * stride[1], 1))
        fields = window_fields(kernel, stride, 1)
        return self._append(kind, (x,), (c, h, w), (c, height, width), **fields)

    def merge(self, kind: str, xs: tuple[int, ...]) -> int:
        """Add a sum or product (`add`, `multiply`) of layers of one shape (a side of 1 is repeated)."""
        shapes = [self.shape(x) for x in xs]
        out = tuple(max(sides) for sides in zip(*shapes, strict=True))
        if any(side not in {1, top} for shape in shapes for side, top in zip(shape, out, strict=True)):
            raise InputError(f"{kind}: expected layers of one shape, got {shapes}")
        return self._append(kind, xs, shapes[0], out)

    def concat(self, *xs: int, flat: bool = False) -> int:
        """Concatenate the channels of the given layers (with `flat`, all their elements)."""
        shapes = [(prod(self.shape(x)), 1, 1) if flat else self.shape(x) for x in xs]
        if len({shape[1:] for shape in shapes}) != 1:
            raise InputError(f"concat: expected images of one size, got {shapes}")
        out = (sum(shape[0] for shape in shapes), *shapes[0][1:])
        return self._append("concat", xs, out, out)

    def slice(self, x: int, channels: int, height: int | None = None, width: int | None = None) -> int:
        """Add a slice of the channels, and of the image where `height` and `width` (pixels) are given."""
        c, h, w = self.shape(x)
        leaving = (channels, h if height is None else height, w if width is None else width)
        if any(not 0 < part <= whole for part, whole in zip(leaving, (c, h, w), strict=True)):
            raise InputError(f"slice: expected a part of {(c, h, w)}, got {leaving}")
        return self._append("slice", (x,), (c, h, w), leaving)

    def channel_shuffle(self, x: int, groups: int) -> int:
        """Add a shuffle that interleaves the channels of `groups` groups."""
        return self.elementwise(x, "channel_shuffle", groups=groups)

    def pad(self, x: int, top: int, left: int, bottom: int, right: int) -> int:
        """Add zeros around the image, pixels."""
        c, h, w = self.shape(x)
        return self._append(
            "pad", (x,), (c, h, w), (c, h + top + bottom, w + left + right), pad_top=top, pad_left=left
        )

    def upsample(self, x: int, height: int, width: int) -> int:
        """Add a resampling of the image to a height and width, pixels."""
        c, h, w = self.shape(x)
        return self._append("upsample", (x,), (c, h, w), (c, height, width))

    def regions(self, x: int, count: int, side: int, flat: bool = False) -> int:
        """Add a resampling of `count` regions of the image to `side` x `side` pixels.

        They are stacked; with `flat` each becomes a pixel whose channels are its elements, so that a 1 x 1
        convolution is a dense layer on every region.
        """
        c, height, width = self.shape(x)
        leaving = (c * side * side, count, 1) if flat else (c, count * side, side)
        return self._append("upsample", (x,), (c, height, width), leaving)

    def with_bias(self, x: int) -> int:
        """Give a bias to a layer that has weights and no bias."""
        # Foreign graphs add the bias as an operation after the product that it belongs to.
        self._layers[x] = replace(self._layers[x], vector_parameters=self.channels(x))
        return x

    def fuse_last(self, count: int, kind: str) -> int:
        """Replace the last `count` layers, a chain that keeps the shape, by one layer of a kind."""
        x = self._layers[-count].inputs[0]
        del self._layers[-count:]
        return self.elementwise(x, kind)

    def _append(
        self, kind: str, inputs: tuple[int, ...], entering: Shape, leaving: Shape, **fields: int
    ) -> int:
        name = f"{kind}_{len(self._layers)}"
        if min(leaving) < 1:
            raise InputError(
                f"layer {name!r}: an image of {entering[1]} x {entering[2]} is too small; use a larger input"
            )
        layer = Layer(
            name, kind, tuple(inputs), entering[0], leaving[0], *entering[1:], *leaving[1:], **fields
        )
        self._layers.append(layer)
        return len(self._layers) - 1

    def _window(
        self,
        kind: str,
        x: int,
        kernel: Size,
        stride: Size,
        padding: Padding,
        *,
        dilation: Size = 1,
        channels: int | None = None,
        ceil: bool = False,
        **more: int,
    ) -> int:
        c, h, w = self.shape(x)
        fields = window_fields(kernel, stride, dilation)
        ph, pw = axis_paddings(padding)
        height, top = window_output(h, _reach(fields, "height"), fields["stride_height"], ph, ceil)
        width, left = window_output(w, _reach(fields, "width"), fields["stride_width"], pw, ceil)
        leaving = (c if channels is None else channels, height, width)
        return self._append(kind, (x,), (c, h, w), leaving, pad_top=top, pad_left=left, **fields, **more)


def _reach(fields: dict[str, int], side: str) -> int:
    return fields[f"dilation_{side}"] * (fields[f"kernel_{side}"] - 1) + 1
