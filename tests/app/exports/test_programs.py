"""Exported programs that take names say what `trainlaw predict` says, in every language."""

import csv
import json
import os
import random
import runpy
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
from trainlaw.app.exports.formats import export_formula
from trainlaw.app.exports.names import named_model
from trainlaw.app.inputs.requests import runs_of_csv
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.app.predictions.predict import predict_runs
from trainlaw.datasets import FEATURES, TARGET, built_in_gpus, feature_specs, find_cnn_counts
from trainlaw.datasets.cnns.names import cnn_name
from trainlaw.datasets.features.scaling_features import SCALING_FEATURES
from trainlaw.datasets.hardware.possible import has_precision
from trainlaw.datasets.hardware.precisions import PRECISIONS
from trainlaw.formulas import Formula, InputError, load_formula, parse_text, variables

pytestmark = pytest.mark.slow
NODE, GCC, RSCRIPT, JULIA = (shutil.which(name) for name in ("node", "gcc", "Rscript", "julia"))


def law_of(text, **parts):
    expression = parse_text(text)
    return Formula(expression, feature_specs(variables(expression)), TARGET, **parts)


def random_questions(law, count, seed=5):
    """CNN, GPU, batch, precision, layout, tuned, seconds of a launch, pixels, classes; None: default."""
    choose, model = random.Random(seed), named_model(law)
    for _ in range(count):
        cnn, gpu = choose.choice(model.cnns), built_in_gpus().find(choose.choice(model.gpus).name)
        known = [name for name in PRECISIONS if name != "unknown" and has_precision(gpu, name)]
        has_rule = cnn.name in model.sized.rules
        yield (
            cnn.name, gpu.gpu, round(2 ** choose.uniform(0, 11)), choose.choice([None, *known]),
            choose.choice(["nchw", "channels_last"]), choose.random() < 0.3,
            choose.choice([None, 2.5e-5, 9e-4]),
            choose.choice([None, choose.randint(150, 400)] if has_rule else [None, *cnn.sizes]),
            choose.choice([None, choose.randint(32, 3000)]) if has_rule else None,
        )  # fmt: skip


def predicted(law, asked, folder):
    """What `trainlaw predict --from` says: time and interval, precision, warnings; None without a time."""
    names = [
        "cnn", "gpu", "batch_per_gpu", "precision", "layout", "tuned", "host_launch_s", "input_size_px",
        "n_classes",
    ]  # fmt: skip
    with (folder / "asked.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([int(cell) if isinstance(cell, bool) else cell for cell in row] for row in asked)
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


@pytest.fixture(scope="module")
def law():
    return load_formula(BUILT_IN)


SUFFIXES = (".py", ".mjs", ".cjs", ".c", ".h", ".R", ".jl")


def write_programs(law, path, most_bytes=1_000_000, suffixes=SUFFIXES):
    for suffix in suffixes:
        export_formula(law, path / f"law{suffix}", prefix="my_law" if suffix in (".c", ".h") else "")
        assert (path / f"law{suffix}").stat().st_size < most_bytes
    return path


@pytest.fixture(scope="module")
def folder(law, tmp_path_factory):
    return write_programs(law, tmp_path_factory.mktemp("programs"), 300_000)


PYTHON = """
import json, sys
sys.path.insert(0, sys.argv[1])
import law
NAMES = ("n_gpus", "n_nodes", "link", "fabric", "price_per_hour")
def answer(cnn, gpu, batch, precision, layout, tuned, launch, pixels, classes, *others):
    try:
        found = law.predict(
            cnn, gpu, batch, precision, layout=layout, tuned=tuned, host_launch_s=launch,
            pixels=pixels, classes=classes,
            **{name: value for name, value in zip(NAMES, others) if value is not None})
        return [*found[:5], getattr(found, "cost", None)]
    except ValueError as error:
        return None if "not defined here" in str(error) else str(error)
print(json.dumps([answer(*one) for one in json.load(sys.stdin)]))
"""


def python(folder, asked):
    command = [sys.executable, "-I", "-S", "-c", PYTHON, str(folder)]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


JAVASCRIPT = """
const names = ["n_gpus", "n_nodes", "link", "fabric", "price_per_hour"];
const answer = ([cnn, gpu, batch, precision, layout, tuned, host_launch_s, pixels, classes, ...others]) => {
  const named = others.map((value, place) => [names[place], value]);
  const more = Object.fromEntries(named.filter(([, value]) => value !== null));
  try {
    const options = { layout, tuned, host_launch_s, pixels, classes, ...more };
    const found = predict(cnn, gpu, batch, precision, options);
    return [found.time_s, found.low_s, found.high_s, found.precision, found.warnings, found.cost ?? null];
  } catch (error) {
    return error.message.includes("not defined here") ? null : error.message;
  }
};
console.log(JSON.stringify(JSON.parse(fs.readFileSync(0)).map(answer)));
"""


def node(folder, asked, suffix):
    first = (
        'import fs from "node:fs"; import { predict } from "./law.mjs";'
        if suffix == ".mjs"
        else 'const fs = require("node:fs"); const { predict } = require("./law.cjs");'
    )
    (folder / f"ask{suffix}").write_text(first + JAVASCRIPT)
    command = [NODE, folder / f"ask{suffix}"]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


C = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
%s
#include "law.h"
static const char *text(char *cell) { return *cell == '-' && !cell[1] ? NULL : cell; }
int main(void) {
    char line[1000], *cell[14];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        char *rest = line;
        for (int i = 0; i < 14; i++) {
            cell[i] = rest;
            if ((rest = strchr(rest, '\t'))) *rest++ = 0;
        }
        my_law_options options = {
            text(cell[4]), atoi(cell[5]), atof(cell[6]), atoi(cell[7]), atoi(cell[8])%s};
        my_law_prediction found;
        my_law_status status =
            my_law_predict(cell[0], cell[1], atol(cell[2]), text(cell[3]), &options, &found);
        if (status != MY_LAW_OK) { printf("%%d\t%%s\n", status, my_law_message(status)); continue; }
        printf("0\t%%.17g\t%%.17g\t%%.17g\t%%.17g", found.time_s, found.low_s, found.high_s, %s);
        printf("\t%%s", found.precision);
        for (int i = 0; i < found.n_warnings; i++) printf("\t%%s", found.warnings[i]);
        puts("");
    }
    return 0;
}
"""


def compiled(folder, program="alone"):
    """The folder, with a program of the header alone, or of its declarations and the .c file."""
    first, *others = {"alone": ["#define MY_LAW_IMPLEMENTATION"], "linked": ["", "law.c"]}[program]
    is_for_several = "long n_gpus" in (folder / "law.h").read_text()
    more = ", atol(cell[9]), atol(cell[10]), text(cell[11]), text(cell[12]), atof(cell[13]), 0, 0"
    own = (more, "found.cost") if is_for_several else ("", "0.0 / 0.0")
    (folder / f"{program}.c").write_text(C % (first, *own))
    strict = [GCC, "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    command = [*strict, f"{program}.c", *others, "-o", program, "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def c_program(folder):
    return compiled(folder)


def c(folder, asked, program="alone"):
    return by_lines([folder / program], folder, asked)


def by_lines(command, folder, asked):
    """What a program says that reads questions and prints answers, lines of cells with tabs between."""

    def cell(value, default):
        return default if value is None else str(int(value) if isinstance(value, bool) else value)

    defaults = ["", "", "", "-", "-", "0", "0", "0", "0", "0", "0", "-", "-", "0"]
    padded = [[*one, *[None] * (len(defaults) - len(one))] for one in asked]
    text = "".join("\t".join(map(cell, one, defaults)) + "\n" for one in padded)
    utf8 = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        command, input=text, cwd=folder, env=utf8, capture_output=True, text=True, check=True
    )
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    # An interval that there is not has ends that are nan.

    def number(cell):
        return None if cell.lower() in ("-nan", "nan", "na") else float(cell)

    return [
        [*map(number, row[1:4]), row[5], row[6:], number(row[4])]
        if row[0] == "0"
        else None
        if "not defined here" in row[1]
        else row[1]
        for row in rows
    ]


R = r"""
source("law.R")
given <- function(cell, none) if (cell != none) cell
for (line in readLines(file("stdin"))) {
  cell <- strsplit(line, "\t", fixed = TRUE)[[1]]
  number <- function(place) if (cell[place] != "0") as.numeric(cell[place])
  more <- list(n_gpus = number(10), n_nodes = number(11), link = given(cell[12], "-"),
               fabric = given(cell[13], "-"), price_per_hour = number(14))
  cat(tryCatch({
    usual <- list(cell[1], cell[2], as.numeric(cell[3]), given(cell[4], "-"), layout = cell[5],
                  tuned = cell[6] == "1", host_launch_s = number(7), pixels = number(8), classes = number(9))
    found <- do.call(predict_time, c(usual, more[!vapply(more, is.null, TRUE)]))
    cost <- if (is.null(found$cost)) NA else found$cost
    times <- sprintf("%.17g", c(found$time_s, found$low_s, found$high_s, cost))
    paste(c("0", times, found$precision, found$warnings), collapse = "\t")
  }, error = function(fault) paste("1", conditionMessage(fault), sep = "\t")), "\n", sep = "")
}
"""
JULIA_ASKS = r"""
include("law.jl")
number(cell) = cell == "0" ? nothing : parse(Float64, cell)
function more(cell)
    values = [number(cell[1]), number(cell[2]), cell[3], cell[4], number(cell[5])]
    names = (:n_gpus, :n_nodes, :link, :fabric, :price_per_hour)
    return [name => value for (name, value) in zip(names, values) if !(value in (nothing, "-"))]
end
for line in eachline(stdin)
    cell = split(line, "\t")
    try
        found = Law.predict(cell[1], cell[2], parse(Int, cell[3]), cell[4] == "-" ? nothing : cell[4];
            layout = cell[5], tuned = cell[6] == "1",
            host_launch_s = number(cell[7]), pixels = number(cell[8]),
            classes = number(cell[9]), more(cell[10:end])...)
        cost = get(pairs(found), :cost, nothing)
        times = [something(time, NaN) for time in (found.time_s, found.low_s, found.high_s, cost)]
        println(join(["0", times..., found.precision, found.warnings...], "\t"))
    catch fault
        println("1\t", sprint(showerror, fault))
    end
end
"""
INTERPRETED = {
    "R": pytest.param("ask.R", R, [RSCRIPT], marks=pytest.mark.skipif(not RSCRIPT, reason="needs R")),
    "Julia": pytest.param(
        "ask.jl",
        JULIA_ASKS,
        [JULIA, "--compile=min"],
        marks=pytest.mark.skipif(not JULIA, reason="needs Julia"),
    ),
}


@pytest.mark.parametrize(("name", "program", "command"), INTERPRETED.values(), ids=INTERPRETED)
def test_interpreted_languages_refuse_what_they_do_not_know(name, program, command, folder):
    (folder / name).write_text(program)
    faults(by_lines([*command, folder / name], folder, FAULTS))


def changed(**parts):
    usual = {
        "cnn": "resnet50", "gpu": "T4", "batch": 8, "precision": None, "layout": "nchw", "tuned": False,
        "launch": None, "pixels": None, "classes": None,
    }  # fmt: skip
    several = ("n_gpus", "n_nodes", "link", "fabric") if "n_gpus" in parts else ()
    return (*(parts.get(name, value) for name, value in usual.items()), *map(parts.get, several))


FAULTS = {
    changed(cnn="resnet5000"): "CNN",
    changed(cnn="regnet x 16gf"): "may mean several CNNs",
    changed(gpu="A100"): "GPU",
    changed(gpu=""): "GPU",
    changed(batch=0): "batch as a whole number from 1",
    changed(batch=10_000_001): "batch as a whole number from 1",
    changed(precision="fp8"): "precision as one of fp32, tf32",
    changed(layout="nhwc"): "layout as one of nchw, channels_last",
    changed(launch=2.0): "host_launch_s from 1e-07 to 1.0 s",
    changed(n_gpus=9): "share evenly",
    changed(n_gpus=20_000_000): "1 to 10000000",
    changed(n_gpus=2, link="ethernet-10g"): "link",
    changed(n_gpus=16, fabric="nvswitch3"): "fabric",
    changed(cnn="timm/resnest101e", pixels=7): "",
    changed(cnn="timm/resnest101e", classes=7): "",
    changed(cnn="alexnet_torch", pixels=17): "",
    changed(cnn="squeezenet1_0", classes=31): "",
    changed(pixels=100_000): "",
}


SIZES = [
    "pixels of timm/resnest101e as one of 256", "classes of timm/resnest101e as",
    "pixels that the layers of alexnet_torch fit",
    "classes of squeezenet1_0 as a whole number from 32 to 1000000",
    "pixels as a whole number from 1 to 8192",
]  # fmt: skip


def faults(found):
    assert [text in got for text, got in zip(FAULTS.values(), found, strict=True)] == [True] * len(FAULTS)
    assert all(isinstance(got, str) for got in found)


def test_python_refuses_what_it_does_not_know(folder):
    found = python(folder, list(FAULTS))
    faults(found)
    assert "A100-PCIE-40GB" in found[2]
    assert [words in text for words, text in zip(SIZES, found[-5:], strict=True)] == [True] * 5
    (fraction,) = python(folder, [changed(batch=8.5)])
    assert "got 8.5" in fraction


@pytest.mark.skipif(NODE is None, reason="needs Node, which is not on the PATH")
def test_javascript_refuses_what_it_does_not_know(folder):
    found = node(folder, list(FAULTS), ".mjs")
    faults(found)
    assert "A100-PCIE-40GB" in found[2]
    assert [words in text for words, text in zip(SIZES, found[-5:], strict=True)] == [True] * 5


@pytest.mark.skipif(GCC is None, reason="needs gcc, which is not on the PATH")
def test_c_refuses_what_it_does_not_know(c_program):
    faults(c(c_program, list(FAULTS)))


SPELLINGS = [("ResNet-50", "NVIDIA GeForce RTX 3090"), ("res net_50", "rtx3090"), ("RESNET50", "RTX 3090")]


def test_spellings_mean_the_same_in_every_language(folder, request):
    asked = [changed(cnn=cnn, gpu=gpu) for cnn, gpu in SPELLINGS]
    found = python(folder, asked)
    assert found[0] == found[1] == found[2] and found[0][3] == "tf32"
    if NODE:
        compare(node(folder, asked, ".mjs"), found)
    if GCC:
        compare(c(request.getfixturevalue("c_program"), asked), found)


def test_every_further_name_means_what_it_means_to_predict(folder):
    program = runpy.run_path(str(folder / "law.py"))
    assert program["CNN_ALIASES"]["alexnet"] == cnn_name("alexnet")
    assert {name: cnn_name(name) for name in program["CNN_ALIASES"]} == program["CNN_ALIASES"]
    gpus = built_in_gpus()
    assert {name: gpus.find(name).gpu for name in program["GPU_ALIASES"]} == program["GPU_ALIASES"]


def test_every_feature_follows_from_the_names(tmp_path):
    scaling = {feature.spec.name for feature in SCALING_FEATURES}
    # A logarithm, so that the small ones are not lost in the large ones.
    terms = [f"log(1 + {name} * 1e9)" for name in FEATURES if name not in scaling]
    # Sums of sums, because a text may nest 200 levels.
    sums = [f"({' + '.join(terms[start : start + 20])})" for start in range(0, len(terms), 20)]
    law = law_of(" + ".join(sums))
    write_programs(law, tmp_path)
    asked = list(random_questions(law, 16))
    found = predicted(law, asked, tmp_path)
    assert sum(one is not None for one in found) > 8
    compare(python(tmp_path, asked), found)
    if NODE:
        compare(node(tmp_path, asked, ".mjs"), found)
    if GCC:
        compare(c(compiled(tmp_path), asked), found)


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
    assert python(tmp_path, [changed(launch=1e-3)])[0][:3] == [pytest.approx(seconds), None, None]


def test_warnings_of_settings_and_of_a_calibrated_law(tmp_path):
    calibrated = {"gpus": ["T4"], "precisions": ["fp32"], "runs": 1, "error_left_out_percent": None}
    law = law_of(
        "2 * conv_compute_s",
        provenance={
            "calibrated": calibrated, "generations": ["Volta"], "vendors": ["NVIDIA"], "precisions": ["fp32"],
        },
    )  # fmt: skip
    export_formula(law, tmp_path / "law.py")
    asked = [
        changed(), changed(gpu="V100-SXM2-16GB", precision="amp"), changed(gpu="P4"), changed(gpu="MI50"),
        changed(layout="channels_last", tuned=True, launch=1e-4),
    ]  # fmt: skip
    found = predicted(law, asked, tmp_path)
    assert [len(one[4]) for one in found] == [0, 3, 2, 2, 3]
    compare(python(tmp_path, asked), found)


def test_formulas_without_names_stay_functions_of_features(law, tmp_path):
    for other in (load_formula(BUILT_IN.with_name("multi.json")), law):
        export_formula(other, tmp_path / "bare.py", overwrite=True, bare=other is law)
        assert "GPUS" not in (tmp_path / "bare.py").read_text()
        with pytest.raises(InputError, match=r"export this one to .py, .js or .c"):
            export_formula(other, tmp_path / "bare.mjs", bare=other is law)
    with pytest.raises(InputError, match="expected --prefix as a C identifier"):
        export_formula(law, tmp_path / "law.h", prefix="a b")
    with pytest.raises(InputError, match="leave it out"):
        export_formula(law, tmp_path / "law.sql", prefix="a")


def test_no_text_of_a_formula_becomes_code(law, tmp_path):
    hostile = '*/ """ </script> \\ \n import os; raise SystemExit(3) //'
    errors = {**law.errors, "protocol": hostile}
    calibrated = {"gpus": [hostile], "precisions": ["fp32"], "runs": 1, "error_left_out_percent": None}
    provenance = {**law.provenance, hostile: hostile, "calibrated": calibrated}
    export_formula(replace(law, errors=errors, provenance=provenance), tmp_path / "law.py")
    (found,) = python(tmp_path, [changed()])
    assert any(" ".join(hostile.split()) in text for text in found[4])
