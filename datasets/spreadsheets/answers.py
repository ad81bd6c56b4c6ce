"""The user's answers about a table, and the open questions: one issue per question or fault."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from trainlaw.formulas.errors import TrainlawError

#: Stands for the user's choice in a command, where an issue has several options.
CHOICE = "CHOICE"
#: Value of a cell whose rows are left out.
SKIP = "skip"
_MOST_ROWS = 8


@dataclass(frozen=True)
class SheetAnswers:
    """What the user said in options.

    columns : our name to the heading. values : (our column, text in the file) to our value. constants : our
    column to the value of all rows. unit, batch_is, decimal, sheet : "" where they were not given. only :
    column and value of the rows to keep. skipped_rows : to leave out, as messages call them.
    skip_unmeasured : leave out rows without a time. fill_down : an empty GPU or CNN is that of the row above.
    trust : import times that are far from the built-in formula. ignored : columns and lines that say nothing.
    columns_are : what the headings of columns of times name, sheets_are : what the names of sheets are.
    table, area : number and cells of the table that is read, 0 and "" where they were not given.
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

    kind : "columns", "question", "names", "cells" or "times". text : what is wrong or open. rows : where, as
    spreadsheets count them, with the sheet where several are read; none for the whole file. options :
    command-line options that answer it, each the
    list of its words; one is the answer, several are a choice.
    """

    kind: str
    text: str
    rows: tuple[int | str, ...] = ()
    options: tuple[tuple[str, ...], ...] = ()

    @property
    def where(self) -> str:
        """The rows as text, "" where the whole file is meant.

        >>> Issue("cells", "no number", (3, 4)).where
        'rows 3, 4'
        """
        if not self.rows:
            return ""
        listed = ", ".join(map(str, self.rows[:_MOST_ROWS]))
        if len(self.rows) == 1:
            return f"row {listed}"
        more = f" and {len(self.rows) - _MOST_ROWS} more" if len(self.rows) > _MOST_ROWS else ""
        return f"rows {listed}{more}"

    @property
    def answer(self) -> tuple[str, ...]:
        """The words of the option to add; `CHOICE` replaces what several options differ in."""
        if len(self.options) < 2:
            return self.options[0] if self.options else ()
        first = self.options[0]
        others = [option for option in self.options[1:] if option[0] == first[0]]
        if not others or any(len(option) != 2 for option in (first, *others)):
            return first
        ours = first[1].partition("=")[0]
        is_pair = "=" in first[1] and all(option[1].partition("=")[0] == ours for option in others)
        return first[0], f"{ours}={CHOICE}" if is_pair else CHOICE


def choices(option: str, values: Iterable[str], prefix: str = "") -> tuple[tuple[str, ...], ...]:
    """Return one command-line option per value.

    >>> choices("--value", ["T4"], "gpu:t4 =")
    (('--value', 'gpu:t4 =T4'),)
    """
    return tuple((option, f"{prefix}{value}") for value in values)


def skipping(rows: Iterable[int | str]) -> tuple[tuple[str, ...], ...]:
    """Return the option that leaves rows out.

    >>> skipping([3, 4])
    (('--skip-rows', '3,4'),)
    """
    return (("--skip-rows", ",".join(map(str, rows))),)


def meant(text: str, error: TrainlawError) -> tuple[str, ...]:
    """Return the candidates of an unknown name that begin as `text` does: several things that it may mean."""
    first = next(iter(text.lower().split()), "")
    near = [name for name in getattr(error, "candidates", ()) if name.lower().startswith(first)]
    return tuple(near) if len(near) > 1 and len(first) > 1 else ()


def grouped(found: Iterable[tuple[str, int | str]]) -> Mapping[str, tuple[int | str, ...]]:
    """Return the rows of each text, in the order of first appearance."""
    rows: dict[str, list[int | str]] = {}
    for text, row in found:
        rows.setdefault(text, []).append(row)
    return {text: tuple(dict.fromkeys(where)) for text, where in rows.items()}


def rows_of(numbers: Sequence[int | str], chosen: Iterable[bool]) -> tuple[int | str, ...]:
    """Return the numbers of the chosen rows, each once."""
    return tuple(
        dict.fromkeys(number for number, is_chosen in zip(numbers, chosen, strict=True) if is_chosen)
    )
