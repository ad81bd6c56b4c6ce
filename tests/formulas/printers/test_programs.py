"""Printed functions, run: each computes what its expression does."""

import ctypes
import json
import math
import shutil
import subprocess
import types

import numpy as np
import pytest
from trainlaw.formulas import parse_text, variables
from trainlaw.formulas.printers.programming import FUNCTIONS, LANGUAGES

from .conftest import bare

ROWS = 60


def needs(program):
    """Return where a program is; skip the test where it is missing."""
    place = shutil.which(program)
    if place is None:
        pytest.skip(f"needs {program}, which is not on the PATH")
    return place


def output_of(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert not done.stderr
    return done.stdout


def loaded(source):
    """Return a printed module of Python."""
    module = types.ModuleType("printed")
    exec(compile(source, "printed", "exec"), module.__dict__)
    return module


def in_python(expressions, points, folder):
    for item in expressions:
        function = loaded(FUNCTIONS[".py"](bare(item))).predict
        columns = [points[name].tolist() for name in variables(item)]
        yield [function(*row) for row in zip(*columns, strict=True)] if columns else [function()] * ROWS


def javascript_values(sources, rows):
    """Return the values of all functions on all points: nan where the function gives NaN."""
    program = "".join(f"functions.push((() => {{ {source}\nreturn predict; }})());\n" for source in sources)
    program = (
        f"const functions = []; const points = {json.dumps(rows)};\n{program}"
        "console.log(JSON.stringify(functions.map(f => points.map(p => f(p, {})))));"
    )
    found = json.loads(output_of([needs("node"), "-"], program))
    return [[np.nan if value is None else value for value in row] for row in found]


def in_javascript(expressions, points, folder):
    rows = [{name: column[row] for name, column in points.items()} for row in range(ROWS)]
    return javascript_values([FUNCTIONS[".js"](bare(item)) for item in expressions], rows)


def in_c(expressions, points, folder):
    """All functions in one file, where each has helpers of its own."""
    parts = []
    for index, item in enumerate(expressions):
        parts += [f"#define {name} {name}_{index}" for name in LANGUAGES[".c"].helpers]
        parts += [
            FUNCTIONS[".c"](bare(item), name=f"f{index}"),
            *(f"#undef {name}" for name in LANGUAGES[".c"].helpers),
        ]
    (folder / "all.c").write_text("\n".join(parts))
    flags = "-std=c99 -O0 -Wall -Werror -Wno-div-by-zero -Wno-unused-function -shared -fPIC".split()
    output_of([needs("gcc"), *flags, "-o", folder / "all.so", folder / "all.c", "-lm"])
    library = ctypes.CDLL(str(folder / "all.so"))
    for index, item in enumerate(expressions):
        function, names = library[f"f{index}"], variables(item)
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * len(names)
        yield [function(*(points[name][row] for name in names)) for row in range(ROWS)]


def r_values(lines, folder):
    """Return what a program of R prints as numbers, one row per line."""
    (folder / "all.R").write_text("\n".join(lines), encoding="utf-8")
    printed = output_of([needs("Rscript"), folder / "all.R"])
    return [
        [np.nan if cell in ("NaN", "NA") else float(cell) for cell in line.split()]
        for line in printed.splitlines()
    ]


def in_r(expressions, points, folder):
    lines = [f"{name} <- c({', '.join(map(repr, column.tolist()))})" for name, column in points.items()]
    for item in expressions:
        inputs = ", ".join(f"{name} = {name}" for name in variables(item))
        lines += [
            FUNCTIONS[".R"](bare(item)),
            f'cat(sprintf("%.17g", rep_len(predict_time({inputs}), {ROWS})), "\\n")',
        ]
    return r_values(lines, folder)


RUN = {"Python": in_python, "JavaScript": in_javascript, "C": in_c, "R": in_r}
SLOW = ("C", "R")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "language", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in RUN]
)
def test_printed_forms_compute_the_same(language, many_expressions, points, judge, tmp_path):
    found = RUN[language](many_expressions, points, tmp_path)
    compared = [judge(item, values) for item, values in zip(many_expressions, found, strict=True)]
    valid, invalid = np.sum(compared, axis=0)
    assert valid > 5000 and invalid > 3500


def test_a_missing_feature_is_invalid_in_javascript(law):
    assert np.isnan(javascript_values([FUNCTIONS[".js"](law)], [{"batch": 1}])).all()


def test_names_are_inert_in_r(nasty_laws, tmp_path):
    programs = []
    for nasty in nasty_laws:
        label = "".join(f"\\U{ord(character):08x}" for character in nasty.features[0].name)
        call = f'cat(predict_time(2, 3, "{label}"), predict_time(2, 3), predict_time(2, 3, "none"), "\\n")'
        programs += [FUNCTIONS[".R"](nasty), call]
    assert r_values(programs, tmp_path) == [[11, 7, 7]] * len(nasty_laws)


def test_a_function_of_python_has_a_name_a_header_and_labels(law):
    source = FUNCTIONS[".py"](law, name="seconds")
    assert "# batch [sample] images per iteration, in training 1 to 256" in source
    seconds = loaded(source).seconds
    assert seconds(macs=1e9, batch=32, peak=1e13, traffic=1e9, bandwidth=5e11) == law.predict(
        {"macs": [1e9], "batch": [32], "peak": [1e13], "traffic": [1e9], "bandwidth": [5e11]}
    )
    assert math.isnan(seconds(math.inf, 32, 1e13, 1e9, 5e11))


@pytest.mark.parametrize(
    "text", ["x + 1 / 0", "(1 / 0) ^ 0 * x", "max(log(-1), x)", "x * 1e308 * (1e308 * 10)"]
)
def test_constants_that_are_not_finite(text):
    assert math.isnan(loaded(FUNCTIONS[".py"](bare(parse_text(text)))).predict(2.0))
