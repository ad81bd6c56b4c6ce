"""CNNs with shortcuts: ResNet and its variants, RegNet, ConvNeXt and DenseNet."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tools.zoo.recorder import Recorder

# ResNet (He et al. 2015, arXiv:1512.03385) and variants: v1d, pre-activation, ResNeXt, wide, SE, CIFAR.

# Blocks of the four stages: arXiv:1512.03385, table 1; 200 layers: arXiv:1603.05027.
_LAYERS: Mapping[int, tuple[int, ...]] = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
}


def squeeze_excite(cnn: Recorder, x: int, hidden: int) -> int:
    """Channels weighted by two dense layers on their means (Hu et al. 2017, arXiv:1709.01507)."""
    gate = cnn.relu(cnn.dense(cnn.global_average_pool(x), hidden))
    gate = cnn.activation(cnn.dense(gate, cnn.channels(x)), "sigmoid")
    return cnn.multiply(x, gate)


def basic_block(cnn: Recorder, x: int, channels: int, stride: int) -> int:
    """Two 3 x 3 convolutions with a shortcut."""
    shortcut = x
    if stride != 1 or cnn.channels(x) != channels:
        shortcut = cnn.conv_bn(x, channels, 1, stride, activation=None)
    x = cnn.conv_bn(x, channels, 3, stride)
    x = cnn.conv_bn(x, channels, 3, activation=None)
    return cnn.relu(cnn.add(shortcut, x))


def bottleneck_block(
    cnn: Recorder,
    x: int,
    channels: int,
    stride: int,
    *,
    groups: int = 1,
    group_width: int = 64,
    early_stride: bool = False,
    pooled_shortcut: bool = False,
    squeeze: bool = False,
    blurred: bool = False,
) -> int:
    """Convolutions 1 x 1, 3 x 3, 1 x 1 with a shortcut.

    `early_stride` puts the stride into the first convolution (v1) instead of the 3 x 3 (v1.5);
    `pooled_shortcut` is the variant D of He et al. 2018 (arXiv:1812.01187); `blurred` smooths the image
    before each stride with a fixed kernel (Zhang 2019, arXiv:1904.11486).
    """
    shortcut = x
    if stride != 1 or cnn.channels(x) != 4 * channels:
        # Variant D does not skip three of four pixels: it averages them before the 1 x 1 convolution.
        pooled = pooled_shortcut and stride != 1
        entry = cnn.average_pool(x, stride, ceil=True) if pooled else x
        entry = cnn.depthwise(x, 3, learned=False) if blurred and stride != 1 else entry
        shortcut = cnn.conv_bn(entry, 4 * channels, 1, 1 if pooled else stride, activation=None)
    # ResNeXt (arXiv:1611.05431) counts the width per group at the first stage; wide CNNs have one wide group.
    width = channels * group_width // 64 * groups
    x = cnn.conv_bn(x, width, 1, stride if early_stride else 1)
    if blurred and stride != 1:
        x = cnn.depthwise(x, 3, learned=False)
    x = cnn.conv_bn(x, width, 3, 1 if early_stride else stride, groups=groups)
    x = cnn.conv_bn(x, 4 * channels, 1, activation=None)
    if squeeze:
        # A sixteenth of the block's output, as in the authors' CNNs.
        x = squeeze_excite(cnn, x, channels // 4)
    return cnn.relu(cnn.add(shortcut, x))


def stem(cnn: Recorder, x: int) -> int:
    """A 7 x 7 convolution of stride 2 and a pooling of stride 2."""
    return cnn.max_pool(cnn.conv_bn(x, 64, 7, 2), 3, 2, 1)


def deep_stem(cnn: Recorder, x: int) -> int:
    """Three 3 x 3 convolutions instead of one 7 x 7 (variant C of arXiv:1812.01187)."""
    for channels, stride in ((32, 2), (32, 1), (64, 1)):
        x = cnn.conv_bn(x, channels, 3, stride)
    return cnn.max_pool(x, 3, 2, 1)


def cifar_stem(cnn: Recorder, x: int) -> int:
    """A 3 x 3 convolution at full resolution, for images of 32 x 32."""
    return cnn.conv_bn(x, 64, 3)


def _bottleneck(options: dict[str, Any]) -> Callable[[Recorder, int, int, int], int]:
    return partial(bottleneck_block, **options)


_STARTS: Mapping[str, Callable[[Recorder, int], int]] = {
    "stem": stem,
    "deep_stem": deep_stem,
    "cifar_stem": cifar_stem,
}


def resnet(
    cnn: Recorder,
    image: int,
    n_classes: int,
    depth: int,
    start: str = "stem",
    **block: Any,
) -> int:
    """A residual CNN of four stages; `start` names the function of its first layers.

    block : options of `bottleneck_block`.
    """
    one: Callable[[Recorder, int, int, int], int]
    one = basic_block if depth < 50 else _bottleneck(block)
    x = _STARTS[start](cnn, image)
    for stage, count in enumerate(_LAYERS[depth]):
        for position in range(count):
            x = one(cnn, x, 64 << stage, 2 if stage and not position else 1)
    return cnn.dense(cnn.global_average_pool(x), n_classes)


def preactivation_block(cnn: Recorder, x: int, stride: int, *steps: tuple[int, int, int]) -> int:
    """Normalisation and activation before each convolution (He et al. 2016, arXiv:1603.05027).

    A step is channels, kernel and stride of a convolution.
    """
    leaving = steps[-1][0]
    y = entry = cnn.relu(cnn.batchnorm(x))
    # Where the shape changes the shortcut starts after the first activation (figure 4 e of the paper).
    shortcut = cnn.conv(entry, leaving, 1, stride) if stride != 1 or cnn.channels(x) != leaving else x
    for position, (channels, kernel, step) in enumerate(steps):
        y = cnn.conv(cnn.relu(cnn.batchnorm(y)) if position else y, channels, kernel, step)
    return cnn.add(shortcut, y)


def preactivation_resnet(
    cnn: Recorder, image: int, n_classes: int, depth: int, early_stride: bool = True
) -> int:
    """A pre-activation residual CNN; `early_stride` as in `bottleneck_block`."""
    x = stem(cnn, image)
    for stage, count in enumerate(_LAYERS[depth]):
        for position in range(count):
            channels, stride = 64 << stage, 2 if stage and not position else 1
            first, second = (stride, 1) if early_stride else (1, stride)
            basic = ((channels, 3, stride), (channels, 3, 1))
            bottleneck = ((channels, 1, first), (channels, 3, second), (4 * channels, 1, 1))
            x = preactivation_block(cnn, x, stride, *(basic if depth < 50 else bottleneck))
    x = cnn.relu(cnn.batchnorm(x))
    return cnn.dense(cnn.global_average_pool(x), n_classes)


def small_resnet(cnn: Recorder, image: int, n_classes: int) -> int:
    """PROFET's small residual cnn: four blocks of two 1 x 1 convolutions."""
    x = stem(cnn, image)
    for channels, stride in ((64, 2), (64, 1), (128, 2), (128, 1)):
        shortcut = cnn.conv_bn(x, channels, 1, stride, activation=None) if stride != 1 else x
        y = cnn.conv_bn(cnn.conv_bn(x, channels, 1, stride), channels, 1, activation=None)
        x = cnn.relu(cnn.add(shortcut, y))
    return cnn.dense(cnn.global_average_pool(x), n_classes)


# RegNet X and Y (Radosavovic et al. 2020, arXiv:2003.13678): the published widths and depths.


def _regnet_block(cnn: Recorder, x: int, width: int, stride: int, *, group_width: int, squeeze: bool) -> int:
    shortcut, hidden = x, round(cnn.channels(x) / 4)
    if stride != 1 or cnn.channels(x) != width:
        shortcut = cnn.conv_bn(x, width, 1, stride, activation=None)
    x = cnn.conv_bn(x, width, 1)
    x = cnn.conv_bn(x, width, 3, stride, groups=width // min(group_width, width))
    if squeeze:
        x = squeeze_excite(cnn, x, hidden)
    x = cnn.conv_bn(x, width, 1, activation=None)
    return cnn.relu(cnn.add(shortcut, x))


def regnet(
    cnn: Recorder,
    image: int,
    n_classes: int,
    *,
    widths: tuple[int, ...],
    depths: tuple[int, ...],
    group_width: int,
    squeeze: bool,
) -> int:
    """Four stages of grouped bottlenecks without expansion, each starting with stride 2."""
    x = cnn.conv_bn(image, 32, 3, 2)
    for width, depth in zip(widths, depths, strict=True):
        for position in range(depth):
            x = _regnet_block(cnn, x, width, 1 if position else 2, group_width=group_width, squeeze=squeeze)
    return cnn.dense(cnn.global_average_pool(x), n_classes)


# ConvNeXt (Liu et al. 2022, arXiv:2201.03545).


def _convnext_block(cnn: Recorder, x: int) -> int:
    channels = cnn.channels(x)
    y = cnn.layernorm(cnn.depthwise(x, 7, bias=True))
    y = cnn.activation(cnn.linear(y, 4 * channels), "gelu")
    return cnn.add(x, cnn.scale(cnn.linear(y, channels), learned=True))


def convnext(
    cnn: Recorder, image: int, n_classes: int, widths: tuple[int, ...], depths: tuple[int, ...]
) -> int:
    """Four stages of 7 x 7 depthwise convolutions and wide linear layers, layer-normalised."""
    x = cnn.layernorm(cnn.conv(image, widths[0], 4, 4, padding="valid", bias=True))
    for stage, (width, depth) in enumerate(zip(widths, depths, strict=True)):
        if stage:
            x = cnn.conv(cnn.layernorm(x), width, 2, 2, padding="valid", bias=True)
        x = cnn.chain(x, depth, partial(_convnext_block, cnn))
    return cnn.dense(cnn.layernorm(cnn.global_average_pool(x)), n_classes)


# DenseNet (Huang et al. 2016, arXiv:1608.06993).


def _dense_layer(cnn: Recorder, entering: list[int], growth: int) -> int:
    x = cnn.concat(*entering) if len(entering) > 1 else entering[0]
    # The 1 x 1 convolution limits what the 3 x 3 reads to four times the growth (section 3, "bottleneck").
    x = cnn.conv(cnn.relu(cnn.batchnorm(x)), 4 * growth, 1)
    return cnn.conv(cnn.relu(cnn.batchnorm(x)), growth, 3)


def densenet(
    cnn: Recorder, image: int, n_classes: int, *, blocks: tuple[int, ...], growth: int = 32, stem: int = 64
) -> int:
    """Blocks in which every layer reads all earlier ones, and pooling between them."""
    x = cnn.max_pool(cnn.conv_bn(image, stem, 7, 2), 3, 2, 1)
    for position, count in enumerate(blocks):
        entering = [x]
        for _ in range(count):
            entering.append(_dense_layer(cnn, entering, growth))
        # Every reading of the growing image is a copy: half of the cnn's memory traffic.
        x = cnn.relu(cnn.batchnorm(cnn.concat(*entering)))
        if position < len(blocks) - 1:
            x = cnn.average_pool(cnn.conv(x, cnn.channels(x) // 2, 1), 2)
    return cnn.dense(cnn.global_average_pool(x), n_classes)
