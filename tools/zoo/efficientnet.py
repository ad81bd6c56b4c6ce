"""EfficientNet (Tan and Le 2019, arXiv:1905.11946) and EfficientNet v2 (2021, arXiv:2104.00298)."""

from collections.abc import Mapping
from functools import partial
from math import ceil
from types import MappingProxyType
from typing import Any, NamedTuple

from tools.zoo.entry import Entry
from tools.zoo.mobilenet import gated, round_to_eight
from tools.zoo.recorder import Recorder


class Stage(NamedTuple):
    """A run of blocks: expansion factor, kernel, stride of the first, channels, count, fused or not."""

    expansion: int
    kernel: int
    stride: int
    channels: int
    blocks: int
    fused: bool = False


# Table 1 of arXiv:1905.11946.
_V1 = (
    Stage(1, 3, 1, 16, 1),
    Stage(6, 3, 2, 24, 2),
    Stage(6, 5, 2, 40, 2),
    Stage(6, 3, 2, 80, 3),
    Stage(6, 5, 1, 112, 3),
    Stage(6, 5, 2, 192, 4),
    Stage(6, 3, 1, 320, 1),
)
# Table 4 of arXiv:2104.00298, and the authors' configurations for the larger two.
_V2_SMALL = (
    Stage(1, 3, 1, 24, 2, True),
    Stage(4, 3, 2, 48, 4, True),
    Stage(4, 3, 2, 64, 4, True),
    Stage(4, 3, 2, 128, 6),
    Stage(6, 3, 1, 160, 9),
    Stage(6, 3, 2, 256, 15),
)
_V2_MEDIUM = (
    Stage(1, 3, 1, 24, 3, True),
    Stage(4, 3, 2, 48, 5, True),
    Stage(4, 3, 2, 80, 5, True),
    Stage(4, 3, 2, 160, 7),
    Stage(6, 3, 1, 176, 14),
    Stage(6, 3, 2, 304, 18),
    Stage(6, 3, 1, 512, 5),
)
_V2_LARGE = (
    Stage(1, 3, 1, 32, 4, True),
    Stage(4, 3, 2, 64, 7, True),
    Stage(4, 3, 2, 96, 7, True),
    Stage(4, 3, 2, 192, 10),
    Stage(6, 3, 1, 224, 19),
    Stage(6, 3, 2, 384, 25),
    Stage(6, 3, 1, 640, 7),
)


def _filter(cnn: Recorder, x: int, stage: Stage, stride: int, wide_gate: bool) -> int:
    """Expansion, depthwise convolution, gate; the gate's hidden width follows the input or the expansion."""
    entering = cnn.channels(x)
    expanded = round_to_eight(entering * stage.expansion)
    if expanded != entering:
        x = cnn.conv_bn(x, expanded, 1, activation="silu")
    x = cnn.depthwise_bn(x, stage.kernel, stride, "silu")
    return gated(cnn, x, (expanded if wide_gate else entering) // 4, "silu", "sigmoid")


def _block(cnn: Recorder, x: int, stage: Stage, channels: int, *, stride: int, wide_gate: bool) -> int:
    if not stage.fused:
        y = cnn.conv_bn(_filter(cnn, x, stage, stride, wide_gate), channels, 1, activation=None)
    elif stage.expansion == 1:
        y = cnn.conv_bn(x, channels, stage.kernel, stride, activation="silu")
    else:
        y = cnn.conv_bn(x, cnn.channels(x) * stage.expansion, stage.kernel, stride, activation="silu")
        y = cnn.conv_bn(y, channels, 1, activation=None)
    return cnn.add(x, y) if stride == 1 and cnn.channels(x) == channels else y


def stage_outputs(
    cnn: Recorder,
    image: int,
    *,
    stages: tuple[Stage, ...] = _V1,
    width: float = 1.0,
    depth: float = 1.0,
    stem: int = 32,
    wide_gate: bool = False,
) -> list[int]:
    """Gated inverted residuals, the output of each stage; options as of `efficientnet`."""
    x = cnn.conv_bn(image, round_to_eight(stem * width), 3, 2, activation="silu")
    outputs = []
    for stage in stages:
        channels = round_to_eight(stage.channels * width)
        for position in range(ceil(stage.blocks * depth)):
            stride = 1 if position else stage.stride
            x = _block(cnn, x, stage, channels, stride=stride, wide_gate=wide_gate)
        outputs.append(x)
    return outputs


def efficientnet(
    cnn: Recorder,
    image: int,
    n_classes: int,
    *,
    width: float = 1.0,
    head: int = 1280,
    **stages: Any,
) -> int:
    """Gated inverted residuals; `width` and `depth` multiply channels and counts of the stages."""
    x = stage_outputs(cnn, image, width=width, **stages)[-1]
    x = cnn.conv_bn(x, round_to_eight(head * width), 1, activation="silu")
    return cnn.dense(cnn.dropout(cnn.global_average_pool(x)), n_classes)


# Width and depth factors and image side of B0 to B7 (the authors' published configurations).
_SCALES = (
    (1.0, 1.0, 224),
    (1.0, 1.1, 240),
    (1.1, 1.2, 260),
    (1.2, 1.4, 300),
    (1.4, 1.8, 380),
    (1.6, 2.2, 456),
    (1.8, 2.6, 528),
    (2.0, 3.1, 600),
)


def _entry(scale: int, **options: Any) -> Entry:
    width, depth, size = _SCALES[scale]
    return Entry(
        partial(efficientnet, width=width, depth=depth, **options), "efficientnet", "efficientnet", size
    )


def _second(stages: tuple[Stage, ...], size: int) -> Entry:
    return Entry(
        partial(efficientnet, stages=stages, stem=stages[0].channels), "efficientnet_v2", "efficientnet", size
    )


CNNS: Mapping[str, Entry] = MappingProxyType(
    {
        **{f"efficientnet_b{scale}": _entry(scale) for scale in range(8)},
        # NVIDIA's "wide SE" CNNs, whose gates are as wide as a quarter of the expansion.
        **{f"efficientnet_widese_b{scale}": _entry(scale, wide_gate=True) for scale in (0, 4)},
        "efficientnet_v2_s": _second(_V2_SMALL, 384),
        "efficientnet_v2_m": _second(_V2_MEDIUM, 480),
        "efficientnet_v2_l": _second(_V2_LARGE, 480),
    }
)
