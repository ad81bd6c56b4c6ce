"""A layer formula in the workbook: the layers of all CNNs as a table, and those of the chosen one, live."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial, reduce

import numpy as np
from trainlaw.app.models.lookup_tables import cnn_rows
from trainlaw.app.models.multi_gpu import EXCHANGE
from trainlaw.app.models.scopes import feature_expression, formula_rows
from trainlaw.app.models.terms import Part, plain_expression, terms_of, with_named_constants
from trainlaw.app.sheets.plan import BookPlan, SheetWriter
from trainlaw.app.workbook.formula import (
    UNKNOWN,
    compare_sum,
    meaning,
    provenance_sheet,
    symbol_heads,
    unit_text,
)
from trainlaw.app.workbook.model import (
    FIRST,
    TABLES,
    Model,
    cell_name,
    first_choice,
    new_sheet,
    values_of,
    with_groups_as_features,
)
from trainlaw.app.workbook.rows import CellTable, Values
from trainlaw.datasets import CNN_LAYER_FEATURES
from trainlaw.datasets.cnns.names import cnn_key
from trainlaw.datasets.features.cnn_layer_features import CNN_LAYER_COLUMNS, TRAINING_PASSES
from trainlaw.datasets.measurements.formula_rows import RUN_FEATURE_NAMES, FormulaRows, zoo_layers
from trainlaw.formulas import (
    Apply,
    Constant,
    Expression,
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
            raise InputError(f"the layers of {FIRST.cnn[0]} are unknown, so no workbook can be written")
        return sums.count

    @cached_property
    def term_seconds(self) -> list[float]:
        """The terms for the first choice, summed over its layers, in seconds."""
        columns = {**self.rows.columns, **{name: np.array(value) for name, value in self.numbers.items()}}
        found = (np.broadcast_to(values_of(term, columns), len(self.counts)) for term in self.terms)
        return [float((values * self.counts).sum()) for values in found]

    @property
    def term_cells(self) -> tuple[str, ...]:
        """The cell formula of each term: its sum over the layers of the chosen CNN."""
        cells = [_fact_name(_term(number)) for number in range(1, 1 + len(self.terms))]
        count = "tl_layer_count"
        # A layer whose time is not known shows no number, which SUM would silently skip.
        return tuple(f'IF(AND({count}>0,COUNT({cell})={count}),SUM({cell}),"{UNKNOWN}")' for cell in cells)

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


def _term(number: int) -> str:
    return f"term {number}"


def write_layer_facts(book: BookPlan, model: LayerModel) -> None:
    """Write the sheet with the distinct layers of every CNN whose layers are known, one row each."""
    sheet = new_sheet(book, FACTS, widths=[44, 18, 10, *[16] * len(model.facts)])
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
    for column, name in enumerate(["cnn", "kind", "count", *model.facts]):
        sheet.define_range(_fact_name(name), column, _TOP, row + _SPARE - 1)


def _fact_name(name: str) -> str:
    return cell_name(f"layers_{name}")


def write_layers(book: BookPlan, model: LayerModel) -> None:
    """Write the sheet with the layers of the chosen CNN: features and terms of each, live."""

    def shared(name: str) -> tuple[str, np.ndarray]:
        return model.cells[name], np.array(model.values[name])

    table = CellTable(LIVE, len(model.counts), SLOTS, shared, words=TABLES["layers"], top=_TOP)
    start = _add_facts(table, model)
    for name in (name for name in model.layer_features if name not in model.facts):
        title, unit = name.replace("_", " "), unit_text(CNN_LAYER_FEATURES[name].spec.unit)
        table.add_expression(name, model.layer_features[name], (title, unit, "seconds"), also="row")
    terms = [_term(number) for number in range(1, 1 + len(model.terms))]
    for name, term in zip(terms, model.terms, strict=True):
        whole = Apply("mul", (Variable("count"), term))
        table.add_expression(name, whole, (name, "s", "seconds"))
    parts: list[Expression] = [Variable(name) for name in terms]
    total = reduce(lambda left, right: Apply("add", (left, right)), parts)
    table.add_expression("total", total)
    share = 'IF(COUNT({@total},tl_single_s)=2,{@total}/tl_single_s,"")'
    table.add("share", share, table.numbers("total") / model.seconds)
    note = "Identical layers share one row with their count; times are for all of them."
    sheet = table.write(book, "The layers of the chosen CNN", note)
    for name in terms:
        book.names[_fact_name(name)] = table.span(name)
    labels = _fact_name("cnn")
    sheet.text(2, 0, "first row on sheet Layer facts, and number of rows", "note")
    found = f'IFERROR(MATCH(tl_cnn_used,{labels},0),"{UNKNOWN}")'
    count = f"SUMPRODUCT(1*({labels}=tl_cnn_used))"
    for column, name, text, value in ((4, "first", found, start), (5, "count", count, len(model.counts))):
        sheet.formula(2, column, text, float(value))
        sheet.define(f"tl_layer_{name}", 2, column)
    _ranges(sheet, table, model)
    sheet.plan.bars[list(table.columns).index("share")] = (_TOP, _TOP + SLOTS - 1)
    sheet.plan.frozen = (_TOP, 3)


def _add_facts(table: CellTable, model: LayerModel) -> int:
    """Add the row on the sheet of facts, and what it says of each layer; return the row of the first one."""
    keys = [_key(cnn) for cnn in cnn_rows().values()]
    start = 1 + sum(len(zoo_layers(key).count) for key in keys[: keys.index(FIRST.cnn)])
    place, begin = f"ROWS($A${_TOP + 1}:$A{{row}})", "tl_layer_first"
    text = f'IF(AND(ISNUMBER({begin}),{place}<=tl_layer_count),{begin}+{place}-1,"")'
    table.add("row", text, start + np.arange(table.known))
    kinds = list(zoo_layers(FIRST.cnn).kinds)
    values: dict[str, Values] = {"kind": kinds, "count": model.counts, **model.rows.columns}
    for name in ("kind", "count", *model.facts):
        title = "layer" if name == "kind" else name.replace("_", " ")
        unit = unit_text(CNN_LAYER_COLUMNS[name].spec.unit) if name in model.facts else ""
        text = f'IF({{@row}}="","",IFERROR(INDEX({_fact_name(name)},{{@row}}),"{UNKNOWN}"))'
        style = "unit" if name == "kind" else "general"
        table.add(name, text, values[name], (title, unit, style))
    return start


def _ranges(sheet: SheetWriter, table: CellTable, model: LayerModel) -> None:
    """Write above each feature its training range, and whether any layer lies outside it; name these."""
    for line, title in enumerate(_RANGES, start=3):
        sheet.text(line, 0, title, "note")
    outside = model.formula.out_of_range(model.rows.columns)
    for column, name in enumerate(table.columns):
        if name not in model.layer_features or name not in model.formula.ranges:
            continue
        letter, cells = xl_col_to_name(column), table.span(name, of_sheet=False)
        for line, end in enumerate(model.formula.ranges[name], start=3):
            sheet.number(line, column, end, "seconds")
        # A feature of 0 does not count as outside: a pooling layer has no matrix product.
        wrong = f"({cells}<{letter}$4)+({cells}>{letter}$5)"
        text = f"IF(SUMPRODUCT(ISNUMBER({cells})*({cells}<>0)*({wrong}))>0,1,0)"
        values = model.rows.columns[name]
        sheet.formula(5, column, text, float(np.any(outside[name] & (values != 0))), "general")
    last = xl_col_to_name(len(table.columns) - 1)
    sheet.book.names["tl_layers_outside"] = f"{LIVE}!$D$6:${last}$6"


def _key(cnn: Mapping[str, object]) -> tuple[str, int, int]:
    return cnn_key(str(cnn["cnn"])), int(str(cnn["input_size_px"])), int(str(cnn["n_classes"]))


def write_layer_symbols(sheet: SheetWriter, model: LayerModel) -> None:
    """Write the symbols of a layer below the other contents of sheet Formula, and name their warnings."""
    names = sheet.book.names
    names["tl_outside"] = names.pop("tl_layers_outside")
    row = max(place for place, _ in sheet.plan.cells) + 2
    sheet.text(row, 0, f"Symbols of one layer (values: sheet {LIVE})", "section")
    titles = ("symbol", "", "unit", "training minimum", "training maximum", "", "meaning")
    symbol_heads(sheet, row + 1, titles)
    for line, name in enumerate(model.layer_features, start=row + 2):
        spec = CNN_LAYER_FEATURES[name].spec
        sheet.text(line, 0, f"{spec.name} ({spec.symbol})")
        sheet.text(line, 2, unit_text(spec.unit), "unit")
        for column, end in enumerate(model.formula.ranges.get(spec.name, ()), start=3):
            sheet.number(line, column, end, "seconds")
        sheet.text(line, 6, meaning(spec, model.layer_features[spec.name]), "unit")


def write_layer_provenance(book: BookPlan, model: LayerModel) -> None:
    """Write the sheet Provenance, and check that the application computes as trainlaw does.

    Numbers are plain and constants the original ones: a difference is due to the application.
    """
    sheet, row = provenance_sheet(book, model.formula)
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
