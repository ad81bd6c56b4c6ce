"""Plain stacks: LeNet-5, AlexNet, OverFeat, VGG and SqueezeNet, and small CNNs for small images."""

from collections.abc import Mapping

from tools.zoo.recorder import Recorder

# Small CNNs for small images: LeNet-5 (LeCun et al. 1998), MNIST and CIFAR examples, plain stacks.


def lenet5(cnn: Recorder, image: int, n_classes: int) -> int:
    """Two 5 x 5 convolutions and three dense layers."""
    x = image
    for channels in (6, 16):
        x = cnn.max_pool(cnn.relu(cnn.conv(x, channels, 5, padding="valid", bias=True)), 2)
    for features in (120, 84):
        x = cnn.relu(cnn.dense(x, features))
    return cnn.dense(x, n_classes)


def mnist_cnn(cnn: Recorder, image: int, n_classes: int) -> int:
    """Two 3 x 3 convolutions and one dense layer."""
    x = image
    for channels in (32, 64):
        x = cnn.max_pool(cnn.relu(cnn.conv(x, channels, 3, padding="valid", bias=True)), 2)
    return cnn.dense(x, n_classes)


def cifar10_cnn(cnn: Recorder, image: int, n_classes: int) -> int:
    """Two pairs of 3 x 3 convolutions and two dense layers."""
    x = image
    for channels in (32, 64):
        x = cnn.relu(cnn.conv(x, channels, 3, bias=True))
        x = cnn.relu(cnn.conv(x, channels, 3, padding="valid", bias=True))
        x = cnn.dropout(cnn.max_pool(x, 2))
    x = cnn.dropout(cnn.relu(cnn.dense(x, 512)))
    return cnn.dense(x, n_classes)


def plain_stack(cnn: Recorder, image: int, n_classes: int, depth: int, width: int) -> int:
    """`depth` pairs of a 3 x 3 convolution and a pooling, channels doubling from `width`; two dense."""
    x = image
    for position in range(depth):
        x = cnn.max_pool(cnn.relu(cnn.conv(x, width << position, 3, bias=True)), 2)
    return cnn.dense(cnn.relu(cnn.dense(x, 128)), n_classes)


# AlexNet (Krizhevsky et al. 2012) as frameworks and benchmarks write it, and OverFeat (arXiv:1312.6229).


def _classifier(cnn: Recorder, x: int, n_classes: int, widths: tuple[int, int] = (4096, 4096)) -> int:
    for features in widths:
        x = cnn.dropout(cnn.relu(cnn.dense(x, features)))
    return cnn.dense(x, n_classes)


def torch_alexnet(cnn: Recorder, image: int, n_classes: int) -> int:
    """The single-tower form (arXiv:1404.5997) of torchvision."""
    x = cnn.relu(cnn.conv(image, 64, 11, 4, padding=2, bias=True))
    x = cnn.relu(cnn.conv(cnn.max_pool(x, 3, 2), 192, 5, bias=True))
    x = cnn.max_pool(x, 3, 2)
    for channels in (384, 256, 256):
        x = cnn.relu(cnn.conv(x, channels, 3, bias=True))
    x = cnn.adaptive_average_pool(cnn.max_pool(x, 3, 2), 6)
    return _classifier(cnn, x, n_classes)


def two_tower_alexnet(cnn: Recorder, image: int, n_classes: int, *, groups: int, ceil: bool) -> int:
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


def tensorflow_alexnet(cnn: Recorder, image: int, n_classes: int) -> int:
    """The form of the TensorFlow benchmark scripts."""
    x = cnn.relu(cnn.conv(image, 64, 11, 4, padding="valid", bias=True))
    x = cnn.relu(cnn.conv(cnn.max_pool(x, 3, 2), 192, 5, bias=True))
    x = cnn.max_pool(x, 3, 2)
    for channels in (384, 384, 256):
        x = cnn.relu(cnn.conv(x, channels, 3, bias=True))
    return _classifier(cnn, cnn.max_pool(x, 3, 2), n_classes)


def profet_alexnet(cnn: Recorder, image: int, n_classes: int) -> int:
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


def overfeat(cnn: Recorder, image: int, n_classes: int) -> int:
    """OverFeat's fast model."""
    x = cnn.max_pool(cnn.relu(cnn.conv(image, 96, 11, 4, padding="valid", bias=True)), 2)
    x = cnn.max_pool(cnn.relu(cnn.conv(x, 256, 5, padding="valid", bias=True)), 2)
    for channels in (512, 1024, 1024):
        x = cnn.relu(cnn.conv(x, channels, 3, bias=True))
    x = cnn.max_pool(x, 2)
    for features in (3072, 4096):
        x = cnn.relu(cnn.dense(x, features))
    return cnn.dense(x, n_classes)


# VGG (Simonyan and Zisserman 2014, arXiv:1409.1556): plain, normalised, and PROFET's Keras form.

# Convolutions of the five stages: columns A, B, D and E of table 1.
_VGG_STAGES: Mapping[int, tuple[int, ...]] = {
    11: (1, 1, 2, 2, 2),
    13: (2, 2, 2, 2, 2),
    16: (2, 2, 3, 3, 3),
    19: (2, 2, 4, 4, 4),
}


def vgg_features(cnn: Recorder, image: int, depth: int, batchnorm: bool) -> int:
    """Five stages of 3 x 3 convolutions, each ending in a pooling."""
    x = image
    for stage, count in enumerate(_VGG_STAGES[depth]):
        for _ in range(count):
            x = cnn.conv(x, min(64 << stage, 512), 3, bias=True)
            x = cnn.relu(cnn.batchnorm(x) if batchnorm else x)
        x = cnn.max_pool(x, 2)
    return x


def vgg(cnn: Recorder, image: int, n_classes: int, depth: int, batchnorm: bool = False) -> int:
    """A VGG of 11 to 19 layers with weights."""
    # Images other than 224 pixels are pooled to 7 x 7, so that the dense layers keep their size.
    x = cnn.adaptive_average_pool(vgg_features(cnn, image, depth, batchnorm), 7)
    for _ in range(2):
        x = cnn.dropout(cnn.relu(cnn.dense(x, 4096)))
    return cnn.dense(x, n_classes)


def profet_vgg(cnn: Recorder, image: int, n_classes: int, depth: int) -> int:
    """PROFET's form: no resampling before the dense layers, no dropout."""
    x = vgg_features(cnn, image, depth, batchnorm=False)
    for _ in range(2):
        x = cnn.relu(cnn.dense(x, 4096))
    return cnn.dense(x, n_classes)


# SqueezeNet 1.0 and 1.1 (Iandola et al. 2016, arXiv:1602.07360).


def _fire(cnn: Recorder, x: int, squeeze: int, expand: int) -> int:
    x = cnn.relu(cnn.conv(x, squeeze, 1, bias=True))
    sides = [cnn.relu(cnn.conv(x, expand, kernel, bias=True)) for kernel in (1, 3)]
    return cnn.concat(*sides)


def squeezenet(
    cnn: Recorder, image: int, n_classes: int, stem: tuple[int, int], pooled_before: tuple[int, ...]
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
