"""Micro-benchmarks in torch: a product, a convolution, a copy, and launches."""

import time
from collections.abc import Callable
from statistics import median

import torch
from torch import nn
from torch.nn import functional
from torch.utils import benchmark
from trainlaw.datasets.profiler.devices import set_precision
from trainlaw.datasets.profiler.micro import AchievedRates

# Side of square matrices, (batch, channels, side) of a 3 x 3 convolution, bytes of a copy: by these a CPU or
# GPU is busy, and they take milliseconds.
_SIDES = {"cpu": 2048, "cuda": 8192}
_CONVOLUTIONS = {"cpu": (32, 256, 14), "cuda": (128, 256, 28)}
_COPY_BYTES = 2**27
_FLOAT_BYTES = 4


def achieved_rates(device: str, precision: str, seconds: float = 0.3) -> AchievedRates:
    """Return the rates of a device in a precision, each measured over about `seconds`.

    Raises NotMeasuredError where the device does not have that precision.
    """
    set_precision(torch, device, precision)
    half = torch.float16 if device == "cuda" else torch.bfloat16
    dtype = {"amp": half, "bf16": torch.bfloat16}.get(precision, torch.float32)
    # Operations of a CPU are done when they return.
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    side = _SIDES[device]
    batch, channels, height = _CONVOLUTIONS[device]
    with torch.no_grad(), torch.device(device):
        a, b = (torch.randn(side, side).to(dtype) for _ in range(2))
        images = torch.randn(batch, channels, height, height).to(dtype)
        weights = torch.randn(channels, channels, 3, 3).to(dtype)
        source, x = torch.ones(_COPY_BYTES // _FLOAT_BYTES), torch.ones(1)
        out, target = torch.empty_like(a), torch.empty_like(source)

        def launch() -> None:
            x.add_(1.0)
            wait()

        return AchievedRates(
            2 * side**3 / _seconds(lambda: torch.mm(a, b, out=out), seconds),
            18
            * batch
            * channels**2
            * height**2
            / _seconds(lambda: functional.conv2d(images, weights, padding=1), seconds),
            2 * _COPY_BYTES / _seconds(lambda: target.copy_(source), seconds),
            # Of one element, the device idle before and after.
            _seconds(launch, seconds),
        )


def _seconds(call: Callable[[], object], seconds: float) -> float:
    """Return the seconds of one call: median of blocks of calls that last about `seconds` in all.

    Within a block, calls follow each other without waiting for the device.
    """
    timer = benchmark.Timer("call()", globals={"call": call}, num_threads=torch.get_num_threads())
    return float(timer.blocked_autorange(min_run_time=seconds).median)


def quick_rates(device: str) -> tuple[float, float]:
    """Return the best fp32 rate of large products and convolutions, FLOP/s, and that of a copy, B/s."""
    rates = achieved_rates(device, "fp32")
    flop_per_s = max(rates.achieved_matmul_flop_per_s, rates.achieved_conv_flop_per_s)
    return flop_per_s, rates.achieved_copy_byte_per_s


# Blocks of layers, repeats that count, and those before them.
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
