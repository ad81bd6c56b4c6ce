"""The drawing of how a search went: held-out error over the formulas tried, and when terms entered."""

from collections.abc import Sequence

from trainlaw.app.studies.evolution import Evolution, Lane, changes_of, lanes_of
from trainlaw.app.text import svg
from trainlaw.validate.baselines import NO_SEARCH, RANDOM_SEARCH
from trainlaw.validate.result import OURS

_LEFT, _RIGHT = 136.0, 386.0
_TOP, _BOTTOM = 16.0, 156.0  # of the curves
_LANE = 13.0
_LETTERS = 24  # of a name to the left of an axis
#: Names of the curves, and their CSS classes, in the order in which they are drawn.
CURVES = {
    NO_SEARCH: ("no search", "c-none"),
    OURS: ("evolved", "c-evolved"),
    RANDOM_SEARCH: ("random search", "c-random"),
}
STYLE = (
    ".c-evolved{stroke:#c2410c;stroke-width:2;fill:none}.c-random{stroke:#1d4ed8;stroke-width:1.5;fill:none}"
    ".c-none{stroke:#60666d;stroke-width:1;stroke-dasharray:4 3;fill:none}"
    ".lane{fill:#c2410c;fill-opacity:.75}.lane-left{fill:#60666d;fill-opacity:.35}.lane-mark{fill:#1c2024}"
)


def evolution_plot(evolution: Evolution) -> str:
    """Return the drawing as SVG: curves, and below a bar for each amount that the search added or changed.

    Amounts that were in the first formula and never changed have no bar.
    """
    lanes = [lane for lane in lanes_of(evolution) if _is_found(lane, evolution.steps[0].tried)]
    counts = [n for points in evolution.curves.values() for n, _ in points]
    last = max(*counts, *(step.tried for step in evolution.steps), 2)
    across = svg.LogAxis(1, last, _LEFT, _RIGHT)
    bottom = _BOTTOM + (18 + _LANE * len(lanes) if lanes else 0)
    parts = [*_grid(across, bottom), *_curves(evolution, across)]
    for place, lane in enumerate(lanes):
        parts += _lane(lane, across, _BOTTOM + 14 + _LANE * (place + 0.5))
    parts.append(svg.text(262, bottom + 28, "formulas tried", "middle"))
    return svg.drawing(bottom + 36, parts, "Held-out error over the formulas tried, and when terms entered")


def step_rows(evolution: Evolution) -> list[tuple[str, str]]:
    """Return the changes of each step, by the number of formulas tried until then."""
    first, *later = evolution.steps
    begun = f"{len(first.entered)} terms to begin with"
    rows = [(f"{step.tried:,}", "; ".join(changes_of(step, evolution.amounts))) for step in later]
    return [(f"{first.tried:,}", begun), *rows]


def _is_found(lane: Lane, first: int) -> bool:
    return lane.spans[0][0] > first or bool(lane.changes) or not lane.is_delivered


def _grid(across: svg.LogAxis, bottom: float) -> list[str]:
    parts = []
    for tick in across.ticks():
        parts.append(svg.line(across(tick), _TOP, across(tick), bottom, "grid"))
        parts.append(svg.text(across(tick), bottom + 13, f"{tick:,.0f}", "middle", "tick"))
    return parts


def _curves(evolution: Evolution, across: svg.LogAxis) -> list[str]:
    values = [error for points in evolution.curves.values() for _, error in points]
    ends = [points[-1][1] for points in evolution.curves.values()]
    low = min(values)
    # A law that fits exactly has no error, and an axis needs a length.
    high = max(min(max(values), 2 * max(ends)), 1.01 * low) or 1.0
    up, parts = svg.LinearAxis(low, high, _BOTTOM - 6, _TOP + 6), list[str]()
    digits = 2 if high - low < 1 else 1
    for tick in up.ticks():
        parts.append(svg.line(_LEFT, up(tick), _RIGHT, up(tick), "grid"))
        parts.append(svg.text(_LEFT - 5, up(tick) + 3.5, f"{tick:.{digits}f} %", "end", "tick"))
    for name, (_, kind) in CURVES.items():
        points = evolution.curves.get(name, ())
        parts += [svg.path(_stairs(points, across, up, high), kind)] if points else []
    return [*parts, *_legend(evolution)]


def _legend(evolution: Evolution) -> list[str]:
    parts, left = list[str](), _LEFT
    for title, kind in (named for name, named in CURVES.items() if name in evolution.curves):
        parts += [
            svg.path([(left, 6), (left + 14, 6)], kind),
            svg.text(left + 18, 9.5, title, "start", "tick"),
        ]
        left += 30 + 6 * len(title)
    return parts


def _stairs(
    points: Sequence[tuple[int, float]], across: svg.LogAxis, up: svg.LinearAxis, high: float
) -> list[tuple[float, float]]:
    """The corners of a curve of which each value holds until the next, and the last to the end."""
    corners = list[tuple[float, float]]()
    for n, error in points:
        corners += [(across(n), corners[-1][1])] if corners else []
        corners.append((across(n), up(min(error, high))))
    return [*corners, (_RIGHT, corners[-1][1])]


def _lane(lane: Lane, across: svg.LogAxis, height: float) -> list[str]:
    name = lane.name if len(lane.name) <= _LETTERS else f"{lane.name[: _LETTERS - 1]}…"
    parts = [svg.text(_LEFT - 5, height + 3.5, name, "end", "tick")]
    for begin, end in lane.spans:
        stop = _RIGHT if end is None else across(end)
        said = f"{lane.name}: from formula {begin:,} {'on' if end is None else f'to {end:,}'}"
        size = max(stop - across(begin), 1.5), _LANE - 5
        kind = "lane" if end is None else "lane-left"
        parts.append(svg.box((across(begin), height - size[1] / 2), size, kind, said))
    for n, factors in lane.changes:
        said = f"{lane.name}, formula {n:,}: times {', '.join(factors) or 1}"
        parts.append(svg.circle(across(n), height, 2.2, "lane-mark", said))
    return parts
