"""Times of single layers inside a training iteration.

The backward pass runs layer by layer in the reverse order of the graph, each layer with its actual gradient,
so that its operations can be timed one by one. Adding gradients where paths meet counts to the layer that
sends its gradient later.
"""

from dataclasses import dataclass, field
from statistics import median

import torch
from torch import Tensor
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.profiler.configurations import Configuration
from trainlaw.datasets.profiler.devices import device_clock
from trainlaw.datasets.profiler.layer_times import LayerTime
from trainlaw.datasets.profiler.timing import Clock, StoppingRule, time_iterations
from trainlaw.datasets.profiler.torch_cnn import TorchStep, scores_loss
from trainlaw.datasets.profiler.torch_measure import make_ready, with_step

# Gradients of input and weights are separate operations in these kinds.
_SPLIT_KINDS = frozenset({"conv", "conv_transpose", "dense"})
_WARM_UP = 2
_MOST_REPEATS = 50


@dataclass
class _Pass:
    """The state of one iteration: inputs detached from the graph, outputs, gradients, and spans of marks."""

    inputs: dict[int, tuple[Tensor, ...]] = field(default_factory=dict)
    outputs: dict[int, Tensor] = field(default_factory=dict)
    gradients: dict[int, Tensor] = field(default_factory=dict)
    spans: dict[tuple[int, str], tuple[object, object]] = field(default_factory=dict)


def time_layers(step: TorchStep, cnn: Cnn, clock: Clock, n_repeats: int) -> tuple[list[LayerTime], float]:
    """Return the times of each layer, and of the loss with its gradient, medians in seconds.

    Each of `n_repeats` iterations is marked at every layer, after two that are not counted.
    """
    options = {name: step.optimizer.defaults[name] for name in ("lr", "momentum")}
    updates = {
        position: torch.optim.SGD(node.parameters(), **options)
        for position, node in zip(step.network.kept, step.network.nodes, strict=True)
        if list(node.parameters())
    }
    found: list[dict[tuple[int, str], float]] = []
    for number in range(n_repeats + _WARM_UP):
        seconds = _iteration(step, cnn, clock, updates)
        if number >= _WARM_UP:
            found.append(seconds)
    times = [_layer_time(position, found) for position in step.network.kept if position]
    return times, median(seconds[-1, "loss"] for seconds in found)


def _iteration(
    step: TorchStep, cnn: Cnn, clock: Clock, updates: dict[int, torch.optim.Optimizer]
) -> dict[tuple[int, str], float]:
    state = _Pass()
    _forward(step, clock, state)
    _loss(step, clock, state)
    for position in reversed(step.network.kept):
        if position and position in state.gradients:
            _backward(step, cnn, position, clock, state)
    for position, optimizer in updates.items():
        begin = clock.mark()
        optimizer.step()
        state.spans[position, "update"] = (begin, clock.mark())
        optimizer.zero_grad(set_to_none=True)
    clock.finish()
    return {key: clock.seconds(*span) for key, span in state.spans.items()}


def _forward(step: TorchStep, clock: Clock, state: _Pass) -> None:
    network = step.network
    for position, node in zip(network.kept, network.nodes, strict=True):
        sources = network.sources[position]
        if not sources:
            state.outputs[position] = step.images
            continue
        # Images need no gradient, so the first convolution computes none for them.
        cut = tuple(state.outputs[i].detach().requires_grad_(i > 0) for i in sources)
        begin = clock.mark()
        with step.casting():
            state.outputs[position] = node(*cut)
        state.spans[position, "forward"] = (begin, clock.mark())
        state.inputs[position] = cut


def _loss(step: TorchStep, clock: Clock, state: _Pass) -> None:
    outputs = step.network.outputs
    scores = [state.outputs[i].detach().requires_grad_() for i in outputs]
    begin = clock.mark()
    with step.casting():
        loss = scores_loss(tuple(score.flatten(1) for score in scores), step.labels)
    gradients = torch.autograd.grad(loss, scores)
    state.spans[-1, "loss"] = (begin, clock.mark())
    for position, gradient in zip(outputs, gradients, strict=True):
        _receive(state, position, gradient)


def _backward(step: TorchStep, cnn: Cnn, position: int, clock: Clock, state: _Pass) -> None:
    node = step.network.nodes[step.network.kept.index(position)]
    output, gradient = state.outputs.pop(position), state.gradients.pop(position)
    inputs = [tensor for tensor in state.inputs[position] if tensor.requires_grad]
    weights = list(node.parameters())
    sources = step.network.sources[position]
    split = cnn.layers[position].kind in _SPLIT_KINDS and inputs and weights
    begin = clock.mark()
    asked = inputs if split else inputs + weights
    gradients = torch.autograd.grad(output, asked, gradient, retain_graph=bool(split)) if asked else ()
    senders = [i for i, x in zip(sources, state.inputs[position], strict=True) if x.requires_grad]
    for source, its_gradient in zip(senders, gradients, strict=False):
        _receive(state, source, its_gradient)
    middle = clock.mark()
    to_weights = torch.autograd.grad(output, weights, gradient) if split else gradients[len(inputs) :]
    end = clock.mark()
    for weight, its_gradient in zip(weights, to_weights, strict=True):
        weight.grad = its_gradient
    # Where only the weights get a gradient (the first layer), all of it is theirs.
    state.spans[position, "backward_input" if inputs else "backward_weights"] = (begin, middle)
    if split:
        state.spans[position, "backward_weights"] = (middle, end)


def _receive(state: _Pass, position: int, gradient: Tensor) -> None:
    known = state.gradients.get(position)
    state.gradients[position] = gradient if known is None else known + gradient


def _layer_time(position: int, found: list[dict[tuple[int, str], float]]) -> LayerTime:
    names = ("forward", "backward_input", "backward_weights", "update")
    series = [[seconds.get((position, name), 0.0) for seconds in found] for name in names]
    totals = [sum(parts) for parts in zip(*series, strict=True)]
    forward, backward_input, backward_weights, update, total = map(median, (*series, totals))
    return LayerTime(
        position,
        forward,
        backward_input,
        backward_weights,
        update,
        total,
        (min(series[0]), max(series[0])),
        (min(totals), max(totals)),
        len(found),
    )


def measure_layers(
    configuration: Configuration, rule: StoppingRule
) -> tuple[Cnn, list[LayerTime], tuple[float, float]]:
    """Return a configuration's CNN, its layers' times, and seconds of the iteration and of the loss.

    The iteration is measured whole first, so that the sum over layers can be checked against it. Raises
    NotMeasuredError, InputError.
    """
    cnn = make_ready(configuration)
    clock = device_clock(torch, configuration.device)

    def timed(step: TorchStep) -> tuple[list[LayerTime], tuple[float, float]]:
        whole = time_iterations(step, clock, rule)
        n_repeats = max(5, min(_MOST_REPEATS, int(rule.limit_seconds / whole.median_s)))
        layers, loss_s = time_layers(step, cnn, clock, n_repeats)
        return layers, (whole.median_s, loss_s)

    layers, step_s = with_step(cnn, configuration, timed)
    return cnn, layers, step_s
