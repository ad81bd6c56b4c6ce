"""The parts of the report about more figures: intervals, calibration, platforms, residuals, coverage."""

import numpy as np
import pandas as pd
from trainlaw.app.models.errors import (
    ALSO_BY,
    BY_GPU,
    METRIC_TITLES,
    OURS,
    errors_frame,
    estimators,
    overall_error,
    summary_interval,
)
from trainlaw.app.report import plots
from trainlaw.app.report.errors import hue_legend, point_groups
from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.text.html import table_html
from trainlaw.app.text.numbers import show_number, show_percent
from trainlaw.app.text.svg import escape
from trainlaw.formulas import Formula
from trainlaw.validate import bootstrap_interval
from trainlaw.validate.baselines import title_of
from trainlaw.validate.metrics import absolute_percentage_errors

_TITLES = {
    **METRIC_TITLES,
    "log_bias": "bias: mean ln(predicted / measured)",
    "rmse_s": "root mean square error, s",
    "spearman": "rank correlation (Spearman)",
    "invalid_rows": "runs without a prediction",
}
_RESAMPLES = 200


def studies_html(outcome: StudyOutcome) -> str:
    """Return all parts, one heading each; empty without a finished fold."""
    if not len(outcome.result.predictions):
        return ""
    parts = [
        _metrics(outcome),
        *(_by_label(outcome, label) for label in ALSO_BY if label in outcome.result.predictions),
        *(("<h2>What measuring on the target would give</h2>", _levels(outcome)) if outcome.levels else ()),
        "<h2>How the intervals cover</h2>",
        _coverage(outcome),
        *(_matrix(matrix, name) for name, matrix in outcome.matrices.items()),
        "<h2>Residuals against each feature</h2>",
        _residuals(outcome),
    ]
    return "\n<p></p>\n".join(parts)


def _metrics(outcome: StudyOutcome) -> str:
    formula = outcome.formula
    rows = [
        [title_of(name), *(_with_interval(formula, name, metric) for metric in _TITLES)]
        for name in estimators(formula)
    ]
    caption = (
        "All figures of every estimator, in % unless said; in brackets the 90 % interval, groups drawn anew."
    )
    return table_html(caption, ["", *_TITLES.values()], rows, ["long", *["n wrap"] * len(_TITLES)])


def _with_interval(formula: Formula, estimator: str, metric: str) -> str:
    value = _figure(overall_error(formula, estimator, metric), metric)
    low, high = summary_interval(formula, estimator, metric)
    if not np.isfinite([low, high]).all():
        return value
    return f"{value} ({_figure(low, metric)} to {_figure(high, metric)})"


def _figure(value: float, metric: str) -> str:
    if not np.isfinite(value):
        return "-"
    return show_percent(value) if metric.endswith("_percent") else show_number(value)


def _by_label(outcome: StudyOutcome, label: str) -> str:
    """Errors per source, precision or batch: every estimator's mean, and the interval of ours."""
    result = outcome.result
    frame = errors_frame(result)
    part = frame[frame["level"] == label]
    values = part.pivot(index="name", columns="estimator", values="mape_percent")
    counts = part.groupby("name")["n_rows"].first()
    errors = absolute_percentage_errors(result.measured_s, result.predicted_s(OURS))
    names, groups = result.labels(label), result.labels(BY_GPU)
    rows = []
    for name in sorted(values.index, key=_in_order):
        inside = errors[names == name]
        low, high = bootstrap_interval(
            lambda drawn, own=inside: own[drawn].mean(), groups[names == name], resamples=_RESAMPLES
        )
        ends = f"{show_percent(low)} to {show_percent(high)}" if np.isfinite(low) else "one GPU group"
        others = [show_percent(values.loc[name, other]) for other in result.estimators[1:]]
        rows.append([name, counts[name], show_percent(values.loc[name, OURS]), ends, *others])
    header = [label, "runs", OURS, "90 % interval", *map(title_of, result.estimators[1:])]
    caption = f"Mean absolute error per {label}, %; GPU groups drawn anew for the interval."
    return table_html(caption, header, rows, ["long", *["n"] * (len(header) - 1)])


def _in_order(name: str) -> tuple[int, float, str]:
    """Numbers by size, before texts."""
    try:
        return 0, float(name), ""
    except ValueError:
        return 1, 0.0, name


def _levels(outcome: StudyOutcome) -> str:
    rows = [
        [item.level, item.n_groups, show_percent(item.macro_mape_percent),
         f"{show_percent(item.low_percent)} to {show_percent(item.high_percent)}",
         show_percent(item.sheet_percent)]
        if item.n_groups
        else [item.level, 0, "no data", "", ""]
        for item in outcome.levels
    ]  # fmt: skip
    caption = (
        "Mean over held-out GPU groups. Measured runs calibrate two factors, on compute and memory times, "
        "with a prior at 1; the other runs of the GPU are judged. Micro-benchmarks: "
        "trainlaw study --rates FILE."
    )
    header = [
        "what is known of the target GPU",
        "groups",
        "error, %",
        "90 % interval",
        "same groups, data sheet only",
    ]
    return table_html(caption, header, rows, ["long", "n", "n", "n", "n"])


def _coverage(outcome: StudyOutcome) -> str:
    interval = outcome.formula.errors["interval"]
    counts = pd.Series(outcome.result.labels(interval["over"])).value_counts()
    rows = [
        [name, counts[name], "-" if percent is None else f"{percent:.0f}"]
        for name, percent in sorted(interval["coverage_by_group"].items(), key=lambda item: item[1] or 0)
    ]
    mean = interval["coverage_percent"]
    caption = (
        "Share of the runs of each group inside a 90 % interval made from the other groups, %; mean "
        f"over groups {'-' if mean is None else f'{mean:.1f}'} %. The level holds for a new group on "
        "average, not for each."
    )
    return table_html(caption, ["group", "runs", "covered"], rows, ["long", "n", "n"])


def _matrix(matrix: pd.DataFrame, by: str) -> str:
    parts = [f"<h2>From one {escape(by)} to another</h2>"]
    for estimator in matrix["estimator"].unique():
        part = matrix[matrix["estimator"] == estimator].set_index(["train", "test"])
        tests = sorted(matrix["test"].unique())
        rows = [
            [train, *(_cell(part, train, test) for test in tests)]
            for train in sorted(matrix["train"].unique())
        ]
        title = (
            "evolved formula, constants fitted anew on each"
            if estimator == OURS
            else title_of(str(estimator))
        )
        caption = (
            f"{title}: fitted on the runs of the row, judged on those of the column, %, mean over GPU groups "
            "(90 % interval); the diagonal holds GPUs out."
        )
        parts.append(table_html(caption, ["", *tests], rows, ["long", *["n"] * len(tests)]))
    return "\n<p></p>\n".join(parts)


def _cell(part: pd.DataFrame, train: str, test: str) -> str:
    if (train, test) not in part.index:
        return "-"
    row = part.loc[(train, test)]
    ends = f" ({show_percent(row['low'])} to {show_percent(row['high'])})" if np.isfinite(row["low"]) else ""
    return f"{show_percent(row['macro_mape_percent'])}{ends}"


def _residuals(outcome: StudyOutcome) -> str:
    groups = point_groups(outcome)
    figures = [
        f"<figure><h3>{escape(spec.name)}</h3>"
        f"{plots.residuals(groups, spec.name, _unit(str(spec.unit)))}</figure>"
        for spec in outcome.formula.used_features
    ]
    text = (
        "Predicted over measured time of every held-out run; 1 is exact, runs without the feature stand at "
        "the left. Values beyond a factor of 4 are drawn at the edge."
    )
    legend = f'<div class="legend">{hue_legend(groups)}</div>'
    return f'<p class="soft">{text}</p>{legend}<p></p><div class="plots">{"".join(figures)}</div>'


def _unit(text: str) -> str:
    return "" if text == "1" else text
