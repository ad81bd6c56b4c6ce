"""Units of times and throughputs as headings and cells state them, and numbers with their unit."""

import datetime
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

import numpy as np
import pandas as pd
from trainlaw.datasets.files.numbers import number_of
from trainlaw.datasets.spreadsheets.words import meanings

_WHOLE: Mapping[str, str] = MappingProxyType(
    {"fps": "images/s", "ips": "images/s", "its": "it/s", "qps": "images/s"}
)
_PER = ("per", "pro", "par", "por", "je")
_DIVIDED = re.compile(rf"/|(?:^|[\s_])(?:{'|'.join(_PER)}|for|für)[\s_]")
_OF_ALL = re.compile(r"[\s/,]*\b(?:total|overall|aggregate|global|all gpus|gesamt)\b[\s,]*")
_JOINING = ("", *_PER, "a", "one", "for", "für")
_LONGEST = 200  # characters of a unit; of thousands of blanks, patterns would look for a word after each
_NAMES = {1.0: "s", 1e-3: "ms", 1e-6: "us", 1e-9: "ns", 60.0: "min", 3600.0: "h"}
# A number, perhaps approximate, of thousands, with a spread, a unit, or a comparison with another one.
_QUANTITY = re.compile(
    r"[~≈]?\s*([-+]?[\d.,'\u00a0\u202f ]*\d(?:e[-+]?\d+)?)\s*(k)?\s*(?:(?:±|\+/-|\+-)\s*[\d.,]+)?\s*"
    r"([^\d(]\D*)?(?:\s*\([-+]?\s*[\d.,]+\s*(?:%|x|\u00d7)\))?",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"(?:\d+\s*h(?:ours?)?\s*)?\d+\s*m(?:in)?\s*\d+\s*s|\d+:\d{2}:\d{2}(?:\.\d+)?", re.I)


@dataclass(frozen=True)
class TimeUnit:
    """The unit of a time or a throughput of training.

    counted : what one unit of time, or one time, is for: "iteration", "image", or "epoch" for all iterations
    of a run. seconds : of the unit of time. is_rate : whether the number is per time. per_gpu : whether
    images are those of one GPU; None where the text does not say.
    """

    counted: str
    seconds: float
    is_rate: bool = False
    per_gpu: bool | None = None

    @property
    def text(self) -> str:
        """The unit as `--unit` takes it.

        >>> parse_unit("imgs per second").text, parse_unit("[msec]").text
        ('images/s', 'ms')
        """
        time, things = _NAMES.get(self.seconds, ""), "images" if self.counted == "image" else "it"
        if self.is_rate:
            return f"{things}/{time}{ {True: '/gpu', False: '/total', None: ''}[self.per_gpu] }"
        return time if self.counted == "iteration" or not time else f"{time}/{self.counted}"

    @property
    def is_open(self) -> bool:
        """Whether it does not say if a throughput is of one GPU or of all."""
        return self.is_rate and self.counted == "image" and self.per_gpu is None

    def seconds_of(
        self, numbers: np.ndarray, batch_per_gpu: np.ndarray, n_gpus: np.ndarray, iterations: np.ndarray
    ) -> np.ndarray:
        """Return the iteration times in s of numbers in this unit; all arrays have shape (n,).

        iterations : of the epoch or run that a time of "epoch" is for.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            images = batch_per_gpu * (1.0 if self.per_gpu else n_gpus)
            per_iteration = {"image": images, "epoch": 1.0 / iterations}.get(self.counted, 1.0)
            times = self.seconds / numbers if self.is_rate else self.seconds * numbers
            return np.asarray(per_iteration * times)


@lru_cache(maxsize=10_000)
def parse_unit(text: str) -> TimeUnit | None:
    """Return the unit that a text is, None where it is none.

    >>> parse_unit("img/s/GPU").per_gpu, parse_unit("s / it").is_rate, parse_unit("Tesla T4")
    (True, False, None)
    >>> [parse_unit(text).text for text in ("Bilder je Sekunde", "Sekunden je Bild", "ms je Iteration")]
    ['images/s', 's/image', 'ms']
    """
    stated = re.sub(r"[()\[\]{}<>]", " ", text if len(text) <= _LONGEST else "").strip().lower()
    plain = _OF_ALL.sub(" ", stated).strip()
    seconds, counted = meanings("second"), meanings("counted")
    tokens = [word for word in re.split(r"[\s_/]+", _WHOLE.get(plain, plain)) if word not in _JOINING]
    of_all = None if plain == stated else False
    per_gpu = True if any(counted.get(word) == "gpu" for word in tokens) else of_all
    parts = [counted.get(word, "") for word in tokens if counted.get(word) != "gpu"]
    times = [float(seconds[word]) for word in tokens if word in seconds]
    divided = _DIVIDED.search(_WHOLE.get(plain, plain)) is not None
    # Where the two parts are "time" and "thing", this is the thing, and whether it comes first.
    thing, is_first = "".join(parts), bool(parts and parts[0])
    if len(times) != 1 or len(parts) != 1 + bool(thing):
        return None
    if not thing:
        return TimeUnit("iteration", times[0])
    of_gpu = per_gpu if thing == "image" else None
    # "per step ms" and "step_ms" are the time of a step, "img_sec" is a rate.
    is_time = plain.startswith(_PER) or (not divided and thing != "image") if is_first else divided
    if is_time:
        return TimeUnit(thing, times[0], False, of_gpu)
    is_rate = is_first and thing != "epoch" and (times[0] == 1.0 or (divided and times[0] > 1.0))
    return TimeUnit(thing, times[0], True, per_gpu) if is_rate else None


#: Of a time whose heading says what it is of, but not its unit.
NO_UNIT = TimeUnit("iteration", math.nan)
#: Units that a column without one may have, the likely ones first; the first six are usual.
CANDIDATES: tuple[TimeUnit, ...] = (
    TimeUnit("iteration", 1e-3),
    TimeUnit("iteration", 1.0),
    TimeUnit("image", 1.0, True, False),
    TimeUnit("image", 1.0, True, True),
    TimeUnit("iteration", 1.0, True),
    TimeUnit("iteration", 1e-6),
    TimeUnit("image", 1e-3),
    TimeUnit("image", 1.0),
)


def unit_choices(several_gpus: bool = False) -> tuple[str, ...]:
    """Return the usual units as `--unit` takes them.

    >>> unit_choices()
    ('ms', 's', 'images/s', 'it/s', 'us')
    """
    usual = CANDIDATES[:6] if several_gpus else [replace(unit, per_gpu=None) for unit in CANDIDATES[:6]]
    return tuple(dict.fromkeys(unit.text for unit in usual))


def quantity(cell: object, decimal: str = ".") -> tuple[float, TimeUnit | None]:
    """Return the number in a cell and the unit written with it, None without one; nan where it is no number.

    Durations such as 17m31s count in seconds.

    >>> quantity("12,5 ms", ",")[0], quantity("1.2k img/s")[1].text, quantity("soon")[0]
    (12.5, 'images/s', nan)
    >>> quantity("17m31s")[0]
    1051.0
    """
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return float(cell), None
    text = cell.isoformat() if isinstance(cell, datetime.time) else str(cell).strip()
    if not math.isnan(number := number_of(text, decimal)):
        return number, None
    if isinstance(cell, datetime.timedelta) or _CLOCK.fullmatch(text):
        lasts = pd.Timedelta(cell if isinstance(cell, datetime.timedelta) else text)
        return lasts.total_seconds(), TimeUnit("iteration", 1.0)
    match = _QUANTITY.fullmatch(text) if len(text) < 80 else None
    unit = parse_unit(match[3]) if match and match[3] else None
    if match is None or isinstance(cell, bool) or (match[3] and unit is None):
        return math.nan, unit
    return number_of(match[1], decimal) * (1e3 if match[2] else 1.0), unit
