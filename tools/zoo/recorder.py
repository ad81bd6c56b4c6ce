"""A builder of CNNs that also writes down each call as a line of text, without the sizes of the image."""

from collections.abc import Callable
from typing import Any

from trainlaw.datasets.cnns.builder import CnnBuilder, Shape
from trainlaw.datasets.cnns.windows import Padding, Size, axis_paddings, pair

_WITH_CHANNELS = frozenset({"input", "conv", "conv_transpose", "dense", "linear"})


class Classes(int):
    """A multiple of the number of classes."""

    times: int

    def __new__(cls, n_classes: int, times: int = 1) -> "Classes":
        """Return `times` x `n_classes`."""
        made = super().__new__(cls, n_classes * times)
        made.times = times
        return made

    def __mul__(self, factor: int) -> "Classes | int":
        """Return the multiple by a whole number."""
        return Classes(int(self) // self.times, self.times * factor) if factor else 0

    __rmul__ = __mul__


class Recorder(CnnBuilder):
    """Builds a CNN; `lines` are its layers as `architectures.built_architecture` reads them."""

    def __init__(self) -> None:
        """Start with an empty CNN."""
        super().__init__()
        self.lines: list[str] = []
        self._is_frozen = False
        self._kind = ""
        self._words: tuple[str, ...] = ()

    def frozen(self) -> "Recorder":
        """Return a builder of the same CNN whose batch normalisations are fixed products."""
        other = Recorder()
        other._layers, other.lines, other._is_frozen = self._layers, self.lines, True
        return other

    def depthwise(self, x: int, kernel: Size, stride: Size = 1, **options: Any) -> int:
        """Add a depthwise convolution; options are those of `conv`."""
        channels = self.channels(x)
        return self.conv(x, channels, kernel, stride, groups=channels, **options)

    def conv_bn(
        self,
        x: int,
        channels: int,
        kernel: Size,
        stride: Size = 1,
        *,
        activation: str | None = "relu",
        learned_per_channel: int = 2,
        **options: Any,
    ) -> int:
        """Add a convolution, its batch normalisation, and an activation unless that is None."""
        x = self.batchnorm(self.conv(x, channels, kernel, stride, **options), learned_per_channel)
        return x if activation is None else self.activation(x, activation)

    def depthwise_bn(
        self, x: int, kernel: Size, stride: Size = 1, activation: str | None = "relu", **options: Any
    ) -> int:
        """Add a depthwise convolution, its batch normalisation, and an activation unless that is None."""
        x = self.batchnorm(self.depthwise(x, kernel, stride, **options))
        return x if activation is None else self.activation(x, activation)

    def layernorm(self, x: int) -> int:
        """Add a layer normalisation over the channels, with scale and shift."""
        return self.elementwise(x, "layernorm", vector_parameters=2 * self.channels(x))

    def activation(self, x: int, kind: str) -> int:
        """Add an activation or gate."""
        return self.elementwise(x, kind)

    def softmax(self, x: int) -> int:
        """Add a softmax over the channels."""
        return self.elementwise(x, "softmax")

    def scale(self, x: int, learned: bool = False) -> int:
        """Add a multiplication by a constant, or by a learned number per channel."""
        return self.elementwise(x, "scale", vector_parameters=self.channels(x) * learned)

    def max_pool(self, x: int, kernel: Size, *options: Any, **named: Any) -> int:
        """Add a maximum over windows; options are those of `pool`."""
        return self.pool(x, "max_pool", kernel, *options, **named)

    def average_pool(self, x: int, kernel: Size, *options: Any, **named: Any) -> int:
        """Add a mean over windows; options are those of `pool`."""
        return self.pool(x, "average_pool", kernel, *options, **named)

    def add(self, *xs: int) -> int:
        """Add a sum of layers."""
        return self.merge("add", xs)

    def multiply(self, *xs: int) -> int:
        """Add a product of layers."""
        return self.merge("multiply", xs)

    def relu(self, x: int) -> int:
        """Add a rectified linear unit."""
        return self.activation(x, "relu")

    def dropout(self, x: int) -> int:
        """Add a dropout."""
        return self.elementwise(x, "dropout")

    def lrn(self, x: int) -> int:
        """Add a local response normalisation across channels."""
        return self.elementwise(x, "lrn")

    def adaptive_average_pool(self, x: int, side: int) -> int:
        """Add a mean over windows of about equal size, so that the output is `side` pixels high and wide."""
        return self.adaptive_pool(x, "average_pool", side, side)

    def chain(self, x: int, count: int, block: Callable[[int], int]) -> int:
        """Apply `block` `count` times, each to the output of the previous one."""
        for _ in range(count):
            x = block(x)
        return x

    def batchnorm(self, x: int, learned_per_channel: int = 2) -> int:
        """Add a batch normalisation, with scale and shift or one of them; or a fixed product."""
        if self._is_frozen:
            return self.scale(x)
        return self.elementwise(x, "batchnorm", vector_parameters=learned_per_channel * self.channels(x))

    def conv_transpose(
        self, x: int, channels: int, kernel: Size, stride: Size = 1, *, padding: Padding = 0, bias: bool
    ) -> int:
        """Add a transposed convolution."""
        self._words = _window_words(kernel, stride, padding)
        return super().conv_transpose(x, channels, kernel, stride, padding=padding, bias=bias)

    def global_average_pool(self, x: int) -> int:
        """Add a mean over the whole image."""
        c, height, width = self.shape(x)
        self._words = ("kg",)
        window = {"kernel_height": height, "kernel_width": width}
        return self._append("average_pool", (x,), (c, height, width), (c, 1, 1), **window)

    def adaptive_pool(self, x: int, kind: str, height: int, width: int) -> int:
        """Add a pooling to an output height and width, pixels."""
        self._words = (f"ka{_pair_word((height, width))}",)
        return super().adaptive_pool(x, kind, height, width)

    def concat(self, *xs: int, flat: bool = False) -> int:
        """Concatenate channels, or all elements."""
        self._kind = "concat_flat" if flat else ""
        return super().concat(*xs, flat=flat)

    def slice(self, x: int, channels: int, height: int | None = None, width: int | None = None) -> int:
        """Add a slice of the channels."""
        self._words = (f"c{channels}",)
        return super().slice(x, channels, height, width)

    def cropped(self, x: int, like: int) -> int:
        """Add a slice of the image to the size of another layer, to be left out where it has that size."""
        self._kind = "crop"
        self._words = (f"h@{like - len(self._layers)}",)
        return super().slice(x, self.channels(x), *self.shape(like)[1:])

    def pad(self, x: int, top: int, left: int, bottom: int, right: int) -> int:
        """Add zeros around the image, pixels."""
        self._words = (f"p{top},{left},{bottom},{right}",)
        return super().pad(x, top, left, bottom, right)

    def doubled(self, x: int) -> int:
        """Add a resampling to twice the height and width."""
        self._words = ("hx2",)
        _, height, width = self.shape(x)
        return super().upsample(x, 2 * height, 2 * width)

    def resized(self, x: int, like: int) -> int:
        """Add a resampling to the height and width of another layer."""
        self._words = (f"h@{like - len(self._layers)}",)
        return super().upsample(x, *self.shape(like)[1:])

    def regions(self, x: int, count: int, side: int, flat: bool = False) -> int:
        """Add a resampling of regions."""
        self._kind = "regions_flat" if flat else "regions"
        self._words = (f"k{side}", f"n{count}")
        return super().regions(x, count, side, flat)

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
        **sizes: int,
    ) -> int:
        self._words = (*_window_words(kernel, stride, padding, dilation), *(("u1",) if ceil else ()))
        return super()._window(
            kind, x, kernel, stride, padding, dilation=dilation, channels=channels, ceil=ceil, **sizes
        )

    def _append(
        self, kind: str, inputs: tuple[int, ...], entering: Shape, leaving: Shape, **fields: int
    ) -> int:
        words = [self._kind or kind]
        relative = ",".join(str(source - len(self._layers)) for source in inputs)
        if relative not in ("", "-1"):
            words.append("i" + relative)
        if kind in _WITH_CHANNELS:
            words.append(f"c{_count_word(leaving[0])}")
        words += self._words
        if fields.get("groups", 1) != 1:
            words.append(f"g{fields['groups']}")
        if vector := fields.get("vector_parameters", 0):
            words.append(f"v{_count_word(vector)}")
        if not fields.get("learns_weights", 1):
            words.append("f1")
        self._kind, self._words = "", ()
        self.lines.append(" ".join(words))
        return super()._append(kind, inputs, entering, leaving, **fields)


def _count_word(count: int) -> str:
    if not isinstance(count, Classes):
        return str(count)
    return "*" if count.times == 1 else f"{count.times}*"


def _window_words(kernel: Size, stride: Size, padding: Padding, dilation: Size = 1) -> tuple[str, ...]:
    reach = tuple(d * (k - 1) + 1 for k, d in zip(pair(kernel), pair(dilation), strict=True))
    values = {"k": _pair_word(kernel), "s": _pair_word(stride), "d": _pair_word(dilation)}
    values["p"] = _padding_word(padding, (reach[0], reach[1]))
    usual = {"s": "1", "d": "1", "p": "0"}
    return tuple(letter + value for letter, value in values.items() if value != usual.get(letter))


def _padding_word(padding: Padding, reach: tuple[int, int]) -> str:
    if padding in ("same", ("same", "same")):
        return "same"
    if padding == "half":
        return _pair_word((reach[0] // 2, reach[1] // 2))
    if padding == "valid":
        return "0"
    height, width = axis_paddings(padding)
    if isinstance(height, int) and isinstance(width, int):
        return _pair_word((height, width))
    (top, bottom), (left, right) = (
        (side, side) if isinstance(side, int) else (int(side[0]), int(side[1])) for side in (height, width)
    )
    return f"{top},{left},{bottom},{right}"


def _pair_word(size: Size) -> str:
    height, width = pair(size)
    return str(height) if height == width else f"{height}x{width}"
