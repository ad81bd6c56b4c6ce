"""Columns of the sheet All GPUs under construction: one row a card, in the order of sheet GPUs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
from trainlaw.app.workbook.formula import link_formula
from trainlaw.app.workbook.model import OF_LINK, PEAK, PREFIX, Model, cell_names, kind_of
from trainlaw.app.workbook.tables import HEAD, NO_LINK, OWN_LINK, gpu_table_rows
from trainlaw.datasets import FEATURES
from xlsxwriter.utility import xl_col_to_name

SPARE = 36  # rows for cards that a person adds
TOP = 4  # first row, counted from 0


@dataclass(frozen=True)
class GpuColumn:
    """One column: key, title, unit, style, cell formula by row number (from 1), values of the known cards."""

    key: str
    title: str
    unit: str
    style: str
    formula: Callable[[int], str]
    values: Sequence[float | str]


@dataclass
class GpuTable:
    """The columns so far; what a later one needs it finds here by key. Rows are numbered from 1."""

    model: Model
    columns: list[GpuColumn] = field(default_factory=list)

    @cached_property
    def rows(self) -> dict[str, dict[str, object]]:
        """The facts of the known cards."""
        return gpu_table_rows()

    @property
    def count(self) -> int:
        """Rows of the table: known cards and spare ones."""
        return len(self.rows) + SPARE

    @cached_property
    def fact_letters(self) -> dict[str, str]:
        """The column of each fact on sheet GPUs."""
        header = ["gpu", *next(iter(self.rows.values()))]
        return {name: xl_col_to_name(column) for column, name in enumerate(header)}

    def add(self, column: GpuColumn) -> None:
        """Add a column; the spare rows stay empty."""
        padded = [*column.values, *[""] * (self.count - len(column.values))]
        self.columns.append(replace(column, values=padded))

    def letter(self, key: str) -> str:
        """Return the letter of a column."""
        return xl_col_to_name(next(n for n, column in enumerate(self.columns) if column.key == key))

    def cell(self, key: str, row: int) -> str:
        """Return the address of a column's cell in a row."""
        return f"${self.letter(key)}{row}"

    def span(self, key: str) -> str:
        """Return the address of a whole column."""
        letter = self.letter(key)
        return f"${letter}${TOP + 1}:${letter}${TOP + self.count}"

    def fact(self, name: str, row: int) -> str:
        """Return the address of a fact on sheet GPUs; its rows are those of this sheet."""
        return f"GPUs!${self.fact_letters[name]}{row - TOP + HEAD + 1}"

    def facts(self, name: str) -> np.ndarray:
        """Return a fact of the known cards, shape (n_cards,); nan where unknown."""
        return np.array([row[name] for row in self.rows.values()], dtype=float)

    def values(self, key: str) -> list[float | str]:
        """Return what a column shows for the first choice, spare rows included."""
        return list(next(column.values for column in self.columns if column.key == key))

    def numbers(self, key: str) -> np.ndarray:
        """Return the numbers of a column for the known cards, shape (n_cards,); nan where there is none."""
        values = self.values(key)[: len(self.rows)]
        return np.array([value if isinstance(value, float) else math.nan for value in values])

    def has(self, key: str) -> bool:
        """Return whether there is such a column."""
        return any(column.key == key for column in self.columns)

    def live(self, condition: str, formula: str) -> str:
        """Return a cell formula that stays empty where the condition does not hold."""
        return f'IF({condition},{formula},"")'

    def named(self, row: int) -> str:
        """Return the condition that a row has a card."""
        return f'{self.cell("gpu", row)}<>""'

    def raw_places(self, row: int) -> dict[str, str]:
        """Return where a row finds the raw columns: its own facts, and the choice's for all else."""
        places = cell_names(self.model.raw)
        for name in self.model.raw:
            if self.has(name):
                places[name] = self.cell(name, row)
            elif kind_of(name) == "gpu":
                places[name] = self.fact(name, row)
        return places

    def raw_values(self) -> dict[str, np.ndarray]:
        """Return the raw columns of the known cards for the first choice, each of shape (n_cards,)."""
        values = {}
        for name in self.model.raw:
            if self.has(name):
                values[name] = self.numbers(name)
            elif kind_of(name) == "gpu":
                values[name] = self.facts(name)
            else:
                values[name] = np.full(len(self.rows), self.model.values[name])
        return values


def shown(values: np.ndarray) -> list[float | str]:
    """Return numbers, and empty texts where there is none."""
    return [float(value) if math.isfinite(value) else "" for value in values]


def with_facts(model: Model) -> GpuTable:
    """Return a table with name, rate and link of each card, and whether all needed facts are known."""
    table = GpuTable(model)
    table.add(GpuColumn("gpu", "GPU", "", "text", lambda r: _filled(table.fact("gpu", r)), list(table.rows)))
    needed = [name for name in model.raw_of_features if kind_of(name) == "gpu"]
    if PEAK in needed:
        rates = shown(table.facts("peak_fp32_flop_per_s"))
        title = "peak rate of the precision"
        table.add(GpuColumn(PEAK, title, "FLOP/s", "amount", partial(_peak, table), rates))
    _add_links(table, [name for name in OF_LINK if name in model.raw])
    direct = [name for name in needed if name != PEAK and name not in OF_LINK]
    own = [name for name in (PEAK, *OF_LINK) if table.has(name)]

    def known(row: int) -> str:
        cells = [*(table.fact(name, row) for name in direct), *(table.cell(name, row) for name in own)]
        all_known = f"IF(COUNT({','.join(cells)})={len(cells)},1,0)" if cells else "1"
        return table.live(table.named(row), all_known)

    complete = np.ones(len(table.rows))
    for name in direct:
        complete *= np.isfinite(table.facts(name))
    table.add(GpuColumn("known", "facts known", "1 or 0", "general", known, shown(complete)))
    return table


def _filled(cell: str) -> str:
    return f'IF({cell}="","",{cell})'


def _peak(table: GpuTable, row: int) -> str:
    """The rate of the chosen precision, whose column sheet Options names."""
    column = f"INDEX({PREFIX}options_peak_column,MATCH({PREFIX}precision,{PREFIX}options_precision,0))"
    place, right = row - TOP + HEAD + 1, list(table.fact_letters.values())[-1]
    found = f"INDEX(GPUs!$A{place}:${right}{place},MATCH({column},{PREFIX}gpu_columns,0))"
    return f'IFERROR({_filled(found)},"")'


def _add_links(table: GpuTable, needed: Sequence[str]) -> None:
    """The link of each card, its own or the chosen one, and its facts; the first choice uses none."""
    if not needed:
        return

    def link(row: int) -> str:
        own = table.fact("link", row)
        used = f'IF({PREFIX}link="{OWN_LINK}",IF({own}="","{NO_LINK}",{own}),{PREFIX}link)'
        return table.live(table.named(row), used)

    def fact(name: str, row: int) -> str:
        def look_up(column: str) -> str:
            place = f"MATCH({table.cell('link', row)},{PREFIX}links,0)"
            return f"INDEX({PREFIX}link_table,{place},MATCH({column},{PREFIX}link_columns,0))"

        return table.live(table.named(row), f'IFERROR({link_formula(name, look_up)},"")')

    own_links = [str(facts["link"]) for facts in table.rows.values()]
    table.add(GpuColumn("link", "link between GPUs", "", "unit", link, own_links))
    for name in needed:
        unit = "s/B" if name == "link_s_per_byte" else str(FEATURES[name].spec.unit)
        nothing = [0.0] * len(table.rows)
        table.add(GpuColumn(name, name.replace("_", " "), unit, "general", partial(fact, name), nothing))
