"""Files of built-in formulas: written compactly, and compared with what is found again."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.formulas import Formula, constants
from trainlaw.formulas.files.text_files import write_text_atomically
from trainlaw.validate.error_table import MACRO
from trainlaw.validate.result import OURS

FOLDER = BUILT_IN.parent
# On another processor sums differ in the 16th digit, and the errors that follow in the fifth, those of
# formulas drawn at random by up to 0.0014 of themselves.
_LAST_DIGITS = 5e-3
# Facts of the making, not of the formula.
_IGNORED = frozenset({"/provenance/trainlaw_version", "/provenance/method"})


def compact_text(formula: Formula) -> str:
    """Return a formula as JSON with one line per entry of the file; `load_formula` reads it.

    >>> from trainlaw.formulas import load_formula
    >>> compact_text(load_formula(BUILT_IN)) == BUILT_IN.read_text(encoding="utf-8")
    True
    """
    entries = formula.to_json()
    lines = (
        f"{json.dumps(name)}: {json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(',', ':'))}"
        for name, value in entries.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write_formula(formula: Formula, path: Path) -> None:
    """Write a formula as `compact_text` has it, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomically(path, compact_text(formula))


def differences(old: Formula, new: Formula) -> list[str]:
    """Return the entries of two formulas' files that differ by more than the last digits, as paths."""
    return [path for path in _different(old.to_json(), new.to_json(), "", 0.0) if path not in _IGNORED]


def _different(old: Any, new: Any, path: str, scale: float) -> Iterator[str]:
    """scale : the largest number of the list with the number, whose rounding errors it may have."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in sorted(old.keys() | new.keys()):
            if name in old and name in new:
                yield from _different(old[name], new[name], f"{path}/{name}", scale)
            else:
                yield f"{path}/{name}"
    elif isinstance(old, list | tuple) and isinstance(new, list | tuple) and len(old) == len(new):
        scale = max(scale, *map(_size, old), 0.0)
        for place, (first, second) in enumerate(zip(old, new, strict=True)):
            yield from _different(first, second, f"{path}/{place}", scale)
    elif isinstance(old, int | float) and isinstance(new, int | float):
        if not math.isclose(old, new, rel_tol=_LAST_DIGITS, abs_tol=_LAST_DIGITS * scale):
            yield path
    elif old != new:
        yield path


def _size(value: object) -> float:
    return abs(value) if isinstance(value, int | float) else 0.0


def error_percent(formula: Formula) -> float:
    """Return the stated error of a formula's file, percent, mean over GPU groups; nan where it has none."""
    summary = formula.errors.get("summary", {}).get(OURS, {})
    return float(summary.get(MACRO, math.nan))


def short_description(formula: Formula) -> str:
    """Return number of constants and error, for a line of the report."""
    error = error_percent(formula)
    stated = "no error" if math.isnan(error) else f"{error:.2f} %"
    return f"{len(constants(formula.expression))} constants, {stated}"
