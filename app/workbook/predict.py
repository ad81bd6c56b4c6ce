"""The sheet Predict: choices, live prediction, checks, and every GPU ranked by cost or time."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from trainlaw.app.models.errors import LEVEL, held_out_kind, interval_of
from trainlaw.app.models.lookup_tables import cnn_label, gpu_rows
from trainlaw.app.models.memory import (
    LEAST_MEANING,
    LEAST_NEED,
    USUAL_MEANING,
    USUAL_NEED,
    fits_formula,
    fits_word,
)
from trainlaw.app.models.multi_gpu import SCALED
from trainlaw.app.models.scopes import handling
from trainlaw.app.models.settings import host_margin
from trainlaw.app.sheets.plan import BookPlan, Chart, SheetWriter
from trainlaw.app.workbook.gpus import FIRST_IMAGES, FIRST_PRICE, GpuRanking, memory_needed
from trainlaw.app.workbook.model import (
    FIRST_BATCH,
    FIRST_CNN,
    FIRST_GPU,
    FIRST_PRECISION,
    LAYOUTS,
    PREFIX,
    Model,
    cell_name,
    cell_names,
    values_of,
)
from trainlaw.app.workbook.tables import ANY_OTHER, NO_LINK, ORDERS, OWN_LINK, gpu_table_rows
from trainlaw.datasets.measurements.memory_fit import FITS
from trainlaw.datasets.tables.joins import HOST_LAUNCH_S
from trainlaw.formulas import Expression, variables
from trainlaw.formulas.printers import excel_expression, split_for_excel

FIRST_EPOCHS = 90.0
FIRST_NETWORK = "ethernet-10g"
FIRST_ALGORITHM = "ring"
_INPUT_STYLES: Mapping[str, str] = {"%": "input_share", "USD/h": "input_money", "us": "input_money"}
_WIDTHS = (40, 42, 12, 64, 3, 6, 32, 12, 12, 12, 14, 12, 14, 12)
_RANKED = 5  # first column of the ranking, counted from 0
ONE_GPU = (
    "A layer formula is computed for the chosen GPU only; for every GPU run trainlaw predict --all-gpus."
)
_CHARTED = 25  # best GPUs in the chart: more labels would overlap
INSIDE = "inside the range of the training runs"
OUTSIDE = " features outside the training range (sheet Formula): this time is unreliable"
NO_MEMORY = "not known"
HOST_DECIDES, GPU_DECIDES = "the host's launches decide", "the GPU's work decides"
ON_LAYERS, ROUGH = (
    "from the layers of the CNN",
    "rough, from totals: sheet CNNs has no kept_elements for this CNN",
)
WHOLE, BROKEN = (
    "whole numbers, GPUs a multiple of nodes",
    "enter whole numbers; GPUs must be a multiple of nodes",
)
_RANKING_HEADS: Mapping[str, tuple[str, str, str]] = {
    "rank": ("#", "", "general"),
    "gpu": ("GPU", "", "unit"),
    "cost": ("cost per epoch", "USD", "money"),
    "epoch": ("time per epoch", "h", "money"),
    "time": ("iteration time", "s", "seconds"),
    "throughput": ("throughput, all GPUs", "images/s", "decimal"),
    "fits": ("fits in memory", "", "unit"),
    "outside": ("features outside training", "count", "general"),
    "price": ("GPU price", "USD/h", "money"),
}


class _Result(NamedTuple):
    """One line of the prediction; `name` is empty where no other cell refers to it."""

    name: str
    title: str
    formula: str
    value: float | str | bool
    unit: str
    style: str
    note: str = ""


def write_predict(sheet: SheetWriter, model: Model, ranking: GpuRanking | None) -> None:
    """Write the sheet that `new_predict` added; other sheets refer to its cells by name.

    ranking : results for every GPU; None for a formula that is computed for the chosen GPU only.
    """
    sheet.title(
        "Time and cost of training a CNN",
        "Choose in the yellow cells; everything else is computed from them.",
    )
    row = write_choices(sheet, model) + 1
    row = _results(sheet, row, "Prediction", [*_times(model), *_costs(model)])
    row = _results(sheet, row + 1, "Checks", _checks(model)) + 1
    if ranking is None:
        sheet.text(row, 0, ONE_GPU, "note")
        return
    labels, values = _RANKED + 1, _RANKED + 2
    first = _ranking(sheet, ranking)
    title = f"The {_CHARTED} best GPUs: cost per epoch, USD"
    chart = Chart(row, 0, title, "USD", labels, values, first, first + _CHARTED - 1, (1000, 620))
    sheet.plan.charts.append(chart)


def new_predict(book: BookPlan) -> SheetWriter:
    """Add the sheet, still empty, so that it is the first one of the workbook."""
    return SheetWriter(book, "Predict", _WIDTHS)


def _live(formula: str) -> str:
    return f'IF(ISNUMBER({PREFIX}time_s),{formula},"")'


def _of_chosen_gpu(column: str) -> str:
    return (
        f'INDEX({PREFIX}gpu_table,MATCH({PREFIX}gpu,{PREFIX}gpus,0),MATCH("{column}",{PREFIX}gpu_columns,0))'
    )


def _times(model: Model) -> list[_Result]:
    seconds, time = model.seconds, f"{PREFIX}time_s"
    both = f"COUNT({PREFIX}single_s,{PREFIX}all_reduce_s)=2"
    total = f'IF({both},{PREFIX}single_s+{PREFIX}all_reduce_s,"not known")'
    assumed = "the formula covers several GPUs" if handling(model.formula).covers_multi_gpu else SCALED
    lines = [
        _Result("time_s", "iteration time", total, seconds, "s", "result", assumed),
        _Result("", "iteration time", _live(f"1000*{time}"), 1000 * seconds, "ms", "result_short"),
    ]
    if interval_of(model.formula):
        low, high = _interval(model, "interval", time, seconds, ("s", "result"))
        kind = held_out_kind(model.formula)
        note = f"{100 * LEVEL:g} % interval, from single-GPU runs on held-out {kind}s"
        lines += [low._replace(note=note), high]
    rate, speed = f"{PREFIX}batch_per_gpu*{PREFIX}n_gpus/{time}", FIRST_BATCH / seconds
    alone, note = f"{PREFIX}single_s/{time}", "time on one GPU divided by this time"
    return [
        *lines,
        _Result("", "throughput, all GPUs", _live(rate), speed, "images/s", "result_short"),
        _Result("", "efficiency", _live(alone), 1.0, "", "result_share", note),
        _link_used(),
    ]


def _interval(model: Model, title: str, name: str, value: float, shown: tuple[str, str]) -> list[_Result]:
    """Return both ends of the interval of a time or cost `name`; shown : unit and style."""
    factor, of_interval = interval_of(model.formula) or 1.0, f"{PREFIX}interval_factor"
    return [
        _Result("", f"{title} from", _live(f"{name}/{of_interval}"), value / factor, *shown),
        _Result("", f"{title} to", _live(f"{name}*{of_interval}"), value * factor, *shown),
    ]


def _link_used() -> _Result:
    own = _of_chosen_gpu("link")
    link = f'IF({PREFIX}link="{OWN_LINK}",IF({own}="","{NO_LINK}",{own}),{PREFIX}link)'
    first, note = str(gpu_table_rows()[FIRST_GPU]["link"]), "applies to two or more GPUs in a node"
    return _Result("link_used", "link in use", link, first, "", "result_text", note)


def _costs(model: Model) -> list[_Result]:
    steps = float(math.ceil(FIRST_IMAGES / FIRST_BATCH))
    hours = model.seconds * steps / 3600.0
    total = hours * FIRST_PRICE * FIRST_EPOCHS
    count = f"ROUNDUP({PREFIX}images/({PREFIX}batch_per_gpu*{PREFIX}n_gpus),0)"
    own = _of_chosen_gpu("price_usd_per_hour")
    price = f"IF(ISNUMBER({own}),{own},{PREFIX}price)"
    epoch = _live(f"{PREFIX}time_s*{PREFIX}iterations/3600")
    per_epoch = _live(f"{PREFIX}epoch_h*{PREFIX}n_gpus*{PREFIX}price_used")
    lines = [
        _Result("iterations", "iterations per epoch", count, steps, "", "result_count"),
        _amount("epoch_h", "time per epoch", epoch, hours, "h"),
        _amount("total_h", "total time", _all_epochs("epoch_h"), hours * FIRST_EPOCHS, "h"),
        _amount("price_used", "GPU price in use", price, FIRST_PRICE, "USD/h"),
        _amount("epoch_cost", "cost per epoch", per_epoch, hours * FIRST_PRICE, "USD"),
        _amount("cost", "total cost", _all_epochs("epoch_cost"), total, "USD"),
    ]
    if interval_of(model.formula):
        shown = ("USD", "result_money")
        lines += _interval(model, "total cost", f"{PREFIX}cost", total, shown)
    return lines


def _amount(name: str, title: str, formula: str, value: float, unit: str) -> _Result:
    return _Result(name, title, formula, value, unit, "result_money")


def _all_epochs(name: str) -> str:
    return _live(f"{PREFIX}{name}*{PREFIX}epochs")


def _checks(model: Model) -> list[_Result]:
    trained = f"INDEX({PREFIX}options_trained,MATCH({PREFIX}precision,{PREFIX}options_precision,0))"
    count = f"(SUM({PREFIX}outside)+1-{trained})"
    inside = f'IF({count}=0,"{INSIDE}",{count}&"{OUTSIDE}")'
    first = f"{model.outside_first}{OUTSIDE}" if model.outside_first else INSIDE
    memory = _of_chosen_gpu("memory_bytes")
    held = float(gpu_rows()[FIRST_GPU]["memory_bytes"])
    n, nodes = f"{PREFIX}n_gpus", f"{PREFIX}n_nodes"
    most = f"{PREFIX}largest_node"
    spread = f"IF({most}>0,AND({most}*{nodes}>={n},{most}+{nodes}-1<={n}),MOD({n},{nodes})=0)"
    whole = f"AND({nodes}>=1,{n}>=1,{nodes}=INT({nodes}),{n}=INT({n}),{most}=INT({most}),{spread})"
    return [
        _Result("", "training range", inside, first, "", "result_text"),
        *_host(model),
        *_memory(model, memory, held),
        _Result("", "GPUs and nodes", f'IF({whole},"{WHOLE}","{BROKEN}")', WHOLE, "", "result_text"),
        _Result("", "self-check: same result as trainlaw", f"{PREFIX}self_check", True, "", "result_text"),
    ]


def _host(model: Model) -> list[_Result]:
    """Return the line on who decides, the host or the GPU; none where the formula does not compare them."""
    margin = host_margin(model.formula, model.expression)
    if margin is None:
        return []
    text = split_for_excel(margin, cell_names(variables(margin)), str)
    if text.helpers:
        return []
    value = float(values_of(margin, {name: np.array([value]) for name, value in model.values.items()})[0])
    formula = f'IFERROR(IF({text.formula}>0,"{HOST_DECIDES}","{GPU_DECIDES}"),"{NO_MEMORY}")'
    first = HOST_DECIDES if value > 0 else GPU_DECIDES
    return [_Result("", "host or GPU", formula, first, "", "result_text")]


def _memory(model: Model, memory: str, held: float) -> list[_Result]:
    """Return the lines on memory; memory : its cell formula for the GPU, held : its first value in bytes."""
    least, usual = memory_needed(model)
    kept = f'MATCH("kept_elements",{PREFIX}cnn_columns,0)'
    counted = f"COUNT(INDEX({PREFIX}cnn_table,MATCH({PREFIX}cnn,{PREFIX}cnns,0),{kept}))=1"
    fits = fits_formula(f"{PREFIX}memory_least", f"{PREFIX}memory_usual", memory)
    how = f'IF({counted},"{ON_LAYERS}","{ROUGH}")'
    sold = f'IF({memory}="","{NO_MEMORY}",{memory})'
    return [
        _need("memory_least", "minimum memory", LEAST_NEED, least, LEAST_MEANING),
        _need("memory_usual", "total memory", USUAL_NEED, usual, USUAL_MEANING),
        _Result("", "basis of this estimate", how, ON_LAYERS, "", "result_text"),
        _Result("", "GPU memory", sold, held, "B", "result_count", "as sold: 1 GB is 1e9 bytes"),
        _Result("", "fits in memory", fits, fits_word(least, usual, held), "", "result_text"),
    ]


def _need(name: str, title: str, form: Expression, value: float, note: str) -> _Result:
    text = excel_expression(form, cell_names(variables(form)))
    return _Result(name, title, text, value, "B", "result_count", note)


def _results(sheet: SheetWriter, row: int, title: str, lines: list[_Result]) -> int:
    """Write lines below a title; return the next free row."""
    sheet.text(row, 0, title, "section")
    expected = {"training range": INSIDE, "fits in memory": FITS, "GPUs and nodes": WHOLE}
    for number, line in enumerate(lines, start=row + 1):
        sheet.text(number, 0, line.title)
        sheet.formula(number, 1, line.formula, line.value, line.style)
        sheet.text(number, 2, line.unit, "unit")
        sheet.text(number, 3, line.note, "note")
        if line.title in expected:
            sheet.plan.expected[number, 1] = expected[line.title]
        if line.name:
            sheet.define(PREFIX + line.name, number, 1)
    return row + 1 + len(lines)


def _ranking(sheet: SheetWriter, ranking: GpuRanking) -> int:
    """Write the table of all GPUs, best first, to the right of the choices; return its first row."""
    sheet.text(2, _RANKED, "Every GPU, best first, for the same workload and number of GPUs", "section")
    for column, (title, unit, style) in enumerate(_RANKING_HEADS.values(), start=_RANKED):
        text = f"{title}, {unit}" if unit else title
        sheet.text(3, column, text, "head_unit" if style == "unit" else "head_right")
    sheet.plan.heights[3] = 48
    first = 4
    rank = ranking.places["rank"]
    for row in range(first, first + ranking.rows):
        place = f"$F${first + 1}:$F{row + 1}"
        number = row - first
        known = number < len(ranking.values["gpu"])
        for column, (key, (_, _, style)) in enumerate(_RANKING_HEADS.items(), start=_RANKED):
            text = f'IF(ROWS({place})<=MAX({rank}),ROWS({place}),"")'
            if key != "rank":
                text = f'IF($F{row + 1}="","",INDEX({ranking.places[key]},MATCH($F{row + 1},{rank},0)))'
            sheet.formula(row, column, text, ranking.values[key][number] if known else "", style)
    return first


class _Choice(NamedTuple):
    """One yellow cell; `listed` names the range of its drop-down, empty for a number."""

    name: str
    title: str
    value: str | float
    note: str = ""
    unit: str = ""
    listed: str = ""


def write_choices(sheet: SheetWriter, model: Model) -> int:
    """Write the yellow cells from row 4 on; return the next free row."""
    sheet.text(3, 0, "Choose", "section")
    row = 4
    for choice in (*_named_choices(model), *_numbers(model)):
        sheet.text(row, 0, choice.title)
        if isinstance(choice.value, str):
            sheet.text(row, 1, choice.value, "input")
            sheet.drop_down(row, 1, PREFIX + choice.listed)
        else:
            sheet.number(row, 1, choice.value, _INPUT_STYLES.get(choice.unit, "input_count"))
        sheet.text(row, 2, choice.unit, "unit")
        sheet.text(row, 3, choice.note, "note")
        sheet.define(cell_name(choice.name), row, 1)
        row += 1
    return row


def _named_choices(model: Model) -> list[_Choice]:
    groups: dict[str, str] = {}
    for constant in model.formula.grouped:
        groups.setdefault(constant.key, f"options_group_{constant.name}")
    custom = "add custom ones as rows of sheet {}".format
    rows = (
        ("cnn", "CNN", cnn_label(*FIRST_CNN), custom("CNNs"), "cnns_listed"),
        ("gpu", "GPU", FIRST_GPU, custom("GPUs"), "gpus_listed"),
        ("precision", "precision", FIRST_PRECISION,
         "number format; PyTorch's default: column default_precision of sheet GPUs", "options_precision"),
        *((("layout", "layout of activations", LAYOUTS[0], "order of their dimensions in memory",
            "options_layout"),) if "is_channels_last" in model.base_columns else ()),
        ("link", "link within a node", OWN_LINK, custom("Links"), "links_listed"),
        ("network", "fabric between nodes", FIRST_NETWORK, "for two or more nodes", "networks_listed"),
        ("algorithm", "all-reduce algorithm", FIRST_ALGORITHM, "for two or more GPUs", "options_algorithm"),
        *((f"label_{key}", key, ANY_OTHER, "selects constants of sheet Options",
           cell_name(name).removeprefix(PREFIX)) for key, name in groups.items()),
        ("order", "rank GPUs by", ORDERS[0], "order of the table to the right", "options_order"),
    )  # fmt: skip
    return [_Choice(name, title, value, note, listed=listed) for name, title, value, note, listed in rows]


def _numbers(model: Model) -> list[_Choice]:
    rows = [
        _Choice("batch_per_gpu", "batch per GPU", float(FIRST_BATCH), "per iteration on one GPU", "images"),
        _Choice("n_gpus", "number of GPUs", 1.0, "", "GPUs"),
        _Choice("n_nodes", "number of nodes", 1.0, "", "nodes"),
        _Choice("largest_node", "GPUs of the largest node", 0.0, "0: the GPUs are spread evenly", "GPUs"),
        _Choice("has_optimizer", "include the optimizer step", 1.0, "1: with the weight update", "1 or 0"),
        _Choice("has_input_copy", "include copying the images", 0.0, "1: with the copy to the GPU", "1 or 0"),
        _Choice("is_tuned", "vendor-tuned container", 0.0, "1: with the vendor's fused kernels", "1 or 0"),
        _Choice("is_bucketed", "gradients in buckets", 1.0, "0: each tensor alone", "1 or 0"),
        _Choice(
            "host_launch_us",
            "host launch time per layer",
            1e6 * HOST_LAUNCH_S,
            "measured by trainlaw profile; 150 where it was not",
            "us",
        ),
        _Choice(
            "hidden",
            "textbook all-reduce hidden behind computation",
            0.0,
            "0 %: the scaling formula in place of the textbook",
            "%",
        ),
        _Choice("images", "images per epoch", FIRST_IMAGES, "ImageNet-1k has 1,281,167", "images"),
        _Choice("epochs", "epochs", FIRST_EPOCHS, "", "epochs"),
        _Choice(
            "price", "GPU price", FIRST_PRICE, "an example; prices on sheet GPUs take precedence", "USD/h"
        ),
    ]
    # Only formulas with a term for it depend on one of these.
    needed = {row.name: row.name for row in rows if row.unit == "1 or 0"}
    needed["host_launch_us"] = "host_launch_s"
    return [row for row in rows if row.name not in needed or needed[row.name] in model.base_columns]
