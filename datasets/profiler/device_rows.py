"""Facts of the device that is measured, and its row for the machine file where the GPU table lacks it."""

from math import isnan
from typing import Any

from trainlaw.datasets.hardware.gpus import built_in_gpus
from trainlaw.datasets.profiler.devices import card_row, known_card, software_of
from trainlaw.datasets.profiler.machine_file import MachineFile
from trainlaw.datasets.profiler.nvidia import CardState
from trainlaw.datasets.profiler.processor import Processor, read_processor
from trainlaw.datasets.profiler.run_rows import Host


def cpu_host(torch: Any, threads: int, links: tuple[str, str], machine: MachineFile, rates: Any) -> Host:
    """Return the facts of the CPU with so many threads, and put it into the machine file if it is new.

    links : names of the links inside a host and between hosts. rates : called with "cpu", gives measured
    FLOP/s of a matrix product and B/s of a copy.
    """
    processor = read_processor()
    name = processor.device_name(threads)
    if name not in machine.names:
        torch.set_num_threads(threads)
        machine.add(processor.gpu_row(threads, *rates("cpu")))
    return Host(name, _words(processor), software_of(torch, CardState()), str(torch.__version__), *links)


def card_host(torch: Any, state: CardState, links: tuple[str, str], machine: MachineFile, rates: Any) -> Host:
    """Return the facts of the current card, and put it into the machine file if the GPU table lacks it.

    Arguments as `cpu_host`; `rates` is called with "cuda". state : of the card, as nvidia-smi tells it.
    """
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    name = known_card(properties.name)
    if name not in machine.names and all(gpu.gpu != name for gpu in built_in_gpus().gpus):
        machine.add(card_row(properties, state, *rates("cuda")))
    size = f"{properties.multi_processor_count} multiprocessors, {properties.total_memory / 1e9:.0f} GB"
    words = f"{properties.name}, {size}; {_words(read_processor())}"
    return Host(name, words, software_of(torch, state), str(torch.__version__), *links)


def _words(processor: Processor) -> str:
    clock = "" if isnan(processor.clock_hz) else f" at {processor.clock_hz / 1e9:.2f} GHz"
    memory = "" if isnan(processor.memory_bytes) else f", {processor.memory_bytes / 1e9:.0f} GB"
    cores = "1 core" if processor.cores == 1 else f"{processor.cores} cores"
    return f"{processor.model}, {cores}{clock}{memory}"
