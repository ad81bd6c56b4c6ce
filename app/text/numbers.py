"""Numbers for readers: times, counts and shares with their units."""

import math

_TIME_STEPS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def show_seconds(seconds: float) -> str:
    """Return a time with three significant digits and a fitting unit; `seconds` in s.

    >>> show_seconds(0.1234567), show_seconds(12.3456), show_seconds(float("nan"))
    ('123 ms', '12.3 s', 'not defined')
    """
    if not math.isfinite(seconds):
        return "not defined"
    for size, unit in _TIME_STEPS:
        if abs(seconds) >= size:
            return f"{show_number(seconds / size)} {unit}"
    return f"{show_number(seconds / 1e-6)} µs"


def show_hours(hours: float | None) -> str:
    """Return a long time in hours, or days from 100 hours on, with three significant digits; None: unknown.

    >>> show_hours(12.345), show_hours(240.0), show_hours(None)
    ('12.3 h', '10 d', '-')
    """
    if hours is None or not math.isfinite(hours):
        return "-"
    return f"{show_number(hours)} h" if hours < 100 else f"{show_number(hours / 24)} d"


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
    for size, prefix in _PREFIXES:
        if abs(value) >= size:
            return f"{show_number(value / size, digits)} {prefix}{unit}".rstrip()
    return f"{show_number(value, digits)} {unit}".rstrip()


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
