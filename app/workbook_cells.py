"""What the workbook computes: cells with names, formulas, and the values that we computed."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from trainlaw.app.feature_expressions import feature_expression
from trainlaw.app.terms import NamedConstant, terms_of, with_named_constants
from trainlaw.datasets import FEATURES, RunTable, cnn_table, configuration, gpu_table
from trainlaw.formulas import (
    Constant,
    Expression,
    Formula,
    InputError,
    evaluate,
    substitute,
    to_text,
    variables,
)
from trainlaw.formulas.printers.excel import excel_expression

PREFIX = "tl_"  # V100, L2 and FP32 are addresses of cells: without a prefix they are no names
FIRST_CNN = ("resnet50", 224, 1000)
FIRST_GPU = "V100-SXM2-16GB"
FIRST_BATCH = 64
FIRST_PRECISION = "fp32"

# Raw columns that a person enters, with the first choice and what is allowed.
INPUTS: Mapping[str, float] = {"batch_per_gpu": FIRST_BATCH, "has_optimizer": 1.0, "has_input_copy": 0.0}
# Raw columns that follow from the precision: column of the sheet Precisions.
OF_PRECISION = ("bytes_per_element", "is_tensor_precision")


@dataclass(frozen=True)
class Cell:
    """One named cell: `formula` without "=", `value` for the first choice in `unit`, `meaning`."""

    name: str
    formula: str
    value: float
    unit: str
    meaning: str


@dataclass(frozen=True)
class TermCell:
    """One term: readable text, cell formula, value in s for the first choice, names of its constants."""

    text: str
    formula: str
    value: float
    constants: frozenset[str]


@dataclass(frozen=True)
class Model:
    """All that the sheet Predict computes, in the order of computing.

    raw : columns of GPU, CNN and run. features : what the formula is made of, computed from `raw`.
    constants : the formula's numbers. terms : whose sum is the time. seconds : the time for the first choice.
    """

    formula: Formula
    raw: tuple[Cell, ...]
    features: tuple[Cell, ...]
    constants: tuple[NamedConstant, ...]
    terms: tuple[TermCell, ...]
    seconds: float

    def range_of(self, cell: Cell) -> tuple[float, float] | None:
        """Return the training range of a quantity, in its unit, or None where there is none."""
        return next(
            (ends for name, ends in self.formula.ranges.items() if cell_name(name) == cell.name), None
        )

    @property
    def outside(self) -> int:
        """How many quantities of the first choice lie outside their training range."""
        pairs = [(cell.value, self.range_of(cell)) for cell in (*self.features, *self.raw)]
        return sum(ends is not None and not ends[0] <= value <= ends[1] for value, ends in pairs)


def first_choice() -> RunTable:
    """Return the configuration that the workbook shows when it is opened."""
    name, size, classes = FIRST_CNN
    return configuration(
        cnn=name, gpu=FIRST_GPU, batch_per_gpu=FIRST_BATCH, input_size_px=size, n_classes=classes,
        timed_parts="forward+backward+optimizer",
    )  # fmt: skip


def cell_name(name: str) -> str:
    """Return the defined name of a quantity; only letters, digits and underscores survive.

    >>> cell_name("macs"), cell_name("C[harness]")
    ('tl_macs', 'tl_c_harness_')
    """
    return PREFIX + "".join(
        letter if letter.isascii() and letter.isalnum() else "_" for letter in name.lower()
    )


def workbook_model(formula: Formula) -> Model:
    """Return what the workbook of a formula computes.

    Raises InputError where a feature of the formula does not follow from GPU, CNN and the inputs on offer.
    """
    run = first_choice()
    expressions = {spec.name: feature_expression(spec.name) for spec in formula.used_features}
    raw_names = sorted({name for expression in expressions.values() for name in variables(expression)})
    values = dict(zip(raw_names, run.matrix(raw_names)[0], strict=True))
    raw = tuple(_raw_cell(name, float(values[name])) for name in raw_names)
    columns = dict(zip(expressions, run.matrix(list(expressions))[0], strict=True))
    features = tuple(
        _feature_cell(name, expression, float(columns[name]))
        for name, expression in expressions.items()
        if name not in raw_names
    )
    expression, constants = with_named_constants(formula)
    known = {**columns, **{constant.name: constant.value for constant in constants}}
    cells = tuple(_term_cell(term, known, constants) for term in terms_of(formula, expression))
    return Model(formula, raw, features, constants, cells, float(sum(cell.value for cell in cells)))


def _raw_cell(name: str, value: float) -> Cell:
    spec = FEATURES[name].spec
    return Cell(cell_name(name), _raw_formula(name), value, _unit(str(spec.unit)), spec.meaning)


def _unit(text: str) -> str:
    return "" if text == "1" else text


def _raw_formula(name: str) -> str:
    """The cell formula that looks a raw column up; "" for an input."""
    if name in INPUTS:
        return ""
    if name == "peak_flop_per_s":
        return _look_up("gpu", _of_precision("peak_column"))
    if name in OF_PRECISION:
        return _of_precision(name)
    for kind, table in (("cnn", cnn_table), ("gpu", gpu_table)):
        if name in table().columns:
            return _look_up(kind, f'"{name}"')
    raise InputError(
        f"the workbook cannot compute {name!r}, which the formula needs; export to .py or .json instead"
    )


def _of_precision(column: str) -> str:
    row = f"MATCH({PREFIX}precision,{PREFIX}precisions_precision,0)"
    return f"INDEX({PREFIX}precisions_{column},{row})"


def _look_up(kind: str, column: str) -> str:
    """The cell formula for the chosen row of a table and a column whose name is the cell formula `column`."""
    row = f"MATCH({PREFIX}{kind},{PREFIX}{kind}s,0)"
    return f"INDEX({PREFIX}{kind}_table,{row},MATCH({column},{PREFIX}{kind}_columns,0))"


def _feature_cell(name: str, expression: Expression, value: float) -> Cell:
    names = {raw: cell_name(raw) for raw in variables(expression)}
    spec = FEATURES[name].spec
    return Cell(
        cell_name(name), excel_expression(expression, names), value, _unit(str(spec.unit)), spec.meaning
    )


def _term_cell(
    term: Expression, known: Mapping[str, float], constants: tuple[NamedConstant, ...]
) -> TermCell:
    names = {name: cell_name(name) for name in variables(term)}
    numbers = {constant.name: Constant(constant.value) for constant in constants}
    values, valid = evaluate(term, {name: np.array([known[name]]) for name in names})
    value = float(values[0]) if valid[0] else float("nan")
    readable = to_text(substitute(term, numbers), 3)
    return TermCell(readable, excel_expression(term, names), value, frozenset(names) & frozenset(numbers))
