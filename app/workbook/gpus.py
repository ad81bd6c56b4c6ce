"""The sheet All GPUs: the chosen workload on every GPU, one row each, which sheet Predict ranks."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from trainlaw.app.sheets.plan import BookPlan, SheetWriter
from trainlaw.app.workbook.formula import link_formula
from trainlaw.app.workbook.model import (
    ENTRIES,
    FIRST_PRECISION,
    MEMORY_NEEDS,
    OF_LINK,
    PEAK,
    PEER,
    PREFIX,
    CellForm,
    ExchangeForm,
    Model,
    cell_form,
    figure_cell,
    fits_cell,
    fits_words,
    kind_of,
    values_of,
)
from trainlaw.app.workbook.tables import (
    BY_COST,
    HEAD,
    NO_LINK,
    OWN_LINK,
    gpu_table_rows,
    interval_class,
    interval_factor,
    is_known_generation,
)
from trainlaw.datasets import FEATURES
from trainlaw.formulas import variables
from trainlaw.validate.held_out_errors import intervals_of, run_class
from xlsxwriter.utility import xl_col_to_name

NAME = "All GPUs"
_WIDTHS = {"text": 30, "unit": 26, "amount": 26}  # by style; other columns hold short numbers
FIRST_IMAGES = 1_281_167.0
_IN_RANKING = (
    "gpu", "time", "low", "high", "throughput", "epoch", "cost", "price", "fits", "measured", "outside",
    "below", "above", "rank",
)  # fmt: skip


YES, NO = "yes", "no"
SPARE = 24  # rows for GPUs that the user adds
TOP = 4  # first row, counted from 0


@dataclass(frozen=True)
class GpuColumn:
    """One column: key, title, unit, style, cell formula by row number (from 1), values of the known GPUs."""

    key: str
    title: str
    unit: str
    style: str
    formula: Callable[[int], str]
    values: Sequence[float | str]


@dataclass
class GpuTable:
    """The columns so far, which later columns refer to by key. Rows are numbered from 1."""

    model: Model
    columns: list[GpuColumn] = field(default_factory=list)
    letters: dict[str, str] = field(default_factory=dict)

    @cached_property
    def rows(self) -> dict[str, dict[str, object]]:
        """The specifications of the known GPUs."""
        return gpu_table_rows(self.model.formula)

    @property
    def count(self) -> int:
        """Number of rows: known GPUs and spare rows."""
        return len(self.rows) + SPARE

    @cached_property
    def fact_letters(self) -> dict[str, str]:
        """The column of each specification on sheet GPUs."""
        header = ["gpu", *next(iter(self.rows.values()))]
        return {name: xl_col_to_name(column) for column, name in enumerate(header)}

    def add(self, column: GpuColumn) -> None:
        """Add a column; the spare rows stay empty."""
        padded = [*column.values, *[""] * (self.count - len(column.values))]
        self.letters[column.key] = str(xl_col_to_name(len(self.columns)))
        self.columns.append(replace(column, values=padded))

    def letter(self, key: str) -> str:
        """Return the letter of a column."""
        return self.letters[key]

    def cell(self, key: str, row: int) -> str:
        """Return the address of a column's cell in a row."""
        return f"${self.letter(key)}{row}"

    def span(self, key: str) -> str:
        """Return the address of a whole column."""
        letter = self.letter(key)
        return f"${letter}${TOP + 1}:${letter}${TOP + self.count}"

    def fact(self, name: str, row: int) -> str:
        """Return the address of a specification on sheet GPUs, which lists the GPUs in the same order."""
        return f"GPUs!${self.fact_letters[name]}{row - TOP + HEAD + 1}"

    def facts(self, name: str) -> np.ndarray:
        """Return a specification of the known GPUs, shape (n_gpus,); nan where unknown."""
        return np.array([row[name] for row in self.rows.values()], dtype=float)

    def values(self, key: str) -> list[float | str]:
        """Return what a column shows for the first choice, spare rows included."""
        return list(next(column.values for column in self.columns if column.key == key))

    def numbers(self, key: str) -> np.ndarray:
        """Return the numbers of a column for the known GPUs, shape (n_gpus,); nan where there is none."""
        values = self.values(key)[: len(self.rows)]
        return np.array([value if isinstance(value, float) else math.nan for value in values])

    def has(self, key: str) -> bool:
        """Return whether there is such a column."""
        return key in self.letters

    def live(self, condition: str, formula: str) -> str:
        """Return a cell formula that stays empty where the condition does not hold."""
        return f'IF({condition},{formula},"")'

    def named(self, row: int) -> str:
        """Return the condition that a row has a GPU."""
        return f'{self.cell("gpu", row)}<>""'

    def base_places(self, row: int) -> dict[str, str]:
        """Return the addresses of the base columns for a row: those of its GPU, else those of the choice."""
        own = {name: self.cell(name, row) for name in self.model.base_columns if self.has(name)}
        facts = {name: self.fact(name, row) for name in self.model.gpu_columns if name not in own}
        places = {**self.model.cells, **facts, **own}
        if PEER in places:
            # As trainlaw reads a GPU without this column.
            places[PEER] = f'IF({places[PEER]}="",1,{places[PEER]})'
        return places

    def base_values(self) -> dict[str, np.ndarray]:
        """Return the base columns of the known GPUs for the first choice, each of shape (n_gpus,)."""
        values = {}
        for name in self.model.base_columns:
            if self.has(name):
                values[name] = self.numbers(name)
            elif kind_of(name) == "gpu":
                values[name] = self.facts(name)
            else:
                values[name] = np.full(len(self.rows), self.model.values[name])
        return values


def shown(values: np.ndarray) -> list[float | str]:
    """Return the numbers, with an empty text for each that is not finite."""
    return [float(value) if math.isfinite(value) else "" for value in values]


def with_facts(model: Model) -> GpuTable:
    """Return a table with name, peak rate and link of each GPU, and whether all needed specs are known."""
    table = GpuTable(model)
    table.add(GpuColumn("gpu", "GPU", "", "text", lambda r: _filled(table.fact("gpu", r)), list(table.rows)))
    needed = [name for name in model.feature_base_columns if kind_of(name) == "gpu"]
    if PEAK in needed:
        rates = shown(table.facts("peak_fp32_flop_per_s"))
        title = "peak rate of the precision"
        table.add(GpuColumn(PEAK, title, "FLOP/s", "amount", partial(_peak, table), rates))
    _add_links(table, [name for name in OF_LINK if name in model.base_columns])
    direct = [name for name in needed if name != PEAK and name not in OF_LINK]
    own = [name for name in (PEAK, *OF_LINK) if table.has(name)]

    def known(row: int) -> str:
        cells = [*(table.fact(name, row) for name in direct), *(table.cell(name, row) for name in own)]
        all_known = f"IF(COUNT({','.join(cells)})={len(cells)},1,0)" if cells else "1"
        return table.live(table.named(row), all_known)

    complete = np.ones(len(table.rows))
    for name in direct:
        complete *= np.isfinite(table.facts(name))
    table.add(GpuColumn("known", "specs known", "1 or 0", "general", known, shown(complete)))
    return table


def _filled(cell: str) -> str:
    return f'IF({cell}="","",{cell})'


def _peak(table: GpuTable, row: int) -> str:
    """Return the cell formula of the peak rate at the chosen precision, whose column sheet Options names."""
    column = f"INDEX({PREFIX}options_peak_column,MATCH({PREFIX}precision,{PREFIX}options_precision,0))"
    place, right = row - TOP + HEAD + 1, list(table.fact_letters.values())[-1]
    found = f"INDEX(GPUs!$A{place}:${right}{place},MATCH({column},{PREFIX}gpu_columns,0))"
    return f'IFERROR({_filled(found)},"")'


def _add_links(table: GpuTable, needed: Sequence[str]) -> None:
    """Add the link of each GPU, its own or the chosen one, and its rates; the first choice uses none."""
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

    own_links = [str(facts["link"]) or NO_LINK for facts in table.rows.values()]
    table.add(GpuColumn("link", "link between GPUs", "", "unit", link, own_links))
    for name in needed:
        unit = "s/B" if name == "link_s_per_byte" else str(FEATURES[name].spec.unit)
        nothing = [0.0] * len(table.rows)
        table.add(GpuColumn(name, name.replace("_", " "), unit, "general", partial(fact, name), nothing))


class GpuRanking(NamedTuple):
    """What sheet Predict shows: values by column key, best first, and the addresses of the columns."""

    values: dict[str, list[float | str]]
    places: dict[str, str]
    rows: int


def write_all_gpus(book: BookPlan, model: Model) -> GpuRanking:
    """Write the sheet; return what sheet Predict shows of it for the first choice."""
    table = with_facts(model)
    own, values = _add_features(table)
    _add_outside(table, own, values)
    _add_times(table, own, values)
    _add_intervals(table)
    _add_speed_and_memory(table)
    _add_costs(table)
    sheet = SheetWriter(book, NAME, [_WIDTHS.get(column.style, 18) for column in table.columns])
    note = f"The first {table.count} rows of sheet GPUs, in its order; sheet Predict shows them best first."
    sheet.title("The chosen workload on every GPU", note)
    for number, column in enumerate(table.columns):
        head = "head_unit" if column.style == "unit" else "head_right"
        sheet.text(TOP - 2, number, column.title, head if number else "head")
        sheet.text(TOP - 1, number, column.unit, "small")
        for row, value in enumerate(column.values, start=TOP):
            sheet.formula(row, number, column.formula(row + 1), value, column.style)
    sheet.plan.heights[TOP - 2] = 45
    sheet.plan.frozen, sheet.plan.head_row, sheet.plan.many_pages = (TOP, 1), TOP - 2, True
    return _ranking(table)


def _add_features(table: GpuTable) -> tuple[list[str], dict[str, np.ndarray]]:
    """Add the features that differ by GPU; return their names, and the values of all features."""
    base, features = table.base_values(), table.model.features
    values = {name: values_of(form, base) for name, form in features.items()}
    own = [name for name, form in features.items() if any(kind_of(part) == "gpu" for part in variables(form))]
    places = {row: table.base_places(row) for row in range(TOP + 1, TOP + table.count + 1)}

    known = table.numbers("known") == 1.0

    def cell(form: CellForm, row: int) -> str:
        text = form.filled(-1, places[row], str)
        return table.live(f"{table.cell('known', row)}=1", f'IFERROR({text},"")')

    for name in own:
        spec = FEATURES[name].spec
        unit, title = "" if spec.unit.is_dimensionless else str(spec.unit), name.replace("_", " ")
        formula, found = partial(cell, cell_form(features[name])), np.where(known, values[name], math.nan)
        table.add(GpuColumn(f"feature {name}", title, unit, "seconds", formula, shown(found)))
    return own, values


def _add_outside(table: GpuTable, own: Sequence[str], values: dict[str, np.ndarray]) -> None:
    """Add how many features lie outside the training range; those of the workload count for every GPU."""
    features, ranges = list(table.model.features), table.model.formula.ranges

    def formula(row: int) -> str:
        flags = ["0"]
        for name in features:
            if name not in own:
                flags.append(f"INDEX({PREFIX}outside,{features.index(name) + 1})")
            elif name in ranges:
                cell = table.cell(f"feature {name}", row)
                flags.append(f"({cell}<{ranges[name][0]!r})+({cell}>{ranges[name][1]!r})")
        return table.live(f"{table.cell('known', row)}=1", "+".join(flags))

    count = np.zeros(len(table.rows))
    for name in features:
        low, high = ranges.get(name, (-math.inf, math.inf))
        count += ~((values[name] >= low) & (values[name] <= high))
    counted = shown(np.where(table.numbers("known") == 1.0, count, math.nan))
    table.add(GpuColumn("outside", "features outside training", "count", "general", formula, counted))


def _add_times(table: GpuTable, own: Sequence[str], values: dict[str, np.ndarray]) -> None:
    """Add the time on one GPU, in steps where it is too long for one cell, the all-reduce, and the sum."""
    model, shape = table.model, np.zeros(len(table.rows))
    columns = {**values, **{name: shape + value for name, value in model.numbers.items()}}
    form, known = cell_form(model.expression), table.numbers("known") == 1.0
    for index, part in enumerate(form.meanings):
        step = partial(_step, table, own, form, index)
        found = shown(np.where(known, values_of(part, columns) + shape, math.nan))
        table.add(GpuColumn(f"step {index}", f"step {index + 1}", "", "general", step, found))
    single = shown(np.where(known, values_of(model.expression, columns), math.nan))
    # The first choice is one GPU, which has nothing to reduce.
    none = [0.0 if isinstance(value, float) else "" for value in single]

    exchange = ExchangeForm(model)

    def all_reduce(row: int) -> str:
        single = table.cell("single", row)
        text = exchange.filled(table.base_places(row), single)
        return table.live(f"ISNUMBER({single})", f'IFERROR({text},"")')

    def total(row: int) -> str:
        parts = [table.cell("single", row), table.cell("all_reduce", row)]
        usable = f'{PREFIX}entries="{ENTRIES}"'
        return table.live(f"AND({usable},COUNT({','.join(parts)})=2)", "+".join(parts))

    for key, title, formula, found in (
        ("single", "time on one GPU", partial(_step, table, own, form, -1), single),
        ("all_reduce", "all-reduce", all_reduce, none),
        ("time", "iteration time", total, single),
    ):
        table.add(GpuColumn(key, title, "s", "seconds", formula, found))


def _places(table: GpuTable, own: Sequence[str], row: int) -> dict[str, str]:
    shared = table.model.cells
    return {**shared, **{name: table.cell(f"feature {name}", row) for name in own}}


def _step(table: GpuTable, own: Sequence[str], form: CellForm, index: int, row: int) -> str:
    """Return the cell formula of the time on one GPU (index -1), or of a step of it."""
    places = _places(table, own, row)
    text = form.filled(index, places, lambda other: table.cell(f"step {other}", row))
    features = ",".join(places[name] for name in own)
    known = f"{table.cell('known', row)}=1"
    known = f"AND({known},COUNT({features})={len(own)})" if own else known
    return table.live(known, f'IFERROR({text},"")')


def _where(table: GpuTable, key: str, text: Callable[[int], str]) -> Callable[[int], str]:
    """Return a column formula that stays empty where column `key` has no number."""
    return lambda row: table.live(f"ISNUMBER({table.cell(key, row)})", text(row))


def _add_intervals(table: GpuTable) -> None:
    """Add whether the GPU's generation has training runs, and the interval of its time."""
    formula, times = table.model.formula, table.numbers("time")
    layout = f"{PREFIX}layout" if "is_channels_last" in table.model.base_columns else ""
    seen, intervals = formula.provenance.get("generations"), intervals_of(formula)

    def measured(row: int) -> str:
        known = is_known_generation(formula, table.fact("generation", row))
        return table.live(table.named(row), f'IF({known}=1,"{YES}","{NO}")')

    def factor(row: int) -> str:
        own = interval_class(table.fact("vendor", row), f"{PREFIX}precision", layout)
        known = f'({table.cell("measured", row)}="{YES}")'
        return table.live(table.named(row), interval_factor(own, known))

    facts = [(str(row["vendor"]), str(row["generation"])) for row in table.rows.values()]
    words: list[float | str] = [YES if seen is None or generation in seen else NO for _, generation in facts]
    kinds = [run_class(FIRST_PRECISION, "", vendor) for vendor, _ in facts]
    factors = np.array([intervals.factor(own, facts[row][1]) for row, own in enumerate(kinds)])
    table.add(GpuColumn("measured", "training runs of its generation", "", "unit", measured, words))
    table.add(GpuColumn("factor", "interval factor", "", "factor", factor, np.nan_to_num(factors).tolist()))
    for key, title, text, found in (
        ("low", "interval from", "{time}/{factor}", times / factors),
        ("high", "interval to", "{time}*{factor}", times * factors),
        ("below", "interval below", "{time}-{time}/{factor}", times - times / factors),
        ("above", "interval above", "{time}*{factor}-{time}", times * factors - times),
    ):
        end = partial(_interval_end, table, text)
        table.add(GpuColumn(key, title, "s", "seconds", end, shown(found)))


def _interval_end(table: GpuTable, text: str, row: int) -> str:
    cells = {key: table.cell(key, row) for key in ("time", "factor")}
    return table.live(f"AND(ISNUMBER({cells['time']}),N({cells['factor']})>0)", text.format(**cells))


def _add_speed_and_memory(table: GpuTable) -> None:
    model, times = table.model, table.numbers("time")
    rate = _where(
        table, "time", lambda row: figure_cell("samples_per_second", time_s=table.cell("time", row))
    )
    rates = shown(model.values["batch_per_gpu"] / times)
    table.add(GpuColumn("throughput", "throughput, all GPUs", "images/s", "decimal", rate, rates))
    needs = memory_needed(model)

    def fits(row: int) -> str:
        held = table.fact("memory_bytes", row)
        word = fits_cell(f"({PREFIX}memory_least*1E9)", f"({PREFIX}memory_usual*1E9)", held)
        return table.live(f'AND({table.named(row)},{PREFIX}entries="{ENTRIES}")', word)

    answers: list[float | str] = [*fits_words(*needs, table.facts("memory_bytes").tolist())]
    table.add(GpuColumn("fits", "fits in memory", "", "unit", fits, answers))


def memory_needed(model: Model) -> tuple[float, float]:
    """Return the least and the usual memory of the first choice, in bytes."""
    columns = {name: np.array([value]) for name, value in model.values.items()}
    least, usual = (float(values_of(need, columns)[0]) for need in MEMORY_NEEDS)
    return least, usual


def _add_costs(table: GpuTable) -> None:
    """Add time and cost per epoch, and the rank of each GPU in the chosen order."""
    steps = math.ceil(FIRST_IMAGES / table.model.values["batch_per_gpu"])
    times = table.numbers("time")
    hours = times * steps / 3600.0

    def price(row: int) -> str:
        own = table.fact("price_usd_per_hour", row)
        return f'IF(AND(ISNUMBER({own}),N({own})>=0),{own},"")'

    def cell(key: str, row: int) -> str:
        return table.cell(key, row)

    def key(row: int) -> str:
        # GPUs without a price follow those with one, by time.
        own, time = cell("cost", row), cell("time", row)
        by_cost = f"IF(ISNUMBER({own}),{own},MAX({table.span('cost')})+{time})"
        return f'IF({PREFIX}ranked_by="{BY_COST}",{by_cost},{time})'

    def cost(row: int) -> str:
        both = f"COUNT({cell('epoch', row)},{cell('price', row)})=2"
        priced = {"training_h": cell("epoch", row), "price_per_hour": cell("price", row)}
        return table.live(both, figure_cell("cost", **priced))

    of_epoch = _where(table, "time", lambda row: figure_cell("epoch_h", time_s=cell("time", row)))
    nothing = [""] * len(table.rows)
    for column in (
        GpuColumn("epoch", "time per epoch", "h", "money", of_epoch, shown(hours)),
        GpuColumn("price", "GPU price", "USD/h", "money", price, nothing),
        GpuColumn("cost", "cost per epoch", "USD", "money", cost, nothing),
        GpuColumn("key", "ranking key", "", "seconds", _where(table, "time", key), shown(times)),
        GpuColumn("rank", "rank", "", "general", _where(table, "key", partial(_rank, table)), _ranks(times)),
    ):
        table.add(column)


def _rank(table: GpuTable, row: int) -> str:
    """Count the lesser keys, and the equal ones above, so that GPUs with equal keys get different ranks."""
    letter = table.letter("key")
    own, above = f"${letter}{row}", f"${letter}${TOP}:${letter}{row - 1}"
    return f"SUMPRODUCT(({table.span('key')}<{own})*1)+SUMPRODUCT(({above}={own})*1)+1"


def _ranks(keys: np.ndarray) -> list[float | str]:
    ranks = np.empty(len(keys))
    ranks[np.argsort(keys, kind="stable")] = np.arange(1.0, len(keys) + 1)
    return shown(np.where(np.isfinite(keys), ranks, math.nan))


def _ranking(table: GpuTable) -> GpuRanking:
    ranks = table.numbers("rank")
    order = np.argsort(ranks, kind="stable")[: int(np.isfinite(ranks).sum())]
    values = {key: [table.values(key)[row] for row in order] for key in _IN_RANKING}
    places = {key: f"'{NAME}'!{table.span(key)}" for key in _IN_RANKING}
    return GpuRanking(values, places, table.count)
