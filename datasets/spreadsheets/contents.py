"""What the cells of a column are, by their values alone: names, precisions, sizes, numbers with units."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trainlaw.datasets.spreadsheets import our
from trainlaw.datasets.spreadsheets.blocks import is_numeric
from trainlaw.datasets.spreadsheets.phrases import Names
from trainlaw.datasets.spreadsheets.quantities import parse_unit
from trainlaw.datasets.spreadsheets.values import (
    DATASETS,
    NO,
    SPELLINGS,
    TRAINING,
    YES,
    is_unmeasured,
    quantity,
)
from trainlaw.datasets.spreadsheets.words import groups

_INFERENCE = frozenset(groups("phrase")["inference"])
_SAMPLE = 60  # different values of a column that are looked at
_LEAST_OF_INDEX = 3  # numbers in a row
_MOST = 0.7  # share of the values that must agree


@dataclass(frozen=True)
class Content:
    """What the cells of a column are.

    kinds : our columns that most texts are values of. numbers : share of numbers among the measured cells.
    wholes : the numbers where all are whole, else none. fractions : share of numbers that are not whole.
    has_units : whether cells state units of times, and is_rate : of throughputs. is_flag : whether all cells
    say yes or no. is_index : whether they are 1, 2, 3 and so on, in any order.
    """

    kinds: tuple[str, ...] = ()
    numbers: float = 0.0
    wholes: tuple[int, ...] = ()
    fractions: float = 0.0
    has_units: bool = False
    is_rate: bool = False
    is_flag: bool = False
    is_index: bool = False


def content_of(cells: Sequence[object], names: Names) -> Content:
    """Return what the cells of a column are, by its first different values."""
    distinct = [cell for cell in dict.fromkeys(cells) if not is_unmeasured(cell)][:_SAMPLE]
    if not distinct:
        return Content()
    numeric = [cell for cell in distinct if is_numeric(cell)]
    lowered = [str(cell).strip().lower() for cell in distinct]
    is_flag = all(text in YES | NO or text in ("1.0", "0.0") for text in lowered) and len(distinct) < 3
    texts = [
        str(cell) for cell in distinct if isinstance(cell, str) and not re.fullmatch(r"[-+\d.,' ]+", cell)
    ]
    found = [quantity(cell, ".") for cell in numeric]
    units = [unit for _, unit in found if unit is not None]
    wholes = tuple(int(number) for number, _ in found if number.is_integer())
    has_units = len(units) > 0.5 * len(distinct)
    kinds = () if has_units or is_flag else _kinds(texts, names)
    return Content(
        kinds, len(numeric) / len(distinct), wholes if len(wholes) == len(distinct) else (),
        1 - len(wholes) / len(found) if found else 0.0, has_units,
        any(unit.is_rate for unit in units), is_flag,
        len(wholes) >= _LEAST_OF_INDEX and sorted(wholes) == list(range(1, len(wholes) + 1)),
    )  # fmt: skip


def _kinds(texts: list[str], names: Names) -> tuple[str, ...]:
    """Return our columns that most of some texts are values of."""
    if not texts:
        return ()
    lowered = [text.strip().lower() for text in texts]
    least = _MOST * len(texts)
    if sum(parse_unit(text) is not None for text in texts) >= least:
        return (our.UNIT,)
    precisions = SPELLINGS["precision"].keys() - {"unknown", "default"}
    layouts = SPELLINGS["layout"].keys() - {"unknown"}
    for kind, known in ((our.MODE, TRAINING | _INFERENCE), ("layout", layouts), ("precision", precisions)):
        if sum(text in known for text in lowered) >= least:
            return (kind,)
    # Names alone, the usual case, say nothing else; a text is read as a phrase in much more time.
    counts: dict[str, Callable[[], int]] = {
        our.DATASET: lambda: sum(re.sub(r"[^a-z0-9]", "", text) in DATASETS for text in lowered),
        "gpu": lambda: sum(len(names.meant("gpu", text)) == 1 for text in texts),
        "cnn": lambda: sum(len(names.meant("cnn", text)) == 1 for text in texts),
    }
    for kind, count in counts.items():
        if count() >= least:
            return (kind,)
    phrases = [names.phrase(text) for text in texts]
    kinds = dict.fromkeys(kind for phrase in phrases for kind in phrase.said)
    if sum(bool({"layout", "compilation"} & set(phrase.said)) for phrase in phrases) >= least:
        return tuple(kind for kind in kinds if kind in ("layout", "compilation"))
    return tuple(kind for kind in kinds if sum(kind in phrase.said for phrase in phrases) >= least)
