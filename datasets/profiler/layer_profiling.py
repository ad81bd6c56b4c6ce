"""The times of single layers: the layers schema, every layer, and totals per operation."""

from collections.abc import Mapping, Sequence
from math import nan

from trainlaw.datasets.profiler.configurations import Configuration
from trainlaw.datasets.profiler.layer_rows import (
    DETAIL_FILE_COLUMNS,
    LAYER_FILE_COLUMNS,
    OPERATION_FILE_COLUMNS,
    detail_rows,
    key_columns,
    operation_row,
    schema_rows,
)
from trainlaw.datasets.profiler.machine_file import MachineFile
from trainlaw.datasets.profiler.row_files import RowFile
from trainlaw.datasets.profiler.run_rows import FAILURE_COLUMNS, Host, configuration_of_failure
from trainlaw.datasets.profiler.setup import Means, OnProgress, host_of, torch_part
from trainlaw.datasets.profiler.sweep import keep_in_turn
from trainlaw.formulas.errors import InputError

_KEY = ("gpu", "cnn", "input_size_px", "n_classes", "batch_per_gpu", "precision", "threads")


class LayerFiles:
    """The files of layer times; the row of operation totals comes last and says that all rows are there.

    `failures` is the file of what could not be measured, and why.
    """

    def __init__(self, means: Means) -> None:
        """Open the files; raises InputError where they are others'."""
        self._layers = RowFile(means.beside("layers"), LAYER_FILE_COLUMNS)
        self._details = RowFile(means.beside("all-layers"), DETAIL_FILE_COLUMNS)
        self._operations = RowFile(means.beside("operations"), OPERATION_FILE_COLUMNS)
        self.failures = RowFile(means.beside("layers-failed"), FAILURE_COLUMNS)
        # A program that was killed between the files leaves rows of a network without totals.
        measured = {_key(row) for row in self._operations.rows}
        for file in (self._layers, self._details):
            file.keep(lambda row: _key(row) in measured)

    def has(self, configuration: Configuration, gpu: str) -> bool:
        """Return whether a configuration was measured on a device, or tried in vain, before."""
        key = tuple(str(value) for value in key_columns(configuration, gpu).values())
        return any(_key(row) == key for row in self._operations.rows) or any(
            configuration_of_failure(row) == configuration for row in self.failures.rows
        )

    def add(
        self,
        layers: Sequence[Mapping[str, object]],
        details: Sequence[Mapping[str, object]],
        operations: Mapping[str, object],
    ) -> None:
        """Add the rows of one configuration."""
        self._layers.extend(layers)
        self._details.extend(details)
        self._operations.append(operations)


def _key(row: Mapping[str, str]) -> tuple[str, ...]:
    # The layers schema says `batch`, where a device has one layer and not a network.
    return tuple(row.get(name) or row["batch"] for name in _KEY)


def profile_layers(configurations: Sequence[Configuration], means: Means, on_progress: OnProgress) -> int:
    """Measure each layer of what is not yet in the files, and return how many configurations that were.

    Beside `means.out` appear files ending in `-layers` (layers schema), `-all-layers` (every layer of any
    kind), `-operations` (anchor schema) and `-layers-failed`. Raises MissingDependencyError without torch,
    InputError for several processes.
    """
    if any(configuration.processes > 1 for configuration in configurations):
        raise InputError("expected --processes 1 with --layers: layers are measured in one process")
    machine, files = MachineFile(means.out), LayerFiles(means)
    devices = dict.fromkeys((each.device, each.threads) for each in configurations)
    hosts = {key: host_of(*key, means, machine) for key in devices}
    left = [each for each in configurations if not files.has(each, hosts[each.device, each.threads].gpu)]

    def kept(configuration: Configuration) -> tuple[float, float]:
        host = hosts[configuration.device, configuration.threads]
        return _measured(configuration, means, host, files), nan

    keep_in_turn(left, kept, files.failures, on_progress)
    return len(left)


def _measured(configuration: Configuration, means: Means, host: Host, files: LayerFiles) -> float:
    """Measure one configuration, keep its rows, and return the seconds of a whole iteration."""
    cnn, times, step_s = torch_part("torch_layer_times").measure_layers(configuration, means.rule)
    files.add(
        schema_rows(cnn, times, configuration, host.gpu),
        detail_rows(cnn, times, configuration, host.gpu),
        operation_row(cnn, times, configuration, host.gpu, step_s),
    )
    return step_s[0]
