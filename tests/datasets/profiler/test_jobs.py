"""The jobs with stand-ins for torch: calls of its parts, and files written."""

from types import SimpleNamespace

import pandas as pd
import pytest
from trainlaw.datasets.profiler import local_device, micro, sweep
from trainlaw.datasets.profiler.configurations import configuration_grid
from trainlaw.datasets.profiler.devices import NotMeasuredError
from trainlaw.datasets.profiler.local_device import default_threads, device_here
from trainlaw.datasets.profiler.machine import GpuState, read_processor, usable_cores
from trainlaw.datasets.profiler.micro import AchievedRates, profile_micro
from trainlaw.datasets.profiler.row_files import sibling
from trainlaw.datasets.profiler.sweep import profile_runs
from trainlaw.datasets.profiler.timing import StoppingRule
from trainlaw.formulas.errors import MissingDependencyError, UnknownNameError
from trainlaw.validate.measured_rates import read_rates

from .conftest import measurement
from .test_devices import fake_torch

RULE = StoppingRule()


def part(name):
    """Stand for the files that import torch."""
    return {
        "torch_measure": SimpleNamespace(
            measure=lambda each, rule: measurement(0.1 * each.batch), device_state=lambda device: GpuState()
        ),
        "torch_micro": SimpleNamespace(
            quick_rates=lambda device: (1e11, 1e10),
            achieved_rates=lambda device, precision: AchievedRates(1e11, 5e10, 1e10, 1e-6),
        ),
    }[name]


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


def test_micro_writes_the_table_of_rates(parts, tmp_path):
    told, out = [], tmp_path / "runs.csv"
    for precisions in (["fp32"], ["fp32", "bf16"]):
        path = profile_micro("cpu", [1, 2], precisions, out, lambda gpu, rates: told.append(gpu))
    assert len(told) == 6
    table = pd.read_csv(path)
    assert path == sibling(out, "rates") and len(table) == 4
    assert set(table["achieved_matmul_flop_per_s"]) == {1e11}
    assert len(read_rates(path)) == 4


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
