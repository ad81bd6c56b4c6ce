"""The sheet Compare: some CNNs on some GPUs, one live cell each, for one batch and precision."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import NamedTuple

import numpy as np
from trainlaw.app.models.lookup_tables import cnn_label, precision_rows
from trainlaw.app.sheets.plan import BookPlan, SheetWriter, column_range
from trainlaw.app.workbook.model import (
    FIRST,
    PEAK,
    TABLES,
    CellForm,
    Model,
    cell_form,
    cell_names,
    kind_of,
    new_sheet,
    option,
    values_of,
)
from trainlaw.app.workbook.tables import HEAD, SHOWN, SPARE_ROWS, cnn_table_rows, gpu_table_rows
from trainlaw.datasets.hardware.collectives import FEATURE_OF_ALGORITHM, algorithm_indicator
from trainlaw.formulas import Apply, Constant, Expression, Variable, variables
from trainlaw.formulas.algebra.expression import fold
from xlsxwriter.utility import xl_col_to_name, xl_rowcol_to_cell

# Names in the yellow heads, in place of which the user chooses others.
FIRST_CNNS, FIRST_GPUS = TABLES["first_cnns"], TABLES["first_gpus"]
_BATCH, _PRECISION, _SHOWN = "$B$4", "$B$5", "$B$6"
_HEADER = 9  # row of the names of the GPUs, counted from 0
_FIRST = 2  # line of the first factor, behind head and row
# Compare is about one GPU, whatever sheet Predict says; its other choices are those of sheet Predict.
_ONE_GPU: Mapping[str, str] = {
    **dict.fromkeys(("n_gpus", "n_nodes", "gpus_per_node"), "1"),
    **{algorithm_indicator(feature): "0" for feature in FEATURE_OF_ALGORITHM.values()},
}


# Factors of a product by side: of shared names only, of the row, of the column, and the rest, of both.
SHARED, ROW, COLUMN, _REST = "shared", "row", "column", "rest"
_Part = dict[str, Expression]
_Rows = Mapping[str, Mapping[str, object]]


class Factors(NamedTuple):
    """An expression over rows and columns as factors, so that a cell of the matrix is short.

    rows, columns : one expression per factor. cell : over the variables row_1, ..., column_1, ...
    """

    rows: tuple[Expression, ...]
    columns: tuple[Expression, ...]
    cell: Expression


def factorized(expression: Expression, side_of: Callable[[str], str]) -> Factors:
    """Return the factors of an expression; `side_of` gives ROW, COLUMN or SHARED for each variable.

    >>> from trainlaw.formulas import parse_text, to_text
    >>> sides = {"macs": ROW, "peak": COLUMN, "batch": SHARED}
    >>> found = factorized(parse_text("6 * batch * macs / peak + 3"), sides.get)
    >>> [to_text(part) for part in (*found.rows, *found.columns, found.cell)]
    ['6 * batch * macs', '1 / peak', 'row_1 * column_1 + 3']
    """
    known: dict[str, dict[Expression, str]] = {ROW: {}, COLUMN: {}}

    def named(side: str, factor: Expression) -> Expression:
        if isinstance(factor, Constant):
            return factor
        names = known[side]
        return Variable(names.setdefault(factor, f"{side}_{len(names) + 1}"))

    def as_cell(part: _Part) -> Expression:
        of_row = [part[side] for side in (SHARED, ROW) if side in part]
        factors = [named(ROW, _product(of_row))] if of_row else []
        factors += [named(COLUMN, part[COLUMN])] if COLUMN in part else []
        return _product([*factors, part[_REST]] if _REST in part else factors)

    def applied(node: Apply, parts: tuple[_Part, ...]) -> _Part:
        sides = {side for part in parts for side in part}
        if node.operator in ("mul", "div"):
            return {side: _combined(node.operator, *(part.get(side) for part in parts)) for side in sides}
        own = sides - {SHARED}
        if len(own) <= 1 and _REST not in own:
            whole = (_product([part[side] for side in (SHARED, *own) if side in part]) for part in parts)
            return {next(iter(own), SHARED): Apply(node.operator, tuple(whole))}
        return {_REST: Apply(node.operator, tuple(map(as_cell, parts)))}

    def of_variable(node: Variable) -> _Part:
        return {side_of(node.name): node}

    def of_constant(node: Constant) -> _Part:
        return {SHARED: node}

    cell = as_cell(fold(expression, of_constant, of_variable, applied))
    return Factors(tuple(known[ROW]), tuple(known[COLUMN]), cell)


def _product(factors: Sequence[Expression]) -> Expression:
    return reduce(lambda left, right: Apply("mul", (left, right)), factors)


def _combined(operator: str, left: Expression | None, right: Expression | None) -> Expression:
    """Return a product or quotient of parts of which one may be 1, then None."""
    if right is None or (left is None and operator == "mul"):
        return left or right or Constant(1.0)
    return Apply(operator, (left or Constant(1.0), right))


def write_compare(book: BookPlan, model: Model) -> None:
    """Write the sheet: factors once per row and per column, so that each cell only multiplies a few."""
    side = {"cnn": ROW, "gpu": COLUMN}
    factors = factorized(
        model.written_out(model.expression),
        lambda name: SHARED if name in model.numbers or _is_link(name) else side.get(kind_of(name), SHARED),
    )
    known = gpu_table_rows(model.formula)
    cnns, gpus = _first_cnns(), {name: known[name] for name in FIRST_GPUS}
    rows = _Axis("cnn", "CNNs", cnn_table_rows(), cnns, _lines(factors.rows), "input")
    columns = _Axis("gpu", "GPUs", known, gpus, _lines(factors.columns), "input_head")
    widths = [46, 24, *[12] * len(rows.lines), *[13] * len(gpus)]
    sheet = new_sheet(book, "Compare", widths=widths)
    _choices(sheet)
    matrix = _Matrix(sheet, model, factors.cell, rows, columns)
    matrix.write_titles()
    matrix.write_axis(columns)
    matrix.write_axis(rows)
    matrix.write_cells(_seconds(model, cnns, gpus))


def _first_cnns() -> _Rows:
    """Return the CNNs of the first heads by label, each at its first size in the table, ImageNet's if any."""
    found: dict[str, tuple[str, Mapping[str, object]]] = {}
    for label, row in cnn_table_rows().items():
        name, usual = str(row["cnn"]), label == cnn_label(str(row["cnn"]), *FIRST.cnn[1:])
        if name in FIRST_CNNS and (usual or name not in found):
            found[name] = label, row
    return dict(found[name] for name in FIRST_CNNS if name in found)


def _is_link(name: str) -> bool:
    return name.startswith(("link_", "network_"))


def _choices(sheet: SheetWriter) -> None:
    lines: Sequence[tuple[str, str | float, str]] = (
        ("batch per GPU, images", float(FIRST.batch), ""),
        ("precision", FIRST.precision, "tl_options_precision"),
        ("show", SHOWN[0], "tl_options_shown"),
    )
    for row, (title, value, listed) in enumerate(lines, start=3):
        sheet.text(row, 0, title)
        if isinstance(value, str):
            sheet.text(row, 1, value, "input")
            sheet.drop_down(row, 1, listed)
        else:
            sheet.number(row, 1, value, "input")
    # seconds^power x factor is what is shown
    for row, (name, first, other) in enumerate((("power", "1", "-1"), ("factor", "1000", _BATCH)), start=6):
        sheet.text(row, 0, f"{name} that turns seconds into the quantity shown", "note")
        sheet.formula(row, 1, f'IF({_SHOWN}="{SHOWN[0]}",{first},{other})', float(first), "small")
        sheet.define(f"tl_compare_{name}", row, 1)


def _seconds(model: Model, cnns: _Rows, gpus: _Rows) -> np.ndarray:
    """Return the times of all pairs for the first choice, in seconds, shape (n_cnns, n_gpus)."""
    columns = {name: np.full((1, 1), value) for name, value in model.numbers.items()}
    for name in model.base_columns:
        if name == PEAK:
            peak = str(precision_rows()[model.first_precision]["peak_column"])
            columns[name] = _facts(gpus, peak)[None, :]
        elif kind_of(name) == "gpu" and not _is_link(name):
            columns[name] = _facts(gpus, name)[None, :]
        elif kind_of(name) == "cnn":
            columns[name] = _facts(cnns, name)[:, None]
        else:
            columns[name] = np.full((1, 1), model.values[name])
    times = values_of(model.written_out(model.expression), columns)
    return np.broadcast_to(times, (len(cnns), len(gpus)))


def _facts(table: _Rows, name: str) -> np.ndarray:
    return np.array([row[name] for row in table.values()], dtype=float)


class _Line(NamedTuple):
    """A helper cell per row or column: text `number` of a form (-1: its result).

    first : the line of its first step.
    """

    meaning: Expression
    form: CellForm
    number: int
    first: int

    def written(self, names: Mapping[str, str], place: Callable[[int], str]) -> str:
        """Return the cell formula; place : gives the address of another line's cell."""
        return self.form.filled(self.number, names, lambda step: place(self.first + step))


def _lines(factors: Sequence[Expression]) -> list[_Line]:
    """Return the factors, each after its steps where it is too long for one cell."""
    lines: list[_Line] = []
    for factor in factors:
        form, first = cell_form(factor), _FIRST + len(lines)
        lines += [_Line(meaning, form, number, first) for number, meaning in enumerate(form.meanings)]
        lines.append(_Line(factor, form, -1, first))
    return lines


class _Axis(NamedTuple):
    """One side of the matrix: a line of cells per CNN or per GPU.

    kind : "cnn" or "gpu". table, chosen : rows of its sheet by label, all and those of the first heads.
    lines : cells of factors. style : of a head.
    """

    kind: str
    sheet: str
    table: _Rows
    chosen: _Rows
    lines: list[_Line]
    style: str


class _Matrix:
    """The matrix under construction: factors of GPUs above it, factors of CNNs to its left."""

    def __init__(
        self, sheet: SheetWriter, model: Model, cell: Expression, rows: _Axis, columns: _Axis
    ) -> None:
        self.sheet, self.model, self.cell, self.rows, self.columns = sheet, model, cell, rows, columns
        self.left, self.top = 2 + len(rows.lines), _HEADER + 2 + len(columns.lines)
        self.places = cell_names({*model.base_columns, *model.numbers}) | dict(_ONE_GPU)
        self.places |= {
            name: "0" for name in model.base_columns if _is_link(name) or name.startswith("exchange_")
        }
        self.places |= {"batch_per_gpu": f"Compare!{_BATCH}"}
        for name in ("bytes_per_element", "is_tensor_precision"):
            self.places[name] = option("precision", name, _PRECISION)

    def _at(self, axis: _Axis, number: int, line: int) -> tuple[int, int]:
        """Return the place of a cell of a CNN or GPU; line : 0 its head, 1 its row, from 2 on its factors."""
        return (_HEADER + line, self.left + number) if axis.kind == "gpu" else (self.top + number, line)

    def _address(self, axis: _Axis, number: int, line: int) -> str:
        is_gpu = axis.kind == "gpu"
        address: str = xl_rowcol_to_cell(*self._at(axis, number, line), row_abs=is_gpu, col_abs=not is_gpu)
        return address

    def _facts(self, axis: _Axis, row: str) -> dict[str, str]:
        """Return the cell formula of each fact of a row of the axis's sheet."""
        names, ends = ["label", *next(iter(axis.table.values()))], (HEAD + 1, HEAD + SPARE_ROWS)
        facts = {name: f"INDEX({axis.sheet}!{column_range(n, *ends)},{row})" for n, name in enumerate(names)}
        column = f"MATCH({option('precision', 'peak_column', _PRECISION)},tl_gpu_columns,0)"
        return facts | ({PEAK: f"INDEX(tl_gpu_table,{row},{column})"} if axis.kind == "gpu" else {})

    def write_titles(self) -> None:
        """Write what the lines of both sides are, and fold those of factors."""
        sheet = self.sheet
        sheet.text(_HEADER + 1, self.left - 1, "row of sheet GPUs, if specs known", "small")
        for index in range(len(self.columns.lines)):
            sheet.text(_HEADER + 2 + index, self.left - 1, f"GPU factor {index + 1}", "small")
        sheet.plan.heights[_HEADER] = 45
        sheet.plan.hidden_rows = (_HEADER + 1, self.top - 1)
        sheet.text(_HEADER, 0, "CNN", "head")
        sheet.text(_HEADER, 1, "row of sheet CNNs", "head_right")
        for index in range(len(self.rows.lines)):
            sheet.text(_HEADER, 2 + index, f"CNN factor {index + 1}", "head_right")
        if self.left > 2:
            sheet.plan.hidden_columns = (2, self.left - 1)

    def write_axis(self, axis: _Axis) -> None:
        """Write per CNN or GPU a head, its row on its sheet, 0 where that lacks a fact, and the factors."""
        needed = [
            name
            for name in self.model.feature_base_columns
            if kind_of(name) == axis.kind and not _is_link(name)
        ]
        known = [np.isfinite(_facts(axis.chosen, _table_fact(name))) for name in needed]
        complete = np.all([*known, np.ones(len(axis.chosen), dtype=bool)], axis=0)
        values, listed = _first_values(self.model, axis), list(axis.table)
        for number, name in enumerate(axis.chosen):
            self.sheet.text(*self._at(axis, number, 0), name, axis.style)
            self.sheet.drop_down(*self._at(axis, number, 0), f"tl_{axis.kind}s_listed")
            head, switch = (self._address(axis, number, line) for line in (0, 1))
            found = f"MATCH({head},tl_{axis.kind}s,0)"
            facts = self._facts(axis, found)
            cells = [facts[name] for name in needed]
            counted = f"COUNT({','.join(cells)})={len(cells)}" if cells else "TRUE"
            row = float(listed.index(name) + 1) if complete[number] else 0.0
            text = f"IFERROR(IF({counted},{found},0),0)"
            self.sheet.formula(*self._at(axis, number, 1), text, row, "small")
            places, address = self.places | self._facts(axis, switch), partial(self._address, axis, number)
            for index, line in enumerate(axis.lines, start=_FIRST):
                # "n/a" turns every product with it into an error, which cells of the matrix show as empty.
                text = f'IF({switch}>0,IFERROR({line.written(places, address)},"n/a"),0)'
                value = float(values[index - _FIRST][number]) if row else 0.0
                self.sheet.formula(*self._at(axis, number, index), text, value, "small")

    def write_cells(self, seconds: np.ndarray) -> None:
        """Write one cell per pair."""
        n_cnns, n_gpus = seconds.shape
        rows = [number for number, line in enumerate(self.rows.lines) if line.number == -1]
        columns = [number for number, line in enumerate(self.columns.lines) if line.number == -1]
        places = {f"row_{n}": f"${xl_col_to_name(2 + line)}{{row}}" for n, line in enumerate(rows, start=1)}
        places |= {
            f"column_{n}": f"{{letter}}${_HEADER + 3 + line}" for n, line in enumerate(columns, start=1)
        }
        cell = cell_form(self.cell)
        if cell.meanings:
            note = "This formula is too long for one cell per pair; use sheet Predict."
            self.sheet.text(2, 0, note, "warning")
            return
        text = cell.filled(-1, self.places | places, str)
        shown = f'IFERROR(POWER({text},tl_compare_power)*tl_compare_factor,"")'
        form = f'IF($B{{row}}*{{letter}}${_HEADER + 2}>0,{shown},"")'
        for number in range(n_gpus):
            letter, column = xl_col_to_name(self.left + number), self.left + number
            for line in range(n_cnns):
                row = self.top + line
                known = math.isfinite(seconds[line, number])
                value = 1000.0 * float(seconds[line, number]) if known else ""
                self.sheet.formula(row, column, form.format(row=row + 1, letter=letter), value, "decimal")
        bottom, right = self.top + n_cnns - 1, self.left + n_gpus - 1
        self.sheet.plan.scale = (self.top, self.left, bottom, right)
        self.sheet.plan.frozen = (self.top, self.left)
        self.sheet.plan.head_row, self.sheet.plan.many_pages = _HEADER, True


def _table_fact(name: str) -> str:
    """Return the column of a table that holds a base column for the first choice."""
    return "peak_fp32_flop_per_s" if name == PEAK else name


def _first_values(model: Model, axis: _Axis) -> list[np.ndarray]:
    """Return the factors of a side for the first choice, (n_chosen,) each; 0 where one is not defined."""
    found = []
    for line in axis.lines:
        columns = {}
        for name in variables(line.meaning):
            fact = _table_fact(name)
            of_table = fact in next(iter(axis.table.values())) and name not in model.numbers
            known = _facts(axis.chosen, fact) if of_table else np.full(len(axis.chosen), model.values[name])
            columns[name] = known
        values = np.broadcast_to(values_of(line.meaning, columns), len(axis.chosen))
        found.append(np.where(np.isfinite(values), values, 0.0))
    return found
