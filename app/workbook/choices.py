"""The yellow cells of sheet Predict: what the user chooses, and what is said where an entry cannot be used."""

import math
from typing import NamedTuple

from trainlaw.app.models.lookup_tables import cnn_label
from trainlaw.app.sheets.plan import SheetWriter
from trainlaw.app.workbook.gpus import FIRST_IMAGES
from trainlaw.app.workbook.model import (
    FIRST_ALGORITHM,
    FIRST_BATCH,
    FIRST_CNN,
    FIRST_GPU,
    FIRST_PRECISION,
    LAYOUTS,
    PREFIX,
    Model,
    cell_name,
)
from trainlaw.app.workbook.tables import ANY_OTHER, HEADING, ORDERS, OWN_LINK
from trainlaw.datasets.tables.joins import HOST_LAUNCH_S

FIRST_EPOCHS = 90.0
FIRST_NETWORK = "ethernet-10g"
MOST = 10_000_000  # of a batch, or a number of GPUs or nodes, as `configuration` has it
_STYLES = {"%": "input_share", "us": "input_money"}
_WHOLE, _SHARE, _FLAG, _POSITIVE = "whole", "share", "flag", "positive"


_LIMITS = {
    _WHOLE: ("integer", 1, MOST),
    _SHARE: ("decimal", 0, 1),
    _FLAG: ("integer", 0, 1),
    _POSITIVE: ("decimal", 0, 1e12),
}


class Choice(NamedTuple):
    """One yellow cell.

    listed : names the list of its drop-down, empty for a number. kind : of a number: whole from 1 on, a share
    from 0 to 1, 0 or 1, or positive. valid : cell formula that is true where the entry can be used. fault : what is
    said where it cannot.
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


def write_choices(sheet: SheetWriter, model: Model, row: int) -> tuple[int, str]:
    """Write the yellow cells from a row on.

    Returns the next free row, and the cell formula that is true where every entry can be used.
    """
    choices = _choices(model)
    for choice in choices:
        sheet.text(row, 0, choice.title)
        _entry(sheet, row, choice)
        sheet.text(row, 2, choice.unit, "unit")
        sheet.formula(row, 3, f'IF({choice.valid},"{choice.note}","{choice.fault}")', choice.note, "note")
        sheet.plan.expected[row, 3] = choice.note
        sheet.define(cell_name(choice.name), row, 1)
        row += 1
    return row, f"AND({','.join(choice.valid for choice in choices)})"


def _entry(sheet: SheetWriter, row: int, choice: Choice) -> None:
    if isinstance(choice.value, str):
        sheet.text(row, 1, choice.value, "input")
        sheet.drop_down(row, 1, PREFIX + choice.listed)
        return
    sheet.number(row, 1, choice.value, _STYLES.get(choice.unit, "input_count"))
    sheet.plan.limits[row, 1] = _LIMITS[choice.kind]


def _choices(model: Model) -> list[Choice]:
    """Return the yellow cells that the formula needs, in their order."""
    needed = {"has_optimizer", "has_input_copy", "is_tuned", "layout", "host_launch_us"}
    base = {"layout": "is_channels_last", "host_launch_us": "host_launch_s"}
    rows = [*_of_cnn(), *_of_gpu(), *_of_several_gpus(), *_of_timing(), *_of_groups(model), *_of_training()]
    return [
        row for row in rows if row.name not in needed or base.get(row.name, row.name) in model.base_columns
    ]


def _named(name: str, title: str, value: str, listed: str, note: str, labels: str, fault: str) -> Choice:
    """Return a choice among names; labels : name of the range that holds all of them."""
    cell = cell_name(name)
    known = f'AND(ISNUMBER(MATCH({cell},{PREFIX}{labels},0)),LEFT({cell},1)<>"{HEADING[0]}")'
    return Choice(name, title, value, note, known, fault, listed=listed)


def _option(name: str, title: str, value: str, note: str) -> Choice:
    listed = f"options_{name}"
    return _named(name, title, value, listed, note, listed, "choose from the list")


def _number(name: str, title: str, value: float, note: str, unit: str, kind: str = _WHOLE) -> Choice:
    cell = cell_name(name)
    tests = {
        _WHOLE: (f"AND({cell}=INT({cell}),{cell}>=1,{cell}<={MOST})", f"a whole number from 1 to {MOST:,}"),
        _SHARE: (f"AND({cell}>=0,{cell}<=1)", "a number from 0 to 1"),
        _FLAG: (f"OR({cell}=0,{cell}=1)", "1 or 0"),
        _POSITIVE: (f"{cell}>0", "a number above 0"),
    }
    test, words = tests[kind]
    return Choice(
        name, title, value, note, f"IF(ISNUMBER({cell}),{test},FALSE)", f"enter {words}", unit, "", kind
    )


def _of_cnn() -> list[Choice]:
    exact = "leave empty for the size of the CNN above"
    fault = "sheet CNNs has no row of this CNN with images of this size"
    pixels = f"{PREFIX}pixels"
    counted = f'OR({pixels}="",ISNUMBER(MATCH({PREFIX}cnn_used,{PREFIX}cnns,0)))'
    return [
        _named(
            "cnn", "CNN", cnn_label(*FIRST_CNN), "cnns_listed", "add custom ones as rows of sheet CNNs", "cnns",
            "unknown CNN: choose from the list, or add a row to sheet CNNs",
        ),
        Choice("pixels", "height and width of an image", math.nan, exact, counted, fault, "pixels", "", _WHOLE),
        _number("batch_per_gpu", "batch per GPU", float(FIRST_BATCH), "per iteration on one GPU", "images"),
    ]  # fmt: skip


def _of_gpu() -> list[Choice]:
    gpus = "unknown GPU: choose from the list, or add a row to sheet GPUs"
    note = "PyTorch's default: column default_precision of sheet GPUs"
    return [
        _named("gpu", "GPU", FIRST_GPU, "gpus_listed", "add custom ones as rows of sheet GPUs", "gpus", gpus),
        _option("precision", "precision", FIRST_PRECISION, note),
        _option("layout", "layout of activations", LAYOUTS[0], "order of their dimensions in memory"),
    ]


def _of_several_gpus() -> list[Choice]:
    links = "unknown link: choose from the list, or add a row to sheet Links"
    n, nodes = f"{PREFIX}n_gpus", f"{PREFIX}n_nodes"
    several = _number("n_gpus", "number of GPUs", 1.0, "each with its own batch", "GPUs")
    spread = _number("n_nodes", "number of nodes", 1.0, "the GPUs are spread evenly", "nodes")
    whole = f"IF(AND({spread.valid},{several.valid}),MOD({n},{nodes})=0,FALSE)"
    fault = "enter a whole number of which the number of GPUs is a multiple"
    shared = _number(
        "hidden",
        "exchange hidden behind computation",
        0.0,
        "0 %: as measured; else by the textbook",
        "%",
        _SHARE,
    )
    return [
        several,
        spread._replace(valid=whole, fault=fault),
        _named("link", "link within a node", OWN_LINK, "links_listed", "for two or more GPUs", "links", links),
        _named(
            "network", "fabric between nodes", FIRST_NETWORK, "networks_listed", "for two or more nodes",
            "networks", links.replace("link:", "fabric:"),
        ),
        _option("algorithm", "all-reduce algorithm", FIRST_ALGORITHM, "for two or more GPUs"),
        shared,
    ]  # fmt: skip


def _of_timing() -> list[Choice]:
    launch = "measured by trainlaw profile; 150 where it was not"
    return [
        _number("has_optimizer", "include the optimizer step", 1.0, "1: with the weight update", "1 or 0", _FLAG),
        _number("has_input_copy", "include copying the images", 0.0, "1: with the copy to the GPU", "1 or 0", _FLAG),
        _number("is_tuned", "vendor-tuned container", 0.0, "1: with the vendor's fused kernels", "1 or 0", _FLAG),
        _number("host_launch_us", "host launch time per layer", 1e6 * HOST_LAUNCH_S, launch, "us", _POSITIVE),
    ]  # fmt: skip


def _of_groups(model: Model) -> list[Choice]:
    """Return a choice per key of grouped constants; a group that is not listed has the default."""
    found: dict[str, Choice] = {}
    for constant in model.formula.grouped:
        listed = cell_name(f"options_group_{constant.name}").removeprefix(PREFIX)
        choice = Choice(
            f"label_{constant.key}", constant.key, ANY_OTHER, "selects constants of sheet Options", "TRUE", "",
            listed=listed,
        )  # fmt: skip
        found.setdefault(constant.key, choice)
    return list(found.values())


def _of_training() -> list[Choice]:
    return [
        _number("images", "images per epoch", FIRST_IMAGES, "ImageNet-1k has 1,281,167", "images"),
        _number("epochs", "epochs", FIRST_EPOCHS, "", "epochs", _POSITIVE),
        _option("order", "rank GPUs by", ORDERS[0], "enter prices in the yellow column of sheet GPUs"),
    ]
