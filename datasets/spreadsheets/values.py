"""Cells as users write them: precisions, yes and no, sizes, or no time at all."""

import math
import re
from collections.abc import Mapping
from types import MappingProxyType

from trainlaw.datasets.files.numbers import number_of
from trainlaw.datasets.spreadsheets.words import groups, meanings

#: The answer for a precision that was not chosen: what PyTorch uses for convolutions on the GPU.
DEFAULT_PRECISION = "default"
#: Answers for a precision.
PRECISIONS = ("fp32", "tf32", "amp", "fp16", "bf16", DEFAULT_PRECISION)
#: Words of each column of the runs schema that holds one of a few texts.
SPELLINGS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {name: meanings(f"value.{name}") for name in ("precision", "layout", "compilation", "stack")}
)
YES, NO, TRAINING = (frozenset(groups("answer")[name]) for name in ("yes", "no", "training"))
_PRECISION_WORDS = dict(pair.split("=") for pair in groups("phrase")["precision"])
_NEGATIONS = frozenset(groups("phrase")["negated"])
_UNDERSTOOD = frozenset(
    (
        *_PRECISION_WORDS,
        *_NEGATIONS,
        *YES,
        *groups("phrase")["beside_precision"],
        *groups("phrase")["measure"],
    )
)
# In a text of more words, a negation is of the precision where it is this near.
_SHORT, _NEAR = 5, 2
_TOKEN = re.compile(r"w/o|[^\W_]+(?:[_+][^\W_]+)*|[^\s\w.,;:/|()\[\]{}=+*_-]")
_UNMEASURED = re.compile(
    r"[-\u2013\u2014?.x/]+|n\.?/?\s?a\.?|k\.?a\.?|nan|null|none|tbd|todo|missing|not run|timeout|"
    r"skip(?:ped)?|(?:cuda )?oom|.*out of memory.*|fail(?:ed)?|err(?:or)?|crash(?:ed)?|"
    r"#(?:n/a|nv|div/0!|value!|ref!|wert!|bezug!)|[-+]?\d[\d.,]*\s?%",
    re.IGNORECASE,
)
_SIZE = re.compile(
    r"(?:3\s*[x\u00d7*,]\s*)?(\d{1,5})\s*[x\u00d7*,]\s*(\d{1,5})(?:\s*[x\u00d7*,]\s*3)?\s*(?:px|pixels?)?",
    re.I,
)


def is_unmeasured(cell: object) -> bool:
    """Return whether a cell says that there is no time: empty, "OOM", "n/a", "51 %", an error of Excel."""
    if isinstance(cell, str):
        # Most cells are numbers, and end with a digit as no such text does.
        return not cell[-1:].isdigit() and _UNMEASURED.fullmatch(cell.strip()) is not None
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def yes_or_no(cell: object) -> bool | None:
    """Return whether a cell says yes, None where it says neither.

    >>> yes_or_no("ja"), yes_or_no(0), yes_or_no("fp16")
    (True, False, None)
    """
    text = plain_text(cell)
    return True if text in YES else False if text in NO else None


def plain_text(cell: object) -> str:
    """Return a cell in small letters, a whole number without a point."""
    whole = int(cell) if isinstance(cell, float) and cell.is_integer() else cell
    return str(whole).strip().lower().replace("\ufe0f", "")


def precision_of(text: str) -> tuple[str | None, bool]:
    """Return the precision that a text names, and whether all its words are understood.

    A negated precision of 16 bits is the default one; where something else is negated, too, none is named.

    >>> precision_of("AMP off"), precision_of("fp16 (AMP)"), precision_of("no-amp"), precision_of("!amp")
    (('default', True), ('amp', True), ('default', True), ('default', True))
    >>> precision_of("tf32 disabled"), precision_of("not fp32 but AMP"), precision_of("DDP, fp16")
    (('fp32', True), (None, False), ('fp16', False))
    """
    plain = plain_text(text)
    if plain in SPELLINGS["precision"]:
        return SPELLINGS["precision"][plain], True
    tokens = _TOKEN.findall(plain.replace("-", " "))
    split = [own for token in tokens for own in ([token] if token in _PRECISION_WORDS else token.split("_"))]
    places = [place for place, word in enumerate(split) if word in _PRECISION_WORDS]
    found = {_PRECISION_WORDS[split[place]] for place in places}
    near = {place + step for place in places for step in range(-_NEAR, _NEAR + 1)}
    is_short, known = len(split) <= _SHORT, _UNDERSTOOD.issuperset(split)
    if any(word in _NEGATIONS and (is_short or place in near) for place, word in enumerate(split)):
        if len(found) != 1 or found == {"fp32"}:
            return None, False
        return ("fp32" if found == {"tf32"} else DEFAULT_PRECISION), known
    if "amp" in found:
        # "fp16 (AMP)" is amp, "fp32/fp16 mixed" too, "bf16 (AMP)" is bf16.
        found = {"bf16"} if "bf16" in found else found - {"fp16"}
        found -= {"fp32"} if {"fp16", "float16"} & set(split) else set()
    return (found.pop(), known) if len(found) == 1 else (None, False)


def size_px(cell: object, decimal: str = ".") -> float:
    """Return the side of a square image in px, nan for any other text.

    >>> size_px("3x224x224"), size_px("224 px"), size_px("224x320")
    (224.0, 224.0, nan)
    """
    text = re.sub(r"[()\[\]²]", "", plain_text(cell)).strip()
    if match := _SIZE.fullmatch(text):
        return float(match[1]) if match[1] == match[2] else math.nan
    return number_of(re.sub(r"\s*(?:px|pixels?|p)$", "", text), decimal)
