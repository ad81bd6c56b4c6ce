"""Meaning of a column's heading by its words: a column of the runs schema, a measure, or nothing."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache, lru_cache
from types import MappingProxyType

from trainlaw.datasets.spreadsheets import fields
from trainlaw.datasets.spreadsheets.quantities import TimeUnit, parse_unit
from trainlaw.datasets.spreadsheets.words import groups, meanings

_PART = {name: frozenset(group) for name, group in groups("part").items()}
_AVERAGE, _OTHER, _FILLERS = (_PART[name] for name in ("average", "other", "filler"))
_SPREAD = frozenset().union(*(_PART[name] for name in ("spread", "least", "greatest", "best", "worst")))
# What headers say next to a unit, and which GPUs a throughput is of.
_AROUND_UNITS, _SCOPES = _PART["around_units"], _PART["scope"]
_INFERENCE = frozenset(groups("phrase")["inference"])
_EPOCH = frozenset(("epoch", "epochs", "epoche", "epochen", "epochenzeit", "epochtime"))
_UNCOUNTED = _SPREAD | _OTHER | _AVERAGE | _EPOCH | {"per", "pro"}
_WHOLE = frozenset(("total", "gesamt", "wall", "wallclock", "walltime", "gesamtzeit"))
_PER_IMAGE = re.compile(r"(?:per|pro|/)[\s_]*(?:img|image|sample|example|bild|frame)")
_PER_GPU = re.compile(r"(?:per|pro|/|each)[\s_-]*(?:gpu|device|accelerator|die)|single[\s_-]gpu")
_OF_ALL = re.compile(r"\b(?:total|overall|aggregate|global|gesamt|all[\s_-]gpus)\b")
_LONGEST_HEADER = 300  # characters; what is longer is no header, and searching it takes long
# Of settings and results in the tables that experiment trackers export.
_TRACKED = re.compile(r"^(?:config|summary|system|params?|metrics?|args|cfg|hparams|tags)[./](?=\w)")
# ... and those of any part of a program: "trainer.devices", "perf/step_time".
_PATH = re.compile(r"((?:\w+[./])*\w+)(?:\.(\w+)|/(\w+_\w+))")
_MONEY = re.compile(r"^\s*[$€£]|[$€£]\s*/|/\s*[$€£]")
_CLOCK = re.compile(r"[(\[]?\bh+:m+(?::s+)?\b[)\]]?|[(\[]?\bm+:s+\b[)\]]?", re.IGNORECASE)
_BRACKETS = re.compile(r"[(\[{]([^)\]}]*)[)\]}]")


@dataclass(frozen=True)
class Meaning:
    """What a header means.

    target : column of the runs schema or a name of this file, "" where none is known. unit : as the header
    states it. is_exact : whether the header is the name in the schema. is_weak : whether another column of
    the same target is more likely. is_average : whether a time is said to be a mean or median.
    """

    target: str
    unit: TimeUnit | None = None
    is_exact: bool = False
    is_weak: bool = False
    is_average: bool = False


def of_statistics(text: str, others: Collection[str]) -> Meaning | None:
    """Return what the name of a statistic means in a table that has an average, None for another heading.

    others : the headings of the table. "min" is the least time there, and no number of minutes.
    """
    tokens = set(_plain_words(text))
    if not any(_AVERAGE & set(_plain_words(other)) for other in others):
        return None
    if tokens and tokens <= _SPREAD | {"n", "count"}:
        return Meaning(fields.IGNORED)
    return Meaning(fields.TIME, is_weak=True, is_average=True) if tokens and tokens <= _AVERAGE else None


@lru_cache(maxsize=10_000)
def read_heading(text: str) -> Meaning:
    """Return what a header means.

    >>> read_heading("Step time [ms]").unit.text, read_heading("Batch size (per GPU)").target
    ('ms', 'batch_per_gpu')
    >>> read_heading("train_samples_per_sec").target, read_heading("GPU util %").target
    ('throughput', 'ignored')
    """
    if text in fields.SCHEMA:
        return Meaning(text, parse_unit("s") if text == "time_s" else None, is_exact=True)
    if _MONEY.search(text):
        return Meaning(fields.IGNORED)
    text = _TRACKED.sub("", text)
    found = _read_words(text)
    is_sure = bool(found.target) and not found.is_weak
    if is_sure or not (path := _PATH.fullmatch(text)) or _INFERENCE & set(_plain_words(path[1])):
        return found
    # In "train/samples_per_sec" the slash does not mean "per".
    last = _read_words(path[2] or path[3])
    return last if last.target else found


def _read_words(text: str) -> Meaning:
    """Return what the words of a header mean."""
    text = _CLOCK.sub(" ", text).rstrip("*\u2020\u2021\u00a7 ")
    name, stated = without_unit(text)
    tokens, unit = _plain_words(name), _specified(stated, name)
    if (unit is not None or _is_measure(tokens)) and (left := _not_measured(tokens, unit)):
        is_epoch = left == fields.EPOCH_TIME and unit is not None and unit.counted == "iteration"
        return Meaning(left, replace(unit, counted="epoch") if unit and is_epoch else unit)
    if unit is not None and unit.counted == "epoch":
        return Meaning(fields.EPOCH_TIME, unit)
    unsaid = _AVERAGE | (_SCOPES if unit is not None else frozenset())
    joined = "".join(word for word in tokens if word not in unsaid)
    target, is_average = _target_of(joined), bool(_AVERAGE & set(tokens))
    if unit is None:
        return Meaning(target, None, is_weak=joined in _weak(), is_average=is_average)
    measure = fields.RATE if unit.is_rate else fields.TIME
    if target not in (*fields.MEASURES, ""):
        # "Batch (ms)" is the time of a batch where nothing else is a time.
        return Meaning(measure, unit, is_weak=True)
    known = bool(target) or not joined or set(tokens) <= _AROUND_UNITS
    return Meaning(measure if known else "", unit, is_average=is_average)


def _is_measure(tokens: list[str]) -> bool:
    """Return whether words without a unit name a time or throughput, perhaps of something else."""
    plain = "".join(word for word in tokens if word not in _UNCOUNTED)
    return _target_of(plain) in fields.MEASURES


def _not_measured(tokens: list[str], unit: TimeUnit | None) -> str:
    """Return what a time or throughput is that is none of a training iteration; "" for one that is."""
    said = set(tokens)
    if _SPREAD & said:
        return fields.IGNORED
    is_rate = unit is not None and unit.is_rate
    # The total throughput is that of all GPUs, the total time that of all iterations.
    if (_OTHER - _WHOLE) & said or (_WHOLE & said and is_rate and "epoch" in said):
        return fields.OTHER_TIME
    return fields.EPOCH_TIME if (_EPOCH | _WHOLE) & said and not is_rate else ""


def without_unit(text: str) -> tuple[str, TimeUnit | None]:
    """Return a header without the unit that it states in brackets, at its end or as a whole, and the unit.

    >>> without_unit("fp32 (img/s)")[0].strip(), without_unit("Tesla T4")
    ('fp32', ('Tesla T4', None))
    """
    if len(text) > _LONGEST_HEADER:
        return text, None
    for bracket in _BRACKETS.finditer(text):
        inside = bracket[1].strip()
        if unit := parse_unit(inside):
            return text[: bracket.start()] + " " + text[bracket.end() :], unit
    tokens = [word for word in re.split(r"[\s_\-,:]+", text.strip()) if word]
    plain = [word for word in tokens if word.lower() not in _FILLERS | _AVERAGE]
    for length in range(len(plain), 0, -1):
        # "time s" has a unit at its end; "s" alone has one, too.
        unit = parse_unit(" ".join(plain[-length:])) or parse_unit(" ".join(plain[:length]))
        if unit is None:
            continue
        is_last = parse_unit(" ".join(plain[-length:])) is not None
        rest = plain[:-length] if is_last else plain[length:]
        return " ".join([*rest, *(word for word in tokens if word.lower() in _AVERAGE)]), unit
    return text, None


def _specified(unit: TimeUnit | None, name: str) -> TimeUnit | None:
    """Return a unit with what the rest of its header adds: per image, per GPU, of all GPUs."""
    if unit is None:
        return None
    text = name.lower()
    if unit.counted == "iteration" and not unit.is_rate and _PER_IMAGE.search(text):
        unit = replace(unit, counted="image")
    if unit.counted == "image" and unit.is_rate and unit.per_gpu is None:
        per_gpu = True if _PER_GPU.search(text) else False if _OF_ALL.search(text) else None
        return replace(unit, per_gpu=per_gpu)
    return unit


def _plain_words(text: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", text)
    spaced = re.sub(
        r"#|\bno\.|\bnum(?:ber)?\b(?:\s+of\b)?|\bnum_|\bnr\.|\banzahl\b(?!\w)", " n ", spaced, flags=re.I
    )
    tokens = [word for word in re.findall(r"[^\W_]+", spaced.lower()) if word not in _FILLERS]
    return [word for word in tokens if word not in ("px", "pixel", "pixels")] or tokens


@cache
def _by_word() -> Mapping[str, str]:
    return MappingProxyType({**meanings("weak"), **meanings("heading")})


@cache
def _weak() -> frozenset[str]:
    return frozenset(meanings("weak")) - frozenset(meanings("heading"))


def _target_of(joined: str) -> str:
    if joined in _by_word():
        return _by_word()[joined]
    exact = {name.replace("_", ""): name for name in fields.SCHEMA}
    return exact.get(joined, "")


def near_target(text: str) -> str:
    """Return the column that a header nearly names ("precison"), "" where none is near."""
    joined = "".join(_plain_words(without_unit(text)[0]))
    # "time for 100 iterations" is no time of one.
    if len(joined) < 4 or any(map(str.isdigit, joined)):
        return ""
    near = get_close_matches(joined, _by_word(), n=1, cutoff=0.86)
    target = _by_word()[near[0]] if near else ""
    return "" if target == fields.IGNORED else target
