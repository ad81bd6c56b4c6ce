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
    from trainlaw.datasets.profiler.local_device import default_threads, device_here, named_here
    from trainlaw.datasets.profiler.micro import MicroTime, profile_micro
    from trainlaw.datasets.profiler.row_files import sibling
    from trainlaw.datasets.profiler.sweep import SweepProgress, profile_runs
    from trainlaw.datasets.profiler.timing import StoppingRule

__all__ = [
    "FORWARD_PASS",
    "WHOLE_ITERATION",
    "Configuration",
    "MicroTime",
    "StoppingRule",
    "SweepProgress",
    "configuration_grid",
    "default_threads",
    "device_here",
    "measured_host_launch",
    "named_here",
    "profile_micro",
    "profile_runs",
    "read_plan",
    "sibling",
]

if not TYPE_CHECKING:
    # A prediction reads the columns of plans without loading the code that measures.
    __getattr__ = lazy_names(
        __name__,
        {
            "configurations": "FORWARD_PASS WHOLE_ITERATION Configuration configuration_grid read_plan",
            "host": "measured_host_launch",
            "local_device": "default_threads device_here named_here",
            "micro": "MicroTime profile_micro",
            "row_files": "sibling",
            "sweep": "SweepProgress profile_runs",
            "timing": "StoppingRule",
        },
    )
