"""The shapes that errors and provenance have in a formula's file, wherever they have entries that are used.

Other entries may be anything. A file may come from anyone, and whatever shows a formula relies on these.
"""

from collections.abc import Iterable
from math import inf

from trainlaw.formulas.errors import InputError, shown
from trainlaw.formulas.files.codec import (
    Codec,
    anything,
    every,
    finite_number,
    listed,
    optional,
    record,
    text,
    whole,
)


def _within(low: float, high: float, expected: str) -> Codec:
    def read(value: object, place: str) -> float:
        number = finite_number(value, place)
        if not low <= number <= high:
            raise InputError(f"expected {expected} as {place}, got {shown(value)}")
        return number

    return read


_SHARE, _FACTOR = _within(0, 1, "a share from 0 to 1"), optional(_within(1, inf, "a factor of at least 1"))


def _support(value: object, place: str) -> object:
    name, share = listed(anything, 2)(value, place)
    return [text(name, place), _SHARE(share, place)]


_NUMBER = optional(finite_number)
_TEXTS, _NUMBERS = listed(text), listed(finite_number)
_LINES = listed(record({"name": text, "rows": whole, "errors": every(_NUMBER)}, {"members": _TEXTS}))
#: Intervals by class, as `ClassIntervals` of trainlaw.validate has them.
BY_CLASS = record({"level": _SHARE, "factors": every(_FACTOR), "groups": every(whole)})
#: A joint range, as `JointRange` of trainlaw.validate has it.
JOINT_RANGE = record(
    {
        "names": _TEXTS,
        "floors": _NUMBERS,
        "centre": _NUMBERS,
        "whitening": listed(_NUMBERS),
        "limit": finite_number,
    }
)

ERRORS = record(
    {},
    {
        "protocol": text,
        "missing": _TEXTS,
        "estimators": _TEXTS,
        "interval": record({}, {"factor": _FACTOR, "coverage_percent": _NUMBER, "over": text}),
        "interval_by_class": BY_CLASS,
        "interval_of_new_generation": BY_CLASS,
        "summary": every(every(_NUMBER)),
        "summary_intervals": every(every(listed(_NUMBER, 2))),
        "joint_range": every(anything),
        "support": listed(_support),
        **dict.fromkeys(("gpu_group", "cnn_base", "precision", "generation", "layout"), _LINES),
    },
)
PROVENANCE = record(
    {},
    {
        **dict.fromkeys(("trainlaw_version", "table", "table_sha256", "method", "caution"), text),
        **dict.fromkeys(("precisions", "generations", "vendors", "algorithms"), _TEXTS),
        "calibrated": record({}, {"gpus": _TEXTS, "precisions": _TEXTS, "runs": whole}),
    },
)


def check_cases(cases: object, features: Iterable[str], keys: Iterable[str]) -> None:
    """Raise InputError where worked cases are no list of objects: a number per feature, a text per key."""
    needed = {**dict.fromkeys(features, finite_number), **dict.fromkeys(keys, text)}
    listed(record(needed, {"published_min": finite_number}))(cases, "cases")
