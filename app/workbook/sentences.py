"""The table of answers as live cells below the formula, from which sheet Prediction takes its sentences."""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from typing import NamedTuple

import numpy as np
from trainlaw.app.answers.answer import FIGURE, NOTE, PLACE, WARNING
from trainlaw.app.answers.facts import Fact, architecture_facts, cnn_facts, gpu_facts, precision_facts
from trainlaw.app.answers.said import evaluated
from trainlaw.app.answers.table import Line, lines_of, within_reach
from trainlaw.app.models.calibration import calibration_of
from trainlaw.app.models.settings import host_rows
from trainlaw.app.sheets.book_plan import SheetWriter
from trainlaw.app.workbook.errors_sheet import (
    class_factor,
    held_out_error,
    interval_class,
    is_known_generation,
)
from trainlaw.app.workbook.model import (
    DEFAULT_PRECISION,
    FIRST,
    LAYOUTS,
    TABLES,
    Model,
    fact,
    filled,
    is_listed,
    option,
)
from trainlaw.datasets import built_in_gpus
from trainlaw.datasets.measurements.runs import COMPILATIONS
from trainlaw.formulas import Constant, Expression, InputError, variables
from trainlaw.formulas.printers.excel import excel_expression
from trainlaw.validate.formula_intervals import intervals_of

SETUP = "setup"
_HEADS = ("name", "value", "unit", "warning", "note", "", "sentence")
# Columns that count the sentences of a kind, and the column of the sentences.
_COUNTED = {WARNING: "D", NOTE: "E"}
_SAID = "G"
_LETTERS = "ABCDEFG"
#: Quantities that sheet Prediction needs.
_NAMED = {"architecture_factor", "host_factor", "is_processor"}


class Said(NamedTuple):
    """The sentences of the first choice: those that may state all assumptions, and those that are said."""

    setups: list[str]
    notes: list[str]
    warnings: list[str]


class Given(NamedTuple):
    """A quantity that the rows are made of: its cell formula, and its value for the first choice."""

    formula: str
    value: Fact


def chosen_gpu_fact(column: str) -> str:
    """Return the cell formula of a column of sheet GPUs for the chosen GPU."""
    return fact("gpu", f'"{column}"')


def write_sentences(sheet: SheetWriter, model: Model, row: int) -> Said:
    """Write the table from a row of sheet Formula on; return the sentences of the first choice.

    The name tl_said is that of the sentences, empty where they are not said; tl_warning and tl_note count
    those of each kind. tl_setup are those that state all assumptions, of which one is said.
    """
    given = _given(model)
    lines = _lines(model, given)
    found = evaluated(lines, {name: np.array([value]) for name, (_, value) in given.items()}, 1)
    sheet.text(row, 0, "Sentences about this prediction, and the quantities that decide on them", "section")
    sheet.heads(row + 1, _HEADS, _HEADS)
    row += 2
    places: dict[str, str] = {}
    for name, (formula, value) in given.items():
        _write(sheet, row, name, Given(f'IFERROR({formula},"")', value))
        places[name] = sheet.place(row, 1)
        row += 1
    first = row
    said: dict[str, list[str]] = {NOTE: [], WARNING: []}
    setups: dict[int, str] = {}
    for line in lines:
        answer = line.answer
        if line.value is not None:
            value = float(found.columns[answer.name][0])
            computed = Given(f'IFERROR({_cell(line.value, places)},"")', value)
            _write(sheet, row, answer.name, computed, answer.unit)
            places[answer.name] = sheet.place(row, 1)
        else:
            text = found.text(line, 0)
            sheet.text(row, 0, answer.name)
            sheet.formula(row, _LETTERS.index(_SAID), _sentence(line, places), text, "text")
            if answer.name.startswith(SETUP):
                setups[row] = text
            else:
                said[answer.kind] += [text] if text else []
                # Which sentence of its kind it is, where it is said.
                letter, value = _COUNTED[answer.kind], float(len(said[answer.kind]))
                count = f'IF({_SAID}{row + 1}="","",COUNT({letter}${first}:{letter}{row})+1)'
                sheet.formula(row, _LETTERS.index(letter), count, value if text else "", "general")
        row += 1
    for name, letter in (("said", _SAID), *_COUNTED.items()):
        sheet.define_range(f"tl_{name}", _LETTERS.index(letter), first, row - 1)
    sheet.book.names |= {f"tl_{name}": places[name] for name in places if name in _NAMED}
    sheet.define_range(f"tl_{SETUP}", _LETTERS.index(_SAID), min(setups), max(setups))
    return Said([*setups.values()], said[NOTE], said[WARNING])


def _write(sheet: SheetWriter, row: int, name: str, given: Given, unit: str = "") -> None:
    formula, value = given
    sheet.text(row, 0, name)
    shown = "" if isinstance(value, float) and not np.isfinite(value) else value
    sheet.formula(row, 1, formula, shown, "text" if isinstance(value, str) else "general")
    sheet.text(row, 2, unit, "unit")


def _cell(expression: Expression, places: Mapping[str, str]) -> str:
    return excel_expression(expression, {name: places[name] for name in variables(expression)})


def _lines(model: Model, given: Mapping[str, Given]) -> tuple[Line, ...]:
    """Return the values, warnings and notes of the table that cells can compute."""
    never = {"has_settings": 0.0, "n_cnn_notes": 0.0}
    never |= {} if model.is_forward else {"has_compilation": 0.0}
    lines = lines_of(model.formula, never)
    host = host_rows(model.formula, model.expression)
    changed = [replace(line, value=host.get(line.answer.name, line.value)) for line in lines]
    if not all(_fits(line) for line in changed if line.answer.name in host):
        plain = Constant(1.0)
        changed = [
            replace(line, value=plain) if line.answer.name == "host_factor" else line for line in changed
        ]
    kept = [line for line in changed if line.answer.kind != FIGURE or line.value is not None]
    return within_reach([line for line in kept if _fits(line)], given)


def _fits(line: Line) -> bool:
    """Return whether the expressions of a row fit into a cell each."""
    try:
        for part in (line.value, line.when):
            _cell(part, dict.fromkeys(variables(part), "Formula!$B$1000")) if part is not None else ""
    except InputError:
        return False
    return True


def _sentence(line: Line, places: Mapping[str, str]) -> str:
    """Return the cell formula of a sentence, empty where it is not said or a part of it is not known."""
    parts, end, sentence = [], 0, line.answer.sentence
    for place in PLACE.finditer(sentence):
        parts += [_text(sentence[end : place.start()]), _shown(places[place["names"]], place["style"] or "")]
        end = place.end()
    text = "&".join(part for part in [*parts, _text(sentence[end:])] if part != '""')
    if line.when is None:
        return f'IFERROR({text},"")'
    return f'IFERROR(IF({_cell(line.when, places)}>0,{text},""),"")'


def _text(text: str) -> str:
    """Return a text as a literal of a cell formula."""
    return '"' + text.replace('"', '""') + '"'


def _shown(cell: str, style: str) -> str:
    """Return a number as commands show it, as a cell formula that gives a text."""
    if style == "seconds":
        sizes = {"s": cell, "ms": f"({cell}*1000)", "us": f"({cell}*1000000)"}
        numbers = {unit: _shown(size, "number") for unit, size in sizes.items()}
        return filled(TABLES["shown"][style], {"cell": cell, **numbers})
    return filled(TABLES["shown"].get(style, "{cell}"), {"cell": cell})


def _given(model: Model) -> dict[str, Given]:
    """Return every quantity of the rows that the workbook knows, with its value for the first choice."""
    cells = {name: Given(place, model.values[name]) for name, place in model.cells.items()}
    run: dict[str, Fact] = {
        "n_gpus": 1.0,
        "batch_per_gpu": model.values["batch_per_gpu"],
        "single_gpu_time_s": model.seconds,
        "added_s": 0.0,
        "n_nodes": 1.0,
        "machine": "1 GPU",
        "is_undefined": 0.0,
        "iterations": float(ceil(FIRST.images / FIRST.batch)),
        "epochs": FIRST.epochs,
    }
    if model.is_forward:
        run |= {"compilation": COMPILATIONS[0], "has_compilation": 0.0}
    run |= {"is_scaled": 1.0} if model.scaling is not None else {}
    found = cells | _quantities("run", run, {})
    found |= {"epochs": Given("1", 1.0), "machine": Given('"1 GPU"', "1 GPU")} if model.is_forward else {}
    return found | _gpu(model) | _precision(model) | _setting(model) | _cnn(model)


def _quantities(part: str, values: Mapping[str, Fact], places: Mapping[str, str]) -> dict[str, Given]:
    """Return the quantities of a part of the table that have a value for the first choice."""
    texts = TABLES["quantities"][part]
    return {name: Given(filled(texts[name], places), values[name]) for name in texts if name in values}


def chosen_class_factor(model: Model) -> str:
    """Return the cell formula of the factor of the interval of the chosen run's class, 0 without one."""
    stack = "tl_stack" if "is_stack_fused" in model.base_columns else ""
    kind = interval_class(chosen_gpu_fact("vendor"), "tl_precision", stack)
    return class_factor(kind, is_known_generation(model.formula, chosen_gpu_fact("generation")))


def _gpu(model: Model) -> dict[str, Given]:
    formula, gpu = model.formula, built_in_gpus().find(FIRST.gpu)
    facts = gpu_facts(formula, gpu)
    value = intervals_of(formula).factor(model.first_precision, gpu.generation)
    vendor, generation = chosen_gpu_fact("vendor"), chosen_gpu_fact("generation")
    calibrated = [_text(str(name)) for name in (calibration_of(formula) or {}).get("gpus", [])]
    is_one = ",".join(f"tl_gpu={name}" for name in calibrated) or "FALSE"
    places = {
        "known": f"OR({is_known_generation(formula, generation)}=1,{is_one})",
        "made": is_listed(vendor, "options_vendor") if formula.provenance.get("vendors") else "FALSE",
        "error_of_generation": held_out_error(formula, "generation", generation),
        "is_other": f"IF(OR({is_one}),0,1)" if calibrated else "0",
        "of_class": chosen_class_factor(model),
    }
    unknown = {
        name: Given(f'IF({chosen_gpu_fact(name.removeprefix("is_unknown_"))}="",1,0)', fact)
        for name, fact in facts.items()
        if name.startswith("is_unknown_")
    }
    facts |= {
        "class_factor": value,
        "has_interval": float(np.isfinite(value)),
        "memory_bytes": gpu.memory_bytes,
    }
    return _quantities("gpu", facts, places) | unknown | _quantities("interval", facts, places)


def _precision(model: Model) -> dict[str, Given]:
    return {
        name: Given("tl_precision" if isinstance(value, str) else option("precision", name), value)
        for name, value in precision_facts(model.formula, model.first_precision).items()
    }


def implied_stack(model: Model) -> str:
    """Return the stack that layout, container and compiler imply, as a formula of a cell."""
    is_fused = "tl_is_tuned=1"
    if model.is_forward:
        is_fused = f'OR({is_fused},tl_compilation="inductor")'
    return f'IF({is_fused},"fused",IF(tl_layout="{LAYOUTS[1]}","channels_last","eager"))'


def _setting(model: Model) -> dict[str, Given]:
    """Return the settings; those without a cell have their default."""
    values: dict[str, Fact] = {
        "by_default": 1.0 - model.is_forward,
        **dict.fromkeys(("has_stack", "is_stack_unknown", "has_layout", "has_host_launch"), 0.0),
        "stack": "eager",
        "layout": "nchw",
        **({} if "is_tuned" in model.base_columns else {"is_tuned": 0.0}),
    }
    default = "0" if model.is_forward else f'IF(tl_precision_choice="{DEFAULT_PRECISION}",1,0)'
    found = _quantities("setting", values, {"by_default": default, "implied_stack": implied_stack(model)})
    without = [name for name in values if not model.needs("settings", name)]
    literals = {name: '"{}"' if isinstance(values[name], str) else "{:g}" for name in without}
    return found | {name: Given(text.format(values[name]), values[name]) for name, text in literals.items()}


def _cnn(model: Model) -> dict[str, Given]:
    cnn = model.first_choice.facts.cnns[0]
    facts = {**cnn_facts(cnn), **architecture_facts(model.formula, cnn.cnn_base)}
    error = held_out_error(model.formula, "architecture", fact("cnn", '"cnn_base"'))
    return _quantities("cnn", facts, {"error_of_architecture": error})
