"""The sheets All GPUs, the chosen workload on every GPU, and Ranking, which shows them best first."""

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from trainlaw.app.answers.error_rows import widened
from trainlaw.app.answers.figure_rows import definition_of, needed_memory
from trainlaw.app.answers.fixed_rows import FITS_WORDS
from trainlaw.app.models.settings import host_factor
from trainlaw.app.sheets.book_plan import BookPlan, Chart
from trainlaw.app.workbook.cell_tables import CellTable, write_best_first
from trainlaw.app.workbook.errors_sheet import (
    class_factor,
    interval_class,
    interval_factor,
    is_known_generation,
)
from trainlaw.app.workbook.formula_sheet import link_formula, unit_text
from trainlaw.app.workbook.lookup_sheets import (
    LACKS,
    Rows,
    gpu_places,
    gpu_table_rows,
    has_all,
    listed_price,
    usable_price,
)
from trainlaw.app.workbook.model import (
    FIRST,
    LAUNCH,
    NO,
    OF_LINK,
    OF_PRECISION,
    PEAK,
    PEER,
    PREFIX,
    TABLES,
    YES,
    Model,
    fact,
    first_choice,
    kind_of,
    new_sheet,
    option,
)
from trainlaw.app.workbook.notes_sheet import ORDERS, options_of_precisions
from trainlaw.datasets import FEATURES
from trainlaw.datasets.features.run_features import SINGLE_GPU_TIME
from trainlaw.datasets.hardware.gpus import NO_LINK
from trainlaw.datasets.measurements.memory_fit import NOT_KNOWN
from trainlaw.formulas import variables
from trainlaw.validate.conformal import LEVEL
from trainlaw.validate.formula_intervals import intervals_of
from trainlaw.validate.run_classes import run_class

NAME = "All GPUs"
SPARE = 24  # rows for GPUs that the user adds
_CHARTED = 25  # best GPUs in the chart: more labels would overlap
# A table that compares GPUs has one host for all of them, as that of `trainlaw predict --all-gpus` has.
SLOWEST = "tl_slowest_launch_s"
_SAME_HOST, _LEFT_OUT = "All on one host: ", " GPUs are left out, which lack what is chosen: sheet All GPUs."
_HEADS = TABLES["ranking"]


def write_all_gpus(book: BookPlan, model: Model) -> None:
    """Write both sheets."""
    table = _with_facts(model)
    _add_features(table, model)
    table.add_expression(SINGLE_GPU_TIME, model.expression, where="known")
    table.add_expression("added_s", model.added, where="known")
    table.add("time_s", table.numbers(SINGLE_GPU_TIME))
    _add_intervals(table, model, [dict(row) for row in gpu_table_rows(model.formula).values()])
    _add_speed_and_memory(table, model)
    _add_costs(table, model)
    ranking = new_sheet(book, "Ranking", widths=[width for *_, width, _ in _HEADS.values()])
    launch = 1e6 * max(table.numbers(LAUNCH)) if LAUNCH in table.columns else 0.0
    left_out = f'COUNTIF({table.span("left_out")},"?*")'
    parts = [f'"{_SAME_HOST}"', f"ROUND(1000000*{SLOWEST},0)", '" µs per layer. "'] if launch else []
    text = "&".join([*parts, left_out, f'"{_LEFT_OUT}"'])
    said = f"{_SAME_HOST}{launch:.0f} µs per layer. " * bool(launch) + f"0{_LEFT_OUT}"
    ranking.formula(1, 7, text, said, "note")
    write_best_first(ranking, table, _HEADS, 2, table.count)
    labels, times, below, above = map(list(_HEADS).index, ("gpu", "time_s", "below", "above"))
    title = f"Time on the {_CHARTED} best GPUs, with the {100 * LEVEL:g} % interval"
    place, last = len(_HEADS) + 1, 2 + _CHARTED
    ranking.plan.charts.append(Chart(2, place, title, "ms", labels, times, 3, last, (below, above)))
    table.write(book)
    book.names[SLOWEST] = f'MAX(INDEX(tl_gpu_table,0,MATCH("{LAUNCH}",tl_gpu_columns,0)))'


def _with_facts(model: Model) -> CellTable:
    """Return a table with name, precision, peak rate and link of each GPU, and whether all are known."""
    rows, places = gpu_table_rows(model.formula), gpu_places(model.formula)

    def facts(name: str) -> tuple[str, np.ndarray]:
        if kind_of(name) != "gpu" and name not in places:
            known = {"n_gpus": 1.0, "n_nodes": 1.0, **model.values}
            return model.cells.get(name, PREFIX + name), np.array(known.get(name, math.nan))
        # As trainlaw reads a GPU without this column.
        text = f'IF({places[name]}="",1,{places[name]})' if name == PEER else places[name]
        return text, np.array([row[name] for row in rows.values()], dtype=float)

    table = CellTable(NAME, len(rows), len(rows) + SPARE, facts, words=TABLES["all_gpus"])
    table.add("gpu", list(rows))
    _add_precision(table, model, rows)
    if LAUNCH in model.base_columns:
        left = f"*{option('compilation', 'launches_left')}" if model.is_forward else ""
        slowest = np.full(len(rows), np.nanmax(table.numbers(LAUNCH)))
        table.add(LAUNCH, slowest, left=left)
    _add_links(table, model, [str(row["link"]) or NO_LINK for row in rows.values()])
    needed = [name for name in model.feature_base_columns if kind_of(name) == "gpu" and name != PEER]
    cells = [table.place(name) for name in needed]
    counted = f"COUNT({','.join(cells)})={len(cells)}" if cells else "TRUE"
    table.add("left_out", [], has=has_all(_asked(model), places[LACKS]))
    complete = np.all(np.isfinite([table.numbers(name) for name in needed]), axis=0)
    known = np.broadcast_to(complete.astype(float), len(rows))
    table.add("known", known, counted=counted)
    return table


def _asked(model: Model) -> list[str]:
    """Return cell formulas of what is chosen and a GPU may lack."""
    rows = TABLES["choices"]["rare"]
    names = ["compilation" if model.is_forward else "link"]
    names += ["is_tuned"] if model.needs("choices", "is_tuned") else []
    return ["{@precision}", *(rows[name]["asked"] for name in names)]


def _add_precision(table: CellTable, model: Model, rows: Rows) -> None:
    """Add the precision, the chosen one or the default on the GPU, and the numbers that follow from it."""
    places, known = gpu_places(model.formula), options_of_precisions(model.formula)
    default, defaults = f'"{model.first_precision}"', [model.first_precision] * len(rows)
    if not model.is_forward:
        default = f'{places["default_precision"]}&""'
        defaults = [str(row["default_precision"]) for row in rows.values()]
    table.add("precision", defaults, default=model.default_precision, usual=default)
    for name in OF_PRECISION:
        if name in model.base_columns:
            values = [float(known[used][name]) if used in known else math.nan for used in defaults]
            cell = f'IFERROR({option("precision", name, "{@precision}")},"")'
            unit = str(getattr(FEATURES.get(name), "symbol", ""))
            table.add(name, values, (name.replace("_", " "), unit, "general", cell))
    if PEAK in model.feature_base_columns:
        columns = [str(known.get(used, {}).get("peak_column")) for used in defaults]
        rates = [float(str(row.get(of, math.nan))) for row, of in zip(rows.values(), columns, strict=True)]
        column = option("precision", "peak_column", "{@precision}")
        right = list(places.values())[-1].partition("!")[2]
        table.add(PEAK, rates, right=right, column=column)


def _add_links(table: CellTable, model: Model, usual_links: Sequence[str]) -> None:
    """Add the link of each GPU, its usual or the chosen one, and its rates; the first choice uses none."""
    needed = [name for name in OF_LINK if name in model.base_columns]
    if needed:
        table.add("link", usual_links, usual=gpu_places(model.formula)["link"])
    look_up = partial(fact, "link", row="{@link}")
    for name in needed:
        unit = "s/B" if name.endswith("_s_per_byte") else str(FEATURES[name].spec.unit)
        rate = link_formula(name, look_up, "tl_n_gpus=tl_n_nodes")
        text = f'IF({{@link}}<>"",IFERROR({rate},""),"")'
        table.add(name, np.zeros(table.known), (name.replace("_", " "), unit, "general", text))


def _add_features(table: CellTable, model: Model) -> None:
    """Add the features that differ by GPU, and how many of all lie outside their training ranges."""
    ranges, flags, count = model.formula.ranges, ["0"], np.zeros(table.known)
    for index, (name, form) in enumerate(model.features.items(), start=1):
        low, high = ranges.get(name, (-math.inf, math.inf))
        of_gpu = any(part in table.columns or kind_of(part) == "gpu" for part in variables(form))
        if of_gpu:
            spec = FEATURES[name].spec
            words = (name.replace("_", " "), unit_text(spec.unit), "seconds")
            table.add_expression(name, form, words, where="known")
            flags += [f"({{@{name}}}<{low!r})+({{@{name}}}>{high!r})"] if name in ranges else []
            values = table.numbers(name)
        else:
            flags.append(f"INDEX(tl_outside,{index})")
            values = np.array(model.values[name])
        count += ~((values >= low) & (values <= high))
    counted = np.where(table.numbers("known") == 1.0, count, math.nan)
    table.add("outside", counted, flags="+".join(flags))


def _add_intervals(table: CellTable, model: Model, facts: Sequence[Mapping[str, object]]) -> None:
    """Add whether a GPU's generation has training runs, the interval of its time, and how far its ends are.

    facts : of the GPUs.
    """
    formula, stack = model.formula, "tl_stack" if "is_stack_fused" in model.base_columns else ""
    seen, intervals = formula.provenance.get("generations"), intervals_of(formula)
    places = gpu_places(formula)
    words = [YES if seen is None or row["generation"] in seen else NO for row in facts]
    table.add("measured", words, known=is_known_generation(formula, places["generation"]))
    kind = interval_class(places["vendor"], "{@precision}", stack)
    of_class = class_factor(kind, f'({{@measured}}="{YES}")')
    is_processor = f'AND({places["device"]}="CPU",{{@measured}}="{NO}")'
    of_host = host_factor(formula, model.expression)
    table.add_expression("host_factor", of_host, where="known")
    text = interval_factor(formula, of_class, is_processor, "{@host_factor}")
    used = zip(table.columns["precision"].values, facts, strict=False)
    cnn_base, values = first_choice().facts.cnns[0].cnn_base, []
    for (precision, row), word, host in zip(used, words, table.numbers("host_factor"), strict=False):
        kind = run_class(str(precision), "eager", str(row["vendor"]))
        factor = widened(formula, intervals.factor(kind, str(row["generation"])), cnn_base, host)
        values.append(0.0 if row["device"] == "CPU" and word == NO else np.nan_to_num(factor))
    table.add("interval_factor", values, factor=text)
    for name in ("low_s", "high_s"):
        table.add_expression(name, definition_of(name))
    time, low, high = (table.numbers(name) for name in ("time_s", "low_s", "high_s"))
    # Where a class has no interval, its factor is 0 and the upper end would be 0 as well.
    table.add("below", time - low)
    table.add("above", np.where(np.isfinite(low), high - time, np.nan))


def _add_speed_and_memory(table: CellTable, model: Model) -> None:
    table.add_expression("samples_per_second", definition_of("samples_per_second"))
    for kind, need in zip(("least", "usual"), needed_memory(model.formula), strict=True):
        table.add_expression(f"memory_{kind}_bytes", need)
    for name in ("memory_held_bytes", "fits_in_memory"):
        table.add_expression(name, definition_of(name))
    words = ",".join(f'"{word}"' for word in FITS_WORDS)
    values = table.numbers("fits_in_memory")
    shown = [FITS_WORDS[int(value)] if math.isfinite(value) else NOT_KNOWN for value in values]
    table.add("fits", shown, sold=table.place("memory_bytes"), listed=words)


def _add_costs(table: CellTable, model: Model) -> None:
    """Add time and cost per epoch, and the rank of each GPU in the chosen order."""
    steps = math.ceil(FIRST.images / model.values["batch_per_gpu"])
    hours = table.numbers("time_s") * steps / 3600.0
    table.add("epoch_h", hours)
    prices = np.array([listed_price(gpu) for gpu in table.columns["gpu"].values[: table.known]])
    table.add("price_per_hour", prices, price=usable_price(table.place("price_usd_per_hour")))
    table.add("cost", hours * prices)
    # GPUs without a price follow those with one, by time.
    table.add("key", table.numbers("time_s"), by_cost=ORDERS[1], costs=table.span("cost", of_sheet=False))
    table.add_rank("key")
