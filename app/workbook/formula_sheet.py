"""The sheet Formula: terms, constants, symbols, base columns, and the table of answers."""

from collections.abc import Callable
from functools import partial

from trainlaw.app.models.multi_gpu import covers_algorithm
from trainlaw.app.models.terms import Part, values_of
from trainlaw.app.sheets.book_plan import BookPlan, SheetWriter
from trainlaw.app.workbook.model import (
    FIRST,
    LAUNCH,
    OF_LINK,
    OF_NETWORK,
    OF_PRECISION,
    PEAK,
    PEER,
    TABLES,
    YES,
    Model,
    cell_name,
    cell_names,
    fact,
    filled,
    kind_of,
    new_sheet,
    option,
)
from trainlaw.app.workbook.sentences import Said, write_sentences
from trainlaw.datasets import FEATURES
from trainlaw.datasets.features.run_features import SINGLE_GPU_TIME
from trainlaw.datasets.measurements.memory_fit import NOT_KNOWN
from trainlaw.formulas import Expression, FeatureSpec, Formula, to_text, variables
from trainlaw.formulas.printers.excel import excel_expression, split_for_excel
from xlsxwriter.utility import xl_rowcol_to_cell

_WIDTHS = TABLES["sheets"]["Formula"]["widths"]
BY_SCALING = "by the scaling formula (trainlaw show multi); other algorithms: textbook"
_OF_TEXTS = ("unit", "meaning", "occurs in")
_SYMBOL_HEADS = ("symbol", "value now", "unit", "training minimum", "training maximum", "outside", "meaning")


def write_formula(book: BookPlan, model: Model) -> Said:
    """Write the sheet, where a changed constant changes the prediction; return its sentences."""
    target = model.formula.target
    sheet = new_sheet(book, "Formula", title=f"{target.meaning}, {target.symbol} [{target.unit}]")
    constants = 4 + len(model.parts) + 5
    symbols = constants + 3 + len(model.numbers)
    facts = symbols + 3 + len(model.features)
    steps = facts + 4 + len(model.base_columns)
    _constants(sheet, model, constants)
    features = _symbols(sheet, model, symbols)
    known = _facts(sheet, model, facts)
    row = _terms(sheet, model, steps, [known, features])
    return write_sentences(sheet, model, row + 1)


def _terms(sheet: SheetWriter, model: Model, steps: int, counts: list[str]) -> int:
    """Write a line per term, the all-reduce, and the sum; steps of long terms follow from row `steps` on.

    A term inside a maximum counts as 0 where another side is larger. counts : cell formulas that are true
    where all base columns and features are known. Returns the next free row.
    """
    sheet.heads(2, ["term", "time, s", "share of the time", "meaning"], _OF_TEXTS)
    helpers = _Helpers(model)
    first = 3
    for row, (part, value) in enumerate(zip(model.parts, model.term_seconds, strict=True), start=first):
        sheet.wrapped_text(row, 0, model.readable(part.expression), _WIDTHS[0])
        sheet.formula(row, 1, f'IFERROR({helpers.counted(part)},"{NOT_KNOWN}")', value, "seconds")
        _share(sheet, row, value / model.seconds)
        sheet.text(row, 3, _description(model.formula, part.expression), "unit")
    last = first + len(model.parts) - 1
    counts = [*counts, f"COUNT(B{first + 1}:B{last + 1})={len(model.parts)}"]
    _totals(sheet, model, last + 1, f"AND({','.join(filter(None, counts))})", first)
    sheet.plan.bars[2] = (first, last + 1)
    if helpers.lines:
        sheet.text(steps, 0, "Sides of maxima, and steps of terms that are too long for one cell", "section")
    for row, (name, text, value) in enumerate(helpers.lines, start=steps + 1):
        sheet.line(row, name, value, "seconds", formula=text, name=name)
    return steps + 1 + len(helpers.lines)


class _Helpers:
    """Cells behind the terms: each side of a maximum once, and the steps of long expressions."""

    def __init__(self, model: Model) -> None:
        self.lines: list[tuple[str, str, float]] = []
        self.names = cell_names({*model.features, *model.numbers})
        self.known = model.known
        self.sides: dict[Expression, str] = {}

    def counted(self, part: Part) -> str:
        """Return the cell formula of a term as it counts."""
        wins = [
            f"{self._side(side)}{'>' if larger else '>='}{self._side(rest)}"
            for side, rest, larger in part.against
        ]
        text = self._in_one_cell(part.expression)
        return f"IF(AND({','.join(wins)}),{text},0)" if wins else text

    def _side(self, side: Expression) -> str:
        """Return the name of the cell of a side of a maximum."""
        if side not in self.sides:
            name = f"tl_side_{len(self.sides) + 1}"
            text = self._in_one_cell(side)
            self.lines.append((name, text, self._value(side)))
            self.sides[side] = name
        return self.sides[side]

    def _value(self, expression: Expression) -> float:
        return float(values_of(expression, self.known)[0])

    def _in_one_cell(self, expression: Expression) -> str:
        """Return the cell formula of an expression; steps that one cell cannot hold become lines."""
        start = len(self.lines)
        cells = split_for_excel(expression, self.names, lambda index: f"tl_step_{start + index + 1}")
        for (name, text), part in zip(cells.helpers, cells.expressions, strict=True):
            self.lines.append((name, text, self._value(part)))
        return cells.formula


def _share(sheet: SheetWriter, row: int, value: float) -> None:
    cell = xl_rowcol_to_cell(row, 1)
    sheet.formula(
        row, 2, f'IF(AND(ISNUMBER({cell}),ISNUMBER(tl_time_s)),{cell}/tl_time_s,"")', value, "share"
    )


def _totals(sheet: SheetWriter, model: Model, row: int, defined: str, first: int) -> None:
    """Write what several GPUs add, the sum of the terms from row `first` to `row` where it is defined, both.

    The time on one GPU is that sum, unless sheet Prediction asks for the user's runs.
    """
    kind = "forward pass" if model.is_forward else "iteration on one GPU"
    sheet.text(row + 1, 0, f"time of one {kind}, the sum of the terms", "section")
    total = f"SUM(B{first + 1}:B{row})"
    sheet.formula(row + 1, 1, f'IF({defined},{total},"{NOT_KNOWN}")', model.seconds, "result")
    sheet.text(row + 1, 2, "s", "unit")
    sheet.define("tl_single_s", row + 1, 1)
    alone = f'IF(AND(tl_own_runs="{YES}",ISNUMBER(tl_single_s)),tl_single_s*tl_own_factor,tl_single_s)'
    title = "the same, by the factor of sheet My runs if it is used"
    sheet.line(row + 2, title, model.seconds, "seconds", formula=alone, unit="s", name="tl_alone_s")
    _exchange(sheet, model, row)


def _exchange(sheet: SheetWriter, model: Model, row: int) -> None:
    """Write what several GPUs add, and three rows below whether the scaling formula gives it."""
    title = "what several GPUs add: the exchange of gradients"
    added = excel_expression(model.added, {**model.cells, SINGLE_GPU_TIME: "tl_alone_s"})
    shown = f'IFERROR(IF(tl_n_gpus=1,0,{added}),"{NOT_KNOWN}")'
    sheet.line(row, title, 0.0, "seconds", formula=shown, name="tl_all_reduce_s")
    _share(sheet, row, 0.0)
    by = "included in the terms" if model.scaling is None else BY_SCALING
    sheet.text(row, 3, by, "unit")
    is_scaled = float(not model.is_forward and covers_algorithm(model.scaling, FIRST.algorithm))
    covered = "0" if model.is_forward else f'IFERROR({option("algorithm", "scaled")},"{NOT_KNOWN}")'
    title = "1: the scaling formula covers the algorithm; 0: textbook"
    sheet.line(row + 3, title, is_scaled, formula=covered, name="tl_is_scaled")


def _description(formula: Formula, term: Expression) -> str:
    known = [spec for spec in formula.features if spec.name in variables(term)]
    if not known or len(known) == len(variables(term)):
        return "fixed time" if not known else ", ".join(spec.meaning for spec in known)
    timed = [spec for spec in known if spec.unit == formula.target.unit] or known
    return "; ".join(spec.meaning for spec in timed)


def _constants(sheet: SheetWriter, model: Model, row: int) -> None:
    sheet.text(row, 0, "Constants (change the yellow cells)", "section")
    sheet.heads(row + 1, ["name", "value", "unit", "occurs in"], _OF_TEXTS)
    for line, (name, value, unit) in enumerate(model.constants, start=row + 2):
        inside = [str(n) for n, part in enumerate(model.parts, start=1) if name in part.features]
        sheet.line(line, name, value, "constant", unit=unit_text(unit), name=cell_name(name))
        sheet.text(line, 3, f"term {', '.join(inside)}", "unit")


def unit_text(unit: object) -> str:
    """Return a unit as text: empty for a pure number; None is a unit that other constants determine."""
    if unit is None:
        return "depends on other constants"
    return "" if str(unit) == "1" else str(unit)


def _symbols(sheet: SheetWriter, model: Model, row: int) -> str:
    """Write features with value, unit, training range and meaning; return the check that all are known."""
    sheet.text(row, 0, "Symbols of the formula", "section")
    sheet.heads(row + 1, _SYMBOL_HEADS, _OF_TEXTS)
    first, names = row + 2, cell_names(model.base_columns)
    for line, (name, form) in enumerate(model.features.items(), start=first):
        spec = FEATURES[name].spec
        style, value = "seconds" if str(spec.unit) == "s" else "amount", model.values[name]
        text = f'IFERROR({split_for_excel(form, names, str).formula},"{NOT_KNOWN}")'
        cell = "" if name in model.base_columns else cell_name(name)
        title, unit = f"{name} ({spec.symbol})", unit_text(spec.unit)
        sheet.line(line, title, value, style, formula=text, unit=unit, name=cell)
        sheet.wrapped_text(line, 6, meaning(spec, form), _WIDTHS[6])
        _range(sheet, line, model.formula.ranges.get(name), value, style)
    last = first + len(model.features) - 1
    sheet.define_range("tl_outside", 5, first, max(first, last))
    return f"COUNT(B{first + 1}:B{last + 1})={len(model.features)}" if model.features else ""


def meaning(spec: FeatureSpec, form: Expression) -> str:
    """Return what a feature means, and how it is computed from base columns."""
    written = to_text(form)
    return spec.meaning if written == spec.name else f"{spec.meaning}; computed as {written}"


def _range(sheet: SheetWriter, row: int, ends: tuple[float, float] | None, value: float, style: str) -> None:
    if ends is None:
        return
    sheet.number(row, 3, ends[0], style)
    sheet.number(row, 4, ends[1], style)
    cell, low, high = (xl_rowcol_to_cell(row, column) for column in (1, 3, 4))
    outside = int(not ends[0] <= value <= ends[1])
    sheet.formula(row, 5, f"IF(ISNUMBER({cell}),IF(OR({cell}<{low},{cell}>{high}),1,0),0)", outside)


def _facts(sheet: SheetWriter, model: Model, row: int) -> str:
    """Write the base columns of the configuration; return the cell formula that is true if all are known."""
    sheet.text(row, 0, "Base columns of the chosen GPU, CNN and configuration", "section")
    sheet.heads(row + 1, _SYMBOL_HEADS, _OF_TEXTS)
    for line, name in enumerate(model.base_columns, start=row + 2):
        spec = FEATURES[name].spec if name in FEATURES else None
        style = "seconds" if spec and str(spec.unit) == "s" else "amount"
        text = fact_formula(name)
        if name == LAUNCH and model.is_forward:
            text = f"{text}*{option('compilation', 'launches_left')}"
        unit, meant = (unit_text(spec.unit), spec.meaning) if spec else TABLES["facts"].get(name, ("", ""))
        cell = cell_name(name)
        shown = text or cell
        sheet.line(line, name, model.values[name], style, formula=shown, unit=unit, name=cell if text else "")
        sheet.text(line, 6, meant, "unit")
    cells = f"B{row + 3}:B{row + 2 + len(model.base_columns)}"
    return f"COUNT({cells})={len(model.base_columns)}"


def fact_formula(name: str) -> str:
    """Return the cell formula that looks a base column up; empty for what the user enters."""
    if name in TABLES["base_columns"]:
        return filled(TABLES["base_columns"][name])
    if name in OF_PRECISION:
        return option("precision", name)
    if name in OF_LINK or name in OF_NETWORK:
        kind, unused = ("link", "tl_n_gpus=tl_n_nodes") if name in OF_LINK else ("network", "tl_n_nodes=1")
        return link_formula(name, partial(_look_up, kind), unused)
    kind = kind_of(name)
    if kind == "choice":
        return f"IF(tl_n_gpus=1,0,{option('algorithm', name)})"
    return _look_up(kind, option("precision", "peak_column") if name == PEAK else f'"{name}"')


def link_formula(name: str, look_up: Callable[[str], str], unused: str) -> str:
    """Return the cell formula of a base column of a link, 0 where `unused` holds: nothing crosses it."""
    rate = look_up('"effective_byte_per_s"')
    known = {"latency_s": look_up('"latency_s"'), "byte_per_s": rate, "s_per_byte": f"1/{rate}"}
    return f"IF({unused},0,{known[name.split('_', 1)[1]]})"


def _look_up(kind: str, column: str) -> str:
    """Return the cell formula of the chosen row of a table; column : cell formula of a column's name."""
    found = fact(kind, column, "" if kind in ("gpu", "cnn") else f"tl_{kind}_used")
    unknown = "1" if column == f'"{PEER}"' else f'"{NOT_KNOWN}"'
    return f'IF({found}="",{unknown},{found})'
