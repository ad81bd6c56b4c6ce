"""Many questions in one workbook and one conversion, for `tests/app/test_same_answers.py`."""

import re
from dataclasses import replace

import pytest
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.sheets.plan import quoted
from trainlaw.app.workbook.book import PREFIX_OF_PASSES
from trainlaw.app.workbook.model import AS_MEASURED, DEFAULT_PRECISION, LAYOUTS
from trainlaw.app.workbook.tables import IMPLIED, OWN_LINK, USUAL_FABRIC
from trainlaw.formulas import load_formula

from ..questions import listed_label
from .test_book import BARE, built_in_plan, located, sheet_of, with_few_cnns

COUNT = 200
LIVE = ("Predict", "Formula", "Answers")  # what depends on the question; tables are shared
OF_PASSES = ("Forward", "Forward formula", "Forward answers")
NAME = re.compile(r"\btl_\w+")
CELLS = re.compile(
    r"(?P<sheet>(?:'[^']+'|\b[A-Za-z]+)!)?(?P<cells>\$?\b[A-Z]{1,2}\$?\d+\b(?::\$?[A-Z]{1,2}\$?\d+)?)"
)
BLOCK = 400  # rows of a question on each sheet, of which Answers has most


@pytest.fixture(scope="module")
def law():
    return load_formula(BUILT_IN)


@pytest.fixture(scope="module")
def plan():
    return built_in_plan()


LAYOUT_CELLS = {None: IMPLIED, "nchw": LAYOUTS[0], "channels_last": LAYOUTS[1]}


def written(asked):
    """The name of a GPU; in some questions as drivers or careless people write it."""
    return f"nvidia {asked['gpu'].lower()}" if asked["batch"] == 33 else asked["gpu"]


def cells_of(asked):
    """The yellow cells of a question; the size of images is entered where the CNN is listed at another."""
    label = listed_label(asked)
    listed = int(label.split(", ")[1].split()[0]) if "," in label else None
    launch = asked["host_launch_s"]
    if "timed_parts" in asked:
        named = ("algorithm", "n_gpus", "nodes", "link", "network")
        plain = {name: value for name, value in asked.items() if name != "timed_parts"}
        plain["precision"] = asked["precision"] if asked["batch"] % 2 or asked["precision"] != "amp" else None
        others = {
            name.replace("tl_", PREFIX_OF_PASSES): value
            for name, value in cells_of(plain).items()
            if name.removeprefix("tl_") not in named
        }
        usual = f"{PREFIX_OF_PASSES}precision_choice"
        entry = AS_MEASURED if others[usual] == DEFAULT_PRECISION else others[usual]
        return others | {usual: entry, f"{PREFIX_OF_PASSES}compilation": asked["compilation"]}
    return {
        "tl_cnn_choice": label,
        "tl_pixels": None if asked["pixels"] == listed else asked["pixels"],
        "tl_classes": None if f", {asked['classes']} classes" in label else asked["classes"],
        "tl_gpu_choice": written(asked), "tl_batch_per_gpu": asked["batch"],
        "tl_precision_choice": asked["precision"] or DEFAULT_PRECISION,
        "tl_stack_choice": asked["stack"] or IMPLIED,
        "tl_layout_choice": LAYOUT_CELLS.get(asked["layout"], asked["layout"]),
        "tl_n_gpus": asked["n_gpus"], "tl_nodes": asked["n_nodes"], "tl_link": asked["link"] or OWN_LINK,
        "tl_network": asked["fabric"] or USUAL_FABRIC, "tl_algorithm": asked["algorithm"],
        "tl_is_tuned": float(asked["tuned"]),
        "tl_host_launch_us": None if launch is None else 1e6 * launch,
    }  # fmt: skip


def moved(formula, rows, places, live=LIVE):
    """A cell formula `rows` further down its sheet; the names of `places` become addresses, texts stay."""

    def lower(found):
        own = found["sheet"] in (None, *(f"{quoted(name)}!" for name in live))
        shifted = re.sub(r"\d+$|\d+(?=:)", lambda row: str(int(row[0]) + rows), found["cells"])
        return (found["sheet"] or "") + (shifted if own else found["cells"])

    parts = formula.split('"')
    parts[::2] = [
        CELLS.sub(lower, NAME.sub(lambda name: places.get(*[name[0]] * 2), part)) for part in parts[::2]
    ]
    return '"'.join(parts)


def with_questions(plan, answers, price_of=None, live=LIVE):
    """The plan with the cells of its live sheets once per question, block below block; prices of GPUs."""
    own = {name: place for name, place in plan.names.items() if place.split("!")[0].strip("'") in live}
    others = {"All GPUs", "Ranking", "Compare", "Provenance", "Plan", "All plans", "Shorter"}
    if live[0] == "Predict":
        others |= {name for name in (*OF_PASSES, "Forward image size") if name not in live}
    labels = {label for cells in answers for name, label in cells.items() if name.endswith("cnn_choice")}
    kept = [sheet for sheet in with_few_cnns(plan, labels).sheets if sheet.name not in others]
    sheets = {sheet.name: replace(sheet, cells=dict(sheet.cells), **BARE) for sheet in kept}
    for (row, column), cell in list(sheets["GPUs"].cells.items()):
        price = row, column + 1
        old = sheets["GPUs"].cells.get(price)
        if price_of and column == 0 and old and old.style == "input_money":
            sheets["GPUs"].cells[price] = old._replace(value=price_of({"gpu": cell.value}))
    for number, cells in enumerate(answers, start=1):
        entered = {located(plan, name): value for name, value in cells.items() if name in plan.names}
        for title in live:
            for (row, column), cell in sheet_of(plan, title).cells.items():
                value = entered.get((title, row, column), cell.value)
                counts = cell.formula or isinstance(value, int | float) or cell.style.startswith("input")
                if counts and "tl_self_check" not in cell.formula:
                    text = moved(cell.formula, BLOCK * number, own, live)
                    place = row + BLOCK * number, column
                    sheets[title].cells[place] = cell._replace(formula=text, value=value)
    return replace(plan, sheets=list(sheets.values()))


def value_at(book, plan, name, number):
    """What a named cell shows in the block of a question."""
    sheet, row, column = located(plan, name)
    return book[sheet].cell(row + 1 + BLOCK * (number + 1), column + 1).value


def lines_of(book, plan, number, name=LIVE[0]):
    """What sheet Predict shows in the block of a question, by the title of the line."""
    return {
        cell.value: book[name].cell(row + 1 + BLOCK * (number + 1), column + 2).value
        for (row, column), cell in sheet_of(plan, name).cells.items()
        if column in (0, 5)
    }


def said_in(book, plan, number, prefix="tl_"):
    """What sheet Answers says in the block of a question."""
    sheet, place = plan.names[f"{prefix}said"].replace("$", "").split("!")
    first, last = (int(part[1:]) + BLOCK * (number + 1) for part in place.split(":"))
    cells = (book[sheet.strip("'")].cell(row, 4).value for row in range(first, last + 1))
    return [text for text in cells if text]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "key", "name"),
    [
        ("gpu", "g4dn.xlarge", "T4"),
        ("gpu", "rtx4090", "RTX 4090"),
        ("cnn", "resnet50", "resnet50, 224 px, 1000 classes"),
        ("cnn", "efficientnetb0", "efficientnet_b0, 224 px, 1000 classes"),
    ],
)
def test_further_names_are_listed_without_spaces_and_hyphens(kind, key, name, plan):
    cells = sheet_of(plan, "Names").cells
    column = {"gpu": 0, "cnn": 3}[kind]
    row = next(place[0] for place, cell in cells.items() if place[1] == column and cell.value == key)
    assert cells[row, column + 1].value == name
