"""Networks that predict for each place of an image: U-Net, nnU-Net, SSD.

arXiv:1505.04597 (Ronneberger et al. 2015), 1809.10486 (Isensee et al. 2018) and 1512.02325 (Liu et al. 2016),
in the forms whose training times NVIDIA's DeepLearningExamples prints.
"""

from tools.zoo.recorder import Recorder
from tools.zoo.resnet import bottleneck_block, stem


def _two_convs(cnn: Recorder, x: int, channels: tuple[int, int], padding: str) -> int:
    for width in channels:
        x = cnn.relu(cnn.conv(x, width, 3, padding=padding, bias=True))
    return x


def _up(cnn: Recorder, x: int, channels: int, padded: bool) -> int:
    """Twice the height and width: a transposed convolution, or repeated pixels and a convolution."""
    if not padded:
        return cnn.relu(cnn.conv_transpose(x, channels, 3, 2, padding="same", bias=True))
    return cnn.relu(cnn.conv(cnn.doubled(x), channels, 2, padding="same", bias=True))


def _beside(cnn: Recorder, x: int, skipped: int) -> int:
    """The channels of `x` and of the middle of an earlier, larger image."""
    return cnn.concat(x, cnn.cropped(skipped, x))


def unet(cnn: Recorder, image: int, n_classes: int, *, widths: tuple[int, ...], padded: bool) -> int:
    """Pairs of convolutions at `len(widths)` resolutions, down and up again, with copies across.

    `padded` keeps the sides and halves the channels before each resolution is doubled; without it each
    convolution loses two pixels and the copies are cut to fit, as in the paper.
    """
    padding = "half" if padded else "valid"
    x, skipped = image, []
    for width in widths[:-1]:
        skipped.append(_two_convs(cnn, x, (width, width), padding))
        x = cnn.max_pool(skipped[-1], 2)
    x = _two_convs(cnn, x, (widths[-1], widths[-1]), padding)
    x = _up(cnn, x if padded else cnn.dropout(x), widths[-1] // 2, padded)
    for width in widths[-2:0:-1]:
        second = width // 2 if padded else width
        x = _two_convs(cnn, _beside(cnn, x, skipped.pop()), (width, second), padding)
        x = _up(cnn, x, width // 2, padded)
    x = _two_convs(cnn, _beside(cnn, x, skipped.pop()), (widths[0], widths[0]), padding)
    return cnn.conv(x, n_classes, 1, bias=True)


def _two_normalized_convs(cnn: Recorder, x: int, channels: int, stride: int = 1) -> int:
    for step in (stride, 1):
        x = cnn.conv(x, channels, 3, step)
        x = cnn.elementwise(x, "instancenorm", vector_parameters=2 * channels)
        x = cnn.elementwise(x, "leaky_relu")
    return x


def nnunet(cnn: Recorder, image: int, n_classes: int, *, widths: tuple[int, ...]) -> int:
    """Pairs of convolutions, each with instance normalisation, at `len(widths)` resolutions, down and up."""
    x, skipped = _two_normalized_convs(cnn, image, widths[0]), []
    for width in widths[1:]:
        skipped.append(x)
        x = _two_normalized_convs(cnn, x, width, 2)
    for width in widths[-2::-1]:
        x = cnn.conv_transpose(x, width, 2, 2, bias=True)
        x = _two_normalized_convs(cnn, cnn.concat(x, skipped.pop()), width)
    return cnn.conv(x, n_classes, 1, bias=True)


# Channels between the two convolutions and after them, and stride and padding of the second, for each map of
# features beyond the backbone's; boxes per place of each map.
_MORE_MAPS = ((256, 512, 2, 1), (256, 512, 2, 1), (128, 256, 2, 1), (128, 256, 1, 0), (128, 256, 1, 0))
_BOXES = (4, 6, 6, 6, 4, 4)


def ssd(cnn: Recorder, image: int, n_classes: int) -> int:
    """SSD on the first three stages of ResNet-50, the third without its stride; six maps of boxes."""
    x = stem(cnn, image)
    for channels, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 1)):
        for position in range(count):
            x = bottleneck_block(cnn, x, channels, 1 if position else stride)
    maps = [x]
    for between, channels, stride, padding in _MORE_MAPS:
        x = cnn.conv_bn(cnn.conv_bn(x, between, 1), channels, 3, stride, padding=padding)
        maps.append(x)
    places = [cnn.conv(x, 4 * boxes, 3, bias=True) for x, boxes in zip(maps, _BOXES, strict=True)]
    scores = [cnn.conv(x, n_classes * boxes, 3, bias=True) for x, boxes in zip(maps, _BOXES, strict=True)]
    cnn.concat(*places, flat=True)
    return cnn.concat(*scores, flat=True)
