"""GoogLeNet (arXiv:1409.4842), Inception v3 (1512.00567), v4 and Inception-ResNet v2 (1602.07261)."""

from functools import partial

from trainlaw.datasets.cnns.windows import Size

from tools.zoo.recorder import Recorder

# GoogLeNet (Szegedy et al. 2014, arXiv:1409.4842), as published and as torchvision normalises it.

# Channels of a module's parts: 1 x 1; 1 x 1 and 3 x 3; 1 x 1 and 5 x 5; after the pooling (paper, table 1).
_GOOGLENET_MODULES = (
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


def googlenet(cnn: Recorder, image: int, n_classes: int, batchnorm: bool = False) -> int:
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
    for position, widths in enumerate(_GOOGLENET_MODULES):
        if position in {2, 7}:
            x = cnn.max_pool(x, 3, 2, ceil=True)
        x = module(x, widths)
    return cnn.dense(cnn.dropout(cnn.global_average_pool(x)), n_classes)


# Inception v3 (arXiv:1512.00567), v4 and Inception-ResNet v2 (Szegedy et al. 2016, arXiv:1602.07261).


Step = tuple[int, Size] | tuple[int, Size, int]


def _path(cnn: Recorder, x: int, *steps: Step) -> int:
    """Convolutions in a row; a step is channels and kernel, and a stride where there is no padding."""
    for step in steps:
        channels, kernel, *stride = step
        x = cnn.conv_bn(x, channels, kernel, *stride, padding="valid" if stride else "half")
    return x


def _pooled(cnn: Recorder, x: int, channels: int) -> int:
    return _path(cnn, cnn.average_pool(x, 3, 1, 1), (channels, 1))


def _stem(cnn: Recorder, image: int) -> int:
    """The seven layers that v3 and Inception-ResNet share."""
    x = cnn.max_pool(_path(cnn, image, (32, 3, 2), (32, 3, 1), (64, 3)), 3, 2)
    return cnn.max_pool(_path(cnn, x, (80, 1), (192, 3, 1)), 3, 2)


def _fan(cnn: Recorder, x: int, channels: int) -> tuple[int, int]:
    """A 1 x 3 and a 3 x 1 convolution in parallel."""
    return _path(cnn, x, (channels, (1, 3))), _path(cnn, x, (channels, (3, 1)))


# Modules are named by the side of the image that they work on; v3: figures 5, 6 and 7 of its paper.
def _module35(cnn: Recorder, x: int, pooled: int, one: int = 64) -> int:
    return cnn.concat(
        _path(cnn, x, (one, 1)),
        _path(cnn, x, (48, 1), (64, 5)),
        _path(cnn, x, (64, 1), (96, 3), (96, 3)),
        _pooled(cnn, x, pooled),
    )


def _module17(cnn: Recorder, x: int, width: int) -> int:
    long: list[Step] = [(width, 1), (width, (7, 1)), (width, (1, 7)), (width, (7, 1)), (192, (1, 7))]
    return cnn.concat(
        _path(cnn, x, (192, 1)),
        _path(cnn, x, (width, 1), (width, (1, 7)), (192, (7, 1))),
        _path(cnn, x, *long),
        _pooled(cnn, x, 192),
    )


def _module8(cnn: Recorder, x: int) -> int:
    return cnn.concat(
        _path(cnn, x, (320, 1)),
        *_fan(cnn, _path(cnn, x, (384, 1)), 384),
        *_fan(cnn, _path(cnn, x, (448, 1), (384, 3)), 384),
        _pooled(cnn, x, 192),
    )


def _auxiliary(cnn: Recorder, x: int, n_classes: int) -> None:
    """The second classifier that training has."""
    x = _path(cnn, cnn.average_pool(x, 5, 3), (128, 1), (768, 5, 1))
    cnn.softmax(cnn.dense(cnn.global_average_pool(x), n_classes))


def inception_v3(
    cnn: Recorder, image: int, n_classes: int, auxiliary: bool = False, dropout: bool = False
) -> int:
    """Inception v3; with `auxiliary` its second classifier too."""
    x = _stem(cnn, image)
    for pooled in (32, 64, 64):
        x = _module35(cnn, x, pooled)
    pool = cnn.max_pool(x, 3, 2)
    x = cnn.concat(_path(cnn, x, (384, 3, 2)), _path(cnn, x, (64, 1), (96, 3), (96, 3, 2)), pool)
    # The four modules widen their 7-pixel convolutions (authors' code; the paper shows one figure).
    for width in (128, 160, 160, 192):
        x = _module17(cnn, x, width)
    if auxiliary:
        _auxiliary(cnn, x, n_classes)
    pool = cnn.max_pool(x, 3, 2)
    seven = _path(cnn, x, (192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, 2))
    x = cnn.concat(_path(cnn, x, (192, 1), (320, 3, 2)), seven, pool)
    x = cnn.global_average_pool(_module8(cnn, _module8(cnn, x)))
    return cnn.dense(cnn.dropout(x) if dropout else x, n_classes)


# v4: figures 3 to 8 of its paper.
def _v4_stem(cnn: Recorder, image: int) -> int:
    x = _path(cnn, image, (32, 3, 2), (32, 3, 1), (64, 3))
    x = cnn.concat(cnn.max_pool(x, 3, 2), _path(cnn, x, (96, 3, 2)))
    long = _path(cnn, x, (64, 1), (64, (7, 1)), (64, (1, 7)), (96, 3, 1))
    x = cnn.concat(_path(cnn, x, (64, 1), (96, 3, 1)), long)
    return cnn.concat(_path(cnn, x, (192, 3, 2)), cnn.max_pool(x, 3, 2))


def _v4_module35(cnn: Recorder, x: int) -> int:
    return cnn.concat(
        _pooled(cnn, x, 96),
        _path(cnn, x, (96, 1)),
        _path(cnn, x, (64, 1), (96, 3)),
        _path(cnn, x, (64, 1), (96, 3), (96, 3)),
    )


def _v4_module17(cnn: Recorder, x: int) -> int:
    return cnn.concat(
        _pooled(cnn, x, 128),
        _path(cnn, x, (384, 1)),
        _path(cnn, x, (192, 1), (224, (1, 7)), (256, (7, 1))),
        _path(cnn, x, (192, 1), (192, (1, 7)), (224, (7, 1)), (224, (1, 7)), (256, (7, 1))),
    )


def _v4_module8(cnn: Recorder, x: int) -> int:
    return cnn.concat(
        _pooled(cnn, x, 256),
        _path(cnn, x, (256, 1)),
        *_fan(cnn, _path(cnn, x, (384, 1)), 256),
        *_fan(cnn, _path(cnn, x, (384, 1), (448, (1, 3)), (512, (3, 1))), 256),
    )


def inception_v4(cnn: Recorder, image: int, n_classes: int) -> int:
    """Inception v4."""
    x = cnn.chain(_v4_stem(cnn, image), 4, partial(_v4_module35, cnn))
    reduced = _path(cnn, x, (192, 1), (224, 3), (256, 3, 2))
    x = cnn.concat(cnn.max_pool(x, 3, 2), _path(cnn, x, (384, 3, 2)), reduced)
    x = cnn.chain(x, 7, partial(_v4_module17, cnn))
    reduced = _path(cnn, x, (256, 1), (256, (1, 7)), (320, (7, 1)), (320, 3, 2))
    x = cnn.concat(cnn.max_pool(x, 3, 2), _path(cnn, x, (192, 1), (192, 3, 2)), reduced)
    x = cnn.chain(x, 3, partial(_v4_module8, cnn))
    return cnn.dense(cnn.dropout(cnn.global_average_pool(x)), n_classes)


def _residual(cnn: Recorder, x: int, *branches: tuple[Step, ...], last: bool = False) -> int:
    """Branches joined, brought to the width of `x`, scaled and added to it; the last has no activation."""
    joined = cnn.concat(*(_path(cnn, x, *steps) for steps in branches))
    x = cnn.add(x, cnn.scale(cnn.conv(joined, cnn.channels(x), 1, bias=True)))
    return x if last else cnn.relu(x)


# Inception-ResNet v2: figures 16, 17 and 19, with the stem of v3 as in the authors' code.
_RESIDUAL35 = (((32, 1),), ((32, 1), (32, 3)), ((32, 1), (48, 3), (64, 3)))
_RESIDUAL17 = (((192, 1),), ((128, 1), (160, (1, 7)), (192, (7, 1))))
_RESIDUAL8 = (((192, 1),), ((192, 1), (224, (1, 3)), (256, (3, 1))))


def inception_resnet_v2(cnn: Recorder, image: int, n_classes: int) -> int:
    """Inception-ResNet v2 (20, 10 and 20 residual modules)."""
    x = _module35(cnn, _stem(cnn, image), pooled=64, one=96)
    x = cnn.chain(x, 10, lambda y: _residual(cnn, y, *_RESIDUAL35))
    reduced = _path(cnn, x, (256, 1), (256, 3), (384, 3, 2))
    x = cnn.concat(_path(cnn, x, (384, 3, 2)), reduced, cnn.max_pool(x, 3, 2))
    x = cnn.chain(x, 20, lambda y: _residual(cnn, y, *_RESIDUAL17))
    x = cnn.concat(
        _path(cnn, x, (256, 1), (384, 3, 2)),
        _path(cnn, x, (256, 1), (288, 3, 2)),
        _path(cnn, x, (256, 1), (288, 3), (320, 3, 2)),
        cnn.max_pool(x, 3, 2),
    )
    x = cnn.chain(x, 9, lambda y: _residual(cnn, y, *_RESIDUAL8))
    x = _path(cnn, _residual(cnn, x, *_RESIDUAL8, last=True), (1536, 1))
    return cnn.dense(cnn.global_average_pool(x), n_classes)
