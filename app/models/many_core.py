"""The two closed forms of many-core processors as formulas of ours, usable wherever a formula is.

Viebke, Pllana, Memeti, Kolodziej, "Performance modelling of deep learning on Intel many integrated core
architectures", HPCS 2019: (a) counts operations, (b) starts from measured times of one image. All figures are
recalled and so marked; they reproduce the published cells, and say nothing about measured times.
"""

import math
from collections.abc import Mapping
from dataclasses import fields
from itertools import pairwise

from trainlaw.formulas import SECOND, FeatureSpec, Formula, GroupedConstant, Unit, parse_text, variables
from trainlaw.formulas.errors import check_name
from trainlaw.formulas.scopes import CUSTOM
from trainlaw.validate.baselines.many_core import (
    CLOCK_HZ,
    CORES,
    CYCLES,
    MANY_CORE_CNNS,
    OPERATION_FACTOR,
    THREADS,
    ManyCoreCnn,
)

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
    return Formula(expression, specs, _TARGET, grouped, {"threads": (1.0, 3840.0)}, facts, scope=CUSTOM)


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
