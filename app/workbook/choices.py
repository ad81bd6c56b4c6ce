"""The yellow cells of sheet Predict: what a person chooses, and from which lists."""

from collections.abc import Mapping
from typing import NamedTuple

from trainlaw.app.models.lookup_tables import cnn_label
from trainlaw.app.sheets.plan import SheetWriter
from trainlaw.app.workbook.gpus import FIRST_IMAGES, FIRST_PRICE
from trainlaw.app.workbook.model import (
    FIRST_BATCH,
    FIRST_CNN,
    FIRST_GPU,
    FIRST_PRECISION,
    PREFIX,
    Model,
    cell_name,
)
from trainlaw.app.workbook.tables import ANY_OTHER, ORDERS, OWN_LINK

FIRST_EPOCHS = 90.0
FIRST_NETWORK = "ethernet-10g"
FIRST_ALGORITHM = "ring"
_INPUT_STYLES: Mapping[str, str] = {"%": "input_share", "USD/h": "input_money"}


class _Choice(NamedTuple):
    """One yellow cell: name, title, first value, list of its drop-down ("" for a number), unit, note."""

    name: str
    title: str
    value: str | float
    listed: str
    unit: str
    note: str


def write_choices(sheet: SheetWriter, model: Model) -> int:
    """Write the yellow cells from row 4 on; return the next free row."""
    sheet.text(3, 0, "Choose", "section")
    row = 4
    for choice in (*_named_choices(model), *_numbers(model)):
        sheet.text(row, 0, choice.title)
        if isinstance(choice.value, str):
            sheet.text(row, 1, choice.value, "input")
            sheet.drop_down(row, 1, choice.listed)
        else:
            sheet.number(row, 1, choice.value, _INPUT_STYLES.get(choice.unit, "input_count"))
        sheet.text(row, 2, choice.unit, "unit")
        sheet.text(row, 3, choice.note, "note")
        sheet.define(cell_name(choice.name), row, 1)
        row += 1
    return row


def _named_choices(model: Model) -> list[_Choice]:
    def choice(name: str, title: str, value: str, listed: str, note: str) -> _Choice:
        return _Choice(name, title, value, PREFIX + listed, "", note)

    keys = dict.fromkeys(item.key for item in model.formula.grouped)
    groups = {key: next(item.name for item in model.formula.grouped if item.key == key) for key in keys}
    return [
        choice("cnn", "CNN", cnn_label(*FIRST_CNN), "cnns_listed", "add your own as a row of sheet CNNs"),
        choice("gpu", "GPU", FIRST_GPU, "gpus_listed", "add your own as a row of sheet GPUs"),
        choice("precision", "precision", FIRST_PRECISION, "options_precision", "as used by the GPU"),
        choice(
            "link",
            "link between the GPUs of a node",
            OWN_LINK,
            "links_listed",
            "add your own as a row of sheet Links",
        ),
        choice(
            "network", "network between nodes", FIRST_NETWORK, "networks_listed", "used from two nodes on"
        ),
        choice(
            "algorithm",
            "exchange of gradients",
            FIRST_ALGORITHM,
            "options_algorithm",
            "used from two GPUs on",
        ),
        *(
            _Choice(
                f"label_{key}",
                key,
                ANY_OTHER,
                cell_name(f"options_group_{name}"),
                "",
                "group of the constants, sheet Options",
            )
            for key, name in groups.items()
        ),
        choice("order", "best GPUs by", ORDERS[0], "options_order", "order of the table to the right"),
    ]


def _numbers(model: Model) -> list[_Choice]:
    flags = {
        "has_optimizer": ("with the optimizer step", 1.0, "1: the time includes the update of the weights"),
        "has_input_copy": ("with the copy of the images", 0.0, "1: the time includes their copy to the GPU"),
    }
    return [
        _Choice(
            "batch_per_gpu",
            "batch per GPU",
            float(FIRST_BATCH),
            "",
            "images",
            "images per iteration on one GPU",
        ),
        _Choice("n_gpus", "GPUs in all", 1.0, "", "GPUs", ""),
        _Choice("n_nodes", "nodes", 1.0, "", "nodes", "the GPUs are spread evenly"),
        *(
            _Choice(name, title, value, "", "1 or 0", note)
            for name, (title, value, note) in flags.items()
            if name in model.raw
        ),
        _Choice(
            "hidden", "exchange hidden by computing", 0.0, "", "%", "0 %: computing and exchange take turns"
        ),
        _Choice(
            "images", "images per epoch", FIRST_IMAGES, "", "images", "1,281,167 are those of ImageNet-1k"
        ),
        _Choice("epochs", "epochs", FIRST_EPOCHS, "", "epochs", ""),
        _Choice(
            "price",
            "price of a GPU",
            FIRST_PRICE,
            "",
            "USD/h",
            "an example: enter yours; a price on sheet GPUs goes first",
        ),
    ]
