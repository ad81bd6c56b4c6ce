"""Measure one configuration in this process: build and time it, or report why that is impossible."""

import gc
from collections.abc import Callable
from functools import partial
from math import nan

import torch
from trainlaw.datasets.cnns.catalog import CnnCounts
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.memory import training_memory
from trainlaw.datasets.cnns.zoo import build
from trainlaw.datasets.profiler.configurations import FORWARD_PASS, Configuration
from trainlaw.datasets.profiler.devices import (
    NotMeasuredError,
    device_clock,
    reason_not_measured,
    set_precision,
)
from trainlaw.datasets.profiler.machine import GpuState, Watch, available_memory_bytes, gpu_state
from trainlaw.datasets.profiler.run_rows import Measurement
from trainlaw.datasets.profiler.timing import StoppingRule, time_iterations
from trainlaw.datasets.profiler.torch_cnn import TorchForward, TorchStep


def device_state(device: str) -> GpuState:
    """Return the state of the GPU in use, or an empty one for a CPU."""
    if device == "cpu":
        return GpuState()
    index = torch.cuda.current_device()
    unique = getattr(torch.cuda.get_device_properties(index), "uuid", None)
    return gpu_state(f"GPU-{unique}" if unique else str(index))


def _ready_cnn(configuration: Configuration) -> Cnn:
    """Set threads and precision, and return the CNN; raises NotMeasuredError, InputError."""
    set_precision(torch, configuration.device, configuration.precision)
    if configuration.threads:
        torch.set_num_threads(configuration.threads)
    cnn = build(configuration.cnn, configuration.input_size_px, configuration.n_classes)
    if configuration.device == "cpu":
        # Random images can drive numbers below 1e-38, which a CPU computes a hundred times slower.
        torch.set_flush_denormal(True)
        _check_memory(cnn, configuration)
    else:
        # Memory cached by earlier measurements must not look like that of another program.
        torch.cuda.empty_cache()
    return cnn


def _check_memory(cnn: Cnn, configuration: Configuration) -> None:
    """Refuse a step that cannot fit: Linux overcommits memory and kills the program later."""
    memory = training_memory(cnn, configuration.batch, configuration.precision)
    is_forward = configuration.timed_parts == FORWARD_PASS
    # A forward pass keeps the inputs of later layers, about as much as the gradients of activations need.
    needed = memory.weights + memory.working if is_forward else memory.needed
    available = available_memory_bytes()
    if needed > available:
        raise NotMeasuredError(
            f"out of memory: the step keeps {needed / 1e9:.1f} GB at least, {available / 1e9:.1f} GB are free"
        )


def measure(configuration: Configuration, rule: StoppingRule) -> Measurement:
    """Return the times of a configuration in this process.

    Raises NotMeasuredError if it does not fit into memory or the device does not support it, InputError if
    the CNN cannot be built.
    """
    cnn = _ready_cnn(configuration)
    watch = Watch(gpu=partial(device_state, configuration.device))
    clock = device_clock(torch, configuration.device)
    n_layers = CnnCounts.of(cnn).counts["n_layers"]

    def timed(step: TorchStep) -> Measurement:
        repeats = time_iterations(step, clock, rule)
        # The launch time of a layer is stated for its forward and backward pass together.
        launch = nan if isinstance(step, TorchForward) else repeats.host_launch_s(n_layers)
        return Measurement(repeats, watch.seen(), host_launch_s=launch)

    return with_step(cnn, configuration, timed)


def with_step(cnn: Cnn, configuration: Configuration, use: Callable[[TorchStep], Measurement]) -> Measurement:
    """Return the result of `use` on a training step, which is freed afterwards.

    Raises NotMeasuredError if memory runs out, or if torch has no kernel for it on this device.
    """
    try:
        kind = TorchForward if configuration.timed_parts == FORWARD_PASS else TorchStep
        return use(kind(cnn, configuration))
    except (MemoryError, RuntimeError) as error:
        reason = reason_not_measured(torch, error)
        if not reason:
            raise
        details = " ".join(str(error).split())[:200]
    finally:
        gc.collect()
        if configuration.device == "cuda":
            torch.cuda.empty_cache()
    raise NotMeasuredError(f"{reason}: {details}")
