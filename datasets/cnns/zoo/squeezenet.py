"""SqueezeNet 1.0 and 1.1 (Iandola et al. 2016, arXiv:1602.07360)."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from trainlaw.datasets.cnns.builder import NetBuilder
from trainlaw.datasets.cnns.zoo.entry import Entry


def _fire(net: NetBuilder, x: int, squeeze: int, expand: int) -> int:
    x = net.relu(net.conv(x, squeeze, 1, bias=True))
    sides = [net.relu(net.conv(x, expand, kernel, bias=True)) for kernel in (1, 3)]
    return net.concat(*sides)


def squeezenet(
    net: NetBuilder, image: int, n_classes: int, stem: tuple[int, int], pooled_before: tuple[int, ...]
) -> int:
    """Eight fire modules; `stem` is the first layer's channels and kernel, `pooled_before` pooled modules."""
    x = net.relu(net.conv(image, stem[0], stem[1], 2, padding="valid", bias=True))
    # Table 1: channels of the 1 x 1 that squeezes and of the two that expand.
    widths = ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))
    for position, (squeeze, expand) in enumerate(widths):
        if position in pooled_before:
            x = net.max_pool(x, 3, 2, ceil=True)
        x = _fire(net, x, squeeze, expand)
    x = net.relu(net.conv(net.dropout(x), n_classes, 1, bias=True))
    return net.global_average_pool(x)


NETS: Mapping[str, Entry] = MappingProxyType(
    {
        "squeezenet1_0": Entry(
            partial(squeezenet, stem=(96, 7), pooled_before=(0, 3, 7)), "squeezenet", "squeezenet"
        ),
        "squeezenet1_1": Entry(
            partial(squeezenet, stem=(64, 3), pooled_before=(0, 2, 4)), "squeezenet", "squeezenet"
        ),
    }
)
