"""Scaling to many GPUs as text, CSV, JSON and plot (SVG)."""

from collections.abc import Sequence

from trainlaw.app.models.multi_gpu import ASSUMPTION, SCALED
from trainlaw.app.models.scopes import handling
from trainlaw.app.predictions.scaling import ScalingPoint
from trainlaw.app.terminal.output import TABLES
from trainlaw.app.terminal.predictions import formula_line, setup_text, warning_lines
from trainlaw.app.text import svg
from trainlaw.app.text.numbers import show_number, show_seconds
from trainlaw.app.text.tables import Table, finite_json, fitted_lines
from trainlaw.datasets import Gpu
from trainlaw.datasets.measurements.runs import Setup
from trainlaw.formulas import Formula

_FIELDS = ("n_gpus", "n_nodes", "batch", "time_s", "computing_s", "transfer_s", "latency_s", "speed_up")
_WAYS = ("link", "network")
_DERIVED = ("efficiency", "samples_per_second", "perfect_samples_per_second")
_COLUMNS = (*_FIELDS, *_DERIVED, *_WAYS)


def curve_title(gpu: Gpu, points: Sequence[ScalingPoint], algorithm: str, setup: Setup) -> str:
    """Return the configuration of a curve as text, but for the CNN."""
    per_node = max(point.n_gpus // point.n_nodes for point in points)
    said = f"batch {points[0].batch} per GPU, {gpu.gpu}, {per_node} per node"
    ways = " and ".join(way for way in (points[-1].link, points[-1].network) if way != "none")
    return f"{said}, {algorithm} over {ways or 'one GPU'}, {setup_text(setup, gpu)}"


def scaling_text(
    title: str,
    points: Sequence[ScalingPoint],
    *,
    formula: Formula,
    origin: str,
    scaling_origin: str = "",
    every_warning: bool = False,
) -> str:
    """Return a table of powers of two and the last number of GPUs.

    title : the configuration as text. formula : the one that predicted the times. origin : where it is from.
    scaling_origin : where the scaling formula is from, empty for the textbook. every_warning : not the
    gravest alone.
    """
    shown = [point for point in points if point.n_gpus & (point.n_gpus - 1) == 0 or point is points[-1]]
    several = handling(formula).covers_multi_gpu
    rows = [
        [
            point.n_gpus,
            point.n_nodes,
            show_seconds(point.time_s),
            f"{point.speed_up:.2f}",
            *map(_percent, (point.efficiency, *([] if several else _shares(point)[1:]))),
            show_number(point.samples_per_second),
        ]
        for point in shown
    ]
    split = [] if several else ["transfer", "latency"]
    header = ["GPUs", "nodes", "time", "speed-up", "efficiency", *split, "images/s"]
    added = SCALED if scaling_origin else ASSUMPTION
    said = "the formula covers several GPUs and does not split their time" if several else added
    first = formula_line(formula, origin, "" if several else scaling_origin or "textbook all-reduce")
    shares = "" if several else "transfer, latency: shares of the time; "
    lines = ["", said, f"{shares}efficiency: 100 % where the all-reduce takes no time (null model)"]
    warned = dict.fromkeys((*points[0].warnings, *points[-1].warnings))
    lines += warning_lines([text for text in warned if not text.startswith(added)], every_warning)
    return fitted_lines("\n".join([first, title, Table.of(header, rows).text(indent="  "), *lines]))


def _shares(point: ScalingPoint) -> tuple[float, ...]:
    return tuple(part / point.time_s for part in (point.computing_s, point.transfer_s, point.latency_s))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def scaling_csv(points: Sequence[ScalingPoint]) -> str:
    """Return one line per number of GPUs, in seconds and samples per second, next to perfect scaling."""
    rows = [[*(getattr(point, name) for name in _COLUMNS), "; ".join(point.warnings)] for point in points]
    return Table.of((*_COLUMNS, "warnings"), rows).csv()


def scaling_json(points: Sequence[ScalingPoint]) -> str:
    """Return a JSON list with one object per number of GPUs, with the columns of `scaling_csv`."""
    rows = [{name: getattr(point, name) for name in (*_COLUMNS, "warnings")} for point in points]
    return finite_json(rows)


_LEFT, _RIGHT = 44.0, 392.0


def scaling_svg(title: str, points: Sequence[ScalingPoint]) -> str:
    """Return a plot of the speed-up and perfect scaling, above the shares of the time; log axis of GPUs."""
    most = max(points[-1].n_gpus, 2)
    across, up = svg.LogAxis(1, most, _LEFT, _RIGHT), svg.LogAxis(1, most, 168, 28)
    parts = svg.heading(title)
    for count in [2**power for power in range(most.bit_length())]:
        parts.append(svg.line(across(count), 28, across(count), 168, "grid"))
        parts.append(svg.line(_LEFT, up(count), _RIGHT, up(count), "grid"))
        parts.append(svg.text(_LEFT - 4, up(count) + 3, f"{count}x", "end", "tick"))
        parts.append(svg.text(across(count), 272, str(count), "middle", "tick"))
    parts.append(svg.path([(across(1), up(1)), (across(most), up(most))], "perfect"))
    parts.append(svg.path([(across(point.n_gpus), up(point.speed_up)) for point in points], "ours"))
    for point in points:
        hint = f"{point.n_gpus} GPUs on {point.n_nodes} nodes: {show_seconds(point.time_s)}, "
        hint += f"{point.speed_up:.2f}x, efficiency {_percent(point.efficiency)}"
        parts.append(svg.circle(across(point.n_gpus), up(point.speed_up), 1.8, "dot", hint))
    for place, kind, name in ((52.0, "ours", "speed-up"), (120.0, "perfect", "perfect scaling")):
        parts += [svg.line(place, 38, place + 14, 38, kind), svg.text(place + 18, 41, name, "start", "tick")]
    parts += [*_bars(points, across), svg.text(218, 286, "GPUs", "middle")]
    return svg.standalone(svg.drawing(292, parts, f"Scaling: {title}"), TABLES["styles"]["scaling"])


def _bars(points: Sequence[ScalingPoint], across: svg.LogAxis) -> list[str]:
    """Return the time breakdown: one stacked bar per power of two."""
    names, parts = ("computing", "transfer", "latency"), []
    height = svg.LinearAxis(0.0, 1.0, 262, 192)
    for place, name in zip((52.0, 120.0, 180.0), names, strict=True):
        parts.append(svg.box((place, 178), (7, 7), name, name))
        parts.append(svg.text(place + 10, 185, name, "start", "tick"))
    for tick in (0.0, 0.5, 1.0):
        parts.append(svg.text(_LEFT - 4, height(tick) + 3, _percent(tick).replace(".0", ""), "end", "tick"))
    for point in points:
        if point.n_gpus & (point.n_gpus - 1):
            continue
        floor, left = 0.0, min(max(across(point.n_gpus) - 8, _LEFT), _RIGHT - 16)
        for name, share in zip(names, _shares(point), strict=True):
            hint = f"{point.n_gpus} GPUs: {name} {_percent(share)}"
            size = (16.0, max(height(floor) - height(floor + share), 0.0))
            parts.append(svg.box((left, height(floor + share)), size, name, hint))
            floor += share
    return parts
