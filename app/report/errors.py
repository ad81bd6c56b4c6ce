"""Held-out errors of a formula, as tables and drawings of the report."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from trainlaw.app.models.front import LAW, FrontRow
from trainlaw.app.models.stated_error import headline
from trainlaw.app.report import plots
from trainlaw.app.studies.front import Deliverable, StudyFront
from trainlaw.app.studies.result import StudyOutcome
from trainlaw.app.terminal.study import levels_table
from trainlaw.app.text.numbers import show_number, show_percent
from trainlaw.app.text.tables import RUNS, Table, TableColumn
from trainlaw.validate import bootstrap_interval
from trainlaw.validate.baselines import title_of
from trainlaw.validate.error_table import BY_CNN, BY_GPU, FURTHER_LEVELS, METRIC_TITLES
from trainlaw.validate.formula_errors import CarriedErrors, ErrorLine
from trainlaw.validate.metrics import absolute_percentage_errors
from trainlaw.validate.result import MEASURED, OURS

# Hues of the oldest and the newest generation, degrees: of the vendor with most runs, and of all others.
_COOL, _WARM = (290, 90), (50, -20)
_RESAMPLES = 200  # the ends of an interval then vary by about a tenth of its width
_COLOURS = ("--ours", "--r1", "--r2", "--r3", "--r4", "--c7")  # of the style sheet, by order of estimators
_UNKNOWN = (math.nan,) * 3
_TITLES = {
    **METRIC_TITLES,
    "log_bias": "bias: mean ln(predicted / measured)",
    "rmse_s": "root mean square error, s",
    "spearman": "rank correlation (Spearman)",
    "invalid_rows": "runs without a prediction",
}


def reported_errors(outcome: StudyOutcome, errors: CarriedErrors) -> dict[str, object] | None:
    """Return tables and drawings of the held-out errors, as the template of the report names them.

    Drawings are SVG, an entry of a legend is a name and the class and style of its dot. None where no fold
    was finished.
    """
    names = errors.estimators
    if not names:
        return None
    hues, groups = _grouped(outcome.result.predictions, OURS, outcome.columns)
    by_gpu = _with_intervals(outcome, errors.lines[BY_GPU], BY_GPU, BY_CNN)
    by_cnn = _with_intervals(outcome, errors.lines[BY_CNN], BY_CNN, BY_GPU)
    drawn = names[: len(_COLOURS)]
    stated = headline(outcome.formula)
    mean = outcome.formula.errors["interval"]["coverage_percent"]
    used = outcome.formula.used_features
    units = {spec.name: "" if spec.unit.is_dimensionless else str(spec.unit) for spec in used}
    return dict(
        protocol=outcome.formula.errors["protocol"],
        headline=stated[:1].upper() + stated[1:],
        scatter=plots.predicted_against_measured(groups),
        gpu_dots=plots.error_dots(by_gpu, drawn, "Error per GPU group"),
        cnn_dots=plots.error_dots(by_cnn, drawn, "Error per architecture"),
        residuals=[(name, plots.residuals(groups, name, unit)) for name, unit in units.items()],
        generations=[(name, "hued", f"--hue:{hue}") for name, hue in hues.items()],
        legend=[
            (title_of(name), "", f"background:var({colour})")
            for name, colour in zip(drawn, _COLOURS, strict=False)
        ],
        by_cnn=_line_table(by_cnn, names),
        by_gpu=_line_table(by_gpu, names),
        metrics=_metrics(errors),
        by_label=[
            (label, _label_table(outcome, errors.others, label))
            for label in FURTHER_LEVELS
            if label in outcome.result.predictions
        ],
        mean_coverage="-" if mean is None else f"{mean:.1f}",
        coverage=_coverage(outcome),
        platforms=[(name, _platform_tables(matrix)) for name, matrix in outcome.matrices.items()],
        levels=levels_table(outcome.levels) if outcome.levels else None,
    )


def member_points(few: StudyFront, row: FrontRow) -> list[plots.PointGroup]:
    """Return the held-out runs and what a formula of the front predicts, by generation as in the report."""
    column = Deliverable(row.method, row.constants).column if row.method != LAW else OURS
    if column not in few.result.estimators:
        return []
    return _grouped(few.result.predictions, column, {})[1]


def _grouped(
    predictions: pd.DataFrame, column: str, features: Mapping[str, np.ndarray]
) -> tuple[dict[str, int], list[plots.PointGroup]]:
    """Hues, and held-out runs by generation, the most numerous first: small groups are drawn over them.

    GPU groups take the place of generations that are not known.
    """
    level = "generation" if "generation" in predictions else BY_GPU
    hues, groups = _hues(predictions, level), []
    for name, part in predictions.groupby(level, sort=True):
        rows = part["row"].to_numpy()
        values = {key: each[rows].tolist() for key, each in features.items()}
        times = (part[MEASURED].tolist(), part[column].tolist())
        groups.append(plots.PointGroup(str(name), *times, values, hues[str(name)]))
    return hues, sorted(groups, key=lambda group: -len(group.measured))


def _hues(predictions: pd.DataFrame, level: str) -> dict[str, int]:
    """Return the hue of each label, degrees, in the order of a legend.

    A ramp over the years for the vendor with most runs, then one for all others.
    """
    dated = predictions.sort_values([*(["gpu_year"] if "gpu_year" in predictions else []), level])
    vendors = dated.get("vendor", pd.Series("", index=dated.index)).fillna("")
    first = vendors.mode().iloc[0]
    hues: dict[str, int] = {}
    for ends, rows in ((_COOL, vendors == first), (_WARM, vendors != first)):
        names = dated.loc[rows, level].dropna().astype(str).unique()
        ramp = np.linspace(*ends, max(len(names), 2)).round().astype(int) % 360
        hues |= dict(zip(names.tolist(), ramp.tolist(), strict=False))
    return hues


def _with_intervals(
    outcome: StudyOutcome, lines: Sequence[ErrorLine], level: str, over: str
) -> list[ErrorLine]:
    """The error lines of `level` with intervals of the formula's error, resampling the groups of `over`."""
    ends = map(_interval_of(outcome, level, over), (line.name for line in lines))
    return [replace(line, low=low, high=high) for line, (low, high) in zip(lines, ends, strict=True)]


def _interval_of(outcome: StudyOutcome, level: str, over: str) -> Callable[[str], tuple[float, float]]:
    """The bootstrap interval of the formula's mean error on the runs with a label, by that label."""
    result = outcome.result
    # Whole groups are resampled, since runs of one GPU or CNN share their error.
    errors = np.mean(
        [absolute_percentage_errors(result.measured_s, result.predicted_s(name)) for name in result.searches],
        axis=0,
    )
    names, groups = result.labels(level), result.labels(over)

    def interval(name: str) -> tuple[float, float]:
        inside, units = errors[names == name], groups[names == name]
        return bootstrap_interval(lambda rows: float(inside[rows].mean()), units, resamples=_RESAMPLES)

    return interval


def table_of_numbers(header: Sequence[str | TableColumn], rows: Sequence[Sequence[object]]) -> Table:
    """Return a table whose first column is text; a title is that of a column of numbers."""
    return Table.of([TableColumn(str(header[0]), "long"), *header[1:]], rows, "number")


def _line_table(lines: Sequence[ErrorLine], names: Sequence[str]) -> Table:
    rows = [
        [
            f"{line.label}: {', '.join(line.members)}" if len(line.members) > 1 else line.label,
            line.rows,
            *(show_percent(line.errors[name]) for name in names),
        ]
        for line in lines
    ]
    return table_of_numbers(["", RUNS, *map(title_of, names)], rows)


def _metrics(errors: CarriedErrors) -> Table:
    rows = [
        [title_of(name), *(_with_interval(metric, *figures.get(metric, _UNKNOWN)) for metric in _TITLES)]
        for name, figures in errors.figures.items()
    ]
    return Table.of([TableColumn("", "long"), *_TITLES.values()], rows, "wrapped_number")


def _with_interval(metric: str, value: float, low: float, high: float) -> str:
    shown = _figure(value, metric)
    if not np.isfinite([low, high]).all():
        return shown
    return f"{shown} ({_figure(low, metric)} to {_figure(high, metric)})"


def _figure(value: float, metric: str) -> str:
    if not math.isfinite(value):
        return "-"
    return show_percent(value) if metric.endswith("_percent") else show_number(value)


def _label_table(outcome: StudyOutcome, compared: Sequence[str], label: str) -> Table:
    """Errors per source, precision or batch: the mean of every estimator, and the interval of the formula."""
    part = outcome.errors[outcome.errors["level"] == label]
    values = part.pivot(index="name", columns="estimator", values="mape_percent")
    counts = part.groupby("name")["n_rows"].first()
    interval = _interval_of(outcome, label, BY_GPU)
    rows = []
    for name in sorted(values.index, key=_numbers_first):
        low, high = interval(name)
        ends = _range(low, high) if math.isfinite(low) else "one GPU group"
        others = [show_percent(values.loc[name, other]) for other in compared]
        rows.append([name, counts[name], show_percent(values.loc[name, OURS]), ends, *others])
    return table_of_numbers([label, RUNS, OURS, "90 % interval", *map(title_of, compared)], rows)


def _range(low: float, high: float) -> str:
    return f"{show_percent(low)} to {show_percent(high)}"


def _numbers_first(name: str) -> tuple[int, float, str]:
    """Sort key: numbers by size, then texts."""
    try:
        return 0, float(name), ""
    except ValueError:
        return 1, 0.0, name


def _coverage(outcome: StudyOutcome) -> Table:
    interval = outcome.formula.errors["interval"]
    counts = pd.Series(outcome.result.labels(interval["over"])).value_counts()
    rows = [
        [name, counts[name], "-" if percent is None else f"{percent:.0f}"]
        for name, percent in sorted(interval["coverage_by_group"].items(), key=lambda item: item[1] or 0)
    ]
    return table_of_numbers(["group", RUNS, "covered, %"], rows)


def _platform_tables(matrix: pd.DataFrame) -> list[tuple[str, Table]]:
    """A table per estimator of the errors from each platform to each; rows train, columns test."""
    tables, tests = [], sorted(matrix["test"].unique())
    shown = matrix.assign(cell=list(map(_cell, matrix["macro_mape_percent"], matrix["low"], matrix["high"])))
    for estimator, part in shown.groupby("estimator", sort=False):
        cells = part.pivot(index="train", columns="test", values="cell")
        cells = cells.reindex(index=sorted(matrix["train"].unique()), columns=tests).fillna("-")
        is_ours = estimator == OURS
        title = "evolved formula, constants refitted on each" if is_ours else title_of(str(estimator))
        tables.append((title, table_of_numbers(["", *tests], list(cells.itertuples(name=None)))))
    return tables


def _cell(error: float, low: float, high: float) -> str:
    return f"{show_percent(error)} ({_range(low, high)})" if math.isfinite(low) else show_percent(error)
