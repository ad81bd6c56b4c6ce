"""The two closed forms of many-core processors as formulas of ours, usable wherever a formula is.

Viebke, Pllana, Memeti, Kolodziej, "Performance modelling of deep learning on Intel many integrated core
architectures", HPCS 2019: (a) counts operations, (b) starts from measured times of one image. All figures are
recalled, not copied from the paper; they reproduce its 24 predictions and its predictions by epochs to
0.05 min, and say nothing about measured times.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from types import MappingProxyType

from trainlaw.formulas import SECOND, FeatureSpec, Formula, GroupedConstant, Unit, parse_text, variables
from trainlaw.formulas.errors import check_name
from trainlaw.formulas.scopes import CUSTOM

#: The Xeon Phi 7120P, and the factor between counted and executed operations.
CLOCK_HZ = 1.238e9
CORES = 61
OPERATION_FACTOR = 15.0
#: Cycles per instruction of a thread, by threads per core; the value for four also holds beyond four.
CYCLES = (1.0, 1.0, 1.5, 2.0)
#: Numbers of threads in the table of memory contention.
THREADS = (1, 15, 30, 60, 120, 180, 240, 480, 960, 1920, 3840)


@dataclass(frozen=True)
class ManyCoreCnn:
    """One of the three CNNs: operations and seconds per image, forward and backward; preparation.

    contention_s : memory contention per image, seconds, at the numbers of threads in `THREADS` (measured up
    to 240). epochs : of the published runs.
    """

    forward_operations: float
    backward_operations: float
    preparation_operations: float
    forward_s: float
    backward_s: float
    preparation_s: float
    epochs: int
    contention_s: tuple[float, ...]


MANY_CORE_CNNS: Mapping[str, ManyCoreCnn] = MappingProxyType(
    {
        "small": ManyCoreCnn(
            58e3, 524e3, 1e9, 1.45e-3, 5.3e-3, 12.56, 70,
            # At 240 threads 1.40e-2 is recalled; of the values that round to it, 1.4041e-2 to 1.4050e-2
            # reproduces the published predictions by epochs. This is the middle.
            (7.10e-6, 6.40e-4, 1.36e-3, 3.07e-3, 6.76e-3, 9.95e-3, 1.4045e-2, 2.78e-2, 5.60e-2, 0.112, 0.225),
        ),
        "medium": ManyCoreCnn(
            559e3, 6119e3, 1e9, 12.55e-3, 69.73e-3, 12.7, 70,
            (1.56e-4, 2.00e-3, 3.97e-3, 8.03e-3, 1.65e-2, 2.50e-2, 3.83e-2, 7.31e-2, 0.147, 0.295, 0.591),
        ),
        "large": ManyCoreCnn(
            5349e3, 73178e3, 1e11, 148.88e-3, 859.19e-3, 13.5, 15,
            (8.83e-4, 8.75e-3, 1.67e-2, 3.22e-2, 6.74e-2, 0.100, 0.138, 0.273, 0.546, 1.09, 2.19),
        ),
    }
)  # fmt: skip

MODELS = ("a", "b")
NETWORK = "network"  # the key of the constants that differ by network
SOURCE = "Viebke, Pllana, Memeti, Kolodziej, HPCS 2019; figures recalled, not read off the paper"
IMAGES = {"train_images": 60_000.0, "test_images": 10_000.0}
_PUBLISHED_THREADS = (480, 960, 1920, 3840)
# Published predictions, minutes, at 480, 960, 1920 and 3840 threads (recalled).
PUBLISHED_MINUTES: Mapping[tuple[str, str], tuple[float, ...]] = {
    ("small", "a"): (6.6, 5.4, 4.9, 4.6),
    ("small", "b"): (6.7, 5.5, 4.9, 4.6),
    ("medium", "a"): (36.8, 23.9, 17.4, 14.2),
    ("medium", "b"): (39.1, 25.1, 18.0, 14.5),
    ("large", "a"): (92.9, 60.8, 44.8, 36.8),
    ("large", "b"): (82.6, 45.7, 27.2, 18.0),
}
# Small network, (a), 240 threads: minutes by epochs (recalled).
PUBLISHED_EPOCHS: Mapping[int, float] = {70: 8.9, 140: 17.6, 280: 35.0, 560: 69.7}
_SAMPLE, _PURE = Unit.parse("sample"), Unit.parse("1")
_FEATURES = (
    FeatureSpec("threads", "p", _PURE, "threads that train together", SOURCE, low=1),
    FeatureSpec("epochs", "ep", _PURE, "passes over the training images", SOURCE, low=1),
    FeatureSpec("train_images", "i", _SAMPLE, "images trained and validated on in an epoch", SOURCE, low=0),
    FeatureSpec("test_images", "it", _SAMPLE, "images tested on in an epoch", SOURCE, low=0),
    FeatureSpec("clock_hz", "s", Unit.parse("1/s"), "clock of a core", SOURCE, low=1),
    FeatureSpec("core_count", "c", _PURE, "cores of the processor", SOURCE, low=1),
)  # fmt: skip
_TARGET = FeatureSpec("time_s", "T", SECOND, "time of a whole training", SOURCE, low=0)


def many_core_formula(model: str) -> Formula:
    """Return model "a" (operations) or "b" (measured times of an image); raises UnknownNameError for others.

    The constants of a CNN are grouped by the label `network`; a CNN that is not known has no time
    (nan). Between the threads of its table, contention lies on a line of logarithms.

    >>> columns = {"threads": 480, "epochs": 70, "core_count": 61, "clock_hz": 1.238e9, **IMAGES}
    >>> for model in MODELS:
    ...     print(round(many_core_formula(model).predict(columns, {"network": ["small"]}).item() / 60, 1))
    6.6
    6.7
    """
    check_name("model", model, MODELS)
    expression = parse_text(_text_a() if model == "a" else _text_b())
    used = variables(expression)
    specs = tuple(spec for spec in _FEATURES if spec.name in used)
    grouped = tuple(constant for constant in _grouped() if constant.name in used)
    facts = {
        "method": f"model ({model}) of {SOURCE}",
        "processor": "Intel Xeon Phi 7120P: 61 cores, 4 threads a core, 1.238 GHz",
        "caution": "contention was measured to 240 threads and is extrapolated above; a digit at 240 threads "
        "comes from the row by epochs; no error against measured times is claimed",
        "cases": [case for case in published_cases() if case["model"] == model],
    }  # fmt: skip
    ranges = {"threads": (1.0, 3840.0), "core_count": (float(CORES), float(CORES))}
    return Formula(expression, specs, _TARGET, grouped, ranges, facts, scope=CUSTOM)


def published_cases() -> list[dict[str, str | float]]:
    """Return the 28 published predictions: model, CNN, inputs by name, `published_min` in minutes."""
    rows = [
        (model, network, threads, MANY_CORE_CNNS[network].epochs, minutes)
        for (network, model), cells in PUBLISHED_MINUTES.items()
        for threads, minutes in zip(_PUBLISHED_THREADS, cells, strict=True)
    ]
    rows += [("a", "small", 240, epochs, minutes) for epochs, minutes in PUBLISHED_EPOCHS.items()]
    fixed: dict[str, str | float] = {**IMAGES, "clock_hz": CLOCK_HZ, "core_count": float(CORES)}
    return [
        {"model": model, NETWORK: network, "threads": float(threads), "epochs": float(epochs), **fixed}
        | {"published_min": minutes}
        for model, network, threads, epochs, minutes in rows
    ]


def _text_a() -> str:
    preparation = "preparation_operations + 4 * train_images + 2 * test_images + 10 * epochs"
    images = (
        "(forward_operations + backward_operations) * train_images"
        " + forward_operations * (train_images + test_images)"
    )
    counted = f"({preparation}) / clock_hz + {_cycles()} * ({images}) / clock_hz * epochs / threads"
    return f"{OPERATION_FACTOR:g} * ({counted}) + {_contention()} * train_images * epochs / threads"


def _text_b() -> str:
    images = "(forward_s + backward_s) * train_images + forward_s * (train_images + test_images)"
    computing = f"preparation_s + {_cycles()} * ({images}) * epochs / threads"
    return f"{computing} + {_contention()} * train_images * epochs / threads"


def _cycles() -> str:
    """Cycles per instruction: a step wherever one more thread per core makes them more."""
    steps = [
        f"{more - less:g} * step(threads - ({each} * core_count + 0.5))"
        for each, (less, more) in enumerate(pairwise(CYCLES), start=1)
        if more != less
    ]
    return f"({CYCLES[0]:g} + {' + '.join(steps)})"


def _contention() -> str:
    """Contention of an image: the table's values weighted in logarithms by how near their threads are."""
    parts = []
    for number in range(1, len(THREADS)):
        before, here = THREADS[number - 1 : number + 1]
        rising = f"log(threads / {before}) / {math.log(here / before)!r}"
        falling = "1"
        if here != THREADS[-1]:
            after = THREADS[number + 1]
            falling = f"log({after} / threads) / {math.log(after / here)!r}"
        weight = f"max(0, min({rising}, {falling}))"
        parts.append(f"{weight} * log(contention_{here} / contention_{THREADS[0]})")
    return f"contention_{THREADS[0]} * exp({' + '.join(parts)})"


def _grouped() -> list[GroupedConstant]:
    """The constants of the CNNs; the default 0 leaves an unknown CNN without a time."""
    names = [field.name for field in fields(ManyCoreCnn) if field.name not in ("epochs", "contention_s")]
    values = {
        name: {cnn: float(getattr(MANY_CORE_CNNS[cnn], name)) for cnn in MANY_CORE_CNNS} for name in names
    }
    for place, threads in enumerate(THREADS):
        values[f"contention_{threads}"] = {
            cnn: float(facts.contention_s[place]) for cnn, facts in MANY_CORE_CNNS.items()
        }
    return [GroupedConstant(name, NETWORK, of_networks, 0.0) for name, of_networks in values.items()]
