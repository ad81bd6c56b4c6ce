"""One drawing of questions for all outputs, and what the command says of them."""

import math
from functools import cache

from trainlaw.app.inputs.requests import configured_row
from trainlaw.app.inputs.resolve import named_cnn
from trainlaw.app.models.builtin import SCALING_FORMULA, formula_named
from trainlaw.app.models.lookup_tables import cnn_rows
from trainlaw.app.models.scopes import handling
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.datasets import built_in_gpus, link_table
from trainlaw.datasets.hardware.collectives import ALGORITHMS
from trainlaw.datasets.hardware.hypothetical import wanted_gpu
from trainlaw.datasets.measurements.runs import STACKS, Setup, unmeasured_runs
from trainlaw.datasets.tables.joins import Facts
from trainlaw.formulas import TrainlawError

IMPOSSIBLE = (
    {"batch": 0},
    {"batch": 2.5},
    {"batch": -8},
    {"batch": 10_000_001},
    {"n_gpus": 0},
    {"n_gpus": 1.5},
    {"n_gpus": 4, "n_nodes": 3},
    {"gpu": "RTX 9999"},
    {"cnn": "resnet51"},
    {"precision": "fp7"},
    {"algorithm": "gossip", "n_gpus": 2},
    {"link": "string", "n_gpus": 2, "n_nodes": 1},
    {"layout": "nhcw"},
    {"pixels": -224},
    {"batch": "many"},
    {"host_launch_s": -1.0},
)
SETTINGS = (
    "precision",
    "link",
    "fabric",
    "algorithm",
    "layout",
    "stack",
    "tuned",
    "host_launch_s",
)
IMAGES, EPOCHS = 1_281_167, 90
known_cnns = cache(cnn_rows)


def questions(choose, count):
    """Settings by name: every other one on a single GPU without further choices, every tenth impossible."""
    gpus = [gpu.gpu for gpu in built_in_gpus().gpus]
    links = link_table().groupby("scope")["link"].apply(list)
    for number in range(count):
        row, is_plain = choose.choice([*known_cnns().values()]), number % 2 == 1
        nodes = 1 if is_plain else choose.choice([1, 1, 2, 4, 8])
        n_gpus = 1 if is_plain else nodes * choose.choice([1, 2, 3, 8])
        asked = {
            "cnn": row["cnn"],
            "pixels": row["input_size_px"],
            "classes": row["n_classes"],
            "gpu": choose.choice(gpus),
            "batch": choose.choice([1, 2, 8, 33, 64, 256, 1024]),
            "n_gpus": n_gpus,
            "n_nodes": nodes,
            "precision": choose.choice([None, "fp32", "tf32", "amp", "fp16", "bf16"]),
            "layout": choose.choice([None, "nchw", "channels_last"]),
            "link": choose.choice([None, *links["node"]]) if n_gpus > nodes else None,
            "fabric": choose.choice([None, *links["network"]]) if nodes > 1 else None,
            "algorithm": choose.choice(ALGORITHMS[1:]),
            "tuned": choose.choice([False, False, True]),
            "host_launch_s": choose.choice([None, 4e-5, 2e-3]),
            "stack": None if is_plain else choose.choice([None, None, *STACKS]),
        }
        # RTX 5050: a specification that the formula needs is not known.
        asked |= {"gpu": "RTX 5050"} if number % 50 == 1 else {}
        yield asked | (IMPOSSIBLE[number // 10 % len(IMPOSSIBLE)] if number % 10 == 0 else {})


def questions_of_passes(choose, count):
    """Settings of forward passes by name, which are on one GPU; as `questions`."""
    for one in questions(choose, count):
        yield one | {
            "n_gpus": 1,
            "n_nodes": 1,
            "link": None,
            "fabric": None,
            "algorithm": "ring",
            "precision": choose.choice(["amp", "amp", one["precision"]]) or "amp",
            "compilation": choose.choice(["eager", "eager", "inductor", "inductor", "xla", "cuda_graphs"]),
            "timed_parts": "forward",
        }


def price_of(asked):
    """A price for an hour of the GPU: the same in every question, since the workbook has one cell for it."""
    return 0.5 + len(asked["gpu"]) / 8


def setup_of(asked):
    """The settings of a question, of which page and command take more than the others."""
    others = ("timed_parts", "compilation", "bucketed")
    counts = ("allocation",) if asked.get("allocation") else ("n_gpus", "n_nodes")
    given = {name: asked[name] for name in (*SETTINGS, *counts, *others) if name in asked}
    if "optimizer" in asked:
        more = "+optimizer" * asked["optimizer"] + "+copy" * asked["copy"]
        given["timed_parts"] = f"forward+backward{more}"
    return Setup(**given)


def predicted(law, asked):
    """What the command says of each question: its prediction, None where it is refused."""
    rows, gpus, cnns = {}, {}, {}
    for number, one in enumerate(asked):
        changes = [f"{one[rate]}x {rate}" for rate in ("peak", "bandwidth") if one.get(rate, "1") != "1"]
        name = one["gpu"] + (f" with {', '.join(changes)}" if changes else "")
        try:
            cnn, gpu = named_cnn(one["cnn"], one["pixels"], one["classes"]), wanted_gpu(name)
            rows[number] = configured_row(cnn, gpu, one["batch"], setup_of(one))
            gpus[gpu.gpu], cnns[cnn.key] = gpu, cnn
        except TrainlawError:
            continue
    facts = Facts(built_in_gpus().with_gpus(gpus.values()), tuple(cnns.values()))
    runs = unmeasured_runs("questions", list(rows.values()), facts)
    scaling = None if handling(law).covers_multi_gpu else formula_named(SCALING_FORMULA)
    answers = dict(zip(rows, predict_runs(law, runs, scaling), strict=True))
    return [answers.get(number) for number in range(len(asked))]


def cost_of(asked, time_s):
    """The price of the whole training."""
    steps = math.ceil(IMAGES / (asked["batch"] * asked["n_gpus"]))
    return EPOCHS * steps * time_s / 3600 * asked["n_gpus"] * price_of(asked)
