"""The yellow cells of sheet Predict, and what is said where an entry cannot be used."""

import math
from typing import NamedTuple

from trainlaw.app.models.lookup_tables import cnn_label
from trainlaw.app.sheets.plan import SheetWriter
from trainlaw.app.workbook.model import FIRST, PREFIX, Model, cell_name, is_listed
from trainlaw.app.workbook.names import offered
from trainlaw.app.workbook.sizes import RULES, is_any_size
from trainlaw.app.workbook.tables import ANY_OTHER, HEADING, IMPLIED, ORDERS, OWN_LINK, USUAL_FABRIC
from trainlaw.datasets.measurements.runs import COMPILATIONS

MOST = 10_000_000  # of a batch, or a number of GPUs or nodes, as `configuration` has it
_STYLES = {"%": "input_share"}


class _Number(NamedTuple):
    """What a yellow cell takes: "integer" or "decimal" with its limits, and what is said of another entry.

    valid : cell formula that is true for a number that can be used, over the cell {c}.
    """

    limits: tuple[str, float, float]
    valid: str
    fault: str


_NUMBERS = {
    "whole": _Number(
        ("integer", 1, MOST),
        f"AND({{c}}=INT({{c}}),{{c}}>=1,{{c}}<={MOST})",
        f"enter a whole number from 1 to {MOST:,}",
    ),
    "count": _Number(("integer", 0, MOST), "", "enter 0, or a number that fits GPUs and nodes"),
    "share": _Number(("decimal", 0, 1), "AND({c}>=0,{c}<=1)", "enter a share from 0 to 100 %"),
    "flag": _Number(("integer", 0, 1), "OR({c}=0,{c}=1)", "enter 1 or 0"),
    "positive": _Number(("decimal", 0, 1e12), "{c}>0", "enter a number above 0"),
}
# Yellow cells that only some formulas need, by the base columns that need them.
_NEEDED_BY = {
    **{name: {name} for name in ("has_optimizer", "has_input_copy", "is_bucketed")},
    "is_tuned": {"is_tuned", "is_stack_channels_last", "is_stack_fused"},
    "layout_choice": {"is_channels_last", "is_stack_channels_last"},
    "stack_choice": {"is_stack_channels_last", "is_stack_fused"},
    "host_launch_us": {"stated_launch_s"},
}


class Choice(NamedTuple):
    """One yellow cell.

    listed : names the list of its drop-down, empty for a number. kind : of a number, of `_NUMBERS`. valid :
    cell formula that is true where the entry can be used. fault : what is said where it cannot. offer : cell
    formula of what is said instead, unless an error.
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


def write_choices(sheet: SheetWriter, model: Model, row: int) -> tuple[int, str]:
    """Write the yellow cells from a row on.

    Returns the next free row, and the cell formula that is true where every entry can be used.
    """
    choices = _choices(model)
    for choice in choices:
        sheet.text(row, 0, choice.title)
        _entry(sheet, row, choice)
        sheet.text(row, 2, choice.unit, "unit")
        fault = f'IFERROR({choice.offer},"{choice.fault}")' if choice.offer else f'"{choice.fault}"'
        sheet.formula(row, 3, f'IF({choice.valid},"{choice.note}",{fault})', choice.note, "note")
        sheet.plan.expected[row, 3] = choice.note
        sheet.define(cell_name(choice.name), row, 1)
        row += 1
    return row, f"AND({','.join(choice.valid for choice in choices)})"


def _entry(sheet: SheetWriter, row: int, choice: Choice) -> None:
    if isinstance(choice.value, str):
        sheet.text(row, 1, choice.value, "input")
        sheet.drop_down(row, 1, PREFIX + choice.listed, is_open=choice.name in ("gpu_choice", "cnn_choice"))
        return
    sheet.number(
        row, 1, choice.value, _STYLES.get(choice.unit, "input_count" if choice.name == "images" else "input")
    )
    sheet.plan.limits[row, 1] = _NUMBERS[choice.kind].limits


def _choices(model: Model) -> list[Choice]:
    """Return the yellow cells that the formula needs, in their order."""
    used = set(model.base_columns)
    several = [] if model.is_forward else _of_several_gpus()
    rows = [
        *_of_cnn(model), *_of_gpu(model), *several, *_of_timing(), *_of_groups(model), *_of_training(model),
    ]  # fmt: skip
    return [row for row in rows if row.name not in _NEEDED_BY or used & _NEEDED_BY[row.name]]


def _listed(name: str, title: str, value: str, note: str, table: str = "") -> Choice:
    """Return a choice among names; table : sheet whose rows they are, empty for a list of sheet Options."""
    cell, names = cell_name(name), f"{name}s" if table else f"options_{name}"
    known = is_listed(cell, names)
    fault = (
        f"unknown: choose from the list, or add a row to sheet {table}" if table else "choose from the list"
    )
    return Choice(name, title, value, note, known, fault, listed=f"{names}_listed" if table else names)


def _named(kind: str, title: str, value: str) -> Choice:
    """Return a choice of a GPU or CNN, by any name of sheet Names."""
    note = f"any usual name; add custom ones as rows of sheet {title}s"
    known = f'AND({is_listed(PREFIX + kind, f"{kind}s")},LEFT(tl_{kind},1)<>"{HEADING[0]}")'
    return Choice(
        f"{kind}_choice", title, value, note, known, f"unknown: see the list and sheet {title}s",
        listed=f"{kind}s_listed", offer=offered(kind) if kind == "gpu" else "",
    )  # fmt: skip


def _number(name: str, title: str, value: float, note: str, unit: str, *, kind: str = "whole") -> Choice:
    """Return a choice of a number; kind : of `_NUMBERS`."""
    cell, known = cell_name(name), _NUMBERS[kind]
    valid = f"IF(ISNUMBER({cell}),{known.valid.format(c=cell)},FALSE)"
    return Choice(name, title, value, note, valid, known.fault, unit, kind=kind)


def _flag(name: str, title: str, value: float, note: str) -> Choice:
    return _number(name, title, value, note, "1 or 0", kind="flag")


def _of_cnn(model: Model) -> list[Choice]:
    exact = "leave empty for that of the CNN above"
    fault = "sheet CNNs has no row of this CNN with this size and these classes"
    title = "height and width of an image"
    listed = is_listed("tl_cnn_used", "cnns")
    sized = "tl_is_sized=1" if is_any_size(model) else "FALSE"
    if is_any_size(model):
        fault = f"the CNN does not fit this size and these classes, or is not on sheet {RULES}"

    def counted(name: str) -> str:
        return f'OR(tl_{name}="",{listed},{sized})'

    return [
        _named("cnn", "CNN", cnn_label(*FIRST.cnn)),
        Choice("pixels", title, math.nan, exact, counted("pixels"), fault, "pixels", kind="whole"),
        Choice("classes", "classes", math.nan, exact, counted("classes"), fault, kind="whole"),
        _number("batch_per_gpu", "batch per GPU", float(FIRST.batch), "per iteration on one GPU", "images"),
    ]


def _of_gpu(model: Model) -> list[Choice]:
    note = "in others none was measured" if model.is_forward else "the default depends on the GPU"
    compiler = _listed("compilation", "compiled by", COMPILATIONS[0], "eager: one kernel per operation")
    return [
        _named("gpu", "GPU", FIRST.gpu),
        _listed("precision_choice", "precision", model.default_precision, note),
        _listed("layout_choice", "layout of activations", IMPLIED, "order of their dimensions in memory"),
        *([compiler] if model.is_forward else []),
        _listed("stack_choice", "stack of 16-bit convolutions", IMPLIED, "which kernels run them"),
    ]


def _of_several_gpus() -> list[Choice]:
    n, nodes, most = (f"tl_{name}" for name in ("n_gpus", "n_nodes", "largest_node"))
    several = _number("n_gpus", "number of GPUs", 1.0, "each with its own batch", "GPUs")
    spread = _number("nodes", "number of nodes", math.nan, "empty: as many as usual servers are", "nodes")
    spread = spread._replace(valid=f'IF(tl_nodes="",TRUE,{spread.valid})')
    divides = f"IF(AND({spread.valid},{several.valid}),OR({most}<>0,MOD({n},{nodes})=0),FALSE)"
    fault = "enter a whole number of which the number of GPUs is a multiple"
    # The others hold at least one GPU each, and none more than the largest.
    held = f"OR({most}=0,AND({most}=INT({most}),{most}*{nodes}>={n},{most}+{nodes}-1<={n}))"
    largest = f"IF(AND(ISNUMBER({most}),{spread.valid},{several.valid}),{held},FALSE)"
    most_of_all = _number(
        "largest_node", "GPUs of the largest node", 0.0, "0: as many on each node", "GPUs", kind="count"
    )
    title, note = "all-reduce hidden behind computation", "0 %: as measured; else by the textbook"
    return [
        several,
        spread._replace(valid=divides, fault=fault),
        most_of_all._replace(valid=largest),
        _listed("link", "link within a node", OWN_LINK, "for two or more GPUs", "Links"),
        _listed("network", "fabric between nodes", USUAL_FABRIC, "for two or more nodes", "Links"),
        _listed("algorithm", "all-reduce algorithm", FIRST.algorithm, "for two or more GPUs"),
        _flag("is_bucketed", "gradients in buckets", 1.0, "0: each tensor alone"),
        _number("hidden", title, 0.0, note, "%", kind="share"),
    ]


def _of_timing() -> list[Choice]:
    note = "by trainlaw profile --host; empty: as usual for the GPU's year"
    launch = _number("host_launch_us", "host launch time per layer", math.nan, note, "us", kind="positive")
    valid = f'IF(tl_host_launch_us="",TRUE,{launch.valid})'
    return [
        _flag("has_optimizer", "include the optimizer step", 1.0, "1: with the weight update"),
        _flag("has_input_copy", "include copying the images", 0.0, "1: with the copy to the GPU"),
        _flag("is_tuned", "vendor-tuned container", 0.0, "1: with the vendor's fused kernels"),
        launch._replace(valid=valid, fault="enter a number above 0, or leave it empty"),
    ]


def _of_groups(model: Model) -> list[Choice]:
    """Return a choice per key of grouped constants; a group that is not listed has the default."""
    found: dict[str, Choice] = {}
    for constant in model.formula.grouped:
        listed = cell_name(f"options_group_{constant.name}").removeprefix(PREFIX)
        name, note = f"label_{constant.key}", "selects constants of sheet Options"
        choice = Choice(name, constant.key, ANY_OTHER, note, "TRUE", "", listed=listed)
        found.setdefault(constant.key, choice)
    return list(found.values())


def _of_training(model: Model) -> list[Choice]:
    if model.is_forward:
        return [_number("images", "images", FIRST.images, "of which the inference is computed", "images")]
    return [
        _number("images", "images per epoch", FIRST.images, "ImageNet-1k has 1,281,167", "images"),
        _number("epochs", "epochs", FIRST.epochs, "", "epochs", kind="positive"),
        _listed("order", "rank GPUs by", ORDERS[0], "enter prices in the yellow column of sheet GPUs"),
    ]
