"""Real measurements with torch on the CPU: short, so times are only held against what is known of them."""

import math
import time
from dataclasses import replace
from statistics import median

import pandas as pd
import pytest
from trainlaw.datasets.cnns.zoo import build
from trainlaw.datasets.hardware.gpu_files import with_gpus
from trainlaw.datasets.measurements.importing import import_runs
from trainlaw.datasets.profiler.configurations import Configuration, configuration_grid
from trainlaw.datasets.profiler.row_files import sibling
from trainlaw.datasets.profiler.sweep import profile_runs
from trainlaw.datasets.profiler.timing import StoppingRule

pytest.importorskip("torch", reason="the extra 'profile' brings torch")

import torch
from trainlaw.datasets.profiler import torch_micro
from trainlaw.datasets.profiler.devices import NotMeasuredError, device_clock
from trainlaw.datasets.profiler.timing import time_iterations
from trainlaw.datasets.profiler.torch_cnn import TorchForward, TorchStep
from trainlaw.datasets.profiler.torch_measure import measure

DELAY_S, COOLING_S = 0.020, 0.010
RULE = StoppingRule(limit_seconds=1.0)
LENET = Configuration("cpu", 1, "fp32", "lenet5", 32, 10, 2)


def wanted(**options):
    lists = {"cnns": ["lenet5"], "batches": [2], "inputs": [32], "precisions": ["fp32"]}
    places = {"device": "cpu", "threads": [1]}
    return configuration_grid(*(lists | options.pop("lists", {})).values(), **places | options)


class Sleepy(torch.nn.Module):
    """A layer that takes longer by a time in seconds; its computation is that of the layer."""

    def __init__(self, layer, seconds):
        super().__init__()
        self.layer, self.seconds = layer, seconds

    def forward(self, x):
        # Not a sleep: on a busy machine one wakes up too late.
        end = time.perf_counter() + self.seconds
        while time.perf_counter() < end:
            pass
        return self.layer(x)


def steps():
    """The same step twice, its second convolution, at position 4, 20 ms slower in the second.

    It waits a little in both: while it waits, caches cool, and that slows down the rest by a millisecond.
    """
    cnn = build("lenet5", 32, 10)
    plain, slow = TorchStep(cnn, LENET), TorchStep(cnn, LENET)
    for step, seconds in ((plain, COOLING_S), (slow, COOLING_S + DELAY_S)):
        step.network.nodes[4] = Sleepy(step.network.nodes[4], seconds)
    return plain, slow


def delay_of_total():
    """Seconds by which the whole iteration is slower in the second step."""
    plain, slow = steps()
    clock = device_clock(torch, "cpu")
    before, after = (time_iterations(step, clock, RULE) for step in (plain, slow))
    return min(after.total_s) - min(before.total_s)


def undisturbed(measure, is_right):
    """The first right result of some: a busy machine disturbs now and then, a wrong timer is wrong always."""
    torch.set_num_threads(1)
    for _ in range(5):
        found = measure()
        if is_right(found):
            break
    return found


def test_a_known_delay_is_found_in_the_total():
    wanted = pytest.approx(DELAY_S, rel=0.05)
    assert undisturbed(delay_of_total, lambda seconds: seconds == wanted) == wanted


@pytest.mark.parametrize("precision", ["fp32", "amp", "bf16"])
def test_sweep_gives_rows_that_pass(tmp_path, precision):
    path = tmp_path / "runs.csv"
    asked = wanted(lists={"precisions": [precision, "tf32"]})
    assert profile_runs(asked, path, RULE, lambda p: None) == 2
    table = import_runs(path, gpus=with_gpus(sibling(path, "machine")))
    assert table.frame["precision"].tolist() == [precision]
    assert 1e-5 < table.seconds[0] < 1.0
    assert pd.read_csv(sibling(path, "failed"))["reason"].tolist() == [
        "this device has no tf32: tf32 needs a GPU of compute capability 8.0 or higher"
    ]


@pytest.mark.parametrize("stack", ["eager", "channels_last"])
def test_a_forward_pass_keeps_weights_and_gradients_as_they_are(stack):
    asked = replace(LENET, stack=stack, timed_parts="forward")
    step = TorchForward(build("lenet5", 32, 10), asked)
    before = [parameter.clone() for parameter in step.network.parameters()]
    for phase in (step.forward, step.backward, step.update, step.finish):
        phase()
    assert all(
        p.grad is None and p.equal(old) for p, old in zip(step.network.parameters(), before, strict=True)
    )
    assert not step.network.training
    is_last = step.images.is_contiguous(memory_format=torch.channels_last)
    assert is_last == (stack == "channels_last")
    assert math.isnan(measure(asked, RULE).host_launch_s)


@pytest.mark.parametrize("precision", ["fp32", "amp", "bf16"])
def test_phases_make_up_the_iteration(precision):
    def share_of_phases():
        repeats = measure(replace(LENET, precision=precision), RULE).repeats
        phases = (repeats.forward_s, repeats.backward_s, repeats.update_s)
        return sum(map(median, phases)) / repeats.median_s

    whole = pytest.approx(1.0, rel=0.3)
    assert undisturbed(share_of_phases, lambda share: share == whole) == whole


def test_what_cannot_fit_becomes_a_reason(tmp_path):
    out = tmp_path / "runs.csv"
    profile_runs(wanted(lists={"cnns": ["vgg16"], "batches": [1_000_000]}), out, RULE, lambda p: None)
    (reason,) = pd.read_csv(sibling(out, "failed"))["reason"]
    assert reason.startswith("out of memory: the step keeps")
    assert not out.exists()


def test_memory_that_torch_cannot_get_becomes_a_reason(monkeypatch):
    monkeypatch.setattr(TorchStep, "forward", lambda step: torch.empty(2**60))
    with pytest.raises(NotMeasuredError, match="out of memory"):
        measure(LENET, RULE)
    monkeypatch.setattr(TorchStep, "forward", lambda step: torch.ones(2).view(3))
    with pytest.raises(RuntimeError, match="shape"):
        measure(LENET, RULE)


def test_micro_benchmarks(monkeypatch):
    monkeypatch.setattr(torch_micro, "_SIDES", {"cpu": 256})
    monkeypatch.setattr(torch_micro, "_COPY_BYTES", 2**20)
    rates = torch_micro.achieved_rates("cpu", "fp32", 0.02)
    assert 1e8 < rates.achieved_matmul_flop_per_s < 1e13
    assert 1e8 < rates.achieved_conv_flop_per_s < 1e13
    assert 1e8 < rates.achieved_copy_byte_per_s < 1e13
    assert 1e-8 < rates.launch_latency_s < 1e-2
