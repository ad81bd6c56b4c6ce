"""A network of layers as a torch module: each layer in turn, freed when nothing reads it again."""

from torch import Tensor, nn
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.profiler.torch_layers import layer_module


class TorchCnn(nn.Module):
    """The network of a layer graph; called with images it returns the class scores of each output.

    The softmax that ends a network belongs to its loss and is left out. `nodes` are the layers' modules,
    `sources` what each reads, `outputs` the positions of the scores.
    """

    def __init__(self, cnn: Cnn) -> None:
        """Build all layers; raises InputError where one cannot be built as it is."""
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
    """First channel of each slice: the graph says how many; those of one layer follow each other."""
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
