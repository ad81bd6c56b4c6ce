"""Times of single layers: rows of the layers schema, every layer, and totals per operation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from math import nan

from trainlaw.datasets.cnns.graph import Cnn, Layer, operations_of_kinds
from trainlaw.datasets.measurements.layers import LAYER_COLUMNS, LAYER_PROFILER_COLUMNS
from trainlaw.datasets.profiler.configurations import WHOLE_ITERATION, Configuration
from trainlaw.datasets.profiler.row_files import MachineFile, RowFile
from trainlaw.datasets.profiler.run_rows import (
    FAILURE_COLUMNS,
    FRAMEWORK,
    HARNESS,
    OPTIMIZER,
    configuration_from_failure,
)
from trainlaw.datasets.profiler.setup import Setup, measured_device, torch_part
from trainlaw.datasets.profiler.sweep import OnProgress, keep_in_turn
from trainlaw.formulas.errors import InputError

# Forward, backward to the input and to the weights, as named by the TensorFlow profiler and in the shipped
# anchor profiles. Kinds whose backward pass is one operation repeat its name.
_DEPTHWISE = "DepthwiseConv2dNative"
_OPERATIONS: Mapping[str, Sequence[str]] = {
    **operations_of_kinds(),
    "depthwise": (_DEPTHWISE, f"{_DEPTHWISE}BackpropInput", f"{_DEPTHWISE}BackpropFilter"),
}
_OTHER = ("Other", "OtherGrad", "OtherGrad")
_UPDATE = "ResourceApplyGradientDescent"
_LOSS = "SoftmaxCrossEntropyWithLogits"
_KEY = ("gpu", "cnn", "input_size_px", "n_classes", "batch_per_gpu", "precision", "threads")
OPERATION_FILE_COLUMNS = (
    *_KEY[:5],
    "time_s",
    "precision",
    "framework",
    "harness",
    "timed_parts",
    "threads",
    *(
        f"device_{name}_s"
        for name in sorted({name for row in _OPERATIONS.values() for name in row} | {*_OTHER, _UPDATE, _LOSS})
    ),
)
LAYER_FILE_COLUMNS = (*(column.name for column in LAYER_COLUMNS), *LAYER_PROFILER_COLUMNS)
# Columns of a layer's kind and sizes, by its attributes.
_SIZES: Mapping[str, str] = {
    "kind": "kind",
    "in_channels": "in_channels",
    "out_channels": "out_channels",
    "out_height": "out_height_px",
    "out_width": "out_width_px",
    "kernel_height": "kernel_height_px",
    "kernel_width": "kernel_width_px",
    "stride": "stride_px",
    "groups": "groups",
}
_TIMES = ("forward_s", "backward_input_s", "backward_weights_s", "update_s", "n_repeats")
DETAIL_FILE_COLUMNS = (*_KEY, "position", "layer", *_SIZES.values(), *_TIMES)


@dataclass(frozen=True, slots=True)
class LayerTime:
    """Median seconds of one layer in a training iteration, by its position in the graph.

    Where one operation gives the gradients of input and weights together, `backward_weights_s` is 0.
    `total_s` is the median of the sum of all four; ranges are from the smallest to the largest repeat.
    """

    position: int
    forward_s: float
    backward_input_s: float
    backward_weights_s: float
    update_s: float
    total_s: float
    forward_range_s: tuple[float, float]
    total_range_s: tuple[float, float]
    n_repeats: int


def key_columns(configuration: Configuration, gpu: str) -> dict[str, object]:
    """Return the columns that identify a configuration; sizes in pixels, batch in samples."""
    cells = {**configuration.run_cells, "gpu": gpu}
    return {name: cells[name] for name in _KEY}


def has_schema_row(layer: Layer) -> bool:
    """Return whether the layers schema can describe a layer: ungrouped, square, undilated, or dense."""
    if layer.kind == "dense":
        return True
    square = layer.kernel_height == layer.kernel_width and layer.stride_height == layer.stride_width
    plain = layer.groups == 1 and layer.dilation_height == layer.dilation_width == 1
    return layer.kind == "conv" and square and plain and layer.out_height == layer.out_width


@dataclass(frozen=True)
class MeasuredLayers:
    """The layers of a configuration with their times on a GPU or CPU, as rows of files, times in seconds.

    step_s : seconds of a whole iteration, and of the loss with its gradient.
    """

    configuration: Configuration
    gpu: str
    cnn: Cnn
    times: Sequence[LayerTime]
    step_s: tuple[float, float]

    def _pairs(self) -> Iterator[tuple[Layer, LayerTime]]:
        return ((self.cnn.layers[time.position], time) for time in self.times)

    def detail_rows(self) -> list[dict[str, object]]:
        """Return one row per layer of any kind."""
        shared = key_columns(self.configuration, self.gpu)
        return [
            {
                **shared,
                "position": time.position,
                "layer": layer.name,
                **{column: getattr(layer, name) for name, column in _SIZES.items()},
                **{name: getattr(time, name) for name in _TIMES},
            }
            for layer, time in self._pairs()
        ]

    def schema_rows(self) -> list[dict[str, object]]:
        """Return two rows of the layers schema per layer that it describes: forward alone, and all phases."""
        rows = []
        for layer, time in self._pairs():
            if not has_schema_row(layer):
                continue
            for phase, optimizer, seconds, (low, high) in (
                ("forward", "none", time.forward_s, time.forward_range_s),
                (WHOLE_ITERATION, OPTIMIZER, time.total_s, time.total_range_s),
            ):
                measured = {"time_s": seconds, "time_min_s": low, "time_max_s": high}
                cells = {"phase": phase, "optimizer": optimizer, "n_repeats": time.n_repeats, **measured}
                rows.append({**self._schema_cells(layer), **cells})
        return rows

    def _schema_cells(self, layer: Layer) -> dict[str, object]:
        same = layer.kind == "conv" and layer.out_height == -(-layer.in_height // layer.stride)
        shared = key_columns(self.configuration, self.gpu)
        return {
            "batch": shared.pop("batch_per_gpu"),
            **shared,
            "kind": layer.kind,
            "in_height_px": layer.in_height,
            "in_width_px": layer.in_width,
            "in_channels": layer.in_channels,
            "out_channels": layer.out_channels,
            "kernel_px": max(layer.kernel_height, 1),
            "stride_px": layer.stride,
            "padding": "none" if layer.kind == "dense" else "same" if same else "valid",
            "out_height_px": layer.out_height,
            "bias": int(layer.vector_parameters > 0),
            "activation": "none",
            "source": "own measurement",
            "source_commit": f"trainlaw {version('trainlaw')}",
            "source_path": "trainlaw profile --layers",
            "licence": "own",
            "layer": layer.name,
        }

    def operation_row(self) -> dict[str, object]:
        """Return the seconds of each operation in a step, and of the step: a row of the anchor schema."""
        totals: dict[str, float] = {_LOSS: self.step_s[1]}
        for layer, time in self._pairs():
            kind = "depthwise" if layer.is_depthwise else layer.kind
            parts = (time.forward_s, time.backward_input_s, time.backward_weights_s, time.update_s)
            for name, seconds in zip((*_OPERATIONS.get(kind, _OTHER), _UPDATE), parts, strict=True):
                totals[name] = totals.get(name, 0.0) + seconds
        return {
            **key_columns(self.configuration, self.gpu),
            "time_s": self.step_s[0],
            "framework": FRAMEWORK,
            "harness": HARNESS,
            "timed_parts": WHOLE_ITERATION,
            **{name: 0.0 for name in OPERATION_FILE_COLUMNS if name.startswith("device_")},
            **{f"device_{name}_s": seconds for name, seconds in totals.items()},
        }


class LayerFiles:
    """The files of layer times; the row of operation totals comes last and marks a complete configuration.

    `failures` is the file of configurations that could not be measured, with reasons.
    """

    def __init__(self, setup: Setup) -> None:
        """Open the files; raises InputError for files with other columns."""
        self._layers = RowFile(setup.sibling("layers"), LAYER_FILE_COLUMNS)
        self._details = RowFile(setup.sibling("all-layers"), DETAIL_FILE_COLUMNS)
        self._operations = RowFile(setup.sibling("operations"), OPERATION_FILE_COLUMNS)
        self.failures = RowFile(setup.sibling("layers-failed"), FAILURE_COLUMNS)
        # A program killed between two writes leaves rows of a CNN without totals.
        measured = {_key(row) for row in self._operations.rows}
        for file in (self._layers, self._details):
            file.keep(lambda row: _key(row) in measured)

    def has(self, configuration: Configuration, gpu: str) -> bool:
        """Return whether a configuration was measured on a device, or failed, before."""
        key = tuple(str(value) for value in key_columns(configuration, gpu).values())
        return any(_key(row) == key for row in self._operations.rows) or any(
            configuration_from_failure(row) == configuration for row in self.failures.rows
        )

    def add(self, measured: MeasuredLayers) -> None:
        """Add the rows of one configuration."""
        self._layers.extend(measured.schema_rows())
        self._details.extend(measured.detail_rows())
        self._operations.append(measured.operation_row())


def _key(row: Mapping[str, str]) -> tuple[str, ...]:
    # The layers schema has `batch` in place of `batch_per_gpu`: it describes a layer, not a CNN.
    return tuple(row.get(name) or row["batch"] for name in _KEY)


def profile_layers(configurations: Sequence[Configuration], setup: Setup, on_progress: OnProgress) -> int:
    """Measure each layer of the configurations that are not in the files yet; return their number.

    Files next to `setup.out` end in `-layers` (layers schema), `-all-layers` (every layer of any
    kind), `-operations` (anchor schema) and `-layers-failed`. Raises MissingDependencyError without torch,
    InputError for several processes.
    """
    if any(configuration.processes > 1 for configuration in configurations):
        raise InputError("expected --processes 1 with --layers: layers are measured in one process")
    machine, files = MachineFile(setup.out), LayerFiles(setup)
    devices = dict.fromkeys((each.device, each.threads) for each in configurations)
    hosts = {key: measured_device(*key, setup, machine) for key in devices}
    left = [each for each in configurations if not files.has(each, hosts[each.device, each.threads].gpu)]

    def kept(configuration: Configuration) -> tuple[float, float]:
        gpu = hosts[configuration.device, configuration.threads].gpu
        measured = torch_part("torch_layer_times").measure_layers(configuration, setup.rule)
        layers = MeasuredLayers(configuration, gpu, *measured)
        files.add(layers)
        return layers.step_s[0], nan

    keep_in_turn(left, kept, files.failures, on_progress)
    return len(left)
