"""A CNN as a torch module, and a training iteration of it; axes are batch, channels, height, width."""

import operator
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial, reduce
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from trainlaw.datasets.cnns.graph import Cnn, Layer
from trainlaw.datasets.cnns.windows import window_output
from trainlaw.datasets.profiler.configurations import FORWARD_PASS, Configuration
from trainlaw.formulas.errors import InputError

# The usual constants of published CNNs; the time does not depend on them.
_LRN_SIZE = 5
_RESIDUAL_SCALE = 0.17


class FunctionLayer(nn.Module):
    """A layer as a function of its inputs."""

    def __init__(self, function: Callable[..., Tensor]) -> None:
        """Compute `function` of the inputs."""
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Tensor:
        """Compute the layer's output."""
        return self.function(*inputs)


def _dense(layer: Layer) -> nn.Module:
    linear = nn.Linear(layer.in_channels, layer.out_channels, bias=layer.vector_parameters > 0)
    return nn.Sequential(nn.Flatten(1), linear, nn.Unflatten(1, (layer.out_channels, 1, 1)))


def _on_pixels(module: nn.Module) -> nn.Module:
    """Return a module that acts on the channels of each pixel, which torch has last."""
    turned, back = (partial(torch.permute, dims=dims) for dims in ((0, 2, 3, 1), (0, 3, 1, 2)))
    return nn.Sequential(FunctionLayer(turned), module, FunctionLayer(back))


def _batchnorm(layer: Layer) -> nn.Module:
    learned = layer.vector_parameters // layer.out_channels
    norm = nn.BatchNorm2d(layer.out_channels, affine=learned > 0)
    if learned == 1:
        # Without a learned scale (Keras: scale=False) the shift alone remains.
        norm.register_parameter("weight", None)
    return norm


class Scale(nn.Module):
    """A product with a number per channel or with one for all, learned or not."""

    def __init__(self, layer: Layer) -> None:
        """Build a scale, learned where the layer has parameters."""
        super().__init__()
        shape = (1, layer.vector_parameters, 1, 1)
        self.factor = nn.Parameter(torch.ones(shape)) if layer.vector_parameters else _RESIDUAL_SCALE

    def forward(self, x: Tensor) -> Tensor:
        """Compute the layer's output."""
        return x * self.factor


def _fits(layer: Layer, ceil: bool = False) -> bool:
    """Return whether torch's symmetric padding gives the output of the layer."""
    tall = layer.dilation_height * (layer.kernel_height - 1) + 1
    wide = layer.dilation_width * (layer.kernel_width - 1) + 1
    height, _ = window_output(layer.in_height, tall, layer.stride_height, layer.pad_top, ceil)
    width, _ = window_output(layer.in_width, wide, layer.stride_width, layer.pad_left, ceil)
    return (height, width) == (layer.out_height, layer.out_width)


def _sides(layer: Layer) -> tuple[int, int, int, int]:
    """Return the padding left, right, top and bottom, pixels."""
    return (layer.pad_left, max(layer.pad_right, 0), layer.pad_top, max(layer.pad_bottom, 0))


def _kernel(layer: Layer) -> tuple[int, int]:
    return layer.kernel_height, layer.kernel_width


def _strides(layer: Layer) -> tuple[int, int]:
    return layer.stride_height, layer.stride_width


def _conv(layer: Layer) -> nn.Module:
    is_symmetric = _fits(layer)
    conv = nn.Conv2d(
        layer.in_channels,
        layer.out_channels,
        _kernel(layer),
        _strides(layer),
        padding=(layer.pad_top, layer.pad_left) if is_symmetric else 0,
        dilation=(layer.dilation_height, layer.dilation_width),
        groups=layer.groups,
        bias=layer.vector_parameters > 0,
    )
    conv.weight.requires_grad_(bool(layer.learns_weights))
    return conv if is_symmetric else nn.Sequential(nn.ZeroPad2d(_sides(layer)), conv)


def _conv_transpose(layer: Layer) -> nn.Module:
    conv = nn.ConvTranspose2d(
        layer.in_channels,
        layer.out_channels,
        _kernel(layer),
        _strides(layer),
        groups=layer.groups,
        dilation=(layer.dilation_height, layer.dilation_width),
        bias=layer.vector_parameters > 0,
    )
    # The padding is cut off from the whole output (negative padding adds).
    cut = [-side for side in (layer.pad_left, layer.pad_right, layer.pad_top, layer.pad_bottom)]
    return nn.Sequential(conv, FunctionLayer(lambda x: functional.pad(x, cut))) if any(cut) else conv


def _pool(
    layer: Layer, pool: Callable[..., Tensor], adaptive: Callable[..., Tensor], border: float
) -> nn.Module:
    options = {"kernel_size": _kernel(layer), "stride": _strides(layer)}
    padding = (layer.pad_top, layer.pad_left)
    if 2 * layer.pad_top <= layer.kernel_height and 2 * layer.pad_left <= layer.kernel_width:
        for ceil in (False, True):
            if _fits(layer, ceil):
                fitting = {**options, "padding": padding, "ceil_mode": ceil}
                return FunctionLayer(partial(pool, **fitting))
    if layer.pad_bottom >= layer.kernel_height or layer.pad_right >= layer.kernel_width:
        # More windows than fit: the graph represents adaptive windows that overlap by a pixel more or less.
        return FunctionLayer(lambda x: adaptive(x, (layer.out_height, layer.out_width)))
    sides = _sides(layer)
    return FunctionLayer(lambda x: pool(functional.pad(x, sides, value=border), **options))


def _concat(layer: Layer) -> nn.Module:
    shape = (layer.out_channels, layer.out_height, layer.out_width)

    def joined(*inputs: Tensor) -> Tensor:
        same = all(x.shape[2:] == (layer.out_height, layer.out_width) for x in inputs)
        parts = inputs if same else [x.flatten(1) for x in inputs]
        return torch.cat(list(parts), 1).view(-1, *shape)

    return FunctionLayer(joined)


def _pad(layer: Layer) -> nn.Module:
    bottom = layer.out_height - layer.in_height - layer.pad_top
    right = layer.out_width - layer.in_width - layer.pad_left
    return nn.ZeroPad2d((layer.pad_left, right, layer.pad_top, bottom))


def _plain(make: Callable[..., nn.Module], *arguments: Any, **options: Any) -> Callable[[Layer], nn.Module]:
    return lambda layer: make(*arguments, **options)


_MODULES: Mapping[str, Callable[[Layer], nn.Module]] = {
    "input": _plain(nn.Identity),
    "conv": _conv,
    "linear": lambda layer: _on_pixels(
        nn.Linear(layer.in_channels, layer.out_channels, bias=layer.vector_parameters > 0)
    ),
    "conv_transpose": _conv_transpose,
    "dense": _dense,
    "batchnorm": _batchnorm,
    "layernorm": lambda layer: _on_pixels(
        nn.LayerNorm(layer.out_channels, elementwise_affine=layer.vector_parameters > 0)
    ),
    "groupnorm": lambda layer: nn.GroupNorm(
        layer.groups, layer.out_channels, affine=layer.vector_parameters > 0
    ),
    "instancenorm": lambda layer: nn.InstanceNorm2d(layer.out_channels, affine=layer.vector_parameters > 0),
    "max_pool": lambda layer: _pool(
        layer, functional.max_pool2d, functional.adaptive_max_pool2d, float("-inf")
    ),
    "average_pool": lambda layer: _pool(layer, functional.avg_pool2d, functional.adaptive_avg_pool2d, 0.0),
    **{
        kind: _plain(FunctionLayer, getattr(functional, kind))
        for kind in "relu relu6 elu selu gelu silu mish tanh softplus hardswish sigmoid hardsigmoid".split()
    },
    "leaky_relu": _plain(nn.LeakyReLU, 0.1),
    "prelu": lambda layer: nn.PReLU(max(layer.vector_parameters, 1)),
    "softmax": _plain(nn.Softmax, dim=1),
    "add": _plain(FunctionLayer, lambda *inputs: reduce(operator.add, inputs)),
    "multiply": _plain(FunctionLayer, lambda *inputs: reduce(operator.mul, inputs)),
    "concat": _concat,
    "pad": _pad,
    "channel_shuffle": lambda layer: FunctionLayer(
        lambda x: x.unflatten(1, (layer.groups, -1)).transpose(1, 2).reshape(x.shape)
    ),
    "upsample": lambda layer: FunctionLayer(
        lambda x: functional.interpolate(x, size=(layer.out_height, layer.out_width))
    ),
    "scale": Scale,
    "dropout": _plain(nn.Dropout),
    "lrn": _plain(nn.LocalResponseNorm, _LRN_SIZE),
}


def layer_module(layer: Layer, first_channel: int = 0) -> nn.Module:
    """Return a layer as a module; `first_channel` is where a slice begins.

    Raises InputError if the numbers of learned elements of module and layer differ, and for what has no
    module: weights shared with another layer, regions of an image.
    """
    is_shared = not (layer.learns_weights or layer.is_depthwise)
    if is_shared or (layer.kind == "upsample" and layer.in_channels != layer.out_channels):
        raise InputError(f"layer {layer.name!r}: expected weights that it learns, and whole images")
    if layer.kind == "slice":
        last, height, width = first_channel + layer.out_channels, layer.out_height, layer.out_width
        module: nn.Module = FunctionLayer(lambda x: x[:, first_channel:last, :height, :width])
    else:
        module = _MODULES[layer.kind](layer)
    learned = sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)
    if learned != layer.parameters:
        raise InputError(
            f"layer {layer.name!r} ({layer.kind}): expected {layer.parameters} learned elements, "
            f"the module has {learned}"
        )
    return module


class TorchCnn(nn.Module):
    """The CNN of a layer graph; called with images it returns the class scores of each output.

    The softmax that ends a CNN belongs to its loss and is left out. `nodes` are the layers' modules,
    `sources` the positions that each reads, `outputs` the positions of the scores.
    """

    def __init__(self, cnn: Cnn) -> None:
        """Build all layers; raises InputError for one that cannot be built."""
        super().__init__()
        read = {position for layer in cnn.layers for position in layer.inputs}
        last = [position for position in range(len(cnn.layers)) if position not in read]
        in_loss = [position for position in last if cnn.layers[position].kind == "softmax"]
        self.kept = tuple(position for position in range(len(cnn.layers)) if position not in in_loss)
        self.outputs = tuple(
            cnn.layers[position].inputs[0] if position in in_loss else position for position in last
        )
        self.sources = {position: cnn.layers[position].inputs for position in self.kept}
        starts = _slice_starts(cnn)
        self.nodes = nn.ModuleList(
            layer_module(cnn.layers[position], starts.get(position, 0)) for position in self.kept
        )
        self._free_after = _last_readers(self.sources, self.outputs)

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        """Return the scores of each output, shape (batch, classes)."""
        values: dict[int, Tensor] = {}
        for position, node in zip(self.kept, self.nodes, strict=True):
            inputs = self.sources[position]
            values[position] = node(*(values[i] for i in inputs)) if inputs else node(images)
            for done in self._free_after.get(position, ()):
                del values[done]
        return tuple(values[position].flatten(1) for position in self.outputs)


def _slice_starts(cnn: Cnn) -> dict[int, int]:
    """Return the first channel of each slice: slices of one layer are taken as consecutive."""
    next_channel: dict[int, int] = {}
    starts = {}
    for position, layer in enumerate(cnn.layers):
        if layer.kind == "slice":
            start = next_channel.get(layer.inputs[0], 0)
            starts[position] = start if start + layer.out_channels <= layer.in_channels else 0
            next_channel[layer.inputs[0]] = starts[position] + layer.out_channels
    return starts


def _last_readers(sources: dict[int, tuple[int, ...]], outputs: tuple[int, ...]) -> dict[int, list[int]]:
    last = {source: position for position, inputs in sources.items() for source in inputs}
    freed: dict[int, list[int]] = {}
    for source, position in last.items():
        if source not in outputs:
            freed.setdefault(position, []).append(source)
    return freed


_LAYOUTS = MappingProxyType({"eager": torch.contiguous_format, "channels_last": torch.channels_last})
_LEARNING_RATE = 1e-3
_MOMENTUM = 0.9


class TorchStep:
    """A training iteration of a configuration in phases, which may return before the device is done."""

    def __init__(self, cnn: Cnn, configuration: Configuration) -> None:
        """Build CNN, optimizer and a batch on the configuration's device; seeded."""
        torch.manual_seed(0)
        device, self._precision = torch.device(configuration.device), configuration.precision
        dtype = torch.bfloat16 if self._precision == "bf16" else torch.float32
        layout = _LAYOUTS[configuration.stack]
        with device:
            self.network = TorchCnn(cnn).to(dtype=dtype, memory_format=layout)
            self.network.train(mode=configuration.timed_parts != FORWARD_PASS)
            batch, image = configuration.batch, cnn.layers[0]
            sides = (image.out_channels, image.out_height, image.out_width)
            images = torch.randn(batch, *sides, dtype=dtype)
            self.labels = torch.randint(cnn.n_classes, (batch,))
        self.images = images.contiguous(memory_format=layout)
        self._last = list(self.network.parameters())[-1]
        self.optimizer = torch.optim.SGD(self.network.parameters(), _LEARNING_RATE, _MOMENTUM)
        half = torch.float16 if device.type == "cuda" else torch.bfloat16
        self._half = half if self._precision == "amp" else None
        self._device_type = device.type
        # bf16 has the exponents of fp32: only fp16 needs scaled gradients.
        self._scaler = torch.amp.GradScaler(device.type, enabled=self._half == torch.float16)
        self._loss = torch.zeros(())

    def casting(self) -> AbstractContextManager[object]:
        """Return the context in which the forward pass casts to 16 bits, or one that does nothing."""
        return torch.autocast(self._device_type, self._half) if self._half else nullcontext()

    def forward(self) -> None:
        """Compute the loss of the batch."""
        with self.casting():
            scores = self.network(self.images)
            # Auxiliary outputs count too.
            losses = [functional.cross_entropy(each, self.labels) for each in scores]
            self._loss = torch.stack(losses).sum()

    def backward(self) -> None:
        """Compute the gradients."""
        self._scaler.scale(self._loss).backward()

    def update(self) -> None:
        """Update the weights and clear the gradients."""
        self._scaler.step(self.optimizer)
        self._scaler.update()
        self.optimizer.zero_grad(set_to_none=True)

    def finish(self) -> None:
        """Wait until the weights are updated, without the clock: read one of the last of them."""
        self._last.flatten()[0].item()


class TorchForward(TorchStep):
    """A forward pass in evaluation mode without gradients; the other phases do nothing."""

    _scores: tuple[Tensor, ...] = ()

    def forward(self) -> None:
        """Compute the scores of the batch."""
        with torch.inference_mode(), self.casting():
            self._scores = self.network(self.images)

    def backward(self) -> None:
        """Do nothing: there are no gradients."""

    def update(self) -> None:
        """Do nothing: the weights stay."""

    def finish(self) -> None:
        """Wait until the scores are computed, by reading one of them."""
        if self._scores:
            self._scores[0].flatten()[0].item()
