"""Many questions in one workbook and one conversion, for `tests/app/test_same_answers.py`."""

import re
from dataclasses import replace

import openpyxl
from trainlaw.app.models.lookup_tables import cnn_label
from trainlaw.app.sheets.book_plan import quoted
from trainlaw.app.workbook.lookup_sheets import HEAD
from trainlaw.app.workbook.model import AS_MEASURED, DEFAULT_PRECISION, LAYOUTS
from trainlaw.app.workbook.notes_sheet import IMPLIED, OWN_LINK, USUAL_FABRIC

from .plans import BARE, WIDE, located, sheet_of, with_few_cnns

LIVE = ("Prediction", "Formula")  # the sheets that depend on the question; tables are shared
NAME = re.compile(r"\btl_\w+")
CELLS = re.compile(
    r"(?P<sheet>(?:'[^']+'|\b[A-Za-z]+)!)?(?P<cells>\$?\b[A-Z]{1,2}\$?\d+\b(?::\$?[A-Z]{1,2}\$?\d+)?)"
)
BLOCK = 600  # rows of a question on each sheet, of which Formula has most


LAYOUT_CELLS = {None: IMPLIED, "nchw": LAYOUTS[0], "channels_last": LAYOUTS[1]}


def written(asked):
    """The name of a GPU; in some questions as drivers or careless people write it."""
    return f"nvidia {asked['gpu'].lower()}" if asked["batch"] == 33 else asked["gpu"]


def cells_of(asked):
    """The yellow cells of a question."""
    launch, is_forward = asked["host_launch_s"], "timed_parts" in asked
    usual = AS_MEASURED if is_forward else DEFAULT_PRECISION
    return {
        "tl_cnn_choice": cnn_label(asked["cnn"], asked["pixels"], asked["classes"]),
        "tl_gpu_choice": written(asked),
        "tl_batch_per_gpu": asked["batch"],
        "tl_precision_choice": asked["precision"] or usual,
        "tl_stack_choice": asked["stack"] or IMPLIED,
        "tl_layout_choice": LAYOUT_CELLS.get(asked["layout"], asked["layout"]),
        "tl_n_gpus": asked["n_gpus"],
        "tl_nodes": asked["n_nodes"],
        "tl_link": asked["link"] or OWN_LINK,
        "tl_network": asked["fabric"] or USUAL_FABRIC,
        "tl_algorithm": asked["algorithm"],
        "tl_is_tuned": float(asked["tuned"]),
        "tl_host_launch_us": None if launch is None else 1e6 * launch,
        "tl_compilation": asked.get("compilation"),
    }


def moved(formula, rows, places):
    """A cell formula `rows` further down its sheet; the names of `places` become addresses, texts stay."""

    def lower(found):
        is_live = found["sheet"] in (None, *(f"{quoted(name)}!" for name in LIVE))
        shifted = re.sub(r"\d+$|\d+(?=:)", lambda row: str(int(row[0]) + rows), found["cells"])
        return (found["sheet"] or "") + (shifted if is_live else found["cells"])

    parts = formula.split('"')
    parts[::2] = [
        CELLS.sub(lower, NAME.sub(lambda name: places.get(*[name[0]] * 2), part)) for part in parts[::2]
    ]
    return '"'.join(parts)


def with_questions(plan, answers, price_of=None):
    """The plan with the cells of its live sheets once per question, block below block; prices of GPUs."""
    places = {name: place for name, place in plan.names.items() if place.split("!")[0].strip("'") in LIVE}
    labels = {cells["tl_cnn_choice"] for cells in answers}
    # Questions use no runs of the user.
    kept = [sheet for sheet in with_few_cnns(plan, labels).sheets if sheet.name not in WIDE]
    sheets = {sheet.name: replace(sheet, cells=dict(sheet.cells), **BARE) for sheet in kept}
    gpus = sheets["GPUs"].cells
    for (row, column), cell in list(gpus.items()):
        if price_of and column == 0 and row > HEAD and gpus[row, 1].style == "input_money":
            gpus[row, 1] = gpus[row, 1]._replace(value=price_of({"gpu": cell.value}))
    for number, cells in enumerate(answers, start=1):
        entered = {
            located(plan, name): value for name, value in cells.items() if "!" in plan.names.get(name, "")
        }
        for title in LIVE:
            for (row, column), cell in sheet_of(plan, title).cells.items():
                value = entered.get((title, row, column), cell.value)
                counts = cell.formula or isinstance(value, int | float) or cell.style.startswith("input")
                if counts and "tl_self_check" not in cell.formula:
                    is_entered = (title, row, column) in entered
                    text = "" if is_entered else moved(cell.formula, BLOCK * number, places)
                    place = row + BLOCK * number, column
                    sheets[title].cells[place] = cell._replace(formula=text, value=value)
    no_runs = {"tl_own_count": "0", "tl_own_factor": "1", "tl_own_spread": "0", "tl_own_share": "1"}
    return replace(plan, sheets=list(sheets.values()), names=plan.names | no_runs)


def value_at(book, plan, name, number):
    """The value of a named cell in the block of a question."""
    sheet, row, column = located(plan, name)
    return book[sheet].cell(row + 1 + BLOCK * (number + 1), column + 1).value


def lines_of(book, plan, number):
    """The values on sheet Prediction in the block of a question, by the title of the line."""
    return {
        cell.value: book[LIVE[0]].cell(row + 1 + BLOCK * (number + 1), column + 2).value
        for (row, column), cell in sheet_of(plan, LIVE[0]).cells.items()
        if column in (0, 5)
    }


def said_in(book, plan, number):
    """The sentences of sheet Formula in the block of a question."""
    sheet, place = plan.names["tl_said"].replace("$", "").split("!")
    column = openpyxl.utils.column_index_from_string(place[0])
    first, last = (int(part[1:]) + BLOCK * (number + 1) for part in place.split(":"))
    cells = (book[sheet].cell(row, column).value for row in range(first, last + 1))
    return [text for text in cells if text]
