"""Convolutional networks as graphs of layers: a zoo by name, readers of other forms, aggregate counts."""

from trainlaw.datasets.cnns.counts import counts, explain
from trainlaw.datasets.cnns.graph import Cnn, Layer
from trainlaw.datasets.cnns.zoo import build, zoo_entry, zoo_names

__all__ = ["Cnn", "Layer", "build", "counts", "explain", "zoo_entry", "zoo_names"]
