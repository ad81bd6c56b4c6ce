"""The few SVG shapes of the plots; colours come from a style sheet by CSS class."""

import html
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 400.0  # user units; at a phone's width one unit is about one pixel
_LINE, _SMALL_LINE = 76, 96  # characters that fit into the width


def escape(text: object) -> str:
    """Return text that is inert inside HTML and SVG, in elements and in quoted attributes."""
    return html.escape(str(text), quote=True)


@dataclass(frozen=True)
class Axis:
    """An axis from data to user units.

    low, high : data range, low < high; start, end : the same two points in user units.
    """

    low: float
    high: float
    start: float
    end: float


class LogAxis(Axis):
    """A logarithmic axis; its data range is positive."""

    def __call__(self, value: float) -> float:
        """Return the position of a positive value, in user units; values outside are clipped to the range."""
        clipped = min(max(value, self.low), self.high)
        share = math.log(clipped / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, mantissas: Sequence[float] = (1.0,)) -> list[float]:
        """Return round values inside the range: each mantissa at each power of ten."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        candidates = (mantissa * 10.0**power for power in powers for mantissa in mantissas)
        # A tick on an end of the axis must survive rounding.
        return [value for value in candidates if self.low * 0.999 <= value <= self.high * 1.001]


class LinearAxis(Axis):
    """A linear axis."""

    def __call__(self, value: float) -> float:
        """Return the position of a value, in user units."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, wanted: int = 5) -> list[float]:
        """Return about `wanted` round values inside the range."""
        raw = (self.high - self.low) / wanted
        power = 10.0 ** math.floor(math.log10(raw))
        step = min((m * power for m in (1, 2, 5, 10)), key=lambda size: abs(size - raw))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [index * step for index in range(first, last + 1)]


def drawing(height: float, parts: Sequence[str], title: str) -> str:
    """Return an SVG element as wide as its container; `height` in user units, `title` for screen readers."""
    head = f'<svg viewBox="0 0 {WIDTH:g} {height:g}" role="img" aria-label="{escape(title)}">'
    return "\n".join([head, *parts, "</svg>"])


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """Return a straight line between two points in user units, styled by the class `kind`."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def text(x: float, y: float, content: str, anchor: str = "start", kind: str = "label") -> str:
    """Return a text whose base line begins, is centred or ends at a point in user units."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(content)}</text>'


def shortened(label: str, most: int) -> str:
    """Return a label of at most `most` characters; the hint of what it names has the whole one."""
    return label if len(label) <= most else f"{label[: most - 1]}…"


def heading(content: str) -> list[str]:
    """Return a title above a plot that begins 28 units below the top: one line, or several small ones."""
    if len(content) <= _LINE:
        return [text(8, 14, content)]
    lines = textwrap.wrap(content, _SMALL_LINE)
    return [text(8, 9 + 9 * place, each, "start", "tick") for place, each in enumerate(lines[:2])]


def dots(points: Sequence[tuple[float, float]], kind: str, title: str, hue: int | None = None) -> str:
    """Return many dots as one path of strokes of zero length, which keeps thousands of points small.

    points : (x, y) in user units. kind : class that gives colour and width. title : tooltip.
    hue : angle of the colour in degrees, for classes that use it, else None.
    """
    path = "".join(f"M{_short(x)} {_short(y)}h0" for x, y in points)
    colour = "" if hue is None else f' style="--hue:{hue}"'
    return f'<path d="{path}" class="dots {kind}"{colour}><title>{escape(title)}</title></path>'


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def circle(x: float, y: float, radius: float, kind: str, title: str) -> str:
    """Return a circle at a point in user units, with a tooltip."""
    place = f'cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"'
    return f'<circle {place} class="{kind}"><title>{escape(title)}</title></circle>'


def box(corner: tuple[float, float], size: tuple[float, float], kind: str, title: str) -> str:
    """Return a rectangle by its upper left corner and its size in user units; `title` is its tooltip."""
    place = f'x="{corner[0]:.2f}" y="{corner[1]:.2f}" width="{size[0]:.2f}" height="{size[1]:.2f}"'
    return f'<rect {place} class="{kind}"><title>{escape(title)}</title></rect>'


def path(points: Sequence[tuple[float, float]], kind: str) -> str:
    """Return a line through points in user units, styled by the class `kind`."""
    return f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" class="{kind}"/>'


def standalone(shape: str, style: str) -> str:
    """Return a `drawing` as a self-contained file, with a style sheet and a background.

    >>> standalone(drawing(10, [], "empty"), "")[:40]
    '<svg xmlns="http://www.w3.org/2000/svg" '
    """
    head, _, rest = shape.partition(">")
    head = head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg" width="960"', 1)
    ground = '<rect width="100%" height="100%" class="ground"/>'
    return f"{head}>\n<style>{FILE_STYLE}{style}</style>\n{ground}{rest}\n"


FILE_STYLE = (
    "text{font-family:system-ui,sans-serif;fill:#1b1f24}.ground{fill:#fff}.label{font-size:9px}"
    ".tick{font-size:7.5px;fill:#57606a}.grid{stroke:#d4d9de;stroke-width:.6}"
)
