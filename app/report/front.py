"""Drawings of the front: held-out error by number of constants, and which terms the data support."""

import math
from collections.abc import Sequence

from trainlaw.app.models.front import LAW, SIZED_CONTROLS, FrontRow
from trainlaw.app.text import svg
from trainlaw.app.text.numbers import show_percent
from trainlaw.app.text.tables import Table, TableColumn
from trainlaw.validate.baselines import title_of
from trainlaw.validate.support import Support

_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, 390.0, 30.0, 230.0
_BAR, _NAMES = 12.0, 190.0  # height of a bar, and where bars begin, in user units
_MOST_BARS = 30
_LETTERS = 36  # of a name to the left of a bar
_LETTER = 6.2  # width of a letter in the legend, in user units, generously


def front_plot(rows: Sequence[FrontRow], link: str = "") -> str:
    """Return held-out errors by number of constants as SVG, axes from zero; the law is the last point.

    link : begins the target of the link on each formula, its number of constants ends it; "" for none.
    """
    controls = {
        name: [(row.constants, y) for row in rows if math.isfinite(y := row.control_percent(name))]
        for name in SIZED_CONTROLS
    }
    tops = [value for points in controls.values() for _, value in points]
    tops += [max(row.held_out_percent, row.interval[1]) for row in rows]
    across = svg.LinearAxis(0, 1.05 * max(row.constants for row in rows), _LEFT, _RIGHT)
    up = svg.LinearAxis(0, 1.05 * max(tops), _BOTTOM, _TOP)
    parts = _grid(across, up)
    for place, points in enumerate(filter(None, controls.values()), start=1):
        parts.append(svg.path([(across(x), up(y)) for x, y in points], f"control r{place}"))
    evolved = [row for row in rows if row.method != LAW]
    parts.append(svg.path([(across(row.constants), up(row.held_out_percent)) for row in evolved], "evolved"))
    parts += [_point(row, across, up, link) for row in rows]
    parts += _legend([name for name, points in controls.items() if points])
    parts.append(svg.text((_LEFT + _RIGHT) / 2, _BOTTOM + 28, "constants of the formula", "middle"))
    return svg.drawing(_BOTTOM + 36, parts, "Held-out error by number of constants, axes from zero")


def _grid(across: svg.LinearAxis, up: svg.LinearAxis) -> list[str]:
    parts = []
    for tick in up.ticks():
        parts.append(svg.line(_LEFT, up(tick), _RIGHT, up(tick), "grid"))
        parts.append(svg.text(_LEFT - 5, up(tick) + 3.5, f"{tick:g} %", "end", "tick"))
    for tick in across.ticks():
        parts.append(svg.text(across(tick), _BOTTOM + 13, f"{tick:g}", "middle", "tick"))
    return parts


def _point(row: FrontRow, across: svg.LinearAxis, up: svg.LinearAxis, link: str) -> str:
    """The dot of a formula with its interval, and its text as a hint."""
    x, (low, high) = across(row.constants), row.interval
    parts = [svg.line(x, up(low), x, up(high), "interval")] if math.isfinite(low) else []
    hint = f"{row.constants} constants, {show_percent(row.held_out_percent)} %: {row.formula.text()}"
    kind = "law" if row.method == LAW else "chosen"
    parts.append(svg.circle(x, up(row.held_out_percent), 5.0, kind, hint))
    drawn = "".join(parts)
    return f'<a href="#{svg.escape(link)}{row.constants}">{drawn}</a>' if link else drawn


def _legend(controls: Sequence[str]) -> list[str]:
    named = [
        ("evolved", "evolved"),
        *((title_of(name), f"control r{n + 1}") for n, name in enumerate(controls)),
    ]
    parts, left, up = list[str](), _LEFT, 8.0
    for title, kind in named:
        width = 22 + _LETTER * len(title)
        if left + width > svg.WIDTH:
            left, up = _LEFT, up + 12
        parts += [
            svg.path([(left, up), (left + 12, up)], kind),
            svg.text(left + 15, up + 3, title, "start", "tick"),
        ]
        left += width
    return parts


def support_plot(support: Sequence[Support]) -> str:
    """Return the shares of inclusion as SVG, a bar for each amount or factor, in their order."""
    shown = support[:_MOST_BARS]
    across, bottom = svg.LinearAxis(0, 100, _NAMES, _RIGHT - 10), 8 + _BAR * len(shown)
    parts = []
    for tick in (0, 25, 50, 75, 100):
        parts.append(svg.line(across(tick), 4, across(tick), bottom, "grid"))
        parts.append(svg.text(across(tick), bottom + 12, f"{tick} %", "middle", "tick"))
    for place, share in enumerate(shown):
        top, name = 6 + _BAR * place, share.name
        parts.append(svg.text(_NAMES - 5, top + 8, svg.shortened(name, _LETTERS), "end", "tick"))
        size = (max(across(100 * share.share) - _NAMES, 0.5), _BAR - 4)
        parts.append(svg.box((_NAMES, top), size, "share", f"{name}: {100 * share.share:.0f} %"))
    return svg.drawing(bottom + 20, parts, "Share of choices on resampled GPU groups with it")


def support_table(support: Sequence[Support]) -> Table:
    """Return the shares of inclusion as a table, in their order."""
    rows = [[share.name, f"{100 * share.share:.0f}"] for share in support]
    return Table.of(
        [TableColumn("amount or factor", "symbol"), TableColumn("share", "number", unit="%")], rows
    )
