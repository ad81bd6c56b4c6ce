"""GoogLeNet (Szegedy et al. 2014, arXiv:1409.4842), as published and as torchvision normalises it."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.zoo.entry import Entry

# Channels of a module's parts: 1 x 1; 1 x 1 and 3 x 3; 1 x 1 and 5 x 5; after the pooling (paper, table 1).
_MODULES = (
    (64, 96, 128, 16, 32, 32),
    (128, 128, 192, 32, 96, 64),
    (192, 96, 208, 16, 48, 64),
    (160, 112, 224, 24, 64, 64),
    (128, 128, 256, 24, 64, 64),
    (112, 144, 288, 32, 64, 64),
    (256, 160, 320, 32, 128, 128),
    (256, 160, 320, 32, 128, 128),
    (384, 192, 384, 48, 128, 128),
)


def googlenet(cnn: CnnBuilder, image: int, n_classes: int, batchnorm: bool = False) -> int:
    """Nine modules of four branches; `batchnorm` normalises convolutions and makes 5 x 5 kernels 3 x 3."""

    def unit(x: int, channels: int, kernel: int, stride: int = 1) -> int:
        if batchnorm:
            return cnn.conv_bn(x, channels, kernel, stride)
        return cnn.relu(cnn.conv(x, channels, kernel, stride, bias=True))

    def module(x: int, widths: tuple[int, ...]) -> int:
        one, before3, three, before5, five, pooled = widths
        return cnn.concat(
            unit(x, one, 1),
            unit(unit(x, before3, 1), three, 3),
            unit(unit(x, before5, 1), five, 3 if batchnorm else 5),
            unit(cnn.max_pool(x, 3, 1, 1), pooled, 1),
        )

    x = cnn.max_pool(unit(image, 64, 7, 2), 3, 2, ceil=True)
    x = cnn.max_pool(unit(unit(x, 64, 1), 192, 3), 3, 2, ceil=True)
    for position, widths in enumerate(_MODULES):
        if position in {2, 7}:
            x = cnn.max_pool(x, 3, 2, ceil=True)
        x = module(x, widths)
    return cnn.dense(cnn.dropout(cnn.global_average_pool(x)), n_classes)


CNNS: Mapping[str, Entry] = MappingProxyType(
    {
        "googlenet": Entry(googlenet, "googlenet", "googlenet"),
        "googlenet_bn": Entry(partial(googlenet, batchnorm=True), "googlenet", "googlenet"),
    }
)
