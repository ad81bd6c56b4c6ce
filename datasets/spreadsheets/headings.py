"""Meaning of a column's heading by its words: a column of the runs schema, a measure, or nothing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from trainlaw.datasets.measurements.runs import RUN_COLUMNS
from trainlaw.datasets.spreadsheets.quantities import TimeUnit, parse_unit
from trainlaw.datasets.spreadsheets.words import groups, meanings

#: Columns of the runs schema.
SCHEMA = tuple(column.name for column in RUN_COLUMNS)
#: Measures, of which `EPOCH_TIME` is of a number of iterations that other columns state.
TIME, RATE, EPOCH_TIME = "time", "throughput", "epoch time"
#: A heading that is known and says nothing, and one of the time of something else.
IGNORED, OTHER_TIME = "ignored", "other time"
MEASURES = (TIME, RATE, EPOCH_TIME)
BATCHES = ("batch", "batch_per_gpu", "global_batch")
#: Begins the name of a column that says yes or no to one precision or layout.
FLAG = "flag:"

_PART = {name: frozenset(group) for name, group in groups("part").items()}
_AVERAGE, _OTHER, _FILLERS, _AROUND, _SCOPE = (
    _PART[name] for name in ("average", "other", "filler", "around_units", "scope")
)
_SPREAD = frozenset().union(*(_PART[name] for name in ("spread", "least", "greatest", "best", "worst")))
_EPOCH = frozenset(groups("counted")["epoch"]) | _PART["whole"]
_PER_IMAGE = re.compile(r"(?:per|pro|/)[\s_]*(?:img|image|sample|example|bild|frame)")
_PER_GPU = re.compile(r"(?:per|pro|/|each)[\s_-]*(?:gpu|device|accelerator|die)|single[\s_-]gpu")
_OF_ALL = re.compile(r"\b(?:total|overall|aggregate|global|gesamt|all[\s_-]gpus)\b")
_LONGEST = 300  # characters; what is longer is no heading, and searching it takes long
# Of tables that experiment trackers export: "config.arch", "trainer.devices", "perf/step_time".
_TRACKED = re.compile(r"^(?:config|summary|system|params?|metrics?|args|cfg|hparams|tags)[./](?=\w)")
_PATH = re.compile(r"((?:\w+[./])*\w+)(?:\.(\w+)|/(\w+_\w+))")
_MONEY = re.compile(r"^\s*[$€£]|[$€£]\s*/|/\s*[$€£]")
_CLOCK = re.compile(r"[(\[]?\b[hm]+:[ms]+(?::s+)?\b[)\]]?", re.IGNORECASE)
_BRACKETS = re.compile(r"[(\[{]([^)\]}]*)[)\]}]")


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
    if _MONEY.search(text):
        return Meaning(IGNORED)
    text = _TRACKED.sub("", text)
    found = _read_words(text)
    inference, training = (set(groups("phrase")[name]) for name in ("inference", "training"))
    if inference & set(_words(text)) and not training & set(_words(text)) and found.target != "mode":
        return Meaning(OTHER_TIME, found.unit)
    path = None if found.target and not found.is_weak else _PATH.fullmatch(text)
    if path is None:
        return found
    # In "train/samples_per_sec" the slash does not mean "per".
    last = _read_words(path[2] or path[3])
    return last if last.target else found


def _read_words(text: str) -> Meaning:
    name, unit = without_unit(_CLOCK.sub(" ", text).rstrip("*†‡§ "))
    split, unit = _words(name), _specified(unit, name)
    said, measure = set(split), RATE if unit is not None and unit.is_rate else TIME
    plain = "".join(
        word for word in split if word not in _SPREAD | _OTHER | _AVERAGE | _EPOCH | {"per", "pro"}
    )
    if unit is not None or _by_word().get(plain) in (TIME, RATE):
        # A time or throughput of something else, of its spread, or of all iterations.
        if _SPREAD & said:
            return Meaning(IGNORED, unit)
        if (_OTHER - _EPOCH) & said or (measure == RATE and "epoch" in said):
            return Meaning(OTHER_TIME, unit)
        if measure == TIME and (_EPOCH & said or (unit is not None and unit.counted == "epoch")):
            return Meaning(EPOCH_TIME, unit and replace(unit, counted="epoch"))
    joined = "".join(word for word in split if word not in _AVERAGE | (_SCOPE if unit is not None else set()))
    target = _by_word().get(joined, "")
    if unit is None:
        return Meaning(target, None, joined in meanings("weak") and joined not in meanings("heading"))
    # "Batch (ms)" is the time of a batch where nothing else is a time.
    known = bool(target) or not joined or said <= _AROUND
    return Meaning(measure if known else "", unit, target not in (TIME, RATE, ""))


def bound_of(text: str) -> int:
    """Return -1 for the heading of the least of several numbers, 1 for that of the greatest, else 0.

    >>> bound_of("min (ms)"), bound_of("best img/s"), bound_of("best [ms]"), bound_of("std")
    (-1, 1, -1, 0)
    """
    name, unit = without_unit(text)
    said, is_rate = set(_words(name)), unit is not None and unit.is_rate
    low, high = ("worst", "best") if is_rate else ("best", "worst")
    is_least, is_greatest = said & (_PART["least"] | _PART[low]), said & (_PART["greatest"] | _PART[high])
    return bool(is_greatest) - bool(is_least)


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
    plain = [word for word in tokens if word.lower() not in _FILLERS | _AVERAGE]
    for length in range(len(plain), 0, -1):
        # "time s" has a unit at its end, "ms per step" as a whole.
        for unit_words, rest in ((plain[-length:], plain[:-length]), (plain[:length], plain[length:])):
            if unit := parse_unit(" ".join(unit_words)):
                return " ".join([*rest, *(word for word in tokens if word.lower() in _AVERAGE)]), unit
    return text, None


def _specified(unit: TimeUnit | None, name: str) -> TimeUnit | None:
    """Return a unit with what the rest of its heading adds: per image, per GPU, of all GPUs."""
    if unit is None:
        return None
    if unit.counted == "iteration" and not unit.is_rate and _PER_IMAGE.search(name.lower()):
        unit = replace(unit, counted="image")
    if unit.is_open:
        of_all = False if _OF_ALL.search(name.lower()) else None
        return replace(unit, per_gpu=True if _PER_GPU.search(name.lower()) else of_all)
    return unit


def _words(text: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", text)
    number = r"#|\bno\.|\bnum(?:ber)?\b(?:\s+of\b)?|\bnum_|\bnr\.|\banzahl\b(?!\w)"
    spaced = re.sub(number, " n ", spaced, flags=re.IGNORECASE).lower()
    split = [word for word in re.findall(r"[^\W_]+", spaced) if word not in _FILLERS]
    return [word for word in split if word not in ("px", "pixel", "pixels")] or split


@cache
def _by_word() -> Mapping[str, str]:
    schema = {name.replace("_", ""): name for name in SCHEMA}
    return {**schema, **meanings("weak"), **meanings("heading")}
