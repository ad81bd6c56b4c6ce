"""NASNet-A (Zoph et al. 2017, arXiv:1707.07012) and Xception (Chollet 2016, arXiv:1610.02357)."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from trainlaw.datasets.cnns.builder import NetBuilder
from trainlaw.datasets.cnns.zoo.entry import Entry


def separable(net: NetBuilder, x: int, channels: int, kernel: int, stride: int = 1) -> int:
    """A depthwise and a 1 x 1 convolution, then one batch normalisation."""
    x = net.depthwise(x, kernel, stride, padding="same")
    return net.batchnorm(net.conv(x, channels, 1))


def _twice_separable(net: NetBuilder, x: int, channels: int, kernel: int, stride: int = 1) -> int:
    x = separable(net, net.relu(x), channels, kernel, stride)
    return separable(net, net.relu(x), channels, kernel)


def _pool(net: NetBuilder, x: int, stride: int = 1) -> int:
    return net.average_pool(x, 3, stride, padding="same")


def _fitted(net: NetBuilder, x: int, like: int, channels: int) -> int:
    """A cell's older input brought to the size of the newer one and to the cell's channels."""
    if net.shape(x)[1:] != net.shape(like)[1:]:
        x = net.relu(x)
        # Two 1-pixel poolings of stride 2, one shifted by a pixel, so that nothing is lost but half the rows.
        halves = [net.conv(net.average_pool(x, 1, 2), channels // 2, 1) for _ in range(2)]
        return net.batchnorm(net.concat(*halves))
    return _squeezed(net, x, channels) if net.channels(x) != channels else x


def _squeezed(net: NetBuilder, x: int, channels: int) -> int:
    return net.batchnorm(net.conv(net.relu(x), channels, 1))


# Cells: figure 4 of the paper; channels and counts: its "N @ F" names, 4 @ 1056 and 6 @ 4032.
def _normal_cell(net: NetBuilder, x: int, older: int, channels: int) -> int:
    p, h = _fitted(net, older, x, channels), _squeezed(net, x, channels)
    return net.concat(
        p,
        net.add(_twice_separable(net, h, channels, 5), _twice_separable(net, p, channels, 3)),
        net.add(_twice_separable(net, p, channels, 5), _twice_separable(net, p, channels, 3)),
        net.add(_pool(net, h), p),
        net.add(_pool(net, p), _pool(net, p)),
        net.add(_twice_separable(net, h, channels, 3), h),
    )


def _reduction_cell(net: NetBuilder, x: int, older: int | None, channels: int) -> int:
    p, h = x if older is None else _fitted(net, older, x, channels), _squeezed(net, x, channels)
    first = net.add(_twice_separable(net, h, channels, 5, 2), _twice_separable(net, p, channels, 7, 2))
    maximum = net.max_pool(h, 3, 2, padding="same")
    second = net.add(maximum, _twice_separable(net, p, channels, 7, 2))
    third = net.add(_pool(net, h, 2), _twice_separable(net, p, channels, 5, 2))
    fourth = net.add(second, _pool(net, first))
    fifth = net.add(_twice_separable(net, first, channels, 3), maximum)
    return net.concat(second, third, fourth, fifth)


def nasnet(
    net: NetBuilder,
    image: int,
    n_classes: int,
    *,
    features: int,
    repeats: int,
    stem: int,
    skip_reduction: bool,
) -> int:
    """Runs of normal cells with reduction cells before and between; `features` enter the classifier."""
    channels = features // 24
    older, x = None, net.conv_bn(image, stem, 3, 2, padding="valid", activation=None)
    for width in (channels // 4, channels // 2):
        # The stem's cells have a quarter and half of the channels of the first run.
        older, x = x, _reduction_cell(net, x, older, width)
    for stage in range(3):
        if stage:
            reduced = _reduction_cell(net, x, older, channels << stage)
            older, x = older if skip_reduction else x, reduced
        for _ in range(repeats):
            older, x = x, _normal_cell(net, x, older, channels << stage)
    return net.dense(net.dropout(net.global_average_pool(net.relu(x))), n_classes)


def _xception_block(net: NetBuilder, x: int, widths: tuple[int, int], starts_with_relu: bool = True) -> int:
    shortcut = net.conv_bn(x, widths[1], 1, 2, activation=None)
    y = separable(net, net.relu(x) if starts_with_relu else x, widths[0], 3)
    y = separable(net, net.relu(y), widths[1], 3)
    return net.add(net.max_pool(y, 3, 2, padding="same"), shortcut)


def xception(net: NetBuilder, image: int, n_classes: int) -> int:
    """Separable convolutions with shortcuts."""
    x = net.conv_bn(net.conv_bn(image, 32, 3, 2, padding="valid"), 64, 3, padding="valid")
    for position, channels in enumerate((128, 256, 728)):
        x = _xception_block(net, x, (channels, channels), starts_with_relu=position > 0)
    for _ in range(8):
        x = net.add(net.chain(x, 3, lambda y: separable(net, net.relu(y), 728, 3)), x)
    x = _xception_block(net, x, (728, 1024))
    for channels in (1536, 2048):
        x = net.relu(separable(net, x, channels, 3))
    return net.dense(net.global_average_pool(x), n_classes)


NETS: Mapping[str, Entry] = MappingProxyType(
    {
        "nasnet_mobile": Entry(
            partial(nasnet, features=1056, repeats=4, stem=32, skip_reduction=False), "nasnet", "nasnet"
        ),
        "nasnet_large": Entry(
            partial(nasnet, features=4032, repeats=6, stem=96, skip_reduction=True), "nasnet", "nasnet", 331
        ),
        "xception": Entry(xception, "xception", "xception", 299),
    }
)
