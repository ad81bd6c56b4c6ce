"""The user's answers about a table, and the open questions: one issue per question or fault."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import pandas as pd
from trainlaw.datasets.spreadsheets.names import Names
from trainlaw.formulas.errors import shown

#: Stands for the user's choice in a command, where an issue has several options.
CHOICE = "CHOICE"
#: Value of a cell whose rows are left out.
SKIP = "skip"
#: Options that say which table of a file is read.
TABLES = ("--table", "--range", "--sheet")
#: What rows are called in messages: their number, with the sheet where several are read.
Label = int | str
Options = tuple[tuple[str, ...], ...]
_MOST_ROWS = 8


@dataclass(frozen=True)
class SheetAnswers:
    """What the user said in options; "" and 0 where an option was not given.

    columns : our name to the heading. values : (our column, text in the file) to our value. constants : our
    column to the value of all rows. only : column and value of the rows to keep. skipped_rows : to leave out,
    as messages call them. skip_unmeasured : leave out rows without a time. fill_down : an empty GPU or CNN is
    that of the row above. trust : import times that are far from the built-in formula. ignored : columns and
    lines that say nothing. columns_are : what the headings of columns of times name, sheets_are : what the
    names of sheets are. table, area : number and cells of the table that is read.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[tuple[str, str], str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    only: tuple[tuple[str, str], ...] = ()
    unit: str = ""
    batch_is: str = ""
    decimal: str = ""
    sheet: str = ""
    skipped_rows: tuple[str, ...] = ()
    skip_unmeasured: bool = False
    fill_down: bool = False
    trust: bool = False
    ignored: tuple[str, ...] = ()
    columns_are: tuple[str, ...] = ()
    sheets_are: str = ""
    table: int = 0
    area: str = ""


@dataclass(frozen=True)
class Issue:
    """One question or fault of a file.

    kind : "columns", "question", "names", "cells" or "times". text : what is wrong or open. rows : where,
    none for the whole file. options : command-line options that answer it, each the list of its words; one is
    the answer, several are a choice.
    """

    kind: str
    text: str
    rows: tuple[Label, ...] = ()
    options: Options = ()

    @property
    def where(self) -> str:
        """The rows as text, "" where the whole file is meant.

        >>> Issue("cells", "no number", (3, 4)).where
        'rows 3, 4'
        """
        listed = ", ".join(map(str, self.rows[:_MOST_ROWS]))
        more = f" and {len(self.rows) - _MOST_ROWS} more" if len(self.rows) > _MOST_ROWS else ""
        return f"row{'s' if len(self.rows) > 1 else ''} {listed}{more}" if self.rows else ""

    @property
    def answer(self) -> tuple[str, ...]:
        """The words of the option to add; `CHOICE` replaces what several options differ in."""
        same = [option for option in self.options if option[0] == self.options[0][0]]
        if len(same) < 2 or any(len(option) != 2 for option in same):
            return self.options[0] if self.options else ()
        # A text of the file may have an equals sign, which ours has not.
        parted = [text.rpartition("=") if name == "--value" else text.partition("=") for name, text in same]
        ours = {f"{before}{mark}" for before, mark, _ in parted}
        return same[0][0], f"{ours.pop() if len(ours) == 1 else ''}{CHOICE}"


def choices(option: str, values: Iterable[str], prefix: str = "") -> Options:
    """Return one command-line option per value.

    >>> choices("--value", ["T4"], "gpu:t4 =")
    (('--value', 'gpu:t4 =T4'),)
    """
    return tuple((option, f"{prefix}{value}") for value in values)


@dataclass
class Dialogue:
    """What the user said, the names that texts may mean, and what is still to be said or worth knowing."""

    answers: SheetAnswers
    names: Names
    issues: list[Issue] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def ask(self, kind: str, text: str, options: Options = (), rows: Iterable[Label] = ()) -> None:
        """Append an issue, of the whole file where no rows are given."""
        self.issues.append(Issue(kind, text, tuple(dict.fromkeys(rows)), options))

    def fault(self, text: str, chosen: pd.Series, options: Options = (), kind: str = "cells") -> None:
        """Append an issue for the chosen rows where there are any, a question about all without their labels.

        chosen : indexed by the labels of the rows.
        """
        found = chosen.to_numpy(dtype=bool)
        if found.any():
            self.ask(kind, text, options, () if kind == "question" and found.all() else chosen.index[found])

    def each(self, kind: str, text: str, cells: pd.Series, options: Callable[[str], Options]) -> None:
        """Append an issue for each different text of cells; {} in `text` stands for it."""
        texts = cells.map(str)
        for own in texts.unique():
            self.ask(kind, text.replace("{}", shown(own)), options(own), cells.index[texts == own])

    def said(self, target: str, heading: str, cell: object) -> object:
        """Return a cell, or the value that the user gave for it."""
        ours = "batch_per_gpu" if target == "batch" else target.removeprefix("flag:")
        keys = ((name, str(cell)) for name in (target, ours, heading))
        return next((self.answers.values[key] for key in keys if key in self.answers.values), cell)

    def offered(self) -> list[str]:
        """Return the words of all options that issues offer."""
        return [word for issue in self.issues for option in issue.options for word in option]
