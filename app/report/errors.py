"""The part of the report that says how wrong the formula is, beside its rivals."""

from collections.abc import Iterable
from dataclasses import replace

from trainlaw.app.models.errors import (
    BY_CNN,
    BY_GPU,
    MACRO,
    OURS,
    ErrorLine,
    error_lines,
    estimators,
    held_out_kind,
    overall_error,
)
from trainlaw.app.report import plots
from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.terminal.formula import headline
from trainlaw.app.text.html import table_html
from trainlaw.app.text.numbers import show_percent
from trainlaw.app.text.svg import escape
from trainlaw.validate import bootstrap_interval
from trainlaw.validate.baselines import title_of
from trainlaw.validate.metrics import absolute_percentage_errors

_HUE_STEP = 137.5  # degrees, the golden angle
_RESAMPLES = 200
_RIVAL_COLOURS = ("--ours", "--r1", "--r2", "--r3", "--r4", "--c7")


def figures_html(outcome: StudyOutcome) -> str:
    """Return the stated error of every estimator in large figures; empty without a finished fold."""
    items = []
    for name in estimators(outcome.formula):
        macro, median = (
            overall_error(outcome.formula, name, metric) for metric in (MACRO, "median_ape_percent")
        )
        kind = "ours" if name == OURS else "rival"
        items.append(
            f'<li class="{kind}"><b>{show_percent(macro)} %</b><span>{escape(title_of(name))}: error, mean '
            f"over GPU groups (median of runs {show_percent(median)} %)</span></li>"
        )
    return f'<ul class="figures">{"".join(items)}</ul>' if items else ""


def errors_html(outcome: StudyOutcome) -> str:
    """Return protocol, plots and tables of the held-out errors."""
    names = estimators(outcome.formula)
    if not names:
        return "<p>No fold was finished, so nothing is known about the error.</p>"
    groups, kind = point_groups(outcome), held_out_kind(outcome.formula)
    by_gpu = _with_intervals(outcome, BY_GPU, BY_CNN)
    by_cnn = _with_intervals(outcome, BY_CNN, BY_GPU)
    drawn = names[: len(_RIVAL_COLOURS)]
    rivals = _legend(map(title_of, drawn), _RIVAL_COLOURS)
    drawings = (
        ("Predicted against measured", plots.predicted_against_measured(groups),
         hue_legend(groups),
         "Each dot is one measured configuration, predicted by a formula that did not see what its fold held "
         "out; coloured by GPU. "
         "Solid line: exact; dashed: 25 % off."),
        ("Error per GPU", plots.error_dots(by_gpu, drawn, "Error per GPU group"), rivals,
         "Logarithmic axis. Bar: 90 % interval of the evolved formula, architectures drawn anew."),
        ("Error per architecture", plots.error_dots(by_cnn, drawn, "Error per architecture"), rivals,
         "The same held-out predictions. Bar: 90 % interval of the evolved formula, GPU groups drawn anew."),
    )  # fmt: skip
    return "\n".join(
        [
            f"<p>{escape(_protocol(outcome))}</p>",
            '<div class="plots">',
            *(_figure(*drawing) for drawing in drawings),
            "</div><p></p>",
            _table(by_cnn, names, f"Mean absolute error per architecture on held-out {kind}s, %."),
            "<p></p>",
            _table(by_gpu, names, f"Mean absolute error per GPU group on held-out {kind}s, %."),
        ]
    )


def _figure(title: str, drawing: str, legend: str, caption: str) -> str:
    below = f'<div class="legend">{legend}</div><figcaption>{caption}</figcaption>'
    return f"<figure><h3>{title}</h3>{drawing}{below}</figure>"


def _protocol(outcome: StudyOutcome) -> str:
    text = f"Measured on {outcome.formula.errors['protocol']}. "
    text += (
        "The delivered formula comes from one more search on all rows; its error is stated from the folds. "
    )
    text += f"The {headline(outcome.formula)}."
    for name, remedy in outcome.absent.items():
        text += f" Not compared: {title_of(name)} ({remedy})."
    return text


def point_groups(outcome: StudyOutcome) -> list[plots.PointGroup]:
    """Return held-out runs by GPU group, the most numerous first, so that the others are drawn over them."""
    predictions = outcome.result.predictions
    members = outcome.formula.errors[BY_GPU]
    labels = {line.name: line.label for line in error_lines(outcome.formula, BY_GPU)}
    # Neighbours in the legend get hues far apart, so that they are told apart.
    hues = {str(line["name"]): round(index * _HUE_STEP) % 360 for index, line in enumerate(members)}
    groups = []
    for name, part in predictions.groupby(BY_GPU, sort=True):
        rows = part["row"].to_numpy()
        features = {key: values[rows].tolist() for key, values in outcome.columns.items()}
        times = (part["measured_s"].tolist(), part[OURS].tolist())
        groups.append(plots.PointGroup(labels[str(name)], *times, features, hues[str(name)]))
    return sorted(groups, key=lambda group: -len(group.measured))


def _with_intervals(outcome: StudyOutcome, level: str, over: str) -> list[ErrorLine]:
    """The error lines of `level` with intervals of ours, the groups of the other label drawn anew."""
    result = outcome.result
    errors = absolute_percentage_errors(result.measured_s, result.predicted_s(OURS))
    names, groups = result.labels(level), result.labels(over)
    lines = []
    for line in error_lines(outcome.formula, level):
        own, inside = groups[names == line.name], errors[names == line.name]
        low, high = bootstrap_interval(lambda rows, own=inside: own[rows].mean(), own, resamples=_RESAMPLES)
        lines.append(replace(line, low=low, high=high))
    return lines


def hue_legend(groups: Iterable[plots.PointGroup]) -> str:
    """Return the legend of dots that are coloured by hue."""
    return "".join(
        f'<span><i class="hued" style="--hue:{group.hue}"></i>{escape(group.name)}</span>' for group in groups
    )


def _legend(names: Iterable[str], variables: Iterable[str]) -> str:
    return "".join(
        f'<span><i style="background:var({variable})"></i>{escape(name)}</span>'
        for name, variable in zip(names, variables, strict=False)
    )


def _table(lines: list[ErrorLine], names: tuple[str, ...], caption: str) -> str:
    rows = [
        [_long_label(line), line.rows, *(show_percent(line.errors[name]) for name in names)] for line in lines
    ]
    return table_html(caption, ["", "runs", *map(title_of, names)], rows, ["long", *["n"] * (len(names) + 1)])


def _long_label(line: ErrorLine) -> str:
    return f"{line.name}: {', '.join(line.members)}" if line.members else line.name
