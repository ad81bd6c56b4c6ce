"""CNNs from the JSON that Keras writes (`model.to_json()`, versions 2 and 3; https://keras.io/api/layers)."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from trainlaw.datasets.cnns.graph import MAX_LAYERS, Cnn, kinds_by
from trainlaw.datasets.cnns.readers.foreign import cnn_name_from_file, foreign_faults
from trainlaw.datasets.cnns.readers.tensors import LEARNED, GraphTracer, Tensor
from trainlaw.formulas.errors import InputError, shown
from trainlaw.formulas.files.text_files import read_json


@dataclass(frozen=True, slots=True)
class KerasLayer:
    """One Keras layer: its configuration and the tensors that it reads."""

    tracer: GraphTracer
    config: Mapping[str, Any]
    sources: Sequence[Tensor]

    @property
    def x(self) -> Tensor:
        """The only tensor that it reads."""
        if len(self.sources) != 1:
            raise InputError(f"expected one input, got {len(self.sources)}")
        return self.sources[0]

    def pair(self, key: str, default: Any = 1) -> tuple[int, int]:
        """Return height and width of a size in the configuration."""
        value = self.config.get(key)
        value = default if value is None else value
        first, second = (value, value) if isinstance(value, int) else value
        return int(first), int(second)

    @property
    def bias(self) -> bool:
        """Whether it learns a bias."""
        return bool(self.config.get("use_bias", True))

    def activated(self, x: Tensor) -> Tensor:
        """Apply the activation that the configuration names."""
        return _activated(self.tracer, x, self.config.get("activation"))


_ACTIVATIONS = kinds_by("keras_activation")


def _activated(tracer: GraphTracer, x: Tensor, activation: Any) -> Tensor:
    if isinstance(activation, Mapping):
        activation = activation.get("config")
    if activation in (None, "linear"):
        return x
    if activation not in _ACTIVATIONS:
        raise InputError(f"activation {shown(activation)} is not supported")
    return tracer.elementwise(x, _ACTIVATIONS[activation])


def _sliding(layer: KerasLayer) -> dict[str, Any]:
    return {
        "stride": layer.pair("strides"),
        "padding": layer.config.get("padding", "valid"),
        "dilation": layer.pair("dilation_rate"),
    }


def _conv(layer: KerasLayer) -> Tensor:
    made = layer.tracer.conv(
        layer.x,
        layer.config["filters"],
        layer.pair("kernel_size"),
        groups=layer.config.get("groups", 1),
        bias=layer.bias,
        **_sliding(layer),
    )
    return layer.activated(made)


def _depthwise(layer: KerasLayer, bias: bool) -> Tensor:
    channels = layer.x.shape[1]
    return layer.tracer.conv(
        layer.x,
        channels * layer.config.get("depth_multiplier", 1),
        layer.pair("kernel_size"),
        groups=channels,
        bias=bias,
        **_sliding(layer),
    )


def _separable(layer: KerasLayer) -> Tensor:
    made = layer.tracer.conv(_depthwise(layer, bias=False), layer.config["filters"], 1, bias=layer.bias)
    return layer.activated(made)


def _conv_transpose(layer: KerasLayer) -> Tensor:
    made = layer.tracer.conv_transpose(
        layer.x,
        layer.config["filters"],
        layer.pair("kernel_size"),
        output_padding=layer.pair("output_padding", 0),
        bias=layer.bias,
        **_sliding(layer),
    )
    return layer.activated(made)


def _dense(layer: KerasLayer) -> Tensor:
    x, tracer = layer.x, layer.tracer
    if len(x.shape) == 4:
        # Keras multiplies along the last axis, the channels, and keeps the image.
        turned = tracer.dense(tracer.transpose(x, (0, 2, 3, 1)), layer.config["units"], layer.bias)
        return layer.activated(tracer.transpose(turned, (0, 3, 1, 2)))
    return layer.activated(tracer.dense(x, layer.config["units"], layer.bias))


def _relu(layer: KerasLayer) -> Tensor:
    limited = layer.config.get("max_value") is not None
    return layer.tracer.elementwise(layer.x, "relu6" if limited else "relu")


def _prelu(layer: KerasLayer) -> Tensor:
    size = layer.tracer.builder.layers[layer.x.layer].output_elements
    # Without shared axes each element of the image has a separate slope.
    shared = layer.config.get("shared_axes")
    return layer.tracer.elementwise(layer.x, "prelu", layer.x.shape[1] if shared else size)


def _elementwise(kind: str) -> Callable[[KerasLayer], Tensor]:
    def make(layer: KerasLayer) -> Tensor:
        vectors = sum(bool(layer.config.get(key, True)) for key in ("scale", "center"))
        learned = vectors * layer.x.shape[1] if kind in LEARNED else 0
        return layer.tracer.elementwise(layer.x, kind, learned)

    return make


def _pool(kind: str) -> Callable[[KerasLayer], Tensor]:
    def make(layer: KerasLayer) -> Tensor:
        kernel = layer.pair("pool_size", 2)
        stride, padding = layer.pair("strides", list(kernel)), layer.config.get("padding", "valid")
        return layer.tracer.pool(layer.x, kind, kernel, (), stride=stride, padding=padding)

    return make


def _global_pool(kind: str) -> Callable[[KerasLayer], Tensor]:
    return lambda layer: layer.tracer.global_pool(layer.x, kind, keep=bool(layer.config.get("keepdims")))


def _merge(kind: str) -> Callable[[KerasLayer], Tensor]:
    return lambda layer: layer.tracer.merge(kind, layer.sources)


def _scaled_residual(layer: KerasLayer) -> Tensor:
    shortcut, residual = layer.sources
    return layer.tracer.merge("add", [shortcut, layer.tracer.elementwise(residual, "scale")])


def _concat(layer: KerasLayer) -> Tensor:
    axis, rank = layer.config.get("axis", -1), len(layer.sources[0].shape)
    if axis % rank != rank - 1:
        raise InputError(f"concat: expected the last axis, got {axis}")
    return layer.tracer.concat(layer.sources, 1)


def _sides(value: Any) -> list[int]:
    """Return top, left, bottom and right of a padding: one number, one per axis, or two per axis."""
    if isinstance(value, int):
        return [value] * 4
    (top, bottom), (left, right) = ([side, side] if isinstance(side, int) else side for side in value)
    return [top, left, bottom, right]


def _upsampling(layer: KerasLayer) -> Tensor:
    (fh, fw), (height, width) = layer.pair("size", 2), layer.x.shape[2:]
    return layer.tracer.resize(layer.x, height * fh, width * fw)


def _reshape(layer: KerasLayer) -> Tensor:
    target = layer.config["target_shape"]
    if len(target) == 3:
        height, width, channels = target
        return layer.tracer.reshape(layer.x, (layer.x.shape[0], channels, height, width))
    return layer.tracer.reshape(layer.x, (layer.x.shape[0], *target))


LAYERS: Mapping[str, Callable[[KerasLayer], Tensor]] = MappingProxyType(
    {
        **{name: _elementwise(kind) for name, kind in kinds_by("keras").items()},
        **dict.fromkeys(("Conv2D", "Convolution2D"), _conv),
        "DepthwiseConv2D": lambda layer: layer.activated(_depthwise(layer, layer.bias)),
        "SeparableConv2D": _separable,
        "Conv2DTranspose": _conv_transpose,
        "Dense": _dense,
        "Activation": lambda layer: layer.activated(layer.x),
        "ReLU": _relu,
        "PReLU": _prelu,
        "MaxPooling2D": _pool("max_pool"),
        "AveragePooling2D": _pool("average_pool"),
        "GlobalMaxPooling2D": _global_pool("max_pool"),
        "GlobalAveragePooling2D": _global_pool("average_pool"),
        **dict.fromkeys(("Add", "Subtract", "Average"), _merge("add")),
        "Multiply": _merge("multiply"),
        "Concatenate": _concat,
        # Two classes that models of keras.applications register themselves.
        "LayerScale": lambda layer: layer.tracer.elementwise(
            layer.x, "scale", layer.config["projection_dim"]
        ),
        "CustomScaleLayer": _scaled_residual,
        "ZeroPadding2D": lambda layer: layer.tracer.pad(layer.x, _sides(layer.config.get("padding", 1))),
        "Cropping2D": lambda layer: layer.tracer.crop(layer.x, _sides(layer.config.get("cropping", 0))),
        "UpSampling2D": _upsampling,
        "Flatten": lambda layer: layer.tracer.flatten(layer.x),
        "Reshape": _reshape,
    }
)


_Key = tuple[str, int]
_MODELS = frozenset({"Sequential", "Functional", "Model"})


def read_keras(path: str | os.PathLike[str], input_size_px: int | None = None) -> Cnn:
    """Read a CNN from the JSON of a Keras model (`model.to_json()`), sequential or functional.

    input_size_px : side of the input in pixels, where the file leaves it open. InputError for a file that is
    not such JSON, or has a layer that is not supported.
    """
    with foreign_faults(str(path)):
        content = read_json(path)
        if not isinstance(content, Mapping) or content.get("class_name") not in _MODELS:
            raise InputError("expected the JSON of a Keras model (model.to_json())")
        reader = _Reader(input_size_px)
        outputs = reader.model(content, ())
        return reader.tracer.finish(cnn_name_from_file(path), outputs)


class _Reader:
    """A pass over the configuration of a model that builds its layers."""

    def __init__(self, input_size_px: int | None) -> None:
        self._input_size_px = input_size_px
        self.tracer = GraphTracer()
        self._count = 0
        self._calls: dict[int, Any] = {}

    def model(self, content: Mapping[str, Any], entering: Sequence[Tensor]) -> list[Tensor]:
        """Return the outputs of a model applied to tensors; the outermost one creates its input."""
        config = content["config"]
        layers = config if isinstance(config, list) else config["layers"]
        self._count += len(layers)
        if self._count > MAX_LAYERS:
            raise InputError(f"expected at most {MAX_LAYERS} layers")
        if content["class_name"] == "Sequential":
            return [self._sequence(layers, entering)]
        return self._graph(config, layers, list(entering))

    def _sequence(self, layers: Sequence[Mapping[str, Any]], entering: Sequence[Tensor]) -> Tensor:
        x = entering[0] if entering else None
        for layer in layers:
            if x is None:
                x = self._input(layer["config"])
            if layer["class_name"] != "InputLayer":
                (x,) = self._apply(layer, [x])
        if x is None:
            raise InputError("expected at least one layer")
        return x

    def _graph(
        self, config: Mapping[str, Any], layers: Sequence[Mapping[str, Any]], entering: Sequence[Tensor]
    ) -> list[Tensor]:
        """Return the outputs of a functional model: each call of a layer is processed after its sources."""
        # A nested model may be called often: its layers are indexed once.
        if id(layers) not in self._calls:
            self._calls[id(layers)] = _calls(layers)
        calls = self._calls[id(layers)]
        made = dict(zip(_references(config["input_layers"]), entering, strict=False))
        outputs = list(_references(config["output_layers"]))
        waiting, seen = list(outputs), set()
        while waiting:
            key = waiting[-1]
            layer, sources = calls[key]
            missing = [source for source in sources if source not in made]
            if key in made or not missing:
                waiting.pop()
                if key not in made:
                    if key[1]:
                        self.tracer.note("a layer is called more than once: its weights count at each call")
                    made[key] = self._made(layer, [made[source] for source in sources])
            elif key in seen:
                raise InputError(f"expected layers without a cycle, got one at {shown(key[0])}")
            else:
                seen.add(key)
                waiting += missing
        return [made[key] for key in outputs]

    def _made(self, layer: Mapping[str, Any], sources: list[Tensor]) -> Tensor:
        if layer["class_name"] == "InputLayer":
            return self._input(layer["config"])
        with foreign_faults(f"layer {shown(layer.get('name'))} ({shown(layer['class_name'])})"):
            return self._apply(layer, sources)[0]

    def _apply(self, layer: Mapping[str, Any], sources: list[Tensor]) -> list[Tensor]:
        kind = layer["class_name"]
        if kind in _MODELS:
            return self.model(layer, sources)
        if kind not in LAYERS:
            raise InputError(f"Keras layer {shown(kind)} is not supported")
        return [LAYERS[kind](KerasLayer(self.tracer, layer["config"], sources))]

    def _input(self, config: Mapping[str, Any]) -> Tensor:
        shape = next((config[key] for key in ("batch_shape", "batch_input_shape") if key in config), None)
        if not isinstance(shape, list) or len(shape) != 4:
            raise InputError(
                f"expected an input of shape (batch, height, width, channels), got {shown(shape)}"
            )
        _, height, width, channels = shape
        if self._input_size_px is not None:
            height = width = self._input_size_px
        if not all(isinstance(side, int) and side > 0 for side in (height, width, channels)):
            raise InputError(f"the input size is open in {shape}; give the input size in pixels")
        return self.tracer.input((1, channels, height, width))


def _calls(layers: Sequence[Mapping[str, Any]]) -> dict[_Key, tuple[Mapping[str, Any], list[_Key]]]:
    """Return each call of a layer, by layer name and number of the call, with the calls that it reads."""
    calls: dict[_Key, tuple[Mapping[str, Any], list[_Key]]] = {}
    for layer in layers:
        name = str(layer.get("name") or layer["config"]["name"])
        # An input layer has one call without sources.
        for number, node in enumerate(layer.get("inbound_nodes") or [[]]):
            calls[name, number] = (layer, list(_references(node)))
    return calls


def _references(node: Any) -> Iterator[_Key]:
    """Yield the (layer name, call) pairs of the tensors named in a part of the configuration, in order."""
    # Keras 3 keeps the source inside the description of a tensor, Keras 2 as [name, call, output, options].
    if isinstance(node, Mapping):
        history = node.get("keras_history")
        if history is None and isinstance(node.get("config"), Mapping):
            history = node["config"].get("keras_history")
        if history is not None:
            yield str(history[0]), int(history[1])
        else:
            yield from _references(list(node.values()))
    elif isinstance(node, list):
        if len(node) >= 3 and isinstance(node[0], str) and all(isinstance(i, int) for i in node[1:3]):
            yield node[0], node[1]
        else:
            for part in node:
                yield from _references(part)
