"""A schedule of layers on streams as text for people, as CSV and as JSON for programs."""

import json
from collections import Counter
from math import isfinite

from trainlaw.app.models.errors import OURS, overall_error
from trainlaw.app.predictions.streams import StreamPlan
from trainlaw.app.text.csv import rows_as_csv
from trainlaw.app.text.numbers import show_percent, show_seconds
from trainlaw.app.text.tables import text_table
from trainlaw.formulas import Formula

_LONGEST = 10
PUBLISHED = (
    "published: 1.30x on average over one stream, measured by Jin et al. (TurboDL, IEEE TC 70(4), 2021) on "
    "their networks and cards; it is theirs, no prediction of ours"
)


def plan_text(plan: StreamPlan, law: Formula) -> str:
    """Return speed-up per number of streams, bounds, critical path; `law` gave the times of the layers."""
    schedule, tasks = plan.chosen, plan.chosen.tasks
    bounds = f"{show_seconds(schedule.lower_bound_s)} to {show_seconds(schedule.upper_bound_s)}"
    streams = [
        [each.streams, show_seconds(each.makespan_s), f"{each.speed_up:.3f}x", each.events]
        for each in plan.schedules
    ]
    lines = [
        f"{plan.cnn}, batch {plan.batch}, {plan.phase}, on {plan.gpu}",
        f"  {len(plan.layers)} tasks, one after the other {show_seconds(tasks.total_s)}",
        f"  makespan on {schedule.streams} streams {show_seconds(schedule.makespan_s)}, speed-up "
        f"{schedule.speed_up:.3f}x (bounds {bounds})",
        f"  mean share of the GPU that a running layer fills: {100 * tasks.work_s / tasks.total_s:.0f} %",
        "",
        text_table(["streams", "makespan", "speed-up", "events"], streams),
        "",
        *_critical_lines(plan),
        "",
        PUBLISHED,
        "layer times: " + _stated(law),
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
    return [
        f"critical path: {len(critical)} tasks, {show_seconds(total)}, {share:.1f} % of all time ({made_of})",
        f"its longest {len(rows)}:",
        text_table(["task", "kind", "time", "share of the path"], rows),
        "all of it: --format csv, column on_critical_path",
    ]


def _stated(law: Formula) -> str:
    error, median = (overall_error(law, OURS, metric) for metric in ("mape_percent", "median_ape_percent"))
    if not isfinite(error):
        return "a law without a stated error"
    return (
        f"a law fitted to measured layers; sums over networks are wrong by {show_percent(error)} % "
        f"(median {show_percent(median)} %) on GPUs held out; the shares of the GPU are a rule, "
        "not measured"
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
