"""Memory of a training iteration on a device, by purpose, and whether it fits."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from trainlaw.datasets.cnns.graph import Cnn, Layer, kinds_whose_backward_reads
from trainlaw.datasets.hardware.precisions import PRECISIONS
from trainlaw.formulas.errors import InputError, check_name

_READS_INPUT, _READS_OUTPUT = kinds_whose_backward_reads("input"), kinds_whose_backward_reads("output")
# Bytes of indices or masks that a layer keeps for each element of its output.
_KEPT_BYTES: Mapping[str, int] = {"max_pool": 8, "dropout": 1}
# A CUDA context with cuDNN's and cuBLAS's handles takes 0.3 to 0.6 GB of a GPU.
CONTEXT_BYTES = 450_000_000
# Frameworks differ in what they keep: by this estimate five of 3,204 measured runs need up to 5.1 % more
# memory than their GPU has.
MARGIN = 1.06
# Libraries choose convolution algorithms by the memory left; frameworks allow them tens to hundreds of MB.
MAX_WORKSPACE_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True)
class MemoryPerSample:
    """Memory needs for one sample, from the graph alone: elements in the precision of the run, and bytes.

    `kept_elements` are stored from the forward to the backward pass, `kept_bytes` are indices and masks,
    `working_elements` the most that gradients of activations need at once, `unfolded_elements` the unfolded
    input of the largest convolution.
    """

    kept_elements: int
    kept_bytes: int
    working_elements: int
    unfolded_elements: int


MEMORY_COLUMNS = tuple(field.name for field in fields(MemoryPerSample))


@dataclass(frozen=True, slots=True)
class TrainingMemory:
    """Memory of one training iteration on one device, bytes, by purpose.

    `activations` are the outputs kept from the forward for the backward pass, `working` the gradients of
    activations alive at once, `workspace` what convolution algorithms may use, `context` the driver's share.
    """

    weights: int
    gradients: int
    optimizer: int
    activations: int
    working: int
    workspace: int
    context: int

    @property
    def needed(self) -> int:
        """The minimum, bytes: weights, gradients, optimizer state, activations."""
        return self.weights + self.gradients + self.optimizer + self.activations

    @property
    def total(self) -> int:
        """All memory, bytes."""
        return self.needed + self.working + self.workspace + self.context


def training_memory(cnn: Cnn, batch: int, precision: str = "fp32") -> TrainingMemory:
    """Estimate the memory of one training iteration with momentum on one device, bytes.

    The estimate assumes no gradient checkpointing, and that each tensor a backward pass reads is kept once.
    batch : samples per iteration; InputError below 1. precision : one of `PRECISIONS`; UnknownNameError for
    another name.

    >>> from trainlaw.datasets.cnns.zoo import build
    >>> round(training_memory(build("resnet50"), 32).total / 1e9, 1)
    3.9
    """
    parameters = sum(layer.parameters for layer in cnn.layers)
    return step_memory(parameters, memory_per_sample(cnn), batch, precision, momentum=True)


def step_memory(
    parameters: float, sample: MemoryPerSample, batch: int, precision: str, *, momentum: bool
) -> TrainingMemory:
    """Return the memory of an iteration from learned elements and needs per sample; as `training_memory`."""
    check_name("precision", precision, PRECISIONS)
    if batch < 1:
        raise InputError(f"expected a batch of at least 1 sample, got {batch}")
    value_bytes = int(PRECISIONS[precision].bytes_per_element)
    weight_bytes, cast_bytes = _weight_bytes(precision)
    return TrainingMemory(
        weights=(weight_bytes + cast_bytes) * int(parameters),
        gradients=weight_bytes * int(parameters),
        optimizer=weight_bytes * momentum * int(parameters),
        activations=batch * (value_bytes * sample.kept_elements + sample.kept_bytes),
        working=batch * value_bytes * sample.working_elements,
        workspace=min(batch * value_bytes * sample.unfolded_elements, MAX_WORKSPACE_BYTES),
        context=CONTEXT_BYTES,
    )


def _weight_bytes(precision: str) -> tuple[int, int]:
    """Return the bytes of a weight, and of its cast: mixed precision keeps 16-bit copies of weights of 4."""
    return (4, 2) if precision == "amp" else (int(PRECISIONS[precision].bytes_per_element), 0)


def bytes_per_parameter(precision: str) -> tuple[int, int]:
    """Return the bytes of a learned element with its gradient, and those of its momentum.

    >>> bytes_per_parameter("fp32"), bytes_per_parameter("amp")
    ((8, 4), (10, 4))
    """
    weight_bytes, cast_bytes = _weight_bytes(precision)
    return 2 * weight_bytes + cast_bytes, weight_bytes


def memory_per_sample(cnn: Cnn) -> MemoryPerSample:
    """Return the memory needs of a CNN in training, for one sample."""
    return MemoryPerSample(
        kept_elements=sum(cnn.layers[i].output_elements for i in kept_layers(cnn)),
        kept_bytes=sum(_KEPT_BYTES.get(layer.kind, 0) * layer.output_elements for layer in cnn.layers),
        # Of the gradients that the backward pass of a layer reads and writes.
        working_elements=max(layer.input_elements + layer.output_elements for layer in cnn.layers),
        unfolded_elements=max((_unfolded_elements(layer) for layer in cnn.layers), default=0),
    )


def kept_layers(cnn: Cnn) -> set[int]:
    """Return the positions of the layers whose outputs are stored for the backward pass."""
    kept: set[int] = set()
    for position, layer in enumerate(cnn.layers):
        if layer.kind in _READS_INPUT or (layer.kind == "scale" and layer.vector_parameters):
            kept.update(_stored(cnn, i) for i in layer.inputs)
        if layer.kind in _READS_OUTPUT:
            kept.add(_stored(cnn, position))
    return kept


def _stored(cnn: Cnn, position: int) -> int:
    """Return the layer whose output holds the data: a slice is a view of its input."""
    while cnn.layers[position].kind == "slice":
        (position,) = cnn.layers[position].inputs
    return position


def _unfolded_elements(layer: Layer) -> int:
    if layer.group != "convolution":
        return 0
    kernel = layer.kernel_height * layer.kernel_width
    return layer.in_channels // layer.groups * kernel * layer.out_height * layer.out_width
