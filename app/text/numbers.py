"""Numbers for readers: times, counts and shares with their units."""

import math
from collections.abc import Callable, Sequence

_WIDE = 1000  # the ends of a range that differ by a larger factor have a unit each
_Steps = Sequence[tuple[float, float, str]]
# Units by the least number, and their size.
_SECONDS: _Steps = ((1.0, 1.0, "s"), (1e-3, 1e-3, "ms"), (0.0, 1e-6, "µs"))
_HOURS: _Steps = ((100, 24, "d"), (1, 1, "h"), (1 / 60, 1 / 60, "min"), (0.0, 1 / 3600, "s"))
_COUNTS: _Steps = (
    *(
        (size, size, prefix)
        for size, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
    ),
    (0.0, 1.0, ""),
)


def _step(value: float, steps: _Steps) -> tuple[float, str]:
    """Return size and name of the unit in which a number is shown."""
    return next((size, unit) for least, size, unit in steps if abs(value) >= least)


def show_seconds(seconds: float) -> str:
    """Return a time with three significant digits and a fitting unit; `seconds` in s.

    >>> show_seconds(0.1234567), show_seconds(12.3456), show_seconds(float("nan"))
    ('123 ms', '12.3 s', 'not defined')
    """
    if not math.isfinite(seconds):
        return "not defined"
    size, unit = _step(seconds, _SECONDS)
    return f"{show_number(seconds / size)} {unit}"


def show_seconds_range(low: float, high: float) -> str:
    """Return two times, in s, in the unit of their geometric mean: for an interval, that of the prediction.

    >>> show_seconds_range(0.8, 1.25), show_seconds_range(0.8, 1.2), show_seconds_range(2e-5, 1.25)
    ('0.8 to 1.25 s', '800 to 1,200 ms', '20 µs to 1.25 s')
    """
    return _range(low, high, show_seconds, _SECONDS)


def difference_text(ratio: float) -> str:
    """Return by how much a time is longer or shorter than another one, from their ratio.

    >>> difference_text(1.08), difference_text(0.97), difference_text(1.001)
    ('8 % longer', '3 % shorter', 'equal')
    """
    percent = int(100 * abs(ratio - 1) + 0.5)
    return f"{show_number(percent)} % {'longer' if ratio > 1 else 'shorter'}" if percent else "equal"


def show_hours(hours: float | None) -> str:
    """Return a long time in seconds below a minute, minutes below an hour, hours below 100, else days.

    It has three significant digits; None is unknown.

    >>> show_hours(12.345), show_hours(240.0), show_hours(0.5), show_hours(0.005), show_hours(None)
    ('12.3 h', '10 d', '30 min', '18 s', '-')
    """
    if hours is None or not math.isfinite(hours):
        return "-"
    size, unit = _step(hours, _HOURS)
    return f"{show_number(hours / size)} {unit}"


def show_hours_range(low: float | None, high: float | None) -> str:
    """Return two long times in the unit of their geometric mean; a dash where one is unknown.

    >>> show_hours_range(66.4, 124.3), show_hours_range(96, 240), show_hours_range(None, None)
    ('66.4 to 124 h', '4 to 10 d', '-')
    """
    if low is None or high is None or not math.isfinite(low + high):
        return "-"
    return _range(low, high, show_hours, _HOURS)


def _range(low: float, high: float, show: Callable[[float], str], steps: _Steps) -> str:
    if not (low > 0 and high <= _WIDE * low):
        return f"{show(low)} to {show(high)}"
    size, unit = _step(math.sqrt(low * high), steps)
    return f"{show_number(low / size)} to {show_number(high / size)} {unit}".rstrip()


def show_number(value: float, digits: int = 3) -> str:
    """Return a number with `digits` significant digits, without needless zeros or exponents.

    >>> show_number(1234.5), show_number(0.0123456), show_number(10.0), show_number(3e-9)
    ('1,234', '0.0123', '10', '3e-09')
    """
    if not math.isfinite(value):
        return str(value)
    # Beyond these, zeros are harder to count than an exponent is to read.
    if value and not 1e-4 <= abs(value) < 1e9:
        return f"{value:.{digits}g}"
    decimals = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
    text = f"{value:,.{max(decimals, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def show_with_prefix(value: float, unit: str, digits: int = 3) -> str:
    """Return a large number with `digits` significant digits and a decimal prefix before its unit.

    >>> show_with_prefix(1.556e12, "B/s"), show_with_prefix(48, "")
    ('1.56 TB/s', '48')
    """
    size, prefix = _step(value, _COUNTS)
    return f"{show_number(value / size, digits)} {prefix}{unit}".rstrip()


def show_count_range(low: float, high: float) -> str:
    """Return two large numbers with the decimal prefix of their geometric mean.

    >>> show_count_range(68.3e6, 589e6), show_count_range(7e8, 1.8e9), show_count_range(4e9, 4e9)
    ('68.3 to 589 M', '0.7 to 1.8 G', '4 G')
    """
    if low == high:
        return show_with_prefix(low, "")
    return _range(low, high, lambda value: show_with_prefix(value, ""), _COUNTS)


def show_percent(value: float) -> str:
    """Return a percentage with one decimal, or a dash for nan; `value` in percent.

    >>> show_percent(16.04), show_percent(float("nan"))
    ('16.0', '-')
    """
    return f"{value:.1f}" if math.isfinite(value) else "-"


def seconds_text(seconds: float) -> str:
    """Return a duration in minutes and seconds.

    >>> seconds_text(200.4)
    '3 min 20 s'
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
