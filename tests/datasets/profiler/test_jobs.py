"""The jobs with stand-ins for torch: calls of its parts, and files written."""

from types import SimpleNamespace

import pandas as pd
import pytest
from trainlaw.datasets.profiler import (
    StoppingRule,
    configuration_grid,
    default_threads,
    device_here,
    local_device,
    micro,
    profile_micro,
    profile_runs,
    sibling,
    sweep,
)
from trainlaw.datasets.profiler.devices import NotMeasuredError
from trainlaw.datasets.profiler.machine import GpuState, read_processor, usable_cores
from trainlaw.datasets.profiler.micro import MicroTime
from trainlaw.formulas.errors import MissingDependencyError, UnknownNameError

from .conftest import measurement
from .test_devices import fake_torch

RULE = StoppingRule()


def part(name):
    """Stand for the files that import torch."""
    return {
        "torch_measure": SimpleNamespace(
            measure=lambda each, rule: measurement(0.1 * each.batch), device_state=lambda device: GpuState()
        ),
        "torch_micro": SimpleNamespace(quick_rates=lambda device: (1e11, 1e10), micro_times=micro_times),
    }[name]


def micro_times(device, precision):
    return [MicroTime("matmul", "128", 1e9, 0.01), MicroTime("launch", "1", 0.0, 1e-6)]


@pytest.fixture
def parts(monkeypatch):
    for module in (local_device, sweep, micro):
        monkeypatch.setattr(module, "torch_part", part)
        if hasattr(module, "torch_package"):
            monkeypatch.setattr(module, "torch_package", fake_torch)


def wanted(**options):
    lists = {"cnns": ["lenet5"], "batches": [2, 4], "inputs": [], "precisions": ["fp32"]}
    places = {"device": "cpu", "threads": [1]}
    return configuration_grid(*(lists | options.pop("lists", {})).values(), **places | options)


def test_runs_are_measured_once(parts, tmp_path):
    told, out = [], tmp_path / "runs.csv"
    assert profile_runs(wanted(), out, RULE, told.append) == 2
    assert profile_runs(wanted(), out, RULE, told.append) == 0
    assert [progress.median_s for progress in told] == [0.2, 0.4]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs-machine.csv", "runs.csv"]
    assert pd.read_csv(sibling(out, "machine"))["bandwidth_byte_per_s"].tolist() == [1e10]


@pytest.mark.parametrize("precision, error", [("fp8", UnknownNameError), ("tf32", NotMeasuredError)])
def test_micro_refuses_a_precision_before_it_measures(parts, tmp_path, precision, error):
    with pytest.raises(error):
        profile_micro("cpu", [1], ["fp32", precision], tmp_path / "runs.csv", print)
    assert list(tmp_path.iterdir()) == []


def test_micro_goes_to_three_files(parts, tmp_path):
    told, out = [], tmp_path / "runs.csv"

    def on_time(gpu, time):
        told.append(time.benchmark)

    assert profile_micro("cpu", [1, 2], ["fp32"], out, on_time) == 2
    assert pd.read_csv(sibling(out, "micro"))["achieved_matmul_flop_per_s"].tolist() == [1e11, 1e11]
    assert told == ["matmul", "launch"] * 2
    assert len(pd.read_csv(sibling(out, "micro-sizes"))) == 4
    profile_micro("cpu", [1], ["fp32"], out, on_time)
    assert pd.read_csv(sibling(out, "rates"))["gpu"].is_unique


def test_gpus_are_asked_as_gpus(parts, tmp_path):
    out = tmp_path / "runs.csv"
    assert profile_runs(wanted(device="cuda", threads=[0]), out, RULE, lambda progress: None) == 2
    assert set(pd.read_csv(out)["gpu"]) == {"NVIDIA Toy 1"}


def test_a_device_is_known_by_its_name(parts):
    gpu, cpu = local_device.named_here("cuda"), local_device.named_here("cpu")
    assert gpu("NVIDIA Toy 1", 0) and not gpu("T4", 0)
    own = read_processor().device_name(2)
    assert cpu(own, 2) and not cpu(own, 1)


def test_threads_are_all_cores_of_a_cpu(parts):
    assert (default_threads("cuda"), default_threads("cpu")) == (0, usable_cores())
    assert device_here("auto") == "cuda"


def test_without_torch_one_line_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'trainlaw\[profile\]'"):
        profile_runs(wanted(), tmp_path / "runs.csv", RULE, lambda progress: None)
    with pytest.raises(MissingDependencyError):
        local_device.torch_part("torch_measure")
