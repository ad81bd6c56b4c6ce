"""Predictions, scaling and schedules on streams as text, CSV, JSON and charts (SVG)."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, astuple, fields
from math import isfinite

from trainlaw.app.inputs.requests import Setup
from trainlaw.app.models.errors import LEVEL, OURS, held_out_kind, overall_error
from trainlaw.app.models.multi_gpu import ASSUMPTION, SCALED
from trainlaw.app.models.scopes import handling
from trainlaw.app.predictions.predict import Prediction
from trainlaw.app.predictions.scaling import ScalingPoint
from trainlaw.app.predictions.streams import StreamPlan
from trainlaw.app.text import svg
from trainlaw.app.text.csv import rows_as_csv
from trainlaw.app.text.numbers import show_number, show_percent, show_seconds
from trainlaw.app.text.tables import finite_json, null_for_nan, text_table
from trainlaw.datasets import Gpu
from trainlaw.datasets.hardware.collectives import EVEN
from trainlaw.datasets.measurements.memory_fit import gigabytes
from trainlaw.formulas import Formula

#: Said below several predictions for which no precision was asked.
DEFAULT_PRECISION = (
    "precision: PyTorch's default for convolutions on each GPU, tf32 on NVIDIA's Ampere and later, else "
    "fp32; --precision fp32 for products in 32 bits\n"
)


def predictions_text(formula: Formula, origin: str, predictions: Sequence[Prediction]) -> str:
    """Return one prediction as a paragraph, several as a table, each with unit, interval and warnings."""
    body = _one(predictions[0]) if len(predictions) == 1 else _many(predictions)
    note = DEFAULT_PRECISION if len(predictions) > 1 and any(row.notes for row in predictions) else ""
    return f"{body}\n{note}\nformula: {origin}{_error_note(formula)}"


def predictions_csv(predictions: Sequence[Prediction]) -> str:
    """Return a CSV text with one line per prediction; column names contain the units, nan is empty."""
    names = [field.name for field in fields(Prediction)]
    rows = [
        [
            *map(_csv_cell, astuple(row)[:-1]),
            null_for_nan(row.samples_per_second) or "",
            "; ".join(row.warnings),
        ]
        for row in predictions
    ]
    return rows_as_csv([*names[:-1], "samples_per_second", names[-1]], rows)


def _csv_cell(value: object) -> object:
    if isinstance(value, tuple):
        return "; ".join(map(str, value))
    finite = null_for_nan(value)
    return "" if finite is None else int(finite) if isinstance(finite, bool) else finite


def predictions_json(formula: Formula, predictions: Sequence[Prediction]) -> str:
    """Return a JSON list with one object per prediction: seconds, samples per second; nan becomes null."""
    rows = [
        {**asdict(prediction), "samples_per_second": prediction.samples_per_second, "interval_level": LEVEL}
        for prediction in predictions
    ]
    return finite_json(rows)


def _one(prediction: Prediction) -> str:
    machine = prediction.gpu if prediction.n_gpus == 1 else f"{prediction.n_gpus} x {prediction.gpu}"
    lines = [
        f"{prediction.cnn}, batch {prediction.batch_per_gpu}, on {machine}",
        f"  iteration time  {show_seconds(prediction.time_s)}   ({prediction.interval_text(LEVEL)})",
        *([_all_reduce(prediction)] if prediction.n_gpus > 1 else []),
        f"  throughput      {show_number(prediction.samples_per_second)} images/s",
        f"  memory          {_memory(prediction)}",
        *([f"  settings        {settings}"] if (settings := _settings(prediction)) else []),
        *(f"  {note}" for note in prediction.notes),
        *(f"  warning: {warning}" for warning in prediction.warnings),
    ]
    return "\n".join(lines)


def _settings(of: Prediction | Setup) -> str:
    """Return the settings that differ from the default: layout, compilation, host, allocation, ..."""
    parts = (
        f"layout {of.layout}" if of.layout not in (None, "nchw") else "",
        f"compilation {of.compilation}" if of.compilation not in (None, "eager") else "",
        "vendor-tuned" if of.tuned else "",
        f"host launch {show_seconds(of.host_launch_s)} per layer" if of.host_launch_s is not None else "",
        f"{of.allocation} GPUs per node" if of.allocation not in (None, EVEN) else "",
        "gradients not in buckets" if of.bucketed is False else "",
    )
    return ", ".join(filter(None, parts))


def ways_text(point: ScalingPoint, algorithm: str) -> str:
    """Return the collective algorithm and the links that it uses."""
    ways = " and ".join(way for way in (point.link, point.network) if way != "none")
    return f"{algorithm} over {ways or 'one GPU'}"


def setup_text(setup: Setup, gpu: Gpu) -> str:
    """Return the precision, PyTorch's default on a GPU where none is given, and settings not the default."""
    precision = setup.precision or f"{gpu.default_precision} (PyTorch's default on this GPU)"
    return ", ".join(filter(None, (precision, _settings(setup))))


def _memory(prediction: Prediction) -> str:
    least, usual = gigabytes(prediction.memory_least_bytes), gigabytes(prediction.memory_usual_bytes)
    return f"at least {least} GB, {usual} GB in total: {prediction.fits_in_memory}"


def _all_reduce(prediction: Prediction) -> str:
    places = [name for name in (prediction.link, prediction.network) if name != "none"]
    way = f"{prediction.algorithm} over {' and '.join(places)}"
    return f"  all-reduce      {show_seconds(prediction.exchange_s)}   ({way})"


def _many(predictions: Sequence[Prediction]) -> str:
    bounds = [
        ["-", "-"]
        if row.low_s is None or row.high_s is None
        else [show_seconds(row.low_s), show_seconds(row.high_s)]
        for row in predictions
    ]
    several_settings = any(map(_settings, predictions))
    rows = [
        [
            row.cnn,
            row.gpu if row.n_gpus == 1 else f"{row.n_gpus} x {row.gpu}",
            row.batch_per_gpu,
            row.precision,
            *([_settings(row)] if several_settings else []),
            show_seconds(row.time_s),
            *bound,
            show_number(row.samples_per_second),
            "; ".join(row.warnings),
        ]
        for row, bound in zip(predictions, bounds, strict=True)
    ]
    level = f"{100 * LEVEL:g} %"
    settings = ["settings"] if several_settings else []
    header = [
        "CNN",
        "GPU",
        "batch",
        "precision",
        *settings,
        "time",
        f"{level} from",
        "to",
        "images/s",
        "warnings",
    ]
    return text_table(header, rows)


def _error_note(formula: Formula) -> str:
    error = overall_error(formula, OURS)
    return f"; error on held-out {held_out_kind(formula)}s {show_percent(error)} %" if isfinite(error) else ""


_FIELDS = ("n_gpus", "n_nodes", "batch", "time_s", "computing_s", "transfer_s", "latency_s", "speed_up")
_WAYS = ("link", "network")
_DERIVED = ("efficiency", "samples_per_second", "perfect_samples_per_second")
_COLUMNS = (*_FIELDS, *_DERIVED, *_WAYS)


def scaling_text(
    title: str, points: Sequence[ScalingPoint], formula: Formula, origin: str, scaling_origin: str = ""
) -> str:
    """Return a table of powers of two and the last number of GPUs.

    title : the configuration as text. formula : the one that predicted the times. origin : where it is from.
    scaling_origin : where the scaling formula is from, empty for the textbook.
    """
    shown = [point for point in points if point.n_gpus & (point.n_gpus - 1) == 0 or point is points[-1]]
    rows = [
        [
            point.n_gpus, point.n_nodes, show_seconds(point.time_s), f"{point.speed_up:.2f}",
            f"{point.n_gpus:.2f}", f"{100 * point.efficiency:.1f} %", *map(_percent, _shares(point)),
            show_number(point.samples_per_second), show_number(point.perfect_samples_per_second),
        ]
        for point in shown
    ]  # fmt: skip
    header = [
        "GPUs", "nodes", "time", "speed-up", "perfect", "efficiency", "computing", "transfer", "latency",
        "images/s", "perfect",
    ]  # fmt: skip
    several = handling(formula).covers_multi_gpu
    added = f"{SCALED} ({scaling_origin})" if scaling_origin else ASSUMPTION
    said = "the formula covers several GPUs, so all of its time is listed as computing" if several else added
    lines = ["", said, "perfect: the all-reduce takes no time (null model)", f"formula: {origin}"]
    return "\n".join([title, text_table(header, rows), *lines])


def _shares(point: ScalingPoint) -> tuple[float, ...]:
    return tuple(part / point.time_s for part in (point.computing_s, point.transfer_s, point.latency_s))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def scaling_csv(points: Sequence[ScalingPoint]) -> str:
    """Return one line per number of GPUs, in seconds and samples per second, next to perfect scaling."""
    rows = [[getattr(point, name) for name in _COLUMNS] for point in points]
    return rows_as_csv(_COLUMNS, rows)


def scaling_json(points: Sequence[ScalingPoint]) -> str:
    """Return a JSON list with one object per number of GPUs, with the columns of `scaling_csv`."""
    rows = [{name: getattr(point, name) for name in _COLUMNS} for point in points]
    return json.dumps(rows, indent=2, allow_nan=False)


# Colours that colour-blind readers distinguish (Okabe and Ito).
_SCALING_STYLE = (
    ".ours{fill:none;stroke:#d55e00;stroke-width:1.4}.perfect{fill:none;stroke:#57606a;stroke-dasharray:3 2}"
    ".computing{fill:#0072b2}.transfer{fill:#e69f00}.latency{fill:#000}.dot{fill:#d55e00}"
)
_LEFT, _RIGHT = 44.0, 392.0


def scaling_svg(title: str, points: Sequence[ScalingPoint]) -> str:
    """Return a plot of the speed-up and perfect scaling, above the shares of the time; log axis of GPUs."""
    most = max(points[-1].n_gpus, 2)
    across, up = svg.LogAxis(1, most, _LEFT, _RIGHT), svg.LogAxis(1, most, 168, 28)
    parts = [svg.text(8, 14, title)]
    for count in [2**power for power in range(most.bit_length())]:
        parts.append(svg.line(across(count), 28, across(count), 168, "grid"))
        parts.append(svg.line(_LEFT, up(count), _RIGHT, up(count), "grid"))
        parts.append(svg.text(_LEFT - 4, up(count) + 3, f"{count}x", "end", "tick"))
        parts.append(svg.text(across(count), 272, str(count), "middle", "tick"))
    parts.append(svg.path([(across(1), up(1)), (across(most), up(most))], "perfect"))
    parts.append(svg.path([(across(point.n_gpus), up(point.speed_up)) for point in points], "ours"))
    parts += [_dot(point, across, up) for point in points]
    for place, kind, name in ((52.0, "ours", "speed-up"), (120.0, "perfect", "perfect scaling")):
        parts += [svg.line(place, 38, place + 14, 38, kind), svg.text(place + 18, 41, name, "start", "tick")]
    parts += [*_bars(points, across), svg.text(218, 286, "GPUs", "middle")]
    return svg.standalone(svg.drawing(292, parts, f"Scaling: {title}"), _SCALING_STYLE)


def _dot(point: ScalingPoint, across: svg.LogAxis, up: svg.LogAxis) -> str:
    hint = (
        f"{point.n_gpus} GPUs on {point.n_nodes} nodes: {show_seconds(point.time_s)}, {point.speed_up:.2f}x, "
        f"efficiency {_percent(point.efficiency)}"
    )
    return svg.circle(across(point.n_gpus), up(point.speed_up), 1.8, "dot", hint)


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


_LONGEST = 10  # tasks of the critical path that are listed
PUBLISHED = (
    "published: 1.30x on average over one stream, measured by Jin et al. (TurboDL, IEEE TC 70(4), 2021) on "
    "their CNNs and GPUs, for comparison only"
)


_LANES_LEFT, _LANES_RIGHT, _TOP, _LANE = 42.0, 394.0, 34.0, 20.0
_GAP = 3.0
_LEAST_LABELLED = 26.0  # user units that a layer's name needs
# Group of layers -> class; all others share one.
_CLASSES = {
    "convolution": "conv",
    "dense": "dense",
    "normalization": "norm",
    "activation": "act",
    "pooling": "pool",
}
_TITLES = {
    "conv": "convolution", "dense": "dense", "norm": "normalization", "act": "activation", "pool": "pooling",
    "rest": "other",
}  # fmt: skip
# Six hues that colour-blind readers distinguish (Okabe and Ito).
_GANTT_STYLE = (
    ".conv{fill:#0072b2}.dense{fill:#d55e00}.norm{fill:#56b4e9}.act{fill:#f0e442}.pool{fill:#009e73}"
    ".rest{fill:#b9b9b9}.back{fill-opacity:.55}.critical{fill:#000}"
    ".inside{font-size:5px;fill:#fff;pointer-events:none}.lane{fill:#f3f4f5}"
)


def plan_text(plan: StreamPlan, formula: Formula) -> str:
    """Return speed-ups, bounds and the critical path; `formula` predicted the times of the layers."""
    schedule, tasks = plan.chosen, plan.chosen.tasks
    bounds = f"{show_seconds(schedule.lower_bound_s)} to {show_seconds(schedule.upper_bound_s)}"
    streams = [
        [each.streams, show_seconds(each.makespan_s), f"{each.speed_up:.3f}x", each.events]
        for each in plan.schedules
    ]
    lines = [
        f"{plan.cnn}, batch {plan.batch}, {plan.phase}, on {plan.gpu}",
        f"  {len(plan.layers)} tasks, {show_seconds(tasks.total_s)} one after the other",
        f"  makespan on {schedule.streams} streams {show_seconds(schedule.makespan_s)}, speed-up "
        f"{schedule.speed_up:.3f}x (bounds {bounds})",
        f"  mean share of the GPU that a running layer occupies: {100 * tasks.work_s / tasks.total_s:.0f} %",
        "",
        text_table(["streams", "makespan", "speed-up", "events"], streams),
        "",
        *_critical_lines(plan),
        "",
        PUBLISHED,
        "layer times: " + _stated(formula),
    ]
    return "\n".join(lines)


def _critical_lines(plan: StreamPlan) -> list[str]:
    seconds, critical = plan.chosen.tasks.seconds, plan.critical
    total = sum(seconds[task] for task in critical)
    share = 100 * total / plan.chosen.tasks.total_s
    groups = Counter(plan.layers[task].group for task in critical)
    longest = sorted(critical, key=lambda task: -seconds[task])[:_LONGEST]
    rows = [
        [layer.name, layer.kind, show_seconds(seconds[task]), f"{100 * seconds[task] / total:.1f} %"]
        for task, layer in ((task, plan.layers[task]) for task in longest)
    ]
    made_of = ", ".join(f"{number} {group}" for group, number in groups.most_common())
    length = f"{len(critical)} tasks, {show_seconds(total)}, {share:.1f} % of the total time"
    return [
        f"critical path: {length} ({made_of})",
        f"its {len(rows)} longest tasks:",
        text_table(["task", "kind", "time", "share of the path"], rows),
        "the whole path: --format csv, column on_critical_path",
    ]


def _stated(formula: Formula) -> str:
    error, median = (
        overall_error(formula, OURS, metric) for metric in ("mape_percent", "median_ape_percent")
    )
    if not isfinite(error):
        return "a formula without a stated error"
    return (
        f"a formula fitted to measured layers; its mean error for whole CNNs on held-out GPUs is "
        f"{show_percent(error)} % (median {show_percent(median)} %); the shares of the GPU follow a rule "
        "and were not measured"
    )


def plan_csv(plan: StreamPlan) -> str:
    """Return one line per task: layer, stream, start, time, share of the GPU, on the critical path or not."""
    schedule, critical = plan.chosen, set(plan.critical)
    header = ["layer", "kind", "pass", "stream", "start_s", "time_s", "share_of_gpu", "on_critical_path"]
    rows = [
        [
            layer.layer, layer.kind, "backward" if layer.backward else "forward", schedule.stream[task] + 1,
            schedule.start_s[task], schedule.tasks.seconds[task], schedule.tasks.demands[task],
            int(task in critical),
        ]
        for task, layer in enumerate(plan.layers)
    ]  # fmt: skip
    return rows_as_csv(header, rows)


def plan_json(plan: StreamPlan) -> str:
    """Return makespan, speed-up, bounds and events per number of streams, and the critical path; seconds."""
    schedules = [
        {
            "streams": each.streams, "makespan_s": each.makespan_s, "speed_up": each.speed_up,
            "events": each.events, "lower_bound_s": each.lower_bound_s, "upper_bound_s": each.upper_bound_s,
        }
        for each in plan.schedules
    ]  # fmt: skip
    return json.dumps(
        {
            "cnn": plan.cnn, "gpu": plan.gpu, "batch": plan.batch, "phase": plan.phase,
            "tasks": len(plan.layers), "sum_s": plan.chosen.tasks.total_s, "schedules": schedules,
            "critical_path": [plan.layers[task].name for task in plan.critical],
        },
        indent=2,
        allow_nan=False,
    )  # fmt: skip


def gantt_svg(plan: StreamPlan) -> str:
    """Return the chart of a plan's schedule on all its streams: a lane per stream, time to the right.

    The tooltip of each box gives layer, start, time and share of the GPU; backward tasks are paler, tasks on
    the critical path are underlined in black.
    """
    schedule, critical = plan.chosen, set(plan.critical)
    bottom = _TOP + schedule.streams * (_LANE + _GAP)
    across = svg.LinearAxis(0.0, max(schedule.makespan_s, 1e-12), _LANES_LEFT, _LANES_RIGHT)
    parts = [svg.text(_LANES_LEFT, 12, _title(plan)), *_legend(24)]
    for stream in range(schedule.streams):
        top = _TOP + stream * (_LANE + _GAP)
        parts.append(
            svg.box((_LANES_LEFT, top), (_LANES_RIGHT - _LANES_LEFT, _LANE), "lane", f"stream {stream + 1}")
        )
        parts.append(svg.text(_LANES_LEFT - 4, top + 13, f"stream {stream + 1}", "end", "tick"))
    for task in range(len(plan.layers)):
        parts += _task(plan, task, across, task in critical)
    for tick in across.ticks(6):
        parts.append(svg.line(across(tick), _TOP, across(tick), bottom, "grid"))
        parts.append(
            svg.text(across(tick), bottom + 9, show_seconds(tick) if tick else "0", "middle", "tick")
        )
    drawing = svg.drawing(bottom + 16, parts, f"Gantt chart: {_title(plan)}")
    return svg.standalone(drawing, _GANTT_STYLE)


def _title(plan: StreamPlan) -> str:
    schedule = plan.chosen
    return (
        f"{plan.cnn}, batch {plan.batch}, {plan.phase}, {plan.gpu}: {show_seconds(schedule.makespan_s)} on "
        f"{schedule.streams} streams, {schedule.speed_up:.3f}x"
    )


def _legend(height: float) -> list[str]:
    parts, place = [], 8.0
    for kind, title in _TITLES.items():
        parts.append(svg.box((place, height - 6), (7, 7), kind, title))
        parts.append(svg.text(place + 9, height, title, "start", "tick"))
        place += 16 + 4.2 * len(title)
    parts.append(svg.box((place, height - 2), (7, 2.5), "critical", "on the critical path"))
    return [*parts, svg.text(place + 9, height, "critical path", "start", "tick")]


def _task(plan: StreamPlan, task: int, across: svg.LinearAxis, critical: bool) -> list[str]:
    schedule, layer = plan.chosen, plan.layers[task]
    seconds, start = schedule.tasks.seconds[task], schedule.start_s[task]
    if not seconds:
        return []
    left, width = across(start), across(start + seconds) - across(start)
    top = _TOP + schedule.stream[task] * (_LANE + _GAP)
    kind = _CLASSES.get(layer.group, "rest")
    classes = f"{kind} back" if layer.backward else kind
    share = f"{100 * schedule.tasks.demands[task]:.0f} % of the GPU"
    hint = f"{layer.name} ({layer.kind}): from {show_seconds(start)}, takes {show_seconds(seconds)}, {share}"
    drawn = [svg.box((left, top + 1), (width, _LANE - 5), classes, hint)]
    if critical:
        drawn.append(svg.box((left, top + _LANE - 3.5), (width, 2.5), "critical", hint))
    if width >= _LEAST_LABELLED:
        shown = layer.layer[: int(width / 3)]
        drawn.append(svg.text(left + width / 2, top + 10.5, shown, "middle", "inside"))
    return drawn
