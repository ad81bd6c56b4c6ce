"""Cells as users write them: precisions, yes and no, sizes, numbers with units, or no time at all."""

import datetime
import math
import re
from collections.abc import Mapping
from types import MappingProxyType

from trainlaw.datasets.files.numbers import number_of
from trainlaw.datasets.spreadsheets.quantities import TimeUnit, parse_unit
from trainlaw.datasets.spreadsheets.words import groups, meanings

#: The answer for a precision that was not chosen: what PyTorch uses for convolutions on the GPU.
DEFAULT_PRECISION = "default"
#: Answers for a precision.
PRECISIONS = ("fp32", "tf32", "amp", "fp16", "bf16", DEFAULT_PRECISION)
PRECISION_WORDS = meanings("value.precision")
#: Words of each column of the runs schema that holds one of a few texts.
SPELLINGS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "precision": PRECISION_WORDS,
        "layout": meanings("value.layout"),
        "compilation": meanings("value.compilation"),
        "stack": meanings("value.stack"),
    }
)
YES, NO, TRAINING = (frozenset(groups("answer")[name]) for name in ("yes", "no", "training"))
#: Data sets with the side of their images in px, their classes and the images of an epoch.
DATASETS: Mapping[str, tuple[int | None, int, int]] = MappingProxyType(
    {
        name: (None if size == "-" else int(size), int(classes), int(images))
        for name, (size, classes, images) in groups("dataset").items()
    }
)
_PHRASE_PRECISIONS = dict(pair.split("=") for pair in groups("phrase")["precision"])
_NEGATIONS = frozenset(groups("phrase")["negated"])
_HARMLESS = frozenset((*groups("phrase")["beside_precision"], *groups("phrase")["measure"]))
# In a text of more words, a negation is of the precision where it is this near.
_SHORT, _NEAR = 5, 2
_TOKEN = re.compile(r"w/o|[^\W_]+(?:[_+][^\W_]+)*|[^\s\w.,;:/|()\[\]{}=+*_-]")
_UNMEASURED = re.compile(
    r"[-\u2013\u2014?.x/]+|n\.?/?\s?a\.?|k\.?a\.?|nan|null|none|tbd|todo|missing|not run|timeout|"
    r"skip(?:ped)?|(?:cuda )?oom|.*out of memory.*|fail(?:ed)?|err(?:or)?|crash(?:ed)?|"
    r"#(?:n/a|nv|div/0!|value!|ref!|wert!|bezug!)",
    re.IGNORECASE,
)
_SIZE = re.compile(
    r"(?:3\s*[x\u00d7*,]\s*)?(\d{1,5})\s*[x\u00d7*,]\s*(\d{1,5})(?:\s*[x\u00d7*,]\s*3)?\s*(?:px|pixels?)?",
    re.I,
)
_QUANTITY = re.compile(
    r"([-+]?[\d.,'\u202f ]*\d(?:e[-+]?\d+)?)\s*(k)?\s*(?:(?:±|\+/-|\+-)\s*[\d.,]+)?\s*(\D.*)?", re.I
)
# Most cells are such numbers, and looking for units and marks takes longer than reading them.
_PLAIN = re.compile(r"\d{1,12}(?:\.\d{1,12})?", re.ASCII)
_COMPARED = re.compile(r"\s*\((?:[-+]?\s*[\d.,]+\s*(?:%|x|\u00d7)|baseline|reference|ref\.?)\)$", re.I)
_LETTERS = re.compile(
    r"(?:(\d{1,4})\s*h\s*)?(?:(\d{1,4})\s*m(?:in)?\s*)(?:(\d{1,2}(?:\.\d+)?)\s*s(?:ec)?)?", re.I
)
_CLOCK = re.compile(
    r"(?:(\d{1,4}):(?=\d{2}:))?(\d{1,4}):(\d{2}(?:[.,]\d+)?)(?:\s*(?:min|minutes|h|std)\.?)?", re.I
)


def is_unmeasured(cell: object) -> bool:
    """Return whether a cell says that there is no measurement: empty, "OOM", "n/a", an error of Excel."""
    return (
        cell is None
        or (isinstance(cell, float) and math.isnan(cell))
        or (isinstance(cell, str) and _UNMEASURED.fullmatch(cell.strip()) is not None)
    )


def yes_or_no(cell: object) -> bool | None:
    """Return whether a cell says yes, None where it says neither.

    >>> yes_or_no("ja"), yes_or_no(0), yes_or_no("fp16")
    (True, False, None)
    """
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    text = str(cell).strip().lower().replace("\ufe0f", "")
    return True if text in YES else False if text in NO else None


def precision_of(text: str) -> tuple[str | None, bool]:
    """Return the precision that a text names, and whether all its words are understood.

    A negated precision of 16 bits is the default one; where something else is negated, too, none is named.

    >>> precision_of("AMP off"), precision_of("fp16 (AMP)"), precision_of("no-amp"), precision_of("!amp")
    (('default', True), ('amp', True), ('default', True), ('default', True))
    >>> precision_of("tf32 disabled"), precision_of("not fp32 but AMP"), precision_of("DDP, fp16")
    (('fp32', True), (None, False), ('fp16', False))
    """
    plain = text.strip().lower().replace("\ufe0f", "")
    if plain in PRECISION_WORDS:
        return PRECISION_WORDS[plain], True
    tokens = _TOKEN.findall(plain.replace("-", " "))
    split = [
        part for token in tokens for part in ([token] if token in _PHRASE_PRECISIONS else token.split("_"))
    ]
    found = set(dict.fromkeys(_PHRASE_PRECISIONS[word] for word in split if word in _PHRASE_PRECISIONS))
    places = [place for place, word in enumerate(split) if word in _PHRASE_PRECISIONS]
    near = {place + step for place in places for step in range(-_NEAR, _NEAR + 1)}
    is_short = len(split) <= _SHORT
    negated = any(word in _NEGATIONS and (is_short or place in near) for place, word in enumerate(split))
    known = all(word in _PHRASE_PRECISIONS or word in _NEGATIONS | _HARMLESS | YES for word in split)
    if negated:
        if len(found) != 1 or (found == {"fp32"}):
            return None, False
        return ("fp32" if found == {"tf32"} else DEFAULT_PRECISION), known
    if "amp" in found:
        # "fp16 (AMP)" is amp, "fp32/fp16 mixed" too, "bf16 (AMP)" is bf16.
        found = {"bf16"} if "bf16" in found else found - {"fp16"}
        found -= {"fp32"} if "fp16" in split or "float16" in split else set()
    return (found.pop(), known) if len(found) == 1 else (None, False)


def size_px(cell: object, decimal: str) -> float:
    """Return the side of a square image in px, nan for any other text.

    >>> size_px("3x224x224", "."), size_px("224 px", "."), size_px("224x320", ".")
    (224.0, 224.0, nan)
    """
    if isinstance(cell, int | float):
        return float(cell)
    text = re.sub(r"[()\[\]²]", "", str(cell)).strip()
    if match := _SIZE.fullmatch(text):
        first, second = match.groups()
        return float(first) if first == second else math.nan
    return number_of(re.sub(r"\s*(?:px|pixels?|p)$", "", text, flags=re.IGNORECASE), decimal)


def quantity(cell: object, decimal: str) -> tuple[float, TimeUnit | None]:
    """Return the number in a cell and the unit written with it, None without one; nan where it is no number.

    A time of day that Excel made of a duration counts in seconds.

    >>> quantity("12,5 ms", ",")[0], quantity("1.2k img/s", ".")[1].text, quantity("soon", ".")[0]
    (12.5, 'images/s', nan)
    """
    if isinstance(cell, bool):
        return math.nan, None
    if isinstance(cell, int | float):
        return float(cell), None
    if decimal == "." and isinstance(cell, str) and _PLAIN.fullmatch(cell):
        return float(cell), None
    if (seconds := _clock_seconds(cell)) is not None:
        return seconds, TimeUnit("iteration", 1.0, False)
    # "132.5*" has a footnote, "~132" is rounded, and "132 ms (+5 %)" is compared with another one.
    text = _COMPARED.sub("", str(cell).strip().rstrip("*†‡§¹²³⁴ ").lstrip("~≈ "))
    text = re.sub(r"\s*\[\d\]$", "", text)
    number = number_of(text, decimal)
    return _with_unit(text, decimal) if math.isnan(number) else (number, None)


def _clock_seconds(cell: object) -> float | None:
    """Return the seconds of a duration, or of a text such as 0:01:30 or 1:30; None for another cell."""
    if isinstance(cell, datetime.timedelta):
        return cell.total_seconds()
    if isinstance(cell, datetime.time):
        return cell.hour * 3600.0 + cell.minute * 60.0 + cell.second + cell.microsecond * 1e-6
    text = str(cell).strip()
    letters = _LETTERS.fullmatch(text)
    match = _CLOCK.fullmatch(text) or (letters if letters and (letters[1] or letters[3]) else None)
    if match:
        hours, minutes, rest = match.groups()
        return int(hours or 0) * 3600.0 + int(minutes) * 60.0 + float((rest or "0").replace(",", "."))
    return None


def _with_unit(text: str, decimal: str) -> tuple[float, TimeUnit | None]:
    match = _QUANTITY.fullmatch(text) if len(text) < 80 else None
    if match is None:
        return math.nan, None
    number, thousands, rest = match.groups()
    unit = parse_unit(rest) if rest else None
    if rest and unit is None:
        return math.nan, None
    return number_of(number, decimal) * (1e3 if thousands else 1.0), unit


def year_of(cell: object) -> int | None:
    """Return the year of a date, a text with a date, or a year; None where there is none.

    >>> year_of("2023-05-01"), year_of("01.05.2023"), year_of(2021), year_of("May")
    (2023, 2023, 2021, None)
    """
    if isinstance(cell, datetime.date):
        return cell.year
    years = re.findall(r"(?<!\d)(20\d\d)(?!\d)", str(cell))
    return int(years[0]) if len(set(years)) == 1 else None
