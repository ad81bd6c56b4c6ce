"""The sheet My runs: measured runs that the user pastes, and the factor and interval that follow.

The factor is the geometric mean of measured over predicted times, moved towards 1 as `trainlaw calibrate`
does; that command fits a factor for each kind of work instead, and needs more runs for it.
"""

import numpy as np
from trainlaw.app.sheets.book_plan import BookPlan, SheetWriter
from trainlaw.app.workbook.cell_tables import CellTable
from trainlaw.app.workbook.lookup_sheets import row_named
from trainlaw.app.workbook.model import (
    LAUNCH,
    OF_LINK,
    OF_PRECISION,
    PEAK,
    PEER,
    PREFIX,
    TABLES,
    Model,
    filled,
    kind_of,
    option,
)
from trainlaw.validate.time_factors import interval_share

NAME = "My runs"
ROOM = 20  # runs that fit onto the sheet
_SUMMARY, _TOP = 2, 8  # first row of the summary and of the runs, counted from 0
_ENTERED = ("gpu", "cnn", "batch_per_gpu", "measured_ms", "precision")
_SHOWN = ("predicted_ms", "ratio", "log", "deviation")


def write_own_runs(book: BookPlan, model: Model) -> None:
    """Write the sheet; the names tl_own_factor, tl_own_count and tl_own_spread are for sheet Prediction."""

    def of_prediction(name: str) -> tuple[str, np.ndarray]:
        return model.cells.get(name, PREFIX + name), np.array(np.nan)

    table = CellTable(NAME, 0, ROOM, of_prediction, words=TABLES["own_runs"], top=_TOP)
    # Cells refer to columns by key, so that those with the result can stand first.
    for key in (*_ENTERED, *_SHOWN):
        table.add(key, [])
    _add_facts(table, model)
    for name, form in model.features.items():
        if name not in table.columns:
            table.add_expression(name, form, (name.replace("_", " "), "", "general"), where="known")
    table.add_expression("single_s", model.expression, where="known")
    sheet = table.write(book)
    sheet.plan.widths = [*TABLES["sheets"][NAME]["widths"]]
    sheet.plan.hidden_columns = (len(_ENTERED) + len(_SHOWN), len(table.columns) - 1)
    _write_summary(sheet, *(table.span(key, of_sheet=False) for key in ("log", "deviation")))


def _add_facts(table: CellTable, model: Model) -> None:
    """Add the rows of GPU and CNN, the precision, and the base columns that differ by run."""
    for kind in ("gpu", "cnn"):
        table.add(f"{kind}_row", [], row=row_named(kind, f"{{@{kind}}}"))
    table.add("known", [])
    default = _looked_up("gpu", '"default_precision"')
    usual = f'"{model.first_precision}"' if model.is_forward else default
    table.add("used_precision", [], usual=usual)
    for name in model.feature_base_columns:
        if text := _fact(model, name):
            guarded = f'IF({{@known}}=1,IFERROR({text},""),"")'
            table.add(name, [], (name.replace("_", " "), "", "general", guarded))


def _write_summary(sheet: SheetWriter, logs: str, deviations: str) -> None:
    """Write number, factor and spread of the runs on the chosen GPU, and how much of an interval is left."""
    places = {"logs": logs, "deviations": deviations, "share": _share_of_interval()}
    for row, (name, (title, style, value, text)) in enumerate(TABLES["own_summary"].items(), start=_SUMMARY):
        sheet.line(row, title, value, style, formula=filled(text, places), name=f"tl_own_{name}")


def _share_of_interval() -> str:
    """Return the cell formula of the share by the number of runs; a single run proves nothing."""
    counts = range(2, ROOM + 1)
    numbers = ",".join(map(str, counts))
    shares = ",".join(f"{interval_share(count):.6g}" for count in counts)
    return f"IF(tl_own_count<2,1,LOOKUP(tl_own_count,{{{numbers}}},{{{shares}}}))"


def _looked_up(kind: str, column: str) -> str:
    """Return the template of a fact of the GPU or CNN of a run; column : cell formula of its name."""
    return f"INDEX(tl_{kind}_table,{{@{kind}_row}},MATCH({column},tl_{kind}_columns,0))"


def _fact(model: Model, name: str) -> str:
    """Return the template of a base column that differs by run; empty for one of sheet Prediction."""
    if name == PEAK:
        return _number(_looked_up("gpu", option("precision", "peak_column", "{@used_precision}")))
    if name in OF_PRECISION:
        return option("precision", name, "{@used_precision}")
    kind = kind_of(name)
    if kind == "choice" or name in OF_LINK:
        return ""
    text = _looked_up(kind, f'"{name}"')
    if name == PEER:
        return f'IF({text}="",1,{text})'
    left = f"*{option('compilation', 'launches_left')}" if name == LAUNCH and model.is_forward else ""
    return _number(text, left)


def _number(text: str, scale: str = "") -> str:
    """Return the template of a number that may be unknown, times a scale."""
    return f'IF({text}="","",{text}{scale})'
