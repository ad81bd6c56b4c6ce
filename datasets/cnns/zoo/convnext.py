"""ConvNeXt (Liu et al. 2022, arXiv:2201.03545)."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.zoo.entry import Entry


def _block(cnn: CnnBuilder, x: int) -> int:
    channels = cnn.channels(x)
    y = cnn.layernorm(cnn.depthwise(x, 7, bias=True))
    # The paper's dense layers act on each pixel, which is a 1 x 1 convolution.
    y = cnn.activation(cnn.conv(y, 4 * channels, 1, bias=True), "gelu")
    return cnn.add(x, cnn.scale(cnn.conv(y, channels, 1, bias=True), learned=True))


def convnext(
    cnn: CnnBuilder, image: int, n_classes: int, widths: tuple[int, ...], depths: tuple[int, ...]
) -> int:
    """Four stages of 7 x 7 depthwise convolutions and wide 1 x 1 convolutions, layer-normalised."""
    x = cnn.layernorm(cnn.conv(image, widths[0], 4, 4, padding="valid", bias=True))
    for stage, (width, depth) in enumerate(zip(widths, depths, strict=True)):
        if stage:
            x = cnn.conv(cnn.layernorm(x), width, 2, 2, padding="valid", bias=True)
        x = cnn.chain(x, depth, partial(_block, cnn))
    return cnn.dense(cnn.layernorm(cnn.global_average_pool(x)), n_classes)


# Section 3 of the paper.
_SIZES = MappingProxyType(
    {
        "tiny": ((96, 192, 384, 768), (3, 3, 9, 3)),
        "small": ((96, 192, 384, 768), (3, 3, 27, 3)),
        "base": ((128, 256, 512, 1024), (3, 3, 27, 3)),
        "large": ((192, 384, 768, 1536), (3, 3, 27, 3)),
    }
)

CNNS: Mapping[str, Entry] = MappingProxyType(
    {
        f"convnext_{size}": Entry(partial(convnext, widths=widths, depths=depths), "convnext", "convnext")
        for size, (widths, depths) in _SIZES.items()
    }
)
