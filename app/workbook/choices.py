"""The yellow cells of sheet Prediction, and what is said where an entry cannot be used."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from trainlaw.app.models.lookup_tables import cnn_label
from trainlaw.app.sheets.book_plan import SheetWriter
from trainlaw.app.workbook.lookup_sheets import HEADING, LACKS, has_all, offered
from trainlaw.app.workbook.model import (
    FIRST,
    PREFIX,
    TABLES,
    Model,
    cell_name,
    fact,
    filled,
    is_listed,
    of_instance,
)
from trainlaw.app.workbook.spellings import said_count
from trainlaw.datasets.files.limits import limits
from trainlaw.datasets.hardware.possible import MOST_GPUS_PER_NODE
from trainlaw.formulas.scopes import FORWARD


class _Number(NamedTuple):
    """Numbers that a yellow cell takes: "integer" or "decimal" with limits, and the words for other entries.

    valid : cell formula that is true for a number that can be used, over the cell {c}.
    """

    limits: tuple[str, float, float]
    valid: str
    fault: str


def _of_limit(name: str, per_unit: float = 1.0) -> _Number:
    """Return the numbers of a row of the table of limits; per_unit : units of the cell in that of the row."""
    limit = limits()[name]
    least, most = per_unit * limit.least, per_unit * limit.most
    kind, whole = ("integer", "{c}=INT({c}),") if limit.is_whole else ("decimal", "")
    fault = f"enter {limit.expected}" if per_unit == 1 else f"enter a number from {least:g} to {most:,.0f}"
    return _Number((kind, least, most), f"AND({whole}{{c}}>={least!r},{{c}}<={most!r})", fault)


_NUMBERS = {
    **{name: _of_limit(name) for name in ("batch", "n_gpus", "n_nodes", "images", "epochs")},
    # In µs.
    "host_launch": _of_limit("host_launch_s", 1e6),
    "flag": _Number(("integer", 0, 1), "OR({c}=0,{c}=1)", "enter 1 or 0"),
}


class Choice(NamedTuple):
    """One yellow cell.

    listed : names the list of its drop-down, empty for a number. kind : of a number, of `_NUMBERS`. valid :
    cell formula that is true where the entry can be used. fault : what is said where it cannot. offer : cell
    formula of what is said instead, unless an error. computed : cell formula that a number is at first.
    """

    name: str
    title: str
    value: str | float
    note: str
    valid: str
    fault: str
    unit: str = ""
    listed: str = ""
    kind: str = ""
    offer: str = ""
    computed: str = ""


def write_choices(sheet: SheetWriter, choices: Sequence[Choice], row: int) -> int:
    """Write yellow cells from a row on; return the next free row."""
    for choice in choices:
        sheet.text(row, 0, choice.title)
        _write_entry(sheet, row, choice)
        sheet.text(row, 2, choice.unit, "unit")
        fault = f'IFERROR({choice.offer},"{choice.fault}")' if choice.offer else f'"{choice.fault}"'
        sheet.formula(
            row, 3, f'IF(IFERROR({choice.valid},FALSE),"{choice.note}",{fault})', choice.note, "note"
        )
        sheet.plan.expected[row, 3] = choice.note
        sheet.define(cell_name(choice.name), row, 1)
        row += 1
    return row


def _write_entry(sheet: SheetWriter, row: int, choice: Choice) -> None:
    if isinstance(choice.value, str):
        sheet.text(row, 1, choice.value, "input")
        sheet.plan.drop_downs[row, 1] = PREFIX + choice.listed, choice.name in ("gpu_choice", "cnn_choice")
        return
    style = "input_count" if choice.name == "images" else "input"
    if choice.computed:
        sheet.formula(row, 1, choice.computed, choice.value, style)
    else:
        sheet.number(row, 1, choice.value, style)
    sheet.plan.limits[row, 1] = _NUMBERS[choice.kind].limits


def choices_of(model: Model, part: str) -> list[Choice]:
    """Return the yellow cells that the formula needs, in their order; part : "usual" or "rare"."""
    scope = FORWARD if model.is_forward else "training"
    firsts = {
        **FIRST._asdict(),
        "cnn_choice": cnn_label(*FIRST.cnn),
        "gpu_choice": FIRST.gpu,
        "batch_per_gpu": float(FIRST.batch),
        "precision_choice": model.default_precision,
    }
    rows = {name: row | row.get(scope, {}) for name, row in TABLES["choices"][part].items()}
    return [
        _choice(name, row, row.get("first", firsts.get(name)))
        for name, row in rows.items()
        if row.get("only", scope) == scope and model.needs("choices", name)
    ]


def _choice(name: str, row: Mapping[str, str], first: str | float) -> Choice:
    """Return a row of the table as a choice, of a number or among names."""
    cell, kind, number = cell_name(name), name.partition("_")[0], _NUMBERS.get(row.get("number", ""))
    is_named = name in ("cnn_choice", "gpu_choice")
    listed = f"{kind}s_listed" if is_named else row.get("listed", f"options_{name}")
    if number is not None:
        valid, fault = f"IF(ISNUMBER({cell}),{number.valid.format(c=cell)},FALSE)", number.fault
    else:
        valid, fault = is_listed(cell, listed), "choose from the list"
    asked = has_all([row.get("asked", "")], fact("gpu", f'"{LACKS}"'))
    places = {"cell": cell, "valid": valid, "fault": fault, "has": asked, "heading": HEADING[0]}
    places |= {"most": str(MOST_GPUS_PER_NODE)}
    return Choice(
        name,
        row["title"],
        filled(first) if isinstance(first, str) else first,
        row.get("note", ""),
        filled(row.get("valid", "{valid}"), places),
        filled(row.get("fault", "{fault}"), places),
        row.get("unit", ""),
        "" if number else listed,
        row.get("number", ""),
        offered(kind) if is_named else "",
        f"{said_count('tl_gpu_choice')}*{of_instance('gpus', '1')}" if name == "n_gpus" else "",
    )
