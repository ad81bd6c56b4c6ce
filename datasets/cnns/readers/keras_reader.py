"""Networks from the JSON that Keras writes (`model.to_json()`, versions 2 and 3)."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainlaw.datasets.cnns.graph import MAX_LAYERS, Cnn
from trainlaw.datasets.cnns.readers.foreign import faults_of, name_of_file
from trainlaw.datasets.cnns.readers.keras_layers import LAYERS, KerasLayer
from trainlaw.datasets.cnns.readers.tensors import GraphTracer, Tensor
from trainlaw.formulas.errors import InputError, shown
from trainlaw.formulas.files import read_json

_Key = tuple[str, int]
_MODELS = frozenset({"Sequential", "Functional", "Model"})


def read_keras(path: str | os.PathLike[str], input_size_px: int | None = None) -> Cnn:
    """Read a network from the JSON of a Keras model, sequential or functional.

    `input_size_px` sets the side of the input, pixels, where the file leaves it open. Raises `InputError`.
    """
    with faults_of(str(path)):
        content = read_json(path)
        if not isinstance(content, Mapping) or content.get("class_name") not in _MODELS:
            raise InputError("expected the JSON of a Keras model (model.to_json())")
        reader = _Reader(input_size_px)
        outputs = reader.model(content, ())
        return reader.tracer.finish(name_of_file(path), outputs)


class _Reader:
    """The layers that the configuration of a model makes."""

    def __init__(self, input_size_px: int | None) -> None:
        self._input_size_px = input_size_px
        self.tracer = GraphTracer()
        self._count = 0
        self._calls: dict[int, Any] = {}

    def model(self, content: Mapping[str, Any], entering: Sequence[Tensor]) -> list[Tensor]:
        """Outputs of a model applied to tensors; the outermost one gets none and makes its input."""
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
        """Outputs of a functional model: each call of a layer is made once its sources are."""
        # A model inside the model may be called often: its layers are looked through once.
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
                raise InputError(f"expected layers without a circle, got one at {shown(key[0])}")
            else:
                seen.add(key)
                waiting += missing
        return [made[key] for key in outputs]

    def _made(self, layer: Mapping[str, Any], sources: list[Tensor]) -> Tensor:
        if layer["class_name"] == "InputLayer":
            return self._input(layer["config"])
        with faults_of(f"layer {shown(layer.get('name'))} ({shown(layer['class_name'])})"):
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
    """Each call of a layer, by layer name and number of the call, with the calls that it reads."""
    calls: dict[_Key, tuple[Mapping[str, Any], list[_Key]]] = {}
    for layer in layers:
        name = str(layer.get("name") or layer["config"]["name"])
        # An input layer is called once, by nobody.
        for number, node in enumerate(layer.get("inbound_nodes") or [[]]):
            calls[name, number] = (layer, list(_references(node)))
    return calls


def _references(node: Any) -> Iterator[_Key]:
    """The (layer name, call) pairs of tensors that a part of the configuration names, in order."""
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
