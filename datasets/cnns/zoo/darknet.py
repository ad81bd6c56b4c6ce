"""Detection backbones: Darknet-19 (arXiv:1612.08242), -53 (1804.02767), CSPDarknet-53 (1911.11929), VGG."""

from collections.abc import Mapping
from types import MappingProxyType

from trainlaw.datasets.cnns.builder import NetBuilder
from trainlaw.datasets.cnns.zoo.entry import Entry


def _unit(net: NetBuilder, x: int, channels: int, kernel: int, stride: int = 1) -> int:
    return net.conv_bn(x, channels, kernel, stride, activation="leaky_relu")


def darknet19(net: NetBuilder, image: int, n_classes: int) -> int:
    """Nineteen convolutions, 3 x 3 and 1 x 1 in turn."""
    x = image
    # Table 6 of arXiv:1612.08242.
    for channels, count in ((32, 1), (64, 1), (128, 3), (256, 3), (512, 5), (1024, 5)):
        if x != image:
            x = net.max_pool(x, 2)
        for position in range(count):
            x = _unit(net, x, channels // 2, 1) if position % 2 else _unit(net, x, channels, 3)
    return net.global_average_pool(net.conv(x, n_classes, 1, bias=True))


def _residual(net: NetBuilder, x: int) -> int:
    channels = net.channels(x)
    return net.add(x, _unit(net, _unit(net, x, channels // 2, 1), channels, 3))


# Blocks of the five stages: table 1 of arXiv:1804.02767.
_COUNTS = (1, 2, 8, 8, 4)


def darknet53(net: NetBuilder, image: int, n_classes: int) -> int:
    """Fifty-two convolutions with shortcuts and a dense layer."""
    x = _unit(net, image, 32, 3)
    for stage, count in enumerate(_COUNTS):
        x = net.chain(_unit(net, x, 64 << stage, 3, 2), count, lambda y: _residual(net, y))
    return net.dense(net.global_average_pool(x), n_classes)


def _cross_stage(net: NetBuilder, x: int, channels: int, count: int, first: bool) -> int:
    """A stage whose input is split: one half passes residual blocks, the other goes around them."""
    width = channels if first else channels // 2
    x = net.conv_bn(x, channels, 3, 2, activation="mish")
    around = net.conv_bn(x, width, 1, activation="mish")
    x = net.conv_bn(x, width, 1, activation="mish")
    for _ in range(count):
        y = net.conv_bn(x, channels // 2, 1, activation="mish")
        x = net.add(x, net.conv_bn(y, width, 3, activation="mish"))
    x = net.conv_bn(x, width, 1, activation="mish")
    return net.conv_bn(net.concat(x, around), channels, 1, activation="mish")


def cspdarknet53(net: NetBuilder, image: int, n_classes: int) -> int:
    """Darknet-53 with cross-stage partial connections."""
    x = net.conv_bn(image, 32, 3, activation="mish")
    for stage, count in enumerate(_COUNTS):
        x = _cross_stage(net, x, 64 << stage, count, first=stage == 0)
    return net.dense(net.global_average_pool(x), n_classes)


def atrous_vgg16(net: NetBuilder, image: int, n_classes: int) -> int:
    """VGG-16 with its dense layers as convolutions, one dilated (Liu et al. 2015, arXiv:1512.02325)."""
    x = image
    for stage, count in enumerate((2, 2, 3, 3, 3)):
        for _ in range(count):
            x = net.relu(net.conv(x, min(64 << stage, 512), 3, bias=True))
        # The last pooling keeps the size, since the detector reads what follows at this resolution.
        x = net.max_pool(x, 2, 2, ceil=True) if stage < 4 else net.max_pool(x, 3, 1, 1)
    x = net.relu(net.conv(x, 1024, 3, dilation=6, bias=True))
    x = net.relu(net.conv(x, 1024, 1, bias=True))
    return net.dense(net.global_average_pool(x), n_classes)


NETS: Mapping[str, Entry] = MappingProxyType(
    {
        "darknet19": Entry(darknet19, "darknet19", "darknet"),
        "darknet53": Entry(darknet53, "darknet53", "darknet", 256),
        "cspdarknet53": Entry(cspdarknet53, "cspdarknet53", "darknet", 256),
        "vgg16_atrous": Entry(atrous_vgg16, "vgg16", "vgg", 300),
    }
)
