"""The cells of a table as values of the runs schema, with an issue for each that is none."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import pandas as pd
from trainlaw.datasets.files.numbers import decimal_marks
from trainlaw.datasets.hardware.links import find_link, links
from trainlaw.datasets.spreadsheets.answers import SKIP, Dialogue, Options, choices
from trainlaw.datasets.spreadsheets.columns import SheetRows
from trainlaw.datasets.spreadsheets.headings import BATCHES, FLAG, TIME
from trainlaw.datasets.spreadsheets.names import meant
from trainlaw.datasets.spreadsheets.units import quantity
from trainlaw.datasets.spreadsheets.values import (
    DEFAULT_PRECISION,
    PRECISIONS,
    SPELLINGS,
    TRAINING,
    YES,
    is_unmeasured,
    plain_text,
    precision_of,
    size_px,
    yes_or_no,
)
from trainlaw.datasets.spreadsheets.words import asked_words, groups
from trainlaw.formulas.errors import InputError, TrainlawError, shown

#: Columns of the epoch or run that a time is for.
OF_EPOCHS = ("iterations", "images_per_epoch", "epochs")
#: Our column of each flag; of one column, those that hold before the others last.
OF_FLAG: Mapping[str, str] = {
    **dict.fromkeys(("tf32", "bf16", "fp16", "amp"), "precision"),
    "channels_last": "layout",
    **dict.fromkeys(("inductor", "xla"), "compilation"),
}
#: The value of a column without any flag.
_WITHOUT = {"precision": DEFAULT_PRECISION, "layout": "nchw", "compilation": "eager", "stack": "eager"}
#: What the text of a column says where a row is of plain training.
_TRAINED: Mapping[str, Callable[[str], bool]] = {
    "mode": lambda text: text in TRAINING | YES,
    # Of the parts in the runs schema, only those without a backward pass are refused here.
    "timed_parts": lambda text: text not in groups("phrase")["inference"],
    "accumulation": lambda text: text in ("1", "no", "none"),
}
_SCOPES = {"link": "node", "network": "network"}
_LINKS: Mapping[str, re.Pattern[str]] = {
    "Ethernet": re.compile(r"eth|gbe|tcp", re.IGNORECASE),
    "InfiniBand": re.compile(r"ib|infini", re.IGNORECASE),
}
_NAMES = {"gpu": "GPU", "cnn": "CNN", "link": "link", "network": "network"}
# Near names are searched one by one: thousands of unknown names would take minutes.
_MOST_UNKNOWN = 20


class Kind(NamedTuple):
    """How the cells of a column are read.

    value : of a cell by the name of its column, the cell and the decimal mark; None for what is none.
    expected : what a cell says. offered : values that the user may give a text that is none.
    """

    value: Callable[[str, object, str], object]
    expected: str
    offered: tuple[str, ...] = ()


def _count(name: str, cell: object, decimal: str) -> float | None:
    number, unit = quantity(cell, decimal)
    most = _MOST_BATCH if name in BATCHES else _MOST_NUMBER
    return number if unit is None and 1 <= number <= most and number.is_integer() else None


def _side(name: str, cell: object, decimal: str) -> float | None:
    return size_px(cell, decimal) or None


def _word(name: str, cell: object, decimal: str) -> str | None:
    text, words = plain_text(cell), SPELLINGS[name]
    word = words.get(text, words.get(text.replace(" ", "-").replace("torch.", "")))
    if word is None and name == "precision" and not yes_or_no(cell):
        # "fp16 (AMP)", "einfach (FP32)", "AMP off"
        precision, is_whole = precision_of(text)
        return precision if is_whole else None
    if word is None and name == "compilation" and (answer := yes_or_no(cell)) is not None:
        return "inductor" if answer else _WITHOUT[name]
    return word


def _switch(name: str, cell: object, decimal: str) -> str | None:
    """Return what a cell switches on, "" for nothing."""
    flag, answer = name.removeprefix(FLAG), yes_or_no(cell)
    if answer is None:
        return SPELLINGS[OF_FLAG[flag]].get(plain_text(cell))
    # Trainers switch mixed precision by "fp16", others all numbers.
    return (None if flag == "fp16" else flag) if answer else ""


def _training(name: str, cell: object, decimal: str) -> bool | None:
    return True if _TRAINED[name](plain_text(cell)) else None


_MOST_BATCH, _MOST_NUMBER = 65_536, 10**9  # a larger batch is another number
#: How the cells of our columns are read, but for names and times.
KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(BATCHES, Kind(_count, f"a whole number from 1 to {_MOST_BATCH:,}")),
    **dict.fromkeys(
        ("n_gpus", "n_nodes", "gpus_per_node", "n_classes", *OF_EPOCHS), Kind(_count, "a whole number from 1")
    ),
    "input_size_px": Kind(_side, "the side of a square image in pixels"),
    **{
        name: Kind(
            _word,
            f"one of {', '.join(dict.fromkeys(words.values()))}",
            (*dict.fromkeys(words.values()), SKIP),
        )
        for name, words in SPELLINGS.items()
    },
    **{f"{FLAG}{flag}": Kind(_switch, f"yes or no (or --value {flag}:TEXT=VALUE)") for flag in OF_FLAG},
    f"{FLAG}fp16": Kind(_switch, "mixed precision (amp), or all numbers in 16 bits (fp16)", ("amp", "fp16")),
    **dict.fromkeys(_TRAINED, Kind(_training, "plain training iterations (leave others out)", (SKIP,))),
}


def chosen_rows(rows: SheetRows, dialogue: Dialogue) -> pd.DataFrame:
    """Return the cells without the rows that the user does not want or that were not measured."""
    answers, cells = dialogue.answers, rows.cells
    labels = cells.index.map(str)
    texts = {str(name): cells[name].map(str) for name in cells if answers.values}
    if absent := [label for label in answers.skipped_rows if label not in labels]:
        dialogue.ask("cells", f"--skip-rows: the table has no row {', '.join(absent)[:60]}")
    skipped = pd.Series(labels.isin(answers.skipped_rows), cells.index)
    for (name, text), value in answers.values.items():
        if not any((column == text).any() for column in texts.values()):
            dialogue.ask("cells", f"--value: no cell is {shown(text)}")
        if value == SKIP and (own := TIME if name == "time_s" else name) in texts:
            skipped |= texts[own] == text
    unmeasured = cells[TIME].map(is_unmeasured).astype(bool) & ~skipped
    if not answers.skip_unmeasured and TIME in rows.columns:
        said = ", ".join(dict.fromkeys(str(cell or "empty") for cell in cells[TIME][unmeasured]))
        text = f"rows without a time ({said[:80]}): leave them out?"
        dialogue.fault(text, unmeasured, (("--skip-unmeasured",),), "question")
    return cells[(~skipped & ~unmeasured).to_numpy()]


def decimal_mark(rows: SheetRows, separator: str, dialogue: Dialogue) -> str:
    """Return the decimal mark of the numbers in texts; ask where it is not clear."""
    if dialogue.answers.decimal:
        return "," if dialogue.answers.decimal == "comma" else "."
    numeric = {TIME, *(name for name, kind in KINDS.items() if kind.value in (_count, _side))}
    texts = dict.fromkeys(
        cell for name in rows.cells if name in numeric for cell in rows.cells[name] if isinstance(cell, str)
    )
    found = [match[0] for text in texts if (match := re.match(r"[-+]?[\d.,'\u00a0\u202f ]*\d", text))]
    marks = decimal_marks(found)
    sure = marks & {".", ","}
    likely = "," if "," in sure or (separator == ";" and "." not in sure) else "."
    unclear = marks & ({"?,", "?."} if separator == ";" else {"?,"})
    if len(sure) == 2 or (unclear and (not sure or (sure == {"."} and separator == ";"))):
        doubtful = ", ".join(text for text in found[:50] if "," in text or "." in text)
        options = choices("--decimal", ("comma", "point") if likely == "," else ("point", "comma"))
        dialogue.ask("question", f"the decimal mark is not clear ({doubtful[:60]}): comma or point?", options)
    return likely


class Converter:
    """The columns of runs as values, with an issue for each text that is none."""

    def __init__(self, rows: SheetRows, decimal: str, dialogue: Dialogue) -> None:
        """Keep the runs and the decimal mark of their numbers."""
        self.rows, self.decimal, self.dialogue = rows, decimal, dialogue

    def values(self) -> dict[str, pd.Series]:
        """Return the values of columns but for names and times, None where a cell is empty or no value."""
        found = {}
        for name in (str(own) for own in self.rows.cells if own in KINDS):
            kind, cells, heading = KINDS[name], self.rows.cells[name], self.rows.heading(name)
            texts = {
                own: kind.value(name, self.dialogue.said(name, heading, own), self.decimal)
                for own in cells.dropna().unique()
            }
            values = cells.map(texts).astype(object)
            bad = cells[cells.notna() & values.isna()]
            given = self.dialogue.answers.constants.get(name)
            if given is not None and (bad == given).any():
                raise InputError(f"--set {name}: expected {kind.expected}, got {shown(given)}")
            options = self._offered(name, kind, [str(own) for own, value in texts.items() if value])
            self.dialogue.each("cells", f"{heading}: expected {kind.expected}, got {{}}", bad, options)
            found[name] = values.astype(np.float64) if kind.value in (_count, _side) else values
        return found

    def _offered(self, name: str, kind: Kind, right: list[str]) -> Callable[[str], Options]:
        """Return the options that answer a text; of rows that are no training, the others are kept."""
        if kind.value is _training and right:
            return lambda _: choices("--only", right[:1], f"{self.rows.heading(name)}=")

        def of_text(text: str) -> Options:
            named = precision_of(text)[0] if name == "precision" else None
            offered = [named] if named else kind.offered
            return choices("--value", offered, f"{name.removeprefix(FLAG)}:{text}=")

        return of_text

    def words(self, values: Mapping[str, pd.Series]) -> dict[str, pd.Series]:
        """Return precision, layout, compilation and stack where the table or the user says them."""
        found = {name: values[name].fillna("unknown") for name in SPELLINGS if name in values}
        for name in found:
            text = f"{name}: empty; give it for these rows, or keep others by --only"
            given = choices("--precision", PRECISIONS) if name == "precision" else ()
            self.dialogue.fault(text, self.rows.cells[name].isna(), given)
        for flag, name in OF_FLAG.items():
            if f"{FLAG}{flag}" not in values:
                continue
            usual = "fp32" if f"{FLAG}tf32" in values and name == "precision" else _WITHOUT[name]
            base = found.get(name, pd.Series(usual, self.rows.cells.index, dtype=object))
            on = values[f"{FLAG}{flag}"].where(lambda own: own != "")
            # "32-true" or 16 bits next to a switch of tf32 or amp: what was switched on holds.
            is_free = (base == "fp32") | ((flag == "amp") & (base != "bf16"))
            found[name] = base.mask(on.notna() & (is_free if name in values else True), on)
        return found

    def times(self) -> pd.DataFrame:
        """Return the number of each time, nan where a cell is none, and the unit in the cell or None."""
        cells, heading = self.rows.cells[TIME], self.rows.heading(TIME)
        said = {
            own: quantity(self.dialogue.said("time_s", heading, own), self.decimal)
            for own in cells.dropna().unique()
        }
        pairs = [said.get(cell, (np.nan, None)) for cell in cells]
        numbers = pd.Series(
            [number if number > 0 else np.nan for number, _ in pairs], cells.index, np.float64
        )
        bad = cells[numbers.isna() & cells.notna()]
        # Where no cell is a number, the column is another one.
        skip = [SKIP] if len(bad) < len(cells) else []
        text = f"{heading}: expected a number above 0, got {{}}: leave it out, or say its number?"
        self.dialogue.each("cells", text, bad, lambda own: choices("--value", skip, f"time_s:{own}="))
        units = pd.Series([unit for _, unit in pairs], cells.index, dtype=object)
        return pd.DataFrame({"number": numbers, "unit": units})

    def names(self) -> tuple[dict[str, pd.Series], pd.Series]:
        """Return GPUs, CNNs, links and networks, None where one is an issue, and GPUs that a name counts."""
        found, numbers = dict[str, pd.Series](), pd.Series(np.nan, self.rows.cells.index)
        for kind in (own for own in _NAMES if own in self.rows.cells):
            cells, n_issues = self.rows.cells[kind], len(self.dialogue.issues)
            read: dict[object, tuple[str | None, int | None]] = {}
            for cell in cells.dropna().unique():
                try:
                    read[cell] = self._name(kind, cell)
                except TrainlawError as error:
                    if cell == self.dialogue.answers.constants.get(kind):
                        raise
                    is_asked = len(self.dialogue.issues) - n_issues < _MOST_UNKNOWN
                    read[cell] = self._asked_name(kind, cell, error) if is_asked else (None, None)
            found[kind] = cells.map({cell: own[0] for cell, own in read.items()})
            if kind == "gpu":
                numbers = cells.map({cell: number for cell, (_, number) in read.items()}).astype(np.float64)
        return found, numbers

    def _name(self, kind: str, cell: object) -> tuple[str, int | None]:
        said, names = self.dialogue.said(kind, kind, cell), self.dialogue.names
        text = str(said)
        if kind in ("link", "network"):
            return ("none" if is_unmeasured(text) else find_link(text).link), None
        if kind == "cnn" or said is not cell or kind in self.dialogue.answers.constants:
            return names.find(kind, text)
        return names.checked_gpu(text, bool({"n_gpus", "gpus_per_node"} & set(self.rows.cells)))

    def _asked_name(self, kind: str, cell: object, error: TrainlawError) -> tuple[str | None, int | None]:
        """Append the issue of a name; return the nearest one, by which the times can be checked."""
        text = str(cell)
        candidates: Sequence[str] = getattr(error, "candidates", ())
        reason = str(error).partition(": ")[2].partition("did you mean")[0].rstrip("; ")
        if kind in _SCOPES:
            likely = [name for name, words in _LINKS.items() if words.search(text)]
            known = [own for own in links().values() if own.scope == _SCOPES[kind]]
            candidates, reason = [own.link for own in known if not likely or own.kind in likely], ""
            rate = re.search(r"\d+", text)
            candidates = [own for own in candidates if rate and f"-{rate[0]}g" in own] or candidates
        if "mode" in asked_words(text):
            candidates, reason = (), "no training"
        reason = reason or ("several GPUs or CNNs have that name" if meant(text, error) else "")
        said = f": {reason}" if reason and candidates else " is not known"
        if not candidates and kind in ("gpu", "cnn"):
            said += f"; add it by --{kind}-file, or leave its rows out"
        options = choices(
            "--value", [*candidates, *([] if meant(text, error) else [SKIP])], f"{kind}:{text}="
        )
        same = self.rows.cells[kind].map(str) == text
        self.dialogue.fault(f"{_NAMES[kind]} {shown(text)}{said}", same, options, "names")
        with suppress(TrainlawError):
            if candidates and kind not in _SCOPES:
                return self.dialogue.names.find(kind, candidates[0])
        return None, None


def counted(numbers: Mapping[str, pd.Series], own: pd.Series, dialogue: Dialogue) -> dict[str, pd.Series]:
    """Return GPUs, nodes and images per GPU of each row; ask about what is open or contradicts.

    numbers : columns by our name. own : GPUs by the text of their name.
    """
    n_gpus, nodes, per_node = (numbers.get(name) for name in ("n_gpus", "n_nodes", "gpus_per_node"))
    if n_gpus is not None:
        dialogue.fault("the name of the GPU says another number of GPUs", own.notna() & (own != n_gpus))
    elif per_node is None or (nodes is None and "gpus_per_node" in dialogue.answers.constants):
        n_gpus = own.fillna(1.0)
    else:
        n_gpus = per_node * (1.0 if nodes is None else nodes)
    if nodes is None:
        if per_node is None:
            text = "runs on several GPUs: how many GPUs has a node?"
            dialogue.fault(text, n_gpus > 1, choices("--set", ("8", "4"), "gpus_per_node="), "question")
        nodes = (n_gpus / (n_gpus if per_node is None else per_node)).map(np.ceil)
    batch, whole, plain = (numbers.get(name) for name in ("batch_per_gpu", "global_batch", "batch"))
    if batch is None and whole is None and plain is not None:
        if not dialogue.answers.batch_is:
            text = "with several GPUs, is the batch that of each GPU or of all together?"
            dialogue.fault(text, n_gpus > 1, choices("--batch-is", ("per-gpu", "global")), "question")
        batch, whole = (None, plain) if dialogue.answers.batch_is == "global" else (plain, None)
    if batch is None and whole is not None:
        batch = whole / n_gpus
        dialogue.fault("the global batch is not a multiple of the number of GPUs", batch % 1 > 0)
    elif batch is not None and whole is not None:
        dialogue.fault("the batch per GPU times the GPUs is not the global batch", batch * n_gpus != whole)
    found = {"n_gpus": n_gpus, "n_nodes": nodes}
    return found if batch is None else found | {"batch_per_gpu": batch}
