"""Columns of times whose headings say what the times are of."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from trainlaw.datasets.spreadsheets.answers import Dialogue
from trainlaw.datasets.spreadsheets.headings import BATCHES, MEASURES, read_heading, without_unit
from trainlaw.datasets.spreadsheets.layout import SheetTable, is_measured
from trainlaw.datasets.spreadsheets.names import Names
from trainlaw.datasets.spreadsheets.quantities import TimeUnit
from trainlaw.datasets.spreadsheets.values import SPELLINGS, precision_of

#: What --columns-are takes: what the headings of columns of times name.
PIVOTS = ("gpu", "cnn", "batch", "precision", "n_gpus", "layout", "compilation", "step")
_COUNTED: Mapping[str, re.Pattern[str]] = {
    "batch": re.compile(r"(?:(?:mini-?)?batch(?:[\s_-]*(?:size|größe))?|bs|bsz|b)?[\s_=:]*(\d{1,5})", re.I),
    "n_gpus": re.compile(r"(\d{1,4})\s*[x\u00d7]?\s*(?:gpus?)?", re.IGNORECASE),
    "step": re.compile(r"(?:(?:steps?|iter\w*|schritt|run|rep\w*|#|t)[\s_.#-]*)?(\d{1,6})", re.IGNORECASE),
}


@dataclass(frozen=True)
class ValueColumn:
    """A column whose heading says what its times are of: texts by our column, and the unit."""

    heading: str
    said: Mapping[str, str]
    unit: TimeUnit | None
    target: str


def value_columns(table: SheetTable, kinds: Sequence[str], dialogue: Dialogue) -> list[ValueColumn]:
    """Return the columns whose headings say each kind and nothing else but a measure."""
    found: dict[tuple[str, ...], ValueColumn] = {}
    taken = (*dialogue.answers.ignored, *dialogue.answers.columns.values())
    for heading, parts in zip(table.headings, table.parts, strict=True):
        if heading in taken or not kinds:
            continue
        said, rest = _split(parts, kinds, dialogue)
        if said is None or not any(map(is_measured, table.cells[heading])):
            continue
        meaning = read_heading(rest)
        plain = (*MEASURES, *kinds, *(BATCHES if "batch" in kinds else ()))
        if not rest or meaning.target in plain:
            # Of a time and a throughput of the same runs, the first is read.
            found.setdefault(tuple(said.values()), ValueColumn(heading, said, meaning.unit, meaning.target))
    return list(found.values())


def _split(
    parts: Sequence[str], kinds: Sequence[str], dialogue: Dialogue
) -> tuple[dict[str, str] | None, str]:
    """Return what the lines or words of a heading say of each kind, None where they do not, and the rest."""
    for order in permutations(kinds):
        said, rest = dict[str, str](), list(parts)
        for kind in order:
            pairs = ((place, _taken(kind, part, dialogue)) for place, part in enumerate(rest))
            place, pair = next(((own, pair) for own, pair in pairs if pair), (0, None))
            if pair is not None:
                said[kind], rest[place] = pair
        if len(said) == len(kinds):
            return {kind: said[kind] for kind in kinds}, " ".join(filter(None, rest))
    return None, ""


def _taken(kind: str, text: str, dialogue: Dialogue) -> tuple[str, str] | None:
    """Return the longest words of a text at its beginning or end that say a kind, and the others."""
    if (kind, text) in dialogue.answers.values or (text and _says(kind, text, dialogue.names)):
        return text, ""
    words = re.sub(r"[()\[\],;]", " ", text).split()
    for length in range(len(words) - 1, 0, -1):
        for said, rest in ((words[:length], words[length:]), (words[-length:], words[:-length])):
            if _says(kind, " ".join(said), dialogue.names):
                return " ".join(said), " ".join(rest)
    return None


def _says(kind: str, text: str, names: Names) -> bool:
    if kind in _COUNTED:
        return _COUNTED[kind].fullmatch(text.strip()) is not None
    if kind in SPELLINGS and kind != "precision":
        return text.strip().lower() in SPELLINGS[kind]
    precision, is_whole = precision_of(text)
    if kind == "precision":
        return precision is not None and is_whole and without_unit(text)[1] is None
    return precision is None and without_unit(text)[1] is None and names.is_name(kind, text)


def number_in(kind: str, text: str) -> str:
    """Return the number in a heading such as "bs 64", which is its only one.

    >>> number_in("batch", "bs=64"), number_in("gpu", "T4")
    ('64', 'T4')
    """
    match = _COUNTED[kind].fullmatch(text.strip()) if kind in _COUNTED else None
    return match[1] if match else text


def likely_pivot(table: SheetTable, dialogue: Dialogue) -> tuple[str, ...]:
    """Return the kinds that headings of columns of numbers name, () where they name none."""
    choices = [kinds for size in (1, 2, 3) for kinds in combinations(PIVOTS[:5], size)]
    numbers = [len(value_columns(table, kinds, dialogue)) for kinds in choices]
    return choices[numbers.index(max(numbers))] if any(numbers) else ()
