"""VGG (Simonyan and Zisserman 2014, arXiv:1409.1556): plain, normalised, and PROFET's Keras form."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.zoo.entry import Entry

# Convolutions of the five stages: columns A, B, D and E of table 1.
_STAGES = MappingProxyType(
    {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
)


def vgg_features(cnn: CnnBuilder, image: int, depth: int, batchnorm: bool) -> int:
    """Five stages of 3 x 3 convolutions, each ending in a pooling."""
    x = image
    for stage, count in enumerate(_STAGES[depth]):
        for _ in range(count):
            x = cnn.conv(x, min(64 << stage, 512), 3, bias=True)
            x = cnn.relu(cnn.batchnorm(x) if batchnorm else x)
        x = cnn.max_pool(x, 2)
    return x


def vgg(cnn: CnnBuilder, image: int, n_classes: int, depth: int, batchnorm: bool = False) -> int:
    """A VGG of 11 to 19 layers with weights."""
    # Images other than 224 pixels are pooled to 7 x 7, so that the dense layers keep their size.
    x = cnn.adaptive_average_pool(vgg_features(cnn, image, depth, batchnorm), 7)
    for _ in range(2):
        x = cnn.dropout(cnn.relu(cnn.dense(x, 4096)))
    return cnn.dense(x, n_classes)


def profet_vgg(cnn: CnnBuilder, image: int, n_classes: int, depth: int) -> int:
    """PROFET's form: no resampling before the dense layers, no dropout."""
    x = vgg_features(cnn, image, depth, batchnorm=False)
    for _ in range(2):
        x = cnn.relu(cnn.dense(x, 4096))
    return cnn.dense(x, n_classes)


def _entry(
    architecture: Callable[..., int], depth: int, size: int = 224, n_classes: int = 1000, **options: bool
) -> Entry:
    return Entry(partial(architecture, depth=depth, **options), f"vgg{depth}", "vgg", size, n_classes)


CNNS: Mapping[str, Entry] = MappingProxyType(
    {
        **{f"vgg{depth}": _entry(vgg, depth) for depth in _STAGES},
        **{f"vgg{depth}_bn": _entry(vgg, depth, batchnorm=True) for depth in _STAGES},
        **{f"vgg{depth}_profet": _entry(profet_vgg, depth, 32, 10) for depth in _STAGES},
    }
)
