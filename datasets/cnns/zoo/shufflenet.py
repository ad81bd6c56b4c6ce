"""ShuffleNet v2 (Ma et al. 2018, arXiv:1807.11164)."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from trainlaw.datasets.cnns.builder import CnnBuilder
from trainlaw.datasets.cnns.zoo.entry import Entry

# Channels of the three stages and of the last convolution: table 5.
_WIDTHS = MappingProxyType(
    {
        "x0_5": (48, 96, 192, 1024),
        "x1_0": (116, 232, 464, 1024),
        "x1_5": (176, 352, 704, 1024),
        "x2_0": (244, 488, 976, 2048),
    }
)


def _unit(cnn: CnnBuilder, x: int, channels: int, stride: int) -> int:
    half = channels // 2
    if stride == 1:
        # Half of the channels pass untouched; the shuffle at the end mixes the halves.
        kept, x = cnn.slice(x, half), cnn.slice(x, half)
    else:
        kept = cnn.conv_bn(cnn.depthwise_bn(x, 3, stride, activation=None), half, 1)
    x = cnn.depthwise_bn(cnn.conv_bn(x, half, 1), 3, stride, activation=None)
    return cnn.channel_shuffle(cnn.concat(kept, cnn.conv_bn(x, half, 1)), 2)


def shufflenet_v2(
    cnn: CnnBuilder, image: int, n_classes: int, widths: tuple[int, ...], small_image: bool = False
) -> int:
    """Three stages of units; `small_image` keeps the full resolution at first, for images of 32 x 32."""
    x = cnn.conv_bn(image, 24, 3, 1 if small_image else 2)
    if not small_image:
        x = cnn.max_pool(x, 3, 2, 1)
    for channels, count in zip(widths, (4, 8, 4), strict=False):
        for position in range(count):
            x = _unit(cnn, x, channels, 1 if position else 2)
    x = cnn.conv_bn(x, widths[-1], 1)
    return cnn.dense(cnn.global_average_pool(x), n_classes)


CNNS: Mapping[str, Entry] = MappingProxyType(
    {
        **{
            f"shufflenet_v2_{size}": Entry(partial(shufflenet_v2, widths=widths), "shufflenet", "shufflenet")
            for size, widths in _WIDTHS.items()
        },
        "shufflenet_v2_x1_0(cifar)": Entry(
            partial(shufflenet_v2, widths=_WIDTHS["x1_0"], small_image=True),
            "shufflenet",
            "shufflenet",
            32,
            100,
        ),
    }
)
