"""The layers of a CNN on several streams of a GPU: times by a formula of one layer, then a schedule."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from trainlaw.app.answers.answer import WARNING
from trainlaw.app.inputs.requests import configured_row
from trainlaw.app.models.builtin import LAYER_FORMULA
from trainlaw.app.models.scopes import check_scope
from trainlaw.app.predictions.predict import run_answers
from trainlaw.datasets import CnnCounts, Gpu, built_in_gpus
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.scheduling import Schedule, Tasks, list_schedule
from trainlaw.datasets.features.cnn_layer_features import device_shares
from trainlaw.datasets.measurements.formula_rows import layer_columns
from trainlaw.datasets.measurements.runs import Setup, unmeasured_runs
from trainlaw.datasets.tables.joins import Facts
from trainlaw.formulas import Formula, InputError, load_formula
from trainlaw.formulas.errors import check_name
from trainlaw.formulas.scopes import LAYER

EVENT_S = 5e-6  # recording an event on one stream and waiting for it on another; recalled order of magnitude
# Concurrent kernels of a GPU: CUDA C++ Programming Guide, compute capability 7.0 and newer.
MOST_STREAMS = 128
_TRAINING_PASSES = 3  # forward, gradient of the input, gradient of the weights


class LayerTask(NamedTuple):
    """One task of a schedule: a layer of the CNN, forward or backward."""

    layer: str
    kind: str
    group: str
    backward: bool = False

    @property
    def name(self) -> str:
        """Name of the task."""
        return f"{self.layer}, backward" if self.backward else self.layer


@dataclass(frozen=True)
class StreamPlan:
    """A CNN's layers on a GPU, scheduled on 1, 2, ... streams; `layers` are the tasks, in their order."""

    cnn: str
    gpu: str
    batch: int
    phase: str
    layers: tuple[LayerTask, ...]
    schedules: tuple[Schedule, ...]
    warnings: tuple[str, ...] = ()

    @property
    def chosen(self) -> Schedule:
        """The schedule on all streams."""
        return self.schedules[-1]

    @property
    def critical(self) -> tuple[int, ...]:
        """Tasks on the critical path, first to last."""
        return self.chosen.tasks.critical_path()


def plan_streams(
    cnn: CnnCounts,
    gpu: Gpu,
    batch: int,
    streams: int,
    *,
    phase: str = "training",
    event_s: float = EVENT_S,
    formula: Formula | None = None,
) -> StreamPlan:
    """Return the schedules of a CNN's layers on 1 to `streams` streams of a GPU.

    batch : images per iteration. phase : "training" (forward, then backward) or "forward". event_s : cost of
    an edge between streams, seconds. formula : of the time of one layer, None for the built-in one.
    Raises UnknownNameError for another phase, InputError for a missing number or GPU specification.

    >>> from trainlaw.datasets import find_cnn_counts, find_gpu
    >>> plan = plan_streams(find_cnn_counts("lenet5"), find_gpu("T4"), 64, 2)
    >>> round(plan.chosen.speed_up, 9), plan.critical == tuple(range(len(plan.layers)))
    (1.0, True)
    """
    check_name("phase", phase, ("training", "forward"))
    if not 1 <= streams <= MOST_STREAMS:
        raise InputError(f"expected 1 to {MOST_STREAMS} streams, got {streams}")
    formula = formula or load_formula(LAYER_FORMULA)
    check_scope(formula, LAYER, advice="`trainlaw study --of layers` finds one")
    layers, tasks = layer_tasks(cnn.graph, gpu, batch, phase, formula)
    schedules = tuple(list_schedule(tasks, count, event_s) for count in range(1, streams + 1))
    row = configured_row(cnn, gpu, batch, Setup("fp32"))
    run = unmeasured_runs("schedule", [row], Facts(built_in_gpus().with_gpus([gpu]), (cnn,)))
    (warnings,) = run_answers(formula, run).sentences(WARNING)
    return StreamPlan(cnn.cnn, gpu.gpu, batch, phase, layers, schedules, warnings)


def layer_tasks(
    cnn: Cnn, gpu: Gpu, batch: int, phase: str, formula: Formula
) -> tuple[tuple[LayerTask, ...], Tasks]:
    """Return the layers of a CNN as tasks; arguments as for `plan_streams`.

    A backward task takes what training takes beyond the forward pass, and occupies the same share of the GPU.
    Raises InputError where the formula is not defined for the GPU.
    """
    forward = _layer_seconds(formula, cnn, gpu, batch, 1)
    training = _layer_seconds(formula, cnn, gpu, batch, _TRAINING_PASSES)
    if not (forward >= 0).all() or not (training >= 0).all():
        raise InputError(
            f"the time of a layer is not defined on {gpu.gpu}: a specification of the GPU is not known"
        )
    shares = device_shares(cnn, gpu, batch)
    if not (shares > 0).all():
        raise InputError(f"the number of multiprocessors of {gpu.gpu} is not known, nor the share of a layer")
    layers = [LayerTask(layer.name, layer.kind, layer.group) for layer in cnn.layers]
    waits_for = [layer.inputs for layer in cnn.layers]
    seconds, demands = forward.tolist(), shares.tolist()
    if phase == "training":
        backward = [place for place in reversed(range(len(layers))) if cnn.layers[place].inputs]
        layers += [layers[place]._replace(backward=True) for place in backward]
        seconds += [max(float(training[place] - forward[place]), 0.0) for place in backward]
        demands += [float(shares[place]) for place in backward]
        waits_for += _backward_edges(cnn, backward)
    return tuple(layers), Tasks(tuple(seconds), tuple(demands), tuple(waits_for))


def _layer_seconds(formula: Formula, cnn: Cnn, gpu: Gpu, batch: int, passes: int) -> np.ndarray:
    """The time of each layer, (n_layers,); an input takes none, and what a run has once is no layer's."""
    names = [spec.name for spec in formula.used_features]
    columns = layer_columns(cnn, gpu, batch, passes, names=[*names, "n_layers"])
    is_layer = columns.pop("n_layers") > 0
    return np.where(is_layer, formula.predict(columns or {"": np.zeros(len(is_layer))}), 0.0)


def _backward_edges(cnn: Cnn, backward: Sequence[int]) -> list[tuple[int, ...]]:
    """The tasks before each backward task: those of the layers that read it; an output for all outputs."""
    readers: list[list[int]] = [[] for _ in cnn.layers]
    for place, layer in enumerate(cnn.layers):
        for source in layer.inputs:
            readers[source].append(place)
    outputs = tuple(place for place, reading in enumerate(readers) if not reading)
    task_of = {place: len(cnn.layers) + order for order, place in enumerate(backward)}
    return [tuple(sorted({task_of[other] for other in readers[place]})) or outputs for place in backward]
