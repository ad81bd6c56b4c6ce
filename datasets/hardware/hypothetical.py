"""Hypothetical GPUs: a known GPU with some specifications overridden, in one line of text."""

import re
from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from typing import Any

from trainlaw.datasets.hardware.gpus import STATED_NUMBERS, Gpu, GpuCatalog, built_in_gpus
from trainlaw.formulas.errors import InputError, shown, unknown_name

_CHANGE = re.compile(
    r"\s*(\w+)\s*=\s*([0-9.]+(?:e[+-]?[0-9]+)?)(x?)\s*|\s*([0-9.]+)x\s+(\w+)\s*", re.IGNORECASE
)
# Changes all rates of operations, also those whose columns begin with another word.
_ALL_RATES, _RATE = "peak", "_flop_per_s"
# Peak rates are lanes x clock x operations; the base clock keeps its share of the boost clock, and lanes come
# with their multiprocessors.
_LANES, _CLOCK, _BASE_CLOCK = ("core_count", "sm_count"), "boost_clock_hz", "base_clock_hz"
# What no time follows from, with what says the same.
_WITHOUT_EFFECT: Mapping[str, str] = {
    "tdp_w": "a lower power limit shows as a lower boost_clock_hz",
    "has_fast_fp16": "state peak_fp16_flop_per_s",
    "simt_fp16_flop_per_s": "state peak_fp16_flop_per_s",
    "tensor_fp16_flop_per_s": "state peak_fp16_flop_per_s",
    "shares_host_memory": "state bandwidth_byte_per_s",
}
_WORD = re.compile(r"\s+with\s+(?=[0-9.]+x\s|\w+\s*=)", re.IGNORECASE)


def is_hypothetical(text: str) -> bool:
    """Return whether `text` overrides specifications ("T4 with 2x bandwidth") rather than naming a GPU."""
    return _WORD.search(text) is not None


def wanted_gpu(text: str, gpus: GpuCatalog | None = None, counted: bool = False) -> Gpu:
    """Return the GPU that `text` names in a catalog (None: the shipped one), with the overrides in `text`.

    counted : as for `GpuCatalog.find`. Raises UnknownNameError or InputError as `GpuCatalog.find` and
    `hypothetical_gpu`.
    """
    catalog = gpus or built_in_gpus()
    return hypothetical_gpu(text, catalog) if is_hypothetical(text) else catalog.find(text, counted)


def hypothetical_gpu(text: str, gpus: GpuCatalog | None = None) -> Gpu:
    """Return a known GPU with overridden specifications: "GPU with NAME=NUMBER, NAME=2x, 2x NAME".

    A name is a number column of the GPU table or its beginning; "2x" multiplies all columns with that
    beginning ("peak": all rates of operations, whatever their name). Rates follow lanes and clock unless they
    are changed, too. The GPU keeps its group. Raises UnknownNameError for an unknown GPU or specification,
    InputError for an override that cannot be parsed or that changes no time.

    >>> hypothetical_gpu("A100-SXM4-40GB with 2x bandwidth").bandwidth_byte_per_s
    3120000000000.0
    """
    parts = _WORD.split(text, maxsplit=1)
    if len(parts) != 2 or len(text) > 500:
        raise InputError(f"expected a GPU with overrides, such as 'T4 with 2x bandwidth', got {shown(text)}")
    gpu = (gpus or built_in_gpus()).find(parts[0].strip())
    changes: dict[str, float] = {}
    for change in parts[1].split(","):
        changes |= _changed(gpu, change)
    name = f"{gpu.gpu} with " + ", ".join(f"{fact}={value:g}" for fact, value in changes.items())
    _check_effect(gpu, changes)
    changes = _following(gpu, changes) | changes
    if changes.get(_BASE_CLOCK, 0.0) > changes.get(_CLOCK, gpu.boost_clock_hz):
        raise InputError(f"expected a base clock of at most the boost clock, got {shown(parts[1])}")
    sources = {**gpu.sources, **dict.fromkeys(changes, "hypothetical")}
    # Names and texts stay, so that only numbers are replaced.
    numbers: Any = changes
    return replace(gpu, gpu=name, aliases=(), sources=sources, **numbers)


def _check_effect(gpu: Gpu, changes: Mapping[str, float]) -> None:
    """Raise InputError where every change is of a specification that no time follows from."""
    idle = [fact for fact in changes if fact in _WITHOUT_EFFECT and changes[fact] != getattr(gpu, fact)]
    if idle and len(idle) == len(changes):
        raise InputError(f"{idle[0]} changes no time of {gpu.gpu}: {_WITHOUT_EFFECT[idle[0]]}")


def _following(gpu: Gpu, changes: Mapping[str, float]) -> dict[str, float]:
    """Return the specifications that follow from changed lanes and clocks."""
    ratio = {fact: changes[fact] / getattr(gpu, fact) for fact in (*_LANES, _CLOCK) if fact in changes}
    lanes = next((ratio[fact] for fact in _LANES if fact in ratio), 1.0)
    scale = dict.fromkeys((name for name in STATED_NUMBERS if name.endswith(_RATE)), lanes)
    scale = {name: share * ratio.get(_CLOCK, 1.0) for name, share in scale.items()}
    scale |= dict.fromkeys(_LANES, lanes) | {_BASE_CLOCK: ratio.get(_CLOCK, 1.0)}
    found = {name: share * getattr(gpu, name) for name, share in scale.items() if share != 1.0}
    return {name: value for name, value in found.items() if isfinite(value)}


def _changed(gpu: Gpu, change: str) -> dict[str, float]:
    match = _CHANGE.fullmatch(change)
    if match is None:
        raise InputError(
            f"expected an override such as 'bandwidth=2x' or '2x bandwidth', got {shown(change)}"
        )
    word, value, times, factor, other = match.groups()
    try:
        number = float(value or factor)
    except ValueError:
        raise InputError(f"expected a number in the override {shown(change)}") from None
    facts = _facts((word or other).lower())
    scaled = bool(times or factor)
    if len(facts) > 1 and not scaled:
        raise InputError(f"the override {shown(change)} matches {', '.join(facts)}: name one in full")
    if scaled and (word or other).lower() == _ALL_RATES:
        # Rates that are not stated follow from those that are.
        more = (name for name in STATED_NUMBERS if name.endswith(_RATE) and name not in facts)
        facts += tuple(name for name in more if isfinite(getattr(gpu, name)))
    changed = {fact: number * getattr(gpu, fact) if scaled else number for fact in facts}
    for fact, result in changed.items():
        if not 0 < result < 1e30:
            raise InputError(f"expected a positive {fact} of {gpu.gpu} after the override {shown(change)}")
    return changed


def _facts(word: str) -> tuple[str, ...]:
    """Return the number columns that `word` names: the column itself, or all that begin with it."""
    if word in STATED_NUMBERS:
        return (word,)
    beginning = tuple(name for name in STATED_NUMBERS if name.startswith(word))
    if not beginning:
        raise unknown_name("specification of a GPU", word, STATED_NUMBERS)
    return beginning
