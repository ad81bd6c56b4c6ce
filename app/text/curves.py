"""Curves as text: some lines of characters for a terminal."""

import math
from collections.abc import Mapping, Sequence

from trainlaw.app.text.svg import LinearAxis, LogAxis

_WIDTH, _HEIGHT = 64, 11
_BOTH = "="  # where two curves have the same place


def curves_text(
    curves: Mapping[str, Sequence[tuple[float, float]]], levels: Mapping[str, float], title: str
) -> list[str]:
    """Return curves over a logarithmic axis as lines of text.

    curves : points (x, y) by a name, of which the first letter is drawn, at least one; x is positive and
    rises, y is positive and holds until the next. levels : values that hold everywhere, by a name, drawn as
    dashes. title : of the axes. What is more than twice the largest end is drawn at the upper edge.
    """
    ends = [points[-1][1] for points in curves.values()] + list(levels.values())
    values = [y for points in curves.values() for _, y in points] + list(levels.values())
    low = min(values)
    high = max(min(max(values), 2 * max(ends)), 1.01 * low)
    first, last = (end(x for points in curves.values() for x, _ in points) for end in (min, max))
    across, up = LogAxis(first, max(last, first + 1), 0, _WIDTH - 1), LinearAxis(low, high, _HEIGHT - 1, 0)
    lines = [[" "] * _WIDTH for _ in range(_HEIGHT)]
    for y in levels.values():
        lines[_row(up, y)] = ["-"] * _WIDTH
    for name, points in reversed(list(curves.items())):
        for column in range(round(across(points[0][0])), _WIDTH):
            known = [y for x, y in points if round(across(x)) <= column]
            line = lines[_row(up, known[-1])]
            line[column] = name[0] if line[column] in " -" else _BOTH
    drawn = [f"{_label(place, high, low):>7} |{''.join(line)}" for place, line in enumerate(lines)]
    named = [f"{name[0]} {name}" for name in curves] + [f"- {name}" for name in levels]
    named += [f"{_BOTH} the same"] if any(_BOTH in line for line in lines) else []
    return [title, *drawn, f"{'':7} +{'-' * _WIDTH}", f"{'':9}{_ticks(across)}", f"{'':9}{'; '.join(named)}"]


def _ticks(across: LogAxis) -> str:
    """The ends of the axis, and the powers of ten that have a place between them.

    >>> _ticks(LogAxis(5, 20_000, 0, 40)).rstrip()
    '5  10         100         1,000         20,000'
    """
    line = [" "] * _WIDTH
    for tick in (across.low, across.high, *across.ticks()):
        text = f"{tick:,.0f}"
        begin = min(round(across(tick)), _WIDTH - len(text))
        if not "".join(line[max(begin - 1, 0) : begin + len(text) + 1]).strip():
            line[begin : begin + len(text)] = text
    return "".join(line)


def _row(up: LinearAxis, value: float) -> int:
    return min(max(round(up(value)), 0), _HEIGHT - 1) if math.isfinite(value) else 0


def _label(place: int, high: float, low: float) -> str:
    if place % 5:
        return ""
    return f"{high + (low - high) * place / (_HEIGHT - 1):.{2 if high - low < 1 else 1}f}"
