"""Stopping rules: repeat until times have settled, then until the median is known well enough."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, inf, sqrt
from statistics import median

# Two-sided 95 % of the normal distribution: the order statistics of a median are binomial, p = 1/2.
_NORMAL_95 = 1.96
_WINDOW = 3
_SETTLED = 0.05


def median_interval(times: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the median of `times`, distribution-free; (-inf, inf) below six.

    Its ends are order statistics, number (n + 1)/2 - 0.98 sqrt(n) from below and from above: Conover,
    Practical Nonparametric Statistics, section 3.2.

    >>> median_interval([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    (2, 9)
    """
    count = len(times)
    if count < 6:
        # Even the range of five values covers the median with a probability of only 93.75 %.
        return -inf, inf
    rank = floor((count + 1) / 2 - _NORMAL_95 * sqrt(count) / 2)
    ordered = sorted(times)
    return ordered[rank - 1], ordered[count - rank]


def relative_interval(times: Sequence[float]) -> float:
    """Return the width of the 95 % interval of the median, as a share of the median.

    >>> relative_interval([1.0] * 6)
    0.0
    """
    low, high = median_interval(times)
    return (high - low) / median(times) if times else inf


def is_settled(times: Sequence[float]) -> bool:
    """Return whether the last three times are, in the median, within 5 % of the three before them.

    >>> is_settled([9.0, 3.0, 2.0, 1.0, 1.0, 1.0]), is_settled([1.01, 1.0, 1.0, 1.0, 1.0, 1.0])
    (False, True)
    """
    if len(times) < 2 * _WINDOW:
        return False
    before, after = median(times[-2 * _WINDOW : -_WINDOW]), median(times[-_WINDOW:])
    return abs(before - after) <= _SETTLED * after


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """When to stop repeating.

    `interval` is the target width of the 95 % interval of the median, as a share of the median;
    `limit_seconds` the longest time for warm-up and repeats of a configuration, `least` and `most` bound the
    repeats.
    """

    interval: float = 0.02
    limit_seconds: float = 10.0
    least: int = 6
    most: int = 1000
    warm_up_share: float = 0.3
    most_warm_up: int = 50

    def is_warm(self, times: Sequence[float], elapsed_s: float) -> bool:
        """Return whether the warm-up iterations (seconds each) suffice; at least two are made."""
        if len(times) < 2:
            return False
        late = elapsed_s >= self.warm_up_share * self.limit_seconds
        return late or len(times) >= self.most_warm_up or is_settled(times)

    def is_enough(self, times: Sequence[float], elapsed_s: float) -> bool:
        """Return whether the repeats (seconds each) suffice; three are made however long they take."""
        if len(times) < 3:
            return False
        if elapsed_s >= self.limit_seconds or len(times) >= self.most:
            return True
        return len(times) >= self.least and relative_interval(times) <= self.interval
