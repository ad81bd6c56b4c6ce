"""The sheet Predict: choices, prediction, warnings, memory, cost, and every GPU ranked by time or cost."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from trainlaw.app.models.lookup_tables import cnn_label, gpu_rows
from trainlaw.app.sheets.plan import BookPlan, Chart, SheetWriter
from trainlaw.app.workbook.answers import SETUP, UNCLEAR, Said, of_chosen_gpu
from trainlaw.app.workbook.choices import FIRST_EPOCHS, write_choices
from trainlaw.app.workbook.gpus import FIRST_IMAGES, GpuRanking, memory_needed
from trainlaw.app.workbook.model import (
    ENTRIES,
    FAULTS,
    FIRST_BATCH,
    FIRST_CNN,
    FIRST_GPU,
    FIRST_PRECISION,
    MEMORY_NEEDS,
    PREFIX,
    Model,
    cell_names,
    figure_cell,
    fits_cell,
    fits_words,
)
from trainlaw.app.workbook.tables import (
    BY_COST,
    BY_TIME,
    HEAD,
    NO_LINK,
    ORDERS,
    OWN_LINK,
    SPARE_ROWS,
    USUAL_FABRIC,
    gpu_table_rows,
    interval_class,
    interval_factor,
    is_known_generation,
)
from trainlaw.datasets.hardware.servers import usual_server
from trainlaw.datasets.measurements.memory_fit import FITS
from trainlaw.formulas import Expression, variables
from trainlaw.formulas.printers import excel_expression
from trainlaw.validate.held_out_errors import LEVEL, held_out_kind, intervals_of
from xlsxwriter.utility import xl_col_to_name

_WIDTHS = (38, 46, 11, 66, 3)
_RANKED = 5  # first column of the ranking, counted from 0
_TOP = 3  # row of the heads, counted from 0
_GB = 1e9
ONE_GPU = (
    "A layer formula is computed for the chosen GPU only; for every GPU run trainlaw predict --all-gpus."
)
LEAST_MEANING = "weights, gradients, what the backward pass reads"
USUAL_MEANING = "and momentum, gradients of outputs, workspaces, driver"
_SAID = 6  # sentences of sheet Answers that are shown
NONE_SAID, MORE_SAID = "no warning", " more: sheet Answers"
INSIDE = "inside the range of the training runs"
OUTSIDE = " features outside the training range (sheet Formula): this time is unreliable"
_CHARTED = 25  # best GPUs in the chart: more labels would overlap
NO_PRICE = "enter a price on sheet GPUs"
ON_LAYERS, ROUGH = (
    "from the layers of the CNN",
    "rough, from totals: sheet CNNs has no kept_elements for this CNN",
)


class _Head(NamedTuple):
    """A column of the ranking: its title, unit, style, width, and what its cells are multiplied by."""

    title: str
    unit: str
    style: str
    width: float
    scale: str = ""


_HEADS: Mapping[str, _Head] = {
    "rank": _Head("#", "", "general", 5),
    "gpu": _Head("GPU", "", "unit", 32),
    "time": _Head("iteration time", "ms", "decimal", 12, "1000*"),
    "low": _Head("interval from", "ms", "decimal", 12, "1000*"),
    "high": _Head("interval to", "ms", "decimal", 12, "1000*"),
    "throughput": _Head("throughput, all GPUs", "images/s", "decimal", 14),
    "epoch": _Head("time per epoch", "h", "money", 11),
    "cost": _Head("cost per epoch", "USD", "money", 11),
    "price": _Head("GPU price", "USD/h", "money", 9),
    "fits": _Head("fits in memory", "", "unit", 13),
    "measured": _Head("training runs of its generation", "", "unit", 15),
    "outside": _Head("features out of range", "", "general", 11),
    "below": _Head("interval, below", "ms", "faint", 9, "1000*"),
    "above": _Head("interval, above", "ms", "faint", 9, "1000*"),
}


class _Result(NamedTuple):
    """One line; `name` is empty where no other cell refers to it, `expected` where nothing is wrong."""

    name: str
    title: str
    formula: str
    value: float | str | bool
    unit: str
    style: str
    note: str = ""
    expected: str = ""


def write_predict(sheet: SheetWriter, model: Model, ranking: GpuRanking | None, said: Said) -> None:
    """Write the sheet that `new_predict` added; other sheets refer to its cells by name.

    ranking : results for every GPU; None for a formula that is computed for the chosen GPU only. said : what
    sheet Answers says of the first choice.
    """
    sheet.title(
        "Time and cost of training a CNN",
        "Choose in the yellow cells; everything else is computed from them. What is red is a warning.",
    )
    sheet.text(_TOP, 0, "Choose", "section")
    row, valid = write_choices(sheet, model, _TOP + 1)
    entries = _text("entries", f'IF({valid},"{ENTRIES}","{FAULTS}")', ENTRIES, "entries", ENTRIES)
    row = _results(sheet, row + 1, "Prediction", [*_times(model), _setup(said.setups)])
    row = _results(sheet, row + 1, "Warnings", [entries, *_warnings(said.others, model), *_check()])
    row = _results(sheet, row + 1, "Memory of each GPU", _memory(model))
    row = _results(sheet, row + 1, "Training", _costs(model, ranking)) + 1
    sheet.plan.frozen = (_TOP + 1, 0)
    if ranking is None:
        sheet.text(row, 0, ONE_GPU, "note")
        return
    columns = list(_HEADS)
    labels, values, *ends = (_RANKED + columns.index(key) for key in ("gpu", "time", "below", "above"))
    first = _ranking(sheet, ranking)
    title = f"Iteration time of the {_CHARTED} best GPUs, with the {100 * LEVEL:g} % interval"
    last, size = first + _CHARTED - 1, (1000, 620)
    chart = Chart(row, 0, title, "ms", labels, values, first, last, size, (ends[0], ends[1]))
    sheet.plan.charts.append(chart)


def new_predict(book: BookPlan) -> SheetWriter:
    """Add the sheet, still empty, so that it is the first one of the workbook."""
    return SheetWriter(book, "Predict", (*_WIDTHS, *(head.width for head in _HEADS.values())))


def _warnings(said: Sequence[str], model: Model) -> list[_Result]:
    """Return the first sentences that sheet Answers says, and how many more there are."""
    count = f"MAX({PREFIX}said_number,0)"
    lines = []
    for number in range(1, _SAID + 1):
        text = f'IFERROR(INDEX({PREFIX}said,MATCH({number},{PREFIX}said_number,0)),"")'
        none = NONE_SAID if number == 1 else ""
        shown = said[number - 1] if number <= len(said) else none
        title = "what to know of this answer" if number == 1 else ""
        lines.append(_text(title, f'IF({count}<{number},"{none}",{text})', shown, "", none))
    more = f'IF({count}>{_SAID},{count}-{_SAID}&"{MORE_SAID}","")'
    shown = f"{len(said) - _SAID}{MORE_SAID}" if len(said) > _SAID else ""
    # The layers of a CNN are counted on their own sheet.
    outside = f'IF(SUM({PREFIX}outside)=0,"{INSIDE}",SUM({PREFIX}outside)&"{OUTSIDE}")'
    first = f"{model.outside_first}{OUTSIDE}" if model.outside_first else INSIDE
    range_line = _text("range of each feature", f'IFERROR({outside},"{UNCLEAR}")', first, "", INSIDE)
    return [range_line, *lines, _text("", more, shown)]


def _text(title: str, formula: str, value: str, name: str = "", expected: str = "") -> _Result:
    return _Result(name, title, formula, value, "", "result_text", "", expected)


def _live(formula: str) -> str:
    return f'IF(ISNUMBER({PREFIX}time_s),{formula},"")'


def _times(model: Model) -> list[_Result]:
    seconds, time = model.seconds, f"{PREFIX}time_s"
    both = f'AND({PREFIX}entries="{ENTRIES}",COUNT({PREFIX}single_s,{PREFIX}all_reduce_s)=2)'
    total = f'IF({both},{PREFIX}single_s+{PREFIX}all_reduce_s,"{UNCLEAR}")'
    rate, speed = figure_cell("samples_per_second"), FIRST_BATCH / seconds
    alone, note = f"{PREFIX}single_s/{time}", "time on one GPU divided by this time"
    return [
        _Result("time_s", "iteration time", total, seconds, "s", "result", "the sum of sheet Formula"),
        _Result("", "iteration time", _live(f"1000*{time}"), 1000 * seconds, "ms", "result_short"),
        *_interval(model),
        _Result(
            "",
            "throughput, all GPUs",
            _live(rate),
            speed,
            "images/s",
            "result_short",
        ),
        _Result("", "efficiency", _live(alone), 1.0, "", "result_share", note),
        _nodes_used(),
        _link_used(model),
        _fabric_used(),
        _cnn_used(),
    ]


def _interval(model: Model) -> list[_Result]:
    """Return the factor of the interval for the class of the run, and both ends of it."""
    layout = f"{PREFIX}layout" if "is_channels_last" in model.base_columns else ""
    vendor = of_chosen_gpu("vendor")
    kind = interval_class(vendor, f"{PREFIX}precision", layout)
    known = is_known_generation(model.formula, of_chosen_gpu("generation"))
    gpu = gpu_rows()[FIRST_GPU]
    value = intervals_of(model.formula).factor(FIRST_PRECISION, str(gpu["generation"]))
    value, seconds = 0.0 if math.isnan(value) else value, model.seconds
    factor = f"{PREFIX}interval_factor"
    ends = f"AND(ISNUMBER({PREFIX}time_s),N({factor})>0)"
    note = f"{100 * LEVEL:g} % interval, from single-GPU runs on held-out {held_out_kind(model.formula)}s"
    by_class = "by precision, layout and generation: sheet Errors; 0: no interval"
    text = f"IFERROR({interval_factor(kind, known)},0)"
    lines = [
        ("interval from", f"1000*({figure_cell('low_s')})", 1000 * seconds / value if value else ""),
        ("interval to", f"1000*({figure_cell('high_s')})", 1000 * seconds * value if value else ""),
    ]
    return [
        *(
            _Result("", title, f'IF({ends},{end},"")', shown, "ms", "result_short", note)
            for title, end, shown in lines
        ),
        _Result("interval_factor", "interval factor", text, value, "", "result_factor", by_class),
    ]


def _link_used(model: Model) -> _Result:
    own = of_chosen_gpu("link")
    link = f'IF({PREFIX}link="{OWN_LINK}",IF({own}="","{NO_LINK}",{own}),{PREFIX}link)'
    first = str(gpu_table_rows(model.formula)[FIRST_GPU]["link"])
    note = "applies to two or more GPUs in a node"
    return _Result("link_used", "link in use", f'IFERROR({link},"{UNCLEAR}")', first, "", "result_text", note)


def _setup(setups: Sequence[str]) -> _Result:
    """Return the line of all assumptions: of its sentences on sheet Answers one is not empty."""
    cells = "&".join(f"INDEX({PREFIX}{SETUP},{number + 1})" for number in range(len(setups)))
    return _text("what this assumes", cells, "".join(setups))


def _nodes_used() -> _Result:
    usual = f"ROUNDUP({PREFIX}n_gpus/{of_chosen_gpu('server_gpus')},0)"
    nodes = f'IFERROR(IF({PREFIX}nodes="",{usual},{PREFIX}nodes),1)'
    return _Result("n_nodes", "nodes in use", nodes, 1.0, "nodes", "result_count")


def _fabric_used() -> _Result:
    own = of_chosen_gpu("fabric")
    fabric = f'IFERROR(IF({PREFIX}network="{USUAL_FABRIC}",{own},{PREFIX}network),"{UNCLEAR}")'
    note = "applies to two or more nodes; sheet All GPUs uses these nodes and this fabric, too"
    first = usual_server(FIRST_GPU).fabric
    return _Result("network_used", "fabric in use", fabric, first, "", "result_text", note)


def _cnn_used() -> _Result:
    """Return the row of sheet CNNs: that of the chosen CNN, or of the same CNN at the size entered."""

    def fact(name: str) -> str:
        place = f'MATCH("{name}",{PREFIX}cnn_columns,0)'
        return f"INDEX({PREFIX}cnn_table,MATCH({PREFIX}cnn,{PREFIX}cnns,0),{place})"

    sized = f'{fact("cnn")}&", "&{PREFIX}pixels&" px, "&{fact("n_classes")}&" classes"'
    text = f'IFERROR(IF({PREFIX}pixels="",{PREFIX}cnn,{sized}),"{UNCLEAR}")'
    return _Result("cnn_used", "row of sheet CNNs in use", text, cnn_label(*FIRST_CNN), "", "result_text")


def _costs(model: Model, ranking: GpuRanking | None) -> list[_Result]:
    steps = float(math.ceil(FIRST_IMAGES / FIRST_BATCH))
    hours = model.seconds * steps / 3600.0
    count = f'IFERROR(ROUNDUP({PREFIX}images/({PREFIX}batch_per_gpu*{PREFIX}n_gpus),0),"")'
    own = of_chosen_gpu("price_usd_per_hour")
    price = f'IFERROR(IF(AND(ISNUMBER({own}),N({own})>=0),{own},"{NO_PRICE}"),"{UNCLEAR}")'
    priced = f"{PREFIX}price_used"
    per_epoch = figure_cell("cost", training_h=f"{PREFIX}epoch_h", price_per_hour=priced)
    prices = f"GPUs!$B${HEAD + 2}:$B${HEAD + 1 + SPARE_ROWS}"
    by = f'IF(AND({PREFIX}order="{ORDERS[0]}",COUNTIF({prices},">=0")>0),"{BY_COST}","{BY_TIME}")'
    factor = f"{PREFIX}interval_factor"
    both = f"AND(ISNUMBER({PREFIX}time_s),ISNUMBER({priced}))"
    with_interval = f"AND(ISNUMBER({PREFIX}cost),N({factor})>0)"
    return [
        _Result("iterations", "iterations per epoch", count, steps, "", "result_count"),
        _amount("epoch_h", "time per epoch", _live(figure_cell("epoch_h")), hours, "h"),
        _amount("", "total time", _live(figure_cell("training_h")), hours * FIRST_EPOCHS, "h"),
        _amount("price_used", "GPU price", price, NO_PRICE, "USD/h"),
        _amount("", "cost per epoch", f'IF({both},{per_epoch},"")', "", "USD"),
        _amount("cost", "total cost", f'IF({both},{per_epoch}*{PREFIX}epochs,"")', "", "USD"),
        _amount("", "total cost from", f'IF({with_interval},{PREFIX}cost/{factor},"")', "", "USD"),
        _amount("", "total cost to", f'IF({with_interval},{PREFIX}cost*{factor},"")', "", "USD"),
        *([_text("GPUs are ranked by", by, BY_TIME, "ranked_by")] if ranking else []),
    ]


def _amount(name: str, title: str, formula: str, value: float | str, unit: str) -> _Result:
    return _Result(name, title, formula, value, unit, "result_money")


def _check() -> list[_Result]:
    title = "self-check: same result as trainlaw"
    return [_Result("", title, f"{PREFIX}self_check", True, "", "result_text")]


def _memory(model: Model) -> list[_Result]:
    """Return the lines on memory, in GB of 1e9 bytes, as GPUs are sold."""
    least, usual = memory_needed(model)
    held = float(gpu_rows()[FIRST_GPU]["memory_bytes"])
    kept = f'MATCH("kept_elements",{PREFIX}cnn_columns,0)'
    counted = f"COUNT(INDEX({PREFIX}cnn_table,MATCH({PREFIX}cnn_used,{PREFIX}cnns,0),{kept}))=1"
    sold = of_chosen_gpu("memory_bytes")
    fits = fits_cell(f"({PREFIX}memory_least*1E9)", f"({PREFIX}memory_usual*1E9)", sold)
    how = f'IFERROR(IF({counted},"{ON_LAYERS}","{ROUGH}"),"{UNCLEAR}")'
    shown = f'IFERROR(IF({sold}="","{UNCLEAR}",{sold}/1E9),"{UNCLEAR}")'
    (word,) = fits_words(least, usual, [held])
    said = f'IFERROR({fits},"{UNCLEAR}")'
    return [
        _need("memory_least", "minimum memory", MEMORY_NEEDS[0], least, LEAST_MEANING),
        _need("memory_usual", "total memory", MEMORY_NEEDS[1], usual, USUAL_MEANING),
        _Result("", "GPU memory", shown, held / _GB, "GB", "result_short", "as sold: 1 GB is 1e9 bytes"),
        _text("fits in memory", f'IF({PREFIX}entries="{ENTRIES}",{said},"{UNCLEAR}")', word, "", FITS),
        _text("basis of this estimate", how, ON_LAYERS),
    ]


def _need(name: str, title: str, form: Expression, value: float, note: str) -> _Result:
    text = excel_expression(form, cell_names(variables(form)))
    shown = f'IFERROR(({text})/1E9,"{UNCLEAR}")'
    return _Result(name, title, shown, value / _GB, "GB", "result_short", note)


def _results(sheet: SheetWriter, row: int, title: str, lines: Sequence[_Result]) -> int:
    """Write lines below a title; return the next free row."""
    sheet.text(row, 0, title, "section")
    for number, line in enumerate(lines, start=row + 1):
        sheet.text(number, 0, line.title)
        sheet.formula(number, 1, line.formula, line.value, line.style)
        sheet.text(number, 2, line.unit, "unit")
        sheet.text(number, 3, line.note, "note")
        if line.expected:
            sheet.plan.expected[number, 1] = line.expected
        if line.name:
            sheet.define(PREFIX + line.name, number, 1)
    return row + 1 + len(lines)


def _ranking(sheet: SheetWriter, ranking: GpuRanking) -> int:
    """Write the table of all GPUs, best first, to the right of the choices; return its first row."""
    sheet.text(
        _TOP - 1, _RANKED, "Every GPU, best first, for the same workload and number of GPUs", "section"
    )
    for column, head in enumerate(_HEADS.values(), start=_RANKED):
        text = f"{head.title}, {head.unit}" if head.unit else head.title
        sheet.text(_TOP, column, text, "head_unit" if head.style == "unit" else "head_right")
    sheet.plan.heights[_TOP] = 48
    first, letter, rank = _TOP + 1, xl_col_to_name(_RANKED), ranking.places["rank"]
    for row in range(first, first + ranking.rows):
        place = f"ROWS(${letter}${first + 1}:${letter}{row + 1})"
        number = row - first
        known = number < len(ranking.values["gpu"])
        for column, (key, head) in enumerate(_HEADS.items(), start=_RANKED):
            found = f"INDEX({ranking.places[key]},MATCH(${letter}{row + 1},{rank},0))"
            if head.scale:
                found = f'IFERROR({head.scale}{found},"")'
            text = f'IF(${letter}{row + 1}="","",{found})'
            if key == "rank":
                text = f'IF({place}<=MAX({rank}),{place},"")'
            value = ranking.values[key][number] if known else ""
            shown = 1000 * value if head.scale and isinstance(value, float) else value
            sheet.formula(row, column, text, shown, head.style)
    return first
