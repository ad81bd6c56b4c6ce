"""Meaning of a column's heading by its words: a column of the runs schema, a measure, or nothing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from trainlaw.datasets.measurements.runs import RUN_COLUMNS
from trainlaw.datasets.spreadsheets.units import NO_UNIT, TimeUnit, parse_unit
from trainlaw.datasets.spreadsheets.words import groups, meanings

#: Columns of the runs schema.
SCHEMA = tuple(column.name for column in RUN_COLUMNS)
TIME, RATE = "time", "throughput"
#: A heading that is known and says nothing, and one of the time of something else.
IGNORED, OTHER_TIME = "ignored", "other time"
BATCHES = ("batch", "batch_per_gpu", "global_batch")
#: Begins the name of a column that says yes or no to one precision or layout.
FLAG = "flag:"

_PART = {name: frozenset(group) for name, group in groups("part").items()}
_FILLERS, _AVERAGE = _PART["filler"], _PART["average"]
_SPREAD = frozenset().union(*(_PART[name] for name in ("spread", "least", "greatest", "best", "worst")))
_EPOCH = frozenset(groups("counted")["epoch"]) | _PART["whole"]
_OTHER = _PART["other"] - _EPOCH
_PER_IMAGE = re.compile(r"(?:per|pro|/)[\s_]*(?:img|image|sample|example|bild|frame)")
_PER_GPU = re.compile(r"(?:per|pro|/|each)[\s_-]*(?:gpu|device|accelerator|die)|single[\s_-]gpu")
_OF_ALL = re.compile(r"\b(?:total|overall|aggregate|global|gesamt|all[\s_-]gpus)\b")
_LONGEST = 300  # characters; what is longer is no heading, and searching it takes long
# Money and percentages are no times.
_OTHER_UNIT = re.compile(r"^\s*[$€£]|[$€£]\s*/|/\s*[$€£]|%")
# What is no part of a heading: the form of a time, and which numbers are better.
_ASIDE = re.compile(
    r"[(\[]?\b[hm]+:[ms]+(?::s+)?\b[)\]]?|[,;:\s(]*\b(?:lower|higher|less|more) is better\b\)?|[↑↓]",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"[(\[{]([^)\]}]*)[)\]}]")
_NUMBER_OF = re.compile(r"#|\bno\.|\bnum(?:ber)?\b(?:\s+of\b)?|\bnum_|\bnr\.|\banzahl\b(?!\w)", re.IGNORECASE)


@dataclass(frozen=True)
class Meaning:
    """What a heading means.

    target : column of the runs schema or a name of this file, "" where none is known. unit : as the heading
    states it. is_weak : whether another column of the same target is more likely.
    """

    target: str
    unit: TimeUnit | None = None
    is_weak: bool = False


@lru_cache(maxsize=10_000)
def read_heading(text: str) -> Meaning:
    """Return what a heading means.

    >>> read_heading("Step time [ms]").unit.text, read_heading("Batch size (per GPU)").target
    ('ms', 'batch_per_gpu')
    >>> read_heading("train_samples_per_sec").target, read_heading("GPU util %").target
    ('throughput', 'ignored')
    """
    if text == "time_s" or text in SCHEMA:
        return Meaning(TIME if text == "time_s" else text, parse_unit("s") if text == "time_s" else None)
    if _OTHER_UNIT.search(text):
        return Meaning(IGNORED)
    found, words = _read_words(text), set(_words(text))
    is_forward = words & set(groups("phrase")["inference"]) and not words & set(groups("phrase")["training"])
    if is_forward and found.target != "mode":
        return Meaning(OTHER_TIME, found.unit)
    return found


def _read_words(text: str) -> Meaning:
    name, unit = without_unit(_ASIDE.sub(" ", text).rstrip("*†‡§ "))
    split, unit = _words(name), _specified(unit, name)
    said, measure = set(split), RATE if unit is not None and unit.is_rate else TIME
    plain = "".join(own for own in split if own not in _SPREAD | _OTHER | _AVERAGE | _EPOCH | {"per", "pro"})
    if unit is not None or _by_word().get(plain) in (TIME, RATE):
        # A time or throughput of something else, of its spread, or of all iterations.
        if _SPREAD & said:
            return Meaning(IGNORED, unit)
        if _OTHER & said or (measure == RATE and "epoch" in said):
            return Meaning(OTHER_TIME, unit)
        if measure == TIME and (_EPOCH & said or (unit is not None and unit.counted == "epoch")):
            return Meaning(TIME, replace(unit or NO_UNIT, counted="epoch"), is_weak=True)
    left_out = _AVERAGE if unit is None else _AVERAGE | _PART["scope"]
    joined = "".join(own for own in split if own not in left_out)
    target = _by_word().get(joined, "")
    if unit is None:
        return Meaning(target, None, joined in meanings("weak") and joined not in meanings("heading"))
    # "Batch (ms)" is the time of a batch where nothing else is a time.
    is_known = target or not joined or said <= _PART["around_units"]
    return Meaning(measure if is_known else "", unit, target not in (TIME, RATE, ""))


def bound_of(text: str) -> int:
    """Return -1 for the heading of the least of several numbers, 1 for that of the greatest, else 0.

    >>> bound_of("min (ms)"), bound_of("best img/s"), bound_of("best [ms]"), bound_of("std")
    (-1, 1, -1, 0)
    """
    name, unit = without_unit(text)
    said, is_rate = set(_words(name)), unit is not None and unit.is_rate
    low, high = ("worst", "best") if is_rate else ("best", "worst")
    return bool(said & (_PART["greatest"] | _PART[high])) - bool(said & (_PART["least"] | _PART[low]))


def without_unit(text: str) -> tuple[str, TimeUnit | None]:
    """Return a heading without the unit that it states in brackets, at its end or as a whole, and the unit.

    >>> without_unit("fp32 (img/s)")[0].strip(), without_unit("Tesla T4")
    ('fp32', ('Tesla T4', None))
    """
    if len(text) > _LONGEST:
        return text, None
    for bracket in _BRACKETS.finditer(text):
        if unit := parse_unit(bracket[1].strip().removeprefix("in ")):
            return text[: bracket.start()] + " " + text[bracket.end() :], unit
    tokens = [word for word in re.split(r"[\s_\-,:]+", text.strip()) if word]
    average = [word for word in tokens if word.lower() in _AVERAGE]
    plain = [word for word in tokens if word.lower() not in _FILLERS | _AVERAGE]
    for length in range(len(plain), 0, -1):
        # "time s" has a unit at its end, "ms per step" as a whole.
        for unit_words, rest in ((plain[-length:], plain[:-length]), (plain[:length], plain[length:])):
            if unit := parse_unit(" ".join(unit_words)):
                return " ".join([*rest, *average]), unit
    return text, None


def _specified(unit: TimeUnit | None, name: str) -> TimeUnit | None:
    """Return a unit with what the rest of its heading adds: per image, per GPU, of all GPUs."""
    if unit is None:
        return None
    if unit.counted == "iteration" and not unit.is_rate and _PER_IMAGE.search(name.lower()):
        unit = replace(unit, counted="image")
    if not unit.is_open:
        return unit
    of_all = False if _OF_ALL.search(name.lower()) else None
    return replace(unit, per_gpu=True if _PER_GPU.search(name.lower()) else of_all)


def _words(text: str) -> list[str]:
    spaced = _NUMBER_OF.sub(" n ", re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", text)).lower()
    split = [word for word in re.findall(r"[^\W_]+", spaced) if word not in _FILLERS]
    return [word for word in split if word not in ("px", "pixel", "pixels")] or split


@cache
def _by_word() -> Mapping[str, str]:
    schema = {name.replace("_", ""): name for name in SCHEMA}
    return {**schema, **meanings("weak"), **meanings("heading")}
