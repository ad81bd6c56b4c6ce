"""Two hundred random questions, all in one workbook and one conversion: it answers as `trainlaw predict`."""

import random
import re
from dataclasses import replace
from functools import cache

import pytest
from trainlaw.app.inputs.requests import impossible, one_run
from trainlaw.app.models.builtin import BUILT_IN, SCALING_FORMULA, formula_named
from trainlaw.app.models.lookup_tables import cnn_label, cnn_rows
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.app.sheets.xlsx import xlsx_bytes
from trainlaw.app.workbook.book import workbook_plan
from trainlaw.app.workbook.choices import MOST
from trainlaw.app.workbook.model import DEFAULT_PRECISION, ENTRIES, FAULTS, LAYOUTS
from trainlaw.app.workbook.tables import HEADING, IMPLIED_STACK, OWN_LINK, USUAL_FABRIC
from trainlaw.datasets import built_in_gpus, link_table
from trainlaw.datasets.hardware.collectives import ALGORITHMS
from trainlaw.datasets.hardware.precisions import PRECISIONS
from trainlaw.datasets.measurements.runs import STACKS, Setup
from trainlaw.formulas import TrainlawError, load_formula

from ...libreoffice import needs_libreoffice, recalculated
from .test_book import located

COUNT = 200
LIVE = ("Predict", "Formula", "Answers")  # what depends on the question; tables are shared
NAME = re.compile(r"\btl_\w+")
CELLS = re.compile(
    r"(?P<sheet>(?:'[^']+'|\b[A-Za-z]+)!)?(?P<cells>\$?\b[A-Z]{1,2}\$?\d+\b(?::\$?[A-Z]{1,2}\$?\d+)?)"
)
BLOCK = 400  # rows of a question on each sheet, of which Answers has most
BARE = {
    "charts": [],
    "bars": [],
    "drop_downs": {},
    "expected": {},
    "limits": {},
    "heights": {},
    "frozen": (0, 0),
}
IMPOSSIBLE = (
    {"batch": 0}, {"batch": 2.5}, {"batch": -8}, {"batch": MOST + 1}, {"n_gpus": 0}, {"n_gpus": 1.5},
    {"n_gpus": 4, "n_nodes": 3}, {"gpu": "RTX 9999"}, {"cnn": "resnet51"}, {"precision": "fp7"},
    {"algorithm": "gossip", "n_gpus": 2}, {"link": "string", "n_gpus": 2}, {"layout": "nhcw"},
    {"pixels": -224}, {"batch": "many"}, {"host_launch_s": -1.0},
)  # fmt: skip


known_cnns = cache(cnn_rows)


@pytest.fixture(scope="module")
def law():
    return load_formula(BUILT_IN)


@pytest.fixture(scope="module")
def plan(law):
    return workbook_plan(law)


SETTINGS = {"tuned": ("tl_is_tuned", False), "layout": ("tl_layout", LAYOUTS[0])}
SETTINGS["stack"] = ("tl_stack_choice", None)
SETTINGS["host_launch_s"] = ("tl_host_launch_us", None)


def questions(choose, plan):
    """Keywords of `one_run` and `Setup` that the yellow cells of a plan can hold, every tenth impossible."""
    absent = {name: default for name, (cell, default) in SETTINGS.items() if cell not in plan.names}
    gpus = [gpu.gpu for gpu in built_in_gpus().gpus]
    links = link_table().groupby("scope")["link"].apply(list)
    other = {row["cnn"] for row in known_cnns().values() if row["n_classes"] != 1000}
    cnns = [row for row in known_cnns().values() if row["cnn"] not in other]
    for number in range(COUNT):
        row, nodes = choose.choice(cnns), choose.choice([1, 1, 1, 2, 4])
        n_gpus = nodes * choose.choice([1, 1, 2, 3, 8])
        asked = {
            "cnn": row["cnn"], "pixels": row["input_size_px"], "gpu": choose.choice(gpus),
            "batch": choose.choice([1, 2, 8, 33, 64, 256, 1024]), "n_gpus": n_gpus, "n_nodes": nodes,
            "precision": choose.choice([None, "fp32", "tf32", "amp", "fp16", "bf16"]),
            "layout": choose.choice(["nchw", "nchw", "channels_last"]),
            "link": choose.choice([None, *links["node"]]) if n_gpus > nodes else None,
            "fabric": choose.choice([None, *links["network"]]) if nodes > 1 else None,
            "algorithm": choose.choice(ALGORITHMS[1:]), "tuned": choose.choice([False, False, True]),
            "host_launch_s": choose.choice([None, 4e-5, 2e-3]),
            "stack": choose.choice([None, None, *STACKS]),
        }  # fmt: skip
        # RTX 5050: a specification that the formula needs is not known.
        asked |= {"gpu": "RTX 5050"} if number % 50 == 1 else {}
        impossible = IMPOSSIBLE[number // 10 % len(IMPOSSIBLE)] if number % 10 == 0 else {}
        yield {**asked, **impossible, **absent}


def written(asked):
    """The name of a GPU; in some questions as drivers or careless people write it."""
    return f"nvidia {asked['gpu'].lower()}" if asked["batch"] == 33 else asked["gpu"]


def cells_of(asked):
    """The yellow cells of a question; the size of images is entered where the CNN is listed at another."""
    sizes = [row["input_size_px"] for row in known_cnns().values() if row["cnn"] == asked["cnn"]]
    listed = min(sizes, default=224)
    launch = asked["host_launch_s"]
    return {
        "tl_cnn_choice": cnn_label(asked["cnn"], listed, 1000),
        "tl_pixels": None if asked["pixels"] == listed else asked["pixels"],
        "tl_gpu_choice": written(asked), "tl_batch_per_gpu": asked["batch"],
        "tl_precision_choice": asked["precision"] or DEFAULT_PRECISION,
        "tl_stack_choice": asked["stack"] or IMPLIED_STACK,
        "tl_layout": {"nchw": LAYOUTS[0], "channels_last": LAYOUTS[1]}.get(asked["layout"], asked["layout"]),
        "tl_n_gpus": asked["n_gpus"], "tl_nodes": asked["n_nodes"], "tl_link": asked["link"] or OWN_LINK,
        "tl_network": asked["fabric"] or USUAL_FABRIC, "tl_algorithm": asked["algorithm"],
        "tl_is_tuned": float(asked["tuned"]),
        "tl_host_launch_us": None if launch is None else 1e6 * launch,
    }  # fmt: skip


def moved(formula, rows, places):
    """A cell formula `rows` further down its sheet; the names of `places` become addresses, texts stay."""

    def lower(found):
        own = found["sheet"] in (None, *(f"{name}!" for name in LIVE))
        shifted = re.sub(r"\d+$|\d+(?=:)", lambda row: str(int(row[0]) + rows), found["cells"])
        return (found["sheet"] or "") + (shifted if own else found["cells"])

    parts = formula.split('"')
    parts[::2] = [
        CELLS.sub(lower, NAME.sub(lambda name: places.get(*[name[0]] * 2), part)) for part in parts[::2]
    ]
    return '"'.join(parts)


def with_questions(plan, answers):
    """The plan with the cells of its live sheets once per question, block below block."""
    own = {name: place for name, place in plan.names.items() if place.split("!")[0].strip("'") in LIVE}
    kept = [
        sheet for sheet in plan.sheets if sheet.name not in ("All GPUs", "Ranking", "Compare", "Provenance")
    ]
    sheets = {sheet.name: replace(sheet, cells=dict(sheet.cells), **BARE) for sheet in kept}
    for number, cells in enumerate(answers, start=1):
        entered = {located(plan, name): value for name, value in cells.items() if name in plan.names}
        for title in LIVE:
            for (row, column), cell in next(sheet for sheet in kept if sheet.name == title).cells.items():
                value = entered.get((title, row, column), cell.value)
                counts = cell.formula or isinstance(value, int | float) or cell.style.startswith("input")
                if counts and "tl_self_check" not in cell.formula:
                    text = moved(cell.formula, BLOCK * number, own)
                    place = row + BLOCK * number, column
                    sheets[title].cells[place] = cell._replace(formula=text, value=value)
    return replace(plan, sheets=list(sheets.values()))


def predicted(law, asked):
    """What the command says of a question: its prediction, None where it is refused."""
    parts = {name: asked[name] for name in ("precision", "n_gpus", "n_nodes", "link", "algorithm")}
    parts |= {name: asked[name] for name in ("fabric", "layout", "stack")}
    setup = Setup(**parts, tuned=asked["tuned"], host_launch_s=asked["host_launch_s"])
    try:
        runs = one_run(asked["cnn"], asked["gpu"], asked["batch"], asked["pixels"], setup)
        return predict_runs(law, runs, formula_named(SCALING_FORMULA))[0]
    except TrainlawError:
        return None


def is_unequipped(asked):
    """Whether the GPU lacks the precision or link of a question, or a node the room for its GPUs."""
    gpus = {gpu.gpu: gpu for gpu in built_in_gpus().gpus}
    if (
        asked["gpu"] not in gpus
        or asked["precision"] not in (None, *PRECISIONS)
        or asked["n_gpus"] % asked["n_nodes"]
    ):
        return False
    if asked["link"] not in (None, *link_table()["link"]):
        return False
    setup = Setup(**{name: asked[name] for name in ("precision", "n_gpus", "n_nodes", "link")})
    return bool(impossible(gpus[asked["gpu"]], setup))


def value_at(book, plan, name, number):
    """What a named cell shows in the block of a question."""
    sheet, row, column = located(plan, name)
    return book[sheet].cell(row + 1 + BLOCK * (number + 1), column + 1).value


def lines_of(book, plan, number):
    """What sheet Predict shows in the block of a question, by the title of the line."""
    return {
        cell.value: book["Predict"].cell(row + 1 + BLOCK * (number + 1), column + 2).value
        for (row, column), cell in plan.sheets[0].cells.items()
        if column in (0, 5)
    }


@needs_libreoffice
@pytest.mark.slow
def test_two_hundred_questions_are_answered_as_the_command_does(law, plan, tmp_path):
    asked = list(questions(random.Random(8), plan))
    data = xlsx_bytes(with_questions(plan, [cells_of(one) for one in asked]))
    book = recalculated({"questions.xlsx": data}, tmp_path)["questions.xlsx"]
    seen = set[str]()
    for number, one in enumerate(asked):
        expected = predicted(law, one)
        shown, value = lines_of(book, plan, number), value_at(book, plan, "tl_time_s", number)
        if expected is None and is_unequipped(one):
            continue  # the workbook computes it
        if expected is None:
            assert (value, shown["entries"]) == ("not known", FAULTS), one
            seen.add("refused")
            continue
        assert shown["entries"] == ENTRIES, one
        check(book, plan, number, shown, expected, value)
        seen |= set(expected.warnings)
    for words in ("refused", *KINDS):
        assert any(words in text for text in seen), words


KINDS = (
    "outside the training range", "unlike any", "no training run used", "of the generation", "GPU of",
    "cannot fit", "taken as 120", "at 2 ms per layer", "textbook all-reduce", "is not known",
    "by the scaling formula", "not defined here", "no fast 16-bit",
)  # fmt: skip


def said_in(book, plan, number):
    """What sheet Answers says in the block of a question."""
    place = plan.names["tl_said"].split("!")[1].replace("$", "")
    first, last = (int(part[1:]) + BLOCK * (number + 1) for part in place.split(":"))
    cells = (book["Answers"].cell(row, 4).value for row in range(first, last + 1))
    return [text for text in cells if text]


def check(book, plan, number, shown, expected, value):
    """Compare one answer: time, interval, memory, notes and warnings word for word."""
    said = [*expected.notes, *expected.warnings]
    assert said_in(book, plan, number) == said
    assert shown["what this assumes"] == said[0]
    assert shown["notes and warnings"] == [*said[1:], "no warning"][0]
    assert shown["fits in memory"] == expected.fits_in_memory
    if expected.time_s != expected.time_s:
        assert value == "not known"
        return
    assert value == pytest.approx(expected.time_s, rel=1e-9)
    exchange = value_at(book, plan, "tl_all_reduce_s", number)
    assert exchange == pytest.approx(expected.exchange_s, rel=1e-9, abs=1e-15)
    factor = value_at(book, plan, "tl_interval_factor", number)
    assert expected.low_s is not None and factor == pytest.approx(expected.high_s / value, rel=1e-9)


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
    cells = next(sheet for sheet in plan.sheets if sheet.name == "Names").cells
    column = {"gpu": 0, "cnn": 3}[kind]
    row = next(place[0] for place, cell in cells.items() if place[1] == column and cell.value == key)
    assert cells[row, column + 1].value == name


@needs_libreoffice
def test_a_heading_of_the_list_is_no_gpu(plan, tmp_path):
    heading = next(cell.value for cell in next(s for s in plan.sheets if s.name == "GPUs").cells.values()
                   if str(cell.value).startswith(HEADING))  # fmt: skip
    asked = next(iter(questions(random.Random(1), plan)))
    data = xlsx_bytes(with_questions(plan, [cells_of({**asked, "batch": 8, "gpu": heading})]))
    book = recalculated({"heading.xlsx": data}, tmp_path)["heading.xlsx"]
    assert value_at(book, plan, "tl_entries", 0) == FAULTS
