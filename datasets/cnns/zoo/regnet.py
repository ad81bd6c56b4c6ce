"""RegNet X and Y (Radosavovic et al. 2020, arXiv:2003.13678): the published widths and depths."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.zoo.entry import Entry
from trainlaw.datasets.cnns.zoo.resnet import squeeze_excite


def _block(cnn: CnnBuilder, x: int, width: int, stride: int, *, group_width: int, squeeze: bool) -> int:
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
    cnn: CnnBuilder,
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
            x = _block(cnn, x, width, 1 if position else 2, group_width=group_width, squeeze=squeeze)
    return cnn.dense(cnn.global_average_pool(x), n_classes)


# Widths and depths of the four stages and the group width: the authors' configurations; "torch" marks those
# that torchvision changed.
_X = MappingProxyType(
    {
        "200mf": ((24, 56, 152, 368), (1, 1, 4, 7), 8),
        "400mf": ((32, 64, 160, 384), (1, 2, 7, 12), 16),
        "600mf": ((48, 96, 240, 528), (1, 3, 5, 7), 24),
        "800mf": ((64, 128, 288, 672), (1, 3, 7, 5), 16),
        "1_6gf": ((72, 168, 408, 912), (2, 4, 10, 2), 24),
        "3_2gf": ((96, 192, 432, 1008), (2, 6, 15, 2), 48),
        "4gf": ((80, 240, 560, 1360), (2, 5, 14, 2), 40),
        "6_4gf": ((168, 392, 784, 1624), (2, 4, 10, 1), 56),
        "8gf": ((80, 240, 720, 1920), (2, 5, 15, 1), 120),
        "12gf": ((224, 448, 896, 2240), (2, 5, 11, 1), 112),
        "16gf": ((256, 512, 896, 2048), (2, 6, 13, 1), 128),
        "32gf": ((336, 672, 1344, 2520), (2, 7, 13, 1), 168),
        "400mf_torch": ((32, 64, 160, 400), (1, 2, 7, 12), 16),
    }
)
_Y = MappingProxyType(
    {
        "200mf": ((24, 56, 152, 368), (1, 1, 4, 7), 8),
        "400mf": ((48, 104, 208, 440), (1, 3, 6, 6), 8),
        "600mf": ((48, 112, 256, 608), (1, 3, 7, 4), 16),
        "800mf": ((64, 128, 320, 768), (1, 3, 8, 2), 16),
        "1_6gf": ((48, 120, 336, 888), (2, 6, 17, 2), 24),
        "3_2gf": ((72, 216, 576, 1512), (2, 5, 13, 1), 24),
        "4gf": ((128, 192, 512, 1088), (2, 6, 12, 2), 64),
        "6_4gf": ((144, 288, 576, 1296), (2, 7, 14, 2), 72),
        "8gf": ((168, 448, 896, 2016), (2, 4, 10, 1), 56),
        "12gf": ((224, 448, 896, 2240), (2, 5, 11, 1), 112),
        "16gf": ((224, 448, 1232, 3024), (2, 4, 11, 1), 112),
        "32gf": ((232, 696, 1392, 3712), (2, 5, 12, 1), 232),
        "800mf_torch": ((64, 144, 320, 784), (1, 3, 8, 2), 16),
        "8gf_torch": ((224, 448, 896, 2016), (2, 4, 10, 1), 56),
        "128gf_torch": ((528, 1056, 2904, 7392), (2, 7, 17, 1), 264),
    }
)


def _entries(
    kind: str, table: Mapping[str, tuple[tuple[int, ...], tuple[int, ...], int]], squeeze: bool
) -> dict[str, Entry]:
    return {
        f"regnet_{kind}_{size}": Entry(
            partial(regnet, widths=widths, depths=depths, group_width=group_width, squeeze=squeeze),
            "regnet",
            "regnet",
        )
        for size, (widths, depths, group_width) in table.items()
    }


CNNS: Mapping[str, Entry] = MappingProxyType(
    {**_entries("x", _X, squeeze=False), **_entries("y", _Y, squeeze=True)}
)
