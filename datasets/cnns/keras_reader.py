"""Networks from the JSON that Keras writes (`model.to_json()`, versions 2 and 3)."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trainlaw.datasets.cnns.foreign import MAX_TEXT_BYTES, faults_of, name_of_file, read_bytes
from trainlaw.datasets.cnns.graph import MAX_LAYERS, Cnn
from trainlaw.datasets.cnns.keras_layers import LAYERS, KerasLayer
from trainlaw.datasets.cnns.tensors import GraphTracer, Tensor
from trainlaw.formulas.errors import InputError, shown

_MODELS = frozenset({"Sequential", "Functional", "Model"})


def read_keras(path: str | os.PathLike[str], input_size_px: int | None = None) -> Cnn:
    """Read a network from the JSON of a Keras model, sequential or functional.

    `input_size_px` sets the side of the input, pixels, where the file leaves it open. Raises `InputError`.
    """
    with faults_of(str(path)):
        content = json.loads(read_bytes(path, MAX_TEXT_BYTES).decode("utf-8-sig"))
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
        self, config: Mapping[str, Any], layers: Sequence[Mapping[str, Any]], entering: list[Tensor]
    ) -> list[Tensor]:
        """Layers in the order of the file, as often as their sources are known; Keras lists them so."""
        made: dict[tuple[str, int], Tensor] = {}
        waiting = list(layers)
        while waiting:
            later = []
            for layer in waiting:
                if not self._make(layer, made, entering):
                    later.append(layer)
            if len(later) == len(waiting):
                raise InputError(f"expected sources for layer {shown(later[0].get('name'))}")
            waiting = later
        return [made[key] for key in _references(config["output_layers"])]

    def _make(
        self, layer: Mapping[str, Any], made: dict[tuple[str, int], Tensor], entering: list[Tensor]
    ) -> bool:
        name = str(layer.get("name") or layer["config"]["name"])
        if layer["class_name"] == "InputLayer":
            made[name, 0] = entering.pop(0) if entering else self._input(layer["config"])
            return True
        for call, node in enumerate(layer["inbound_nodes"]):
            sources = list(_references(node))
            if (name, call) in made:
                continue
            if not sources or any(source not in made for source in sources):
                return False
            with faults_of(f"layer {shown(name)} ({shown(layer['class_name'])})"):
                made[name, call] = self._apply(layer, [made[source] for source in sources])[0]
        return True

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


def _references(node: Any) -> Iterator[tuple[str, int]]:
    """The (layer name, call) pairs of tensors that a part of the configuration names, in order."""
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
