"""DenseNet (Huang et al. 2016, arXiv:1608.06993)."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.zoo.entry import Entry


def _dense_layer(cnn: CnnBuilder, entering: list[int], growth: int) -> int:
    x = cnn.concat(*entering) if len(entering) > 1 else entering[0]
    # The 1 x 1 convolution limits what the 3 x 3 reads to four times the growth (section 3, "bottleneck").
    x = cnn.conv(cnn.relu(cnn.batchnorm(x)), 4 * growth, 1)
    return cnn.conv(cnn.relu(cnn.batchnorm(x)), growth, 3)


def densenet(
    cnn: CnnBuilder, image: int, n_classes: int, *, blocks: tuple[int, ...], growth: int = 32, stem: int = 64
) -> int:
    """Blocks in which every layer reads all earlier ones, and pooling between them."""
    x = cnn.max_pool(cnn.conv_bn(image, stem, 7, 2), 3, 2, 1)
    for position, count in enumerate(blocks):
        entering = [x]
        for _ in range(count):
            entering.append(_dense_layer(cnn, entering, growth))
        # Every reading of the growing image is a copy: half of the cnn's memory traffic.
        x = cnn.relu(cnn.batchnorm(cnn.concat(*entering)))
        if position < len(blocks) - 1:
            x = cnn.average_pool(cnn.conv(x, cnn.channels(x) // 2, 1), 2)
    return cnn.dense(cnn.global_average_pool(x), n_classes)


# Layers of the blocks: table 1; 161 layers with growth 48 is the authors' larger cnn.
CNNS: Mapping[str, Entry] = MappingProxyType(
    {
        "densenet121": Entry(partial(densenet, blocks=(6, 12, 24, 16)), "densenet121", "densenet"),
        "densenet161": Entry(
            partial(densenet, blocks=(6, 12, 36, 24), growth=48, stem=96), "densenet161", "densenet"
        ),
        "densenet169": Entry(partial(densenet, blocks=(6, 12, 32, 32)), "densenet169", "densenet"),
        "densenet201": Entry(partial(densenet, blocks=(6, 12, 48, 32)), "densenet201", "densenet"),
    }
)
