"""The rows of notes and warnings: assumptions, ranges, coverage of the training runs, memory, host."""

import re
from collections.abc import Iterable, Mapping
from functools import reduce

from trainlaw.app.answers.answer import Answer
from trainlaw.app.answers.fixed_rows import rows
from trainlaw.app.inputs.resolve import study_specifications
from trainlaw.app.models.calibration import DOUBT, calibration_of
from trainlaw.app.models.scopes import feature_expression
from trainlaw.app.models.settings import HOST_LAUNCH, host_margin
from trainlaw.app.models.term_descriptions import title_of
from trainlaw.app.text.numbers import show_number
from trainlaw.formulas import SECOND, Formula, to_text
from trainlaw.formulas.scopes import LAYER, MULTI_GPU
from trainlaw.validate.applicability import stored_joint_range

_TF32_BY_DEFAULT = "tf32, linear layers fp32 (PyTorch's default; or --precision fp32)"


def setup(formula: Formula) -> Iterable[Answer]:
    """Yield the line of all assumptions: GPUs and nodes, links, precision, layout, host."""
    margin = None if formula.scope == LAYER else host_margin(formula)
    if margin is not None:
        yield Answer("launch_s", definition=to_text(feature_expression(HOST_LAUNCH)))
    host = "" if margin is None else ", host {launch_s:seconds} per layer"
    for name, when, origin in (
        ("setup", "1 - max(by_default, has_fp32_dense)", "{precision}"),
        ("setup_default", "by_default * (1 - has_fp32_dense)", "{precision} (PyTorch's default)"),
        ("setup_default_tf32", "has_fp32_dense", _TF32_BY_DEFAULT),
    ):
        sentence = f"setup: {{machine}}, {origin}, layout {{layout}}{host}"
        yield Answer(name, when=when, sentence=sentence, is_note=True)


def outside(formula: Formula) -> Iterable[Answer]:
    """Yield the warnings about features outside their training ranges, all amounts of work in one sentence.

    For layers, how many of them are outside.
    """
    if formula.scope == LAYER:
        sentence = "sizes of {layers_outside:layers} lie outside those of training runs"
        yield Answer("outside_layers", when="layers_outside", sentence=sentence, gravity="range")
        return
    ranges = {
        spec: formula.ranges[spec.name] for spec in formula.used_features if spec.name in formula.ranges
    }
    work = {spec: ends for spec, ends in ranges.items() if spec.unit == SECOND and ends[1] > 0}
    yield from _outside_work({spec.name: ends for spec, ends in work.items()})
    for spec, (low, high) in ranges.items():
        if spec not in work:
            unit = "" if spec.unit.is_dimensionless else f" {spec.unit}"
            runs = f"training runs have {show_number(low)} to {show_number(high)}"
            sentence = f"{title_of(spec)} is {{{spec.name}:number}}{unit}: {runs}"
            when = f"max({spec.name} - {high!r}, {low!r} - {spec.name})"
            yield Answer(f"outside_{spec.name}", when=when, sentence=sentence, gravity="range")


def _outside_work(ranges: Mapping[str, tuple[float, float]]) -> Iterable[Answer]:
    """Yield the work next to the most, and to the least, of training runs, and its warning."""
    most = [f"{name} / {high!r}" for name, (_, high) in ranges.items()]
    least = [f"100 * {name} / {low!r}" for name, (low, _) in ranges.items() if low > 0]
    for name, ratios, operator, when, said in (
        ("most_work", most, "max", "most_work - 1", "more {0}: {{{1}:number}} times the largest"),
        ("least_work", least, "min", "100 - least_work", "less {0}: {{{1}:number}} % of the smallest"),
    ):
        if ratios:
            sentence = said.format("work per iteration than in any training run", name)
            yield Answer(name, definition=reduce((operator + "({}, {})").format, ratios))
            yield Answer(f"outside_{name}", when=when, sentence=sentence, gravity="range")


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
            "untrained_precision",
            when="is_untrained_precision",
            sentence="no training run used {precision}",
            gravity="unlike",
        )
    if known.get("generations") is not None:
        of_gpu = "no training run is on a GPU of"
        for kind, text in (("vendor", "{vendor}"), ("generation", "the generation {generation}")):
            when, sentence = f"is_unseen_{kind}", f"{of_gpu} {text}"
            yield Answer(f"unseen_{kind}", when=when, sentence=sentence, gravity="unlike")


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
        gravity="unlike",
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


def calibration(formula: Formula) -> Iterable[Answer]:
    """Yield the warnings of a calibrated formula: doubtful runs, another GPU or precision than theirs."""
    known = calibration_of(formula) or {}
    doubts = {"calibrated": ("by", known.get(DOUBT)), "made": ("of", formula.provenance.get(DOUBT))}
    for how, (by, doubt) in doubts.items():
        if doubt:
            # There is at least one GPU, so it is always said.
            said = f"the formula is {how} {by} doubtful runs: {_literal([doubt])}"
            yield Answer(f"doubtful_{how}", when="n_gpus", sentence=said, gravity="mistaken")
    if "gpus" in known:
        said = f"the formula is calibrated to {_literal(known['gpus'])}, not to this GPU"
        yield Answer("other_gpu", when="is_other_gpu", sentence=said, gravity="unlike")
    if "precisions" in known:
        said = f"the formula is calibrated by runs in {_literal(known['precisions'])} only"
        yield Answer("other_precision", when="is_other_precision", sentence=said, gravity="unlike")


def _literal(names: Iterable[object]) -> str:
    """Return names of a file as one line without a place in it."""
    return " ".join(", ".join(map(str, names)).replace("{", "(").replace("}", ")").split())


def host(formula: Formula) -> Iterable[Answer]:
    """Yield the warnings that the host's launches decide, for a formula that compares them."""
    if formula.scope != LAYER and host_margin(formula) is not None:
        yield from rows("host")
