"""Operations of a Chrome trace: time per operation, each moment counted once.

The format is Google's "Trace Event Format": complete events have `ph` "X", a `name`, a start `ts` and a
duration `dur`, both in microseconds.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

_MICROSECOND_S = 1e-6
_KERNELS = ("kernel", "gpu_memcpy", "gpu_memset")
_OPERATORS = "cpu_op"
_STEP = "ProfilerStep#"
_TENSORFLOW = "TensorFlow Ops"


@dataclass(frozen=True)
class TraceOperations:
    """Seconds of each operation in the whole trace.

    `steps` and `step_s` are training iterations and seconds of one, 0 and nan if the trace has none; `what`
    describes the operations.
    """

    seconds: Mapping[str, float]
    steps: int
    step_s: float
    what: str


@dataclass(frozen=True, slots=True)
class _Event:
    """One complete event; times in microseconds."""

    name: str
    category: str
    line: tuple[str, str]
    start: float
    duration: float
    arguments: Mapping[str, object]


def trace_operations(events: Sequence[object]) -> TraceOperations:
    """Return the operations in the events of a trace; events of other kinds or without numbers are ignored.

    Kernels of a GPU are counted, under the operator that launched them where the trace records it; without
    kernels the operators of the CPU are, each without the operators that it called.
    """
    found = [event for event in map(_event, events) if event is not None]
    steps = [
        event for event in found if event.name.startswith(_STEP) and event.category != "gpu_user_annotation"
    ]
    step_s = math.fsum(event.duration for event in steps) / len(steps) * _MICROSECOND_S if steps else math.nan
    kernels = [event for event in found if event.category in _KERNELS]
    if kernels:
        seconds, what = _launched(kernels, found), "kernels of a GPU"
    elif lines := _named_lines(events, _TENSORFLOW):
        seconds, what = (
            _totals((event.name, event.duration) for event in found if event.line in lines),
            "TensorFlow",
        )
    else:
        operators = [event for event in found if event.category == _OPERATORS]
        if not operators:
            operators = [event for event in found if not event.name.startswith(_STEP)]
        seconds, what = _without_called(operators), "operators"
    return TraceOperations(seconds, len(steps), step_s if step_s > 0 else math.nan, what)


def _event(value: object) -> _Event | None:
    if not isinstance(value, dict) or value.get("ph") != "X" or not isinstance(value.get("name"), str):
        return None
    start, duration = _number(value.get("ts", 0)), _number(value.get("dur"))
    if not (math.isfinite(start) and 0.0 <= duration < 1e15):
        return None
    arguments = value.get("args")
    return _Event(
        value["name"],
        str(value.get("cat", "")).lower(),
        (str(value.get("pid")), str(value.get("tid"))),
        start,
        duration,
        arguments if isinstance(arguments, dict) else {},
    )


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        return math.nan
    return float(value)


def _named_lines(events: Iterable[object], name: str) -> set[tuple[str, str]]:
    """Return process and thread of the rows of a trace named `name`."""
    return {
        (str(event.get("pid")), str(event.get("tid")))
        for event in events
        if isinstance(event, dict)
        and event.get("ph") == "M"
        and event.get("name") == "thread_name"
        and isinstance(event.get("args"), dict)
        and event["args"].get("name") == name
    }


def _totals(parts: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return seconds by name from names and microseconds."""
    found: dict[str, float] = {}
    for name, microseconds in parts:
        found[name] = found.get(name, 0.0) + microseconds * _MICROSECOND_S
    return found


def _launched(kernels: Iterable[_Event], events: Iterable[_Event]) -> dict[str, float]:
    """Return the seconds of kernels by the operator that launched them, by their own names without one."""
    operators = {
        str(event.arguments["External id"]): event.name
        for event in events
        if event.category == _OPERATORS and "External id" in event.arguments
    }
    return _totals((_launcher(kernel, operators), kernel.duration) for kernel in kernels)


def _launcher(kernel: _Event, operators: Mapping[str, str]) -> str:
    # A kernel name is more specific than an operator for both gradients, and a copy names its ends.
    if kernel.category != "kernel":
        return kernel.name
    operation = kernel.arguments.get("tf_op")
    if isinstance(operation, str) and ":" in operation:
        return operation.rpartition(":")[2] or kernel.name
    return operators.get(str(kernel.arguments.get("External id")), kernel.name)


def _without_called(operators: Iterable[_Event]) -> dict[str, float]:
    """Return the seconds of each operator without those of the operators that it called on its thread."""
    own: list[list[float]] = []
    names: list[str] = []
    ordered = sorted(operators, key=lambda event: (event.line, event.start, -event.duration))
    running: list[tuple[tuple[str, str], float, int]] = []  # line, end, number
    for number, event in enumerate(ordered):
        while running and (running[-1][0] != event.line or running[-1][1] <= event.start):
            running.pop()
        if running:
            own[running[-1][2]][0] -= min(event.duration, running[-1][1] - event.start)
        own.append([event.duration])
        names.append(event.name)
        running.append((event.line, event.start + event.duration, number))
    return _totals((name, max(left[0], 0.0)) for name, left in zip(names, own, strict=True))
