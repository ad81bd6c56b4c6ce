"""The sheet All GPUs: the chosen CNN on every card, one row each, which sheet Predict shows in order."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from trainlaw.app.memory_need import MEMORY_NEED
from trainlaw.app.sheet_writer import BookPlan, SheetWriter
from trainlaw.app.workbook_cells import (
    OF_LINK,
    PEAK,
    PREFIX,
    Model,
    cell_names,
    kind_of,
    values_of,
)
from trainlaw.app.workbook_formula import link_formula
from trainlaw.app.workbook_tables import HEAD, ORDERS, OWN_LINK, gpu_table_rows
from trainlaw.datasets import FEATURES
from trainlaw.formulas import Expression, variables
from trainlaw.formulas.printers import split_for_excel
from xlsxwriter.utility import xl_col_to_name

SPARE = 36  # rows for cards that a person adds
NAME = "All GPUs"
TOP = 4  # first row, counted from 0
FIRST_PRICE = 2.0
FIRST_IMAGES = 1_281_167.0
_NO_LINK = "pcie3-x16"

Cells = Sequence[float | str]


class _Column(NamedTuple):
    """One column: key, title, unit, style, cell formula by row number (from 1), values of all rows."""

    key: str
    title: str
    unit: str
    style: str
    formula: Callable[[int], str]
    values: Cells


class GpuRanking(NamedTuple):
    """What sheet Predict shows: the values by column key, best first, and where the columns are."""

    values: dict[str, Cells]
    places: dict[str, str]
    rows: int


class _Columns:
    """The columns so far; what a later one needs it finds here by key."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.rows = gpu_table_rows()
        self.count = len(self.rows) + SPARE
        self.columns: list[_Column] = []
        header = ["gpu", *next(iter(self.rows.values()))]
        self.right = xl_col_to_name(len(header) - 1)
        self.fact_letters = {name: xl_col_to_name(column) for column, name in enumerate(header)}

    def add(
        self, key: str, title: str, unit: str, style: str, formula: Callable[[int], str], values: Cells
    ) -> None:
        padded = [*values, *[""] * (self.count - len(values))]
        self.columns.append(_Column(key, title, unit, style, formula, padded))

    def letter(self, key: str) -> str:
        return xl_col_to_name(next(n for n, column in enumerate(self.columns) if column.key == key))

    def cell(self, key: str, row: int) -> str:
        return f"${self.letter(key)}{row}"

    def span(self, key: str) -> str:
        letter = self.letter(key)
        return f"${letter}${TOP + 1}:${letter}${TOP + self.count}"

    def fact(self, name: str, row: int) -> str:
        """Return the address of a fact on sheet GPUs; its rows are those of this sheet."""
        return f"GPUs!${self.fact_letters[name]}{row - TOP + HEAD + 1}"

    def facts(self, name: str) -> list[float]:
        return [float(row[name]) for row in self.rows.values()]  # type: ignore[arg-type]

    def values(self, key: str) -> list[float | str]:
        return list(next(column.values for column in self.columns if column.key == key))

    def array(self, key: str) -> np.ndarray:
        return np.array([value if isinstance(value, float) else math.nan for value in self.values(key)])

    def has(self, key: str) -> bool:
        return any(column.key == key for column in self.columns)


def write_all_gpus(book: BookPlan, model: Model) -> GpuRanking:
    """Write the sheet; return what of it sheet Predict shows, for the first choice."""
    table = _Columns(model)
    _add_facts(table)
    _add_times(table)
    _add_costs(table)
    sheet = SheetWriter(book, NAME, [30, *[15] * (len(table.columns) - 1)])
    note = f"In the order of sheet GPUs, the first {table.count} of its rows; sheet Predict shows them best first."
    sheet.title("The chosen CNN and set-up on every GPU", note)
    for number, column in enumerate(table.columns):
        sheet.text(TOP - 2, number, column.title, "head_right" if number else "head")
        sheet.text(TOP - 1, number, column.unit, "small")
        for row, value in enumerate(column.values, start=TOP):
            sheet.formula(row, number, column.formula(row + 1), value, column.style)
    sheet.plan.heights[TOP - 2] = 45
    sheet.plan.frozen = (TOP, 1)
    return _ranking(table)


def _live(condition: str, formula: str) -> str:
    return f'IF({condition},{formula},"")'


def _texts(values: np.ndarray) -> list[float | str]:
    """Numbers, and empty texts where there is none."""
    return [float(value) if math.isfinite(value) else "" for value in values]


def _add_facts(table: _Columns) -> None:
    """Name, rate of the precision, link, and whether all facts that the formula needs are known."""
    names = list(table.rows)
    table.add(
        "gpu", "GPU", "", "text", lambda r: _live(f'{table.fact("gpu", r)}<>""', table.fact("gpu", r)), names
    )
    needed = [name for name in table.model.raw_of_features if kind_of(name) == "gpu"]
    if PEAK in needed:
        column = f"INDEX({PREFIX}options_peak_column,MATCH({PREFIX}precision,{PREFIX}options_precision,0))"

        def peak(r: int) -> str:
            row = r - TOP + HEAD + 1
            found = f"INDEX(GPUs!$A{row}:${table.right}{row},MATCH({column},{PREFIX}gpu_columns,0))"
            return f'IFERROR(IF({found}="","",{found}),"")'

        table.add(
            PEAK,
            "peak rate of the precision",
            "FLOP/s",
            "amount",
            peak,
            _texts(np.array(table.facts("peak_fp32_flop_per_s"))),
        )
    _add_links(table, [name for name in OF_LINK if name in table.model.raw])
    direct = [name for name in needed if name != PEAK and name not in OF_LINK]
    own = [name for name in (PEAK, *OF_LINK) if table.has(name)]
    count = len(direct) + len(own)

    def known(r: int) -> str:
        cells = [*(table.fact(name, r) for name in direct), *(table.cell(name, r) for name in own)]
        return _live(
            f'{table.cell("gpu", r)}<>""', f"IF(COUNT({','.join(cells)})={count},1,0)" if cells else "1"
        )

    values = [
        float(all(math.isfinite(table.facts(name)[row]) for name in direct)) for row in range(len(names))
    ]
    table.add("known", "facts known", "1 or 0", "general", known, values)


def _add_links(table: _Columns, needed: Sequence[str]) -> None:
    """The link of each card, its own or the chosen one, and its facts; for the first choice nothing uses it."""
    if not needed:
        return
    table.add(
        "link",
        "link between GPUs",
        "",
        "text",
        lambda r: _live(
            f'{table.cell("gpu", r)}<>""',
            f'IF({PREFIX}link="{OWN_LINK}",IF({table.fact("link", r)}="","{_NO_LINK}",{table.fact("link", r)}),{PREFIX}link)',
        ),
        [str(row["link"]) for row in table.rows.values()],
    )

    def fact(name: str, r: int) -> str:
        def look_up(column: str) -> str:
            row = f"MATCH({table.cell('link', r)},{PREFIX}links,0)"
            return f"INDEX({PREFIX}link_table,{row},MATCH({column},{PREFIX}link_columns,0))"

        return _live(f'{table.cell("gpu", r)}<>""', f'IFERROR({link_formula(name, partial(look_up))},"")')

    for name in needed:
        unit = "s/B" if name == "link_s_per_byte" else str(FEATURES[name].spec.unit)
        table.add(name, name.replace("_", " "), unit, "general", partial(fact, name), [0.0] * len(table.rows))


def _raw_places(table: _Columns, row: int) -> dict[str, str]:
    """Where a row finds the raw columns: its own facts, and the choice's for all else."""
    places = cell_names(table.model.raw)
    for name in table.model.raw:
        if table.has(name):
            places[name] = table.cell(name, row)
        elif kind_of(name) == "gpu":
            places[name] = table.fact(name, row)
    return places


def _raw_values(table: _Columns) -> dict[str, np.ndarray]:
    values = {}
    for name in table.model.raw:
        if table.has(name):
            values[name] = table.array(name)[: len(table.rows)]
        elif kind_of(name) == "gpu":
            values[name] = np.array(table.facts(name))
        else:
            values[name] = np.full(len(table.rows), table.model.values[name])
    return values


def _add_times(table: _Columns) -> None:
    """Features that differ by card, how many lie outside the training range, and the time of an iteration."""
    model, columns = table.model, _raw_values(table)
    own = [
        name for name, form in model.features.items() if any(kind_of(raw) == "gpu" for raw in variables(form))
    ]
    values = {name: values_of(form, columns) for name, form in model.features.items()}
    for name in own:
        spec = FEATURES[name].spec

        def feature(r: int, form: Expression = model.features[name]) -> str:
            text = split_for_excel(form, _raw_places(table, r), str).formula
            return _live(f"{table.cell('known', r)}=1", f'IFERROR({text},"")')

        unit = "" if spec.unit.is_dimensionless else str(spec.unit)
        table.add(f"feature {name}", name.replace("_", " "), unit, "seconds", feature, _texts(values[name]))
    _add_outside(table, own, values)

    def places(r: int) -> dict[str, str]:
        return {
            **cell_names({*model.features, *model.numbers}),
            **{name: table.cell(f"feature {name}", r) for name in own},
        }

    def known(r: int) -> str:
        cells = ",".join(table.cell(f"feature {name}", r) for name in own)
        return (
            f"AND({table.cell('known', r)}=1,COUNT({cells})={len(own)})"
            if own
            else f"{table.cell('known', r)}=1"
        )

    shape = np.zeros(len(table.rows))
    numbers = {name: shape + value for name, value in model.numbers.items()}
    single = values_of(model.expression, {**values, **numbers}) + shape
    steps = split_for_excel(model.expression, places(1), lambda index: f"step {index}")
    for index, part in enumerate(steps.expressions):
        found = values_of(part, {**values, **numbers}) + shape
        table.add(
            f"step {index}",
            f"step {index + 1}",
            "",
            "general",
            partial(_step, table, places, known, index),
            _texts(found),
        )

    def time(r: int) -> str:
        cells = split_for_excel(model.expression, places(r), lambda index: table.cell(f"step {index}", r))
        return _live(known(r), f'IFERROR({cells.formula},"")')

    table.add("single", "time on one GPU", "s", "seconds", time, _texts(single))

    def exchange(r: int) -> str:
        text = split_for_excel(model.exchange, _raw_places(table, r), str).formula
        return _live(f"ISNUMBER({table.cell('single', r)})", f'IFERROR((1-{PREFIX}hidden)*({text}),"")')

    table.add("exchange", "exchange between GPUs", "s", "seconds", exchange, _texts(single * 0.0))
    total = "{0}+{1}"
    table.add(
        "time",
        "iteration time",
        "s",
        "seconds",
        lambda r: _live(
            f"COUNT({table.cell('single', r)},{table.cell('exchange', r)})=2",
            total.format(table.cell("single", r), table.cell("exchange", r)),
        ),
        _texts(single),
    )


def _step(table: _Columns, places: Callable, known: Callable, index: int, row: int) -> str:
    """A part of a formula that is too long for one cell."""
    cells = split_for_excel(
        table.model.expression, places(row), lambda other: table.cell(f"step {other}", row)
    )
    return _live(known(row), f'IFERROR({cells.helpers[index][1]},"")')


def _add_outside(table: _Columns, own: Sequence[str], values: dict[str, np.ndarray]) -> None:
    ranges = {name: table.model.formula.ranges[name] for name in own if name in table.model.formula.ranges}
    shared = f"(1-INDEX({PREFIX}options_trained,MATCH({PREFIX}precision,{PREFIX}options_precision,0)))"
    common = [name for name in table.model.features if name not in own]

    def outside(r: int) -> str:
        flags = [
            f"({table.cell(f'feature {name}', r)}<{low!r})+({table.cell(f'feature {name}', r)}>{high!r})"
            for name, (low, high) in ranges.items()
        ]
        flags += [f"INDEX({PREFIX}outside,{list(table.model.features).index(name) + 1})" for name in common]
        return _live(f"{table.cell('known', r)}=1", "+".join([shared, *flags]))

    count = np.zeros(len(table.rows))
    for name in (*ranges, *common):
        ends = table.model.formula.ranges.get(name)
        if ends:
            count += ~((values[name] >= ends[0]) & (values[name] <= ends[1]))
    known = np.array(table.values("known")[: len(count)]) == 1.0
    table.add(
        "outside",
        "quantities outside training",
        "count",
        "general",
        outside,
        _texts(np.where(known, count, math.nan)),
    )


def _add_costs(table: _Columns) -> None:
    """Throughput, memory, price, cost per epoch, and the place of each card in the chosen order."""
    model, times = table.model, table.array("time")[: len(table.rows)]
    batch, images = model.values["batch_per_gpu"], f"{PREFIX}batch_per_gpu*{PREFIX}n_gpus"

    def live(key: str, text: Callable[[int], str]) -> Callable[[int], str]:
        return lambda r: _live(f"ISNUMBER({table.cell(key, r)})", text(r))

    table.add(
        "throughput",
        "throughput, all GPUs",
        "images/s",
        "decimal",
        live("time", lambda r: f"{images}/{table.cell('time', r)}"),
        _texts(batch / times),
    )
    need = float(
        values_of(MEMORY_NEED, {name: np.array([model.values[name]]) for name in variables(MEMORY_NEED)})[0]
    )
    table.add(
        "fits",
        "fits in memory",
        "",
        "text",
        lambda r: _live(
            f'{table.cell("gpu", r)}<>""',
            f'IF(COUNT({table.fact("memory_bytes", r)})=0,"not known",IF({PREFIX}memory_need<={table.fact("memory_bytes", r)},"yes","no"))',
        ),
        [
            "not known" if math.isnan(size) else "yes" if need <= size else "no"
            for size in table.facts("memory_bytes")
        ],
    )
    steps = math.ceil(FIRST_IMAGES / batch)
    hours = times * steps / 3600.0
    table.add(
        "epoch",
        "time of an epoch",
        "h",
        "money",
        live("time", lambda r: f"{table.cell('time', r)}*{PREFIX}iterations/3600"),
        _texts(hours),
    )
    table.add(
        "price",
        "price of a GPU",
        "USD/h",
        "money",
        lambda r: _live(
            f'{table.cell("gpu", r)}<>""',
            f"IF(ISNUMBER({table.fact('price_usd_per_hour', r)}),{table.fact('price_usd_per_hour', r)},{PREFIX}price)",
        ),
        [FIRST_PRICE] * len(times),
    )
    cost = hours * FIRST_PRICE
    table.add(
        "cost",
        "cost of an epoch",
        "USD",
        "money",
        live("epoch", lambda r: f"{table.cell('epoch', r)}*{table.cell('price', r)}*{PREFIX}n_gpus"),
        _texts(cost),
    )
    table.add(
        "key",
        "what the order goes by",
        "",
        "general",
        live(
            "time",
            lambda r: f'IF({PREFIX}order="{ORDERS[0]}",{table.cell("cost", r)},{table.cell("time", r)})',
        ),
        _texts(cost),
    )
    # Equal keys keep the order of the rows: each place is taken once, so that none is missing.
    table.add("rank", "place", "", "general", live("key", partial(_rank, table)), _ranks(cost))


def _rank(table: _Columns, row: int) -> str:
    letter = table.letter("key")
    span = table.span("key")
    return f"SUMPRODUCT(({span}<${letter}{row})*1)+SUMPRODUCT((${letter}${TOP}:${letter}{row - 1}=${letter}{row})*1)+1"


def _ranks(keys: np.ndarray) -> list[float | str]:
    order = np.argsort(keys, kind="stable")
    ranks = np.empty(len(keys))
    ranks[order] = np.arange(1.0, len(keys) + 1)
    return _texts(np.where(np.isfinite(keys), ranks, math.nan))


def _ranking(table: _Columns) -> GpuRanking:
    ranks = table.array("rank")
    order = np.argsort(ranks, kind="stable")[: int(np.isfinite(ranks).sum())]
    shown = ("gpu", "cost", "epoch", "time", "throughput", "fits", "outside", "price", "rank")
    values = {key: [table.values(key)[row] for row in order] for key in shown}
    places = {key: f"'{NAME}'!{table.span(key)}" for key in shown}
    return GpuRanking(values, places, table.count)
