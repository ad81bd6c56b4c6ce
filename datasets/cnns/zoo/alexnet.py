"""AlexNet (Krizhevsky et al. 2012) as frameworks and benchmarks write it, and OverFeat (arXiv:1312.6229)."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.zoo.entry import Entry


def _classifier(cnn: CnnBuilder, x: int, n_classes: int, widths: tuple[int, int] = (4096, 4096)) -> int:
    for features in widths:
        x = cnn.dropout(cnn.relu(cnn.dense(x, features)))
    return cnn.dense(x, n_classes)


def torch_alexnet(cnn: CnnBuilder, image: int, n_classes: int) -> int:
    """The single-tower form (arXiv:1404.5997) of torchvision."""
    x = cnn.relu(cnn.conv(image, 64, 11, 4, padding=2, bias=True))
    x = cnn.relu(cnn.conv(cnn.max_pool(x, 3, 2), 192, 5, bias=True))
    x = cnn.max_pool(x, 3, 2)
    for channels in (384, 256, 256):
        x = cnn.relu(cnn.conv(x, channels, 3, bias=True))
    x = cnn.adaptive_average_pool(cnn.max_pool(x, 3, 2), 6)
    return _classifier(cnn, x, n_classes)


def two_tower_alexnet(cnn: CnnBuilder, image: int, n_classes: int, *, groups: int, ceil: bool) -> int:
    """The 2012 form, with local response normalisation; `groups` is 2 with the towers kept apart.

    `ceil` keeps last incomplete pooling windows, as Caffe does, so that images of 224 and 227 pixels fit.
    """
    # The two GPUs of 2012 each held half of the channels; Caffe kept that as two groups, MXNet did not.
    x = image
    for channels, kernel, stride, padding, split in ((96, 11, 4, 0, 1), (256, 5, 1, 2, groups)):
        x = cnn.relu(cnn.conv(x, channels, kernel, stride, padding=padding, groups=split, bias=True))
        x = cnn.max_pool(cnn.lrn(x), 3, 2, ceil=ceil)
    for channels, split in ((384, 1), (384, groups), (256, groups)):
        x = cnn.relu(cnn.conv(x, channels, 3, groups=split, bias=True))
    return _classifier(cnn, cnn.max_pool(x, 3, 2, ceil=ceil), n_classes)


def tensorflow_alexnet(cnn: CnnBuilder, image: int, n_classes: int) -> int:
    """The form of the TensorFlow benchmark scripts."""
    x = cnn.relu(cnn.conv(image, 64, 11, 4, padding="valid", bias=True))
    x = cnn.relu(cnn.conv(cnn.max_pool(x, 3, 2), 192, 5, bias=True))
    x = cnn.max_pool(x, 3, 2)
    for channels in (384, 384, 256):
        x = cnn.relu(cnn.conv(x, channels, 3, bias=True))
    return _classifier(cnn, cnn.max_pool(x, 3, 2), n_classes)


def profet_alexnet(cnn: CnnBuilder, image: int, n_classes: int) -> int:
    """PROFET's form: stride 1 in the first convolution, padding layers, every output normalised."""

    def unit(x: int, channels: int, kernel: int) -> int:
        return cnn.relu(cnn.batchnorm(cnn.conv(x, channels, kernel, bias=True)))

    x = cnn.max_pool(unit(image, 96, 11), 2)
    x = cnn.max_pool(unit(x, 256, 5), 2)
    x = cnn.max_pool(unit(cnn.pad(x, 1, 1, 1, 1), 512, 3), 2)
    x = unit(cnn.pad(x, 1, 1, 1, 1), 1024, 3)
    x = cnn.max_pool(unit(cnn.pad(x, 1, 1, 1, 1), 1024, 3), 2)
    for features in (3072, 4096):
        x = cnn.dropout(cnn.relu(cnn.batchnorm(cnn.dense(x, features))))
    return cnn.batchnorm(cnn.dense(x, n_classes))


def overfeat(cnn: CnnBuilder, image: int, n_classes: int) -> int:
    """OverFeat's fast model."""
    x = cnn.max_pool(cnn.relu(cnn.conv(image, 96, 11, 4, padding="valid", bias=True)), 2)
    x = cnn.max_pool(cnn.relu(cnn.conv(x, 256, 5, padding="valid", bias=True)), 2)
    for channels in (512, 1024, 1024):
        x = cnn.relu(cnn.conv(x, channels, 3, bias=True))
    x = cnn.max_pool(x, 2)
    for features in (3072, 4096):
        x = cnn.relu(cnn.dense(x, features))
    return cnn.dense(x, n_classes)


CNNS: Mapping[str, Entry] = MappingProxyType(
    {
        "alexnet_torch": Entry(torch_alexnet, "alexnet", "alexnet"),
        "alexnet_bvlc": Entry(partial(two_tower_alexnet, groups=2, ceil=True), "alexnet", "alexnet", 227),
        "alexnet_mx": Entry(partial(two_tower_alexnet, groups=1, ceil=False), "alexnet", "alexnet", 227),
        "alexnet_tf": Entry(tensorflow_alexnet, "alexnet", "alexnet", 224, 1001),
        "alexnet_profet": Entry(profet_alexnet, "alexnet", "alexnet", 32, 10),
        "overfeat": Entry(overfeat, "overfeat", "overfeat", 231),
    }
)
