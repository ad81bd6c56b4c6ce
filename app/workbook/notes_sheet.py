"""The sheet Notes: where other answers are, the origin of the formula, tables behind the choices."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from trainlaw.app.answers.facts import Fact, precision_facts
from trainlaw.app.models.lookup_tables import precision_rows
from trainlaw.app.models.multi_gpu import covers_algorithm
from trainlaw.app.models.terms import values_of
from trainlaw.app.sheets.book_plan import BookPlan, SheetWriter
from trainlaw.app.text.tables import Table, plain_text
from trainlaw.app.workbook.lookup_sheets import write_look_up_table
from trainlaw.app.workbook.model import (
    IMPLIED,
    LAYOUTS,
    NO_YES,
    OWN_LINK,
    TABLES,
    USUAL_FABRIC,
    Model,
    new_sheet,
    steps_of,
    write_named,
)
from trainlaw.app.workbook.spellings import instance_rows
from trainlaw.datasets import link_table
from trainlaw.datasets.hardware.collectives import FEATURE_OF_ALGORITHM, algorithm_indicator
from trainlaw.datasets.measurements.runs import COMPILATIONS, STACKS
from trainlaw.datasets.tables.joins import LAUNCHES_LEFT
from trainlaw.formulas import Formula
from trainlaw.formulas.printers.excel import split_for_excel

ORDERS = ("iteration time", "cost per epoch")
_AGREEMENT = "1E-9"
_OF_INSTANCE = ("name", "gpu", "gpus", "link", "fabric", "price")
_NUMBERS_OF_LINK = ("effective_byte_per_s", "latency_s", "nominal_byte_per_s")


def write_notes(book: BookPlan, model: Model) -> None:
    """Write the sheet."""
    sheet = new_sheet(book, "Notes")
    row = 3
    for topic, text in TABLES["notes"].items():
        sheet.text(row, 0, topic)
        sheet.text(row, 1, text)
        row += 1
    facts = [[key, plain_text(value)] for key, value in model.formula.provenance.items()]
    row = 1 + sheet.table(row + 1, Table.of(["origin of the formula", ""], facts))
    row = _write_self_check(sheet, row, model)
    sheet.text(row, 0, "Tables behind the choices of sheet Prediction", "section")
    row += 1
    for columns, rows in _choice_tables(model):
        row = write_named(sheet, row, Table.of(columns, rows, "number"))
    if not model.is_forward:
        _write_links(sheet, row)


def _write_self_check(sheet: SheetWriter, row: int, model: Model) -> int:
    """Check that the application computes as trainlaw does; return the row after the next free one.

    Numbers are plain and constants the original ones: a difference is due to the application.
    """
    formula = model.formula
    sheet.text(row, 0, "Self-check", "section")
    names = [spec.name for spec in formula.used_features]
    numbers = dict(zip(names, model.first_choice.matrix(names)[0].tolist(), strict=True)) if names else {}
    for line, (name, value) in enumerate(numbers.items(), start=row + 1):
        sheet.line(line, name, value)
    start = row + 1 + len(numbers)
    places = {name: _step_cell(row, line) for line, name in enumerate(numbers, start=1)}
    cells = split_for_excel(formula.ungrouped, places, partial(_step_cell, start))
    known = {name: np.array([value]) for name, value in numbers.items()}
    steps = steps_of(cells, formula.ungrouped)
    for line, (text, part) in enumerate(steps, start):
        sheet.line(line, f"step {line - start + 1}", float(values_of(part, known)[0]), formula=text)
    last = start + len(steps) - 1
    sheet.line(last + 1, "time computed by trainlaw [s]", float(values_of(formula.ungrouped, known)[0]))
    equal = f"ABS({_step_cell(last, 0)}/{_step_cell(last, 1)}-1)<{_AGREEMENT}"
    sheet.line(last + 2, "equal", True, formula=equal, name="tl_self_check")
    return last + 4


def _step_cell(start: int, index: int) -> str:
    return f"$B${start + index + 1}"


#: The names of the columns of a table behind choices, by which cells look them up, and its rows.
_ChoiceTable = tuple[Sequence[str], Sequence[Sequence[object]]]


def options_of_precisions(formula: Formula) -> dict[str, dict[str, Fact]]:
    """Return by precision what the formula needs of it, and what the table of answers says."""
    return {name: {**precision_facts(formula, name), **row} for name, row in precision_rows().items()}


def _choice_tables(model: Model) -> Iterator[_ChoiceTable]:
    """Yield precisions, compilers or all-reduce algorithms, lists of names, and instances."""
    options = options_of_precisions(model.formula)
    yield [*next(iter(options.values()))], [[*option.values()] for option in options.values()]
    lists: dict[str, tuple[str, ...]] = {
        "order": ORDERS,
        "own_runs": NO_YES,
        "layout_choice": (IMPLIED, *LAYOUTS),
        "stack_choice": (IMPLIED, *STACKS),
        "precision_choice": (model.default_precision, *(name for name in options if name != "default")),
    }
    if model.is_forward:
        left = [[name, LAUNCHES_LEFT.get(name, 1.0)] for name in COMPILATIONS]
        yield ["compilation", "launches_left"], left
    else:
        yield _algorithms(model)
    for title, items in lists.items():
        yield [title], [[item] for item in items]
    yield ["instance", *(f"instance_{name}" for name in _OF_INSTANCE)], instance_rows()


def _algorithms(model: Model) -> _ChoiceTable:
    """Return which algorithm has which textbook form, and whether the scaling formula covers it."""
    times = list(dict.fromkeys(FEATURE_OF_ALGORITHM.values()))
    rows = [
        [name, *(float(feature == known) for known in times), float(covers_algorithm(model.scaling, name))]
        for name, feature in FEATURE_OF_ALGORITHM.items()
    ]
    return ["algorithm", *map(algorithm_indicator, times), "scaled"], rows


def _write_links(sheet: SheetWriter, row: int) -> None:
    """Write the links within a node and the fabrics between nodes."""
    table = link_table().set_index("link")
    # Those that formulas need come first.
    facts = list(dict.fromkeys(["effective_byte_per_s", "latency_s", *table.columns.drop("scope")]))
    empty = {name: np.nan if name in _NUMBERS_OF_LINK else "" for name in facts}
    for kind, scope, title, usual, column in (
        ("link", "node", "Links within a node", OWN_LINK, "link"),
        ("network", "network", "Fabrics between nodes", USUAL_FABRIC, "fabric"),
    ):
        rows: dict[Any, Any] = table.loc[table["scope"] == scope, facts].to_dict("index")
        usual_row = {**empty, "remark": f"column {column} of sheet GPUs"}
        sheet.text(row, 0, title, "section")
        row = 1 + write_look_up_table(sheet, kind, {usual: usual_row, **rows}, head=row + 2)
