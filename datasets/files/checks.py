"""Validate a data frame against its column schema: typed values, and one fault per cell that does not fit."""

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from trainlaw.datasets.files.columns import MAX_TEXT_LENGTH, Column
from trainlaw.datasets.files.constants import constant
from trainlaw.datasets.files.faults import Fault
from trainlaw.formulas.errors import TrainlawError

# Faults of one kind listed per column: a million equal lines help nobody.
MAX_FAULTS = 20
_EMPTY = ", got an empty cell"


def typed_frame(frame: pd.DataFrame, columns: Iterable[Column]) -> tuple[pd.DataFrame, list[Fault]]:
    """Return the known columns of `frame` with numbers as numbers, and a fault per cell that is not one."""
    faults: list[Fault] = []
    typed: dict[str, pd.Series] = {}
    for column in columns:
        if column.name not in frame:
            continue
        values = frame[column.name]
        if column.kind == "text":
            is_text = pd.api.types.infer_dtype(values, skipna=True) in ("string", "empty")
            typed[column.name] = values if is_text else values.astype(object).map(str, na_action="ignore")
            continue
        numbers = _numbers(values)
        faults += _faults(column, values, numbers.isna().to_numpy() & values.notna().to_numpy())
        typed[column.name] = numbers
    return pd.DataFrame(typed, index=frame.index, copy=False), faults


def _numbers(values: pd.Series) -> pd.Series:
    """Return the values as float64, nan where a value is not a number."""
    try:
        return pd.to_numeric(values, errors="coerce").astype(np.float64)
    except (OverflowError, TypeError, ValueError):
        # Whole numbers of hundreds of digits, dates and lists make pandas raise.
        return values.map(_number).astype(np.float64)


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (OverflowError, TypeError, ValueError):
        return np.nan


def value_faults(frame: pd.DataFrame, columns: Iterable[Column]) -> list[Fault]:
    """Return a fault per cell of the typed `frame` that is missing or outside its column's values."""
    faults: list[Fault] = []
    for column in columns:
        if column.name in frame:
            values = frame[column.name]
            empty = values.isna().to_numpy()
            faults += _faults(column, values, ~_fits(values, column) & ~empty)
            if not column.may_be_empty:
                faults += _faults(column, values, empty)
    return faults


def known_names(texts: pd.Series, known: Callable[[str], str], faults: list[Fault]) -> pd.Series:
    """Return canonical names, empty cells as they are; append to `faults` one fault per unknown name.

    known : returns the canonical name of a text, or raises TrainlawError with advice.
    """
    codes, different = pd.factorize(texts)
    # One more than there are texts: an empty cell has the code -1 and stays empty.
    ours = np.full(len(different) + 1, None, dtype=object)
    for code, text in enumerate(different):
        try:
            ours[code] = known(str(text))
        except TrainlawError as error:
            row = int(np.flatnonzero(codes == code)[0]) + 1
            advice = str(error).partition(": ")[2]
            faults.append(Fault(row, str(texts.name), text, f"a known name ({advice})"))
            # Near names are searched one by one: a million unknown names would take hours.
            if len(faults) > MAX_FAULTS:
                break
    if len(different) == 1 and codes.min(initial=0) == 0:
        return constant(ours[0], texts.index)
    return pd.Series(ours[codes], index=texts.index)


def _fits(values: pd.Series, column: Column) -> NDArray[np.bool_]:
    if column.kind != "text":
        numbers = values.to_numpy()
        inside = (numbers >= column.low) & (numbers <= column.high)
        return inside & (numbers == np.floor(numbers)) if column.kind == "integer" else inside
    codes, texts = pd.factorize(values)
    fits = np.array(
        [_is_text(text) and (not column.allowed or text in column.allowed) for text in texts], bool
    )
    # Empty cells have the code -1; whether they may be is another check.
    return np.append(fits, True)[codes]


# Also in full width, which spreadsheets in Japanese and Chinese read alike.
_FORMULA_STARTS = ("", *"=+-@\uff1d\uff0b\uff0d\uff20")


def _is_text(value: object) -> bool:
    # A spreadsheet that opens the table later would run a cell with such a beginning as a formula.
    text = str(value)
    return 0 < len(text) <= MAX_TEXT_LENGTH and text.isprintable() and text.strip()[:1] not in _FORMULA_STARTS


def _faults(column: Column, cells: pd.Series, are_wrong: NDArray[np.bool_]) -> list[Fault]:
    # Most columns have no fault, and taking no row out of a series takes ten times as long as this question.
    if not are_wrong.any():
        return []
    values = cells[are_wrong]
    listed = [
        Fault(row + 1, column.name, None if empty else value, f"{column.expected}{_EMPTY if empty else ''}")
        for row, value, empty in zip(
            values.index[:MAX_FAULTS].tolist(), values.iloc[:MAX_FAULTS], values.isna(), strict=False
        )
    ]
    if len(values) > MAX_FAULTS:
        listed.append(Fault(None, column.name, None, f"{column.expected}; more such rows follow"))
    return listed
