"""The sheet Prediction: the answer, its warnings, the choices that most change, then the rare ones."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from trainlaw.app.answers.answer import NOTE, WARNING
from trainlaw.app.answers.figure_rows import definition_of, needed_memory
from trainlaw.app.answers.fixed_rows import FITS_WORDS, NO_INTERVAL
from trainlaw.app.models.lookup_tables import cnn_label, gpu_rows
from trainlaw.app.models.settings import host_factor
from trainlaw.app.sheets.book_plan import BookPlan, SheetWriter
from trainlaw.app.workbook.choices import rare_choices, usual_choices, write_choices
from trainlaw.app.workbook.errors_sheet import interval_factor
from trainlaw.app.workbook.lookup_sheets import gpu_table_rows, listed_price, row_named, usable_price
from trainlaw.app.workbook.model import (
    ENTRIES,
    FAULTS,
    FIRST,
    LAYOUTS,
    PREFIX,
    TABLES,
    Model,
    cell_names,
    fact,
    figure_cell,
    fits_cell,
    new_sheet,
    of_instance,
    values_of,
)
from trainlaw.app.workbook.notes_sheet import IMPLIED, OWN_LINK, USUAL_FABRIC, YES
from trainlaw.app.workbook.sentences import (
    SETUP,
    Said,
    chosen_class_factor,
    chosen_gpu_fact,
    implied_stack,
)
from trainlaw.app.workbook.spellings import key_formula, without_count
from trainlaw.datasets.cnns.catalog import keyed_cnn_counts
from trainlaw.datasets.hardware.gpus import NO_LINK
from trainlaw.datasets.hardware.servers import usual_server
from trainlaw.datasets.measurements.memory_fit import FITS, NOT_KNOWN, largest_batch
from trainlaw.formulas import Apply, Constant, Expression, substitute, variables
from trainlaw.formulas.algebra.expression import rebuilt
from trainlaw.formulas.algebra.tidying import fold_constants
from trainlaw.formulas.printers.excel import excel_expression
from trainlaw.validate.conformal import LEVEL
from trainlaw.validate.formula_errors import held_out_kind

BATCH = "batch_per_gpu"
_TOP = 3  # row of the first section, counted from 0
_LEFT, _RIGHT = 0, 5  # columns of the time, and of memory and cost
_GB = 1e9
_STEPS = float(math.ceil(FIRST.images / FIRST.batch))  # iterations of the first choice
_NOTES, _WARNINGS = 2, 4  # sentences that are shown; sheet Formula has all
NONE_SAID, MORE_SAID = "no warning", " more: sheet Formula"
NO_PRICE = "enter one: sheet GPUs"
NOT_CALIBRATED = "not used"
NO_RUNS = "none on "  # followed by the GPU
AFTER_ENTRIES = "none before every entry can be used"
ON_LAYERS, ROUGH = "from the layers of the CNN", "rough: sheet CNNs has no kept_elements for this CNN"


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


def _line(key: str, formula: str, value: float | str | bool, **changed: str) -> _Result:
    """Return a line whose words are those of its row of the table, but for changed ones."""
    title, unit, style, name, note = TABLES["prediction"][key]
    return _Result(title, formula, value, unit, style, name, note)._replace(**changed)


def new_prediction(book: BookPlan, model: Model) -> SheetWriter:
    """Add the sheet, still without results, so that it is the first one of the workbook."""
    sheet = new_sheet(book, "Prediction")
    title = "Time and cost of inference with a CNN" if model.is_forward else book.title
    sheet.title(title, "Choose in the yellow cells; the others are computed. Red: a warning.")
    if model.is_forward:
        # A forward pass is on one GPU, and inference has no epochs.
        book.names |= dict.fromkeys(("tl_n_gpus", "tl_n_nodes", "tl_epochs"), "1")
    return sheet


def write_prediction(sheet: SheetWriter, model: Model, said: Said) -> None:
    """Write the sheet that `new_prediction` added; other sheets refer to its cells by name.

    said : the sentences of the first choice.
    """
    usual, rare = usual_choices(model), rare_choices(model)
    left = _write_results(sheet, _TOP, _LEFT, "Answer", _times(model))
    right = _write_results(sheet, _TOP, _RIGHT, "Memory and cost", [*_memory(model), *_costs(model)])
    notes = _sentences(NOTE, said.notes, _NOTES)
    warnings = _sentences(WARNING, said.warnings, _WARNINGS, NONE_SAID)
    valid = f"AND({','.join(choice.valid for choice in (*usual, *rare))})"
    shown = f'IF(IFERROR({valid},FALSE),"{ENTRIES}","{FAULTS}")'
    entries = _line("entries", shown, ENTRIES, expected=ENTRIES)
    lines = [entries, *warnings, *notes, _setup(said.setups), _calibration()]
    row = _write_results(sheet, max(left, right) + 1, _LEFT, "Warnings and notes", lines)
    for title, choices in (("Choose", usual), ("More", rare)):
        sheet.text(row + 1, _LEFT, title, "section")
        row = write_choices(sheet, choices, row + 2)
    _write_results(sheet, row + 1, _LEFT, "Behind the answer", [*_used(model), *_behind(model)])


def _write_results(sheet: SheetWriter, row: int, column: int, title: str, lines: Sequence[_Result]) -> int:
    """Write lines below a title; return the next free row."""
    sheet.text(row, column, title, "section")
    for number, line in enumerate(lines, start=row + 1):
        title, text, value, unit, style, name, note, expected = line
        cell = PREFIX + name if name else ""
        sheet.line(number, title, value, style, formula=text, unit=unit, name=cell, column=column)
        if note:
            sheet.text(number, column + 3, note, "note")
        if expected is not None:
            sheet.plan.expected[number, column + 1] = expected
    return row + 1 + len(lines)


def _sentences(kind: str, said: Sequence[str], shown: int, none: str = "") -> list[_Result]:
    """Return the first sentences of a kind, the last one followed by how many more there are.

    shown : how many. none : what is shown where there is none; if given, any other text is a warning.
    """
    numbers, lines = f"tl_{kind}", []
    for number in range(1, shown + 1):
        text = f'IFERROR(INDEX(tl_said,MATCH({number},{numbers},0)),"")'
        if number == shown:
            text += f'&IF(MAX({numbers})>{shown},"; "&MAX({numbers})-{shown}&"{MORE_SAID}","")'
        empty = none if number == 1 else ""
        value = said[number - 1] if number <= len(said) else empty
        if number == shown and len(said) > shown:
            value += f"; {len(said) - shown}{MORE_SAID}"
        formula = f'IF(MAX({numbers},0)<{number},"{empty}",{text})'
        if none:
            waits = AFTER_ENTRIES if number == 1 else ""
            formula = f'IF(tl_entries="{ENTRIES}",{formula},"{waits}")'
        title = f"{kind}s" if number == 1 else ""
        style = "said" if none else "remark"
        lines.append(_Result(title, formula, value, style=style, expected=empty if none else None))
    return lines


def _live(formula: str) -> str:
    return f'IF(ISNUMBER(tl_time_s),{formula},"")'


def _times(model: Model) -> list[_Result]:
    """Return the lines of the time: of an iteration with its interval, of an epoch, of the training."""
    seconds, hours = model.seconds, model.seconds * _STEPS / 3600.0
    time, rate = ("pass", "pass_rate") if model.is_forward else ("iteration", "rate")
    factor = model.interval_factor
    note = f"{100 * LEVEL:g} % of runs on a new {held_out_kind(model.formula)}" if factor else NO_INTERVAL
    lines = [_line(time, _live("1000*tl_time_s"), 1000 * seconds)]
    ends = (("from", "low_s", factor and seconds / factor), ("to", "high_s", seconds * factor))
    for word, end, value in ends:
        text = f'IF(AND(ISNUMBER(tl_time_s),N(tl_interval_factor)>0),1000*({figure_cell(end)}),"")'
        lines.append(_line(word, text, 1000 * value or "", note=note))
    lines.append(_line(rate, _live(figure_cell("samples_per_second")), FIRST.batch / seconds))
    if model.is_forward:
        return [*lines, _line("all_images", _live(f"60*({figure_cell('epoch_h')})"), 60 * hours)]
    return [
        *lines,
        _line("epoch", _live(figure_cell("epoch_h")), hours),
        _line("training", _live(figure_cell("training_h")), hours * FIRST.epochs),
        _line("efficiency", _live("tl_alone_s/tl_time_s"), 1.0),
    ]


def _setup(setups: Sequence[str]) -> _Result:
    """Return the line of all assumptions: of its sentences one is not empty."""
    cells = "&".join(f"INDEX(tl_{SETUP},{number + 1})" for number in range(len(setups)))
    return _line("setup", cells, "".join(setups))


def _calibration() -> _Result:
    text = (
        f'IF(tl_own_runs="{YES}",IF(tl_own_count=0,"{NO_RUNS}"&tl_gpu,"time x "&ROUND(tl_own_factor,3)&" by "'
        f'&tl_own_count&" on "&tl_gpu),"{NOT_CALIBRATED}")'
    )
    return _line("own_runs", text, NO_RUNS + FIRST.gpu)


def _used(model: Model) -> list[_Result]:
    """Return the meaning of the choices: names as sheets GPUs and CNNs have them, and the usual entries."""
    names = ("default_precision", "link", "fabric", "server_gpus")
    usual = {name: chosen_gpu_fact(name) for name in names}
    rented = {"link": "link", "fabric": "fabric", "server_gpus": "gpus"}
    for name, column in rented.items():
        own = of_instance(column, '""')
        usual[name] = f'IF({own}="",{usual[name]},{own})'
    choice = "tl_precision_choice"
    default = f'"{model.first_precision}"' if model.is_forward else usual["default_precision"]
    precision = f'IF({choice}="{model.default_precision}",{default},{choice})'
    link = f'IF(tl_link="{OWN_LINK}",IF({usual["link"]}="","{NO_LINK}",{usual["link"]}),tl_link)'
    fabric = f'IF(tl_network="{USUAL_FABRIC}",{usual["fabric"]},tl_network)'
    nodes = f'IF(tl_nodes="",ROUNDUP(tl_n_gpus/{usual["server_gpus"]},0),tl_nodes)'
    first_link = str(gpu_table_rows(model.formula)[FIRST.gpu]["link"])

    def used(name: str, text: str, value: str) -> _Result:
        return _line(name, f'IFERROR({text},"{NOT_KNOWN}")', value)

    key = key_formula("gpu", without_count("tl_gpu_choice"))
    lines = [
        _line("instance_row", f"IFERROR(MATCH({key},tl_options_instance,0),0)", 0.0),
        used("cnn", _meant("cnn"), cnn_label(*FIRST.cnn)),
        used("gpu", _meant("gpu"), FIRST.gpu),
        used("precision", precision, model.first_precision),
    ]
    several = [
        _line("n_nodes", f"IFERROR({nodes},1)", 1.0),
        used("link_used", link, first_link),
        used("network_used", fabric, usual_server(FIRST.gpu).fabric),
    ]
    return [*lines, *([] if model.is_forward else several), *_layout_and_stack(model)]


def _meant(kind: str) -> str:
    return f"INDEX(tl_{kind}s,{row_named(kind, f'tl_{kind}_choice')})"


def _layout_and_stack(model: Model) -> list[_Result]:
    """Return layout and stack of a formula that knows them: the chosen ones, or those that others imply."""
    used, chosen = set(model.base_columns), "tl_stack_choice"
    knows_stacks = not used.isdisjoint({"is_stack_fused", "is_stack_channels_last"})
    implied = (
        f'IF({chosen}="channels_last","{LAYOUTS[1]}","{LAYOUTS[0]}")' if knows_stacks else f'"{LAYOUTS[0]}"'
    )
    layout = f'IF(tl_layout_choice="{IMPLIED}",{implied},tl_layout_choice)'
    stack = f'IF({chosen}="{IMPLIED}",{implied_stack(model)},{chosen})'
    has_layout = knows_stacks or "is_channels_last" in used
    of_layout = [_line("layout", layout, LAYOUTS[0])] if has_layout else []
    return [*of_layout, *([_line("stack", stack, "eager")] if knows_stacks else [])]


def _behind(model: Model) -> list[_Result]:
    """Return iterations, time in seconds, the factors of its interval, and the self-check."""
    usable = f'AND(tl_entries="{ENTRIES}",COUNT(tl_alone_s,tl_all_reduce_s)=2)'
    time = f'IF({usable},tl_alone_s+tl_all_reduce_s,"{NOT_KNOWN}")'
    factor = model.interval_factor
    is_one = isinstance(host_factor(model.formula, model.expression), Constant)
    of_host = "1" if is_one else "tl_host_factor"
    usual = interval_factor(model.formula, chosen_class_factor(model), "tl_is_processor=1", of_host)
    # As `trainlaw calibrate` has it: never narrower than the spread of the runs themselves.
    narrowed = "EXP(MAX(tl_own_share*LN(tl_usual_factor),tl_own_spread))"
    by_runs = f'AND(tl_own_runs="{YES}",tl_own_count>0,tl_usual_factor>0)'
    steps = 'IFERROR(ROUNDUP(tl_images/(tl_batch_per_gpu*tl_n_gpus),0),"")'
    return [
        _line("iterations", steps, _STEPS),
        _line("time_s", time, model.seconds),
        _line("usual_factor", usual, factor),
        _line("interval_factor", f"IF({by_runs},{narrowed},tl_usual_factor)", factor),
        _basis(),
        _line("self_check", "tl_self_check", True),
    ]


def _costs(model: Model) -> list[_Result]:
    """Return the lines on the price of the GPU, and on the cost of all epochs or images."""
    price = usable_price(of_instance("price", chosen_gpu_fact("price_usd_per_hour")), f'"{NO_PRICE}"')
    listed = listed_price(FIRST.gpu)
    epochs = 1.0 if model.is_forward else FIRST.epochs
    cost = model.seconds * _STEPS / 3600.0 * listed * epochs
    factor = model.interval_factor
    whole = figure_cell(
        "cost", training_h=f"({figure_cell('epoch_h')}*tl_epochs)", price_per_hour="tl_price_used"
    )

    def end(operator: str) -> str:
        return f'IF(AND(ISNUMBER(tl_cost),N(tl_interval_factor)>0),tl_cost{operator}tl_interval_factor,"")'

    return [
        _line("price_used", price, listed),
        _line("cost", f'IF(AND(ISNUMBER(tl_time_s),ISNUMBER(tl_price_used)),{whole},"")', cost),
        _line("cost_from", end("/"), cost / factor if factor else ""),
        _line("cost_to", end("*"), cost * factor or ""),
    ]


def _memory(model: Model) -> list[_Result]:
    """Return the lines on memory, in GB of 1e9 bytes, as GPUs are sold."""
    needs, of_gpu = needed_memory(model.formula), definition_of("memory_held_bytes")
    held = float(gpu_rows()[FIRST.gpu]["memory_bytes"])
    columns = {**model.known, "memory_bytes": np.array([held])}
    least, usual, place = (float(values_of(form, columns)[0]) for form in (*needs, of_gpu))
    sold = chosen_gpu_fact("memory_bytes")
    fits = fits_cell("(tl_memory_least*1E9)", "(tl_memory_usual*1E9)", sold)
    shown = f'IFERROR(IF({sold}="","{NOT_KNOWN}",{sold}/1E9),"{NOT_KNOWN}")'
    fitting = f'IF(tl_entries="{ENTRIES}",IFERROR({fits},"{NOT_KNOWN}"),"{NOT_KNOWN}")'
    word = FITS_WORDS[int(usual > place) + int(least > place)]
    return [
        _line("fits", fitting, word, expected=FITS),
        _need("memory_least", needs[0], least),
        _need("memory_usual", needs[1], usual),
        _line("gpu_memory", shown, held / _GB),
        _largest_batch(model, needs[1], f"({excel_expression(of_gpu, {'memory_bytes': sold})})"),
    ]


def _largest_batch(model: Model, need: Expression, held: str) -> _Result:
    """Return the line of the largest batch that fits; held : cell formula of the bytes that a GPU holds.

    The need is a line over the batch, or the smaller one of two: the larger of their two batches fits.
    """
    counts = [_batch_of(line, held) for line in (_with_side(need, 0), _with_side(need, 1))]
    cnn, gpu = keyed_cnn_counts(*FIRST.cnn), gpu_rows()[FIRST.gpu]
    first = largest_batch(cnn, float(gpu["memory_bytes"]), model.first_precision, model.is_forward)
    text = f'IFERROR(MAX(0,{",".join(counts)}),"{NOT_KNOWN}")'
    return _line("largest_batch", text, float(first))


def _with_side(need: Expression, side: int) -> Expression:
    """Return an expression with one argument of each minimum in its place."""

    def one_side(node: Apply, parts: tuple[Expression, ...]) -> Expression:
        return parts[side] if node.operator == "min" else Apply(node.operator, parts)

    return rebuilt(need, apply=one_side)


def _batch_of(line: Expression, held: str) -> str:
    """Return the cell formula of the whole batch at which a line over the batch reaches a value."""
    fixed = substitute(line, {BATCH: Constant(0.0)})
    slope = Apply("sub", (substitute(line, {BATCH: Constant(1.0)}), fixed))
    start, step = (
        excel_expression(fold_constants(form), cell_names(variables(form))) for form in (fixed, slope)
    )
    return f"INT(({held}-({start}))/({step}))"


def _basis() -> _Result:
    counted = "COUNT(" + fact("cnn", '"kept_elements"') + ")=1"
    how = f'IFERROR(IF({counted},"{ON_LAYERS}","{ROUGH}"),"{NOT_KNOWN}")'
    return _line("basis", how, ON_LAYERS)


def _need(name: str, form: Expression, value: float) -> _Result:
    text = excel_expression(form, cell_names(variables(form)))
    return _line(name, f'IFERROR(({text})/1E9,"{NOT_KNOWN}")', value / _GB)
