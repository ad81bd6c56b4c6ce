"""NASNet-A (Zoph et al. 2017, arXiv:1707.07012) and Xception (Chollet 2016, arXiv:1610.02357)."""

from tools.zoo.recorder import Recorder


def separable(cnn: Recorder, x: int, channels: int, kernel: int, stride: int = 1) -> int:
    """A depthwise and a 1 x 1 convolution, then one batch normalisation."""
    x = cnn.depthwise(x, kernel, stride, padding="same")
    return cnn.batchnorm(cnn.conv(x, channels, 1))


def _twice_separable(cnn: Recorder, x: int, channels: int, kernel: int, stride: int = 1) -> int:
    x = separable(cnn, cnn.relu(x), channels, kernel, stride)
    return separable(cnn, cnn.relu(x), channels, kernel)


def _pool(cnn: Recorder, x: int, stride: int = 1) -> int:
    return cnn.average_pool(x, 3, stride, padding="same")


def _fitted(cnn: Recorder, x: int, like: int, channels: int) -> int:
    """A cell's older input brought to the size of the newer one and to the cell's channels."""
    if cnn.shape(x)[1:] != cnn.shape(like)[1:]:
        x = cnn.relu(x)
        # Two 1-pixel poolings of stride 2, one shifted by a pixel, so that nothing is lost but half the rows.
        halves = [cnn.conv(cnn.average_pool(x, 1, 2), channels // 2, 1) for _ in range(2)]
        return cnn.batchnorm(cnn.concat(*halves))
    return _squeezed(cnn, x, channels) if cnn.channels(x) != channels else x


def _squeezed(cnn: Recorder, x: int, channels: int) -> int:
    return cnn.batchnorm(cnn.conv(cnn.relu(x), channels, 1))


# Cells: figure 4 of the paper; channels and counts: its "N @ F" names, 4 @ 1056 and 6 @ 4032.
def _normal_cell(cnn: Recorder, x: int, older: int, channels: int) -> int:
    p, h = _fitted(cnn, older, x, channels), _squeezed(cnn, x, channels)
    return cnn.concat(
        p,
        cnn.add(_twice_separable(cnn, h, channels, 5), _twice_separable(cnn, p, channels, 3)),
        cnn.add(_twice_separable(cnn, p, channels, 5), _twice_separable(cnn, p, channels, 3)),
        cnn.add(_pool(cnn, h), p),
        cnn.add(_pool(cnn, p), _pool(cnn, p)),
        cnn.add(_twice_separable(cnn, h, channels, 3), h),
    )


def _reduction_cell(cnn: Recorder, x: int, older: int | None, channels: int) -> int:
    p, h = x if older is None else _fitted(cnn, older, x, channels), _squeezed(cnn, x, channels)
    first = cnn.add(_twice_separable(cnn, h, channels, 5, 2), _twice_separable(cnn, p, channels, 7, 2))
    maximum = cnn.max_pool(h, 3, 2, padding="same")
    second = cnn.add(maximum, _twice_separable(cnn, p, channels, 7, 2))
    third = cnn.add(_pool(cnn, h, 2), _twice_separable(cnn, p, channels, 5, 2))
    fourth = cnn.add(second, _pool(cnn, first))
    fifth = cnn.add(_twice_separable(cnn, first, channels, 3), maximum)
    return cnn.concat(second, third, fourth, fifth)


def nasnet(
    cnn: Recorder,
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
    older, x = None, cnn.conv_bn(image, stem, 3, 2, padding="valid", activation=None)
    for width in (channels // 4, channels // 2):
        # The stem's cells have a quarter and half of the channels of the first run.
        older, x = x, _reduction_cell(cnn, x, older, width)
    for stage in range(3):
        if stage:
            reduced = _reduction_cell(cnn, x, older, channels << stage)
            older, x = older if skip_reduction else x, reduced
        for _ in range(repeats):
            older, x = x, _normal_cell(cnn, x, older, channels << stage)
    return cnn.dense(cnn.dropout(cnn.global_average_pool(cnn.relu(x))), n_classes)


def _xception_block(cnn: Recorder, x: int, widths: tuple[int, int], starts_with_relu: bool = True) -> int:
    shortcut = cnn.conv_bn(x, widths[1], 1, 2, activation=None)
    y = separable(cnn, cnn.relu(x) if starts_with_relu else x, widths[0], 3)
    y = separable(cnn, cnn.relu(y), widths[1], 3)
    return cnn.add(cnn.max_pool(y, 3, 2, padding="same"), shortcut)


def xception(cnn: Recorder, image: int, n_classes: int) -> int:
    """Separable convolutions with shortcuts."""
    x = cnn.conv_bn(cnn.conv_bn(image, 32, 3, 2, padding="valid"), 64, 3, padding="valid")
    for position, channels in enumerate((128, 256, 728)):
        x = _xception_block(cnn, x, (channels, channels), starts_with_relu=position > 0)
    for _ in range(8):
        x = cnn.add(cnn.chain(x, 3, lambda y: separable(cnn, cnn.relu(y), 728, 3)), x)
    x = _xception_block(cnn, x, (728, 1024))
    for channels in (1536, 2048):
        x = cnn.relu(separable(cnn, x, channels, 3))
    return cnn.dense(cnn.global_average_pool(x), n_classes)
