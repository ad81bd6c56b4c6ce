"""The table of everything that a prediction, plan or comparison says: one row per figure, warning and note.

A row is text of our own expression language, so that Python, JavaScript, C and cells of a workbook compute it
from the same line. To add a row: write it into `ANSWERS` (or into a function of `_EXPANDED`, for one row per
feature); terminal, CSV, JSON, page, workbook and exported programs then have it.

A definition may use base columns, features of the formula, earlier rows, and the facts of
`trainlaw.app.answers.facts`. A row whose quantities an output does not have is left out there.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version

from trainlaw.app.inputs.resolve import study_specifications
from trainlaw.app.models.calibration import calibration_of
from trainlaw.app.models.multi_gpu import ASSUMPTION, SCALED, SINGLE_GPU_INTERVAL
from trainlaw.app.models.scopes import feature_expression, handling
from trainlaw.app.models.settings import HOST_LAUNCH, SETTING_COLUMNS, host_margin, used_base_columns
from trainlaw.app.text.numbers import show_number
from trainlaw.datasets.cnns.memory import CONTEXT_BYTES, MARGIN, MAX_WORKSPACE_BYTES
from trainlaw.datasets.measurements.memory_fit import CANNOT_FIT, FITS, HELD_PER_SOLD, MAY_NOT_FIT
from trainlaw.formulas import (
    Apply,
    Constant,
    Expression,
    Formula,
    evaluate,
    parse_text,
    substitute,
    to_text,
    variables,
)
from trainlaw.formulas.algebra.expression import rebuilt
from trainlaw.formulas.algebra.tidying import folded
from trainlaw.formulas.scopes import FORWARD, LAYER, MULTI_GPU, RUN
from trainlaw.validate.applicability import stored_joint_range
from trainlaw.validate.held_out_errors import BY_CNN, LEVEL, own_errors

FIGURE, WARNING, NOTE = "figure", "warning", "note"
#: A place of a sentence: a name for a text; names and a style for one number or the two ends of a range.
PLACE = re.compile(r"\{(?P<names>\w+(?:,\w+)?)(?::(?P<style>\w+))?\}")
#: Said where there is a time but no interval.
NO_INTERVAL = "no interval: too few groups were held out"
JOINTLY = "this combination of features is unlike any in the training data"


@dataclass(frozen=True)
class Answer:
    """One thing that a prediction says.

    unit : of the value; rows with a unit or words are published as columns. definition : the value, as text
    of an expression; empty for a row that only says something. when : an expression that is positive where
    the sentence is said; empty for always. sentence : text with places, see `PLACE`; several lines are
    several sentences. title : heads a line of figures; empty for a warning or a note. words : what the
    values 0, 1, ... mean.
    """

    name: str
    unit: str = ""
    definition: str = ""
    when: str = ""
    sentence: str = ""
    title: str = ""
    words: tuple[str, ...] = ()
    is_note: bool = False

    @property
    def kind(self) -> str:
        """Whether the sentence is a line of figures, a warning or a note."""
        return FIGURE if self.title else NOTE if self.is_note else WARNING

    @property
    def is_published(self) -> bool:
        """Whether the value is a column of outputs, not only a step on the way to other rows."""
        return bool(self.definition and (self.unit or self.words))


_LEAST_NEED = (
    "params * least_bytes_per_param + batch_per_gpu * (bytes_per_element * kept_elements + kept_bytes)"
)
_INTERVAL = f"{100 * LEVEL:g} % interval"
_HOST = "the host's launches decide (batch {batch_per_gpu:whole})"
#: Positive where the formula knows stacks and the precision has 16 bits.
_USES_STACK = "uses_stack * (4 - bytes_per_element)"
_IGNORED = "no term of the formula depends on it"
_DEVICE = "the device has {memory_held_bytes:gigabytes} GB{rough}"

#: What the values 0, 1, ... of `fits_in_memory` mean.
FITS_WORDS = (FITS, MAY_NOT_FIT, CANNOT_FIT)

# The 90 % point of an architecture's errors over their mean, as exponent of 1 + the mean: 2.06 where errors
# scatter, 1.2 where all have one sign; this covers held-out GPUs best (docs/decisions/0008). An architecture
# without held-out runs counts as one that is warned of.
_SPREAD_OF_ERRORS = 1.65
_LARGE_ERROR = 30  # percent, nearly twice the mean error of the built-in formula
_IS_HELD_OUT = "step(error_of_architecture - 0.05)"
_ARCHITECTURE_FACTOR = (
    f"(1 + 0.01 * (error_of_architecture + {_LARGE_ERROR} * (1 - {_IS_HELD_OUT})))^{_SPREAD_OF_ERRORS}"
)

#: Rows before those that are one per feature or specification.
_FIGURES = (
    Answer("exchange_s", "s", "added_s"),
    Answer("time_s", "s", "single_gpu_time_s + exchange_s"),
    # A product, since a class without an interval must not get that of the architecture.
    Answer("interval_factor", definition="class_factor * max(1, architecture_factor / class_factor)"),
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
        Answer(f"stack_{name}", when=f"{_USES_STACK} * {when}", sentence=f"stack: {words}", is_note=True)
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


def _setup(formula: Formula) -> Iterable[Answer]:
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


# Errors of a formula by what it was asked for: the level that it keeps, and words for the runs.
_ERRORS = (
    ("architecture", BY_CNN, "runs of this architecture"),
    ("precision", "precision", "runs in {precision}"),
    ("generation", "generation", "{generation} GPUs"),
)


def has_architecture_errors(formula: Formula) -> bool:
    """Return whether intervals depend on the architecture: its errors are kept, and not calibrated away."""
    return (
        formula.scope in (RUN, FORWARD) and not calibration_of(formula) and bool(own_errors(formula, BY_CNN))
    )


def architecture_factor(formula: Formula, cnn_base: str) -> float:
    """Return the factor that the interval of an architecture has at least; 1 for a formula without them."""
    if not has_architecture_errors(formula):
        return 1.0
    error, _ = own_errors(formula, BY_CNN).get(cnn_base, (0.0, 0))
    known = substitute(parse_text(_ARCHITECTURE_FACTOR), {"error_of_architecture": Constant(error)})
    return float(evaluate(known, {})[0][0])


def _errors(formula: Formula) -> Iterable[Answer]:
    """Yield how far the formula was off on held-out runs like this one, in one sentence where all are known.

    A formula of layers has errors by kinds of layers, and a calibrated one only those from before.
    """
    known = [row for row in _ERRORS if own_errors(formula, row[1])]
    if formula.scope == LAYER or calibration_of(formula) or not known:
        return
    # 1 where such runs were held out, else 0; an error divided by 0 is not defined. Errors are in tenths.
    has = {kind: f"step(error_of_{kind} - 0.05)" for kind, _, _ in known}
    said = {kind: f"{{{kind}_error_percent:number}} % on {words}" for kind, _, words in known}
    for kind, is_known in has.items():
        yield Answer(f"{kind}_error_percent", "%", f"error_of_{kind} / {is_known}")
    yield Answer("has_all_errors", definition=" * ".join(has.values()))
    yield Answer(
        "errors", when="has_all_errors", sentence=f"held-out error: {', '.join(said.values())}", is_note=True
    )
    for kind, words in said.items():
        when = f"error_of_{kind} * (1 - has_all_errors)"
        yield Answer(f"{kind}_error", when=when, sentence=f"held-out error: {words}", is_note=True)
    if "architecture" in has:
        yield Answer(
            "large_architecture_error",
            when=f"error_of_architecture - {_LARGE_ERROR}",
            sentence="the formula's error on held-out runs of this architecture is "
            "{architecture_error_percent:number} %: expect this prediction to be off by as much",
        )


# After all notes, as every output says them.
_OF_STACK = (
    Answer(
        "stack_unknown",
        when=f"{_USES_STACK} * is_stack_unknown",
        sentence="the stack is unknown and taken as eager; with another one the time may be half as long",
    ),
)


def _outside(formula: Formula) -> Iterable[Answer]:
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


def _coverage(formula: Formula) -> Iterable[Answer]:
    """Yield the warnings about where the training runs are: precisions, vendors and generations of GPUs."""
    made_by = formula.provenance.get("trainlaw_version")
    if made_by not in (None, version("trainlaw")):
        text = f"the formula is of trainlaw {made_by}, this is {version('trainlaw')}: features may differ"
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


def _jointly(formula: Formula) -> Iterable[Answer]:
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
        sentence=JOINTLY,
    )


def _unknown(formula: Formula) -> Iterable[Answer]:
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
_OF_CNN = (
    Answer("cnn_notes", when="n_cnn_notes", sentence="{cnn_notes}"),
    Answer(
        "unusual_size",
        when=f"max(input_size_px - {_MOST_PX}, {_LEAST_PX} - input_size_px)",
        sentence=f"images of {{input_size_px:whole}} px: runs have {_LEAST_PX} to {_MOST_PX} px",
    ),
)
#: Warnings about precision, numbers of GPUs, memory, settings, calibration, host and several GPUs.
_OTHERS = (
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
        "ignored_host_launch",
        when="has_host_launch * (1 - uses_host_launch)",
        sentence=f"host launch time: {_IGNORED}",
    ),
)


def _calibration(formula: Formula) -> Iterable[Answer]:
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
_LAST = (
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


def _host(formula: Formula) -> Iterable[Answer]:
    """Yield the warnings that the host's launches decide, for a formula that compares them."""
    margin = None if formula.scope == LAYER else host_margin(formula)
    if margin is not None:
        yield Answer("host_margin", definition=to_text(margin))
        # Where the host decides, the time is in proportion to its launches, down to that of the GPU's work.
        yield Answer("fast_host_s", definition="max(time_s - host_margin, time_s * 25e-6 / launch_s)")
        yield Answer("slow_host_s", definition="time_s * 300e-6 / launch_s")
        yield from _HOST_ROWS


# A forward pass keeps no activations: what a layer reads and writes, and the weights.
_FORWARD_NEED = "params * 4 + batch_per_gpu * bytes_per_element * working_elements"
_OF_FORWARD = {
    "memory_least_bytes": _FORWARD_NEED,
    "memory_usual_bytes": f"{_FORWARD_NEED} + min(batch_per_gpu * bytes_per_element * unfolded_elements, "
    f"{MAX_WORKSPACE_BYTES}) + {CONTEXT_BYTES}",
}


def _figures(formula: Formula) -> Iterable[Answer]:
    """Yield the rows of figures; those of a forward pass name its time, and need less memory."""
    has_errors = has_architecture_errors(formula)
    yield Answer("architecture_factor", definition=_ARCHITECTURE_FACTOR if has_errors else "1")
    for row in _FIGURES:
        if formula.scope == FORWARD:
            title = row.title.replace("iteration time", "forward pass")
            row = replace(row, title=title, definition=_OF_FORWARD.get(row.name, row.definition))  # noqa: PLW2901
        yield row


_Rows = tuple[Answer, ...] | Callable[[Formula], Iterable[Answer]]
#: All rows in the order in which they are said; a function yields those of one formula.
ANSWERS: tuple[_Rows, ...] = (
    _setup,
    _figures,
    _errors,
    _OF_STACK,
    _outside,
    _coverage,
    _jointly,
    _OF_CNN,
    _unknown,
    _OTHERS,
    _calibration,
    _host,
    _LAST,
)


def answers_of(formula: Formula) -> tuple[Answer, ...]:
    """Return the rows that a formula has, in the order in which they are said."""
    return tuple(row for part in ANSWERS for row in (part(formula) if callable(part) else part))


@cache
def definition_of(name: str) -> Expression:
    """Return the value of a figure, over quantities and earlier figures.

    >>> to_text(definition_of("low_s"))
    'time_s / interval_factor'
    """
    return parse_text(next(row.definition for row in _FIGURES if row.name == name))


@cache
def fits_in_memory() -> Expression:
    """Return whether an iteration fits, the place of a word, over the bytes needed and sold."""
    held = {"memory_held_bytes": definition_of("memory_held_bytes")}
    return substitute(definition_of("fits_in_memory"), held)


@dataclass(frozen=True)
class Line:
    """A row with its expressions, in which what is the same for every prediction is a number.

    value : None for a row without a definition. when : None where the sentence is always said.
    """

    answer: Answer
    value: Expression | None
    when: Expression | None

    @property
    def needs(self) -> frozenset[str]:
        """The quantities and texts without which the row has no value and says nothing."""
        parts = (part for part in (self.value, self.when) if part is not None)
        said = (name for names, _ in places_of(self.answer.sentence) for name in names)
        return frozenset([*(name for part in parts for name in variables(part)), *said])


def lines_of(formula: Formula, known: Mapping[str, float | str] | None = None) -> tuple[Line, ...]:
    """Return the rows that a formula may say.

    known : quantities that have one value in all predictions. Rows that these silence are left out.
    """
    fixed = {**_constants(formula), **(known or {})}
    numbers: dict[str, Expression] = {
        name: Constant(value) for name, value in fixed.items() if not isinstance(value, str)
    }
    found = []
    for row in answers_of(formula):
        answer = replace(row, sentence=_with_texts(row.sentence, fixed))
        value, when = (_filled(text, numbers) for text in (answer.definition, answer.when))
        if isinstance(value, Constant):
            numbers[answer.name] = value
        elif not (isinstance(when, Constant) and not when.value > 0):
            found.append(Line(answer, value, None if isinstance(when, Constant) else when))
    return tuple(found)


def _with_texts(sentence: str, fixed: Mapping[str, float | str]) -> str:
    """Return a sentence with the texts filled in that are the same in all predictions."""
    for name, text in fixed.items():
        if isinstance(text, str):
            sentence = sentence.replace(f"{{{name}}}", text)
    return sentence


def within_reach(lines: Iterable[Line], available: Iterable[str]) -> tuple[Line, ...]:
    """Return the lines whose quantities are available or values of lines before them."""
    reached, found = set(available), []
    for line in lines:
        if line.needs <= reached:
            found.append(line)
            if line.value is not None:
                reached.add(line.answer.name)
    return tuple(found)


def places_of(sentence: str) -> Iterable[tuple[tuple[str, ...], str]]:
    """Yield the names and the style of each place of a sentence.

    >>> list(places_of("{gpu} takes {low_s,high_s:seconds}"))
    [(('gpu',), ''), (('low_s', 'high_s'), 'seconds')]
    """
    for place in PLACE.finditer(sentence):
        yield tuple(place["names"].split(",")), place["style"] or ""


def _constants(formula: Formula) -> dict[str, float]:
    """Return which settings a formula uses, and whether an all-reduce is added to its time."""
    used = used_base_columns(formula)
    # What a scaling formula extends, a measured time on one GPU, depends on every setting.
    every = formula.scope == MULTI_GPU
    uses = {
        f"uses_{name}": float(every or not used.isdisjoint(base)) for name, base in SETTING_COLUMNS.items()
    }
    return {"is_split": float(not handling(formula).covers_multi_gpu), **uses}


# A formula's rows are the same in every prediction.
_parsed = cache(parse_text)


def _filled(text: str, numbers: Mapping[str, Expression]) -> Expression | None:
    """Return a text as an expression with numbers filled in and folded, None for an empty text."""
    if not text:
        return None
    return rebuilt(substitute(_parsed(text), numbers), apply=_simplified)


def _simplified(node: Apply, arguments: tuple[Expression, ...]) -> Expression:
    """Return a node folded; a product with 0 is 0, so that what never holds is never said."""
    neutral = {"mul": Constant(1.0), "add": Constant(0.0)}.get(node.operator)
    if node.operator == "mul" and Constant(0.0) in arguments:
        return Constant(0.0)
    if neutral in arguments:
        return arguments[0] if arguments[1] == neutral else arguments[1]
    return folded(node.operator, arguments)
