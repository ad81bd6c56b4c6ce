"""Detection backbones: Darknet-19 (arXiv:1612.08242), -53 (1804.02767), CSPDarknet-53 (1911.11929), VGG."""

from tools.zoo.recorder import Recorder


def _unit(cnn: Recorder, x: int, channels: int, kernel: int, stride: int = 1) -> int:
    return cnn.conv_bn(x, channels, kernel, stride, activation="leaky_relu")


def darknet19(cnn: Recorder, image: int, n_classes: int) -> int:
    """Nineteen convolutions, 3 x 3 and 1 x 1 in turn."""
    x = image
    # Table 6 of arXiv:1612.08242.
    for channels, count in ((32, 1), (64, 1), (128, 3), (256, 3), (512, 5), (1024, 5)):
        if x != image:
            x = cnn.max_pool(x, 2)
        for position in range(count):
            x = _unit(cnn, x, channels // 2, 1) if position % 2 else _unit(cnn, x, channels, 3)
    return cnn.global_average_pool(cnn.conv(x, n_classes, 1, bias=True))


def _residual(cnn: Recorder, x: int) -> int:
    channels = cnn.channels(x)
    return cnn.add(x, _unit(cnn, _unit(cnn, x, channels // 2, 1), channels, 3))


# Blocks of the five stages: table 1 of arXiv:1804.02767.
_COUNTS = (1, 2, 8, 8, 4)


def darknet53(cnn: Recorder, image: int, n_classes: int) -> int:
    """Fifty-two convolutions with shortcuts and a dense layer."""
    x = _unit(cnn, image, 32, 3)
    for stage, count in enumerate(_COUNTS):
        x = cnn.chain(_unit(cnn, x, 64 << stage, 3, 2), count, lambda y: _residual(cnn, y))
    return cnn.dense(cnn.global_average_pool(x), n_classes)


def _cross_stage(cnn: Recorder, x: int, channels: int, count: int, first: bool) -> int:
    """A stage whose input is split: one half passes residual blocks, the other goes around them."""
    width = channels if first else channels // 2
    x = cnn.conv_bn(x, channels, 3, 2, activation="mish")
    around = cnn.conv_bn(x, width, 1, activation="mish")
    x = cnn.conv_bn(x, width, 1, activation="mish")
    for _ in range(count):
        y = cnn.conv_bn(x, channels // 2, 1, activation="mish")
        x = cnn.add(x, cnn.conv_bn(y, width, 3, activation="mish"))
    x = cnn.conv_bn(x, width, 1, activation="mish")
    return cnn.conv_bn(cnn.concat(x, around), channels, 1, activation="mish")


def cspdarknet53(cnn: Recorder, image: int, n_classes: int) -> int:
    """Darknet-53 with cross-stage partial connections."""
    x = cnn.conv_bn(image, 32, 3, activation="mish")
    for stage, count in enumerate(_COUNTS):
        x = _cross_stage(cnn, x, 64 << stage, count, first=stage == 0)
    return cnn.dense(cnn.global_average_pool(x), n_classes)


def atrous_vgg16(cnn: Recorder, image: int, n_classes: int) -> int:
    """VGG-16 with its dense layers as convolutions, one dilated (Liu et al. 2015, arXiv:1512.02325)."""
    x = image
    for stage, count in enumerate((2, 2, 3, 3, 3)):
        for _ in range(count):
            x = cnn.relu(cnn.conv(x, min(64 << stage, 512), 3, bias=True))
        # The last pooling keeps the size, since the detector reads what follows at this resolution.
        x = cnn.max_pool(x, 2, 2, ceil=True) if stage < 4 else cnn.max_pool(x, 3, 1, 1)
    x = cnn.relu(cnn.conv(x, 1024, 3, dilation=6, bias=True))
    x = cnn.relu(cnn.conv(x, 1024, 1, bias=True))
    return cnn.dense(cnn.global_average_pool(x), n_classes)
