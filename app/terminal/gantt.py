"""A schedule of layers as a Gantt chart: one self-contained SVG."""

from trainlaw.app.predictions.streams import StreamPlan
from trainlaw.app.text import svg
from trainlaw.app.text.numbers import show_seconds

_LEFT, _RIGHT, _TOP, _LANE = 42.0, 394.0, 34.0, 20.0
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
# Six hues that stay apart for colour-blind eyes (Okabe and Ito).
_STYLE = (
    ".conv{fill:#0072b2}.dense{fill:#d55e00}.norm{fill:#56b4e9}.act{fill:#f0e442}.pool{fill:#009e73}"
    ".rest{fill:#b9b9b9}.back{fill-opacity:.55}.critical{fill:#000}"
    ".inside{font-size:5px;fill:#fff;pointer-events:none}.lane{fill:#f3f4f5}"
)


def gantt_svg(plan: StreamPlan) -> str:
    """Return the chart of a plan's schedule on all its streams: a lane per stream, time to the right.

    Each box names its layer, start, time and share of the GPU when pointed at; backward tasks are paler,
    tasks on the critical path are underlined in black.
    """
    schedule, critical = plan.chosen, set(plan.critical)
    bottom = _TOP + schedule.streams * (_LANE + _GAP)
    across = svg.LinearAxis(0.0, max(schedule.makespan_s, 1e-12), _LEFT, _RIGHT)
    parts = [svg.text(_LEFT, 12, _title(plan)), *_legend(24)]
    for stream in range(schedule.streams):
        top = _TOP + stream * (_LANE + _GAP)
        parts.append(svg.box((_LEFT, top), (_RIGHT - _LEFT, _LANE), "lane", f"stream {stream + 1}"))
        parts.append(svg.text(_LEFT - 4, top + 13, f"stream {stream + 1}", "end", "tick"))
    for task in range(len(plan.layers)):
        parts += _task(plan, task, across, task in critical)
    for tick in across.ticks(6):
        parts.append(svg.line(across(tick), _TOP, across(tick), bottom, "grid"))
        parts.append(
            svg.text(across(tick), bottom + 9, show_seconds(tick) if tick else "0", "middle", "tick")
        )
    drawing = svg.drawing(bottom + 16, parts, f"Gantt chart: {_title(plan)}")
    return svg.standalone(drawing, _STYLE)


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
