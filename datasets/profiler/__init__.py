"""Measures training iterations of CNNs on this machine; only files named `torch_*` import torch."""

from trainlaw.datasets.profiler.configurations import (
    Configuration,
    configurations_of_lists,
    read_plan,
)
from trainlaw.datasets.profiler.layer_profiling import profile_layers
from trainlaw.datasets.profiler.micro import MicroTime
from trainlaw.datasets.profiler.micro_profiling import profile_micro
from trainlaw.datasets.profiler.profiling import profile_runs
from trainlaw.datasets.profiler.repeats import StoppingRule
from trainlaw.datasets.profiler.setup import Means, default_threads, device_here, named_here
from trainlaw.datasets.profiler.sweep import Progress

__all__ = [
    "Configuration",
    "Means",
    "MicroTime",
    "Progress",
    "StoppingRule",
    "configurations_of_lists",
    "default_threads",
    "device_here",
    "named_here",
    "profile_layers",
    "profile_micro",
    "profile_runs",
    "read_plan",
]
