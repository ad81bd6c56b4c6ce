"""Micro-benchmarks in torch: products, convolutions, copies, launches, layers without work."""

import time
from collections.abc import Iterator
from functools import partial
from statistics import median

import torch
from torch import nn
from torch.nn import functional
from trainlaw.datasets.profiler.devices import device_clock, set_precision
from trainlaw.datasets.profiler.micro import (
    CONVOLUTIONS,
    COPY_BYTES,
    GPU_CONVOLUTIONS,
    GPU_MATRIX_SIDES,
    MATRIX_SIDES,
    MicroTime,
    Stopwatch,
    conv_flop,
    matmul_flop,
    per_layer_overhead,
    time_calls,
)
from trainlaw.datasets.profiler.timing import Clock

_LAYER_COUNTS = (50, 100, 200)  # of chains whose slope is the time per layer
_FLOAT_BYTES = 4


def quick_rates(device: str, seconds: float = 0.4) -> tuple[float, float]:
    """Return the best fp32 rate of large products and convolutions, FLOP/s, and that of a copy, B/s."""
    set_precision(torch, device, "fp32")
    watch = _stopwatch(device)
    side, size = GPU_MATRIX_SIDES[-2] if device == "cuda" else MATRIX_SIDES[-2], COPY_BYTES[-1]
    shape = (GPU_CONVOLUTIONS if device == "cuda" else CONVOLUTIONS)[-1]
    with torch.no_grad():
        product = _matmul(device, torch.float32, side, watch, seconds)
        convolution = _conv(device, torch.float32, shape, watch, seconds)
        return max(product.rate, convolution.rate), _copy(device, size, watch, seconds).rate


def micro_times(device: str, precision: str, seconds: float = 0.3) -> Iterator[MicroTime]:
    """Yield the benchmarks of one device in one precision, each over about `seconds`.

    Raises NotMeasuredError where the device does not have that precision.
    """
    set_precision(torch, device, precision)
    watch = _stopwatch(device)
    half = torch.float16 if device == "cuda" else torch.bfloat16
    dtype = {"amp": half, "bf16": torch.bfloat16}.get(precision, torch.float32)
    is_gpu = device == "cuda"
    with torch.no_grad():
        for side in GPU_MATRIX_SIDES if is_gpu else MATRIX_SIDES:
            yield _matmul(device, dtype, side, watch, seconds)
        for batch, channels, side in GPU_CONVOLUTIONS if is_gpu else CONVOLUTIONS:
            yield _conv(device, dtype, (batch, channels, side), watch, seconds)
        for size in COPY_BYTES:
            yield _copy(device, size, watch, seconds)
        yield _launch(device, seconds)
        yield _layers(device, seconds)


def _matmul(device: str, dtype: torch.dtype, side: int, watch: Stopwatch, seconds: float) -> MicroTime:
    a, b = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
    out = torch.empty_like(a)
    took = time_calls(lambda: torch.mm(a, b, out=out), watch, seconds)
    return MicroTime("matmul", f"{side}", matmul_flop(side), took)


def _conv(
    device: str, dtype: torch.dtype, shape: tuple[int, int, int], watch: Stopwatch, seconds: float
) -> MicroTime:
    batch, channels, side = shape
    images = torch.randn(batch, channels, side, side, device=device).to(dtype)
    weights = torch.randn(channels, channels, 3, 3, device=device).to(dtype)
    took = time_calls(lambda: functional.conv2d(images, weights, padding=1), watch, seconds)
    return MicroTime("conv", f"{batch}x{channels}x{side}x{side} k3", conv_flop(*shape), took)


def _copy(device: str, size: int, watch: Stopwatch, seconds: float) -> MicroTime:
    source = torch.ones(size // _FLOAT_BYTES, device=device)
    target = torch.empty_like(source)
    took = time_calls(lambda: target.copy_(source), watch, seconds)
    return MicroTime("copy", f"{size} B", 2.0 * size, took)


def _launch(device: str, seconds: float) -> MicroTime:
    """Time one operation on one element, the device idle before and after, on the clock of the host."""
    x = torch.ones(1, device=device)
    synchronize = _stopwatch(device).wait

    def call() -> None:
        x.add_(1.0)
        synchronize()

    return MicroTime(
        "launch", "1", 0.0, time_calls(call, Stopwatch(Clock(synchronize), synchronize), seconds)
    )


def _stopwatch(device: str) -> Stopwatch:
    # Operations of a CPU are done when they return.
    return Stopwatch(
        device_clock(torch, device), torch.cuda.synchronize if device == "cuda" else lambda: None
    )


def _layers(device: str, seconds: float) -> MicroTime:
    """Time one more layer without work in a forward pass: the overhead of the host per layer."""
    x = torch.ones(1, 1, 1, 1, device=device)
    watch = _stopwatch(device)
    times = {}
    for count in _LAYER_COUNTS:
        chain = nn.Sequential(*(nn.ReLU() for _ in range(count))).to(device)
        times[count] = time_calls(partial(chain, x), watch, seconds)
    return MicroTime("layer", "1", 0.0, max(per_layer_overhead(times), 1e-9))


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
