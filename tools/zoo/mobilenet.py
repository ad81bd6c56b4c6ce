"""CNNs for phones: MobileNet v1 to v3, MnasNet (arXiv:1807.11626) and ShuffleNet v2 (1807.11164)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from tools.zoo.recorder import Recorder

# MobileNet v1, v2 and v3 (arXiv:1704.04861, 1801.04381, 1905.02244) and MnasNet (arXiv:1807.11626).


def round_to_eight(channels: float) -> int:
    """The multiple of 8 nearest to a number of channels, at least 0.9 of it and at least 8."""
    # Never far below what was asked for: the rule of the authors' code.
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


def gated(cnn: Recorder, x: int, hidden: int, inner: str, outer: str) -> int:
    """Channels weighted by two dense layers on their means, with the activations `inner` and `outer`."""
    gate = cnn.activation(cnn.dense(cnn.global_average_pool(x), hidden), inner)
    return cnn.multiply(x, cnn.activation(cnn.dense(gate, cnn.channels(x)), outer))


def mobilenet_v1(cnn: Recorder, image: int, n_classes: int, width: float = 1.0) -> int:
    """Depthwise and 1 x 1 convolutions in turn; `width` multiplies the channels."""
    # Channels and stride of each pair: table 1 of arXiv:1704.04861.
    x = cnn.conv_bn(image, int(32 * width), 3, 2)
    steps = (
        (64, 1),
        (128, 2),
        (128, 1),
        (256, 2),
        (256, 1),
        (512, 2),
        *((512, 1),) * 5,
        (1024, 2),
        (1024, 1),
    )
    for channels, stride in steps:
        x = cnn.conv_bn(cnn.depthwise_bn(x, 3, stride), int(channels * width), 1)
    return cnn.dense(cnn.global_average_pool(x), n_classes)


class Stage(NamedTuple):
    """A run of inverted residuals: expansion factor, output channels, count, stride of the first, kernel."""

    expansion: int
    channels: int
    blocks: int
    stride: int
    kernel: int = 3


def inverted_residual(cnn: Recorder, x: int, stage: Stage, channels: int, stride: int) -> int:
    """Expand by 1 x 1, filter depthwise, project by 1 x 1; added to the input where shapes agree."""
    y = (
        x
        if stage.expansion == 1
        else cnn.conv_bn(x, cnn.channels(x) * stage.expansion, 1, activation="relu6")
    )
    y = cnn.depthwise_bn(y, stage.kernel, stride, "relu6")
    y = cnn.conv_bn(y, channels, 1, activation=None)
    return cnn.add(x, y) if stride == 1 and cnn.channels(x) == channels else y


def _stages(cnn: Recorder, x: int, stages: tuple[Stage, ...], width: float) -> int:
    for stage in stages:
        for position in range(stage.blocks):
            channels = round_to_eight(stage.channels * width)
            x = inverted_residual(cnn, x, stage, channels, 1 if position else stage.stride)
    return x


# Table 2 of arXiv:1801.04381.
_V2 = (
    Stage(1, 16, 1, 1),
    Stage(6, 24, 2, 2),
    Stage(6, 32, 3, 2),
    Stage(6, 64, 4, 2),
    Stage(6, 96, 3, 1),
    Stage(6, 160, 3, 2),
    Stage(6, 320, 1, 1),
)


def mobilenet_v2(cnn: Recorder, image: int, n_classes: int, width: float = 1.0, dropout: bool = True) -> int:
    """Inverted residuals; `width` multiplies the channels."""
    x = cnn.conv_bn(image, round_to_eight(32 * width), 3, 2, activation="relu6")
    x = _stages(cnn, x, _V2, width)
    x = cnn.global_average_pool(cnn.conv_bn(x, round_to_eight(1280 * max(width, 1)), 1, activation="relu6"))
    return cnn.dense(cnn.dropout(x) if dropout else x, n_classes)


# MnasNet-B1, the cnn without gates, in the form of torchvision.
_MNAS = (
    Stage(3, 24, 3, 2),
    Stage(3, 40, 3, 2, 5),
    Stage(6, 80, 3, 2, 5),
    Stage(6, 96, 2, 1),
    Stage(6, 192, 4, 2, 5),
    Stage(6, 320, 1, 1),
)


def mnasnet(cnn: Recorder, image: int, n_classes: int, width: float) -> int:
    """Inverted residuals found by search; `width` multiplies the channels."""
    x = cnn.conv_bn(image, round_to_eight(32 * width), 3, 2)
    x = cnn.conv_bn(cnn.depthwise_bn(x, 3), round_to_eight(16 * width), 1, activation=None)
    x = _stages(cnn, x, _MNAS, width)
    return cnn.dense(cnn.dropout(cnn.global_average_pool(cnn.conv_bn(x, 1280, 1))), n_classes)


class Unit(NamedTuple):
    """One unit of v3: kernel, expanded and output channels, gate or not, activation, stride."""

    kernel: int
    expanded: int
    channels: int
    gate: bool
    activation: str
    stride: int


def _v3_unit(cnn: Recorder, x: int, unit: Unit) -> int:
    y = x
    if unit.expanded != cnn.channels(x):
        y = cnn.conv_bn(y, unit.expanded, 1, activation=unit.activation)
    y = cnn.depthwise_bn(y, unit.kernel, unit.stride, unit.activation)
    if unit.gate:
        y = gated(cnn, y, round_to_eight(unit.expanded // 4), "relu", "hardsigmoid")
    y = cnn.conv_bn(y, unit.channels, 1, activation=None)
    return cnn.add(x, y) if unit.stride == 1 and cnn.channels(x) == unit.channels else y


def mobilenet_v3(
    cnn: Recorder, image: int, n_classes: int, units: Sequence[Sequence[Any]], features: int
) -> int:
    """Inverted residuals with gates; `features` is the width of the dense layer before the classes.

    units : the values of each `Unit`.
    """
    x = cnn.conv_bn(image, 16, 3, 2, activation="hardswish")
    for unit in units:
        x = _v3_unit(cnn, x, Unit(*unit))
    x = cnn.conv_bn(x, 6 * cnn.channels(x), 1, activation="hardswish")
    x = cnn.activation(cnn.dense(cnn.global_average_pool(x), features), "hardswish")
    return cnn.dense(cnn.dropout(x), n_classes)


# ShuffleNet v2 (Ma et al. 2018, arXiv:1807.11164).


def _shuffle_unit(cnn: Recorder, x: int, channels: int, stride: int) -> int:
    half = channels // 2
    if stride == 1:
        # Half of the channels pass untouched; the shuffle at the end mixes the halves.
        kept, x = cnn.slice(x, half), cnn.slice(x, half)
    else:
        kept = cnn.conv_bn(cnn.depthwise_bn(x, 3, stride, activation=None), half, 1)
    x = cnn.depthwise_bn(cnn.conv_bn(x, half, 1), 3, stride, activation=None)
    return cnn.channel_shuffle(cnn.concat(kept, cnn.conv_bn(x, half, 1)), 2)


def shufflenet_v2(
    cnn: Recorder, image: int, n_classes: int, widths: tuple[int, ...], small_image: bool = False
) -> int:
    """Three stages of units; `small_image` keeps the full resolution at first, for images of 32 x 32."""
    x = cnn.conv_bn(image, 24, 3, 1 if small_image else 2)
    if not small_image:
        x = cnn.max_pool(x, 3, 2, 1)
    for channels, count in zip(widths, (4, 8, 4), strict=False):
        for position in range(count):
            x = _shuffle_unit(cnn, x, channels, 1 if position else 2)
    x = cnn.conv_bn(x, widths[-1], 1)
    return cnn.dense(cnn.global_average_pool(x), n_classes)
