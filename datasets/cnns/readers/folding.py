"""Batch normalisation that an export folded into the convolutions: noticed, and put back on demand."""

from collections.abc import Sequence
from dataclasses import replace

from trainlaw.datasets.cnns.graph import Cnn, Layer


def unfolded(cnn: Cnn, folded: Sequence[int], restore: bool) -> Cnn:
    """The network with a note on folding, and with batch normalisation put back where `restore` says so.

    `folded` are positions of convolutions known to be folded; without any, a network with no normalisation at
    all may be folded as a whole.
    """
    # A network without any normalisation may also simply have none: that is told, not decided.
    convolutions = [i for i, layer in enumerate(cnn.layers) if layer.group == "convolution"]
    normalised = any(layer.group == "normalization" for layer in cnn.layers)
    if not folded and (normalised or not convolutions):
        return cnn
    told = f"batch normalisation is folded into {len(folded)} of {len(convolutions)} convolutions"
    found = told if folded else "no batch normalisation was found; an export in evaluation mode folds it"
    if not restore:
        advice = "export in training mode, or have it restored"
        return replace(cnn, notes=(*cnn.notes, f"{found}: {advice}"))
    note = f"{found}: it was put back after {'these' if folded else 'all'} convolutions"
    return replace(cnn, layers=_restored(cnn, set(folded or convolutions)), notes=(*cnn.notes, note))


def _restored(cnn: Cnn, folded: set[int]) -> tuple[Layer, ...]:
    layers: list[Layer] = []
    moved: list[int] = []
    for position, layer in enumerate(cnn.layers):
        here = replace(layer, inputs=tuple(moved[i] for i in layer.inputs))
        if position in folded:
            layers += [replace(here, vector_parameters=0), _normalisation(here, len(layers))]
        else:
            layers.append(here)
        moved.append(len(layers) - 1)
    return tuple(layers)


def _normalisation(convolution: Layer, position: int) -> Layer:
    channels, height, width = convolution.out_channels, convolution.out_height, convolution.out_width
    return Layer(
        f"{convolution.name}_batchnorm",
        "batchnorm",
        (position,),
        in_channels=channels,
        out_channels=channels,
        in_height=height,
        in_width=width,
        out_height=height,
        out_width=width,
        vector_parameters=2 * channels,
    )
