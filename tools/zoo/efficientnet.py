"""EfficientNet (Tan and Le 2019, arXiv:1905.11946) and EfficientNet v2 (2021, arXiv:2104.00298)."""

from collections.abc import Sequence
from math import ceil
from typing import Any, NamedTuple

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
    stages: Sequence[Sequence[Any]] = _V1,
    width: float = 1.0,
    depth: float = 1.0,
    stem: int = 32,
    wide_gate: bool = False,
) -> list[int]:
    """Gated inverted residuals, the output of each stage; options as of `efficientnet`."""
    x = cnn.conv_bn(image, round_to_eight(stem * width), 3, 2, activation="silu")
    outputs = []
    for stage in (Stage(*values) for values in stages):
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
