"""What is asked of torch, with a torch that is made up: no GPU and no torch is needed for it."""

from types import SimpleNamespace

import pytest
from trainlaw.datasets.hardware.gpu_files import with_gpus
from trainlaw.datasets.profiler import local_device
from trainlaw.datasets.profiler.devices import (
    NotMeasuredError,
    choose_device,
    device_clock,
    known_gpu,
    reason_not_measured,
    set_precision,
    software_versions,
    stated_precision,
)
from trainlaw.datasets.profiler.machine import GpuState
from trainlaw.datasets.profiler.row_files import MachineFile
from trainlaw.datasets.profiler.timing import EventClock
from trainlaw.formulas.errors import InputError, UnknownNameError

from ...rows import each_row
from .conftest import FakeDevice


class OutOfMemoryError(RuntimeError):
    pass


def fake_torch(available=True, capability=(9, 0), bf16=True, name="NVIDIA Toy 1", device=None):
    device = device or FakeDevice()
    properties = SimpleNamespace(
        name=name,
        major=capability[0],
        minor=capability[1],
        multi_processor_count=100,
        total_memory=8e10,
        memory_bus_width=5120,
        L2_cache_size=5e7,
    )
    cuda = SimpleNamespace(
        is_available=lambda: available,
        get_device_capability=lambda: capability,
        is_bf16_supported=lambda: bf16,
        Event=lambda enable_timing: device.new_event(),
        synchronize=device.synchronize,
        OutOfMemoryError=OutOfMemoryError,
        current_device=lambda: 0,
        get_device_properties=lambda index: properties,
    )
    switches = SimpleNamespace(
        cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=None)),
        cudnn=SimpleNamespace(allow_tf32=None, benchmark=None, version=lambda: 90100),
    )
    return SimpleNamespace(
        __version__="9.9",
        cuda=cuda,
        backends=switches,
        version=SimpleNamespace(cuda="12.4"),
        set_num_threads=lambda count: None,
    )


def test_device_is_chosen_by_what_is_there():
    assert choose_device(fake_torch(), "auto") == "cuda"
    assert choose_device(fake_torch(available=False), "auto") == "cpu"
    assert choose_device(fake_torch(), "cpu") == "cpu"
    with pytest.raises(InputError, match="use --device cpu"):
        choose_device(fake_torch(available=False), "cuda")
    with pytest.raises(UnknownNameError):
        choose_device(fake_torch(), "gpu")


def test_clock_of_a_gpu_is_made_of_events():
    device = FakeDevice()
    torch = fake_torch(device=device)
    clock = device_clock(torch, "cuda")
    assert isinstance(clock, EventClock)
    first = clock.mark()
    device.launch(0.25)
    last = clock.mark()
    clock.finish()
    assert clock.seconds(first, last) == pytest.approx(0.25, abs=1e-5)
    assert not isinstance(device_clock(torch, "cpu"), EventClock)


@each_row(
    ("precision", "of_products", "of_convolutions"),
    [("fp32", False, False), ("tf32", True, True), ("default", False, True), ("amp", False, False)],
)
def test_switches_of_tf32_are_those_of_the_precision(precision, of_products, of_convolutions):
    torch = fake_torch()
    set_precision(torch, "cuda", precision)
    assert torch.backends.cuda.matmul.allow_tf32 is of_products
    assert torch.backends.cudnn.allow_tf32 is of_convolutions
    assert torch.backends.cudnn.benchmark is None, "left as it is"


@each_row(
    ("device", "precision", "torch"),
    [
        ("cpu", "tf32", fake_torch()),
        ("cuda", "tf32", fake_torch(capability=(7, 5))),
        ("cuda", "default", fake_torch(capability=(7, 5))),
        ("cuda", "bf16", fake_torch(bf16=False)),
    ],
)
def test_a_precision_that_is_not_there_is_a_reason(device, precision, torch):
    with pytest.raises(NotMeasuredError):
        set_precision(torch, device, precision)
    set_precision(torch, device, "fp32")


def test_what_a_precision_means_is_stated():
    assert stated_precision("cuda", "amp") == "autocast to fp16, scaled gradients"
    assert {stated_precision("cpu", name) for name in ("fp32", "bf16")} == {"fp32", "bf16 throughout"}


FULL, ABSENT = "out of memory", "not supported by torch on this device"


@each_row(
    ("error", "reason"),
    [
        (MemoryError(), FULL),
        (OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), FULL),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), FULL),
        (RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"), FULL),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`"), FULL),
        (NotImplementedError("\"lrn\" not implemented for 'BFloat16'"), ABSENT),
        (RuntimeError("cuDNN error: CUDNN_STATUS_NOT_SUPPORTED."), ABSENT),
        (RuntimeError("GET was unable to find an engine to execute this"), ABSENT),
        # After such an error every call fails: what follows must not become a row.
        (RuntimeError("CUDA error: an illegal memory access was encountered"), ""),
        (RuntimeError("shape mismatch"), ""),
        (KeyError("out of memory"), ""),
    ],
)
def test_what_a_device_cannot_do_is_told_from_defects(error, reason):
    assert reason_not_measured(fake_torch(), error) == reason


def test_software_names_the_driver_and_the_wait_policy_where_there_is_one(monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    assert software_versions(fake_torch(), GpuState()).endswith(", OMP_WAIT_POLICY=passive")
    monkeypatch.delenv("OMP_WAIT_POLICY")
    assert "driver" not in software_versions(fake_torch(), GpuState())
    assert "cuda 12.4, cudnn 90100, driver 550" in software_versions(fake_torch(), GpuState(driver="550"))


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """A function that measures a device with a torch; rates that were asked for; the machine file."""
    asked, machine = [], MachineFile(tmp_path / "runs.csv")

    def rates(device):
        asked.append(device)
        return 3e13, 1e12

    def measure(torch, device, state=None, threads=0):
        parts = SimpleNamespace(quick_rates=rates, device_state=lambda name: state)
        monkeypatch.setattr(local_device, "torch_package", lambda: torch)
        monkeypatch.setattr(local_device, "torch_part", lambda name: parts)
        return local_device.measured_device(device, threads, machine)

    return measure, asked, machine


def test_a_known_gpu_needs_no_row(measured):
    measure, asked, machine = measured
    host = measure(fake_torch(name="NVIDIA GeForce RTX 3090"), "cuda", GpuState(driver="550"))
    assert host.gpu == known_gpu("NVIDIA GeForce RTX 3090") == "RTX 3090"
    assert "100 multiprocessors, 80 GB" in host.hardware
    assert not machine.path.exists() and not asked


@pytest.mark.parametrize("clock_hz, peak", [(1.5e9, 2 * 12800 * 1.5e9), (float("nan"), 3e13)])
def test_an_unknown_gpu_comes_with_its_facts(measured, clock_hz, peak):
    measure, _, machine = measured
    state = GpuState(driver="550", max_clock_hz=clock_hz, max_memory_clock_hz=clock_hz)
    host = measure(fake_torch(), "cuda", state)
    gpu = with_gpus(machine.path).find(host.gpu)
    assert gpu.peak_fp32_flop_per_s == pytest.approx(peak)
    assert (gpu.sm_count, gpu.core_count, gpu.compute_capability) == (100, 12800, "9.0")
    assert gpu.bandwidth_byte_per_s == pytest.approx(2 * 1.5e9 * 640 if clock_hz > 0 else 1e12)


def test_a_processor_is_measured_once(measured):
    measure, asked, machine = measured
    hosts = [measure(fake_torch(), "cpu", threads=2) for _ in range(2)]
    assert hosts[0] == hosts[1]
    assert asked == ["cpu"] and machine.names == (hosts[0].gpu,)
