"""Numbers outside the table of limits and setups that no hardware runs: every output refuses them.

An answer to any of them, or a number that is read as another one, is a silent fault.
"""

import math
from urllib.parse import urlencode

import pytest
import trainlaw
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.models.lookup_tables import cnn_label, gpu_rows
from trainlaw.app.page.html import page_html
from trainlaw.app.sheets.xlsx import xlsx_bytes
from trainlaw.app.workbook.model import FAULTS
from trainlaw.datasets import built_in_gpus
from trainlaw.datasets.files.limits import limits
from trainlaw.datasets.hardware.possible import REASONS, lacking
from trainlaw.formulas import TrainlawError, load_formula

from ..commands import invoke, refused
from ..libreoffice import SOFFICE, recalculated
from .exports.test_programs import NODE, changed, node, python, write_programs
from .page.test_in_browser import ANSWERS
from .workbook.plans import built_in_plan
from .workbook.question_blocks import lines_of, value_at, with_questions

PLAIN = {"cnn": "resnet50", "gpu": "T4", "batch": 8}
#: What makes a number count: of several nodes, several GPUs.
WITH = {"n_nodes": {"n_gpus": 4}}
# NVIDIA Pascal, which no number of prices below needs.
PRICED = "GTX 1080 Ti"


def wrong_numbers(limit):
    """Wrong values of an input by what is wrong with them."""
    step = 1 if limit.is_whole else limit.least / 2 or 0.01
    return {
        "below": limit.least - step,
        "above": limit.most * 2,
        "of another kind": 2.5 if limit.is_whole else "many",
        "empty": "",
        "with a unit": "8 units",
        "a formula": "\uff1d8",
        "negative": -8 if limit.is_whole else -0.5,
        "not a number": math.nan,
        "very long": "9" * 400,
    }


def lacking_gpu(name):
    """The first GPU that lacks a precision or software; None where every GPU has it."""
    return next(
        (gpu.gpu for gpu in built_in_gpus().gpus if name in lacking(gpu) and gpu.gpu in gpu_rows()), None
    )


def impossible():
    """Setups that no hardware runs, a row each of the reasons, and of links."""
    software = {"inductor": {"compilation": "inductor"}, "tuned": {"tuned": True}}
    for name in REASONS:
        if gpu := lacking_gpu(name):
            yield {"gpu": gpu, **software.get(name, {"precision": name})}
    two, two_nodes = {"n_gpus": 2, "n_nodes": 1}, {"n_gpus": 2, "n_nodes": 2}
    yield from ({"link": link, **two} for link in ("nvlink2-x6", "pcie4-x16", "ethernet-10g", "string"))
    yield from ({"fabric": fabric, **two_nodes} for fabric in ("nvlink2-x6", "string"))
    yield from ({"n_gpus": 34, "n_nodes": 2}, {"n_gpus": 4, "n_nodes": 3}, {"algorithm": "gossip", **two})
    yield from (
        {"gpu": "RTX 9999"},
        {"gpu": "T4000"},
        {"cnn": "resnet5000"},
        {"precision": "fp7"},
        {"layout": "nhcw"},
    )


NUMBERS = [
    {**WITH.get(name, {}), name: value}
    for name, limit in limits().items()
    for value in wrong_numbers(limit).values()
]
OPTIONS = {
    **{name: f"--{name}" for name in ("cnn", "gpu", "batch", "images", "epochs", "pixels", "classes")},
    **{name: f"--{name}" for name in ("precision", "layout", "link", "fabric", "algorithm", "tuned")},
    "n_gpus": "--gpus",
    "n_nodes": "--nodes",
    "host_launch_s": "--host-launch",
    "compilation": "--compile",
}


def by_command(asked, folder, _):
    def answer(one):
        if "price_per_hour" in one:
            (folder / "prices.csv").write_text(f"gpu,price_per_hour_usd\n{PRICED},{one['price_per_hour']}\n")
            return invoke("plan --cnn resnet50 --prices", folder / "prices.csv")
        more = {"epochs": 1} if "images" in one else {}
        words = []
        for name, value in {**PLAIN, **more, **one}.items():
            in_seconds = name == "host_launch_s" and isinstance(value, float)
            text = [] if value is True else [f"{value}s" if in_seconds else str(value)]
            words += [OPTIONS[name], *text]
        return invoke("predict", *words)

    return [refused(answer(one)) for one in asked]


def by_python(asked, _, __):
    def answer(one):
        try:
            if {"images", "epochs"} & one.keys():
                return trainlaw.plan("resnet50", gpu="T4", **one).to_json()
            return str(trainlaw.predict(**{**PLAIN, **one}))
        except TrainlawError as error:
            assert "\n" not in str(error) and len(str(error)) <= 410
            return ""

    return [not answer(one) for one in asked]


FIELDS = {
    "n_gpus": "gpus",
    "n_nodes": "nodes",
    "fabric": "network",
    "price_per_hour": "price",
    "host_launch_s": "host-launch",
    "tuned": "is_tuned",
}


def in_microseconds(name, value):
    return 1e6 * value if name == "host_launch_s" and isinstance(value, float) else value


def by_page(asked, folder, request):
    (folder / "page.html").write_text(page_html(load_formula(BUILT_IN)), encoding="utf-8")
    page = request.getfixturevalue("browser").new_page()
    page.goto((folder / "page.html").as_uri())
    texts = [
        {FIELDS.get(name, name): in_microseconds(name, value) for name, value in one.items()} for one in asked
    ]
    links = [urlencode({**PLAIN, **one}).replace("True", "true") for one in texts]
    return [answer["fault"] for answer in page.evaluate(ANSWERS, links)]


CELLS = {
    "cnn": "tl_cnn_choice",
    "gpu": "tl_gpu_choice",
    "batch": "tl_batch_per_gpu",
    "n_nodes": "tl_nodes",
    "host_launch_s": "tl_host_launch_us",
    "fabric": "tl_network",
    "precision": "tl_precision_choice",
    "layout": "tl_layout_choice",
    "tuned": "tl_is_tuned",
}


def by_workbook(asked, folder, _):
    if SOFFICE is None:
        pytest.skip("LibreOffice (soffice) is not installed")
    plan, gpus = built_in_plan(), [name for name in gpu_rows() if gpu_rows()[name]["device"] == "GPU"]
    usual = {"cnn": cnn_label("resnet50", 224, 1000), "gpu": "T4", "batch": 8}
    prices = {}
    questions = []
    for number, one in enumerate(asked):
        entered = {**usual, **one}
        if "price_per_hour" in one:
            # Each GPU has one cell for its price.
            entered["gpu"] = gpus[number]
            prices[gpus[number]] = entered.pop("price_per_hour")
        questions.append(
            {
                CELLS.get(name, f"tl_{name}"): None
                if value == ""
                else float(value)
                if value is True
                else value
                for name, value in ((name, in_microseconds(name, value)) for name, value in entered.items())
            }
        )
    data = xlsx_bytes(with_questions(plan, questions, lambda one: prices.get(one["gpu"], 1.0)))
    book = recalculated({"wrong.xlsx": data}, folder)["wrong.xlsx"]

    def is_refused(number):
        if "price_per_hour" in asked[number]:
            return not isinstance(value_at(book, plan, "tl_cost", number), int | float)
        is_faulty = lines_of(book, plan, number)["entries"] == FAULTS
        assert not is_faulty or value_at(book, plan, "tl_time_s", number) == "not known"
        return is_faulty

    return [is_refused(number) for number in range(len(asked))]


def by_program(ask):
    def refusals(asked, folder, _):
        if ask is node and NODE is None:
            pytest.skip("needs Node, which is not on the PATH")
        write_programs(load_formula(BUILT_IN), folder)
        found = ask(folder, [changed(**one) for one in asked])
        return [one or "without a time" if isinstance(one, str | None) else "" for one in found]

    return refusals


#: By output: how it answers, and the inputs that it has.
OF_RUN = {"cnn", "gpu", "batch", "precision", "layout", "tuned", "n_gpus", "n_nodes", "link", "fabric"}
HOURS = {"images", "epochs"}
SIZES = {"pixels", "classes"}  # of which a program has those in its tables
COMPILED = {"compilation", "algorithm"}
OUTPUTS = {
    "command": (by_command, {*OF_RUN, *HOURS, *SIZES, *COMPILED, "host_launch_s", "price_per_hour"}),
    "Python": (by_python, {*OF_RUN, *HOURS, *SIZES, *COMPILED, "host_launch_s"}),
    "page": (by_page, {*OF_RUN, *HOURS, *COMPILED, "host_launch_s", "price_per_hour"}),
    "workbook": (by_workbook, {*OF_RUN, *HOURS, "algorithm", "host_launch_s", "price_per_hour"}),
    "py": (by_program(python), {*OF_RUN, *HOURS, *SIZES, "host_launch_s", "price_per_hour"}),
    "mjs": (by_program(node), {*OF_RUN, *HOURS, *SIZES, *COMPILED, "host_launch_s", "price_per_hour"}),
}
# An empty field or cell is the usual value.
MAY_BE_EMPTY = {
    "page": {"n_nodes", "host_launch_s", "price_per_hour"},
    "workbook": {"n_nodes", "host_launch_s"},
}


def is_asked(output, one):
    """Whether an output can be asked so: it has the inputs, and no cell of a sheet is "not a number"."""
    values = list(one.values())
    if any(isinstance(value, float) and math.isnan(value) for value in values) and output == "workbook":
        return False
    is_usual = "" in values and not MAY_BE_EMPTY.get(output, set()).isdisjoint(one)
    return one.keys() <= OUTPUTS[output][1] and not is_usual


@pytest.mark.parametrize("output", OUTPUTS)
def test_no_wrong_input_is_answered_in_silence(output, request, tmp_path):
    numbers, setups = ([one for one in wrong if is_asked(output, one)] for wrong in (NUMBERS, impossible()))
    asked = [*numbers, *setups]
    assert len(asked) >= 60
    found = OUTPUTS[output][0](asked, tmp_path, request)
    assert [one for one, refusal in zip(asked, found, strict=True) if not refusal] == []
    for one, refusal in zip(numbers, found, strict=False):
        name, value = list(one.items())[-1]
        is_number = not isinstance(value, str) and not math.isnan(value)
        if output in ("py", "mjs") and name in limits().keys() - SIZES and is_number:
            assert limits()[name].expected in refusal or "evenly" in refusal, one
