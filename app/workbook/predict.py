"""The sheet Predict: choices, next to them prediction, memory and cost, and below what is said of them."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from trainlaw.app.answers.answer import NOTE, WARNING
from trainlaw.app.answers.figure_rows import definition_of, needed_memory
from trainlaw.app.answers.fixed_rows import FITS_WORDS, NO_INTERVAL
from trainlaw.app.models.lookup_tables import cnn_label, gpu_rows
from trainlaw.app.models.settings import host_factor
from trainlaw.app.sheets.plan import BookPlan, SheetWriter
from trainlaw.app.workbook.answers import (
    SETUP,
    UNCLEAR,
    Said,
    chosen_class_factor,
    implied_stack,
    of_chosen_gpu,
)
from trainlaw.app.workbook.choices import write_choices
from trainlaw.app.workbook.measured import first_text
from trainlaw.app.workbook.model import (
    ENTRIES,
    FAULTS,
    FIRST,
    LAYOUTS,
    PREFIX,
    Model,
    cell_names,
    fact,
    figure_cell,
    first_interval_factor,
    fits_cell,
    values_of,
)
from trainlaw.app.workbook.names import meant
from trainlaw.app.workbook.sizes import chosen_cnn, classes_used, is_any_size, pixels_used
from trainlaw.app.workbook.tables import (
    BY_COST,
    BY_TIME,
    HEAD,
    IMPLIED,
    OF_MACHINE,
    ORDERS,
    OWN_LINK,
    SPARE_ROWS,
    USUAL_FABRIC,
    gpu_table_rows,
    interval_factor,
    listed_price,
    price_cell,
)
from trainlaw.datasets.hardware.gpus import NO_LINK
from trainlaw.datasets.hardware.servers import usual_server
from trainlaw.datasets.measurements.memory_fit import FITS
from trainlaw.formulas import Constant, Expression, variables
from trainlaw.formulas.printers import excel_expression
from trainlaw.validate.conformal import LEVEL
from trainlaw.validate.formula_errors import held_out_kind

_WIDTHS = (34, 36, 9, 46, 2, 22, 26, 10, 44)
_TOP = 3  # row of the heads, counted from 0
_LEFT, _RIGHT = 0, 5  # columns of what is chosen, and of what follows from it
_GB = 1e9
_STEPS = float(math.ceil(FIRST.images / FIRST.batch))  # iterations of the first choice
ONE_GPU = (
    "A layer formula is computed for the chosen GPU only; for every GPU run trainlaw predict --all-gpus."
)
TITLE_OF_PASSES = "Time and cost of inference with a CNN: forward passes at large batches"
OF_PASSES = "For every GPU run trainlaw plan --forward, or choose the forward pass on the page."
_NOTES, _WARNINGS = 2, 6  # sentences of sheet Answers that are shown
NONE_SAID, MORE_SAID = "no warning", " more: sheet "
INSIDE = "inside the range of the training runs"
OUTSIDE = " features outside the training range (sheet {}): this time is unreliable"
NO_PRICE = "enter a price on sheet GPUs"
ON_LAYERS, ROUGH = (
    "from the layers of the CNN",
    "rough, from totals: sheet CNNs has no kept_elements for this CNN",
)


class _Result(NamedTuple):
    """One line; `name` is empty where no other cell refers to it, `expected` None where nothing is wrong."""

    title: str
    formula: str
    value: float | str | bool
    unit: str = ""
    style: str = "result_text"
    name: str = ""
    note: str = ""
    expected: str | None = None


def write_predict(sheet: SheetWriter, model: Model, said: Said, *, has_ranking: bool) -> None:
    """Write the sheet that `new_predict` added; other sheets refer to its cells by name.

    said : what sheet Answers says of the first choice. has_ranking : whether every GPU is computed.
    """
    sheet.title(
        sheet.book.title if not model.is_forward else TITLE_OF_PASSES,
        "Choose in the yellow cells; everything else is computed from them. What is red is a warning.",
    )
    sheet.text(_TOP, _LEFT, "Choose", "section")
    left, valid = write_choices(sheet, model, _TOP + 1)
    times = [*_times(model), *([_measured()] if has_ranking else [])]
    row = _results(sheet, _TOP, _RIGHT, "Prediction", times)
    row = _results(sheet, row, _RIGHT, "Memory of each GPU", _memory(model))
    title, costs = (
        ("All images", _costs_of_passes(model))
        if model.is_forward
        else ("Training", _costs(model, has_ranking=has_ranking))
    )
    row = _results(sheet, row, _RIGHT, title, costs)
    entries = _Result(
        "entries", f'IF({valid},"{ENTRIES}","{FAULTS}")', ENTRIES, name="entries", expected=ENTRIES
    )
    answers = model.sheet_name("Answers")
    notes = _sentences(NOTE, said.notes, _NOTES, answers)
    warnings = _sentences(WARNING, said.warnings, _WARNINGS, answers, NONE_SAID)
    check = _Result("self-check: same result as trainlaw", "tl_self_check", True)
    lines = [entries, _setup(said.setups), *notes, *warnings, _range(model)]
    lines += [] if model.is_forward else [check]
    row = _results(sheet, max(left, row) + 1, _LEFT, "What to know of this answer", lines)
    row = _results(sheet, row + 1, _LEFT, "What is used", _used(model))
    if not has_ranking:
        sheet.text(row + 1, _LEFT, OF_PASSES if model.is_forward else ONE_GPU, "note")
    sheet.plan.frozen = (_TOP, 0)


def new_predict(book: BookPlan, name: str = "Predict") -> SheetWriter:
    """Add the sheet, still empty, so that it is the first one of the workbook."""
    return SheetWriter(book, name, _WIDTHS)


def _results(sheet: SheetWriter, row: int, column: int, title: str, lines: Sequence[_Result]) -> int:
    """Write lines below a title; return the next free row."""
    sheet.text(row, column, title, "section")
    for number, line in enumerate(lines, start=row + 1):
        title, text, value, unit, style, name, note, expected = line
        own = PREFIX + name if name else ""
        sheet.line(number, title, value, style, formula=text, unit=unit, name=own, column=column)
        if note:
            sheet.text(number, column + 3, note, "note")
        if expected is not None:
            sheet.plan.expected[number, column + 1] = expected
    return row + 1 + len(lines)


def _sentences(kind: str, said: Sequence[str], shown: int, sheet: str, none: str = "") -> list[_Result]:
    """Return the first sentences of a kind that sheet Answers says, and how many more there are.

    shown : how many. sheet : name of sheet Answers. none : what is shown where there is none; if given, any
    other text is a warning.
    """
    numbers, lines = f"tl_{kind}", []
    for number in range(1, shown + 1):
        text = f'IFERROR(INDEX(tl_said,MATCH({number},{numbers},0)),"")'
        empty = none if number == 1 else ""
        value = said[number - 1] if number <= len(said) else empty
        formula = f'IF(MAX({numbers},0)<{number},"{empty}",{text})'
        title = f"{kind}s" if number == 1 else ""
        lines.append(_Result(title, formula, value, expected=empty if none else None))
    more = f'IF(MAX({numbers},0)>{shown},MAX({numbers})-{shown}&"{MORE_SAID}{sheet}","")'
    value = f"{len(said) - shown}{MORE_SAID}{sheet}" if len(said) > shown else ""
    return [*lines, _Result("", more, value)]


def _range(model: Model) -> _Result:
    # The layers of a CNN are counted on their own sheet.
    far = OUTSIDE.format(model.sheet_name("Formula"))
    outside = f'IF(SUM(tl_outside)=0,"{INSIDE}",SUM(tl_outside)&"{far}")'
    first = f"{model.outside_first}{far}" if model.outside_first else INSIDE
    return _Result("range of each feature", f'IFERROR({outside},"{UNCLEAR}")', first, expected=INSIDE)


def _live(formula: str) -> str:
    return f'IF(ISNUMBER(tl_time_s),{formula},"")'


def _times(model: Model) -> list[_Result]:
    seconds, single, time = model.seconds, "tl_single_s", "tl_time_s"
    usable, total = f'tl_entries="{ENTRIES}"', single
    what, n_gpus, of_all = "forward pass", "1", ""
    if not model.is_forward:
        usable = f"AND({usable},COUNT({single},tl_all_reduce_s)=2)"
        total = f"{single}+tl_all_reduce_s"
        what, n_gpus, of_all = "iteration time", "tl_n_gpus", ", all GPUs"
    rate, note = (
        figure_cell("samples_per_second", n_gpus=n_gpus),
        f"the sum of sheet {model.sheet_name('Formula')}",
    )
    shown = f'IF({usable},{total},"{UNCLEAR}")'
    lines = [
        _Result(what, _live(f"1000*{time}"), 1000 * seconds, "ms", "result_short"),
        *_interval(model),
        _Result(f"throughput{of_all}", _live(rate), FIRST.batch / seconds, "images/s", "result_short"),
        _Result(what, shown, seconds, "s", "result", "time_s", note),
    ]
    if not model.is_forward:
        note = "time on one GPU divided by this time"
        lines.append(_Result("efficiency", _live(f"{single}/{time}"), 1.0, "", "result_share", note=note))
    return lines


def _measured() -> _Result:
    """Return what the nearest measured runs of training on one GPU took, as text."""
    return _Result("measured", 'IF(tl_n_gpus=1,tl_measured,"")', first_text())


def _interval(model: Model) -> list[_Result]:
    """Return both ends of the interval for the class of the run, and its factor, or that there is none."""
    if model.is_forward and math.isnan(first_interval_factor(model)):
        return [_Result("interval", f'"{NO_INTERVAL}"', NO_INTERVAL)]
    value, ms = float(np.nan_to_num(first_interval_factor(model))), 1000 * model.seconds
    is_one = isinstance(host_factor(model.formula, model.expression), Constant)
    of_host = "1" if is_one else "tl_host_factor"
    text = interval_factor(model.formula, chosen_class_factor(model), "tl_is_processor=1", of_host)
    note = f"{100 * LEVEL:g} %, from held-out {held_out_kind(model.formula)}s"
    lines = []
    ends = ("interval from", "low_s", value and ms / value), ("interval to", "high_s", ms * value)
    for title, end, shown in ends:
        cell = f'IF(AND(ISNUMBER(tl_time_s),N(tl_interval_factor)>0),1000*({figure_cell(end)}),"")'
        lines.append(_Result(title, cell, shown or "", "ms", "result_short", note=note))
    note = "0: no interval; by class: sheet Errors"
    return [*lines, _Result("interval factor", text, value, "", "result_factor", "interval_factor", note)]


def _setup(setups: Sequence[str]) -> _Result:
    """Return the line of all assumptions: of its sentences on sheet Answers one is not empty."""
    cells = "&".join(f"INDEX(tl_{SETUP},{number + 1})" for number in range(len(setups)))
    return _Result("what this assumes", cells, "".join(setups))


def _used(model: Model) -> list[_Result]:
    """Return what the choices mean: names as sheets GPUs and CNNs have them, and what was left to usual."""
    own = {name: of_chosen_gpu(name) for name in ("default_precision", "link", "fabric", "server_gpus")}
    sized = f'{chosen_cnn("cnn")}&", "&{pixels_used()}&" px, "&{classes_used()}&" classes"'
    choice = "tl_precision_choice"
    usual = f'"{model.first_precision}"' if model.is_forward else own["default_precision"]
    default = f'IF({choice}="{model.default_precision}",{usual},{choice})'
    link = f'IF(tl_link="{OWN_LINK}",IF({own["link"]}="","{NO_LINK}",{own["link"]}),tl_link)'
    fabric = f'IF(tl_network="{USUAL_FABRIC}",{own["fabric"]},tl_network)'
    nodes = f'IF(tl_nodes="",ROUNDUP(tl_n_gpus/{own["server_gpus"]},0),tl_nodes)'
    cnn, first_link = cnn_label(*FIRST.cnn), str(gpu_table_rows(model.formula)[FIRST.gpu]["link"])
    lines = [
        _Result("CNN in use", meant("cnn"), cnn, name="cnn"),
        _Result(
            "row of sheet CNNs in use",
            f'IFERROR(IF(tl_pixels&tl_classes="",tl_cnn,{sized}),"{UNCLEAR}")',
            cnn,
            name="cnn_used",
        ),
        _Result("GPU in use", meant("gpu"), FIRST.gpu, name="gpu"),
        _Result(
            "precision in use", f'IFERROR({default},"{UNCLEAR}")', model.first_precision, name="precision"
        ),
    ]
    exchange = [
        _Result("nodes in use", f"IFERROR({nodes},1)", 1.0, "nodes", "result_count", "n_nodes"),
        _Result("link in use", f'IFERROR({link},"{UNCLEAR}")', first_link, name="link_used"),
        _Result(
            "fabric in use",
            f'IFERROR({fabric},"{UNCLEAR}")',
            usual_server(FIRST.gpu).fabric,
            name="network_used",
        ),
    ]
    return [*lines, *([] if model.is_forward else exchange), *_layout_and_stack(model)]


def _layout_and_stack(model: Model) -> list[_Result]:
    """Return layout and stack of a formula that knows them: the chosen ones, or what the others imply."""
    used, chosen = set(model.base_columns), "tl_stack_choice"
    knows_stacks = not used.isdisjoint({"is_stack_fused", "is_stack_channels_last"})
    implied = (
        f'IF({chosen}="channels_last","{LAYOUTS[1]}","{LAYOUTS[0]}")' if knows_stacks else f'"{LAYOUTS[0]}"'
    )
    layout = f'IF(tl_layout_choice="{IMPLIED}",{implied},tl_layout_choice)'
    stack = f'IF({chosen}="{IMPLIED}",{implied_stack(model)},{chosen})'
    has_layout = knows_stacks or "is_channels_last" in used
    return [
        *([_Result("layout in use", layout, LAYOUTS[0], name="layout")] if has_layout else []),
        *([_Result("stack in use", stack, "eager", name="stack")] if knows_stacks else []),
    ]


def _price(model: Model) -> _Result:
    own, number = of_chosen_gpu("price_usd_per_hour"), "1" if model.is_forward else OF_MACHINE
    price = price_cell(own, "tl_gpu", number, f'"{NO_PRICE}"')
    note = "yours on sheet GPUs, else sheet Prices"
    listed = listed_price(FIRST.gpu)
    return _Result("GPU price", price, listed, "USD/h", "result_money", "price_used", note)


def _costs_of_passes(model: Model) -> list[_Result]:
    """Return the lines on the inference of all images."""
    hours = model.seconds * _STEPS / 3600.0
    spent = 'IF(COUNT(tl_minutes,tl_price_used)=2,tl_minutes/60*tl_price_used,"")'
    cost, taken = hours * listed_price(FIRST.gpu), _live(f"60*({figure_cell('epoch_h')})")
    return [
        _iterations("forward passes", "tl_batch_per_gpu"),
        _Result("time", taken, 60 * hours, "min", "result_money", "minutes"),
        _price(model),
        _Result("cost", spent, cost, "USD", "result_money", "cost"),
    ]


def _iterations(title: str, batch: str) -> _Result:
    count = f'IFERROR(ROUNDUP(tl_images/{batch},0),"")'
    return _Result(title, count, _STEPS, "", "result_count", "iterations")


def _costs(model: Model, *, has_ranking: bool) -> list[_Result]:
    """Return the lines on the training of all epochs."""
    hours = model.seconds * _STEPS / 3600.0
    cost, value = hours * listed_price(FIRST.gpu), float(np.nan_to_num(first_interval_factor(model)))
    total = cost * FIRST.epochs
    per_epoch = figure_cell("cost", training_h="tl_epoch_h", price_per_hour="tl_price_used")

    def priced(text: str) -> str:
        return f'IF(AND(ISNUMBER(tl_time_s),ISNUMBER(tl_price_used)),{text},"")'

    def end(text: str) -> str:
        return f'IF(AND(ISNUMBER(tl_cost),N(tl_interval_factor)>0),{text},"")'

    lines: list[tuple[str, str, float | str, str, str]] = [
        ("time per epoch", _live(figure_cell("epoch_h")), hours, "h", "epoch_h"),
        ("total time", _live(figure_cell("training_h")), hours * FIRST.epochs, "h", ""),
        ("cost per epoch", priced(per_epoch), cost, "USD", ""),
        ("total cost", priced(f"{per_epoch}*tl_epochs"), total, "USD", "cost"),
        ("total cost from", end("tl_cost/tl_interval_factor"), total / value if value else "", "USD", ""),
        ("total cost to", end("tl_cost*tl_interval_factor"), total * value or "", "USD", ""),
    ]
    prices = f"GPUs!$B${HEAD + 2}:$B${HEAD + 1 + SPARE_ROWS}"
    by = f'IF(AND(tl_order="{ORDERS[0]}",COUNTIF({prices},">=0")>0),"{BY_COST}","{BY_TIME}")'
    return [
        _iterations("iterations per epoch", "(tl_batch_per_gpu*tl_n_gpus)"),
        _price(model),
        *(_Result(*line[:4], "result_money", line[4]) for line in lines),
        *([_Result("GPUs are ranked by", by, BY_TIME, name="ranked_by")] if has_ranking else []),
    ]


def _memory(model: Model) -> list[_Result]:
    """Return the lines on memory, in GB of 1e9 bytes, as GPUs are sold."""
    columns = {name: np.array([value]) for name, value in model.values.items()}
    needs = needed_memory(model.formula)
    held = float(gpu_rows()[FIRST.gpu]["memory_bytes"])
    columns["memory_bytes"] = np.array([held])
    least, usual, place = (
        float(values_of(form, columns)[0]) for form in (*needs, definition_of("memory_held_bytes"))
    )
    kept = fact("cnn", '"kept_elements"', "tl_cnn_used")
    counted = f"COUNT({kept})=1"
    if is_any_size(model):
        counted = f"OR(tl_is_sized=1,IFERROR({counted},FALSE))"
    sold = of_chosen_gpu("memory_bytes")
    fits = fits_cell("(tl_memory_least*1E9)", "(tl_memory_usual*1E9)", sold)
    shown = f'IFERROR(IF({sold}="","{UNCLEAR}",{sold}/1E9),"{UNCLEAR}")'
    how = f'IFERROR(IF({counted},"{ON_LAYERS}","{ROUGH}"),"{UNCLEAR}")'
    fitting = f'IF(tl_entries="{ENTRIES}",IFERROR({fits},"{UNCLEAR}"),"{UNCLEAR}")'
    kept_there, added = (
        ("weights, the largest layer", "and workspaces, driver")
        if model.is_forward
        else ("weights, gradients, kept layers", "and momentum, workspaces, driver")
    )
    word = FITS_WORDS[int(usual > place) + int(least > place)]
    return [
        _Result("fits in memory", fitting, word, expected=FITS),
        _need("minimum memory", "memory_least", needs[0], least, kept_there),
        _need("total memory", "memory_usual", needs[1], usual, added),
        _Result("GPU memory", shown, held / _GB, "GB", "result_short", note="as sold: 1 GB is 1e9 bytes"),
        _Result("basis of this estimate", how, ON_LAYERS),
    ]


def _need(title: str, name: str, form: Expression, value: float, note: str) -> _Result:
    text = excel_expression(form, cell_names(variables(form)))
    shown = f'IFERROR(({text})/1E9,"{UNCLEAR}")'
    return _Result(title, shown, value / _GB, "GB", "result_short", name, note)
