"""Detectors on pyramids of features: Faster and Mask R-CNN, RetinaNet, SSD320, EfficientDet.

arXiv:1506.01497 (Ren et al. 2015), 1703.06870 (He et al. 2017), 1708.02002 (Lin et al. 2017), 1911.09070 (Tan
et al. 2019), the pyramid 1612.03144 (Lin et al. 2016). A head that all levels share is a layer at each level,
of which the first learns the weights. Regions are as many as training samples; what proposes and suppresses
them and compares them with labels has no layers.
"""

from collections.abc import Sequence

from tools.zoo.efficientnet import stage_outputs
from tools.zoo.recorder import Recorder
from tools.zoo.resnet import bottleneck_block, stem

_WIDTH = 256


def _stages(cnn: Recorder, image: int, early_stride: bool = False) -> list[int]:
    """The outputs of the four stages of ResNet-50."""
    x, outputs = stem(cnn, image), []
    for stage, count in enumerate((3, 4, 6, 3)):
        for position in range(count):
            stride = 2 if stage and not position else 1
            x = bottleneck_block(cnn, x, 64 << stage, stride, early_stride=early_stride)
        outputs.append(x)
    return outputs


def _pyramid(cnn: Recorder, stages: Sequence[int], normalized: bool = False) -> list[int]:
    """Maps of equal width, each the sum of a stage and the coarser map; finest first.

    `normalized`: the smoothing convolutions have batch normalisations, and the coarsest map has none.
    """
    maps: list[int] = []
    merged = None
    for stage in reversed(stages):
        lateral = cnn.conv(stage, _WIDTH, 1, bias=True)
        coarsest = merged is None
        merged = lateral if merged is None else cnn.add(lateral, cnn.resized(merged, lateral))
        if not normalized:
            maps.append(cnn.conv(merged, _WIDTH, 3, bias=True))
        else:
            maps.append(merged if coarsest else cnn.conv_bn(merged, _WIDTH, 3, activation="relu6"))
    return maps[::-1]


def rcnn(cnn: Recorder, image: int, n_classes: int, *, regions: int = 512, masks: int = 0) -> int:
    """Faster R-CNN with `regions` boxes to classify; Mask R-CNN with `masks` of them to outline."""
    maps = _pyramid(cnn, _stages(cnn.frozen(), image))
    for level, x in enumerate([*maps, cnn.max_pool(maps[-1], 1, 2)]):
        _propose(cnn, x, learned=level == 0)
    # Regions come from all levels; the finest, which most are small enough for, stands for them.
    x = cnn.regions(maps[0], regions, 7, flat=True)
    for _ in range(2):
        x = cnn.relu(cnn.conv(x, 1024, 1, bias=True))
    cnn.conv(x, 4 * n_classes, 1, bias=True)
    scores = cnn.conv(x, n_classes, 1, bias=True)
    if masks:
        _outline(cnn, cnn.regions(maps[0], masks, 14), n_classes)
    return scores


def _propose(cnn: Recorder, x: int, learned: bool) -> None:
    """Score and place of three boxes at each pixel."""
    x = cnn.relu(cnn.conv(x, _WIDTH, 3, bias=True, learned=learned))
    cnn.conv(x, 3, 1, bias=True, learned=learned)
    cnn.conv(x, 3 * 4, 1, bias=True, learned=learned)


def _outline(cnn: Recorder, x: int, n_classes: int) -> None:
    for _ in range(4):
        x = cnn.relu(cnn.conv(x, _WIDTH, 3, bias=True))
    x = cnn.relu(cnn.conv_transpose(x, _WIDTH, 2, 2, bias=True))
    cnn.conv(x, n_classes, 1, bias=True)


def retinanet(cnn: Recorder, image: int, n_classes: int, *, from_stage: bool = False) -> int:
    """Nine boxes per pixel of five maps; the fourth is made of the third or, in the paper, the last stage."""
    stages = _stages(cnn.frozen(), image)[1:]
    maps = _pyramid(cnn, stages)
    maps.append(cnn.conv(stages[-1] if from_stage else maps[-1], _WIDTH, 3, 2, bias=True))
    maps.append(cnn.conv(cnn.relu(maps[-1]), _WIDTH, 3, 2, bias=True))
    outputs: list[list[int]] = []
    for channels in (9 * 4, 9 * n_classes):
        outputs.append([_tower(cnn, x, channels, learned=not level) for level, x in enumerate(maps)])
    cnn.concat(*outputs[0], flat=True)
    return cnn.concat(*outputs[1], flat=True)


def _tower(cnn: Recorder, x: int, channels: int, *, learned: bool, normalized: bool = False) -> int:
    """Four convolutions and one to the outputs."""
    for _ in range(4):
        x = cnn.conv(x, _WIDTH, 3, bias=not normalized, learned=learned)
        x = cnn.activation(cnn.batchnorm(x), "relu6") if normalized else cnn.relu(x)
    return cnn.conv(x, channels, 3, bias=True, learned=learned)


def ssd_pyramid(cnn: Recorder, image: int, n_classes: int) -> int:
    """NVIDIA's SSD320: a RetinaNet of six boxes per pixel with a normalisation per level and layer."""
    maps = _pyramid(cnn, _stages(cnn, image, early_stride=True)[1:], normalized=True)
    for _ in range(2):
        maps.append(cnn.conv_bn(maps[-1], _WIDTH, 3, 2, activation="relu6"))
    outputs: list[list[int]] = []
    for channels in (6 * 4, 6 * n_classes):
        outputs.append(
            [_tower(cnn, x, channels, learned=not level, normalized=True) for level, x in enumerate(maps)]
        )
    cnn.concat(*outputs[0], flat=True)
    return cnn.concat(*outputs[1], flat=True)


def efficientdet(cnn: Recorder, image: int, n_classes: int, *, width: int, layers: int, depth: int) -> int:
    """EfficientNet, `layers` pyramids that run down and up again, heads of `depth` convolutions."""
    stages = stage_outputs(cnn, image)
    third, fourth, fifth = stages[2], stages[4], stages[6]
    sixth = cnn.max_pool(_projected(cnn, fifth, width), 3, 2, 1)
    seventh = cnn.max_pool(sixth, 3, 2, 1)
    maps = [*(_projected(cnn, x, width) for x in (third, fourth, fifth)), sixth, seventh]
    # The way up reads the stages through other projections.
    again = [maps[0], *(_projected(cnn, x, width) for x in (fourth, fifth)), sixth, seventh]
    for _ in range(layers):
        maps = again = _down_and_up(cnn, maps, again)
    outputs: list[list[int]] = []
    for channels in (9 * 4, 9 * n_classes):
        outputs.append([_head(cnn, x, channels, depth, learned=not level) for level, x in enumerate(maps)])
    cnn.concat(*outputs[0], flat=True)
    return cnn.concat(*outputs[1], flat=True)


def _projected(cnn: Recorder, x: int, width: int) -> int:
    return cnn.batchnorm(cnn.conv(x, width, 1, bias=True))


def _down_and_up(cnn: Recorder, maps: Sequence[int], again: Sequence[int]) -> list[int]:
    """One layer of the pyramid, finest map first; `again` are the maps that the way up reads."""
    down = [maps[-1]]
    for x in maps[-2::-1]:
        down.insert(0, _weighted(cnn, x, cnn.resized(down[0], x)))
    outputs = down[:1]
    for x, between in zip(again[1:-1], down[1:-1], strict=True):
        outputs.append(_weighted(cnn, x, between, cnn.max_pool(outputs[-1], 3, 2, 1)))
    return [*outputs, _weighted(cnn, again[-1], cnn.max_pool(outputs[-1], 3, 2, 1))]


def _weighted(cnn: Recorder, *xs: int) -> int:
    """A sum with a learned weight for each map, and a separable convolution."""
    x = cnn.add(*(cnn.elementwise(x, "scale", vector_parameters=1) for x in xs))
    return cnn.batchnorm(_separable(cnn, cnn.activation(x, "silu"), cnn.channels(x), learned=True))


def _separable(cnn: Recorder, x: int, channels: int, *, learned: bool) -> int:
    return cnn.conv(cnn.depthwise(x, 3, learned=learned), channels, 1, bias=True, learned=learned)


def _head(cnn: Recorder, x: int, channels: int, depth: int, *, learned: bool) -> int:
    """Separable convolutions that all levels share, with a normalisation per level."""
    for _ in range(depth):
        x = cnn.activation(cnn.batchnorm(_separable(cnn, x, cnn.channels(x), learned=learned)), "silu")
    return _separable(cnn, x, channels, learned=learned)
