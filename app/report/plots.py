"""The drawings of the report: predicted against measured, residuals, errors by name."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trainlaw.app.text import svg
from trainlaw.app.text.numbers import show_number, show_percent, show_seconds
from trainlaw.validate.baselines import title_of
from trainlaw.validate.formula_errors import ErrorLine

_ROW_HEIGHT = 15.0
_LABEL = 20  # characters of a label that fit to the left of an axis
_LETTER = 7.0  # width of a letter below a tick, in user units, generously
_NEAR = 5.0  # user units between dots that do not hide each other
_ZERO_AT = 54.0  # user units, left of the axis, which has no place for zero
_COMPARED = "Predicted against measured iteration time of held-out runs"


@dataclass(frozen=True)
class PointGroup:
    """Points of one colour: `name` for the legend, `measured` and `predicted` in seconds, equally long.

    features : by name, as long as the points; `hue` is the colour's angle in degrees.
    """

    name: str
    measured: Sequence[float]
    predicted: Sequence[float]
    features: Mapping[str, Sequence[float]] = field(default_factory=dict)
    hue: int = 0


def predicted_against_measured(groups: Sequence[PointGroup]) -> str:
    """Return a log-log scatter as SVG, with the diagonal and lines 25 % off it; one colour per group.

    groups : each with at least one point; times in seconds.
    """
    times = [value for group in groups for value in (*group.measured, *group.predicted) if value > 0]
    low, high = min(times) / 1.15, max(times) * 1.15
    across, up = svg.LogAxis(low, high, 60, 390), svg.LogAxis(low, high, 348, 10)
    diagonal = svg.line(across(low), up(low), across(high), up(high), "diagonal")
    parts = [*_grid(across, up, across.ticks()), diagonal]
    # Lines of constant relative error are parallel to the diagonal on log axes.
    for factor in (1.25, 0.75):
        end = min(high, high / factor)
        start = max(low, low / factor)
        parts.append(svg.line(across(start), up(start * factor), across(end), up(end * factor), "band"))
    for group in groups:
        points = [
            (across(measured), up(predicted))
            for measured, predicted in zip(group.measured, group.predicted, strict=True)
            if predicted > 0
        ]
        parts.append(svg.dots(points, "hued", f"{group.name}: {len(points)} runs", group.hue))
    return svg.drawing(390, [*parts, *_titles()], f"{_COMPARED}, log axes")


def predicted_from_zero(groups: Sequence[PointGroup]) -> str:
    """Return predicted against measured times as SVG with linear axes from zero; arguments as above."""
    most = 1.05 * max(value for group in groups for value in (*group.measured, *group.predicted))
    across, up = svg.LinearAxis(0, most, 60, 390), svg.LinearAxis(0, most, 348, 10)
    parts = [*_grid(across, up, across.ticks(4)), svg.line(60, 348, 390, 10, "diagonal")]
    for group in groups:
        points = zip(group.measured, group.predicted, strict=True)
        # A dot per place: a pixel shows no more.
        places = sorted({(round(across(x)), round(up(y))) for x, y in points if math.isfinite(y)})
        parts.append(svg.dots(places, "hued small", f"{group.name}: {len(group.measured)} runs", group.hue))
    return svg.drawing(390, [*parts, *_titles()], f"{_COMPARED}, axes from zero")


def _titles() -> list[str]:
    """The titles of the axes of predicted against measured times."""
    turned = svg.text(11, 180, "predicted, held out", "middle")
    return [
        svg.text(225, 382, "measured iteration time", "middle"),
        f'<g transform="rotate(-90 11 180)">{turned}</g>',
    ]


def _grid(
    across: svg.LogAxis | svg.LinearAxis, up: svg.LogAxis | svg.LinearAxis, ticks: Sequence[float]
) -> list[str]:
    """Lines and texts at the same times, in s, on both axes."""
    parts = []
    for tick in ticks:
        shown = show_seconds(tick) if tick else "0"
        parts.append(svg.line(across(tick), up.start, across(tick), up.end, "grid"))
        parts.append(_below(across(tick), up.start + 14, shown))
        parts.append(svg.line(across.start, up(tick), across.end, up(tick), "grid"))
        parts.append(svg.text(across.start - 4, up(tick) + 3.5, shown, "end", "tick"))
    return parts


def _below(x: float, y: float, shown: str) -> str:
    """Return the text below a tick; at the right edge it is moved to the left, so that nothing is cut off."""
    return svg.text(min(x, svg.WIDTH - _LETTER * len(shown) / 2), y, shown, "middle", "tick")


def error_dots(rows: Sequence[ErrorLine], estimators: Sequence[str], title: str) -> str:
    """Return a dot plot of errors as SVG, one line per name, sorted by the error of the first estimator.

    rows : at least one; `low` and `high` are the interval of the first estimator's error. estimators : the
    first is drawn on top; CSS classes `e0`, `e1`, ... in order. title : for screen readers. The axis is
    logarithmic, in percent.
    """
    ordered = sorted(rows, key=lambda row: row.errors[estimators[0]])
    shown = [row.errors[name] for row in ordered for name in estimators if row.errors.get(name, -1) > 0]
    bottom = 12 + _ROW_HEIGHT * len(ordered)
    # Errors below 0.5 % or above 1,000 % are drawn at the ends: they would squeeze all others.
    axis = svg.LogAxis(max(min(shown) / 1.2, 0.5), min(max(shown) * 1.2, 1000.0), 136, 388)
    parts = []
    for tick in axis.ticks((1.0, 2.0, 5.0)):
        parts.append(svg.line(axis(tick), 4, axis(tick), bottom, "grid"))
        parts.append(_below(axis(tick), bottom + 14, f"{tick:g}"))
    for index, row in enumerate(ordered):
        height = 12 + _ROW_HEIGHT * (index + 0.5)
        parts.append(svg.text(128, height + 3.5, svg.shortened(row.label, _LABEL), "end", "tick"))
        parts.append(svg.line(132, height, 388, height, "guide"))
        parts.extend(_error_row(row, estimators, axis, height))
    parts.append(svg.text(262, bottom + 30, "mean absolute error, %", "middle"))
    return svg.drawing(bottom + 38, parts, title)


def _error_row(row: ErrorLine, estimators: Sequence[str], axis: svg.LogAxis, height: float) -> list[str]:
    interval, dots = list[str](), list[str]()
    if row.low > 0 and row.high > 0:
        interval.append(svg.line(axis(row.low), height, axis(row.high), height, "interval"))
    taken: list[tuple[float, float]] = []
    for index, name in enumerate(estimators):
        error = row.errors.get(name, float("nan"))
        if error > 0:
            hint = f"{row.label}, {title_of(name)}: {show_percent(error)} % over {row.rows} runs"
            place = axis(error), _free_height(taken, axis(error), height)
            taken.append(place)
            dots.append(svg.circle(*place, 3.6 if index == 0 else 2.6, f"e{index}", hint))
    # Drawn backwards, so that the first estimator lies on top.
    return [*interval, *reversed(dots)]


def _free_height(taken: Sequence[tuple[float, float]], x: float, height: float) -> float:
    """Return the height at which a dot hides no earlier one: on its line, or above or below it."""
    near = {at for other, at in taken if abs(other - x) < _NEAR}
    return next((at for at in (height, height - _NEAR, height + _NEAR) if at not in near), height)


def residuals(groups: Sequence[PointGroup], feature: str, unit: str) -> str:
    """Return predicted over measured time against one feature as SVG, on log axes; zeros are at the left.

    groups : as for `predicted_against_measured`, each with `feature` among its features.
    unit : of the feature, empty for a pure number.
    """
    positive = [value for group in groups for value in group.features[feature] if value > 0]
    low, high = (min(positive) / 1.3, max(positive) * 1.3) if positive else (0.5, 2.0)
    across, up = svg.LogAxis(low, high, 66, 390), svg.LogAxis(0.25, 4.0, 178, 8)
    parts = [_ratio_line(across, up, ratio) for ratio in (0.25, 0.5, 0.8, 1.0, 1.25, 2.0, 4.0)]
    # Powers of ten alone give too few ticks on a short range.
    ticks = across.ticks() if high > 200 * low else across.ticks((1.0, 2.0, 5.0))
    show = show_seconds if unit == "s" else show_number
    for tick in ticks[:: max(1, math.ceil(len(ticks) / 6))]:
        parts.append(_below(across(tick), 191, show(tick)))
    for group in groups:
        values = zip(group.features[feature], group.measured, group.predicted, strict=True)
        points = [
            (across(value) if value > 0 else _ZERO_AT, up(predicted / measured))
            for value, measured, predicted in values
            if predicted > 0
        ]
        # A dot per place: a pixel shows no more, and twenty plots of all runs would be two megabytes.
        places = sorted({(round(x), round(y)) for x, y in points})
        parts.append(svg.dots(places, "hued small", f"{group.name}: {len(points)} runs", group.hue))
    named = f"{feature} [{unit}]" if unit else feature
    parts.append(svg.text(225, 207, named, "middle"))
    return svg.drawing(212, parts, f"Predicted over measured against {feature}, log axes")


def _ratio_line(across: svg.LogAxis, up: svg.LogAxis, ratio: float) -> str:
    kind = "diagonal" if ratio == 1 else "grid"
    tick = svg.text(44, up(ratio) + 3.5, f"{ratio:g}", "end", "tick") if ratio not in (0.8, 1.25) else ""
    return svg.line(48, up(ratio), across.end, up(ratio), kind) + tick
