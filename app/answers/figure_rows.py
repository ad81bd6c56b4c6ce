"""The rows of figures: times, intervals, hours, cost, energy, throughput and memory."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from trainlaw.app.answers.answer import Answer
from trainlaw.app.answers.error_rows import ARCHITECTURE_FACTOR, has_architecture_errors
from trainlaw.app.models.calibration import calibration_of
from trainlaw.app.models.settings import HOST_SHARE, host_rows
from trainlaw.datasets.cnns.memory import CONTEXT_BYTES, MARGIN, MAX_WORKSPACE_BYTES
from trainlaw.datasets.measurements.memory_fit import CANNOT_FIT, FITS, HELD_PER_SOLD, MAY_NOT_FIT
from trainlaw.formulas import Expression, Formula, parse_text, substitute, to_text
from trainlaw.formulas.scopes import FORWARD, LAYER
from trainlaw.validate.held_out_errors import LEVEL

#: Said where there is a time but no interval.
NO_INTERVAL = "no interval: too few groups were held out"
#: Said for a processor, where only GPUs were held out.
OF_GPUS = "no interval: its errors were measured on GPUs, and this is a processor"
_LEAST_NEED = (
    "params * least_bytes_per_param + batch_per_gpu * (bytes_per_element * kept_elements + kept_bytes)"
)
_HOST_FACTOR = f"(slow_host_s / fast_host_s)^({HOST_SHARE} * (1 - has_host_launch))"
_INTERVAL = f"{100 * LEVEL:g} % interval"
#: Positive where the formula knows stacks and the precision has 16 bits.
USES_STACK = "uses_stack * (4 - bytes_per_element)"
#: What the values 0, 1, ... of `fits_in_memory` mean.
FITS_WORDS = (FITS, MAY_NOT_FIT, CANNOT_FIT)

_TIMES = (
    Answer("exchange_s", "s", "added_s"),
    Answer("time_s", "s", "single_gpu_time_s + exchange_s"),
)
#: Rows before those that are one per feature or specification.
_FIGURES = (
    # The errors of GPUs say nothing of a processor: without an interval the factor is not defined.
    Answer(
        "interval_factor",
        definition="exp((log(class_factor)^2 + log(architecture_factor)^2 + log(host_factor)^2)^0.5)"
        " / (1 - is_processor)",
    ),
    Answer("low_s", "s", "time_s / interval_factor"),
    Answer("high_s", "s", "time_s * interval_factor"),
    Answer(
        "time_with_interval",
        when="low_s",
        sentence=f"{{time_s:seconds}}   ({_INTERVAL} {{low_s,high_s:seconds}})",
        title="iteration time",
    ),
    Answer(
        "time_without_interval",
        when="(1 - has_interval) * time_s",
        sentence=f"{{time_s:seconds}}   ({NO_INTERVAL})",
        title="iteration time",
    ),
    Answer(
        "time_of_processor",
        when="has_interval * is_processor * time_s",
        sentence=f"{{time_s:seconds}}   ({OF_GPUS})",
        title="iteration time",
    ),
    Answer("no_time", when="is_undefined", sentence="not defined   (no interval)", title="iteration time"),
    Answer("measured_runs", when="has_measured", sentence="{measured}", title="measured"),
    Answer("epoch_h", "h", "iterations * time_s / 3600"),
    Answer("training_h", "h", "epochs * epoch_h"),
    Answer("training_low_h", "h", "training_h / interval_factor"),
    Answer("training_high_h", "h", "training_h * interval_factor"),
    Answer(
        "training",
        when="training_low_h",
        sentence="{training_h:hours}, {training_low_h,training_high_h:hours}   ({training})",
        title="training",
    ),
    Answer(
        "training_without_interval",
        when="(1 - has_interval) * training_h",
        sentence="{training_h:hours}   ({training})",
        title="training",
    ),
    Answer("cost", "money", "training_h * n_gpus * price_per_hour"),
    Answer("cost_low", "money", "training_low_h * n_gpus * price_per_hour"),
    Answer("cost_high", "money", "training_high_h * n_gpus * price_per_hour"),
    Answer("spot_cost", "money", "training_h * n_gpus * spot_per_hour"),
    Answer("host_cost", "money", "training_h * n_gpus * host_per_hour"),
    Answer(
        "cost_with_interval",
        when="cost_low",
        sentence="{cost:number} {currency}   ({cost_low:number} to {cost_high:number} {currency}, at "
        "{price_per_hour:number} {currency} per GPU and hour, {price_origin})",
        title="cost",
    ),
    Answer(
        "cost_without_interval",
        when="(1 - has_interval) * cost",
        sentence="{cost:number} {currency}   (at {price_per_hour:number} {currency} per GPU and hour, "
        "{price_origin})",
        title="cost",
    ),
    Answer(
        "no_price", when="1 - has_price", sentence="not known   (no listed price: enter yours)", title="cost"
    ),
    Answer("energy_kwh", "kWh", "training_h * n_gpus * tdp_w * power_share / 1000"),
    # A new GPU may draw more or less than the law of power says, by the factor of app/predictions/power.py.
    Answer("energy_low_kwh", "kWh", "energy_kwh / interval_factor / power_factor"),
    Answer("energy_high_kwh", "kWh", "energy_kwh * interval_factor * power_factor"),
    Answer("image_j", "J", "3.6e6 * energy_kwh / images"),
    Answer(
        "all_reduce",
        when="n_gpus - 1",
        sentence="{exchange_s:seconds}   ({algorithm} over {ways})",
        title="all-reduce",
    ),
    Answer("samples_per_second", "samples/s", "n_gpus * batch_per_gpu / time_s"),
    Answer(
        "throughput",
        when="samples_per_second",
        sentence="{samples_per_second:number} images/s",
        title="throughput",
    ),
    Answer("memory_least_bytes", "B", _LEAST_NEED),
    Answer(
        "memory_usual_bytes",
        "B",
        f"{_LEAST_NEED} + params * momentum_bytes_per_param"
        " + batch_per_gpu * bytes_per_element * working_elements"
        f" + min(batch_per_gpu * bytes_per_element * unfolded_elements, {MAX_WORKSPACE_BYTES})"
        f" + {CONTEXT_BYTES}",
    ),
    Answer("memory_held_bytes", definition=f"{HELD_PER_SOLD!r} * memory_bytes"),
    Answer(
        "fits_in_memory",
        definition="step(memory_usual_bytes - memory_held_bytes)"
        f" + step(memory_least_bytes - {MARGIN!r} * memory_held_bytes)",
        words=FITS_WORDS,
    ),
    Answer(
        "memory",
        when="memory_least_bytes",
        sentence="at least {memory_least_bytes:gigabytes} GB, {memory_usual_bytes:gigabytes} GB in total: "
        "{fits_in_memory}",
        title="memory",
    ),
    Answer(
        "one_die",
        when="is_one_die",
        sentence="this GPU is one die of a board, which counts as several GPUs",
        is_note=True,
    ),
    Answer("settings_said", when="has_settings", sentence="{settings}", title="settings"),
    *(
        Answer(f"stack_{name}", when=f"{USES_STACK} * {when}", sentence=f"stack: {words}", is_note=True)
        for name, when, words in (
            (
                "eager",
                "(1 - is_stack_channels_last - is_stack_fused)",
                "eager: 16-bit convolutions in NCHW, as PyTorch runs them by default",
            ),
            ("channels_last", "is_stack_channels_last", "channels_last: 16-bit convolutions in NHWC"),
            ("fused", "is_stack_fused", "fused: 16-bit convolutions in NHWC with all that follows them"),
        )
    ),
)
_TITLES_OF_FORWARD = {"iteration time": "forward pass", "training": "all images"}
# A forward pass keeps no activations: what a layer reads and writes, and the weights.
_FORWARD_NEED = "params * 4 + batch_per_gpu * bytes_per_element * working_elements"
_OF_FORWARD = {
    "memory_least_bytes": _FORWARD_NEED,
    "memory_usual_bytes": f"{_FORWARD_NEED} + min(batch_per_gpu * bytes_per_element * unfolded_elements, "
    f"{MAX_WORKSPACE_BYTES}) + {CONTEXT_BYTES}",
}


def figures(formula: Formula) -> Iterable[Answer]:
    """Yield the rows of figures; those of a forward pass name its time, and need less memory."""
    has_errors = has_architecture_errors(formula)
    yield Answer("architecture_factor", definition=ARCHITECTURE_FACTOR if has_errors else "1")
    yield from _TIMES
    host = {} if formula.scope == LAYER else host_rows(formula)
    yield from (Answer(name, definition=to_text(expression)) for name, expression in host.items())
    yield Answer("host_factor", definition=_HOST_FACTOR if host and not calibration_of(formula) else "1")
    # Measured runs are those of training.
    rows = [row for row in _FIGURES if formula.scope != FORWARD or row.name != "measured_runs"]
    for row in rows:
        if formula.scope == FORWARD:
            title = _TITLES_OF_FORWARD.get(row.title, row.title)
            row = replace(row, title=title, definition=_OF_FORWARD.get(row.name, row.definition))  # noqa: PLW2901
        yield row


@cache
def definition_of(name: str) -> Expression:
    """Return the value of a figure, over quantities and earlier figures.

    >>> definition_of("low_s")
    time_s / interval_factor
    """
    return parse_text(next(row.definition for row in (*_TIMES, *_FIGURES) if row.name == name))


def needed_memory(formula: Formula) -> tuple[Expression, Expression]:
    """Return the memory that a formula's iteration or pass takes, in bytes: at least, and with everything.

    They are over base columns, and the memory of a CNN and a precision.
    """
    rows = {row.name: row for row in figures(formula)}
    least, usual = (parse_text(rows[name].definition) for name in _OF_FORWARD)
    return least, usual


@cache
def fits_in_memory() -> Expression:
    """Return whether an iteration fits, the place of a word, over the bytes needed and sold."""
    held = {"memory_held_bytes": definition_of("memory_held_bytes")}
    return substitute(definition_of("fits_in_memory"), held)
