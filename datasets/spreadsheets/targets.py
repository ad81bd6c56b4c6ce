"""Columns of a block by the names of the runs schema, from their cells and headings."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from trainlaw.datasets.spreadsheets import fields
from trainlaw.datasets.spreadsheets.blocks import MARK, Block, is_numeric
from trainlaw.datasets.spreadsheets.headings import Meaning, of_statistics, read_heading, without_unit
from trainlaw.datasets.spreadsheets.phrases import Names, is_of_training
from trainlaw.datasets.spreadsheets.quantities import parse_unit
from trainlaw.datasets.spreadsheets.values import (
    DATASETS,
    NO,
    SPELLINGS,
    TRAINING,
    YES,
    is_unmeasured,
    quantity,
    yes_or_no,
)
from trainlaw.datasets.spreadsheets.words import groups

USUAL_SIZES = frozenset((112, 160, 192, 224, 299))  # of images, px
SIZES = USUAL_SIZES | {28, 32, 48, 64, 96, 128, 227, 240, 256, 260, 288, 300, 320, 380, 384, 448, 512}
USUAL_GPUS = frozenset((1, 2, 3, 4, 6, 8, 16, 32, 64, 128, 256, 512, 1024))
_BITS = frozenset((16, 32, 64))  # of a precision
_AS_THEY_ARE = (fields.IGNORED, fields.DATASET, fields.UNIT, "date", "framework", "framework_version", "data")
#: What texts are taken for where they are several things.
_ORDER = (
    "cnn",
    "gpu",
    "precision",
    *fields.COUNTS,
    "layout",
    "compilation",
    fields.MODE,
    fields.DATASET,
    fields.UNIT,
)
# What a header says next to GPUs, precisions and so on makes it another thing, such as the memory of a GPU.
_UNRELATED = 2
_MOST_BATCH = 8192
_INFERENCE = frozenset(groups("phrase")["inference"])
_SAMPLE = 60  # different values of a column that are looked at
_LEAST_OF_INDEX = 3  # numbers in a row
_LEAST_GPU = 500  # "3090" next to other GPUs is one
_MOST = 0.7  # share of the values that must agree
_FRACTIONS = 0.5  # share of numbers that are not whole, from which on a column counts nothing


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
        kinds,
        len(numeric) / len(distinct),
        wholes if len(wholes) == len(distinct) else (),
        1 - len(wholes) / len(found) if found else 0.0,
        has_units,
        any(unit.is_rate for unit in units),
        is_flag,
        len(wholes) >= _LEAST_OF_INDEX and sorted(wholes) == list(range(1, len(wholes) + 1)),
    )


def _kinds(texts: list[str], names: Names) -> tuple[str, ...]:
    """Return our columns that most of some texts are values of."""
    if not texts:
        return ()
    lowered = [text.strip().lower() for text in texts]
    least = _MOST * len(texts)
    if sum(parse_unit(text) is not None for text in texts) >= least:
        return (fields.UNIT,)
    precisions = SPELLINGS["precision"].keys() - {"unknown", "default"}
    layouts = SPELLINGS["layout"].keys() - {"unknown"}
    for kind, known in ((fields.MODE, TRAINING | _INFERENCE), ("layout", layouts), ("precision", precisions)):
        if sum(text in known for text in lowered) >= least:
            return (kind,)
    # Names alone, the usual case, say nothing else; a text is read as a phrase in much more time.
    counts: dict[str, Callable[[], int]] = {
        fields.DATASET: lambda: sum(re.sub(r"[^a-z0-9]", "", text) in DATASETS for text in lowered),
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


def header_meaning(block: Block, place: int, names: Names) -> tuple[Meaning, Mapping[str, str]]:
    """Return what a header means, with its upper lines, and which GPU, batch and so on it says.

    place : of the column in the block.
    """
    path = tuple(MARK.sub("", text).strip() or text for text in block.paths[place])
    if not path:
        return Meaning(""), {}
    leaf = path[-1]
    meaning = read_heading(leaf)
    if leaf == "#" and place and read_heading((block.paths[place - 1] or ("",))[-1]).target == "gpu":
        # MLPerf's tables have the number of accelerators next to their name.
        return Meaning("n_gpus"), {}
    leaves = [own[-1] for own in block.paths if own]
    statistic = of_statistics(leaf, leaves)
    if statistic and (len(path) == 1 or statistic.target == fields.IGNORED):
        meaning = statistic
    said: dict[str, str] = {}
    unit, iterations, phases = meaning.unit, 1.0, set()
    for text in path:
        phrase = names.phrase(text)
        phases.add(phrase.phase)
        iterations = max(iterations, phrase.iterations)
        unit = unit or phrase.unit
        conflicting = phrase.several or (phrase.is_negated and phrase.said)
        said = {**said, **phrase.said, **({fields.IGNORED: text} if conflicting else {})}
        if [word for word in phrase.rest if read_heading(word).target == fields.IGNORED]:
            said[fields.IGNORED] = text
    label = leaf if leaf.isdecimal() else ""
    if label:
        said |= {_label_kind(path, block, names): label}
    if meaning.target in ("", fields.TIME) and iterations > 1 and (unit is None or not unit.is_rate):
        meaning = Meaning(fields.TIME, unit)
    if len(path) > 1 and not meaning.target:
        meaning = _of_path(path, said) or meaning
    if unit is not None and meaning.unit is None:
        meaning = replace(meaning, unit=unit)
    if "inference" in phases:
        meaning = Meaning(fields.OTHER_TIME, meaning.unit)
    if iterations > 1 and meaning.unit is not None and not meaning.unit.is_rate:
        meaning = replace(meaning, unit=replace(meaning.unit, number=iterations))
    return meaning, said


def _label_kind(path: Sequence[str], block: Block, names: Names) -> str:
    """Return what a number that heads a column is: a batch size, unless its group or the corner says else."""
    corner = (block.paths[0] or ("",))[-1]
    if int(path[-1]) > _LEAST_GPU and any(
        "gpu" in names.phrase(other[-1]).said for other in block.paths if other
    ):
        return "gpu"
    for text in (*reversed(path[:-1]), *re.split(r"[\\/|]", corner)):
        if (target := read_heading(text).target) in fields.COUNTS:
            return target
        if target == "gpu" and re.search(r"gpus|number|anzahl|#", text, re.IGNORECASE):
            return "n_gpus"
    return fields.BATCH


def _of_path(path: Sequence[str], said: Mapping[str, str]) -> Meaning | None:
    """Return what the lines of a header mean together, None where nothing is known."""
    together = [" ".join((text, path[-1])) for text in path[:-1]]
    for text in (*together, *path[:-1]):
        meaning = read_heading(text)
        if meaning.target and (
            not said
            or meaning.target in (*fields.MEASURES, fields.EPOCH_TIME, fields.OTHER_TIME, fields.IGNORED)
        ):
            return meaning
    return None


class Targets:
    """Our name of each column of a block, "" where nothing is known.

    contents : of each column by its place. by_place : name, what the heading means, and what it says
    besides. rejected : places of cells that cannot be what their heading says, with our name of that.
    notes : on exchanged headings. block : with the headings exchanged.
    """

    def __init__(self, block: Block, names: Names) -> None:
        self.block, self.names = block, names
        self.contents: dict[int, Content] = {}
        self.by_place: dict[int, tuple[str, Meaning, Mapping[str, str]]] = {}
        self.rejected: dict[int, str] = {}
        self.notes: list[str] = []

    def find(self, places: Iterable[int]) -> None:
        """Find what the columns at `places` are; exchange two headings where each fits the other's cells."""
        for place in places:
            self.contents[place] = content_of(self.block.cells(place), self.names)
            self._find_target(place)
        self._exchange()

    def _find_target(self, place: int) -> None:
        """Find what a column is by its cells and its header."""
        meaning, said = header_meaning(self.block, place, self.names)
        target = self._target(place, meaning, said)
        self.by_place[place] = target, meaning, said

    def _exchange(self) -> None:
        """Exchange the headings of a column whose cells cannot be what it says and of the one that fits both.

        Of several that do, one whose cells are something else, too, is taken, then one with a known heading.
        """
        odd = [place for place in self.by_place if self._is_odd(place)]
        for place in odd:
            heading = self.by_place[place][1].target
            others = [
                other
                for other in self.by_place
                if other != place
                and self._may_be(other, heading)
                and self._may_be(place, self.by_place[other][1].target)
                and not self._is_pivoted(other)
            ]
            exact = [other for other in others if other in odd or self._is_freed(other)]
            known = [other for other in others if self.by_place[other][1].target not in fields.UNSPECIFIC]
            best = exact or known or others
            if len(best) == 1:
                self._give_heading(place, best[0])
                return

    def _is_freed(self, place: int) -> bool:
        """Return whether the cells of a column are something else than its heading says."""
        target, meaning, _ = self.by_place[place]
        return (
            target != meaning.target in (*fields.NAMES, *fields.MEASURED, *fields.COUNTS)
            and place not in self.rejected
        )

    def _is_pivoted(self, place: int) -> bool:
        """Return whether a heading is only a value, such as the name of a GPU above its times."""
        _, meaning, said = self.by_place[place]
        return meaning.target in fields.UNSPECIFIC and bool(set(said) - {fields.IGNORED})

    def _give_heading(self, place: int, other: int) -> None:
        """Exchange the last lines of the headers of two columns; names of groups above them stay."""
        paths = list(self.block.paths)
        one, two = paths[place], paths[other]
        paths[place], paths[other] = (*one[:-1], *two[-1:]), (*two[:-1], *one[-1:])
        self.block = replace(self.block, paths=tuple(paths))
        for own in (place, other):
            self.rejected.pop(own, None)
            self._find_target(own)
        self.notes.append(f"{self.block.headings[place]} is read under another column's heading")

    def _is_odd(self, place: int) -> bool:
        """Return whether the cells of a column cannot be what its heading says, and are nothing known."""
        target, meaning, _ = self.by_place[place]
        content = self.contents[place]
        is_text = not all(map(is_unmeasured, self.block.cells(place))) and not content.numbers
        is_nameless = is_text and not content.kinds and not content.is_flag
        # Numbers below "GPU" count them, unless its names are below the heading of the batches.
        is_batch = any(
            self._is_freed(other) and own[1].target in fields.BATCHES for other, own in self.by_place.items()
        )
        is_rejected = place in self.rejected and (not target or is_batch)
        is_measure = meaning.target in fields.MEASURED and is_text and not content.is_flag
        return (
            is_rejected
            or is_measure
            or (meaning.target in (*fields.NAMES, *fields.STACK, *fields.COUNTS) and is_nameless)
        )

    def _may_be(self, place: int, target: str) -> bool:
        """Return whether the cells of a column may be what a heading says."""
        content = self.contents[place]
        if target in fields.COUNTS:
            return self._is_count(place)
        if target in fields.MEASURED:
            is_other = content.is_flag or content.is_index or self._is_count(place)
            return content.numbers > 0.5 and not is_other
        if target in (fields.IMAGES_PER_EPOCH, fields.ITERATIONS):
            return bool(content.wholes) and not self._is_count(place)
        if target == "precision" and content.wholes:
            return _BITS.issuperset(content.wholes)
        is_named = {"network": "cnn"}.get(target, target) in content.kinds
        return is_named or target in fields.UNSPECIFIC or (target.startswith(fields.FLAG) and content.is_flag)

    def _is_count(self, place: int) -> bool:
        """Return whether all cells of a column may be sizes of batches or images."""
        wholes = self.contents[place].wholes
        return bool(wholes) and (all(map(is_batch, wholes)) or SIZES.issuperset(wholes))

    def _target(self, place: int, meaning: Meaning, said: Mapping[str, str]) -> str:
        """Return what a column is, "" where nothing is known."""
        target, content = meaning.target, self.contents[place]
        is_numeric = content.numbers >= 0.5 or content.has_units
        is_odd = target in (*fields.NAMES, "network") and (
            is_numeric
            or (content.kinds and target not in content.kinds)
            or (content.is_flag and target != "precision")
        )
        if meaning.is_exact and not (is_odd or (target in fields.COUNTS and content.fractions > _FRACTIONS)):
            return fields.TIME if target == "time_s" else target
        if content.is_flag:
            is_odd = target in (*fields.COUNTS, *fields.MEASURED, "gpu", "cnn", "network") and not is_numeric
            return (
                self._rejected(place, target)
                if is_odd
                else _of_flags(self.block.headings[place], meaning, said)
            )
        if is_numeric:
            return self._numeric_target(place, meaning, said)
        if target in _AS_THEY_ARE or content.kinds:
            is_other_kind = (
                target in (fields.DATASET, fields.UNIT) and content.kinds and target not in content.kinds
            )
            is_other = is_other_kind or not fields.STACK.isdisjoint(content.kinds)
            is_kept = target in _AS_THEY_ARE and not is_other
            return target if is_kept else _of_kinds(target, content.kinds)
        filled = [cell for cell in self.block.cells(place) if cell is not None]
        if target.startswith(fields.FLAG) and all(yes_or_no(cell) is None for cell in filled):
            return self._rejected(place, target)
        unmeasured = any(map(is_unmeasured, filled))
        return target or (fields.TIME if said and unmeasured else "")

    def _numeric_target(self, place: int, meaning: Meaning, said: Mapping[str, str]) -> str:
        """Return what a column of numbers is."""
        target, content = meaning.target, self.contents[place]
        is_measure = target in fields.MEASURED
        if target in (fields.IGNORED, fields.OTHER_TIME) or fields.IGNORED in said:
            return target or fields.IGNORED
        if target == "gpu" or (content.kinds and not is_measure):
            target = _of_numbered_names(content, self.names, self.block.cells(place))
            self.rejected |= {place: "gpu"} if target in ("", "n_gpus") and meaning.target == "gpu" else {}
            return target
        rate_or_time = (
            fields.RATE if content.is_rate or (meaning.unit and meaning.unit.is_rate) else fields.TIME
        )
        plain = read_heading(without_unit(" ".join(self.block.paths[place]))[0]).target
        if is_measure and plain in fields.COUNTS and self._is_count(place):
            # "Batch (ms)" with the sizes of batches has the unit of another column.
            return plain
        if content.has_units or (is_measure and not content.is_index):
            return target if is_measure else rate_or_time
        if target.startswith(fields.FLAG) or (not target and said):
            rest = [word for text in self.block.paths[place] for word in self.names.phrase(text).rest]
            is_other = len([word for word in rest if not read_heading(word).target]) > _UNRELATED
            return "" if is_other or not said else rate_or_time
        is_odd = (
            (target == "precision" and not _BITS.issuperset(content.wholes or (0,)))
            or (target in (*fields.COUNTS, *fields.OF_EPOCHS) and content.fractions > _FRACTIONS)
            or target in (*fields.MEASURED, "cnn", "network", fields.UNIT)
        )
        return self._rejected(place, target) if is_odd else target

    def _rejected(self, place: int, target: str) -> str:
        self.rejected[place] = target
        return ""


def _of_kinds(target: str, kinds: tuple[str, ...]) -> str:
    """Return what a column of texts is whose values are known."""
    if target in kinds or (target in fields.BATCHES and fields.BATCH in kinds):
        return target
    if target.startswith(fields.FLAG) and "precision" in kinds:
        return "precision"
    return next((kind for kind in _ORDER if kind in kinds), target)


def _of_flags(heading: str, meaning: Meaning, said: Mapping[str, str]) -> str:
    """Return what a column of yes and no is by its heading."""
    if is_of_training(heading):
        return fields.MODE
    precision = said.get("precision", "")
    if meaning.target.startswith(fields.FLAG) or precision not in ("amp", "fp16", "bf16", "tf32"):
        return meaning.target
    return f"{fields.FLAG}{precision}"


def _of_numbered_names(content: Content, names: Names, cells: list[object]) -> str:
    """Return what a column is that is headed as GPUs, or has values such as "8x V100", and holds numbers."""
    if content.kinds:
        return _of_kinds("", content.kinds)
    texts = {str(cell) for cell in cells if cell is not None}
    if all(
        (len(text) > 2 and names.meant("gpu", f"RTX {text}")) or names.meant("gpu", f"GTX {text}")
        for text in texts
    ):
        return "gpu"
    if content.wholes and 0 not in content.wholes and USUAL_GPUS.issuperset(content.wholes):
        return "n_gpus"
    return ""


def is_batch(number: int) -> bool:
    """Return whether a number is one that people choose as a batch size."""
    return 0 < number <= _MOST_BATCH and (
        number & (number - 1) == 0 or number % 8 == 0 or number in (10, 12, 20, 50, 100)
    )
