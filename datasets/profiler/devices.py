"""Devices as torch sees them: choice, clock, specifications and precisions; torch is an argument."""

import os
import platform
from collections.abc import Mapping
from math import isnan, nan
from typing import Any

from trainlaw.datasets.hardware.gpus import built_in_gpus
from trainlaw.datasets.profiler.machine import GpuState
from trainlaw.datasets.profiler.timing import Clock, EventClock
from trainlaw.formulas.errors import InputError, TrainlawError, UnknownNameError, check_name

# fp32 lanes of a multiprocessor by compute capability: CUDA C++ Programming Guide, arithmetic throughput.
_LANES: Mapping[tuple[int, int], int] = {
    (6, 0): 64,
    (6, 1): 128,
    (7, 0): 64,
    (7, 5): 64,
    (8, 0): 64,
    (8, 6): 128,
    (8, 9): 128,
    (9, 0): 128,
}
_USUAL_LANES = 128
# Messages of torch, cuDNN and cuBLAS when memory runs out or a kernel is missing.
_REASONS: Mapping[str, str] = {
    "out of memory": "out of memory",
    "can't allocate memory": "out of memory",
    "not enough memory": "out of memory",
    "status_alloc_failed": "out of memory",
    "not implemented for": "not supported by torch on this device",
    "unable to find an engine": "not supported by torch on this device",
    "status_not_supported": "not supported by torch on this device",
    "canuse32bitindexmath": "not supported by torch on this device",
}
_TENSOR_CORES_WITH_TF32 = (8, 0)


class NotMeasuredError(TrainlawError):
    """A configuration that cannot be measured on this machine; the message is the reason."""


def choose_device(torch: Any, text: str) -> str:
    """Return "cpu" or "cuda" for "auto", "cpu" or "cuda"; InputError if torch finds no such device."""
    check_name("device", text, ("auto", "cpu", "cuda"))
    if text == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if text == "cuda" and not torch.cuda.is_available():
        raise InputError(f"torch {torch.__version__} finds no CUDA device here; use --device cpu")
    return text


def device_clock(torch: Any, device: str) -> Clock:
    """Return the clock of a device: CUDA events on a GPU, the monotonic clock on a CPU."""
    if device == "cuda":
        return EventClock(lambda: torch.cuda.Event(enable_timing=True), torch.cuda.synchronize)
    # Calls on a CPU return when they are done.
    return Clock(lambda: None)


def set_precision(torch: Any, device: str, precision: str) -> None:
    """Set torch's switches for a precision; NotMeasuredError where the device does not have it."""
    has_tf32 = device == "cuda" and torch.cuda.get_device_capability() >= _TENSOR_CORES_WITH_TF32
    if precision in ("tf32", "default") and not has_tf32:
        without = "here PyTorch's default is fp32" if precision == "default" else "this device has no tf32"
        raise NotMeasuredError(f"{without}: tf32 needs a GPU of compute capability 8.0 or higher")
    if device == "cpu":
        return
    if precision == "bf16" and not torch.cuda.is_bf16_supported():
        raise NotMeasuredError("this GPU has no bf16")
    # fp32 must mean fp32: the convolutions of torch use tf32 unless this is switched off.
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision in ("tf32", "default")


def stated_precision(device: str, precision: str) -> str:
    """Return the meaning of a precision on a device, for the column `precision_stated`.

    >>> stated_precision("cpu", "amp")
    'autocast to bf16'
    """
    if precision == "amp":
        return "autocast to bf16" if device == "cpu" else "autocast to fp16, scaled gradients"
    known = {"bf16": "bf16 throughout", "tf32": "tf32 products and convolutions"}
    return (known | {"default": "tf32 convolutions, fp32 linear layers"}).get(precision, precision)


def reason_not_measured(torch: Any, error: BaseException) -> str:
    """Return why an error means that a device cannot run a configuration; "" for any other error."""
    if isinstance(error, (MemoryError, torch.cuda.OutOfMemoryError)):
        return "out of memory"
    text = str(error).lower() if isinstance(error, RuntimeError) else ""
    return next((reason for words, reason in _REASONS.items() if words in text), "")


def software_versions(torch: Any, state: GpuState) -> str:
    """Return the versions of the software involved, in one line."""
    parts = [f"torch {torch.__version__}", f"python {platform.python_version()}", platform.system()]
    if state.driver:
        parts += [
            f"cuda {torch.version.cuda}",
            f"cudnn {torch.backends.cudnn.version()}",
            f"driver {state.driver}",
        ]
        if torch.backends.cudnn.benchmark:
            parts.append("cudnn.benchmark")
    # Spinning threads lose their time slice to other programs; this variable decides whether threads spin.
    if os.environ.get("OMP_WAIT_POLICY"):
        parts.append(f"OMP_WAIT_POLICY={os.environ['OMP_WAIT_POLICY']}")
    return ", ".join(parts)


def known_gpu(name: str) -> str:
    """Return the name in the GPU table for a name from torch, or that name where it is not known."""
    try:
        return built_in_gpus().find(name).gpu
    except UnknownNameError:
        return name


def gpu_row_of(
    properties: Any, state: GpuState, measured_flop_per_s: float, copy_byte_per_s: float
) -> dict[str, object]:
    """Return a GPU that the table lacks as a row of the GPU schema.

    properties : from `torch.cuda.get_device_properties`. Rates that the driver does not report are the
    measured ones: FLOP/s in fp32, B/s of a copy.
    """
    version = (properties.major, properties.minor)
    lanes = properties.multi_processor_count * _LANES.get(version, _USUAL_LANES)
    clock = state.max_clock_hz
    peak = measured_flop_per_s if isnan(clock) else 2 * lanes * clock
    width = getattr(properties, "memory_bus_width", 0)
    # Two transfers per clock: nvidia-smi and CUDA both report the clock of the memory, not its data rate.
    sheet = 2 * state.max_memory_clock_hz * width / 8 if width else nan
    return {
        "gpu": properties.name,
        "vendor": "NVIDIA",
        "gpu_group": properties.name,
        "sm_count": properties.multi_processor_count,
        "core_count": lanes,
        "boost_clock_hz": peak / 2 / lanes,
        "peak_fp32_flop_per_s": peak,
        "memory_bytes": properties.total_memory,
        "bandwidth_byte_per_s": copy_byte_per_s if isnan(sheet) else sheet,
        "l2_bytes": getattr(properties, "L2_cache_size", nan),
        "compute_capability": f"{version[0]}.{version[1]}",
        "source": "trainlaw profile: torch and nvidia-smi on this machine",
        "remark": "peak of tensor cores unknown: fill in from the data sheet",
    }
