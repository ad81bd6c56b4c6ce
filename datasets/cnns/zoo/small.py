"""Small CNNs for small images: LeNet-5 (LeCun et al. 1998), MNIST and CIFAR examples, plain stacks."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.zoo.entry import Entry


def lenet5(cnn: CnnBuilder, image: int, n_classes: int) -> int:
    """Two 5 x 5 convolutions and three dense layers."""
    x = image
    for channels in (6, 16):
        x = cnn.max_pool(cnn.relu(cnn.conv(x, channels, 5, padding="valid", bias=True)), 2)
    for features in (120, 84):
        x = cnn.relu(cnn.dense(x, features))
    return cnn.dense(x, n_classes)


def mnist_cnn(cnn: CnnBuilder, image: int, n_classes: int) -> int:
    """Two 3 x 3 convolutions and one dense layer."""
    x = image
    for channels in (32, 64):
        x = cnn.max_pool(cnn.relu(cnn.conv(x, channels, 3, padding="valid", bias=True)), 2)
    return cnn.dense(x, n_classes)


def cifar10_cnn(cnn: CnnBuilder, image: int, n_classes: int) -> int:
    """Two pairs of 3 x 3 convolutions and two dense layers."""
    x = image
    for channels in (32, 64):
        x = cnn.relu(cnn.conv(x, channels, 3, bias=True))
        x = cnn.relu(cnn.conv(x, channels, 3, padding="valid", bias=True))
        x = cnn.dropout(cnn.max_pool(x, 2))
    x = cnn.dropout(cnn.relu(cnn.dense(x, 512)))
    return cnn.dense(x, n_classes)


def plain_stack(cnn: CnnBuilder, image: int, n_classes: int, depth: int, width: int) -> int:
    """`depth` pairs of a 3 x 3 convolution and a pooling, channels doubling from `width`; two dense."""
    x = image
    for position in range(depth):
        x = cnn.max_pool(cnn.relu(cnn.conv(x, width << position, 3, bias=True)), 2)
    return cnn.dense(cnn.relu(cnn.dense(x, 128)), n_classes)


# Inputs of 32 pixels and three channels, as PROFET and the CIFAR-10 runs use them.
CNNS: Mapping[str, Entry] = MappingProxyType(
    {
        "lenet5": Entry(lenet5, "lenet5", "lenet", 32, 10),
        "mnist_cnn": Entry(mnist_cnn, "mnist", "mnist", 32, 10),
        "cifar10_cnn": Entry(cifar10_cnn, "cifar10", "cifar10", 32, 10),
        **{
            f"plaincnn_d{depth}_f{width}": Entry(
                partial(plain_stack, depth=depth, width=width), "plaincnn", "plaincnn", 32, 10
            )
            for depth in (2, 3, 4, 5)
            for width in (16, 32, 64, 128)
        },
    }
)
