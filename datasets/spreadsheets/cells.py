"""The cells of a table as values of the runs schema, with an issue for each that is none."""

import re
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from trainlaw.datasets.files.numbers import decimal_marks
from trainlaw.datasets.hardware.links import find_link
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
from trainlaw.datasets.spreadsheets.words import groups
from trainlaw.formulas.errors import InputError, TrainlawError, shown

#: Columns of the epoch or run that a time is for.
OF_EPOCHS = ("iterations", "images_per_epoch", "epochs")
#: Columns of whole numbers, with the greatest that they hold: a larger batch is another number.
COUNTS: Mapping[str, float] = {
    **dict.fromkeys(BATCHES, 65_536.0),
    **dict.fromkeys(("n_gpus", "n_nodes", "gpus_per_node", "n_classes", *OF_EPOCHS), 1e9),
}
_NAMES = {"gpu": "GPU", "cnn": "CNN", "link": "link", "network": "network"}
# Near names are searched one by one: thousands of unknown names would take minutes.
_MOST_UNKNOWN = 20
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


def chosen_rows(rows: SheetRows, dialogue: Dialogue) -> pd.DataFrame:
    """Return the cells without the rows that the user does not want or that were not measured."""
    answers, cells = dialogue.answers, rows.cells
    texts = {"time_s" if name == TIME else str(name): cells[name].map(str) for name in cells}
    labels = cells.index.map(str)
    if absent := sorted(set(answers.skipped_rows) - set(labels)):
        dialogue.ask("cells", f"--skip-rows: the table has no row {', '.join(absent)[:60]}")
    skipped = pd.Series(labels.isin(answers.skipped_rows), cells.index)
    for (name, text), value in answers.values.items():
        if not any((column == text).any() for column in texts.values()):
            dialogue.ask("cells", f"--value: no cell is {shown(text)}")
        if value == SKIP and name in texts:
            skipped |= texts[name] == text
    unmeasured = cells[TIME].map(is_unmeasured).astype(bool) & ~skipped
    if not answers.skip_unmeasured:
        said = ", ".join(dict.fromkeys(str(cell or "empty") for cell in cells[TIME][unmeasured]))
        text = f"rows without a time ({said[:80]}): leave them out?"
        dialogue.fault(text, unmeasured, (("--skip-unmeasured",),), "question")
    return cells[(~skipped & ~unmeasured).to_numpy()]


def decimal_mark(rows: SheetRows, separator: str, dialogue: Dialogue) -> str:
    """Return the decimal mark of the numbers in texts; ask where it is not clear."""
    if dialogue.answers.decimal:
        return "," if dialogue.answers.decimal == "comma" else "."
    columns = [rows.cells[name] for name in rows.cells if name in (*COUNTS, "input_size_px", TIME)]
    texts = dict.fromkeys(cell for column in columns for cell in column if isinstance(cell, str))
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

    def column(
        self,
        name: str,
        value: Callable[[object], object],
        expected: str,
        options: Callable[[str], Options] = lambda _: (),
    ) -> pd.Series:
        """Return the value of each cell of a column, None where it is empty or no value.

        options : what answers a text that is no value.
        """
        cells, heading = self.rows.cells[name], self.rows.heading(name)
        found = {own: value(self.dialogue.said(name, heading, own)) for own in cells.dropna().unique()}
        values = cells.map(found).astype(object)
        bad = cells[cells.notna() & values.isna()]
        given = self.dialogue.answers.constants.get(name)
        if given is not None and (bad == given).any():
            raise InputError(f"--set {name}: expected {expected}, got {shown(given)}")
        self.dialogue.each("cells", f"{heading}: expected {expected}, got {{}}", bad, options)
        return values

    def numbers(self) -> dict[str, pd.Series]:
        """Return the columns of whole numbers and the sizes of images, as float64."""
        found = {}
        for name in (own for own in (*COUNTS, "input_size_px") if own in self.rows.cells):
            most = COUNTS.get(name, np.inf)

            def number(cell: object, most: float = most) -> float | None:
                count, unit = quantity(cell, self.decimal)
                if most == np.inf:
                    return size_px(cell, self.decimal) or None
                return count if unit is None and 1 <= count <= most and count.is_integer() else None

            of_count = f"a whole number from 1 to {most:,.0f}"
            expected = "the side of a square image in pixels" if most == np.inf else of_count
            found[name] = self.column(name, number, expected).astype(np.float64)
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
        text = f"{heading}: expected a number above 0, got {{}}: leave it out, or say its number?"
        bad = cells[numbers.isna() & cells.notna()]
        # Where no cell is a number, the column is another one.
        skip = [SKIP] if len(bad) < len(cells) else []
        self.dialogue.each("cells", text, bad, lambda own: choices("--value", skip, f"time_s:{own}="))
        units = pd.Series([unit for _, unit in pairs], cells.index, dtype=object)
        return pd.DataFrame({"number": numbers, "unit": units})

    def names(self) -> tuple[dict[str, pd.Series], pd.Series]:
        """Return GPUs, CNNs, links and networks, None where one is an issue, and GPUs that a name counts."""
        found, numbers = dict[str, pd.Series](), pd.Series(np.nan, self.rows.cells.index)
        for kind in (own for own in _NAMES if own in self.rows.cells):
            cells, unknown = self.rows.cells[kind], 0
            read: dict[object, tuple[str | None, int | None]] = {}
            for cell in cells.dropna().unique():
                try:
                    read[cell] = self._name(kind, cell)
                except TrainlawError as error:
                    if cell == self.dialogue.answers.constants.get(kind):
                        raise
                    unknown += 1
                    read[cell] = (
                        self._asked_name(kind, cell, error) if unknown <= _MOST_UNKNOWN else (None, None)
                    )
            found[kind] = cells.map({cell: own[0] for cell, own in read.items()})
            if kind == "gpu":
                numbers = cells.map({cell: number for cell, (_, number) in read.items()}).astype(np.float64)
        return found, numbers

    def _name(self, kind: str, cell: object) -> tuple[str, int | None]:
        said, names = self.dialogue.said(kind, kind, cell), self.dialogue.names
        text = str(said)
        if kind in ("link", "network"):
            return ("none" if text == "none" else find_link(text).link), None
        if kind == "cnn" or said is not cell or kind in self.dialogue.answers.constants:
            return names.find(kind, text)
        return names.checked_gpu(text, bool({"n_gpus", "gpus_per_node"} & set(self.rows.cells)))

    def _asked_name(self, kind: str, cell: object, error: TrainlawError) -> tuple[str | None, int | None]:
        """Append the issue of a name; return the nearest one, by which the times can be checked."""
        text, candidates = str(cell), getattr(error, "candidates", ())
        reason = str(error).partition(": ")[2].partition("did you mean")[0].rstrip("; ")
        reason = reason or ("several GPUs or CNNs have that name" if meant(text, error) else "")
        said = f": {reason}" if reason and candidates else " is not known"
        if not candidates and kind in ("gpu", "cnn"):
            said += f"; add it by --{kind}-file, or leave its rows out"
        own = [*candidates, *([] if meant(text, error) else [SKIP])]
        options = choices("--value", own, f"{kind}:{text}=")
        same = self.rows.cells[kind].map(str) == text
        self.dialogue.fault(f"{_NAMES[kind]} {shown(text)}{said}", same, options, "names")
        is_named = bool(candidates) and kind in ("gpu", "cnn")
        return self.dialogue.names.find(kind, candidates[0]) if is_named else (None, None)

    def words(self) -> dict[str, pd.Series]:
        """Return precision, layout, compilation and stack where the table or the user says them."""
        found: dict[str, pd.Series] = {}
        for name in (own for own in SPELLINGS if own in self.rows.cells):
            found[name] = self._stated(name)
        for flag, name in OF_FLAG.items():
            if f"{FLAG}{flag}" not in self.rows.cells:
                continue
            usual = "fp32" if f"{FLAG}tf32" in self.rows.cells and name == "precision" else _WITHOUT[name]
            base = found.get(name, pd.Series(usual, self.rows.cells.index, dtype=object))
            on = self._switched(flag)
            # "32-true" or 16 bits next to a switch of tf32 or amp: what was switched on holds.
            is_free = (base == "fp32") | ((flag == "amp") & (base != "bf16"))
            found[name] = base.mask(on.notna() & (is_free if name in self.rows.cells else True), on)
        return found

    def _stated(self, name: str) -> pd.Series:
        options = [*dict.fromkeys(SPELLINGS[name].values()), SKIP]
        given = choices("--precision", PRECISIONS) if name == "precision" else ()
        text = f"{name}: empty; give it for these rows, or keep others by --only"
        self.dialogue.fault(text, self.rows.cells[name].isna(), given)
        # Nothing is imported before an unknown word is answered; until then the row can be checked.
        return self.column(
            name,
            lambda cell: _word(name, cell),
            f"one of {', '.join(options[:-1])}",
            lambda text: choices("--value", options, f"{name}:{text}="),
        ).fillna("unknown")

    def _switched(self, flag: str) -> pd.Series:
        """Return what a column of yes and no switches on, None where it says no."""
        words, name = SPELLINGS[OF_FLAG[flag]], f"{FLAG}{flag}"

        def value(cell: object) -> object:
            answer = yes_or_no(cell)
            return words.get(plain_text(cell)) if answer is None else flag if answer else ""

        read = self.column(name, value, f"yes or no (or --value {flag}:TEXT=VALUE)")
        if flag == "fp16":
            # Trainers switch mixed precision by it, others all numbers.
            cells, heading = self.rows.cells[name], self.rows.heading(name)
            said = cells.map(lambda cell: bool(yes_or_no(self.dialogue.said(name, heading, cell))))
            text = f"{heading} is {{}}: mixed precision (amp), or all numbers in 16 bits (fp16)?"
            asked = cells[said & (read == "fp16")]
            both = ("amp", "fp16")
            self.dialogue.each("question", text, asked, lambda own: choices("--value", both, f"fp16:{own}="))
        return read.where(read != "")

    def check_training(self) -> None:
        """Append an issue for rows that were no plain training: inference, accumulated gradients."""
        for name in (own for own in _TRAINED if own in self.rows.cells):
            texts = map(str, self.rows.cells[name].dropna().unique())
            right = [text for text in texts if _TRAINED[name](plain_text(text))]
            only = choices("--only", right[:1], f"{self.rows.heading(name)}=")

            def value(cell: object, name: str = name) -> object:
                return True if _TRAINED[name](plain_text(cell)) else None

            def options(text: str, name: str = name, only: Options = only) -> Options:
                return only or choices("--value", [SKIP], f"{name}:{text}=")

            self.column(name, value, "plain training iterations (leave others out)", options)


def _word(name: str, cell: object) -> str | None:
    text, words = plain_text(cell), SPELLINGS[name]
    word = words.get(text, words.get(text.replace(" ", "-").replace("torch.", "")))
    if word is None and name == "precision" and not yes_or_no(cell):
        # "fp16 (AMP)", "einfach (FP32)", "AMP off"
        precision, is_whole = precision_of(text)
        return precision if is_whole else None
    if word is None and name == "compilation" and (answer := yes_or_no(cell)) is not None:
        return "inductor" if answer else _WITHOUT[name]
    return word


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
