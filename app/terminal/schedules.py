"""Schedules on streams as text, CSV, JSON and Gantt chart (SVG)."""

from collections import Counter
from collections.abc import Mapping, Sequence

from trainlaw.app.predictions.streams import StreamPlan
from trainlaw.app.terminal.output import TABLES
from trainlaw.app.terminal.predictions import formula_line, warning_lines
from trainlaw.app.text import svg
from trainlaw.app.text.csv import columns_as_csv
from trainlaw.app.text.numbers import show_seconds, show_seconds_range
from trainlaw.app.text.tables import Table, finite_json, fitted_lines
from trainlaw.formulas import Formula

_LONGEST = 10  # tasks of the critical path that are listed
PUBLISHED = (
    "published: 1.30x on average over one stream, measured by Jin et al. (TurboDL, IEEE TC 70(4), 2021) on "
    "their CNNs and GPUs, for comparison only"
)
_LANES_LEFT, _LANES_RIGHT, _TOP, _LANE = 42.0, 394.0, 34.0, 20.0
_PITCH = _LANE + 3.0  # from lane to lane
_LEAST_LABELLED = 26.0  # user units that a layer's name needs
# Class of a layer by its group; all without one are "other".
_CLASSES: Mapping[str, str] = TABLES["classes_of_groups"]


def plan_text(plan: StreamPlan, formula: Formula, origin: str, every_warning: bool = False) -> str:
    """Return speed-ups, bounds and the critical path; `formula` of an `origin` gave the layers' times.

    every_warning : not the gravest alone.
    """
    schedule, tasks = plan.chosen, plan.chosen.tasks
    bounds = show_seconds_range(schedule.lower_bound_s, schedule.upper_bound_s)
    streams = [
        [each.streams, show_seconds(each.makespan_s), f"{each.speed_up:.3f}x", each.events]
        for each in plan.schedules
    ]
    lines = [
        formula_line(formula, origin),
        f"{plan.cnn}, batch {plan.batch}, {plan.phase}, on {plan.gpu}",
        f"  {len(plan.layers)} tasks, {show_seconds(tasks.total_s)} one after the other",
        f"  makespan on {schedule.streams} streams {show_seconds(schedule.makespan_s)}, speed-up "
        f"{schedule.speed_up:.3f}x (bounds {bounds})",
        f"  mean share of the GPU that a running layer occupies: {100 * tasks.work_s / tasks.total_s:.0f} %",
        "",
        Table.of(["streams", "makespan", "speed-up", "events"], streams).text(indent="  "),
        "",
        *_critical_lines(plan),
        "",
        PUBLISHED,
        "times are those of layers alone; the shares of the GPU follow a rule and were not measured",
        *warning_lines(plan.warnings, every_warning),
    ]
    return fitted_lines("\n".join(lines))


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
        Table.of(["task", "kind", "time", "share of the path"], rows).text(indent="  "),
        "the whole path: --format csv, column on_critical_path",
    ]


def plan_csv(plan: StreamPlan) -> str:
    """Return one line per task: layer, stream, start, time, share of the GPU, on the critical path or not."""
    schedule, critical = plan.chosen, set(plan.critical)
    columns: dict[str, Sequence[object]] = {
        "layer": [task.layer for task in plan.layers],
        "kind": [task.kind for task in plan.layers],
        "pass": ["backward" if task.backward else "forward" for task in plan.layers],
        "stream": [stream + 1 for stream in schedule.stream],
        "start_s": schedule.start_s,
        "time_s": schedule.tasks.seconds,
        "share_of_gpu": schedule.tasks.demands,
        "on_critical_path": [int(task in critical) for task in range(len(plan.layers))],
    }
    return columns_as_csv(columns)


def plan_json(plan: StreamPlan) -> str:
    """Return makespan, speed-up, bounds and events per number of streams, and the critical path; seconds."""
    names = ("streams", "makespan_s", "speed_up", "events", "lower_bound_s", "upper_bound_s")
    return finite_json(
        {
            **{name: getattr(plan, name) for name in ("cnn", "gpu", "batch", "phase")},
            "tasks": len(plan.layers),
            "sum_s": plan.chosen.tasks.total_s,
            "schedules": [{name: getattr(each, name) for name in names} for each in plan.schedules],
            "critical_path": [plan.layers[task].name for task in plan.critical],
            "warnings": plan.warnings,
        }
    )


def gantt_svg(plan: StreamPlan) -> str:
    """Return the chart of a plan's schedule on all its streams: a lane per stream, time to the right.

    The tooltip of each box gives layer, start, time and share of the GPU; backward tasks are paler, tasks on
    the critical path are underlined in black.
    """
    schedule, critical = plan.chosen, set(plan.critical)
    bottom = _TOP + schedule.streams * _PITCH
    across = svg.LinearAxis(0.0, max(schedule.makespan_s, 1e-12), _LANES_LEFT, _LANES_RIGHT)
    title = (
        f"{plan.cnn}, batch {plan.batch}, {plan.phase}, {plan.gpu}: {show_seconds(schedule.makespan_s)} on "
        f"{schedule.streams} streams, {schedule.speed_up:.3f}x"
    )
    parts = [svg.text(_LANES_LEFT, 12, title), *_legend(24)]
    for stream in range(schedule.streams):
        top, name = _TOP + stream * _PITCH, f"stream {stream + 1}"
        parts.append(svg.box((_LANES_LEFT, top), (_LANES_RIGHT - _LANES_LEFT, _LANE), "lane", name))
        parts.append(svg.text(_LANES_LEFT - 4, top + 13, name, "end", "tick"))
    for task in range(len(plan.layers)):
        parts += _task(plan, task, across, task in critical)
    for tick in across.ticks(6):
        shown = show_seconds(tick) if tick else "0"
        parts.append(svg.line(across(tick), _TOP, across(tick), bottom, "grid"))
        parts.append(svg.text(across(tick), bottom + 9, shown, "middle", "tick"))
    drawing = svg.drawing(bottom + 16, parts, f"Gantt chart: {title}")
    return svg.standalone(drawing, TABLES["styles"]["gantt"])


def _legend(height: float) -> list[str]:
    parts, place = [], 8.0
    for title, kind in _CLASSES.items():
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
    top = _TOP + schedule.stream[task] * _PITCH
    kind = _CLASSES.get(layer.group, _CLASSES["other"])
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
