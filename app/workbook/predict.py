"""The sheet Predict: choices, next to them prediction, memory and cost, and below what is said of them."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from trainlaw.app.answers.answer import NOTE, WARNING
from trainlaw.app.answers.facts import measured_text
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
from trainlaw.app.workbook.model import (
    ENTRIES,
    FAULTS,
    FIRST_BATCH,
    FIRST_CNN,
    FIRST_EPOCHS,
    FIRST_GPU,
    FIRST_IMAGES,
    LAYOUTS,
    PREFIX,
    Model,
    cell_names,
    figure_cell,
    first_choice,
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
from trainlaw.validate.held_out_errors import LEVEL, held_out_kind

_WIDTHS = (34, 36, 9, 46, 2, 22, 26, 10, 44)
_TOP = 3  # row of the heads, counted from 0
_LEFT, _RIGHT = 0, 5  # columns of what is chosen, and of what follows from it
_GB = 1e9
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
    times = [*_times(model), *_measured(has_ranking=has_ranking)]
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
    check = [] if model.is_forward else _check()
    lines = [entries, _setup(said.setups), *notes, *warnings, _range(model), *check]
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
        sheet.text(number, column, line.title)
        sheet.formula(number, column + 1, line.formula, line.value, line.style)
        for offset, text, style in ((2, line.unit, "unit"), (3, line.note, "note")):
            if text:
                sheet.text(number, column + offset, text, style)
        if line.expected is not None:
            sheet.plan.expected[number, column + 1] = line.expected
        if line.name:
            sheet.define(PREFIX + line.name, number, column + 1)
    return row + 1 + len(lines)


def _sentences(kind: str, said: Sequence[str], shown: int, sheet: str, none: str = "") -> list[_Result]:
    """Return the first sentences of a kind that sheet Answers says, and how many more there are.

    shown : how many. sheet : name of sheet Answers. none : what is shown where there is none; if given, any
    other text is a warning.
    """
    numbers, lines = f"{PREFIX}{kind}", []
    for number in range(1, shown + 1):
        text = f'IFERROR(INDEX({PREFIX}said,MATCH({number},{numbers},0)),"")'
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
    outside = f'IF(SUM({PREFIX}outside)=0,"{INSIDE}",SUM({PREFIX}outside)&"{far}")'
    first = f"{model.outside_first}{far}" if model.outside_first else INSIDE
    return _Result("range of each feature", f'IFERROR({outside},"{UNCLEAR}")', first, expected=INSIDE)


def _live(formula: str) -> str:
    return f'IF(ISNUMBER({PREFIX}time_s),{formula},"")'


def _times(model: Model) -> list[_Result]:
    seconds, time = model.seconds, f"{PREFIX}time_s"
    n_gpus = "1" if model.is_forward else f"{PREFIX}n_gpus"
    rate, speed = figure_cell("samples_per_second", n_gpus=n_gpus), FIRST_BATCH / seconds
    if model.is_forward:
        total = f'IF({PREFIX}entries="{ENTRIES}",{PREFIX}single_s,"{UNCLEAR}")'
        note = f"the sum of sheet {model.sheet_name('Formula')}"
        return [
            _Result("forward pass", _live(f"1000*{time}"), 1000 * seconds, "ms", "result_short"),
            *(
                [_Result("interval", f'"{NO_INTERVAL}"', NO_INTERVAL)]
                if math.isnan(first_interval_factor(model))
                else _interval(model)
            ),
            _Result("throughput", _live(rate), speed, "images/s", "result_short"),
            _Result("forward pass", total, seconds, "s", "result", "time_s", note),
        ]
    both = f'AND({PREFIX}entries="{ENTRIES}",COUNT({PREFIX}single_s,{PREFIX}all_reduce_s)=2)'
    total = f'IF({both},{PREFIX}single_s+{PREFIX}all_reduce_s,"{UNCLEAR}")'
    alone, note = f"{PREFIX}single_s/{time}", "time on one GPU divided by this time"
    return [
        _Result("iteration time", _live(f"1000*{time}"), 1000 * seconds, "ms", "result_short"),
        *_interval(model),
        _Result("throughput, all GPUs", _live(rate), speed, "images/s", "result_short"),
        _Result("iteration time", total, seconds, "s", "result", "time_s", "the sum of sheet Formula"),
        _Result("efficiency", _live(alone), 1.0, "", "result_share", note=note),
    ]


def _measured(*, has_ranking: bool) -> list[_Result]:
    """Return what the nearest measured runs of training on one GPU took, as text."""
    if not has_ranking:
        return []
    (run,) = first_choice().frame.itertuples(index=False)
    text = f'IF({PREFIX}n_gpus=1,{PREFIX}measured,"")'
    return [_Result("measured", text, measured_text(run) or "none")]


def _interval(model: Model) -> list[_Result]:
    """Return both ends of the interval for the class of the run, and its factor."""
    value, seconds = float(np.nan_to_num(first_interval_factor(model))), model.seconds
    factor = f"{PREFIX}interval_factor"
    ends = f"AND(ISNUMBER({PREFIX}time_s),N({factor})>0)"
    note = f"{100 * LEVEL:g} %, from held-out {held_out_kind(model.formula)}s"
    by_class = "0: no interval; by class: sheet Errors"
    lines = [
        ("interval from", f"1000*({figure_cell('low_s')})", 1000 * seconds / value if value else ""),
        ("interval to", f"1000*({figure_cell('high_s')})", 1000 * seconds * value if value else ""),
    ]
    is_processor = f"{PREFIX}is_processor=1"
    is_one = isinstance(host_factor(model.formula, model.expression), Constant)
    of_host = "1" if is_one else f"{PREFIX}host_factor"
    text = interval_factor(model.formula, chosen_class_factor(model), is_processor, of_host)
    return [
        *(
            _Result(title, f'IF({ends},{end},"")', shown, "ms", "result_short", note=note)
            for title, end, shown in lines
        ),
        _Result("interval factor", text, value, "", "result_factor", "interval_factor", by_class),
    ]


def _setup(setups: Sequence[str]) -> _Result:
    """Return the line of all assumptions: of its sentences on sheet Answers one is not empty."""
    cells = "&".join(f"INDEX({PREFIX}{SETUP},{number + 1})" for number in range(len(setups)))
    return _Result("what this assumes", cells, "".join(setups))


def _used(model: Model) -> list[_Result]:
    """Return what the choices mean: names as sheets GPUs and CNNs have them, and what was left to usual."""
    own = {name: of_chosen_gpu(name) for name in ("default_precision", "link", "fabric", "server_gpus")}
    sized = f'{chosen_cnn("cnn")}&", "&{pixels_used()}&" px, "&{classes_used()}&" classes"'
    choice = f"{PREFIX}precision_choice"
    usual = f'"{model.first_precision}"' if model.is_forward else own["default_precision"]
    default = f'IF({choice}="{model.default_precision}",{usual},{choice})'
    link = f'IF({PREFIX}link="{OWN_LINK}",IF({own["link"]}="","{NO_LINK}",{own["link"]}),{PREFIX}link)'
    fabric = f'IF({PREFIX}network="{USUAL_FABRIC}",{own["fabric"]},{PREFIX}network)'
    nodes = f'IF({PREFIX}nodes="",ROUNDUP({PREFIX}n_gpus/{own["server_gpus"]},0),{PREFIX}nodes)'
    cnn, first_link = cnn_label(*FIRST_CNN), str(gpu_table_rows(model.formula)[FIRST_GPU]["link"])
    lines = [
        _Result("CNN in use", meant("cnn"), cnn, name="cnn"),
        _Result(
            "row of sheet CNNs in use",
            f'IFERROR(IF({PREFIX}pixels&{PREFIX}classes="",{PREFIX}cnn,{sized}),"{UNCLEAR}")',
            cnn,
            name="cnn_used",
        ),
        _Result("GPU in use", meant("gpu"), FIRST_GPU, name="gpu"),
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
            usual_server(FIRST_GPU).fabric,
            name="network_used",
        ),
    ]
    return [*lines, *([] if model.is_forward else exchange), *_layout_and_stack(model)]


def _layout_and_stack(model: Model) -> list[_Result]:
    """Return layout and stack of a formula that knows them: the chosen ones, or what the others imply."""
    used, chosen = set(model.base_columns), f"{PREFIX}stack_choice"
    knows_stacks = not used.isdisjoint({"is_stack_fused", "is_stack_channels_last"})
    implied = (
        f'IF({chosen}="channels_last","{LAYOUTS[1]}","{LAYOUTS[0]}")' if knows_stacks else f'"{LAYOUTS[0]}"'
    )
    layout = f'IF({PREFIX}layout_choice="{IMPLIED}",{implied},{PREFIX}layout_choice)'
    stack = f'IF({chosen}="{IMPLIED}",{implied_stack(model)},{chosen})'
    has_layout = knows_stacks or "is_channels_last" in used
    return [
        *([_Result("layout in use", layout, LAYOUTS[0], name="layout")] if has_layout else []),
        *([_Result("stack in use", stack, "eager", name="stack")] if knows_stacks else []),
    ]


def _price(model: Model) -> _Result:
    own, number = of_chosen_gpu("price_usd_per_hour"), "1" if model.is_forward else OF_MACHINE
    price = price_cell(own, f"{PREFIX}gpu", number, f'"{NO_PRICE}"')
    note = "yours on sheet GPUs, else sheet Prices"
    listed = listed_price(FIRST_GPU)
    return _Result("GPU price", price, listed, "USD/h", "result_money", "price_used", note)


def _costs_of_passes(model: Model) -> list[_Result]:
    """Return the lines on the inference of all images."""
    steps = float(math.ceil(FIRST_IMAGES / FIRST_BATCH))
    count = f'IFERROR(ROUNDUP({PREFIX}images/{PREFIX}batch_per_gpu,0),"")'
    minutes, priced = f"{PREFIX}minutes", f"{PREFIX}price_used"
    spent = f'IF(COUNT({minutes},{priced})=2,{minutes}/60*{priced},"")'
    taken = _live(f"60*({figure_cell('epoch_h')})")
    cost = model.seconds * steps / 3600.0 * listed_price(FIRST_GPU)
    return [
        _Result("forward passes", count, steps, "", "result_count", "iterations"),
        _Result("time", taken, model.seconds * steps / 60.0, "min", "result_money", "minutes"),
        _price(model),
        _Result("cost", spent, cost, "USD", "result_money", "cost"),
    ]


def _costs(model: Model, *, has_ranking: bool) -> list[_Result]:
    steps = float(math.ceil(FIRST_IMAGES / FIRST_BATCH))
    hours = model.seconds * steps / 3600.0
    count = f'IFERROR(ROUNDUP({PREFIX}images/({PREFIX}batch_per_gpu*{PREFIX}n_gpus),0),"")'
    cost, value = hours * listed_price(FIRST_GPU), float(np.nan_to_num(first_interval_factor(model)))
    total = cost * FIRST_EPOCHS
    priced = f"{PREFIX}price_used"
    per_epoch = figure_cell("cost", training_h=f"{PREFIX}epoch_h", price_per_hour=priced)
    prices = f"GPUs!$B${HEAD + 2}:$B${HEAD + 1 + SPARE_ROWS}"
    by = f'IF(AND({PREFIX}order="{ORDERS[0]}",COUNTIF({prices},">=0")>0),"{BY_COST}","{BY_TIME}")'
    factor = f"{PREFIX}interval_factor"
    both = f"AND(ISNUMBER({PREFIX}time_s),ISNUMBER({priced}))"
    with_interval = f"AND(ISNUMBER({PREFIX}cost),N({factor})>0)"
    lines: list[tuple[str, str, float | str, str, str]] = [
        ("time per epoch", _live(figure_cell("epoch_h")), hours, "h", "epoch_h"),
        ("total time", _live(figure_cell("training_h")), hours * FIRST_EPOCHS, "h", ""),
        ("cost per epoch", f'IF({both},{per_epoch},"")', cost, "USD", ""),
        ("total cost", f'IF({both},{per_epoch}*{PREFIX}epochs,"")', total, "USD", "cost"),
    ]
    ends = [
        ("total cost from", f"{PREFIX}cost/{factor}", total / value if value else ""),
        ("total cost to", f"{PREFIX}cost*{factor}", total * value if value else ""),
    ]
    lines += [(title, f'IF({with_interval},{text},"")', shown, "USD", "") for title, text, shown in ends]
    return [
        _Result("iterations per epoch", count, steps, "", "result_count", "iterations"),
        _price(model),
        *(
            _Result(title, text, shown, unit, "result_money", name)
            for title, text, shown, unit, name in lines
        ),
        *([_Result("GPUs are ranked by", by, BY_TIME, name="ranked_by")] if has_ranking else []),
    ]


def _check() -> list[_Result]:
    return [_Result("self-check: same result as trainlaw", f"{PREFIX}self_check", True)]


def _memory(model: Model) -> list[_Result]:
    """Return the lines on memory, in GB of 1e9 bytes, as GPUs are sold."""
    columns = {name: np.array([value]) for name, value in model.values.items()}
    needs = needed_memory(model.formula)
    held = float(gpu_rows()[FIRST_GPU]["memory_bytes"])
    columns["memory_bytes"] = np.array([held])
    least, usual, place = (
        float(values_of(form, columns)[0]) for form in (*needs, definition_of("memory_held_bytes"))
    )
    kept = f'MATCH("kept_elements",{PREFIX}cnn_columns,0)'
    counted = f"COUNT(INDEX({PREFIX}cnn_table,MATCH({PREFIX}cnn_used,{PREFIX}cnns,0),{kept}))=1"
    if is_any_size(model):
        counted = f"OR({PREFIX}is_sized=1,IFERROR({counted},FALSE))"
    sold = of_chosen_gpu("memory_bytes")
    fits = fits_cell(f"({PREFIX}memory_least*1E9)", f"({PREFIX}memory_usual*1E9)", sold)
    shown = f'IFERROR(IF({sold}="","{UNCLEAR}",{sold}/1E9),"{UNCLEAR}")'
    how = f'IFERROR(IF({counted},"{ON_LAYERS}","{ROUGH}"),"{UNCLEAR}")'
    fitting = f'IF({PREFIX}entries="{ENTRIES}",IFERROR({fits},"{UNCLEAR}"),"{UNCLEAR}")'
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
