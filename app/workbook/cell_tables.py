"""Sheets of many rows that are computed alike, and views of them with the best row first.

A column is a template of a cell formula: `{@key}` stands for the same row's cell of column `key`, `{row}`
for its number. Its values for the first choice come from the same expression.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from trainlaw.app.models.terms import values_of
from trainlaw.app.sheets.book_plan import BookPlan, SheetWriter, column_range, quoted
from trainlaw.app.workbook.model import filled, new_sheet, steps_of
from trainlaw.formulas import Expression, variables
from trainlaw.formulas.printers.excel import split_for_excel
from xlsxwriter.utility import xl_col_to_name

TOP = 4  # first row, counted from 0
_WIDTHS = {"text": 30, "unit": 26, "amount": 26}  # by style; other columns hold short numbers
Values = Sequence[float | str] | np.ndarray


class SheetColumn(NamedTuple):
    """One column: key, title, unit, style, template of its cells, and their values for the first choice.

    An empty template is that of cells which the user fills in.
    """

    key: str
    title: str
    unit: str
    style: str
    template: str
    values: list[float | str]


@dataclass
class CellTable:
    """A sheet under construction: rows that are computed alike, of which the first ones have values.

    facts : gives the template of the place of a base column that no column of the table holds, and its
    values, (n_known,), for the first choice. words : title, unit, style and perhaps template of columns by
    key. top : its first row, counted from 0.
    """

    name: str
    known: int
    count: int
    facts: Callable[[str], tuple[str, np.ndarray]]
    words: Mapping[str, Sequence[str]]
    top: int = TOP
    columns: dict[str, SheetColumn] = field(default_factory=dict)

    def add(self, key: str, values: Values, words: Sequence[str] = (), **places: str) -> None:
        """Add a column; a value that is not finite is shown as an empty cell.

        words : its title, unit, style and template, by default those of the table, filled with `places`.
        """
        shown = [
            value if isinstance(value, str) else float(value) if np.isfinite(value) else ""
            for value in values
        ]
        padded = [*shown, *[""] * (self.count - len(shown))]
        title, unit, style, *template = words or self.words[key]
        whole = "".join(filled(text, places) for text in template)
        self.columns[key] = SheetColumn(key, title, unit, style, whole, padded)

    def add_expression(
        self, key: str, expression: Expression, words: Sequence[str] = (), *, where: str = ""
    ) -> None:
        """Add a column of an expression over base columns and earlier columns, after steps where it is long.

        It is empty where one of these columns is no number, or where the column `where` is not 1.
        """
        names = variables(expression)
        places = {name: self.place(name) for name in names}
        of_row = [place for place in places.values() if place.startswith(("{@", "GPUs!"))]
        guards = [f"{{@{where}}}=1"] if where else []
        if of_row:
            guards.append(f"COUNT({','.join(of_row)})={len(of_row)}")
        known = {name: self.numbers(name) for name in names}
        flags = self.numbers(where) == 1.0 if where else True
        # Templates of places are longer than the addresses that they stand for, so what fits here fits there.
        cells = split_for_excel(expression, places, lambda step: f"{{@{key} {step + 1}}}")
        steps = steps_of(cells, expression)
        for number, (text, meaning) in enumerate(steps, start=1):
            values = np.where(flags, np.broadcast_to(values_of(meaning, known), self.known), np.nan)
            guarded = f'IF(AND({",".join(["TRUE", *guards])}),IFERROR({text},""),"")'
            if number == len(steps):
                self.add(key, values, (*(words or self.words[key]), guarded))
            else:
                self.add(f"{key} {number}", values, (f"step {number}", "", "general", guarded))

    def place(self, name: str) -> str:
        """Return the template of the place of a base column."""
        return f"{{@{name}}}" if name in self.columns else self.facts(name)[0]

    def numbers(self, name: str) -> np.ndarray:
        """Return a column or base column of the known rows, (n_known,); nan where there is no number."""
        if name not in self.columns:
            return np.broadcast_to(self.facts(name)[1], self.known)
        values = self.columns[name].values[: self.known]
        return np.array([np.nan if isinstance(value, str) else value for value in values])

    def span(self, key: str, *, of_sheet: bool = True) -> str:
        """Return the address of a whole column."""
        sheet = f"{quoted(self.name)}!" if of_sheet else ""
        column = list(self.columns).index(key)
        return sheet + column_range(column, self.top, self.top + self.count - 1)

    def add_rank(self, key: str) -> None:
        """Add the rank of each row by a column, the least first; of equal ones the upper row is first."""
        keys, ranks = self.numbers(key), np.full(self.known, np.nan)
        ranks[np.argsort(keys, kind="stable")] = np.arange(1.0, self.known + 1)
        letter, whole = xl_col_to_name(list(self.columns).index(key)), self.span(key, of_sheet=False)
        above = f"${letter}${self.top}:${letter}{{above}}"
        self.add("rank", np.where(np.isfinite(keys), ranks, np.nan), whole=whole, upper=above)

    def write(self, book: BookPlan) -> SheetWriter:
        """Write the sheet and return it; cells of a column without a template are for the user."""
        widths = [_WIDTHS.get(item.style, 18) for item in self.columns.values()]
        sheet = new_sheet(book, self.name, widths=widths, rows=str(self.count))
        letters = {f"@{key}": f"${xl_col_to_name(number)}" for number, key in enumerate(self.columns)}
        rows = range(self.top, self.top + self.count)
        places = [
            {"row": row + 1, "above": row} | {key: f"{letter}{row + 1}" for key, letter in letters.items()}
            for row in rows
        ]
        for number, item in enumerate(self.columns.values()):
            head = "head_unit" if item.style in ("unit", "input") else "head_right"
            sheet.text(self.top - 2, number, item.title, head if number else "head")
            sheet.text(self.top - 1, number, item.unit, "small")
            if not item.template:
                for row in rows:
                    sheet.number(row, number, math.nan, item.style)
                continue
            for row, value, place in zip(rows, item.values, places, strict=True):
                sheet.formula(row, number, item.template.format_map(place), value, item.style)
            # Excel itself shares no formula that refers to another sheet.
            if "!" not in item.template:
                sheet.plan.shared[number] = (self.top, self.top + len(item.values) - 1)
        sheet.plan.heights[self.top - 2] = 45
        sheet.plan.frozen = (self.top, 1)
        return sheet


def write_best_first(
    sheet: SheetWriter, table: CellTable, heads: Mapping[str, Sequence[Any]], top: int, rows: int
) -> None:
    """Write the first `rows` ranks of a table below a line of heads in row `top`.

    heads : title, unit, style, width and what its cells are multiplied by, by column key.
    """
    whole, ranks = table.span("rank"), table.numbers("rank")
    # The known rows that have a rank, the best first.
    order = np.argsort(ranks, kind="stable")[: int(np.isfinite(ranks).sum())]
    for column, (title, unit, style, *_) in enumerate(heads.values()):
        text = f"{title}, {unit}" if unit else title
        sheet.text(top, column, text, "head_unit" if style == "unit" else "head_right")
    sheet.plan.heights[top] = 48
    for number in range(rows):
        row = top + 1 + number
        ranked = f"ROWS($A${top + 2}:$A{row + 1})"
        for column, (key, (_, _, style, _, scale)) in enumerate(heads.items()):
            found = f"INDEX({table.span(key)},MATCH($A{row + 1},{whole},0))"
            found = found if scale == 1 else f'IFERROR({scale}*{found},"")'
            text = f'IF($A{row + 1}="","",{found})'
            if key == "rank":
                text = f'IF({ranked}<=MAX({whole}),{ranked},"")'
            value = table.columns[key].values[order[number]] if number < len(order) else ""
            sheet.formula(row, column, text, value if isinstance(value, str) else scale * value, style)
