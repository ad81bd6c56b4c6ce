"""Units of times and throughputs as headers and cells state them, and the iteration time that follows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

_SECONDS: Mapping[str, float] = MappingProxyType(
    {
        word: seconds
        for seconds, tokens in (
            (1.0, "s sec secs second seconds sek sekunde sekunden"),
            (1e-3, "ms msec msecs milli millis millisec millisecs millisecond milliseconds millisekunden"),
            (1e-6, "us µs μs usec usecs microsec microsecond microseconds mikrosekunden"),
            (1e-9, "ns nsec nanosecond nanoseconds"),
            (60.0, "min mins minute minutes minuten"),
            (3600.0, "h hr hrs hour hours stunde stunden"),
        )
        for word in tokens.split()
    }
)
_IMAGES = frozenset(
    "img imgs image images im pic pics picture pictures sample samples example examples ex frame frames "
    "bild bilder record records item items".split()
)
_ITERATIONS = frozenset(
    "it its iter iters iteration iterations step steps batch batches minibatch update updates schritt "
    "schritte iterationen".split()
)
_GPUS = frozenset(("gpu", "gpus", "device", "accelerator", "die", "chip", "card"))
_WHOLE: Mapping[str, str] = {"fps": "images/s", "ips": "images/s", "its": "it/s", "qps": "images/s"}
_THOUSANDS = re.compile(r"^k(?=\s*(?:img|image|sample))|^(?:thousand|1000|1k)\s+")
_LONGEST_UNIT = 200
_NAMES = {1.0: "s", 1e-3: "ms", 1e-6: "us", 1e-9: "ns", 60.0: "min", 3600.0: "h"}


@dataclass(frozen=True)
class Unit:
    """The unit of a time or a throughput of training.

    counted : what one unit of time, or one time, is for: "iteration" or "image". seconds : of the unit of
    time. is_rate : whether the number is per time. thousands : 1e3 where the number counts thousands.
    per_gpu : whether images are those of one GPU; None where the text does not say.
    """

    counted: str
    seconds: float
    is_rate: bool
    thousands: float = 1.0
    per_gpu: bool | None = None

    @property
    def text(self) -> str:
        """The unit as `--unit` takes it.

        >>> parse_unit("imgs per second").text, parse_unit("[msec]").text
        ('images/s', 'ms')
        """
        time, things = _NAMES[self.seconds], "images" if self.counted == "image" else "it"
        if self.is_rate:
            ending = {True: "/gpu", False: "/total", None: ""}[self.per_gpu]
            return f"{'k' if self.thousands > 1 else ''}{things}/{time}{ending}"
        return f"{time}/image" if self.counted == "image" else time

    def seconds_of(self, numbers: np.ndarray, batch_per_gpu: np.ndarray, n_gpus: np.ndarray) -> np.ndarray:
        """Return the iteration times in s of numbers in this unit; all arrays have shape (n,)."""
        images = batch_per_gpu * (1.0 if self.per_gpu else n_gpus)
        per_iteration = images if self.counted == "image" else np.ones_like(numbers)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self.is_rate:
                return np.asarray(per_iteration * self.seconds / (numbers * self.thousands))
            return np.asarray(numbers * self.seconds * per_iteration)


def parse_unit(text: str) -> Unit | None:
    """Return the unit that a text is, None where it is none.

    >>> parse_unit("img/s/GPU").per_gpu, parse_unit("s / it").is_rate, parse_unit("Tesla T4")
    (True, False, None)
    """
    # Of thousands of blanks, patterns would look for a word after each.
    stated = text if len(text) <= _LONGEST_UNIT else ""
    plain = re.sub(r"[()\[\]{}<>]", " ", stated).strip().lower()
    thousands = 1e3 if _THOUSANDS.match(plain) else 1.0
    plain = _THOUSANDS.sub("", plain)
    scope, plain = _scope(plain)
    plain = _WHOLE.get(plain.strip(), plain)
    divided = re.search(r"/|(?:^|[\s_])p(?:er|ro)[\s_]", plain) is not None
    tokens = [
        word for word in re.split(r"[\s_/]+", plain.strip()) if word not in ("", "per", "pro", "a", "one")
    ]
    per_gpu = True if any(word in _GPUS for word in tokens) else scope
    match [_part(word) for word in tokens if word not in _GPUS]:
        case [("time", seconds)]:
            return Unit("iteration", seconds, False)
        case [("time", seconds), ("image" | "iteration" as counted, _)] if divided:
            return Unit(counted, seconds, False, 1.0, per_gpu)
        # "per step ms" and "step_ms" are the time of a step, "img_sec" is a rate.
        case [("image" | "iteration" as counted, _), ("time", seconds)] if plain.startswith(("per", "pro")):
            return Unit(counted, seconds, False, 1.0, per_gpu)
        case [("iteration", _), ("time", seconds)] if not divided:
            return Unit("iteration", seconds, False)
        case [("image" | "iteration" as counted, _), ("time", seconds)] if seconds >= 1.0 and (
            divided or seconds == 1.0
        ):
            return Unit(counted, seconds, True, thousands, per_gpu)
    return None


def _scope(text: str) -> tuple[bool | None, str]:
    """Return whether a text says that a rate is of one GPU, False where of all, and the rest of it."""
    rest = re.sub(r"[\s/,]*\b(total|overall|aggregate|global|all gpus|gesamt)\b[\s,]*", " ", text)
    return (False if rest != text else None), rest.strip()


def _part(word: str) -> tuple[str, float]:
    if word in _SECONDS:
        return "time", _SECONDS[word]
    return ("image" if word in _IMAGES else "iteration" if word in _ITERATIONS else "other"), 0.0


#: Units that a column without one may have, the likely ones first.
CANDIDATES: tuple[Unit, ...] = (
    Unit("iteration", 1e-3, False),
    Unit("iteration", 1.0, False),
    Unit("image", 1.0, True, 1.0, False),
    Unit("image", 1.0, True, 1.0, True),
    Unit("iteration", 1.0, True),
    Unit("iteration", 1e-6, False),
    Unit("image", 1e-3, False),
    Unit("image", 1.0, False),
    Unit("image", 1e-6, False),
    Unit("iteration", 60.0, False),
    Unit("iteration", 3600.0, False),
    Unit("iteration", 1e-9, False),
    Unit("image", 60.0, True, 1.0, False),
    Unit("image", 3600.0, True, 1.0, False),
    Unit("image", 1.0, True, 1e3, False),
    Unit("iteration", 60.0, True),
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
