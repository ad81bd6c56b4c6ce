"""Facts about runs in a title, a note or a heading, and words that must be asked about."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from types import MappingProxyType

from trainlaw.datasets.spreadsheets.quantities import TimeUnit, parse_unit
from trainlaw.datasets.spreadsheets.values import precision_of
from trainlaw.datasets.spreadsheets.words import groups, patterns

#: Longer texts are prose, in which a name or number may stand for anything.
LONGEST = 300
_BRACKETS = re.compile(r"[(\[{]([^)\]}]*)[)\]}]")
_UNIT = re.compile(
    r"(?:k|thousand )?(?:\w+(?:/|\s(?:per|pro|je|par|por)\s)(?:sec(?:ond)?s?|sekunde|s|step|iter(?:ation)?|"
    r"batch|schritt|epoch)\b)|(?<![\w/])(?:ms|msec|milliseconds|seconds|minutes|hours)\b",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"(?:for|per|over|für|pro|je|in)\s(\d{2,6})\s(?:training\s)?(?:it\b|iter|steps|batches|schritte)"
)
_AVERAGED = re.compile(r"\b(?:mean|average|averaged|avg|median|mittel\w*|gemittelt|durchschnitt)\b")
_FORWARD, _TRAINING = (frozenset(groups("phrase")[name]) for name in ("inference", "training"))


@dataclass(frozen=True)
class TextFacts:
    """A text as read: said, texts by our column; unit, of times or throughputs; asked, words to ask about."""

    said: Mapping[str, str] = field(default_factory=dict)
    unit: TimeUnit | None = None
    asked: Mapping[str, str] = field(default_factory=dict)


@cache
def _asked() -> Mapping[str, re.Pattern[str]]:
    return MappingProxyType({name: re.compile("".join(lines)) for name, lines in groups("asked").items()})


def spaced(text: str) -> str:
    """Return a text in small letters with blanks between the words of names in code.

    >>> spaced("GradAccum_steps")
    'grad accum steps'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z][a-z])|_", " ", text).lower()


@lru_cache(maxsize=10_000)
def read_line(text: str) -> TextFacts:
    """Return the facts in a text.

    >>> read_line("two V100 in one box, power capped").asked
    {'n_gpus': 'two v100', 'power': 'power'}
    >>> read_line("Training, images/sec, AMP, bs 64").said
    {'batch': '64', 'precision': 'amp'}
    """
    if len(text) > LONGEST:
        return TextFacts()
    lowered, said = text.lower(), dict[str, str]()
    for kind, pattern in patterns().items():
        found = {next(group for group in match.groups() if group) for match in pattern.finditer(lowered)}
        if len(found) == 1 and not (kind == "batch" and {"global_batch", "batch_per_gpu"} & set(said)):
            said[kind] = re.sub(r"[.,](?=\d)", "", found.pop())
            lowered = pattern.sub(" ", lowered)
    precision = precision_of(text)[0]
    if precision:
        said["precision"] = precision
    plain = spaced(text)
    asked = {kind: match[0] for kind, pattern in _asked().items() if (match := pattern.search(plain))}
    words = set(re.findall(r"[^\W\d_]+", plain))
    if words & _FORWARD and not words & _TRAINING:
        asked["mode"] = sorted(words & _FORWARD)[0]
    unit = _unit_in(text)
    if unit and not unit.is_rate and (match := _SEVERAL.search(plain)) and not _AVERAGED.search(plain):
        unit = replace(unit, number=float(match[1]))
    return TextFacts(said, unit, asked)


def _unit_in(text: str) -> TimeUnit | None:
    for match in (*_BRACKETS.finditer(text), *_UNIT.finditer(text)):
        inside = match[1] if match.re is _BRACKETS else match[0]
        if unit := parse_unit(inside.strip().removeprefix("in ")):
            return unit
    return None
