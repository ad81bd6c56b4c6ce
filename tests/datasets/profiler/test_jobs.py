"""The three jobs with stand-ins for torch: which parts are asked for what, and which files lie there then."""

from types import SimpleNamespace

import pandas as pd
import pytest
from trainlaw.datasets.cnns.zoo import build
from trainlaw.datasets.profiler import (
    Setup,
    configuration_grid,
    default_threads,
    device_here,
    layer_times,
    micro,
    profile_layers,
    profile_micro,
    profile_runs,
    setup,
    sweep,
)
from trainlaw.datasets.profiler.devices import NotMeasuredError
from trainlaw.datasets.profiler.machine import GpuState, read_processor, usable_cores
from trainlaw.datasets.profiler.micro import MicroTime
from trainlaw.formulas.errors import InputError, MissingDependencyError, UnknownNameError

from .conftest import measurement
from .test_devices import fake_torch
from .test_layer_times import times_of


class FakeParts:
    """Stands for the files that import torch."""

    def __init__(self):
        self.together, self.met = [], []

    def part(self, name):
        return {
            "torch_measure": SimpleNamespace(
                measure=lambda each, rule: measurement(0.1 * each.batch),
                device_state=lambda device: GpuState(),
            ),
            "torch_micro": SimpleNamespace(quick_rates=lambda device: (1e11, 1e10), micro_times=micro_times),
            "torch_layer_times": SimpleNamespace(measure_layers=measure_layers),
            "torch_processes": SimpleNamespace(
                SharedSweep=lambda *fields: fields,
                Gathering=lambda *fields: fields,
                sweep_together=lambda gathering, shared, tell: self.together.append((gathering, shared)),
                all_reduce_together=self.all_reduce_together,
            ),
        }[name]

    def all_reduce_together(self, gathering):
        self.met.append(gathering)
        return [MicroTime("allreduce", "1 B", 1e3, 1e-3), MicroTime("allreduce", "2 B", 1e6, 2e-3)]


def measure_layers(configuration, rule):
    if configuration.batch == 13:
        raise NotMeasuredError("out of memory: too large")
    cnn = build(configuration.cnn, configuration.input_size_px, configuration.n_classes)
    return cnn, times_of(cnn), (0.5, 0.001)


def micro_times(device, precision):
    return [MicroTime("matmul", "128", 1e9, 0.01), MicroTime("launch", "1", 0.0, 1e-6)]


@pytest.fixture
def parts(monkeypatch):
    fake = FakeParts()
    for module in (setup, sweep, layer_times, micro):
        monkeypatch.setattr(module, "torch_part", fake.part)
        if hasattr(module, "torch_package"):
            monkeypatch.setattr(module, "torch_package", fake_torch)
    return fake


def wanted(**options):
    lists = {"cnns": ["lenet5"], "batches": [2, 4], "inputs": [], "precisions": ["fp32"]}
    places = {"device": "cpu", "threads": [1], "processes": [1]}
    return configuration_grid(*(lists | options.pop("lists", {})).values(), **places | options)


def test_runs_are_measured_once(parts, tmp_path):
    told = []
    own = Setup(tmp_path / "runs.csv")
    assert profile_runs(wanted(), own, told.append) == 2
    assert profile_runs(wanted(), own, told.append) == 0
    assert [progress.median_s for progress in told] == [0.2, 0.4]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs-machine.csv", "runs.csv"]
    assert pd.read_csv(own.sibling("machine"))["bandwidth_byte_per_s"].tolist() == [1e10]


def test_several_processes_are_started_together(parts, tmp_path):
    profile_runs(
        wanted(processes=[1, 2], threads=[1, 2]), Setup(tmp_path / "runs.csv"), lambda progress: None
    )
    ((gathering, shared),) = parts.together
    assert gathering == ("cpu", 2, 1, "")
    assert {configuration.processes for configuration in shared[0]} == {2}
    assert set(shared[3]) == {1, 2}
    assert len(pd.read_csv(tmp_path / "runs.csv")) == 4


@pytest.mark.parametrize(
    "options, own, error",
    [
        ({"processes": [3], "nodes": 2}, {}, "multiple of 2 hosts"),
        ({"processes": [2], "nodes": 2}, {"network": "ethernet-10g"}, "--rendezvous HOST:PORT"),
        ({"processes": [2], "device": "cuda"}, {}, "--link NAME"),
    ],
)
def test_links_must_be_named(parts, tmp_path, options, own, error):
    with pytest.raises(InputError, match=error):
        profile_runs(wanted(**options), Setup(tmp_path / "runs.csv", **own), lambda progress: None)


def test_an_unknown_link_is_refused(parts, tmp_path):
    with pytest.raises(UnknownNameError):
        profile_runs(wanted(), Setup(tmp_path / "runs.csv", link="string"), lambda progress: None)


def test_layers_go_to_three_files(parts, tmp_path):
    told = []
    own = Setup(tmp_path / "runs.csv")
    assert profile_layers(wanted(lists={"batches": [2, 13]}), own, told.append) == 2
    assert [progress.reason for progress in told] == ["", "out of memory: too large"]
    assert len(pd.read_csv(own.sibling("operations"))) == 1
    assert len(pd.read_csv(own.sibling("all-layers"))) == 11
    assert set(pd.read_csv(own.sibling("layers"))["kind"]) == {"conv", "dense"}
    (failure,) = pd.read_csv(own.sibling("layers-failed")).to_dict("records")
    assert {"cnn": "lenet5", "batch": 13, "reason": "out of memory: too large"}.items() <= failure.items()
    # What failed is not tried again, as in a sweep of runs; a run of it is another matter.
    assert profile_layers(wanted(lists={"batches": [2, 4, 13]}), own, told.append) == 1
    assert profile_runs(wanted(lists={"batches": [13]}), own, told.append) == 1
    with pytest.raises(InputError, match="--processes 1"):
        profile_layers(wanted(processes=[2]), own, told.append)


def test_rows_of_layers_without_their_totals_are_measured_again(parts, tmp_path):
    """What a program leaves that was killed between its three files."""
    own = Setup(tmp_path / "runs.csv")
    profile_layers(wanted(), own, print)
    whole = {name: own.sibling(name).read_text() for name in ("layers", "all-layers", "operations")}
    own.sibling("operations").write_text("".join(whole["operations"].splitlines(keepends=True)[:2]))
    own.sibling("all-layers").write_text("".join(whole["all-layers"].splitlines(keepends=True)[:-3]))
    assert profile_layers(wanted(), own, print) == 1
    assert {name: own.sibling(name).read_text() for name in whole} == whole


@pytest.mark.parametrize("precision, error", [("fp8", UnknownNameError), ("tf32", NotMeasuredError)])
def test_micro_refuses_a_precision_before_it_measures(parts, tmp_path, precision, error):
    asked = {"setup": Setup(tmp_path / "runs.csv"), "on_time": print}
    with pytest.raises(error):
        profile_micro("cpu", [1], ["fp32", precision], 1, **asked)
    assert list(tmp_path.iterdir()) == []


def test_micro_over_several_hosts_meets_where_runs_do(parts, tmp_path):
    several = Setup(tmp_path / "runs.csv", network="ethernet-10g", rendezvous="node0:29500")
    profile_micro("cpu", [1], ["fp32"], 4, setup=several, on_time=lambda gpu, time: None, nodes=2)
    assert parts.met == [("cpu", 4, 2, "node0:29500")]
    with pytest.raises(InputError, match="multiple of 3 hosts"):
        profile_micro("cpu", [1], ["fp32"], 4, setup=several, on_time=print, nodes=3)


def test_micro_goes_to_three_files(parts, tmp_path):
    told = []
    own = Setup(tmp_path / "runs.csv")
    asked = {"setup": own, "on_time": lambda gpu, time: told.append(time.benchmark)}
    assert profile_micro("cpu", [1, 2], ["fp32"], 2, **asked) == 2
    rows = pd.read_csv(own.sibling("micro"))
    assert rows["achieved_matmul_flop_per_s"].tolist() == [1e11, 1e11]
    assert rows["allreduce_byte_per_s"].notna().all()
    assert told == ["matmul", "launch", "allreduce", "allreduce"] * 2
    assert len(pd.read_csv(own.sibling("micro-sizes"))) == 8
    profile_micro("cpu", [1], ["fp32"], 1, **asked)
    rates = pd.read_csv(own.sibling("rates"))
    assert rates["gpu"].is_unique
    assert rates["allreduce_byte_per_s"].isna().tolist() == [True, False]


def test_gpus_are_asked_as_gpus(parts, tmp_path):
    own = Setup(tmp_path / "runs.csv")
    assert profile_runs(wanted(device="cuda", threads=[0]), own, lambda progress: None) == 2
    assert set(pd.read_csv(own.out)["gpu"]) == {"NVIDIA Toy 1"}


def test_a_device_is_known_by_its_name(parts):
    gpu, cpu = setup.named_here("cuda"), setup.named_here("cpu")
    assert gpu("NVIDIA Toy 1", 0) and not gpu("T4", 0)
    own = read_processor().device_name(2)
    assert cpu(own, 2) and not cpu(own, 1)


def test_threads_are_all_cores_of_a_cpu(parts):
    assert (default_threads("cuda"), default_threads("cpu")) == (0, usable_cores())
    assert device_here("auto") == "cuda"


def test_without_torch_one_line_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'trainlaw\[profile\]'"):
        profile_runs(wanted(), Setup(tmp_path / "runs.csv"), lambda progress: None)
    with pytest.raises(MissingDependencyError):
        setup.torch_part("torch_measure")
