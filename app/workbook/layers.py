"""A layer formula in the workbook: the layers of all CNNs as a table, and those of the chosen one, live."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from trainlaw.app.models.lookup_tables import cnn_rows
from trainlaw.app.models.multi_gpu import EXCHANGE
from trainlaw.app.models.scopes import feature_expression, formula_rows
from trainlaw.app.models.terms import Part, plain_expression, terms_of, with_named_constants
from trainlaw.app.sheets.plan import Bars, BookPlan, SheetWriter
from trainlaw.app.workbook.formula import (
    UNKNOWN,
    compare_sum,
    meaning,
    provenance_sheet,
    symbol_heads,
    unit_text,
)
from trainlaw.app.workbook.model import (
    FIRST_CNN,
    PREFIX,
    Model,
    cell_form,
    cell_name,
    cell_names,
    first_choice,
    values_of,
    with_groups_as_features,
)
from trainlaw.datasets import CNN_LAYER_FEATURES
from trainlaw.datasets.cnns.names import cnn_key
from trainlaw.datasets.features.cnn_layer_features import CNN_LAYER_COLUMNS, TRAINING_PASSES
from trainlaw.datasets.measurements.formula_rows import RUN_FEATURE_NAMES, FormulaRows, zoo_layers
from trainlaw.formulas import (
    Constant,
    Expression,
    FeatureSpec,
    Formula,
    InputError,
    TrainlawError,
    Variable,
    substitute,
    variables,
)
from trainlaw.formulas.printers import split_for_excel
from trainlaw.formulas.scopes import LAYER
from xlsxwriter.utility import xl_col_to_name, xl_rowcol_to_cell

FACTS, LIVE = "Layer facts", "Layers"
# More than the 422 distinct layers of the largest CNN of the zoo, which a test checks.
SLOTS = 480  # distinct layers of a CNN that the sheet has room for
_RANGES = ("training minimum", "training maximum", "1: a layer is outside")
_SPARE = 2000  # rows for layers of CNNs that the user adds
_TOP = 8  # first row of layers on both sheets, counted from 0
_OF_RUNS = {name: Variable(run) for name, run in RUN_FEATURE_NAMES.items()} | {
    "n_passes": Constant(TRAINING_PASSES)
}


@dataclass(frozen=True)
class LayerModel(Model):
    """A layer formula as the workbook computes it; it has no features of whole runs.

    layer_features : each over base columns of layers and runs.
    """

    layer_features: Mapping[str, Expression]

    @cached_property
    def base_columns(self) -> tuple[str, ...]:
        """The base columns of runs behind features of layers, all-reduce and memory, sorted."""
        names = {name for form in self.layer_features.values() for name in variables(form)}
        return tuple(sorted({*super().base_columns, *names - set(CNN_LAYER_COLUMNS)}))

    @cached_property
    def facts(self) -> tuple[str, ...]:
        """The base columns of a layer behind its features."""
        names = {name for form in self.layer_features.values() for name in variables(form)}
        return tuple(name for name in CNN_LAYER_COLUMNS if name in names)

    @cached_property
    def rows(self) -> FormulaRows:
        """The layers of the first choice, with base columns and features."""
        names = list(dict.fromkeys((*self.facts, *self.layer_features)))
        return formula_rows(self.formula, first_choice(), names)

    @cached_property
    def counts(self) -> np.ndarray:
        """How many identical layers each row of the first choice stands for, float64, (n_rows,)."""
        sums = self.rows.sums
        if sums is None:
            raise InputError(f"the layers of {FIRST_CNN[0]} are unknown, so no workbook can be written")
        return sums.count

    @cached_property
    def term_values(self) -> np.ndarray:
        """The time of each term in all identical layers of each row, in seconds, (n_terms, n_rows)."""
        columns = {**self.rows.columns, **{name: np.array(value) for name, value in self.numbers.items()}}
        found = [np.broadcast_to(values_of(term, columns), len(self.counts)) for term in self.terms]
        return np.asarray(np.array(found) * self.counts)

    @cached_property
    def term_seconds(self) -> list[float]:
        """The terms for the first choice, in seconds."""
        return [float(value) for value in self.term_values.sum(axis=1)]

    @property
    def term_cells(self) -> tuple[str, ...]:
        """The cell formula of each term: its sum over the layers of the chosen CNN."""
        letters = [xl_col_to_name(column) for column in _term_columns(self)]
        cells = [f"{LIVE}!${letter}${_TOP + 1}:${letter}${_TOP + SLOTS}" for letter in letters]
        count = f"{PREFIX}layer_count"
        # A layer whose time is not known shows a text, which SUM would silently skip.
        return tuple(f'IF(AND({count}>0,COUNT({cell})={count}),SUM({cell}),"{UNKNOWN}")' for cell in cells)

    @property
    def outside_cells(self) -> str:
        """The cells that say for each feature whether a layer lies outside its training range."""
        return f"{LIVE}!$D$6:${xl_col_to_name(2 + len(_columns(self)))}$6"

    @property
    def outside_first(self) -> int:
        """How many features of the first choice lie outside their training range in any layer."""
        found = self.formula.out_of_range(self.rows.columns)
        return sum(bool(np.any(outside & (self.rows.columns[name] != 0))) for name, outside in found.items())


def layer_model(formula: Formula) -> LayerModel:
    """Return what the workbook of a layer formula computes."""
    ungrouped = with_groups_as_features(formula)
    expression, constants = with_named_constants(ungrouped)
    features = {
        spec.name: substitute(feature_expression(spec.name, LAYER), _OF_RUNS)
        for spec in formula.used_features
    }
    # A maximum is taken in each layer, so a term has no single larger side.
    parts = tuple(map(Part, terms_of(ungrouped, expression)))
    return LayerModel(formula, expression, constants, parts, {}, feature_expression(EXCHANGE), features)


def _columns(model: LayerModel) -> list[str]:
    """Return the names of the columns that are base columns or features, each once."""
    return [*model.facts, *(name for name in model.layer_features if name not in model.facts)]


def _steps(model: LayerModel) -> list[list[Expression]]:
    """Return the steps of each term that is too long for one cell."""
    return [list(cell_form(term).meanings) for term in model.terms]


def _term_columns(model: LayerModel) -> list[int]:
    """Return the column of each term: after row, kind, count, base columns, features and its steps."""
    column, found = 3 + len(_columns(model)), []
    for steps in _steps(model):
        column += len(steps)
        found.append(column)
        column += 1
    return found


def write_layer_facts(book: BookPlan, model: LayerModel) -> None:
    """Write the sheet with the distinct layers of every CNN whose layers are known, one row each."""
    sheet = SheetWriter(book, FACTS, [44, 18, 10, *[16] * len(model.facts)])
    sheet.title(
        "The layers of the CNNs",
        "Identical layers share one row with their count; the row 'iteration' is what occurs once per "
        "iteration. To add a CNN, append its layers below the last row under its name on sheet CNNs.",
    )
    sheet.heads(_TOP - 1, ["CNN", "layer", "count", *model.facts])
    for column, name in enumerate(model.facts, start=3):
        sheet.text(_TOP - 2, column, str(CNN_LAYER_COLUMNS[name].spec.unit), "small")
    places, row = [list(CNN_LAYER_COLUMNS).index(name) for name in model.facts], _TOP
    for label, cnn in cnn_rows().items():
        try:
            layers = zoo_layers(_key(cnn))
        except TrainlawError:
            continue  # a CNN of which only totals are known
        for kind, count, facts in zip(layers.kinds, layers.count, layers.facts, strict=True):
            sheet.text(row, 0, label)
            sheet.text(row, 1, kind, "unit")
            for column, value in enumerate([count, *facts[places]], start=2):
                sheet.number(row, column, float(value))
            row += 1
    sheet.plan.frozen, sheet.plan.head_row, sheet.plan.many_pages = (_TOP, 2), _TOP - 1, True
    for column, name in enumerate(["cnn", "kind", "count", *model.facts]):
        letter = xl_col_to_name(column)
        book.names[_fact_name(name)] = f"'{FACTS}'!${letter}${_TOP + 1}:${letter}${row + _SPARE}"


def _fact_name(name: str) -> str:
    return cell_name(f"layers_{name}")


def write_layers(book: BookPlan, model: LayerModel) -> None:
    """Write the sheet with the layers of the chosen CNN: features and terms of each, live."""
    _Layers(book, model).write()


class _Layers:
    """The sheet of the layers of the chosen CNN, under construction."""

    def __init__(self, book: BookPlan, model: LayerModel) -> None:
        self.model, self.names, self.terms = model, _columns(model), _term_columns(model)
        self.total = self.terms[-1] + 1
        self.sheet = SheetWriter(book, LIVE, [12, 18, 10, *[15] * (self.total - 2), 12])
        self.columns = {name: 3 + place for place, name in enumerate(self.names)}
        self.first = len(model.counts)
        self.forms = {name: cell_form(form) for name, form in model.layer_features.items()}
        self.term_forms = [cell_form(term) for term in model.terms]
        self.start = 1.0  # row of the first layer of the chosen CNN on the sheet of facts, counted from 1
        self.known = {
            **model.rows.columns,
            **{name: np.array(value) for name, value in model.numbers.items()},
        }

    def write(self) -> None:
        """Write titles, one row per layer, and what lies outside the training range."""
        sheet = self.sheet
        sheet.title(
            "The layers of the chosen CNN",
            "Identical layers share one row with their count; times are for all of them.",
        )
        self._place()
        titles = [name.replace("_", " ") for name in self.names]
        sheet.heads(_TOP - 1, ["row", "layer", "count", *titles], "head_right")
        for name in self.names:
            unit = CNN_LAYER_FEATURES[name].spec.unit
            sheet.text(_TOP - 2, self.columns[name], "" if unit.is_dimensionless else str(unit), "small")
        for number, column in enumerate(self.terms, start=1):
            sheet.text(_TOP - 1, column, f"term {number}", "head_right")
            sheet.text(_TOP - 2, column, "s", "small")
        sheet.text(_TOP - 1, self.total, "time, all terms", "head_right")
        sheet.text(_TOP - 2, self.total, "s", "small")
        sheet.text(_TOP - 1, self.total + 1, "share", "head_right")
        for slot in range(SLOTS):
            self._row(slot)
        self._ranges()
        sheet.plan.bars.append(Bars(self.total + 1, _TOP, _TOP + SLOTS - 1))
        sheet.plan.heights[_TOP - 1] = 45
        sheet.plan.frozen, sheet.plan.head_row, sheet.plan.many_pages = (_TOP, 3), _TOP - 1, True

    def _place(self) -> None:
        """Write where the layers of the chosen CNN begin among all layers, and how many rows they take."""
        labels, sheet = _fact_name("cnn"), self.sheet
        keys = [_key(cnn) for cnn in cnn_rows().values()]
        before = sum(len(zoo_layers(key).count) for key in keys[: keys.index(FIRST_CNN)])
        sheet.text(2, 0, "first row on sheet Layer facts, and number of rows", "note")
        found = f'IFERROR(MATCH({PREFIX}cnn_used,{labels},0),"{UNKNOWN}")'
        self.start = float(before + 1)
        sheet.formula(2, 4, found, self.start)
        sheet.define(f"{PREFIX}layer_first", 2, 4)
        sheet.formula(2, 5, f"SUMPRODUCT(1*({labels}={PREFIX}cnn_used))", float(self.first))
        sheet.define(f"{PREFIX}layer_count", 2, 5)

    def _row(self, slot: int) -> None:
        row, sheet, rows = _TOP + slot, self.sheet, self.model.rows
        known, live = slot < self.first, f'$A{_TOP + slot + 1}=""'

        def write(column: int, text: str, value: float | str, style: str = "seconds") -> None:
            shown = f'IF({live},"",IFERROR({text},"{UNKNOWN}"))'
            sheet.formula(row, column, shown, value if known else "", style)

        start = self.start if known else 0.0
        place, begin = f"ROWS($A${_TOP + 1}:$A{row + 1})", f"{PREFIX}layer_first"
        number = f'IF(AND(ISNUMBER({begin}),{place}<={PREFIX}layer_count),{begin}+{place}-1,"")'
        sheet.formula(row, 0, number, start + slot if known else "", "general")
        kinds = zoo_layers(FIRST_CNN).kinds
        write(1, f"INDEX({_fact_name('kind')},$A{row + 1})", kinds[slot] if known else "", "unit")
        count = float(self.model.counts[slot]) if known else ""
        write(2, f"INDEX({_fact_name('count')},$A{row + 1})", count, "general")
        places = self._places(row)
        for name in self.names:
            is_fact = name in self.model.facts
            text = f"INDEX({_fact_name(name)},$A{row + 1})" if is_fact else self._feature(name, places)
            value = float(rows.columns[name][slot]) if known else ""
            write(self.columns[name], text, value, "general" if is_fact else "seconds")
        for term in range(len(self.terms)):
            self._term(row, term, places, write)
        values = self.model.term_values[:, slot] if known else np.zeros(1)
        ends = [f"{xl_col_to_name(column)}{row + 1}" for column in self.terms]
        write(self.total, "+".join(ends), float(values.sum()))
        share = f'IF(ISNUMBER({PREFIX}single_s),{xl_col_to_name(self.total)}{row + 1}/{PREFIX}single_s,"")'
        write(self.total + 1, share, float(values.sum() / self.model.seconds), "share")

    def _places(self, row: int) -> dict[str, str]:
        shared = cell_names({*self.model.base_columns, *self.model.numbers})
        return shared | {name: f"${xl_col_to_name(self.columns[name])}{row + 1}" for name in self.names}

    def _feature(self, name: str, places: Mapping[str, str]) -> str:
        return self.forms[name].filled(-1, places, str)

    def _term(self, row: int, number: int, places: Mapping[str, str], write: Callable[..., None]) -> None:
        """Write a term of a layer, after its steps where it is too long for one cell."""
        form, column, slot = self.term_forms[number], self.terms[number], row - _TOP
        first = column - len(form.meanings)

        def step(place: int) -> str:
            return f"${xl_col_to_name(first + place)}{row + 1}"

        for place, part in enumerate(form.meanings):
            values = np.broadcast_to(values_of(part, self.known), self.first)
            value = float(values[slot]) if slot < self.first else ""
            write(first + place, form.filled(place, places, step), value)
        value = float(self.model.term_values[number][slot]) if slot < self.first else ""
        write(column, f"$C{row + 1}*({form.filled(-1, places, step)})", value)

    def _ranges(self) -> None:
        """Write above each feature its training range, and whether any layer lies outside it."""
        sheet, ranges = self.sheet, self.model.formula.ranges
        for line, title in enumerate(_RANGES, start=3):
            sheet.text(line, 0, title, "note")
        outside = self.model.formula.out_of_range(self.model.rows.columns)
        for name in self.model.layer_features:
            column = self.columns[name]
            if name not in ranges:
                continue
            letter = xl_col_to_name(column)
            sheet.number(3, column, ranges[name][0], "seconds")
            sheet.number(4, column, ranges[name][1], "seconds")
            cells = f"{letter}${_TOP + 1}:{letter}${_TOP + SLOTS}"
            # A feature of 0 does not count as outside: a pooling layer has no matrix product.
            wrong = f"({cells}<{letter}$4)+({cells}>{letter}$5)"
            text = f"IF(SUMPRODUCT(ISNUMBER({cells})*({cells}<>0)*({wrong}))>0,1,0)"
            values = self.model.rows.columns[name]
            sheet.formula(5, column, text, float(np.any(outside[name] & (values != 0))), "general")


def _key(cnn: Mapping[str, object]) -> tuple[str, int, int]:
    return cnn_key(str(cnn["cnn"])), int(str(cnn["input_size_px"])), int(str(cnn["n_classes"]))


def write_layer_symbols(sheet: SheetWriter, model: LayerModel) -> None:
    """Write the symbols of a layer below the other contents of sheet Formula, and name their warnings."""
    sheet.book.names[f"{PREFIX}outside"] = model.outside_cells
    row = max(place for place, _ in sheet.plan.cells) + 2
    sheet.text(row, 0, f"Symbols of one layer (values: sheet {LIVE})", "section")
    titles = ("symbol", "", "unit", "training minimum", "training maximum", "", "meaning")
    symbol_heads(sheet, row + 1, titles)
    for line, name in enumerate(model.layer_features, start=row + 2):
        _symbol(sheet, line, CNN_LAYER_FEATURES[name].spec, model)


def _symbol(sheet: SheetWriter, row: int, spec: FeatureSpec, model: LayerModel) -> None:
    sheet.text(row, 0, f"{spec.name} ({spec.symbol})")
    sheet.text(row, 2, unit_text(spec.unit), "unit")
    for column, end in enumerate(model.formula.ranges.get(spec.name, ()), start=3):
        sheet.number(row, column, end, "seconds")
    sheet.text(row, 6, meaning(spec, model.layer_features[spec.name]), "unit")


def write_layer_provenance(book: BookPlan, model: LayerModel) -> None:
    """Write the sheet Provenance, and check that the application computes as trainlaw does."""
    sheet, row = provenance_sheet(book, model.formula)
    _self_check(sheet, model, row)


def _self_check(sheet: SheetWriter, model: LayerModel, row: int) -> None:
    """Write plain numbers and the original constants: a difference is due to the application."""
    sheet.text(row, 0, "Self-check: the layers of one CNN", "section")
    names = list(model.layer_features)
    sheet.heads(row + 1, ["count", "time of all identical layers [s]", *names])
    expression, rows, counts = plain_expression(model.formula), model.rows, model.counts
    seconds = np.broadcast_to(values_of(expression, rows.columns), len(counts)) * counts
    far = 3 + len(names)  # first column of steps on the way
    for slot, count in enumerate(counts.tolist()):
        line = row + 2 + slot
        sheet.number(line, 0, count)
        places = {}
        for column, name in enumerate(names, start=2):
            sheet.number(line, column, float(rows.columns[name][slot]))
            places[name] = xl_rowcol_to_cell(line, column)
        cells = split_for_excel(expression, places, partial(_step_cell, line, far))
        for step, (_, text) in enumerate(cells.helpers):
            part = values_of(cells.expressions[step], rows.columns)
            value = np.broadcast_to(part, len(counts))[slot]
            sheet.formula(line, far + step, text, float(value))
        sheet.formula(line, 1, f"{xl_rowcol_to_cell(line, 0)}*({cells.formula})", float(seconds[slot]))
    compare_sum(sheet, row + 2, row + 1 + len(seconds), float(seconds.sum()))


def _step_cell(row: int, first: int, step: int) -> str:
    return str(xl_rowcol_to_cell(row, first + step))
