"""SqueezeNet 1.0 and 1.1 (Iandola et al. 2016, arXiv:1602.07360)."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.zoo.entry import Entry


def _fire(cnn: CnnBuilder, x: int, squeeze: int, expand: int) -> int:
    x = cnn.relu(cnn.conv(x, squeeze, 1, bias=True))
    sides = [cnn.relu(cnn.conv(x, expand, kernel, bias=True)) for kernel in (1, 3)]
    return cnn.concat(*sides)


def squeezenet(
    cnn: CnnBuilder, image: int, n_classes: int, stem: tuple[int, int], pooled_before: tuple[int, ...]
) -> int:
    """Eight fire modules; `stem` is the first layer's channels and kernel, `pooled_before` pooled modules."""
    x = cnn.relu(cnn.conv(image, stem[0], stem[1], 2, padding="valid", bias=True))
    # Table 1: channels of the 1 x 1 that squeezes and of the two that expand.
    widths = ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))
    for position, (squeeze, expand) in enumerate(widths):
        if position in pooled_before:
            x = cnn.max_pool(x, 3, 2, ceil=True)
        x = _fire(cnn, x, squeeze, expand)
    x = cnn.relu(cnn.conv(cnn.dropout(x), n_classes, 1, bias=True))
    return cnn.global_average_pool(x)


CNNS: Mapping[str, Entry] = MappingProxyType(
    {
        "squeezenet1_0": Entry(
            partial(squeezenet, stem=(96, 7), pooled_before=(0, 3, 7)), "squeezenet", "squeezenet"
        ),
        "squeezenet1_1": Entry(
            partial(squeezenet, stem=(64, 3), pooled_before=(0, 2, 4)), "squeezenet", "squeezenet"
        ),
    }
)
