"""The shapes that errors and provenance have in a formula's file, wherever they have entries that are used.

Other entries may be anything. A file may come from anyone, and whatever shows a formula relies on these.
"""

from collections.abc import Callable, Iterable, Mapping

from trainlaw.formulas.errors import InputError, shown
from trainlaw.formulas.files.json_fields import finite_number

Check = Callable[[object, str], None]


def _text(value: object, place: str) -> None:
    if not isinstance(value, str):
        raise InputError(f"expected a text as {place}, got {shown(value)}")


def _whole(value: object, place: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(f"expected a whole number from 0 as {place}, got {shown(value)}")


def _number(value: object, place: str) -> None:
    if value is not None:
        finite_number(value, place)


def _filled_number(value: object, place: str) -> None:
    finite_number(value, place)


def _share(value: object, place: str) -> None:
    if not 0 <= finite_number(value, place) <= 1:
        raise InputError(f"expected a share from 0 to 1 as {place}, got {shown(value)}")


def _factor(value: object, place: str) -> None:
    if value is not None and finite_number(value, place) < 1:
        raise InputError(f"expected a factor of at least 1 as {place}, got {shown(value)}")


def _object(value: object, place: str) -> None:
    _every(lambda *_: None)(value, place)


def _list(check: Check, length: int | None = None) -> Check:
    def listed(value: object, place: str) -> None:
        if not isinstance(value, list) or length not in (None, len(value)):
            raise InputError(
                f"expected a list{f' of {length}' if length else ''} as {place}, got {shown(value)}"
            )
        for part in value:
            check(part, place)

    return listed


def _every(check: Check) -> Check:
    def each(value: object, place: str) -> None:
        for name, part in _entries(value, place):
            check(part, f"{place}, {shown(name)}")

    return each


def _record(needed: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    known = {**needed, **(optional or {})}

    def record(value: object, place: str) -> None:
        entries = dict(_entries(value, place))
        missing = [name for name in needed if name not in entries]
        if missing:
            raise InputError(f"expected the entry {missing[0]!r} in {place}, it is missing")
        for name, check in known.items():
            if name in entries:
                check(entries[name], f"{place}, {name}")

    return record


def _entries(value: object, place: str) -> Iterable[tuple[str, object]]:
    if not isinstance(value, dict):
        raise InputError(f"expected an object as {place}, got {shown(value)}")
    return value.items()


_TEXTS = _list(_text)
_LINES = _list(_record({"name": _text, "rows": _whole, "errors": _every(_number)}, {"members": _TEXTS}))
_BY_CLASS = _record({"level": _number, "factors": _every(_factor), "groups": _every(_whole)})

_SHARES = _list(_record({"features": _TEXTS, "share": _share, "amount_share": _share}))
_CHOSEN_AGAIN = _record({"resamples": _whole, "seeds": _whole, "terms": _SHARES})

_ERRORS = _record(
    {},
    {
        "protocol": _text,
        "missing": _TEXTS,
        "estimators": _TEXTS,
        "interval": _record({}, {"factor": _factor, "coverage_percent": _number, "over": _text}),
        "interval_by_class": _BY_CLASS,
        "interval_of_new_generation": _BY_CLASS,
        "summary": _every(_every(_number)),
        "summary_intervals": _every(_every(_list(_number, 2))),
        "joint_range": _object,
        "chosen_again": _CHOSEN_AGAIN,
        **dict.fromkeys(("gpu_group", "cnn_base", "precision", "generation", "layout"), _LINES),
    },
)
_PROVENANCE = _record(
    {},
    {
        **dict.fromkeys(("trainlaw_version", "table", "table_sha256", "method", "caution"), _text),
        **dict.fromkeys(("precisions", "generations", "vendors", "algorithms"), _TEXTS),
        "calibrated": _record({}, {"gpus": _TEXTS, "precisions": _TEXTS, "runs": _whole}),
    },
)


def check_stored_facts(errors: object, provenance: object) -> None:
    """Raise InputError where an entry of the errors or the provenance of a formula is of another shape."""
    _ERRORS(errors, "errors")
    _PROVENANCE(provenance, "provenance")


def check_cases(cases: object, features: Iterable[str], keys: Iterable[str]) -> None:
    """Raise InputError where worked cases are no list of objects: a number per feature, a text per key."""
    needed = {**dict.fromkeys(features, _filled_number), **dict.fromkeys(keys, _text)}
    _list(_record(needed, {"published_min": _filled_number}))(cases, "cases")
