"""The vocabulary of spreadsheets: the words and patterns of `vocabulary.toml`, by what they mean."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from types import MappingProxyType

from trainlaw.formulas.files.toml_tables import toml_table

# Longer texts are prose, in which a name or number may stand for anything.
_LONGEST = 300


@cache
def groups(section: str) -> Mapping[str, tuple[str, ...]]:
    """Return the words of a section of the vocabulary by what they mean, such as those of "value.layout".

    >>> "wahr" in groups("answer")["yes"]
    True
    """
    found = toml_table(__file__, "vocabulary.toml")
    for name in section.split("."):
        found = found[name]
    return MappingProxyType({meaning: tuple(text.split()) for meaning, text in found.items()})


@cache
def meanings(section: str) -> Mapping[str, str]:
    """Return the meaning of each word of a section.

    >>> meanings("value.layout")["nhwc"]
    'channels_last'
    """
    return MappingProxyType({word: meaning for meaning, group in groups(section).items() for word in group})


@cache
def _asked() -> Mapping[str, re.Pattern[str]]:
    return MappingProxyType({name: re.compile("".join(lines)) for name, lines in groups("asked").items()})


@lru_cache(maxsize=10_000)
def asked_words(text: str) -> Mapping[str, str]:
    """Return the words of a text that may change what a time means, by kind.

    >>> dict(asked_words("two V100 in one box, power capped"))
    {'n_gpus': 'two v100', 'power': 'power'}
    >>> dict(asked_words("Training, images/sec")), dict(asked_words("fwd_only"))
    ({}, {'mode': 'fwd'})
    """
    plain = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])|_", " ", text[:_LONGEST]).lower()
    found = {kind: match[0].strip() for kind, pattern in _asked().items() if (match := pattern.search(plain))}
    words = set(re.findall(r"[^\W\d_]+", plain))
    passes = sorted(words & set(groups("phrase")["inference"]))
    return found | ({"mode": passes[0]} if passes and not words & set(groups("phrase")["training"]) else {})
