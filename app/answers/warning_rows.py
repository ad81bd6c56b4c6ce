"""The rows of notes and warnings: assumptions, ranges, coverage of the training runs, memory, host."""

import re
from collections.abc import Iterable

from trainlaw.app.answers.answer import Answer
from trainlaw.app.answers.figure_rows import USES_STACK
from trainlaw.app.inputs.resolve import study_specifications
from trainlaw.app.models.calibration import calibration_of
from trainlaw.app.models.multi_gpu import ASSUMPTION, SCALED, SINGLE_GPU_INTERVAL
from trainlaw.app.models.scopes import feature_expression
from trainlaw.app.models.settings import HOST_LAUNCH, host_margin
from trainlaw.app.text.numbers import show_number
from trainlaw.datasets.measurements.memory_fit import CANNOT_FIT, MAY_NOT_FIT
from trainlaw.formulas import Formula, to_text
from trainlaw.formulas.scopes import LAYER, MULTI_GPU
from trainlaw.validate.applicability import stored_joint_range

_HOST = "the host's launches decide (batch {batch_per_gpu:whole})"
_IGNORED = "no term of the formula depends on it"
_DEVICE = "the device has {memory_held_bytes:gigabytes} GB{rough}"


def setup(formula: Formula) -> Iterable[Answer]:
    """Yield the line of all assumptions: GPUs and nodes, links, precision, layout, host."""
    margin = None if formula.scope == LAYER else host_margin(formula)
    if margin is not None:
        yield Answer("launch_s", definition=to_text(feature_expression(HOST_LAUNCH)))
    host = "" if margin is None else ", host {launch_s:seconds} per layer"
    for name, when, origin in (
        ("setup", "1 - by_default", ""),
        ("setup_default", "by_default * (1 - is_tf32)", " (PyTorch's default)"),
        ("setup_default_tf32", "by_default * is_tf32", " (PyTorch's default; or --precision fp32)"),
    ):
        sentence = f"setup: {{machine}}, {{precision}}{origin}, layout {{layout}}{host}"
        yield Answer(name, when=when, sentence=sentence, is_note=True)


# After all notes, as every output says them.
OF_STACK = (
    Answer(
        "stack_unknown",
        when=f"{USES_STACK} * is_stack_unknown",
        sentence="the stack is unknown and taken as eager; with another one the time may be half as long",
    ),
)


def outside(formula: Formula) -> Iterable[Answer]:
    """Yield a warning per feature outside its training range; for layers, how many of them are."""
    for spec in formula.used_features:
        if spec.name not in formula.ranges:
            continue
        low, high = formula.ranges[spec.name]
        said = f"outside the training range {show_number(low)} to {show_number(high)}"
        if formula.scope == LAYER:
            layers = f"layers_outside_{spec.name}"
            sentence = f"{spec.name} of {{{layers}:layers}} lies {said}"
            yield Answer(f"outside_{spec.name}", when=layers, sentence=sentence)
            continue
        unit = "" if spec.unit.is_dimensionless else f" {spec.unit}"
        sentence = f"{spec.name} is {{{spec.name}:number}}{unit}, {said}"
        when = f"max({spec.name} - {high!r}, {low!r} - {spec.name})"
        yield Answer(f"outside_{spec.name}", when=when, sentence=sentence)


def coverage(formula: Formula) -> Iterable[Answer]:
    """Yield the warnings about where the training runs are: precisions, vendors and generations of GPUs."""
    made_by = formula.provenance.get("trainlaw_version")
    if made_by is not None:
        from importlib.metadata import version  # noqa: PLC0415 (the built-in formula states no version)

        text = f"the formula is of trainlaw {made_by}, this is {version('trainlaw')}: features may differ"
        if made_by != version("trainlaw"):
            # There is at least one GPU, so it is always said.
            yield Answer("other_version", when="n_gpus", sentence=re.sub("[{}]", "", text))
    known = {} if formula.scope == MULTI_GPU else formula.provenance
    if "precisions" in known:
        yield Answer(
            "untrained_precision", when="is_untrained_precision", sentence="no training run used {precision}"
        )
    if known.get("generations") is not None:
        of_gpu = "no training run is on a GPU of"
        yield Answer("unseen_vendor", when="is_unseen_vendor", sentence=f"{of_gpu} {{vendor}}")
        generation = f"{of_gpu} the generation {{generation}}"
        yield Answer("unseen_generation", when="is_unseen_generation", sentence=generation)


# A whitening matrix has rounding errors of zeros of this size.
_NO_WEIGHT = 1e-12


def jointly(formula: Formula) -> Iterable[Answer]:
    """Yield the distance from the training runs in all features, in steps, and its warning.

    For a formula of layers the distance is that of the farthest layer, which no expression has.
    """
    found = stored_joint_range(formula)
    if found is None or formula.scope == MULTI_GPU:
        return
    if formula.scope != LAYER:
        # By number, since exported programs repeat them in every axis.
        places = [f"joint_{number}" for number in range(len(found.names))]
        for place, name, floor, centre in zip(places, found.names, found.floors, found.centre, strict=True):
            yield Answer(place, definition=f"log({name} + {float(floor)!r}) - {float(centre)!r}")
        axes = []
        for number, row in enumerate(found.whitening.tolist()):
            weights = [
                f"{weight!r} * {place}"
                for weight, place in zip(row, places, strict=True)
                if abs(weight) > _NO_WEIGHT
            ]
            axes.append(f"axis_{number}")
            yield Answer(axes[-1], definition=" + ".join(weights))
        squares = " + ".join(f"square({axis})" for axis in axes)
        yield Answer("joint_distance", definition=f"sqrt(({squares}) / {len(axes)})")
    yield Answer(
        "jointly_outside",
        when=f"(joint_distance - {found.limit!r}) * (1 - is_undefined)",
        sentence="this combination of features is unlike any in the training data",
    )


def unknown(formula: Formula) -> Iterable[Answer]:
    """Yield a warning per specification of a GPU that may be unknown."""
    for name in study_specifications():
        yield Answer(
            f"unknown_{name}",
            when=f"is_unknown_{name}",
            sentence=f"{name} of {{gpu}} is not known, so formulas that need it are not defined; "
            "a GPU file may add it",
        )


# The built-in runs end here.
_MOST_GPUS, _LEAST_PX, _MOST_PX = 256, 32, 832
OF_CNN = (
    Answer("cnn_notes", when="n_cnn_notes", sentence="{cnn_notes}"),
    Answer(
        "unusual_size",
        when=f"max(input_size_px - {_MOST_PX}, {_LEAST_PX} - input_size_px)",
        sentence=f"images of {{input_size_px:whole}} px: runs have {_LEAST_PX} to {_MOST_PX} px",
    ),
)
#: Warnings about precision, numbers of GPUs, memory, settings, calibration, host and several GPUs.
OTHERS = (
    Answer(
        "slow_fp16",
        when="is_16_bit_float * has_slow_fp16",
        sentence="this GPU has no fast 16-bit floats: expect the time of fp32, not less",
    ),
    Answer(
        "slow_bf16",
        when="is_bf16 * has_slow_bf16",
        sentence="this GPU has no bf16: expect the time of fp32 or more",
    ),
    Answer(
        "many_gpus",
        when=f"n_gpus - {_MOST_GPUS}",
        sentence=f"{{n_gpus:whole}} GPUs: no measured run has more than {_MOST_GPUS}",
    ),
    Answer(
        "cannot_fit",
        when="fits_in_memory - 1",
        sentence=f"{CANNOT_FIT}: the step keeps {{memory_least_bytes:gigabytes}} GB at least, {_DEVICE}",
    ),
    Answer(
        "may_not_fit",
        when="fits_in_memory * (2 - fits_in_memory)",
        sentence=f"{MAY_NOT_FIT}: the step takes about {{memory_usual_bytes:gigabytes}} GB with momentum, "
        f"{_DEVICE}",
    ),
    Answer(
        "ignored_layout", when="has_layout * (1 - uses_layout)", sentence=f"layout {{layout}}: {_IGNORED}"
    ),
    Answer(
        "ignored_compilation",
        when="has_compilation * (1 - uses_compilation)",
        sentence=f"compilation {{compilation}}: {_IGNORED}",
    ),
    Answer(
        "ignored_tuned",
        when="is_tuned * (1 - uses_tuned)",
        sentence=f"a vendor's tuned container: {_IGNORED}",
    ),
    Answer("ignored_stack", when="has_stack * (1 - uses_stack)", sentence=f"stack {{stack}}: {_IGNORED}"),
    Answer(
        "ignored_stack_of_floats",
        when="has_stack * uses_stack * (bytes_per_element - 2)",
        sentence="stack {stack}: it changes convolutions in 16 bits alone",
    ),
    Answer(
        "contradicted_stack",
        when=f"{USES_STACK} * has_stack * (1 - is_stack_channels_last - is_stack_fused - is_stack_unknown)",
        sentence="stack {stack}: NCHW and nothing fused, against layout, compiler or container",
    ),
    Answer(
        "ignored_host_launch",
        when="has_host_launch * (1 - uses_host_launch)",
        sentence=f"host launch time: {_IGNORED}",
    ),
)


def calibration(formula: Formula) -> Iterable[Answer]:
    """Yield the warnings of a calibrated formula: another GPU or precision than that of its runs."""
    known = calibration_of(formula) or {}
    if "gpus" in known:
        said = f"the formula is calibrated to {_literal(known['gpus'])}, not to this GPU"
        yield Answer("other_gpu", when="is_other_gpu", sentence=said)
    if "precisions" in known:
        said = f"the formula is calibrated by runs in {_literal(known['precisions'])} only"
        yield Answer("other_precision", when="is_other_precision", sentence=said)


def _literal(names: Iterable[object]) -> str:
    """Return names of a file as one line without a place in it."""
    return " ".join(", ".join(map(str, names)).replace("{", "(").replace("}", ")").split())


_HOST_ROWS = (
    Answer(
        "host_bound",
        when="host_margin * has_host_launch",
        sentence=f"{_HOST}, at {{launch_s:seconds}} per layer",
    ),
    Answer(
        "host_bound_as_assumed",
        when="host_margin * (1 - has_host_launch)",
        sentence=f"{_HOST}, taken as {{launch_s:seconds}} per layer: measure them with "
        "`trainlaw profile --host`, or give --host-launch; hosts of 25 to 300 µs give about "
        "{fast_host_s:seconds} to {slow_host_s:seconds}",
    ),
)
LAST = (
    Answer(
        "several_scaled",
        when="(n_gpus - 1) * is_split * is_scaled",
        sentence=f"{SCALED}; {SINGLE_GPU_INTERVAL}",
    ),
    Answer(
        "several_by_textbook",
        when="(n_gpus - 1) * is_split * (1 - is_scaled)",
        sentence=f"{ASSUMPTION}; {SINGLE_GPU_INTERVAL}",
    ),
    Answer("undefined", when="is_undefined", sentence="the formula is not defined here"),
)


def host(formula: Formula) -> Iterable[Answer]:
    """Yield the warnings that the host's launches decide, for a formula that compares them."""
    if formula.scope != LAYER and host_margin(formula) is not None:
        yield from _HOST_ROWS
