"""Columns of a table by the user's answers, else their values, else the words of their headings."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from trainlaw.datasets.spreadsheets import fields
from trainlaw.datasets.spreadsheets.answers import SheetAnswers, choices
from trainlaw.datasets.spreadsheets.blocks import Block
from trainlaw.datasets.spreadsheets.headings import Meaning, near_target, read_heading
from trainlaw.datasets.spreadsheets.rows import Dialogue
from trainlaw.datasets.spreadsheets.targets import (
    SIZES,
    USUAL_GPUS,
    USUAL_SIZES,
    Targets,
    header_meaning,
    is_batch,
)
from trainlaw.datasets.spreadsheets.words import groups
from trainlaw.formulas.errors import InputError, check_name, shown, unknown_name

#: Columns of yes and no that --column takes.
FLAGS = tuple(name.removeprefix(fields.FLAG) for name in groups("heading") if name.startswith(fields.FLAG))
#: Names that --column and --set take.
COLUMN_NAMES = (
    *fields.SCHEMA,
    fields.TIME,
    fields.RATE,
    fields.BATCH,
    fields.GLOBAL_BATCH,
    fields.GPUS_PER_NODE,
    fields.MODE,
    fields.DATASET,
    fields.IMAGES_PER_EPOCH,
    fields.ITERATIONS,
)
_MEDIAN = re.compile(r"median|p50", re.IGNORECASE)
_PHASES = re.compile(r"\b(?:forward|backward|fwd|bwd)\b", re.IGNORECASE)
_SAMPLE = 60  # cells of a column whose names are looked up


@dataclass(frozen=True)
class Measure:
    """A column of times or throughputs: its place in the block, what it means, and what its header says."""

    place: int
    heading: str
    meaning: Meaning
    said: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_rate(self) -> bool:
        """Whether the numbers are throughputs."""
        return self.meaning.target == fields.RATE


def answers_time(answers: SheetAnswers) -> bool:
    """Return whether the user named the column of the times."""
    return bool({"time_s", fields.TIME, fields.RATE} & set(answers.columns))


def check_named(blocks: Iterable[Block], answers: SheetAnswers) -> None:
    """Raise InputError for a column that the user named and no table has."""
    headings = [heading for block in blocks for heading in block.headings]
    for ours, heading in answers.columns.items():
        check_name("column", ours, (*COLUMN_NAMES, *FLAGS, fields.IGNORED))
        if heading not in headings:
            raise InputError(f"--column {ours}={heading}: {unknown_name('column', heading, headings)}")


class SheetColumns:
    """What the columns of a block are.

    keys : place of each of our columns; sure : those that the user or the schema names. measures : of times
    and throughputs. runs : the measure of each run of a row, with one that it can be compared with. extra :
    our columns that texts of a column name besides, with its place. notes : on columns that are not read.
    unknown : places of columns of which nothing is known. left : places of columns that are not read, with
    the reason. targets : what each column is that the user did not name.
    """

    def __init__(self, block: Block, dialogue: Dialogue, known: Iterable[str]) -> None:
        """Find what the columns are; ask about what is open. known : columns that titles or sections give."""
        self.block, self.ask = block, dialogue.ask
        self.answers, self.names = dialogue.answers, dialogue.names
        self.known = {*known, *dialogue.answers.constants}
        self.targets = Targets(block, self.names)
        self.keys: dict[str, int] = {}
        self.sure: set[str] = set()
        self.measures: list[Measure] = []
        self.runs: list[tuple[Measure, Measure | None]] = []
        self.extra: dict[str, int] = {}
        self.notes: list[str] = []
        self.unknown: list[int] = []
        self.left: dict[int, str] = {}
        self._read()
        have = {*self.known, *self.own}
        if not have & set(fields.BATCHES):
            self._guess_batch()
        elif not have & {"n_gpus", fields.GPUS_PER_NODE}:
            self._guess_gpus()
        weak = [measure for measure in self.measures if measure.meaning.is_weak]
        if not self.measures or (self.targets.rejected and weak == self.measures):
            self._guess_time()
        self.extra = {kind: place for kind, place in self.extra.items() if kind not in self.keys}
        self._note_left(have)

    @property
    def own(self) -> list[str]:
        """Our columns that the table itself states: in columns and in their headers."""
        return [*self.keys, *self.extra, *(kind for measure in self.measures for kind in measure.said)]

    def _read(self) -> None:
        """Find the keys and the measures."""
        self._take_named()
        taken = {*self.keys.values(), *(measure.place for measure in self.measures)}
        self.targets.find(set(range(len(self.block.headings))) - taken)
        self.block = self.targets.block
        self.notes += self.targets.notes
        candidates: dict[str, list[tuple[int, Meaning]]] = {}
        for place, (target, meaning, said) in self.targets.by_place.items():
            content = self.targets.contents[place]
            if fields.STACK <= set(content.kinds):
                # "NHWC" and "torch.compile" are in one column.
                self.extra |= dict.fromkeys(fields.STACK, place)
            elif target in fields.MEASURED:
                if answers_time(self.answers):
                    self.left[place] = "another column was named"
                elif not any(cell is not None for cell in self.block.cells(place)):
                    self.left[place] = "empty"
                else:
                    self.measures.append(self._measure(place, replace(meaning, target=target), said))
            elif target in fields.UNSPECIFIC:
                self.left[place] = ""
                self.unknown += [place] if not target else []
            else:
                candidates.setdefault(target, []).append((place, meaning))
                # What texts name besides what the column is: "ResNet-50 (bs 64)".
                for kind in content.kinds:
                    if kind != target and kind in (*fields.NAMES, *fields.COUNTS):
                        self.extra.setdefault(kind, place)
        for target, columns in candidates.items():
            self._add_key(target, columns)
        self._keep_best()
        self._read_labels()

    def _read_labels(self) -> None:
        """Read names that no other column has from labels such as "resnet50_bs32" under "run"."""
        have = {*self.known, *self.own}
        for kind in ("cnn", "gpu"):
            places = [place for place in self.left if kind in self.targets.contents[place].kinds]
            if kind not in have and len(places) == 1:
                place = places[0]
                kinds = {*fields.NAMES, *fields.COUNTS} - have
                self.extra |= {own: place for own in self.targets.contents[place].kinds if own in kinds}
                del self.left[place]
                return

    def _take_named(self) -> None:
        block = self.block
        for ours, heading in self.answers.columns.items():
            if heading not in block.headings:
                continue
            place = block.headings.index(heading)
            if ours in ("time_s", fields.TIME, fields.RATE):
                meaning = read_heading(re.sub(r" \[column [A-Z]+\]$", "", heading))
                unit = meaning.unit
                targets = {read_heading(text).target for text in block.headings} | self.known
                is_epoch = meaning.target == fields.EPOCH_TIME and bool(targets & fields.OF_EPOCHS)
                if unit is not None and unit.counted == "epoch" and not is_epoch:
                    unit = replace(unit, counted="iteration")
                is_rate = ours == fields.RATE or (unit is not None and unit.is_rate)
                target = fields.EPOCH_TIME if is_epoch else fields.RATE if is_rate else fields.TIME
                _, said = header_meaning(self.block, place, self.names)
                self.measures.append(self._measure(place, Meaning(target, unit), said))
            else:
                target = f"{fields.FLAG}{ours}" if ours in FLAGS else ours
                self.keys[target] = place
                self.sure.add(target)

    def _measure(self, place: int, meaning: Meaning, said: Mapping[str, str]) -> Measure:
        block = self.block
        kept = {kind: text for kind, text in said.items() if kind != fields.IGNORED}
        if meaning.target == fields.TIME and meaning.unit is not None and meaning.unit.is_rate:
            meaning = replace(meaning, target=fields.RATE)
        if not block.paths[place][-1:] or (kept and not read_heading(block.paths[place][-1]).target):
            meaning = replace(meaning, is_weak=False)
        return Measure(place, block.headings[place], meaning, kept)

    def _add_key(self, target: str, columns: list[tuple[int, Meaning]]) -> None:
        """Choose the column of one of our names; append an issue where several are as likely."""
        block = self.block
        if target in self.keys or target in self.answers.constants:
            given = self.answers.constants.get(target)
            reason = "another column was named" if given is None else f"{given} was given for every row"
            self.left |= dict.fromkeys((place for place, _ in columns), reason)
            return

        def rank(column: tuple[int, Meaning]) -> tuple[bool, ...]:
            place, meaning = column
            by_value = target not in self.targets.contents[place].kinds and target in fields.NAMES
            names = dict.fromkeys(map(str, block.cells(place)[:_SAMPLE])) if target in ("gpu", "cnn") else ()
            is_open = any(len(self.names.meant(target, name)) != 1 for name in names)
            return by_value, not meaning.is_exact, is_open, meaning.target != target, meaning.is_weak

        ordered = sorted(columns, key=rank)
        best, meaning = ordered[0]
        equal = [place for place, own in ordered if rank((place, own)) == rank(ordered[0])]
        if any(block.cells(place) != block.cells(best) for place in equal):
            self._ask_which([block.headings[place] for place in equal], target.removeprefix(fields.FLAG))
        self.keys[target] = best
        if meaning.is_exact:
            self.sure.add(target)
        reason = f"{block.headings[best]} is read instead"
        others = [place for place, _ in columns if place != best]
        self.left |= dict.fromkeys(others, reason)
        # Numbers under the heading of a precision may be batch sizes under a wrong heading.
        self.unknown += [
            place for place in others if target == "precision" and self.targets.contents[place].wholes
        ]

    def _ask_which(self, headings: Sequence[str], ours: str) -> None:
        text = f"the columns {', '.join(headings)} may all be {ours}: which one is it?"
        self.ask("question", text, choices("--column", headings, f"{ours}="))

    def _keep_best(self) -> None:
        """Keep of the measures that say the same the best time and the best throughput."""
        left = self.left
        if any(_PHASES.search(heading) for heading in self.block.headings):
            self.measures = [_of_phases(measure) for measure in self.measures]
        plain = [measure for measure in self.measures if measure.meaning.target != fields.EPOCH_TIME]
        if plain:
            # A time of an epoch counts only where nothing else is measured.
            epochs = (measure.place for measure in self.measures if measure not in plain)
            left |= dict.fromkeys(epochs, "")
            self.measures = plain
        kinds = [frozenset(measure.said) - {"precision"} for measure in self.measures]
        usual = max(kinds, key=kinds.count, default=frozenset())
        usual = max(
            (kind for kind in kinds if kinds.count(kind) == kinds.count(usual)), key=len, default=usual
        )
        groups: dict[tuple[tuple[str, str], ...], list[Measure]] = {}
        for measure, kind in zip(self.measures, kinds, strict=True):
            if kind != usual:
                left[measure.place] = (
                    f"it says no {' or '.join(sorted(usual - kind))}" if usual - kind else ""
                )
                continue
            groups.setdefault(tuple(sorted(measure.said.items())), []).append(measure)
        self.runs = [self._best_of(measures) for measures in groups.values()]
        self.measures = [measure for pair in self.runs for measure in pair if measure is not None]

    def _best_of(self, measures: list[Measure]) -> tuple[Measure, Measure | None]:
        """Return the best measure, and a second one that it can be compared with."""
        ordered = sorted(measures, key=_rank)
        best = ordered[0]
        equal = [measure for measure in ordered if _rank(measure) == _rank(best)]
        equal = [measure for measure in equal if measure is best or not _differs(measure, best)]
        if len(equal) > 1:
            self._ask_which([measure.heading for measure in equal], "time_s")
        others = [own for own in ordered[1:] if _differs(own, best) and not own.meaning.is_weak]
        second = others[0] if others else None
        for measure in ordered:
            if measure not in (best, second):
                self.left[measure.place] = f"{best.heading} is read instead"
        return best, second

    def _guess_batch(self) -> None:
        """Offer a column of whole numbers that may be batch sizes where no column is the batch."""
        block, contents = self.block, self.targets.contents
        # Where a heading is over other numbers, that of the batches may be any.
        places = self.left if set(fields.BATCHES) & set(self.targets.rejected.values()) else self.unknown
        likely = [
            place
            for place in places
            if contents[place].wholes and all(is_batch(number) for number in contents[place].wholes)
        ]
        if likely:
            headings = [block.headings[place] for place in likely]
            text = f"no column is the batch size; {' or '.join(headings)} may be it"
            self.ask("columns", text, choices("--column", headings, f"{fields.BATCH}="))
            self.keys[fields.BATCH] = likely[0]
            self.unknown = [place for place in self.unknown if place != likely[0]]
            self.left.pop(likely[0], None)

    def _guess_gpus(self) -> None:
        """Ask whether a column of usual numbers of GPUs is theirs."""
        for place in self.unknown:
            content, heading = self.targets.contents[place], self.block.headings[place]
            if {1, 4} <= set(content.wholes) <= USUAL_GPUS and not content.is_index:
                text = f"is {heading} the number of GPUs?"
                options = choices("--column", [heading], "n_gpus=")
                self.ask("columns", text, options)

    def _guess_time(self) -> None:
        """Offer the columns that may be times where none is."""
        block, contents = self.block, self.targets.contents
        likely = [place for place in self.unknown if contents[place].numbers > 0.5]
        named = [place for place in likely if read_heading(block.headings[place]).unit is not None]
        likely = named or [*(measure.place for measure in self.measures), *likely]
        headings = [block.headings[place] for place in likely]
        text = "no column is a time or throughput of training iterations; name it by --column time_s=HEADING"
        # The least or greatest of several times is offered where nothing else is.
        offered = headings or [own for own in block.headings if read_heading(own).unit is not None]
        self.ask("columns", text, choices("--column", offered, "time_s="))
        if likely and not self.measures:
            meaning = read_heading(headings[0])
            self.measures.append(Measure(likely[0], headings[0], Meaning(fields.TIME, meaning.unit)))
            self.runs.append((self.measures[0], None))
            self.unknown.remove(likely[0])
            self.left.pop(likely[0], None)

    def _why(self, place: int, near: str) -> str:
        """Return why a column that is named like one of ours is not read, "" for any other."""
        cells = [str(cell) for cell in self.block.cells(place) if cell is not None]
        return f"expected whole numbers, got {shown(cells[0])}" if near and cells else ""

    def _note_left(self, have: set[str]) -> None:
        """Note the columns that are not read; append an issue for one that is named like one of ours."""
        plain = []
        for place, reason in self.left.items():
            heading = self.block.headings[place]
            near = near_target(heading) if place in self.unknown and not reason else ""
            wholes = set(self.targets.contents[place].wholes) if place in self.unknown else set()
            if wholes & USUAL_SIZES and wholes <= SIZES and len(wholes) > 1 and "input_size_px" not in have:
                text = f"{heading} may be the side of the images in pixels"
                options = (("--column", f"input_size_px={heading}"), ("--set", "input_size_px=224"))
                self.ask("columns", text, options)
                continue
            content = self.targets.contents[place]
            if place in self.unknown and not reason and not near and content.is_flag and not content.numbers:
                text = f"{heading} says yes or no: to what?"
                kinds = choices("--column", [f"{name}={heading}" for name in (*FLAGS, fields.IGNORED)])
                self.ask("columns", text, kinds)
                continue
            if not near or (near in fields.COUNTS and not content.wholes):
                plain.append(f"{heading} ({reason or self._why(place, near)})".replace(" ()", ""))
                continue
            is_time = near in (*fields.MEASURES, "time_s")
            if (
                near in have
                or (near in fields.BATCHES and have & set(fields.BATCHES))
                or (is_time and self.measures)
            ):
                self.notes.append(f"not read: {heading}; it resembles {near}, which is another column")
                continue
            text = f"the column {heading!r} is not known; is it {near}?"
            option = f"{'time_s' if is_time else near}={heading}"
            self.ask("columns", text, (("--column", option),))
        if plain:
            self.notes.insert(0, f"not read: {', '.join(plain)}")


def _of_phases(measure: Measure) -> Measure:
    """Return a measure; a total next to the times of forward and backward is that of an iteration."""
    meaning = measure.meaning
    if meaning.target != fields.EPOCH_TIME or "epoch" in measure.heading.lower():
        return measure
    unit = meaning.unit and replace(meaning.unit, counted="iteration")
    return replace(measure, meaning=replace(meaning, target=fields.TIME, unit=unit))


def _rank(measure: Measure) -> tuple[bool, ...]:
    meaning, heading = measure.meaning, measure.heading
    is_median = _MEDIAN.search(heading) is not None
    is_open = meaning.unit is None or (measure.is_rate and meaning.unit.per_gpu is None)
    return (
        not meaning.is_exact,
        meaning.is_weak,
        meaning.unit is None,
        measure.is_rate,
        not is_median,
        not meaning.is_average and is_median,
        is_open,
    )


def _differs(one: Measure, other: Measure) -> bool:
    """Return whether two measures are in different units, so that they can be compared."""
    units = [measure.meaning.unit for measure in (one, other)]
    return one.is_rate != other.is_rate or (None not in units and units[0] != units[1])
