"""The part of the report that says how wrong the formula is, beside its rivals."""

from collections.abc import Iterable

from trainlaw.app import plots
from trainlaw.app.error_tables import (
    BY_CNN,
    BY_GPU,
    MACRO,
    OURS,
    ErrorLine,
    error_lines,
    estimators,
    overall_error,
)
from trainlaw.app.html_tables import table_html
from trainlaw.app.outcome import StudyOutcome
from trainlaw.app.quantities import show_percent
from trainlaw.app.show_formula import headline
from trainlaw.app.svg import escape

_COLOURS = 10  # classes c0 to c9 of the style sheet
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
            f'<li class="{kind}"><b>{show_percent(macro)} %</b><span>{escape(name)}: error, mean over '
            f"GPU groups (median of runs {show_percent(median)} %)</span></li>"
        )
    return f'<ul class="figures">{"".join(items)}</ul>' if items else ""


def errors_html(outcome: StudyOutcome) -> str:
    """Return protocol, plots and tables of the held-out errors."""
    names = estimators(outcome.formula)
    if not names:
        return "<p>No fold was finished, so nothing is known about the error on a new GPU.</p>"
    groups = _point_groups(outcome)
    by_gpu, by_cnn = error_lines(outcome.formula, BY_GPU), error_lines(outcome.formula, BY_CNN)
    rivals = _legend(names, _RIVAL_COLOURS)
    drawings = (
        ("Predicted against measured", plots.predicted_against_measured(groups),
         _legend([group.name for group in groups], [f"--c{index}" for index in range(_COLOURS)]),
         "Each dot is one measured configuration, predicted by a formula that saw no row of its GPU. "
         "Solid line: exact; dashed: 25 % off."),
        ("Error per GPU", plots.error_dots(by_gpu, names, "Error per GPU group"), rivals,
         "Each GPU group was held out. Logarithmic axis."),
        ("Error per architecture", plots.error_dots(by_cnn, names, "Error per architecture"), rivals,
         "The same held-out predictions, by architecture. Logarithmic axis."),
    )  # fmt: skip
    return "\n".join(
        [
            f"<p>{escape(_protocol(outcome))}</p>",
            '<div class="plots">',
            *(_figure(*drawing) for drawing in drawings),
            "</div><p></p>",
            _table(by_cnn, names, "Mean absolute error per architecture on held-out GPUs, %."),
            "<p></p>",
            _table(by_gpu, names, "Mean absolute error per held-out GPU group, %."),
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
        text += f" Not compared: {name} ({remedy})."
    return text


def _point_groups(outcome: StudyOutcome) -> list[plots.PointGroup]:
    """Held-out runs by generation of GPU, the most numerous first, so that the others are drawn over them."""
    groups = [
        plots.PointGroup(str(name), part["measured_s"].tolist(), part[OURS].tolist())
        for name, part in outcome.result.predictions.groupby("generation", sort=True)
    ]
    return sorted(groups, key=lambda group: -len(group.measured))[:_COLOURS]


def _legend(names: Iterable[str], variables: Iterable[str]) -> str:
    return "".join(
        f'<span><i style="background:var({variable})"></i>{escape(name)}</span>'
        for name, variable in zip(names, variables, strict=False)
    )


def _table(lines: list[ErrorLine], names: tuple[str, ...], caption: str) -> str:
    rows = [
        [_long_label(line), line.rows, *(show_percent(line.errors[name]) for name in names)] for line in lines
    ]
    return table_html(caption, ["", "runs", *names], rows, ["long", *["n"] * (len(names) + 1)])


def _long_label(line: ErrorLine) -> str:
    return f"{line.name}: {', '.join(line.members)}" if line.members else line.name
