"""The sheets Plan, the chosen training on several numbers of GPUs with the best first, and All plans."""

from collections.abc import Iterable, Mapping

import numpy as np
from trainlaw.app.answers.fixed_rows import FITS_WORDS
from trainlaw.app.sheets.plan import BookPlan
from trainlaw.app.workbook.choices import MOST
from trainlaw.app.workbook.compare import FIRST_GPUS
from trainlaw.app.workbook.formula import fact_formula
from trainlaw.app.workbook.gpus import add_exchange, add_link_rates
from trainlaw.app.workbook.model import (
    FIRST,
    INPUTS,
    OF_LINK,
    OF_NETWORK,
    PEER,
    PREFIX,
    TABLES,
    Model,
    first_choice,
    kind_of,
    new_sheet,
)
from trainlaw.app.workbook.rows import TOP, CellTable, Head, write_best_first
from trainlaw.app.workbook.tables import (
    BY_COST,
    OWN_LINK,
    USUAL_FABRIC,
    gpu_table_rows,
    listed_price,
    price_cell,
)
from trainlaw.datasets import FEATURES, RunTable, built_in_gpus
from trainlaw.datasets.features.scaling_features import SINGLE_GPU_TIME
from trainlaw.datasets.hardware.gpus import NO_LINK
from trainlaw.datasets.measurements.runs import Setup, configuration_row, unmeasured_runs
from trainlaw.datasets.tables.joins import Facts
from trainlaw.formulas import variables

NAME, VIEW = "All plans", "Plan"
COUNTS = (1, 2, 4, 8)
SPARE = 16  # rows for plans that the user adds
# Columns of sheet All GPUs that do not depend on the number of GPUs.
_TAKEN = ("precision", "bytes_per_element", SINGLE_GPU_TIME, "interval_factor", "fits", "measured")
_HEADS = {key: Head(*row) for key, row in TABLES["plan"].items()}


def write_plans(book: BookPlan, model: Model, gpus: CellTable) -> None:
    """Write both sheets; gpus : of sheet All GPUs. A formula that covers several GPUs itself has none."""
    if model.scaling is None:
        return
    for key in ("gpu", *_TAKEN):
        book.names[f"tl_all_{key}"] = gpus.span(key)
    table = _plans(model, gpus)
    view = new_sheet(book, VIEW, widths=[head.width for head in _HEADS.values()])
    write_best_first(view, table, _HEADS, 2, table.count)
    note = "Change GPUs and their numbers in the yellow cells; nodes are usual servers with the GPU."
    sheet = table.write(book, "The training on several numbers of GPUs", note)
    for row in range(TOP, TOP + table.count):
        sheet.drop_down(row, 0, "tl_gpus_listed")
        sheet.plan.limits[row, 1] = ("integer", 1, MOST)


def _plans(model: Model, gpus: CellTable) -> CellTable:
    asked = [(gpu, number) for gpu in FIRST_GPUS for number in COUNTS]
    needed = sorted({*variables(model.all_reduce), *variables(model.scaled)} - {SINGLE_GPU_TIME})
    values = dict(zip(needed, _runs(asked).matrix(needed).T, strict=True))
    values |= {"epochs": np.array(FIRST.epochs)}
    words = {**TABLES["all_gpus"], **TABLES["all_plans"]}
    table = CellTable(
        NAME, len(asked), len(asked) + SPARE, lambda name: (PREFIX + name, values[name]), words=words
    )
    table.add("gpu", "", [gpu for gpu, _ in asked])
    table.add("n_gpus", "", [number for _, number in asked])
    _add_places(table, gpus)
    _add_nodes(table, values)
    _add_of_gpus(table, gpus)
    _add_links(table, model, needed, values)
    for name in needed:
        if name not in table.columns and name not in INPUTS:
            _add_fact(table, name, values[name])
    add_exchange(table, model, "{@n_gpus}")
    _add_training(table)
    return table


def _runs(asked: Iterable[tuple[str, int]]) -> RunTable:
    """Return the first choice on these GPUs and numbers of them."""
    catalog, cnn = built_in_gpus(), first_choice().facts.cnns[0]
    rows = [
        configuration_row(cnn, catalog.find(gpu), FIRST.batch, Setup(n_gpus=number)) for gpu, number in asked
    ]
    return unmeasured_runs("plans", rows, Facts(catalog, (cnn,)))


def _add_places(table: CellTable, gpus: CellTable) -> None:
    names = gpus.columns["gpu"].values
    places = [names.index(gpu) + 1.0 for gpu in table.columns["gpu"].values[: table.known]]
    text = 'IF({@gpu}="","",IFERROR(MATCH({@gpu},tl_all_gpu,0),""))'
    table.add("place", text, places)


def _of_sheet(column: str, empty: str = '""') -> str:
    """Return the template of a column of sheet GPUs; empty : what stands for an empty cell."""
    found = f'INDEX(tl_gpu_table,{{@place}},MATCH("{column}",tl_gpu_columns,0))'
    return f'IFERROR(IF({found}="",{empty},{found}),"")'


def _add_nodes(table: CellTable, values: Mapping[str, np.ndarray]) -> None:
    """Add how many usual servers hold the GPUs; empty where they do not share them evenly."""
    nodes = f"ROUNDUP({{@n_gpus}}/{_of_sheet('server_gpus')},0)"
    whole = "AND(ISNUMBER({@n_gpus}),N({@n_gpus})>=1,N({@n_gpus})=INT(N({@n_gpus})))"
    table.add("n_nodes", f'IF({whole},IFERROR({nodes},""),"")', values["n_nodes"])
    each = 'IFERROR(IF(MOD({@n_gpus},{@n_nodes})=0,{@n_gpus}/{@n_nodes},""),"")'
    table.add("gpus_per_node", each, values["gpus_per_node"])


def _add_of_gpus(table: CellTable, gpus: CellTable) -> None:
    rows = [int(place) - 1 for place in table.numbers("place")]
    for key in _TAKEN:
        text = f'IF(COUNT({{@place}},{{@gpus_per_node}})=2,INDEX(tl_all_{key},{{@place}}),"")'
        column = gpus.columns[key]
        words = (column.title, column.unit, column.style)
        table.add(key, text, [column.values[row] for row in rows], words)


def _add_links(
    table: CellTable, model: Model, needed: Iterable[str], values: Mapping[str, np.ndarray]
) -> None:
    """Add link and fabric of each plan, and their rates."""
    rows = gpu_table_rows(model.formula)
    names = [str(name) for name in table.columns["gpu"].values[: table.known]]
    for kind, column, usual, rates, unused in (
        ("link", "link", OWN_LINK, OF_LINK, "{@n_gpus}={@n_nodes}"),
        ("network", "fabric", USUAL_FABRIC, OF_NETWORK, "{@n_nodes}=1"),
    ):
        own = _of_sheet(column, f'"{NO_LINK}"')
        text = f'IF({{@place}}="","",IF(tl_{kind}="{usual}",{own},tl_{kind}))'
        table.add(kind, text, [str(rows[name][column]) for name in names])
        add_link_rates(table, [name for name in rates if name in needed], kind, unused, values)


def _add_fact(table: CellTable, name: str, values: np.ndarray) -> None:
    """Add a base column that differs by GPU or number of GPUs; others are those of sheet Predict."""
    text = fact_formula(name).replace("tl_n_gpus", "{@n_gpus}")
    if kind_of(name) == "gpu":
        text = _of_sheet(name, "1" if name == PEER else '""')
    elif "{@" in text:
        text = f'IF(COUNT({{@n_gpus}})=1,IFERROR({text},""),"")'
    else:
        return
    unit = FEATURES[name].spec.unit if name in FEATURES else ""
    words = (name.replace("_", " "), "" if str(unit) == "1" else str(unit), "general")
    table.add(name, text, values, words)


def _add_training(table: CellTable) -> None:
    """Add hours and cost of the training, and the rank of each plan that fits into memory."""
    steps = np.ceil(FIRST.images / FIRST.batch / table.numbers("n_gpus"))
    count = 'IF(ISNUMBER({@time_s}),ROUNDUP(tl_images/(tl_batch_per_gpu*{@n_gpus}),0),"")'
    table.add("iterations", count, steps)
    for key in ("epoch_h", "training_h", "training_low_h", "training_high_h"):
        table.add_answer(key)
    prices = [
        listed_price(gpu, int(number))
        for gpu, number in zip(table.columns["gpu"].values, table.numbers("gpus_per_node"), strict=False)
    ]
    price = price_cell(_of_sheet("price_usd_per_hour"), "{@gpu}", "{@gpus_per_node}")
    known = f'IF(COUNT({{@place}},{{@gpus_per_node}})=2,{price},"")'
    table.add("price_per_hour", known, prices)
    table.add_answer("cost")
    # Plans without a price follow those with one, by time.
    by_cost = f"IF(ISNUMBER({{@cost}}),{{@cost}},MAX({table.span('cost', of_sheet=False)})+{{@training_h}})"
    fits = f'AND({{@fits}}="{FITS_WORDS[0]}",ISNUMBER({{@training_h}}))'
    key = f'IF({fits},IF(tl_ranked_by="{BY_COST}",{by_cost},{{@training_h}}),"")'
    fitting = np.array(table.columns["fits"].values[: table.known]) == FITS_WORDS[0]
    hours = np.where(fitting, table.numbers("training_h"), np.nan)
    table.add("key", key, hours)
    table.add_rank("key")
