"""Exported programs that take names say what `trainlaw predict` says, in Python and JavaScript."""

import csv
import json
import math
import random
import runpy
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from trainlaw.app.exports.formats import export_formula
from trainlaw.app.exports.program_model import named_model
from trainlaw.app.inputs.requests import runs_of_csv
from trainlaw.app.models.builtin import BUILT_IN, formula_named
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.datasets import FEATURES, TARGET, built_in_gpus, feature_specs, find_cnn_counts
from trainlaw.datasets.cnns.names import names_of_cnns
from trainlaw.datasets.features.run_features import SCALING_FEATURES
from trainlaw.datasets.hardware.possible import lacking
from trainlaw.datasets.hardware.precisions import PRECISIONS
from trainlaw.formulas import Formula, InputError, load_formula, parse_text, variables
from trainlaw.formulas.printers.programming import FUNCTIONS

NODE = shutil.which("node")
WRITTEN = Path(__file__).parents[1] / "inputs" / "names_as_written.csv"
needs_node = pytest.mark.skipif(NODE is None, reason="needs Node, which is not on the PATH")


def law_of(text, **parts):
    expression = parse_text(text)
    return Formula(expression, feature_specs(variables(expression)), TARGET, **parts)


def random_questions(law, count, seed=5):
    """CNN, GPU, batch, precision, layout, tuned, seconds of a launch, pixels, classes; None: default."""
    choose, model = random.Random(seed), named_model(law)
    for _ in range(count):
        names, _, *rows = choose.choice(model.cnns).split("|")
        gpu = built_in_gpus().find(choose.choice(model.gpus).partition("|")[0])
        lacks = lacking(gpu)
        known = [name for name in PRECISIONS if name != "unknown" and name not in lacks]
        sizes = [tuple(map(int, row.partition(":")[0].split(","))) for row in rows]
        name, size = choose.choice(names.split(";")), choose.choice([(None, None), *sizes])
        batch, precision = round(2 ** choose.uniform(0, 11)), choose.choice([None, *known])
        setup = (
            choose.choice(["nchw", "channels_last"]),
            choose.random() < 0.3 and "tuned" not in lacks,
        )
        yield (name, gpu.gpu, batch, precision, *setup, choose.choice([None, 2.5e-5, 9e-4]), *size)


def predicted(law, asked, folder):
    """What `trainlaw predict --from` says: time and interval, precision, warnings; None without a time."""
    names = "cnn gpu batch_per_gpu precision layout tuned host_launch_s input_size_px n_classes".split()
    with (folder / "asked.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([int(cell) if isinstance(cell, bool) else cell for cell in row[:9]] for row in asked)
    found = predict_runs(law, runs_of_csv(folder / "asked.csv"))
    return [
        [*map(row.values.get, ("time_s", "low_s", "high_s")), row.precision, list(row.warnings)]
        if row.time_s == row.time_s
        else None
        for row in found
    ]


def compare(got, expected):
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        assert (one is None) == (other is None)
        if other:
            without_interval = other[1] is None
            ends = slice(1 if without_interval else 3)
            assert one[ends] == pytest.approx(other[ends], rel=1e-9)
            assert not without_interval or one[1:3] == [None, None]
            assert (one[3], list(one[4])) == (other[3], other[4])


def write_programs(law, path, suffixes=(".py", ".mjs"), most_bytes=600_000):
    for suffix in suffixes:
        export_formula(law, path / f"law{suffix}")
        assert (path / f"law{suffix}").stat().st_size < most_bytes
    return path


@pytest.fixture(scope="module")
def folder(law, tmp_path_factory):
    return write_programs(law, tmp_path_factory.mktemp("programs"))


PYTHON = """
import json, sys
sys.path.insert(0, sys.argv[1])
import law
def answer(cnn, gpu, batch, precision, layout, tuned, launch, pixels, classes, options={}):
    try:
        found = law.predict(
            cnn, gpu, batch, precision, layout=layout, tuned=tuned, host_launch_s=launch,
            pixels=pixels, classes=classes, **options)
        return [*found[:5], getattr(found, "cost", None)]
    except ValueError as error:
        return None if "not defined here" in str(error) else str(error)
print(json.dumps([answer(*one) for one in json.load(sys.stdin)]))
"""


def python(folder, asked):
    command = [sys.executable, "-I", "-S", "-c", PYTHON, str(folder)]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def node(folder, asked, script="ask.mjs"):
    """What a script next to this file prints about the program in a folder and what is asked."""
    shutil.copy(Path(__file__).with_name(script), folder)
    (folder / "asked.mjs").write_text(f"export default {json.dumps(asked)};")
    done = subprocess.run([NODE, script], cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


USUAL = {
    **{"cnn": "resnet50", "gpu": "T4", "batch": 8, "precision": None, "layout": "nchw", "tuned": False},
    **{"host_launch_s": None, "pixels": None, "classes": None},
}


def changed(**parts):
    """A question by its parts: the first nine in turn, then the options that are given."""
    usual = (parts.pop(name, value) for name, value in USUAL.items())
    return (*usual, parts)


FAULTS = [
    (changed(cnn="resnet5000"), "unknown CNN"),
    (changed(gpu="A100"), "A100-PCIE-40GB"),
    (changed(gpu=""), "unknown GPU"),
    (changed(batch=0), "whole number from 1 to 10"),
    (changed(precision="fp8"), "precision as one of fp32, tf32"),
    (changed(layout="nhwc"), "layout as one of nchw, channels_last"),
    (changed(tuned="false"), "tuned as "),
    (changed(host_launch_s=True), "host_launch_s "),
    (changed(n_gpus=9), "evenly"),
    (changed(n_gpus=2, link="ethernet-10g"), "link as one of"),
    (changed(n_gpus=2, link="nvlink2-x6"), "T4 has no link nvlink2-x6"),
    (changed(n_gpus=16, fabric="nvswitch3"), "fabric as one of"),
    (changed(pixels=225), "pixels and classes of resnet50"),
    (changed(classes=7), "pixels and classes of resnet50"),
]


def faults(found):
    wrong = [(asked, got) for (asked, words), got in zip(FAULTS, found, strict=True) if words not in got]
    assert not wrong


def test_python_refuses_what_it_does_not_know(folder):
    faults(python(folder, [asked for asked, _ in FAULTS]))
    (several,) = python(folder, [changed(cnn="resnext50")])
    assert "may mean several CNNs" in several


@needs_node
def test_javascript_refuses_what_it_does_not_know(folder):
    faults(node(folder, [asked for asked, _ in FAULTS]))


SPELLINGS = [("ResNet-50", "NVIDIA GeForce RTX 3090"), ("res net_50", "rtx3090"), ("RESNET50", "RTX 3090")]


def test_spellings_mean_the_same_in_both_languages(folder):
    asked = [changed(cnn=cnn, gpu=gpu) for cnn, gpu in SPELLINGS]
    found = python(folder, asked)
    assert found[0] == found[1] == found[2] and found[0][3] == "default"
    if NODE:
        compare(node(folder, asked), found)


@cache
def asked_names(count=400, seed=3):
    """Names as people write them, those of the tables, and both with slips; each with its kind."""
    choose, indices = random.Random(seed), {"gpu": built_in_gpus().names, "cnn": names_of_cnns()}
    with WRITTEN.open(encoding="utf-8", newline="") as file:
        rows = [(row["kind"], row["written"]) for row in csv.DictReader(file)]
    rows += [(kind, text) for kind, index in indices.items() for text in (*index.exact, *index.loose)]
    pieces = [
        " ",
        "-",
        "_",
        ".",
        "x",
        "8x ",
        "NVIDIA ",
        " 16GB",
        ", 16384 MiB",
        " (8 GPUs)",
        "\u00a0",
        "\u00ae",
        "\u00e9",
    ]
    for kind, text in choose.choices(rows, k=count):
        place = choose.randrange(len(text) + 1)
        rows.append((kind, text[:place] + choose.choice(pieces) + text[place + choose.randrange(2) :]))
    return rows


@cache
def meanings():
    """What these names mean here: name, candidates, number of GPUs, instance, and what is asked."""
    indices = {"gpu": built_in_gpus().names, "cnn": names_of_cnns()}
    found = [(indices[kind], text, indices[kind].meaning(text)) for kind, text in asked_names()]
    return [[*one[:4], "" if one.name else index.question(text, one)] for index, text, one in found]


def test_names_mean_the_same_in_python(folder):
    program, rows = runpy.run_path(str(folder / "law.py")), asked_names()
    index = {kind: program["_index"](kind.upper()) for kind in ("gpu", "cnn")}
    found = [(index[kind], text, index[kind].meaning(text)) for kind, text in rows]
    assert [
        [*one[:4], "" if one.name else kind.question(text, one)] for kind, text, one in found
    ] == meanings()


@needs_node
def test_names_mean_the_same_in_javascript(folder):
    found = [(one[0], tuple(one[1]), *one[2:]) for one in node(folder, asked_names(), "names.mjs")]
    assert found == [tuple(one) for one in meanings()]


def test_every_feature_follows_from_the_names(tmp_path):
    scaling = {feature.spec.name for feature in SCALING_FEATURES}
    # A logarithm, so that the small ones are not lost in the large ones.
    terms = [f"log(1 + {name} * 1e9)" for name in FEATURES if name not in scaling]
    # Sums of sums, because a text may nest 200 levels.
    sums = [f"({' + '.join(terms[start : start + 20])})" for start in range(0, len(terms), 20)]
    law = law_of(" + ".join(sums))
    # Every count of every CNN is written; formulas need few of them.
    write_programs(law, tmp_path, [".py"], most_bytes=800_000)
    asked = list(random_questions(law, 16))
    found = predicted(law, asked, tmp_path)
    assert sum(one is not None for one in found) > 8
    compare(python(tmp_path, asked), found)


def test_the_tables_hold_what_the_features_need_and_no_more(tmp_path):
    law = law_of("2 * conv_compute_s + 3 * host_s")
    model = named_model(law)
    memory = ("kept_elements", "kept_bytes", "working_elements", "unfolded_elements")
    of_exchange = ("n_conv", "n_depthwise", "n_dense", "n_batchnorm")
    assert model.cnn_columns == ("conv_macs", "params", "n_layers", *of_exchange, *memory)
    said = {"memory_bytes", "is_unknown_l2_bytes", "usual_launch_s", "has_slow_fp16", "has_slow_bf16"}
    said |= {"is_one_die", "peer_access", "per_node", "own_link", "own_fabric"}
    assert set(model.gpu_columns) == {row.peak_column for row in PRECISIONS.values()} | said
    assert set(named_model(law_of("least_time_s + host_s")).gpu_columns) > set(model.gpu_columns)
    export_formula(law_of("host_s"), tmp_path / "law.py")
    assert set(named_model(law_of("host_s")).gpu_columns) == said
    seconds = find_cnn_counts("resnet50").counts["n_layers"] * 1e-3
    assert python(tmp_path, [changed(host_launch_s=1e-3)])[0][:3] == [pytest.approx(seconds), None, None]


def test_warnings_of_settings_and_of_a_calibrated_law(tmp_path):
    calibrated = {"gpus": ["T4"], "precisions": ["fp32"], "runs": 1, "error_left_out_percent": None}
    known = {"generations": ["Volta"], "vendors": ["NVIDIA"], "precisions": ["fp32"]}
    law = law_of("2 * conv_compute_s", provenance={"calibrated": calibrated, **known})
    export_formula(law, tmp_path / "law.py")
    asked = [
        changed(),
        changed(gpu="V100-SXM2-16GB", precision="amp"),
        changed(gpu="P4"),
        changed(gpu="MI50"),
        changed(layout="channels_last", tuned=True, host_launch_s=1e-4),
    ]
    found = predicted(law, asked, tmp_path)
    assert [len(one[4]) for one in found] == [0, 3, 2, 2, 3]
    compare(python(tmp_path, asked), found)


def test_formulas_without_names_stay_functions_of_features(law, tmp_path):
    for other in (load_formula(BUILT_IN.with_name("multi.json")), law):
        export_formula(other, tmp_path / "bare.py", overwrite=True, bare=other is law)
        assert "GPUS" not in (tmp_path / "bare.py").read_text()
        with pytest.raises(InputError, match=r"expected .py, .js, .c, .R, .jl for a function of features"):
            export_formula(other, tmp_path / "bare.mjs", bare=other is law)
    for suffix in FUNCTIONS:
        export_formula(law, tmp_path / f"function{suffix}", bare=True)


@needs_node
def test_a_program_of_forward_passes_is_on_one_gpu(tmp_path):
    write_programs(formula_named("forward"), tmp_path)
    asked = changed(cnn="vgg16", batch=64)
    compare(node(tmp_path, [asked]), python(tmp_path, [asked]))
    (refused,) = node(tmp_path, [changed(n_gpus=2)])
    assert "expected options" in refused and 'got "n_gpus"' in refused


def test_times_alone_are_those_of_predictions(folder):
    program = runpy.run_path(str(folder / "law.py"))
    asked = ("resnet50", "RTX 5050", 8), ("vgg16", "T4", 32, "amp"), ("vgg16", "T4", 32, "amp")
    undefined, time_s, again = (program["seconds"](*one) for one in asked)
    assert math.isnan(undefined) and time_s == again == program["predict"](*asked[1]).time_s


def test_the_times_of_many_rows_are_those_of_each(law, folder):
    program = runpy.run_path(str(folder / "law.py"))
    rows = [(cnn, gpu, batch) for cnn, gpu, batch, *_ in random_questions(law, 40)]
    times = [program["seconds"](*row, "fp32") for row in rows]
    found = program["predict_many"](*zip(*rows, strict=True), "fp32")
    assert found.tolist() == pytest.approx(times, rel=1e-12, nan_ok=True)
    machine = {"n_gpus": 16, "n_nodes": 4, "layout": "channels_last"}
    answer = program["predict"]("resnet50", "T4", 64, **machine)
    assert program["seconds"]("resnet50", "T4", 64, **machine) == answer.time_s == answer.seconds
    assert answer.interval == (answer.low_s, answer.high_s)
    for wrong in ({"batch": [8, 0]}, {"batch": [8, 2.5]}, {"batch": [1, 2, 3]}, {"batch": [8], "tuned": [1]}):
        with pytest.raises(ValueError, match="expected"):
            program["predict_many"](**{"cnn": "resnet50", "gpu": ["T4"] * len(wrong["batch"][:2]), **wrong})


@needs_node
def test_times_alone_are_those_of_predictions_in_javascript(law, folder):
    rows = [row[:3] for row in random_questions(law, 80) if not row[0].startswith("timm/")]
    refusal = "expected batch as a whole number from 1 to 10,000,000, got 0"
    assert node(folder, rows, "times.mjs") == [True, refusal]
