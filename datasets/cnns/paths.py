"""The longest way through a network's graph.

Layers are listed after all that they read, so one pass over the list answers it, without a graph library.
"""

from collections.abc import Sequence

from trainlaw.datasets.cnns.graph import Cnn


def longest_path(cnn: Cnn, weights: Sequence[float]) -> float:
    """Largest sum of `weights` (one per layer) along a way from an input to an output, unit of the weights.

    >>> from trainlaw.datasets.cnns.zoo import build
    >>> net = build("lenet5")
    >>> longest_path(net, [layer.macs for layer in net.layers]) == sum(layer.macs for layer in net.layers)
    True
    """
    reached: list[float] = []
    for layer, weight in zip(cnn.layers, weights, strict=True):
        reached.append(weight + max((reached[i] for i in layer.inputs), default=0))
    return max(reached)
