"""The runs of a spreadsheet as people wrote them, one row each, and what is still to be asked about them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from trainlaw.datasets.spreadsheets import fields
from trainlaw.datasets.spreadsheets.answers import Issue, SheetAnswers, grouped, rows_of
from trainlaw.datasets.spreadsheets.known_names import Names
from trainlaw.datasets.spreadsheets.quantities import TimeUnit
from trainlaw.formulas.errors import shown

T = TypeVar("T")
#: What rows are called in messages: their number, with the sheet where several are read.
Label = int | str


def each(cells: Iterable[object], find: Callable[[object], T]) -> list[T]:
    """Return what a function returns for each cell; it is asked once for all equal cells."""
    found: dict[tuple[type, object], T] = {}
    values = []
    for cell in cells:
        # True is equal to 1, but another cell.
        key = type(cell), cell
        if key not in found:
            found[key] = find(cell)
        values.append(found[key])
    return values


@dataclass
class Dialogue:
    """What the user said, the names that texts may mean, and what is still to be said."""

    answers: SheetAnswers
    names: Names
    issues: list[Issue]

    def ask(self, kind: str, text: str, options: tuple[tuple[str, ...], ...] = ()) -> None:
        """Append an issue of the whole file."""
        self.issues.append(Issue(kind, text, options=options))


@dataclass(frozen=True)
class MappedColumn:
    """A column of the file that is read: its heading, our name of it, its unit, and whether it is a guess."""

    heading: str
    target: str
    unit: TimeUnit | None = None
    is_guess: bool = True


@dataclass(frozen=True)
class Source:
    """Where runs are from: the number of their table, and what header and titles say of their times.

    heading : above them where a table has several columns of runs, else "". is_rate : None where it is not
    said. check_unit : of the second measure.
    """

    table: int
    heading: str
    unit: TimeUnit | None
    is_rate: bool | None
    check_unit: TimeUnit | None


@dataclass
class SheetRows(Dialogue):
    """Runs as people wrote them, one row each.

    cells : by our name of the column, one per row. sources : of the runs. numbers : of the rows in the file.
    columns : what was read, by our name; shown : all of them, with a first value. unread : cells of columns
    that are not read, by heading. decimal : mark. hinted : unit that a title
    names.
    """

    cells: dict[str, list[object]] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)
    numbers: list[Label] = field(default_factory=list)
    columns: dict[str, MappedColumn] = field(default_factory=dict)
    shown: list[tuple[MappedColumn, str]] = field(default_factory=list)
    unread: dict[str, list[object]] = field(default_factory=dict)
    decimal: str = "."
    hinted: TimeUnit | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.numbers)

    def put(self, target: str, cells: Iterable[object]) -> None:
        """Append the cells of one of our columns for rows whose numbers are appended afterwards."""
        column = self.cells.setdefault(target, [])
        column += [None] * (len(self) - len(column))
        column += cells

    def keep(self, places: Sequence[int]) -> None:
        """Leave out the rows at all other places."""

        def kept(values: list[T]) -> list[T]:
            return [values[place] for place in places] if len(places) < len(values) else values

        # A column that not all tables have says nothing of the rows.
        whole = {heading: cells for heading, cells in self.unread.items() if len(cells) == len(self)}
        self.unread = {heading: kept(cells) for heading, cells in whole.items()}
        self.cells = {name: kept(cells) for name, cells in self.cells.items()}
        self.numbers, self.sources = kept(self.numbers), kept(self.sources)

    def fault(
        self,
        text: str,
        chosen: Iterable[bool],
        options: tuple[tuple[str, ...], ...] = (),
        kind: str = "cells",
    ) -> None:
        """Append an issue for the chosen rows where there are any."""
        if where := rows_of(self.numbers, chosen):
            self.issues.append(Issue(kind, text, where, options))

    def read(self, target: str, value: Callable[[object], object], expected: str) -> list[object]:
        """Return the value of each cell of a column, None where it is empty or an issue.

        value : returns None for a cell that is no value.
        """
        given = each(self.cells[target], lambda cell: self.said(target, cell))
        found = each(given, lambda cell: None if cell is None else value(cell))
        bad = [read is None and cell is not None for cell, read in zip(given, found, strict=True)]
        heading = self.columns[target].heading
        self.issues += [
            Issue("cells", f"{heading}: expected {expected}, got {shown(text)}", rows)
            for text, rows in self.where(given, bad).items()
        ]
        return found

    def where(self, cells: Iterable[object], chosen: Iterable[bool]) -> Mapping[str, tuple[Label, ...]]:
        """Return the rows of each different text among the chosen cells of a column."""
        numbered = zip(cells, self.numbers, chosen, strict=True)
        return grouped((str(cell), number) for cell, number, is_chosen in numbered if is_chosen)

    def said(self, target: str, cell: object) -> object:
        """Return a cell, or the value that the user gave for it; None for an empty one."""
        if cell is None:
            return None
        key = self._key_of_answer(target, cell)
        return cell if key is None else self.answers.values[key]

    def is_said(self, target: str, cell: object) -> bool:
        """Return whether the user gave the value of a cell."""
        return self._key_of_answer(target, cell) is not None

    def _key_of_answer(self, target: str, cell: object) -> tuple[str, str] | None:
        heading = self.columns[target].heading if target in self.columns else target
        ours = "batch_per_gpu" if target == fields.BATCH else target.removeprefix(fields.FLAG)
        keys = ((name, str(cell)) for name in (target, ours, heading))
        return next((key for key in keys if key in self.answers.values), None)
