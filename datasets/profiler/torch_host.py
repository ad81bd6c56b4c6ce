"""The time in which PyTorch issues one small layer, on a GPU without waiting for it."""

import time
from statistics import median

import torch
from torch import nn

_BLOCKS, _REPEATS, _WARM_UP = 20, 30, 5


def issue_s() -> float:
    """Return the median time in s to issue one layer of one pixel, forward and backward, with one thread."""
    threads, device = torch.get_num_threads(), "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(1)
    try:
        with torch.device(device):
            # Convolution, normalisation and activation alternate, as in most CNNs.
            layers = [
                layer
                for _ in range(_BLOCKS)
                for layer in (nn.Conv2d(8, 8, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
            ]
            network, images = nn.Sequential(*layers), torch.ones(2, 8, 1, 1)
        times = [_issued(network, images) for _ in range(_WARM_UP + _REPEATS)]
    finally:
        torch.set_num_threads(threads)
    return median(times[_WARM_UP:]) / len(layers)


def _issued(network: nn.Module, images: torch.Tensor) -> float:
    if images.is_cuda:
        torch.cuda.synchronize()
    began = time.perf_counter()
    network(images).sum().backward()
    return time.perf_counter() - began
