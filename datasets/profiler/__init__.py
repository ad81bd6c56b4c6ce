"""Measure training iterations of CNNs on this machine; only modules named `torch_*` import torch."""

from trainlaw.datasets.profiler.configurations import (
    Configuration,
    configuration_grid,
    read_plan,
)
from trainlaw.datasets.profiler.layer_times import profile_layers
from trainlaw.datasets.profiler.micro import MicroTime, profile_micro
from trainlaw.datasets.profiler.setup import Setup, default_threads, device_here, named_here
from trainlaw.datasets.profiler.sweep import Progress, profile_runs
from trainlaw.datasets.profiler.timing import StoppingRule

__all__ = [
    "Configuration",
    "MicroTime",
    "Progress",
    "Setup",
    "StoppingRule",
    "configuration_grid",
    "default_threads",
    "device_here",
    "named_here",
    "profile_layers",
    "profile_micro",
    "profile_runs",
    "read_plan",
]
