"""Cards that nobody sells: a known card with some facts changed, in one line."""

import re
from dataclasses import replace
from typing import Any

from trainlaw.datasets.hardware.gpus import NUMBER_COLUMNS, Gpu, GpuCatalog, built_in_gpus
from trainlaw.formulas.errors import InputError, shown, unknown_name

_CHANGE = re.compile(
    r"\s*(\w+)\s*=\s*([0-9.]+(?:e[+-]?[0-9]+)?)(x?)\s*|\s*([0-9.]+)x\s+(\w+)\s*", re.IGNORECASE
)
_WORD = re.compile(r"\s+with\s+(?=[0-9.]+x\s|\w+\s*=)", re.IGNORECASE)


def is_hypothetical(text: str) -> bool:
    """Return whether `text` changes facts of a card ("T4 with 2x bandwidth"), rather than naming one."""
    return _WORD.search(text) is not None


def wanted_gpu(text: str, gpus: GpuCatalog | None = None) -> Gpu:
    """Return the card that `text` names in a catalog (None: the shipped one), changed where it says so.

    Raises UnknownNameError or InputError as `GpuCatalog.find` and `hypothetical_gpu`.
    """
    catalog = gpus or built_in_gpus()
    return hypothetical_gpu(text, catalog) if is_hypothetical(text) else catalog.find(text)


def hypothetical_gpu(text: str, gpus: GpuCatalog | None = None) -> Gpu:
    """Return a known card with changed facts: "CARD with FACT=NUMBER, FACT=2x, 2x FACT".

    A fact is a number column of the GPU table or the beginning of its name; "2x" multiplies, and multiplies
    all columns that begin so ("peak": all rates). The card keeps its group. Raises UnknownNameError for an
    unknown card or fact, InputError for a change that cannot be read.

    >>> hypothetical_gpu("A100-SXM4-40GB with 2x bandwidth").bandwidth_byte_per_s
    3120000000000.0
    """
    parts = _WORD.split(text, maxsplit=1)
    if len(parts) != 2 or len(text) > 500:
        raise InputError(f"expected a card with changes, such as 'T4 with 2x bandwidth', got {shown(text)}")
    card = (gpus or built_in_gpus()).find(parts[0].strip())
    changes: dict[str, float] = {}
    for change in parts[1].split(","):
        changes |= _changed(card, change)
    name = f"{card.gpu} with " + ", ".join(f"{fact}={value:g}" for fact, value in changes.items())
    sources = {**card.sources, **dict.fromkeys(changes, "hypothetical")}
    # Names and texts stay, so that only numbers are replaced.
    numbers: Any = changes
    return replace(card, gpu=name, aliases=(), sources=sources, **numbers)


def _changed(card: Gpu, change: str) -> dict[str, float]:
    match = _CHANGE.fullmatch(change)
    if match is None:
        raise InputError(f"expected a change such as 'bandwidth=2x' or '2x bandwidth', got {shown(change)}")
    word, value, times, factor, other = match.groups()
    try:
        number = float(value or factor)
    except ValueError:
        raise InputError(f"expected a number in the change {shown(change)}") from None
    facts = _facts((word or other).lower())
    scaled = bool(times or factor)
    if len(facts) > 1 and not scaled:
        raise InputError(
            f"expected one fact in the change {shown(change)}, got {', '.join(facts)}: name one in full"
        )
    changed = {fact: number * getattr(card, fact) if scaled else number for fact in facts}
    for fact, result in changed.items():
        if not 0 < result < 1e30:
            raise InputError(f"expected a positive {fact} of {card.gpu} after the change {shown(change)}")
    return changed


def _facts(word: str) -> tuple[str, ...]:
    """Return the number columns that `word` names: itself, or all that begin with it."""
    if word in NUMBER_COLUMNS:
        return (word,)
    beginning = tuple(name for name in NUMBER_COLUMNS if name.startswith(word))
    if not beginning:
        raise unknown_name("fact of a GPU", word, NUMBER_COLUMNS)
    return beginning
