"""Measure one configuration in this process: build and time it, or report why that is impossible."""

import gc
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
    try:
        return _timed(cnn, configuration, rule, watch)
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


def _timed(cnn: Cnn, configuration: Configuration, rule: StoppingRule, watch: Watch) -> Measurement:
    is_forward = configuration.timed_parts == FORWARD_PASS
    step = (TorchForward if is_forward else TorchStep)(cnn, configuration)
    repeats = time_iterations(step, device_clock(torch, configuration.device), rule)
    # The launch time of a layer is stated for its forward and backward pass together.
    launch = nan if is_forward else repeats.host_launch_s(CnnCounts.of(cnn).counts["n_layers"])
    return Measurement(repeats, watch.seen(), host_launch_s=launch)
