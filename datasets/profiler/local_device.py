"""The device to measure on this machine; torch is imported on demand."""

from collections.abc import Callable
from importlib import import_module
from math import isnan
from typing import Any

from trainlaw.datasets.hardware.gpus import built_in_gpus
from trainlaw.datasets.profiler.devices import choose_device, gpu_row_of, known_gpu, software_versions
from trainlaw.datasets.profiler.machine import GpuState, Processor, read_processor, usable_cores
from trainlaw.datasets.profiler.row_files import MachineFile
from trainlaw.datasets.profiler.run_rows import MeasuredDevice
from trainlaw.formulas.errors import optional_package


def _description(processor: Processor) -> str:
    clock = "" if isnan(processor.clock_hz) else f" at {processor.clock_hz / 1e9:.2f} GHz"
    memory = "" if isnan(processor.memory_bytes) else f", {processor.memory_bytes / 1e9:.0f} GB"
    cores = "1 core" if processor.cores == 1 else f"{processor.cores} cores"
    return f"{processor.model}, {cores}{clock}{memory}"


def torch_package() -> Any:
    """Return torch; raises MissingDependencyError, which states how to install it."""
    return optional_package("torch", "profile")


def torch_part(name: str) -> Any:
    """Return a module of the profiler that imports torch; raises MissingDependencyError without torch."""
    torch_package()
    return import_module(f"trainlaw.datasets.profiler.{name}")


def device_here(text: str) -> str:
    """Return "cpu" or "cuda" for a choice or "auto"; MissingDependencyError without torch, InputError."""
    return choose_device(torch_package(), text)


def default_threads(device: str) -> int:
    """Return the default number of threads: all usable cores of a CPU, 0 (chosen by torch) on a GPU."""
    return 0 if device == "cuda" else usable_cores()


def named_here(device: str) -> Callable[[str, int], bool]:
    """Return a function that checks whether this machine has the device of a name and number of threads."""
    if device == "cpu":
        processor = read_processor()
        return lambda name, threads: name == processor.device_name(threads)
    cuda = torch_package().cuda
    found = known_gpu(cuda.get_device_properties(cuda.current_device()).name)
    return lambda name, threads: known_gpu(name) == found


def measured_device(device: str, threads: int, machine: MachineFile) -> MeasuredDevice:
    """Return the device to measure; benchmark and add to the machine file one that the GPU table lacks.

    A CPU is another device with another number of threads.
    """
    torch, rates, processor = torch_package(), torch_part("torch_micro").quick_rates, read_processor()
    hardware = _description(processor)
    if device == "cpu":
        state, name = GpuState(), processor.device_name(threads)
        if name not in machine.names:
            torch.set_num_threads(threads)
            machine.add(processor.gpu_row(threads, *rates("cpu")))
    else:
        state = torch_part("torch_measure").device_state(device)
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        name = known_gpu(properties.name)
        if name not in machine.names and all(gpu.gpu != name for gpu in built_in_gpus().gpus):
            machine.add(gpu_row_of(properties, state, *rates("cuda")))
        size = f"{properties.multi_processor_count} multiprocessors, {properties.total_memory / 1e9:.0f} GB"
        hardware = f"{properties.name}, {size}; {hardware}"
    return MeasuredDevice(name, hardware, software_versions(torch, state), str(torch.__version__))
