"""The vocabulary of spreadsheets: the words and patterns of `vocabulary.toml`, by what they mean."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any


@cache
def _vocabulary() -> Mapping[str, Any]:
    return tomllib.loads(files(__package__ or "").joinpath("vocabulary.toml").read_text("utf-8"))


@cache
def groups(section: str) -> Mapping[str, tuple[str, ...]]:
    """Return the words of a section of the vocabulary by what they mean, such as those of "value.layout".

    >>> "wahr" in groups("answer")["yes"]
    True
    """
    found = _vocabulary()
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
def patterns() -> Mapping[str, re.Pattern[str]]:
    """Return the patterns of what a text says, by our column; a group holds the value.

    >>> patterns()["batch"].search("resnet50 bs=64")[1]
    '64'
    """
    return MappingProxyType({name: re.compile("".join(lines)) for name, lines in groups("pattern").items()})
