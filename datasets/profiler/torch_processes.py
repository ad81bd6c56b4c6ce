"""Several processes with DistributedDataParallel by torchrun's launcher: gloo on CPUs, nccl on GPUs."""

import datetime
import logging
import os
import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from torch import distributed
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, record
from torch.distributed.launcher.api import LaunchConfig, elastic_launch
from torch.nn.parallel import DistributedDataParallel
from trainlaw.datasets.profiler.configurations import Configuration
from trainlaw.datasets.profiler.devices import NotMeasuredError, device_clock
from trainlaw.datasets.profiler.machine import Watch
from trainlaw.datasets.profiler.micro import MicroTime
from trainlaw.datasets.profiler.run_rows import AllReduce, MeasuredDevice, Measurement, failure_row
from trainlaw.datasets.profiler.sweep import Progress, SweepFiles, sweep
from trainlaw.datasets.profiler.timing import StoppingRule, time_iterations
from trainlaw.datasets.profiler.torch_cnn import TorchStep
from trainlaw.datasets.profiler.torch_measure import device_state, make_ready, with_step
from trainlaw.datasets.profiler.torch_micro import all_reduce_seconds, all_reduce_times
from trainlaw.formulas.errors import InputError

_TIMEOUT = datetime.timedelta(minutes=5)
_ALL_REDUCE_REPEATS = 15
# Torch's own list: torch.distributed.elastic.multiprocessing.api, TORCHELASTIC_SIGNALS_TO_HANDLE.
_HANDLED = frozenset({"SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"})


@dataclass(frozen=True, slots=True)
class Gathering:
    """The processes that take part: device of each, total number, hosts, and where the hosts meet."""

    device: str
    processes: int
    nodes: int = 1
    rendezvous: str = ""

    def config(self) -> LaunchConfig:
        """Return torchrun's configuration (https://docs.pytorch.org/docs/stable/elastic/run.html)."""
        meeting = self.rendezvous or "localhost:0"
        return LaunchConfig(
            min_nodes=self.nodes,
            max_nodes=self.nodes,
            nproc_per_node=self.processes // self.nodes,
            run_id=f"trainlaw-{self.processes}" if self.nodes > 1 else secrets.token_hex(4),
            rdzv_backend="c10d",
            rdzv_endpoint=meeting,
            max_restarts=0,
            local_addr="localhost" if self.nodes == 1 else None,
        )


@dataclass(frozen=True, slots=True)
class SharedSweep:
    """The data that each process of a sweep needs; `devices` are by number of threads."""

    configurations: tuple[Configuration, ...]
    rule: StoppingRule
    out: str
    devices: dict[int, MeasuredDevice]


def launch(gathering: Gathering, work: Callable[..., Any], *arguments: Any) -> Any:
    """Run `work(gathering, *arguments)` in each process and return what the first one of this host returns.

    Raises NotMeasuredError when one of them ends with an error.
    """
    # The launcher logs each failure as a page of text; only its reason is kept, as one line.
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
    try:
        with _own_signals():
            returned = elastic_launch(gathering.config(), _in_group)(gathering, work, *arguments)
        return returned[min(returned)]
    except SignalException:
        raise KeyboardInterrupt from None
    except ChildFailedError as error:
        raise NotMeasuredError(f"a process ended: {_first_reason(error)}") from None


@contextmanager
def _own_signals() -> Iterator[None]:
    """Restore the signal handlers that the launcher replaces, so that Ctrl-C works as before."""
    kept = {number: signal.getsignal(number) for number in signal.Signals if number.name in _HANDLED}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in kept.items():
                signal.signal(number, handler)


def _first_reason(error: ChildFailedError) -> str:
    _, failure = error.get_first_failure()
    # An error is a mapping with its traceback, a signal a text.
    message = failure.message.get("message", "") if isinstance(failure.message, dict) else failure.message
    return " ".join(str(message).split())[:200] or f"exit code {failure.exitcode}"


@record
def _in_group(gathering: Gathering, work: Callable[..., Any], *arguments: Any) -> Any:
    is_gpu = gathering.device == "cuda"
    if is_gpu:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    elif gathering.nodes == 1:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    distributed.init_process_group("nccl" if is_gpu else "gloo", timeout=_TIMEOUT)
    try:
        return work(gathering, *arguments)
    finally:
        with suppress(RuntimeError):
            distributed.destroy_process_group()


def sweep_together(
    gathering: Gathering, shared: SharedSweep, on_progress: Callable[[Progress], None]
) -> None:
    """Measure configurations in several processes; the first one writes the files.

    If a process dies, the configuration being measured becomes a failure, and the sweep continues.
    `on_progress` is called in the first process and must be a function of a module.
    """
    while SweepFiles(shared.out).left(shared.configurations):
        try:
            launch(gathering, _sweep_here, shared, on_progress)
            return
        except NotMeasuredError as error:
            files = SweepFiles(shared.out)
            left = files.left(shared.configurations)
            if not left:
                return
            files.failures.append(failure_row(left[0], str(error)))


def _sweep_here(gathering: Gathering, shared: SharedSweep, on_progress: Callable[[Progress], None]) -> None:
    first = distributed.get_rank() == 0
    files = SweepFiles(shared.out) if first else None
    # Hosts may have different files: all measure what the first process has not measured yet.
    wanted: list[list[Configuration]] = [files.left(shared.configurations) if files else []]
    distributed.broadcast_object_list(wanted, device=torch.device(gathering.device))

    def measured(configuration: Configuration) -> Measurement:
        return _measure_together(configuration, shared.rule, gathering)

    if files:
        sweep(wanted[0], measured, lambda each: shared.devices[each.threads], files, on_progress)
        return
    for configuration in wanted[0]:
        with suppress(NotMeasuredError, InputError):
            measured(configuration)


def _measure_together(configuration: Configuration, rule: StoppingRule, gathering: Gathering) -> Measurement:
    cnn, reason = None, ""
    try:
        cnn = make_ready(configuration)
    except (NotMeasuredError, InputError) as error:
        reason = str(error)
    _all_agree(reason, gathering.device)
    if cnn is None:
        raise NotMeasuredError(reason)
    own = gathering.processes // gathering.nodes
    watch = Watch(processes=own, gpu=lambda: device_state(gathering.device))

    def timed(step: TorchStep) -> Measurement:
        return _timed(step, rule, gathering, watch)

    try:
        return with_step(cnn, configuration, timed, DistributedDataParallel)
    except NotMeasuredError as error:
        # The others wait for this process: it must exit, so that the launcher stops them.
        raise RuntimeError(str(error)) from None


def _timed(step: TorchStep, rule: StoppingRule, gathering: Gathering, watch: Watch) -> Measurement:
    def agree(value: float) -> float:
        return _from_first(value, gathering.device)

    clock = device_clock(torch, gathering.device)
    repeats = time_iterations(step, clock, rule, agree)
    gradients = sum(parameter.numel() for parameter in step.network.parameters() if parameter.requires_grad)
    dtype = next(step.network.parameters()).dtype
    message = torch.zeros(gradients, dtype=dtype, device=gathering.device)
    alone = all_reduce_seconds(message, _ALL_REDUCE_REPEATS)
    # The same iteration without the all-reduce of gradients.
    step.called.require_backward_grad_sync = False
    local = time_iterations(step, clock, rule, agree)
    return Measurement(repeats, watch.seen(), AllReduce(alone, median(local.total_s)))


def _from_first(value: float, device: str) -> float:
    shared = torch.tensor([float(value)], dtype=torch.float64, device=device)
    distributed.broadcast(shared, 0)
    return float(shared.item())


def _all_agree(reason: str, device: str) -> None:
    """Raise NotMeasuredError in all processes if one of them has a reason."""
    failed = torch.tensor([float(bool(reason))], device=device)
    distributed.all_reduce(failed)
    if failed.item():
        raise NotMeasuredError(reason or "another process cannot measure it")


def all_reduce_together(gathering: Gathering) -> list[MicroTime]:
    """Return the all-reduce of all message sizes."""
    found: list[MicroTime] = launch(gathering, _all_reduce_here)
    return found


def _all_reduce_here(gathering: Gathering) -> list[MicroTime]:
    torch.set_num_threads(1)
    return all_reduce_times(gathering.device)
