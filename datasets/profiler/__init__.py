"""Measure training iterations of CNNs on this machine; only modules named `torch_*` import torch."""

from typing import TYPE_CHECKING

from trainlaw.formulas.lazy_names import lazy_names

if TYPE_CHECKING:
    from trainlaw.datasets.profiler.configurations import (
        FORWARD_PASS,
        WHOLE_ITERATION,
        Configuration,
        configuration_grid,
        read_plan,
    )
    from trainlaw.datasets.profiler.host import measured_host_launch
    from trainlaw.datasets.profiler.layer_times import profile_layers
    from trainlaw.datasets.profiler.micro import MicroTime, profile_micro
    from trainlaw.datasets.profiler.setup import Setup, default_threads, device_here, named_here
    from trainlaw.datasets.profiler.sweep import Progress, profile_runs
    from trainlaw.datasets.profiler.timing import StoppingRule

__all__ = [
    "FORWARD_PASS",
    "WHOLE_ITERATION",
    "Configuration",
    "MicroTime",
    "Progress",
    "Setup",
    "StoppingRule",
    "configuration_grid",
    "default_threads",
    "device_here",
    "measured_host_launch",
    "named_here",
    "profile_layers",
    "profile_micro",
    "profile_runs",
    "read_plan",
]

if not TYPE_CHECKING:
    # A prediction reads the columns of plans, but needs nothing of what measures.
    __getattr__ = lazy_names(
        __name__,
        {
            "FORWARD_PASS": "configurations",
            "WHOLE_ITERATION": "configurations",
            "Configuration": "configurations",
            "configuration_grid": "configurations",
            "read_plan": "configurations",
            "measured_host_launch": "host",
            "profile_layers": "layer_times",
            "MicroTime": "micro",
            "profile_micro": "micro",
            "Setup": "setup",
            "default_threads": "setup",
            "device_here": "setup",
            "named_here": "setup",
            "Progress": "sweep",
            "profile_runs": "sweep",
            "StoppingRule": "timing",
        },
    )
