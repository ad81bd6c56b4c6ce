"""The yellow cells of sheet Predict, and what is said where an entry cannot be used."""

import math
from typing import NamedTuple

from trainlaw.app.models.lookup_tables import cnn_label
from trainlaw.app.sheets.plan import SheetWriter
from trainlaw.app.workbook.model import (
    FIRST_ALGORITHM,
    FIRST_BATCH,
    FIRST_CNN,
    FIRST_EPOCHS,
    FIRST_GPU,
    FIRST_IMAGES,
    PREFIX,
    Model,
    cell_name,
    is_listed,
)
from trainlaw.app.workbook.names import offered
from trainlaw.app.workbook.sizes import RULES, is_any_size
from trainlaw.app.workbook.tables import ANY_OTHER, HEADING, IMPLIED, ORDERS, OWN_LINK, USUAL_FABRIC
from trainlaw.datasets.measurements.runs import COMPILATIONS

MOST = 10_000_000  # of a batch, or a number of GPUs or nodes, as `configuration` has it
_STYLES = {"%": "input_share"}
_WHOLE, _COUNT, _SHARE, _FLAG, _POSITIVE = "whole", "count", "share", "flag", "positive"


_LIMITS = {
    _WHOLE: ("integer", 1, MOST),
    _COUNT: ("integer", 0, MOST),
    _SHARE: ("decimal", 0, 1),
    _FLAG: ("integer", 0, 1),
    _POSITIVE: ("decimal", 0, 1e12),
}


class Choice(NamedTuple):
    """One yellow cell.

    listed : names the list of its drop-down, empty for a number. kind : of a number: whole from 1 or from 0
    on, a share from 0 to 1, 0 or 1, or positive. valid : cell formula that is true where the entry can be
    used. fault : what is said where it cannot. offer : cell formula of what is said instead, unless an error.
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
    sheet.plan.limits[row, 1] = _LIMITS[choice.kind]


def _choices(model: Model) -> list[Choice]:
    """Return the yellow cells that the formula needs, in their order."""
    needed = {
        "has_optimizer",
        "has_input_copy",
        "is_tuned",
        "layout_choice",
        "host_launch_us",
        "is_bucketed",
        "stack_choice",
    }
    of_stack = {
        "layout_choice": {"is_stack_channels_last"},
        "is_tuned": {"is_stack_channels_last", "is_stack_fused"},
        "stack_choice": {"is_stack_channels_last", "is_stack_fused"},
    }
    base = {"layout_choice": "is_channels_last", "host_launch_us": "stated_launch_s"}
    used = set(model.base_columns)
    several = [] if model.is_forward else _of_several_gpus()
    rows = [
        *_of_cnn(model), *_of_gpu(model), *several, *_of_timing(), *_of_groups(model), *_of_training(model),
    ]  # fmt: skip
    return [
        row
        for row in rows
        if row.name not in needed or used & {base.get(row.name, row.name), *of_stack.get(row.name, ())}
    ]


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
    known = f'AND({is_listed(PREFIX + kind, f"{kind}s")},LEFT({PREFIX}{kind},1)<>"{HEADING[0]}")'
    return Choice(
        f"{kind}_choice", title, value, note, known, f"unknown: see the list and sheet {title}s",
        listed=f"{kind}s_listed", offer=offered(kind) if kind == "gpu" else "",
    )  # fmt: skip


def _whole(name: str, title: str, value: float, note: str, unit: str) -> Choice:
    cell = cell_name(name)
    valid = f"IF(ISNUMBER({cell}),AND({cell}=INT({cell}),{cell}>=1,{cell}<={MOST}),FALSE)"
    return Choice(
        name, title, value, note, valid, f"enter a whole number from 1 to {MOST:,}", unit, "", _WHOLE
    )


def _flag(name: str, title: str, value: float, note: str) -> Choice:
    cell = cell_name(name)
    valid = f"IF(ISNUMBER({cell}),OR({cell}=0,{cell}=1),FALSE)"
    return Choice(name, title, value, note, valid, "enter 1 or 0", "1 or 0", "", _FLAG)


def _positive(name: str, title: str, value: float, note: str, unit: str) -> Choice:
    cell = cell_name(name)
    valid = f"IF(ISNUMBER({cell}),{cell}>0,FALSE)"
    return Choice(name, title, value, note, valid, "enter a number above 0", unit, "", _POSITIVE)


def _of_cnn(model: Model) -> list[Choice]:
    exact = "leave empty for that of the CNN above"
    fault = "sheet CNNs has no row of this CNN with this size and these classes"
    title = "height and width of an image"
    listed = is_listed(f"{PREFIX}cnn_used", "cnns")
    sized = f"{PREFIX}is_sized=1" if is_any_size(model) else "FALSE"
    if is_any_size(model):
        fault = f"the CNN does not fit this size and these classes, or is not on sheet {RULES}"

    def counted(name: str) -> str:
        return f'OR({PREFIX}{name}="",{listed},{sized})'

    return [
        _named("cnn", "CNN", cnn_label(*FIRST_CNN)),
        Choice("pixels", title, math.nan, exact, counted("pixels"), fault, "pixels", "", _WHOLE),
        Choice("classes", "classes", math.nan, exact, counted("classes"), fault, "", "", _WHOLE),
        _whole("batch_per_gpu", "batch per GPU", float(FIRST_BATCH), "per iteration on one GPU", "images"),
    ]


def _of_gpu(model: Model) -> list[Choice]:
    note = "in others none was measured" if model.is_forward else "the default depends on the GPU"
    compiler = _listed("compilation", "compiled by", COMPILATIONS[0], "eager: one kernel per operation")
    return [
        _named("gpu", "GPU", FIRST_GPU),
        _listed("precision_choice", "precision", model.default_precision, note),
        _listed("layout_choice", "layout of activations", IMPLIED, "order of their dimensions in memory"),
        *([compiler] if model.is_forward else []),
        _listed("stack_choice", "stack of 16-bit convolutions", IMPLIED, "which kernels run them"),
    ]


def _of_several_gpus() -> list[Choice]:
    n, nodes, hidden, most = (f"{PREFIX}{name}" for name in ("n_gpus", "n_nodes", "hidden", "largest_node"))
    several = _whole("n_gpus", "number of GPUs", 1.0, "each with its own batch", "GPUs")
    spread = _whole("nodes", "number of nodes", math.nan, "empty: as many as usual servers are", "nodes")
    spread = spread._replace(valid=f'IF({PREFIX}nodes="",TRUE,{spread.valid})')
    divides = f"IF(AND({spread.valid},{several.valid}),OR({most}<>0,MOD({n},{nodes})=0),FALSE)"
    fault = "enter a whole number of which the number of GPUs is a multiple"
    # The others hold at least one GPU each, and none more than the largest.
    held = f"OR({most}=0,AND({most}=INT({most}),{most}*{nodes}>={n},{most}+{nodes}-1<={n}))"
    largest = f"IF(AND(ISNUMBER({most}),{spread.valid},{several.valid}),{held},FALSE)"
    share = f"IF(ISNUMBER({hidden}),AND({hidden}>=0,{hidden}<=1),FALSE)"
    title, note = "all-reduce hidden behind computation", "0 %: as measured; else by the textbook"
    return [
        several,
        spread._replace(valid=divides, fault=fault),
        Choice(
            "largest_node",
            "GPUs of the largest node",
            0.0,
            "0: as many on each node",
            largest,
            "enter 0, or a number that fits GPUs and nodes",
            "GPUs",
            kind=_COUNT,
        ),
        _listed("link", "link within a node", OWN_LINK, "for two or more GPUs", "Links"),
        _listed("network", "fabric between nodes", USUAL_FABRIC, "for two or more nodes", "Links"),
        _listed("algorithm", "all-reduce algorithm", FIRST_ALGORITHM, "for two or more GPUs"),
        _flag("is_bucketed", "gradients in buckets", 1.0, "0: each tensor alone"),
        Choice("hidden", title, 0.0, note, share, "enter a share from 0 to 100 %", "%", "", _SHARE),
    ]


def _of_timing() -> list[Choice]:
    note, title = (
        "by trainlaw profile --host; empty: as usual for the GPU's year",
        "host launch time per layer",
    )
    cell = cell_name("host_launch_us")
    valid = f'IF({cell}="",TRUE,IF(ISNUMBER({cell}),{cell}>0,FALSE))'
    fault = "enter a number above 0, or leave it empty"
    return [
        _flag("has_optimizer", "include the optimizer step", 1.0, "1: with the weight update"),
        _flag("has_input_copy", "include copying the images", 0.0, "1: with the copy to the GPU"),
        _flag("is_tuned", "vendor-tuned container", 0.0, "1: with the vendor's fused kernels"),
        Choice("host_launch_us", title, math.nan, note, valid, fault, "us", "", _POSITIVE),
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
        return [_whole("images", "images", FIRST_IMAGES, "of which the inference is computed", "images")]
    return [
        _whole("images", "images per epoch", FIRST_IMAGES, "ImageNet-1k has 1,281,167", "images"),
        _positive("epochs", "epochs", FIRST_EPOCHS, "", "epochs"),
        _listed("order", "rank GPUs by", ORDERS[0], "enter prices in the yellow column of sheet GPUs"),
    ]
