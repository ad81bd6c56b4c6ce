"""Units of times and throughputs as headers and cells state them, and the iteration time that follows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from trainlaw.datasets.spreadsheets.words import groups, meanings

_SECONDS: Mapping[str, float] = MappingProxyType(
    {word: float(seconds) for word, seconds in meanings("second").items()}
)
_IMAGES, _ITERATIONS, _GPUS = (frozenset(groups("counted")[name]) for name in ("image", "iteration", "gpu"))
_EPOCHS = frozenset(("epoch", "epochs", "epoche", "run", "lauf"))
_WHOLE: Mapping[str, str] = {"fps": "images/s", "ips": "images/s", "its": "it/s", "qps": "images/s"}
_THOUSANDS = re.compile(r"^k(?=\s*(?:img|image|sample))|^(?:thousand|1000|1k)\s+")
_NUMBER = re.compile(r"(?:^|(?<=[\s/]))(\d{1,6})\s*(?=[a-z])")
_PER = ("per", "pro", "par", "por", "je")
_DIVIDED = re.compile(rf"/|(?:^|[\s_])(?:{'|'.join(_PER)}|for|für)[\s_]")
_JOINING = (*_PER, "a", "one", "for", "für")
_LONGEST_UNIT = 200
_NAMES = {1.0: "s", 1e-3: "ms", 1e-6: "us", 1e-9: "ns", 60.0: "min", 3600.0: "h"}


@dataclass(frozen=True)
class TimeUnit:
    """The unit of a time or a throughput of training.

    counted : what one unit of time, or one time, is for: "iteration", "image", or "epoch" for all iterations
    of a run. seconds : of the unit of time. is_rate : whether the number is per time. number : how many of
    the counted things one time is for, or one number of a rate. per_gpu : whether images are those of one
    GPU; None where the text does not say.
    """

    counted: str
    seconds: float
    is_rate: bool
    number: float = 1.0
    per_gpu: bool | None = None

    @property
    def text(self) -> str:
        """The unit as `--unit` takes it.

        >>> parse_unit("imgs per second").text, parse_unit("[msec]").text
        ('images/s', 'ms')
        """
        time, things = _NAMES[self.seconds], "images" if self.counted == "image" else "it"
        if self.number != 1.0 and not self.is_rate:
            return f"{time}/{self.number:g} {things}"
        if self.counted == "epoch":
            return f"{time}/epoch"
        if self.is_rate:
            ending = {True: "/gpu", False: "/total", None: ""}[self.per_gpu]
            return f"{'k' if self.number > 1 else ''}{things}/{time}{ending}"
        return f"{time}/image" if self.counted == "image" else time

    def seconds_of(
        self, numbers: np.ndarray, batch_per_gpu: np.ndarray, n_gpus: np.ndarray, iterations: np.ndarray
    ) -> np.ndarray:
        """Return the iteration times in s of numbers in this unit; all arrays have shape (n,).

        iterations : of the epoch or run that a time of "epoch" is for.
        """
        images = batch_per_gpu * (1.0 if self.per_gpu else n_gpus)
        per_iteration = {"image": images, "epoch": 1.0 / iterations}.get(self.counted, np.ones_like(numbers))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self.is_rate:
                return np.asarray(per_iteration * self.seconds / (numbers * self.number))
            return np.asarray(numbers * self.seconds * per_iteration / self.number)


@lru_cache(maxsize=10_000)
def parse_unit(text: str) -> TimeUnit | None:
    """Return the unit that a text is, None where it is none.

    >>> parse_unit("img/s/GPU").per_gpu, parse_unit("s / it").is_rate, parse_unit("Tesla T4")
    (True, False, None)
    >>> [parse_unit(text).text for text in ("Bilder je Sekunde", "Sekunden je Bild", "ms je Iteration")]
    ['images/s', 's/image', 'ms']
    """
    # Of thousands of blanks, patterns would look for a word after each.
    stated = text if len(text) <= _LONGEST_UNIT else ""
    plain = re.sub(r"[()\[\]{}<>]", " ", stated).strip().lower()
    number = 1e3 if _THOUSANDS.match(plain) else 1.0
    plain = _THOUSANDS.sub("", plain)
    scope, plain = _scope(plain)
    plain = _WHOLE.get(plain.strip(), plain)
    divided = _DIVIDED.search(plain) is not None
    of_several = _NUMBER.search(plain) if divided else None
    plain = _NUMBER.sub("", plain) if of_several else plain
    tokens = [word for word in re.split(r"[\s_/]+", plain.strip()) if word not in ("", *_JOINING)]
    per_gpu = True if any(word in _GPUS for word in tokens) else scope
    unit = _of_parts([_part(word) for word in tokens if word not in _GPUS], plain, divided, per_gpu)
    if unit is None or not of_several:
        return replace(unit, number=number) if unit and unit.is_rate else unit
    return None if unit.is_rate else replace(unit, number=float(of_several[1]))


def _of_parts(
    parts: list[tuple[str, float]], plain: str, divided: bool, per_gpu: bool | None
) -> TimeUnit | None:
    match parts:
        case [("time", seconds)]:
            return TimeUnit("iteration", seconds, False)
        case [("time", seconds), ("image" | "iteration" | "epoch" as counted, _)] if divided:
            return TimeUnit(counted, seconds, False, 1.0, per_gpu if counted == "image" else None)
        # "per step ms" and "step_ms" are the time of a step, "img_sec" is a rate.
        case [("image" | "iteration" as counted, _), ("time", seconds)] if plain.startswith(_PER):
            return TimeUnit(counted, seconds, False, 1.0, per_gpu)
        case [("iteration" | "epoch" as counted, _), ("time", seconds)] if not divided:
            return TimeUnit(counted, seconds, False)
        case [("image" | "iteration" as counted, _), ("time", seconds)] if seconds >= 1.0 and (
            divided or seconds == 1.0
        ):
            return TimeUnit(counted, seconds, True, 1.0, per_gpu)
    return None


def _scope(text: str) -> tuple[bool | None, str]:
    """Return whether a text says that a rate is of one GPU, False where of all, and the rest of it."""
    rest = re.sub(r"[\s/,]*\b(total|overall|aggregate|global|all gpus|gesamt)\b[\s,]*", " ", text)
    return (False if rest != text else None), rest.strip()


def _part(word: str) -> tuple[str, float]:
    if word in _SECONDS:
        return "time", _SECONDS[word]
    kinds = {"image": _IMAGES, "iteration": _ITERATIONS, "epoch": _EPOCHS}
    return next((kind for kind, known in kinds.items() if word in known), "other"), 0.0


#: Units that a column without one may have, the likely ones first.
CANDIDATES: tuple[TimeUnit, ...] = (
    TimeUnit("iteration", 1e-3, False),
    TimeUnit("iteration", 1.0, False),
    TimeUnit("image", 1.0, True, 1.0, False),
    TimeUnit("image", 1.0, True, 1.0, True),
    TimeUnit("iteration", 1.0, True),
    TimeUnit("iteration", 1e-6, False),
    TimeUnit("image", 1e-3, False),
    TimeUnit("image", 1.0, False),
    TimeUnit("image", 1.0, True, 1e3, False),
)

#: How many of them are usual.
N_USUAL = 6


def unit_choices(several_gpus: bool = False) -> tuple[str, ...]:
    """Return the usual units as `--unit` takes them.

    >>> unit_choices()
    ('ms', 's', 'images/s', 'it/s', 'us')
    """
    usual = CANDIDATES[:N_USUAL]
    usual = usual if several_gpus else tuple(replace(unit, per_gpu=None) for unit in usual)
    return tuple(dict.fromkeys(unit.text for unit in usual))
