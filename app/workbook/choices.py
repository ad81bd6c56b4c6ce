"""The yellow cells of sheet Prediction, and what is said where an entry cannot be used."""

from collections.abc import Sequence
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
#: Yellow cells that only some formulas need, by the base columns that need them.
NEEDED_BY = {
    **{name: {name} for name in ("has_optimizer", "has_input_copy", "is_bucketed")},
    "is_tuned": {"is_tuned", "is_stack_channels_last", "is_stack_fused"},
    "layout_choice": {"is_channels_last", "is_stack_channels_last"},
    "stack_choice": {"is_stack_channels_last", "is_stack_fused"},
    "host_launch_us": {"stated_launch_s"},
}
#: Cell formulas of what a GPU may lack: `LACKS` of `lookup_sheets.py`.
ASKED_LINK = 'IF(tl_n_gpus>tl_n_nodes,tl_link,"none")'
ASKED_TUNED = 'IF(tl_is_tuned=1,"tuned","none")'


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
        sheet.drop_down(row, 1, PREFIX + choice.listed, is_open=choice.name in ("gpu_choice", "cnn_choice"))
        return
    style = "input_count" if choice.name == "images" else "input"
    if choice.computed:
        sheet.formula(row, 1, choice.computed, choice.value, style)
    else:
        sheet.number(row, 1, choice.value, style)
    sheet.plan.limits[row, 1] = _NUMBERS[choice.kind].limits


def usual_choices(model: Model) -> list[Choice]:
    """Return the yellow cells of every prediction, in their order."""
    precision, images = _choice("precision_choice", model.default_precision), _choice("images")
    if model.is_forward:
        precision = precision._replace(note="in others none was measured")
        images = images._replace(title="images", note="of which the inference is computed")
    count = f"{said_count('tl_gpu_choice')}*{of_instance('gpus', '1')}"
    found = [
        _named("cnn", "CNN", cnn_label(*FIRST.cnn)),
        _choice("batch_per_gpu", float(FIRST.batch)),
        _named("gpu", "GPU", FIRST.gpu),
        _possible(precision, "tl_precision"),
        _choice("n_gpus")._replace(computed=count),
        images,
        _choice("epochs"),
        _choice("own_runs"),
    ]
    return [choice for choice in found if not (model.is_forward and choice.name in ("n_gpus", "epochs"))]


def rare_choices(model: Model) -> list[Choice]:
    """Return the yellow cells that few predictions change, and that the formula needs."""
    compiler = [_possible(_choice("compilation"), "tl_compilation")]
    rows = [
        *([] if model.is_forward else _several_gpu_choices()),
        _choice("layout_choice"),
        *(compiler if model.is_forward else []),
        _choice("stack_choice"),
        _choice("has_optimizer"),
        _choice("has_input_copy"),
        _possible(_choice("is_tuned"), ASKED_TUNED, "enter 0, or 1 for a GPU of NVIDIA"),
        _or_empty(_choice("host_launch_us")),
        _choice("order"),
    ]
    return [row for row in rows if {*model.base_columns} & NEEDED_BY.get(row.name, {*model.base_columns})]


def _possible(
    choice: Choice, asked: str, fault: str = "choose one that this GPU has, from the list"
) -> Choice:
    """Return a choice that is also not valid where the GPU lacks what is asked for, a cell formula."""
    has = has_all([asked], fact("gpu", f'"{LACKS}"'))
    return choice._replace(valid=f"AND({choice.valid},{has})", fault=fault)


def _choice(name: str, value: str | float | None = None) -> Choice:
    """Return a choice of the table; value : the first one, by default that of the table."""
    title, note, unit, values, *firsts = TABLES["choices"][name]
    first = value if value is not None else firsts[0] if firsts else getattr(FIRST, name)
    cell, number = cell_name(name), _NUMBERS.get(values)
    if number is not None:
        valid = f"IF(ISNUMBER({cell}),{number.valid.format(c=cell)},FALSE)"
        return Choice(name, title, first, note, valid, number.fault, unit, kind=values)
    listed = values or f"options_{name}"
    valid = is_listed(cell, listed)
    return Choice(name, title, filled(str(first)), note, valid, "choose from the list", listed=listed)


def _named(kind: str, title: str, value: str) -> Choice:
    """Return a choice of a GPU or CNN, by any name of its sheet."""
    note = f"any usual name; add rows to sheet {title}s"
    known = f'AND({is_listed(PREFIX + kind, f"{kind}s")},LEFT(tl_{kind},1)<>"{HEADING[0]}")'
    fault = f"unknown: choose from the list, or add a row to sheet {title}s"
    listed, offer = f"{kind}s_listed", offered(kind)
    return Choice(f"{kind}_choice", title, value, note, known, fault, listed=listed, offer=offer)


def _or_empty(choice: Choice) -> Choice:
    """Return the choice of a number with an empty cell as a further valid entry."""
    valid = f'IF({cell_name(choice.name)}="",TRUE,{choice.valid})'
    return choice._replace(valid=valid, fault=f"{choice.fault}, or leave it empty")


def _several_gpu_choices() -> list[Choice]:
    nodes = _or_empty(_choice("nodes"))
    spread = f"AND(MOD(tl_n_gpus,tl_n_nodes)=0,tl_n_gpus/tl_n_nodes<={MOST_GPUS_PER_NODE})"
    shared = f"IF({nodes.valid},IF(ISNUMBER(tl_n_gpus),{spread},FALSE),FALSE)"
    fault = f"enter a number of nodes that share the GPUs evenly, at most {MOST_GPUS_PER_NODE} on each"
    link, *others = map(_choice, ("link", "network", "algorithm", "is_bucketed"))
    return [nodes._replace(valid=shared, fault=fault), _possible(link, ASKED_LINK), *others]
