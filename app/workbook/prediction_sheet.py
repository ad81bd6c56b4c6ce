"""The sheet Prediction: the answer, its warnings, the choices that most change, then the rare ones."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from trainlaw.app.answers.answer import NOTE, WARNING
from trainlaw.app.answers.figure_rows import definition_of, fits_in_memory, needed_memory
from trainlaw.app.answers.fixed_rows import FITS_WORDS, NO_INTERVAL
from trainlaw.app.models.lookup_tables import cnn_label, gpu_rows
from trainlaw.app.models.settings import host_factor
from trainlaw.app.models.terms import values_of
from trainlaw.app.sheets.book_plan import BookPlan, SheetWriter
from trainlaw.app.workbook.choices import choices_of, write_choices
from trainlaw.app.workbook.errors_sheet import interval_factor
from trainlaw.app.workbook.lookup_sheets import gpu_table_rows, listed_price, row_named, usable_price
from trainlaw.app.workbook.model import (
    ENTRIES,
    FIRST,
    LAYOUTS,
    PREFIX,
    TABLES,
    Model,
    cell_names,
    figure_cell,
    filled,
    new_sheet,
    of_instance,
)
from trainlaw.app.workbook.sentences import (
    SETUP,
    Said,
    chosen_class_factor,
    chosen_gpu_fact,
    implied_stack,
)
from trainlaw.app.workbook.spellings import key_formula, without_count
from trainlaw.datasets.cnns.catalog import keyed_cnn_counts
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
AFTER_ENTRIES = "none before every entry can be used"
ON_LAYERS = "from the layers of the CNN"


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


def _lines(
    part: str, values: Mapping[str, float | str | bool], places: Mapping[str, str], **expected: str
) -> list[_Result]:
    """Return the lines of a part of the table that have a value; expected : values without a warning."""
    return [
        _Result(
            title, filled(text, places), value, unit, style, name, filled(note, places), expected.get(key)
        )
        for key, (title, unit, style, name, note, text) in TABLES["prediction"][part].items()
        if (value := values.get(key)) is not None
    ]


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
    usual, rare = choices_of(model, "usual"), choices_of(model, "rare")
    places = _places(model) | {
        "valid": f"AND({','.join(choice.valid for choice in (*usual, *rare))})",
        "setups": "&".join(f"INDEX(tl_{SETUP},{number + 1})" for number in range(len(said.setups))),
    }
    times = _lines("answer", _times(model), places)
    memory = _lines("memory", _memory(model) | _costs(model), places, fits=FITS)
    left = _write_results(sheet, _TOP, _LEFT, "Answer", times)
    right = _write_results(sheet, _TOP, _RIGHT, "Memory and cost", memory)
    lines = [
        *_lines("before", {"entries": ENTRIES}, places, entries=ENTRIES),
        *_sentences(WARNING, said.warnings, _WARNINGS, NONE_SAID),
        *_sentences(NOTE, said.notes, _NOTES),
        # Of the sentences on all assumptions one is not empty.
        *_lines("after", {"setup": "".join(said.setups), "own_runs": f"none on {FIRST.gpu}"}, places),
    ]
    row = _write_results(sheet, max(left, right) + 1, _LEFT, "Warnings and notes", lines)
    for title, choices in (("Choose", usual), ("More", rare)):
        sheet.text(row + 1, _LEFT, title, "section")
        row = write_choices(sheet, choices, row + 2)
    _write_results(sheet, row + 1, _LEFT, "Behind the answer", _lines("behind", _behind(model), places))


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


def _times(model: Model) -> dict[str, float | str]:
    """Return the first times: of an iteration with its interval, of an epoch, of the training."""
    seconds, hours, factor = model.seconds, model.seconds * _STEPS / 3600.0, model.interval_factor
    ends = {
        "from": 1000 * (seconds / factor) if factor else "",
        "to": 1000 * (seconds * factor) or "",
    }
    rate = FIRST.batch / seconds
    if model.is_forward:
        return {"pass": 1000 * seconds, **ends, "pass_rate": rate, "all_images": 60 * hours}
    whole = {"epoch": hours, "training": hours * FIRST.epochs, "efficiency": 1.0}
    return {"iteration": 1000 * seconds, **ends, "rate": rate, **whole}


def _behind(model: Model) -> dict[str, float | str | bool]:
    """Return the first meaning of the choices, the iterations, the time and the factors of its interval."""
    several: dict[str, float | str | bool] = {
        "n_nodes": 1.0,
        "link_used": str(gpu_table_rows(model.formula)[FIRST.gpu]["link"]),
        "network_used": usual_server(FIRST.gpu).fabric,
    }
    factor, knows_stacks = model.interval_factor, model.needs("choices", "stack_choice")
    has_layout = knows_stacks or "is_channels_last" in model.base_columns
    return {
        "instance_row": 0.0,
        "cnn": cnn_label(*FIRST.cnn),
        "gpu": FIRST.gpu,
        "precision": model.first_precision,
        **({} if model.is_forward else several),
        **({"layout": LAYOUTS[0]} if has_layout else {}),
        **({"stack": "eager"} if knows_stacks else {}),
        "iterations": _STEPS,
        "time_s": model.seconds,
        "usual_factor": factor,
        "interval_factor": factor,
        "basis": ON_LAYERS,
        "self_check": True,
    }


def _costs(model: Model) -> dict[str, float | str]:
    """Return the first price of the GPU, and the cost of all epochs or images."""
    listed, factor = listed_price(FIRST.gpu), model.interval_factor
    cost = model.seconds * _STEPS / 3600.0 * listed * (1.0 if model.is_forward else FIRST.epochs)
    ends = {"cost_from": cost / factor if factor else "", "cost_to": cost * factor or ""}
    return {"price_used": listed, "cost": cost, **ends}


def _memory(model: Model) -> dict[str, float | str]:
    """Return the first amounts of memory, in GB of 1e9 bytes, as GPUs are sold."""
    sold = float(gpu_rows()[FIRST.gpu]["memory_bytes"])
    columns = {**model.known, "memory_bytes": np.array([sold])}
    forms = (*needed_memory(model.formula), definition_of("memory_held_bytes"))
    least, usual, held = (float(values_of(form, columns)[0]) for form in forms)
    cnn = keyed_cnn_counts(*FIRST.cnn)
    return {
        "fits": FITS_WORDS[int(usual > held) + int(least > held)],
        "memory_least": least / _GB,
        "memory_usual": usual / _GB,
        "gpu_memory": sold / _GB,
        "largest_batch": float(largest_batch(cnn, sold, model.first_precision, model.is_forward)),
    }


def _places(model: Model) -> dict[str, str]:
    """Return what fills the places of the table of lines."""
    least, usual = needed_memory(model.formula)
    sold, precision = chosen_gpu_fact("memory_bytes"), chosen_gpu_fact("default_precision")
    held = f"({excel_expression(definition_of('memory_held_bytes'), {'memory_bytes': sold})})"
    # The need is a line over the batch, or the smaller one of two: the larger of their two batches fits.
    batches = ",".join(_batch_of(_with_side(usual, side), held) for side in (0, 1))
    is_one = isinstance(host_factor(model.formula, model.expression), Constant)
    of_host = "1" if is_one else "tl_host_factor"
    interval = f"{100 * LEVEL:g} % of runs on a new {held_out_kind(model.formula)}"
    price = of_instance("price", chosen_gpu_fact("price_usd_per_hour"))
    whole = f"({figure_cell('epoch_h')}*tl_epochs)"
    layout = f'IF(tl_stack_choice="channels_last","{LAYOUTS[1]}","{LAYOUTS[0]}")'
    return {
        "interval": interval if model.interval_factor else NO_INTERVAL,
        "fits": _fits_cell(sold),
        **{name: _cell(form) for name, form in (("least", least), ("usual", usual))},
        "batches": batches,
        "price": usable_price(price, '"enter one: sheet GPUs"'),
        "cost": figure_cell("cost", training_h=whole, price_per_hour="tl_price_used"),
        "instance": key_formula("gpu", without_count("tl_gpu_choice")),
        **{f"{kind}_row": row_named(kind, f"tl_{kind}_choice") for kind in ("cnn", "gpu")},
        "default": model.default_precision,
        "precision": f'"{model.first_precision}"' if model.is_forward else precision,
        "layout": layout if model.needs("choices", "stack_choice") else f'"{LAYOUTS[0]}"',
        "stack": implied_stack(model),
        "factor": interval_factor(model.formula, chosen_class_factor(model), "tl_is_processor=1", of_host),
        "on_layers": ON_LAYERS,
    }


def _fits_cell(sold: str) -> str:
    """Return the cell formula of the word for whether an iteration fits; sold : of the GPU's bytes."""
    needs = {f"memory_{name}_bytes": f"(tl_memory_{name}*1E9)" for name in ("least", "usual")}
    place = excel_expression(fits_in_memory(), {**needs, "memory_bytes": sold})
    words = ",".join(f'"{word}"' for word in FITS_WORDS)
    return f'IF(COUNT({sold})=0,"{NOT_KNOWN}",CHOOSE(1+{place},{words}))'


def _cell(form: Expression) -> str:
    return excel_expression(form, cell_names(variables(form)))


def _with_side(need: Expression, side: int) -> Expression:
    """Return an expression with one argument of each minimum in its place."""

    def one_side(node: Apply, parts: tuple[Expression, ...]) -> Expression:
        return parts[side] if node.operator == "min" else Apply(node.operator, parts)

    return rebuilt(need, apply=one_side)


def _batch_of(line: Expression, held: str) -> str:
    """Return the cell formula of the whole batch at which a line over the batch reaches a value."""
    fixed, one = (substitute(line, {BATCH: Constant(batch)}) for batch in (0.0, 1.0))
    start, step = (_cell(fold_constants(form)) for form in (fixed, Apply("sub", (one, fixed))))
    return f"INT(({held}-({start}))/({step}))"
