"""Real measurements with torch on the CPU: short, so times are only held against what is known of them."""

import math
import operator
import signal
import time
from dataclasses import replace
from statistics import median

import pandas as pd
import pytest
from trainlaw.datasets.cnns.zoo import build
from trainlaw.datasets.hardware.gpu_files import with_gpus
from trainlaw.datasets.measurements.importing import import_runs
from trainlaw.datasets.profiler import (
    Configuration,
    Setup,
    StoppingRule,
    configuration_grid,
    profile_layers,
    profile_micro,
    profile_runs,
)

pytest.importorskip("torch", reason="the extra 'profile' brings torch")

import torch
from trainlaw.datasets.profiler import torch_micro
from trainlaw.datasets.profiler.devices import NotMeasuredError, device_clock
from trainlaw.datasets.profiler.timing import time_iterations
from trainlaw.datasets.profiler.torch_cnn import TorchForward, TorchStep
from trainlaw.datasets.profiler.torch_layer_times import _iteration, time_layers
from trainlaw.datasets.profiler.torch_measure import measure, with_step
from trainlaw.datasets.profiler.torch_processes import Gathering, launch

DELAY_S, COOLING_S = 0.020, 0.010
RULE = StoppingRule(limit_seconds=1.0)
LENET = Configuration("cpu", 1, 1, "fp32", "lenet5", 32, 10, 2)


def wanted(**options):
    lists = {"cnns": ["lenet5"], "batches": [2], "inputs": [32], "precisions": ["fp32"]}
    places = {"device": "cpu", "threads": [1], "processes": [1]}
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
    return cnn, plain, slow


def delays_of_layers():
    """Seconds by which each layer is slower in the second step, by position."""
    cnn, plain, slow = steps()
    clock = device_clock(torch, "cpu")
    (before, _), (after, _) = (time_layers(step, cnn, clock, 15) for step in (plain, slow))
    # The least of the repeats: other programs can only add to it.
    pairs = zip(after, before, strict=True)
    return {each.position: each.total_range_s[0] - other.total_range_s[0] for each, other in pairs}


def delay_of_total():
    """Seconds by which the whole iteration is slower in the second step."""
    _, plain, slow = steps()
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


def test_a_known_delay_is_found_in_its_layer_and_nowhere_else():
    wanted = pytest.approx(DELAY_S, rel=0.05)
    found = undisturbed(
        delays_of_layers,
        lambda by: by[4] == wanted and all(abs(by[k]) < 0.05 * DELAY_S for k in by if k != 4),
    )
    assert found.pop(4) == wanted
    assert max(map(abs, found.values())) < 0.05 * DELAY_S


def test_a_known_delay_is_found_in_the_total():
    wanted = pytest.approx(DELAY_S, rel=0.05)
    assert undisturbed(delay_of_total, lambda seconds: seconds == wanted) == wanted


def test_layer_by_layer_gradients_are_those_of_the_whole():
    cnn = build("squeezenet1_1", 64, 10)
    step = TorchStep(cnn, Configuration("cpu", 1, 1, "fp32", "squeezenet1_1", 64, 10, 2))
    step.network.eval()
    step.forward()
    step.backward()
    whole = [parameter.grad.clone() for parameter in step.network.parameters()]
    step.optimizer.zero_grad(set_to_none=True)
    _iteration(step, cnn, device_clock(torch, "cpu"), {})
    for ours, theirs in zip((p.grad for p in step.network.parameters()), whole, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("precision", ["fp32", "amp", "bf16"])
def test_sweep_gives_rows_that_pass(tmp_path, precision):
    path = tmp_path / "runs.csv"
    setup = Setup(path, RULE)
    assert profile_runs(wanted(lists={"precisions": [precision, "tf32"]}), setup, lambda p: None) == 2
    table = import_runs(path, gpus=with_gpus(setup.sibling("machine")))
    assert table.frame["precision"].tolist() == [precision]
    assert 1e-5 < table.seconds[0] < 1.0
    assert pd.read_csv(setup.sibling("failed"))["reason"].tolist() == ["tf32 exists on CUDA devices only"]


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
    setup = Setup(tmp_path / "runs.csv", RULE)
    profile_runs(wanted(lists={"cnns": ["vgg16"], "batches": [1_000_000]}), setup, lambda p: None)
    (reason,) = pd.read_csv(setup.sibling("failed"))["reason"]
    assert reason.startswith("out of memory: the step keeps")
    assert not setup.out.exists()


def test_memory_that_torch_cannot_get_becomes_a_reason():
    def use(step):
        return torch.empty(2**60)

    with pytest.raises(NotMeasuredError, match="out of memory"):
        with_step(build("lenet5", 32, 10), LENET, use)
    with pytest.raises(RuntimeError, match="shape"):
        with_step(build("lenet5", 32, 10), LENET, lambda step: torch.ones(2).view(3))


def test_layers_and_operations_of_a_network(tmp_path):
    setup = Setup(tmp_path / "runs.csv", RULE)
    profile_layers(wanted(lists={"cnns": ["googlenet"], "inputs": [64]}), setup, lambda p: None)
    details = pd.read_csv(setup.sibling("all-layers"))
    parts = details[["forward_s", "backward_input_s", "backward_weights_s", "update_s"]].sum().sum()
    operations = pd.read_csv(setup.sibling("operations")).iloc[0]
    # Other programs may take the processor from one of the two.
    assert 0.3 < parts / operations["time_s"] < 3
    assert details["forward_s"].gt(0).all()


def test_micro_benchmarks(tmp_path, monkeypatch):
    monkeypatch.setattr(torch_micro, "MATRIX_SIDES", (64, 128, 256))
    monkeypatch.setattr(torch_micro, "COPY_BYTES", (2**12, 2**20))
    setup = Setup(tmp_path / "runs.csv")
    monkeypatch.setattr(torch_micro, "micro_times", lambda d, p, own=torch_micro.micro_times: own(d, p, 0.02))
    profile_micro("cpu", [1], ["fp32"], 2, setup=setup, on_time=lambda gpu, each: None)
    row = pd.read_csv(setup.sibling("micro")).iloc[0]
    assert 1e8 < row["achieved_matmul_flop_per_s"] < 1e13
    assert 1e8 < row["achieved_copy_byte_per_s"] < 1e13
    assert 1e-8 < row["launch_latency_s"] < 1e-2
    assert 1e5 < row["allreduce_byte_per_s"] < 1e12


def test_two_processes_train_together(tmp_path):
    path = tmp_path / "runs.csv"
    setup = Setup(path, RULE)
    lists = {"precisions": ["fp32", "tf32"]}
    assert profile_runs(wanted(processes=[1, 2], lists=lists), setup, print) == 4
    table = import_runs(path, gpus=with_gpus(setup.sibling("machine")))
    assert table.frame["n_gpus"].tolist() == [1, 2]
    assert table.frame["single_gpu_time_s"].tolist()[1] == table.seconds[0]
    own = pd.read_csv(path).iloc[1]
    assert own["all_reduce_share"] == pytest.approx(own["all_reduce_s"] / own["time_s"])
    assert 0 <= own["all_reduce_overlap"] <= 1
    assert len(pd.read_csv(setup.sibling("failed"))) == 2
    assert profile_runs(wanted(processes=[1, 2], lists=lists), setup, print) == 0


def test_a_process_that_ends_with_an_error_is_a_reason():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(NotMeasuredError, match="a process ended: TypeError"):
        launch(Gathering("cpu", 2), operator.truediv)
    # Torch's launcher leaves a handler that turns Ctrl-C into an error of its own.
    assert signal.getsignal(signal.SIGINT) is before
