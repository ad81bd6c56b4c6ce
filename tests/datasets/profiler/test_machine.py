"""Facts of a machine from the operating system's files and the driver's words, whole or in part."""

import subprocess
from dataclasses import replace
from math import isnan

import pytest
from trainlaw.datasets.hardware.gpu_files import with_gpus
from trainlaw.datasets.profiler.machine import (
    _NOTED_LOAD,
    GpuState,
    Interference,
    Processor,
    Watch,
    available_memory_bytes,
    gpu_state,
    read_processor,
    usable_cores,
)
from trainlaw.datasets.profiler.row_files import MachineFile
from trainlaw.formulas.errors import InputError

CPUINFO = """processor : 0
model name : Intel(R) Xeon(R) Toy  Processor
cpu MHz : 2500.000
flags : fpu sse2 avx2 avx512f amx_bf16

processor : 1
model name : another
"""


@pytest.fixture
def linux(tmp_path):
    cpu = tmp_path / "sys/devices/system/cpu/cpu0"
    (tmp_path / "proc").mkdir()
    for folder in ("cache/index0", "cache/index3", "cpufreq"):
        (cpu / folder).mkdir(parents=True)
    (tmp_path / "proc/cpuinfo").write_text(CPUINFO)
    (tmp_path / "proc/meminfo").write_text("MemTotal:  1000 kB\nMemAvailable:  500 kB\n")
    (tmp_path / "proc/stat").write_text("cpu  100 0 50 1000 5 0 0 10 0 0\n")
    (cpu / "cache/index0/size").write_text("48K\n")
    (cpu / "cache/index3/size").write_text("32768K\n")
    return tmp_path


def test_processor_is_read_from_its_files(linux):
    found = read_processor(linux, cores=2)
    assert found == Processor("Intel Xeon Toy Processor", 2, 16, 2.5e9, 1024e3, 32768 * 1024, 48 * 1024, 16)
    (linux / "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").write_text("3500000\n")
    assert read_processor(linux, cores=2).clock_hz == 3.5e9
    assert available_memory_bytes(linux) == 512e3


def test_a_machine_that_tells_nothing_still_has_a_row(tmp_path):
    found = read_processor(tmp_path)
    assert found.cores == usable_cores()
    row = found.gpu_row(1, 1e11, 1e10)
    assert row["peak_fp32_flop_per_s"] == 1e11
    assert row["boost_clock_hz"] == pytest.approx(1e11 / (4 * 2 * 2))
    assert "measured" in row["remark"]


def test_peak_is_cores_times_lanes_times_units_times_clock():
    toy = Processor("Toy", 4, 16, 2e9, 1e9, 1e6, 1e4, 2)
    assert toy.peak_flop_per_s(2) == 2 * 16 * 2 * 2 * 2e9
    # More threads than cores are no more arithmetic.
    assert toy.peak_flop_per_s(8) == toy.peak_flop_per_s(4)
    row = toy.gpu_row(2, 1e9, 1e10)
    assert (row["peak_fp32_flop_per_s"], row["peak_fp16_flop_per_s"]) == (256e9, 512e9)
    assert row["peak_fp32_flop_per_s"] == 2 * row["core_count"] * row["boost_clock_hz"]
    # A clock above the stated one shows in what is measured.
    assert toy.gpu_row(2, 300e9, 1e10)["peak_fp32_flop_per_s"] == 300e9


def test_machine_file_is_a_gpu_file(tmp_path):
    toy = Processor("Toy CPU", 2, 16, 2.5e9, 8e9)
    machine = MachineFile(tmp_path / "runs.csv")
    machine.add(toy.gpu_row(1, 1e11, 1e10))
    machine.add(toy.gpu_row(2, 1e11, 2e10))
    machine.add(toy.gpu_row(2, 1e11, 3e10))
    again = MachineFile(tmp_path / "runs.csv")
    assert again.names == ("Toy CPU, 1 thread", "Toy CPU, 2 threads")
    catalog = with_gpus(again.path)
    assert catalog.find("Toy CPU, 2 threads").bandwidth_byte_per_s == 3e10
    assert catalog.find("Toy CPU, 1 thread").gpu_group == "Toy CPU, 1 thread"


def test_another_file_is_no_machine_file(tmp_path):
    (tmp_path / "runs-machine.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="with other columns"):
        MachineFile(tmp_path / "runs.csv")


LINE = "NVIDIA H100, 550.54, 1200, 1980, [N/A], 4000, 0x0000000000000024\n"


def test_gpu_state_is_read_from_nvidia_smi():
    state = gpu_state("GPU-3", lambda command: LINE if "--id=GPU-3" in command else "")
    assert isnan(state.max_memory_clock_hz)
    throttled = ("power cap", "software thermal slowdown")
    expected = GpuState("NVIDIA H100", "550.54", 1.2e9, 1.98e9, 0.0, 4000 * 2**20, throttled)
    assert replace(state, max_memory_clock_hz=0.0) == expected


@pytest.mark.parametrize("answer", ["", "No devices were found\n", "a,b,c\n"])
def test_a_driver_without_an_answer_is_no_fault(answer):
    assert gpu_state("0", lambda command: answer).name == ""


@pytest.mark.parametrize("error", [FileNotFoundError(), subprocess.TimeoutExpired("nvidia-smi", 10)])
def test_a_machine_without_a_driver_is_no_fault(error):
    def run(command):
        raise error

    assert gpu_state("0", run).throttled == ()


def test_unreadable_reasons_are_none():
    assert gpu_state("0", lambda command: LINE.replace("0x0000000000000024", "[N/A]")).throttled == ()


def test_watch_tells_other_load_and_the_state_of_the_gpu(linux, monkeypatch):
    times = iter([10.0, 12.0])
    monkeypatch.setattr("trainlaw.datasets.profiler.machine.time.monotonic", lambda: next(times))
    monkeypatch.setattr("trainlaw.datasets.profiler.machine.os.cpu_count", lambda: 2)
    monkeypatch.setattr("trainlaw.datasets.profiler.machine.os.sysconf", lambda name: 100)
    own = iter([1.0, 2.0])
    hot = GpuState(clock_hz=1e9, throttled=("power cap",), used_bytes=9e9)
    states = iter([GpuState(used_bytes=3e9), hot])
    watch = Watch(gpu=lambda: next(states), root=linux, process_seconds=lambda: next(own))
    # 2 s x 2 processors; 3 s busy, one of them ours.
    (linux / "proc/stat").write_text("cpu  300 0 150 1100 5 0 0 30 0 0\n")
    seen = watch.seen()
    assert seen.other_load == pytest.approx(0.5)
    assert seen.clock_hz == 1e9
    assert seen.remark == (
        "the GPU was throttled: power cap; other programs held 3.0 GB of the GPU's memory; "
        "other programs used 50 % of the processors"
    )


def test_watch_on_a_machine_that_tells_nothing(tmp_path):
    seen = Watch(root=tmp_path).seen()
    assert seen.other_load != seen.other_load
    assert seen.remark == ""


def test_a_quiet_machine_gives_no_remark():
    assert Interference(0.01).remark == Interference(_NOTED_LOAD).remark == ""
