"""The sheets that hold tables: GPUs, CNNs, Links, Options, Errors."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from trainlaw.app.answers.error_rows import has_architecture_errors
from trainlaw.app.answers.facts import Fact, precision_facts
from trainlaw.app.inputs.prices import EXAMPLE, MOST_USD, read_prices
from trainlaw.app.models.lookup_tables import cnn_rows, gpu_rows, precision_rows
from trainlaw.app.models.multi_gpu import covers_algorithm
from trainlaw.app.models.search_gain import evolution_sentence
from trainlaw.app.sheets.plan import BookPlan, SheetWriter
from trainlaw.app.text.tables import Table
from trainlaw.app.workbook.model import LAYOUTS, TABLES, Model, cell_name, is_listed, new_sheet, option
from trainlaw.datasets import Gpu, built_in_gpus, link_table
from trainlaw.datasets.hardware.collectives import FEATURE_OF_ALGORITHM, algorithm_indicator
from trainlaw.datasets.hardware.servers import usual_server
from trainlaw.datasets.measurements.runs import COMPILATIONS, STACKS
from trainlaw.datasets.tables.joins import LAUNCHES_LEFT
from trainlaw.formulas import Formula
from trainlaw.validate.baselines import title_of
from trainlaw.validate.bootstrap import mean_interval
from trainlaw.validate.conformal import LEVEL
from trainlaw.validate.error_table import BY_CNN, BY_GPU, METRIC_TITLES
from trainlaw.validate.formula_errors import (
    carried_errors,
    error_lines,
    errors_by_name,
    estimators,
    held_out_kind,
    overall_error,
)
from trainlaw.validate.formula_intervals import intervals_of
from trainlaw.validate.result import OURS
from trainlaw.validate.run_classes import (
    AMD,
    MAIN_VENDOR,
    OTHER_CLASS,
    STACK_PRECISIONS,
    STACK_WORDS,
    UNKNOWN_STACK,
)
from xlsxwriter.utility import xl_col_to_name

SPARE_ROWS = 1000  # rows that look-ups cover, so that the user can add rows
HEAD = 3  # row of the header of each table
OWN_LINK = "the GPU's own link"
USUAL_FABRIC = "that of usual servers"
ANY_OTHER = "(any other)"  # the group with the default of a grouped constant
IMPLIED = "as the other choices imply"
ORDERS = ("cost where prices are entered, else time", "iteration time")
BY_COST, BY_TIME = "cost per epoch", "iteration time"
#: Headings of the list of GPUs: names of no GPU, so that each group can be found in the drop-down.
HEADING = "\u2014 "
MEASURED, NEVER_MEASURED, PROCESSORS = (
    f"{HEADING}GPUs of generations with training runs",
    f"{HEADING}GPUs of generations without any",
    f"{HEADING}CPUs and Xeon Phi",
)
SHOWN = ("iteration time, ms", "throughput, images/s")
NUMBERS_OF_LINK = ("effective_byte_per_s", "latency_s", "nominal_byte_per_s")
_HELD_OUT: Mapping[str, str] = {"generation": "generation", "architecture": BY_CNN}
_NUMBER_WIDTH = 18  # characters of the longest number with separators
# By the end of a column's name, since names of columns carry their units.
_UNITS: Mapping[str, str] = TABLES["units"]


def gpu_table_rows(formula: Formula) -> dict[str, dict[str, object]]:
    """Return the rows of sheet GPUs by GPU: the price that the user enters, link, server, specifications.

    They are sorted by name, below a heading for each group: generations with training runs of the formula,
    without, and CPUs.
    """
    gpus, specifications = built_in_gpus().gpus, gpu_rows()
    seen = formula.provenance.get("generations")
    groups: dict[str, list[Gpu]] = {MEASURED: [], NEVER_MEASURED: [], PROCESSORS: []}
    for gpu in sorted(gpus, key=lambda gpu: _natural(gpu.gpu)):
        measured = seen is None or gpu.generation in seen
        group = PROCESSORS if gpu.device != "GPU" else MEASURED if measured else NEVER_MEASURED
        if gpu.gpu in specifications:
            groups[group].append(gpu)
    rows: dict[str, dict[str, object]] = {}
    for heading, members in groups.items():
        known = {gpu.gpu: _with_link(gpu, specifications[gpu.gpu]) for gpu in members}
        empty = next(iter(known.values()), {})
        if known:
            rows[heading] = {
                name: "" if isinstance(value, str) else math.nan for name, value in empty.items()
            }
        rows |= known
    return rows


def fact_letters(formula: Formula) -> dict[str, str]:
    """Return the column of each specification on sheet GPUs."""
    header = ["gpu", *next(iter(gpu_table_rows(formula).values()))]
    return {name: xl_col_to_name(column) for column, name in enumerate(header)}


def _with_link(gpu: Gpu, specifications: Mapping[str, object]) -> dict[str, object]:
    server = usual_server(gpu.gpu)
    of_server = {"server_gpus": float(server.gpus_per_node), "fabric": server.fabric}
    return {"price_usd_per_hour": math.nan, "link": gpu.usual_link, **of_server, **specifications}


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts numbers in names by value: K80 before K100.

    >>> sorted(["RTX 4070", "RTX 980"], key=_natural)
    ['RTX 980', 'RTX 4070']
    """
    parts = re.split(r"(\d{1,9})", name.lower())
    return [(int(part), "") if part.isdecimal() else (0, part) for part in parts]


def cnn_table_rows() -> dict[str, dict[str, str | float]]:
    """Return the rows of sheet CNNs by label, sorted by name and size."""
    return dict(sorted(cnn_rows().items(), key=lambda item: _natural(item[0])))


def write_gpus(book: BookPlan, formula: Formula) -> None:
    """Write the sheet GPUs: one row per GPU."""
    sheet = new_sheet(book, "GPUs")
    table = gpu_table_rows(formula)
    _look_up_table(sheet, "gpu", table)
    for row, name in enumerate(table, start=HEAD + 1):
        if name.startswith(HEADING):
            sheet.text(row, 0, name, "section")
        else:
            sheet.number(row, 1, math.nan, "input_money")
            sheet.plan.limits[row, 1] = ("decimal", 0.0, MOST_USD)


def write_cnns(book: BookPlan) -> None:
    """Write the sheet CNNs: counts per image and forward pass."""
    _look_up_table(new_sheet(book, "CNNs"), "cnn", cnn_table_rows())


def write_prices(book: BookPlan) -> None:
    """Write the sheet Prices: the shipped price list, by GPU and number of GPUs of the machine."""
    listed = read_prices(Path(EXAMPLE))
    sheet = new_sheet(book, "Prices", origin=listed.origin)
    rows = [[gpu, number, price, f"{gpu}|{number}"] for (gpu, number), price in sorted(listed.prices.items())]
    heads = ["GPU", "GPUs of a machine", f"{listed.currency}/h", "key"]
    end = sheet.table(HEAD, Table.of(heads, rows, "money"))
    for name, column in (("list_prices", 2), ("list_keys", 3)):
        sheet.define_range(f"tl_{name}", column, HEAD + 1, end - 1)


def price_cell(own: str, gpu: str, number: str, empty: str = '""') -> str:
    """Return the cell formula of a GPU's price for an hour: the user's, else the listed one.

    own, gpu, number : cell formulas of the user's price, the GPU's name, and the number of GPUs of its
    machine. empty : of what stands for no price.
    """
    places = (f'MATCH({gpu}&"|"&{each},tl_list_keys,0)' for each in (number, "0"))
    of_machine, of_any = (f"INDEX(tl_list_prices,{place})" for place in places)
    usable = f"IF(ISNUMBER({own}),{own}>=0,FALSE)"
    return f"IF({usable},{own},IFERROR({of_machine},IFERROR({of_any},{empty})))"


def listed_price(gpu: object, number: int = 1) -> float:
    """Return the listed price of a GPU in a machine with that many for an hour; nan without one."""
    return read_prices(Path(EXAMPLE)).of(str(gpu), number)


#: GPUs of a node, as price lists count them.
OF_MACHINE = "INT(tl_n_gpus/tl_n_nodes)"


def write_links(book: BookPlan) -> None:
    """Write the sheet Links: links within a node to the left, fabrics between nodes to the right."""
    table = link_table().set_index("link")
    # Those that formulas need come first.
    facts = list(dict.fromkeys(["effective_byte_per_s", "latency_s", *table.columns.drop("scope")]))
    tables = {
        scope: {
            str(row.name): {name: row[name] for name in facts}
            for _, row in table[table["scope"] == scope].iterrows()
        }
        for scope in ("node", "network")
    }
    empty = {name: math.nan if name in NUMBERS_OF_LINK else "" for name in facts}
    own, usual = ({**empty, "remark": f"column {name} of sheet GPUs"} for name in ("link", "fabric"))
    sheet = new_sheet(book, "Links")
    width = _look_up_table(sheet, "link", {OWN_LINK: own, **tables["node"]})
    sheet.text(HEAD - 1, 0, "within a node", "section")
    sheet.text(HEAD - 1, width + 1, "between nodes", "section")
    _look_up_table(sheet, "network", {USUAL_FABRIC: usual, **tables["network"]}, width + 1)


def _look_up_table(
    sheet: SheetWriter, kind: str, table: Mapping[str, Mapping[str, object]], left: int = 0
) -> int:
    """Write a table by row label and the names that look it up and list it; return its number of columns."""
    header = ["name", *next(iter(table.values()))]
    widths = [max(30, *(len(label) + 2 for label in table)), *(_width(table, name) for name in header[1:])]
    sheet.plan.widths = [*sheet.plan.widths, *[3] * (left - len(sheet.plan.widths)), *widths]
    for offset, title in enumerate(header):
        numeric = any(isinstance(row.get(title), int | float) for row in table.values())
        sheet.text(HEAD, left + offset, title, "head_right" if numeric else "head_unit" if offset else "head")
        if numeric:
            sheet.text(HEAD - 1, left + offset, _unit_of(title), "small")
    for row, (label, values) in enumerate(table.items(), start=HEAD + 1):
        sheet.text(row, left, label)
        for column, (name, value) in enumerate(values.items(), start=left + 1):
            if isinstance(value, int | float):
                sheet.number(row, column, value, "general" if name == "year" else "amount")
            else:
                sheet.text(row, column, str(value), "unit")
    _define_look_up(sheet, kind, left, len(header))
    return len(header)


def _width(table: Mapping[str, Mapping[str, object]], name: str) -> int:
    """The width of a column in characters; longer texts are cut off by the next cell."""
    longest = max(
        len(value) if isinstance(value := row[name], str) else _NUMBER_WIDTH for row in table.values()
    )
    return max(len(name) + 3, min(longest + 3, 48))


def _unit_of(column: str) -> str:
    return next((unit for ending, unit in _UNITS.items() if f"_{column}".endswith(ending)), "")


def _define_look_up(sheet: SheetWriter, kind: str, left: int, width: int) -> None:
    first, right = xl_col_to_name(left), xl_col_to_name(left + width - 1)
    top, bottom = HEAD + 2, HEAD + 1 + SPARE_ROWS
    labels = f"{sheet.name}!${first}${top}:${first}${bottom}"
    names = sheet.book.names
    names[f"tl_{kind}_columns"] = f"{sheet.name}!${first}${HEAD + 1}:${right}${HEAD + 1}"
    names[f"tl_{kind}_table"] = f"{sheet.name}!${first}${top}:${right}${bottom}"
    names[f"tl_{kind}s"] = labels
    # A range that grows with the rows, so that a drop-down lists added rows but no empty ones.
    names[f"tl_{kind}s_listed"] = f"{sheet.name}!${first}${top}:INDEX({labels},COUNTA({labels}))"


def options_of_precisions(formula: Formula) -> dict[str, dict[str, Fact]]:
    """Return by precision what the formula needs of it, and what the table of answers says."""
    return {name: {**precision_facts(formula, name), **row} for name, row in precision_rows().items()}


class _Options(NamedTuple):
    """A table of sheet Options, whose columns get names, and lines above and below it, empty for none."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    above: str = ""
    below: str = ""
    style: str = "number"


def write_options(book: BookPlan, model: Model) -> None:
    """Write the sheet Options: precisions, all-reduce algorithms, kinds of GPUs, grouped constants."""
    name, predict = model.sheet_name("Options"), model.sheet_name("Predict")
    sheet = new_sheet(book, "Options", name=name, predict=predict)
    row = 3
    for table in _options(model):
        if table.above:
            sheet.text(row, 0, table.above, "section" if table.style == "constant" else "note")
            row += 1
        end = sheet.table(row, Table.of(table.columns, table.rows, table.style))
        for column, name in enumerate(table.columns):
            sheet.define_range(cell_name(f"options_{name}"), column, row + 1, end - 1)
        if table.below:
            sheet.text(end, 0, table.below, "note")
        row = end + 1 + bool(table.below)


def _options(model: Model) -> Iterator[_Options]:
    formula, options = model.formula, options_of_precisions(model.formula)
    yield _Options(list(next(iter(options.values()))), [list(option.values()) for option in options.values()])
    lists = {"layout_choice": (IMPLIED, *LAYOUTS), "stack_choice": (IMPLIED, *STACKS)}
    if model.is_forward:
        left = [[name, LAUNCHES_LEFT.get(name, 1.0)] for name in COMPILATIONS]
        yield _Options(["compilation", "launches_left"], left)
    else:
        yield _algorithms(model)
        lists = {"order": ORDERS, "shown": SHOWN, **lists}
    for title, items in {**lists, "precision_choice": (model.default_precision, *options)}.items():
        yield _Options([title], [[item] for item in items])
    for kind in ("generation", "vendor"):
        if seen := formula.provenance.get(f"{kind}s"):
            yield _Options([kind], [[name] for name in seen], f"GPUs of the training runs, by {kind}")
    for kind, level in _HELD_OUT.items():
        if errors := [[name, error] for name, (error, _) in errors_by_name(formula, level).items()]:
            heads = [f"held_out_{kind}", f"error_of_{kind}"]
            yield _Options(heads, errors, f"error on held-out runs by {kind}, %")
    for constant in formula.grouped:
        groups = [[ANY_OTHER, constant.default], *([*item] for item in constant.values.items())]
        heads, title = [f"group_{constant.name}", f"of_{constant.name}"], f"one constant per {constant.key}"
        yield _Options(heads, groups, f"{constant.name}: {title}", style="constant")


def _algorithms(model: Model) -> _Options:
    """Return which algorithm has which textbook form, and whether the scaling formula covers it."""
    times = list(dict.fromkeys(FEATURE_OF_ALGORITHM.values()))
    rows = [
        [name, *(float(feature == own) for own in times), float(covers_algorithm(model.scaling, name))]
        for name, feature in FEATURE_OF_ALGORITHM.items()
    ]
    below = "mpi: a ring staged through host memory; it has the closed form of the ring"
    return _Options(["algorithm", *map(algorithm_indicator, times), "scaled"], rows, below=below)


def held_out_error(formula: Formula, kind: str, name: str) -> str:
    """Return the cell formula of the error on held-out runs, in percent, 0 where there were none.

    kind : "generation" or "architecture". name : cell formula of its name.
    """
    if not errors_by_name(formula, _HELD_OUT[kind]):
        return "0"
    return f"IFERROR({option(f'held_out_{kind}', f'error_of_{kind}', name)},0)"


def write_errors(book: BookPlan, formula: Formula, model: Model) -> None:
    """Write the sheet Errors: the interval's factors, the held-out errors of the formula and the baselines.

    formula : the one whose errors are listed. model : whose times the interval is for.
    """
    protocol = str(formula.errors.get("protocol", "this formula carries no held-out errors"))
    sheet = new_sheet(book, "Errors", held_out=held_out_kind(formula), protocol=protocol)
    start, names = _intervals(sheet, model.formula), estimators(formula)
    titles = list(map(title_of, names))
    overall = [
        [title, *(overall_error(formula, name, metric) for name in names)]
        for metric, title in METRIC_TITLES.items()
    ]
    row = sheet.table(start, Table.of(["overall, %", *titles], overall, "percent")) + 1
    row = _mean_intervals(sheet, formula, row)
    sheet.text(row, 0, evolution_sentence(carried_errors(formula)), "note")
    row += 2
    for level, title in ((BY_CNN, "architecture"), (BY_GPU, "GPU group")):
        lines = error_lines(formula, level)
        rows = [[_label(line.name, line.members), line.rows, *line.errors.values()] for line in lines]
        header = [title, "runs", *(f"{name}, %" for name in titles)]
        row = sheet.table(row, Table.of(header, rows, "percent")) + 1


def _intervals(sheet: SheetWriter, formula: Formula) -> int:
    """Write the factors of the interval by class of runs, and their names; return the next free row."""
    heads = [f"interval factor, {100 * LEVEL:g} %", "known generation", "new generation"]
    lines = intervals_of(formula).lines()
    end = sheet.table(3, Table.of(heads, lines, "factor"))
    kind = held_out_kind(formula)
    sheet.text(
        2,
        0,
        f"A run on a new {kind} is expected between prediction / factor and prediction x factor.",
        "note",
    )
    sheet.define_range("tl_interval_class", 0, 4, end - 1)
    sheet.book.names["tl_interval_factors"] = f"{sheet.name}!$B$5:$C${end}"
    return end + 1


def interval_class(vendor: str, precision: str, stack: str) -> str:
    """Return the cell formula of the class of a run; see `run_class`.

    vendor, precision, stack : cell formulas; an empty stack is the default one.
    """
    kind = precision
    if stack:
        words = ",".join(f'IF({stack}="{name}","{word}","")' for name, word in STACK_WORDS.items())
        of_stack = f'IF({stack}="unknown","{UNKNOWN_STACK}",CONCATENATE({precision},{words}))'
        bits = ",".join(f'{precision}="{name}"' for name in STACK_PRECISIONS)
        kind = f"IF(OR({bits}),{of_stack},{precision})"
    of_others = f'IF({vendor}="{AMD}","{AMD}","{OTHER_CLASS}")'
    return f'IF({vendor}="{MAIN_VENDOR}",{kind},{of_others})'


def class_factor(kind: str, known: str) -> str:
    """Return the cell formula of the factor of a class, 0 where it has no interval.

    kind : cell formula of the class. known : of 1 for a generation with training runs, else 0.
    """
    row = f"IFERROR(MATCH({kind},tl_interval_class,0),ROWS(tl_interval_class))"
    return f"N(INDEX(tl_interval_factors,{row},2-{known}))"


def interval_factor(formula: Formula, of_class: str, is_processor: str, of_host: str) -> str:
    """Return the cell formula of an interval's factor, 0 where there is none.

    of_class, of_host : cell formulas of the factors of its class and the host. is_processor : of a condition.
    """
    factors = [of_class, of_host]
    if has_architecture_errors(formula):
        factors.append("tl_architecture_factor")
    # An error, hence 0, where the class has no interval.
    squares = "+".join(f"LN({factor})^2" for factor in factors)
    return f"IFERROR(IF({is_processor},0,EXP(SQRT({squares}))),0)"


def is_known_generation(formula: Formula, generation: str) -> str:
    """Return the cell formula of 1 for a generation with training runs, else 0; 1 where it is not said."""
    seen = formula.provenance.get("generations")
    if not seen:
        return "1" if seen is None else "0"
    return f"IF({is_listed(generation, 'options_generation')},1,0)"


def _label(name: str, members: Sequence[str]) -> str:
    return f"{name} ({', '.join(members)})" if members else name


def _mean_intervals(sheet: SheetWriter, formula: Formula, row: int) -> int:
    """Write the mean error over GPU groups and over architectures with its interval; return the next row."""
    sheet.heads(row, [f"mean error of {OURS}, %", "mean", f"{100 * LEVEL:g} % from", "to", "groups"])
    for level, title in ((BY_GPU, "over GPU groups"), (BY_CNN, "over architectures")):
        errors = [line.errors[OURS] for line in error_lines(formula, level) if OURS in line.errors]
        if len(errors) > 1:
            row += 1
            sheet.text(row, 0, title)
            for column, value in enumerate(mean_interval(errors, LEVEL), start=1):
                sheet.number(row, column, value, "percent")
            sheet.number(row, 4, len(errors))
    return row + 2
