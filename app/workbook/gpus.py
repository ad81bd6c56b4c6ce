"""The sheet All GPUs: the chosen CNN on every card, one row each, which sheet Predict shows in order."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from trainlaw.app.models.memory import LEAST_NEED, USUAL_NEED, fits_formula, fits_word
from trainlaw.app.sheets.plan import BookPlan, SheetWriter
from trainlaw.app.workbook.gpu_table import TOP, GpuColumn, GpuTable, shown, with_facts
from trainlaw.app.workbook.model import PREFIX, CellForm, Model, cell_form, cell_names, kind_of, values_of
from trainlaw.app.workbook.tables import ORDERS
from trainlaw.datasets import FEATURES
from trainlaw.formulas import Expression, variables
from trainlaw.formulas.printers import split_for_excel

NAME = "All GPUs"
_WIDTHS = {"text": 30, "unit": 26, "amount": 26}  # by style; other columns hold short numbers
FIRST_PRICE = 2.0
FIRST_IMAGES = 1_281_167.0
_IN_RANKING = ("gpu", "cost", "epoch", "time", "throughput", "fits", "outside", "price", "rank")


class GpuRanking(NamedTuple):
    """What sheet Predict shows: the values by column key, best first, and where the columns are."""

    values: dict[str, list[float | str]]
    places: dict[str, str]
    rows: int


def write_all_gpus(book: BookPlan, model: Model) -> GpuRanking:
    """Write the sheet; return what of it sheet Predict shows, for the first choice."""
    table = with_facts(model)
    own, values = _add_features(table)
    _add_outside(table, own, values)
    _add_times(table, own, values)
    _add_speed_and_memory(table)
    _add_costs(table)
    sheet = SheetWriter(book, NAME, [_WIDTHS.get(column.style, 18) for column in table.columns])
    note = f"In the order of sheet GPUs, its first {table.count} rows; sheet Predict shows them best first."
    sheet.title("The chosen CNN and set-up on every GPU", note)
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
    """Add the features that differ by card; return their names, and the values of all features."""
    raw, features = table.raw_values(), table.model.features
    values = {name: values_of(form, raw) for name, form in features.items()}
    own = [name for name, form in features.items() if any(kind_of(part) == "gpu" for part in variables(form))]

    def cell(form: Expression, row: int) -> str:
        text = split_for_excel(form, table.raw_places(row), str).formula
        return table.live(f"{table.cell('known', row)}=1", f'IFERROR({text},"")')

    for name in own:
        spec = FEATURES[name].spec
        unit, title = "" if spec.unit.is_dimensionless else str(spec.unit), name.replace("_", " ")
        formula = partial(cell, features[name])
        table.add(GpuColumn(f"feature {name}", title, unit, "seconds", formula, shown(values[name])))
    return own, values


def _add_outside(table: GpuTable, own: Sequence[str], values: dict[str, np.ndarray]) -> None:
    """Add how many quantities lie outside the training range; those of the choice count on each."""
    features, ranges = list(table.model.features), table.model.formula.ranges
    untrained = f"(1-INDEX({PREFIX}options_trained,MATCH({PREFIX}precision,{PREFIX}options_precision,0)))"

    def formula(row: int) -> str:
        flags = [untrained]
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
    table.add(GpuColumn("outside", "quantities outside training", "count", "general", formula, counted))


def _add_times(table: GpuTable, own: Sequence[str], values: dict[str, np.ndarray]) -> None:
    """Add the time on one GPU, in steps where it is too long for one cell, the exchange, and their sum."""
    model, shape = table.model, np.zeros(len(table.rows))
    columns = {**values, **{name: shape + value for name, value in model.numbers.items()}}
    form = cell_form(model.expression)
    for index, part in enumerate(form.meanings):
        step = partial(_step, table, own, form, index)
        found = shown(values_of(part, columns) + shape)
        table.add(GpuColumn(f"step {index}", f"step {index + 1}", "", "general", step, found))
    single = shown(values_of(model.expression, columns) + shape)
    none = [0.0 if isinstance(value, float) else "" for value in single]

    def exchange(row: int) -> str:
        text = split_for_excel(model.exchange, table.raw_places(row), str).formula
        both = f'IFERROR((1-{PREFIX}hidden)*({text}),"")'
        return table.live(f"ISNUMBER({table.cell('single', row)})", both)

    def total(row: int) -> str:
        parts = [table.cell("single", row), table.cell("exchange", row)]
        return table.live(f"COUNT({','.join(parts)})=2", "+".join(parts))

    for key, title, formula, found in (
        ("single", "time on one GPU", partial(_step, table, own, form, -1), single),
        ("exchange", "exchange between GPUs", exchange, none),
        ("time", "iteration time", total, single),
    ):
        table.add(GpuColumn(key, title, "s", "seconds", formula, found))


def _places(table: GpuTable, own: Sequence[str], row: int) -> dict[str, str]:
    shared = cell_names({*table.model.features, *table.model.numbers})
    return shared | {name: table.cell(f"feature {name}", row) for name in own}


def _step(table: GpuTable, own: Sequence[str], form: CellForm, index: int, row: int) -> str:
    """The formula of the time on one GPU (index -1), or of a step on the way to it."""
    places = _places(table, own, row)
    text = form.filled(index, places, lambda other: table.cell(f"step {other}", row))
    features = ",".join(places[name] for name in own)
    known = f"{table.cell('known', row)}=1"
    known = f"AND({known},COUNT({features})={len(own)})" if own else known
    return table.live(known, f'IFERROR({text},"")')


def _where(table: GpuTable, key: str, text: Callable[[int], str]) -> Callable[[int], str]:
    """A column that stays empty where another one has no number."""
    return lambda row: table.live(f"ISNUMBER({table.cell(key, row)})", text(row))


def _add_speed_and_memory(table: GpuTable) -> None:
    model, times = table.model, table.numbers("time")
    images = f"{PREFIX}batch_per_gpu*{PREFIX}n_gpus"
    rate = _where(table, "time", lambda row: f"{images}/{table.cell('time', row)}")
    rates = shown(model.values["batch_per_gpu"] / times)
    table.add(GpuColumn("throughput", "throughput, all GPUs", "images/s", "decimal", rate, rates))
    needs = memory_needed(model)

    def fits(row: int) -> str:
        held = table.fact("memory_bytes", row)
        word = fits_formula(f"{PREFIX}memory_least", f"{PREFIX}memory_usual", held)
        return table.live(table.named(row), word)

    answers = [fits_word(*needs, size) for size in table.facts("memory_bytes")]
    table.add(GpuColumn("fits", "fits in memory", "", "unit", fits, answers))


def memory_needed(model: Model) -> tuple[float, float]:
    """Return the least and the usual memory of the first choice, in bytes."""
    columns = {name: np.array([value]) for name, value in model.values.items()}
    return float(values_of(LEAST_NEED, columns)[0]), float(values_of(USUAL_NEED, columns)[0])


def _add_costs(table: GpuTable) -> None:
    """Add time and cost of an epoch, and the place of each card in the chosen order."""
    steps = math.ceil(FIRST_IMAGES / table.model.values["batch_per_gpu"])
    hours = table.numbers("time") * steps / 3600.0
    cost = hours * FIRST_PRICE

    def price(row: int) -> str:
        own = table.fact("price_usd_per_hour", row)
        return table.live(table.named(row), f"IF(ISNUMBER({own}),{own},{PREFIX}price)")

    def cell(key: str, row: int) -> str:
        return table.cell(key, row)

    of_epoch = _where(table, "time", lambda row: f"{cell('time', row)}*{PREFIX}iterations/3600")
    of_cost = _where(table, "epoch", lambda row: f"{cell('epoch', row)}*{cell('price', row)}*{PREFIX}n_gpus")
    by_cost = f'{PREFIX}order="{ORDERS[0]}"'
    key = _where(table, "time", lambda row: f"IF({by_cost},{cell('cost', row)},{cell('time', row)})")
    for column in (
        GpuColumn("epoch", "time of an epoch", "h", "money", of_epoch, shown(hours)),
        GpuColumn("price", "price of a GPU", "USD/h", "money", price, [FIRST_PRICE] * len(table.rows)),
        GpuColumn("cost", "cost of an epoch", "USD", "money", of_cost, shown(cost)),
        GpuColumn("key", "what the order goes by", "", "seconds", key, shown(cost)),
        GpuColumn("rank", "place", "", "general", _where(table, "key", partial(_rank, table)), _ranks(cost)),
    ):
        table.add(column)


def _rank(table: GpuTable, row: int) -> str:
    """How many keys are less, and how many equal ones stand above: each place is taken exactly once."""
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
