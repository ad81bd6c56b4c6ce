"""Steps of a command that takes seconds: reported as text with the share of the work done before."""

from collections.abc import Callable

#: Called when a step begins, with its name and the share of the work done before it; 0 begins new work.
OnStep = Callable[[str, float], None]


def unseen(step: str, done: float) -> None:
    """Report a step to nobody."""


def part_of(on_step: OnStep, first: float, last: float) -> OnStep:
    """Return a report of the steps of a part of the work, which goes from `first` to `last`.

    >>> part_of(lambda step, done: print(step, done), 0.5, 1.0)("reading", 0.5)
    reading 0.75
    """
    return lambda step, done: on_step(step, first + done * (last - first))
