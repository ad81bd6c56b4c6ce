"""Printed functions, queries and models, run: each computes what its expression does."""

import ctypes
import json
import math
import shutil
import sqlite3
import subprocess
import sys
import types

import numpy as np
import pytest
from trainlaw.formulas import parse_text, variables
from trainlaw.formulas.printers import (
    PRINTERS,
    print_c_function,
    print_javascript,
    print_onnx,
    print_python_function,
    print_r,
    print_sql,
    print_torch_function,
)
from trainlaw.formulas.printers.programming import C

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
        function = loaded(print_python_function(item)).predict
        columns = [points[name].tolist() for name in variables(item)]
        yield [function(*row) for row in zip(*columns, strict=True)] if columns else [function()] * ROWS


def over_arrays(language):
    def run(expressions, points, folder):
        for item in expressions:
            values = array_function(language, item)(*(points[name] for name in variables(item)))
            yield np.broadcast_to(values, ROWS)

    return run


def array_function(language, item):
    """Return the printed function of an expression, over and to numpy arrays; numpy stands in for JAX."""
    if language == "torch_function":
        pytest.importorskip("torch")
    with pytest.MonkeyPatch.context() as patch:
        if language == "jax_function":
            stand_in = types.ModuleType("jax")
            stand_in.numpy = np
            patch.setitem(sys.modules, "jax", stand_in)
            patch.setitem(sys.modules, "jax.numpy", np)
        module = loaded(PRINTERS[language](item))
    return lambda *columns: np.asarray(module.predict(*columns))


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
    return javascript_values([print_javascript(item) for item in expressions], rows)


def in_c(expressions, points, folder):
    """All functions in one file, where each has helpers of its own."""
    parts = []
    for index, item in enumerate(expressions):
        parts += [f"#define {name} {name}_{index}" for name in C.helpers]
        parts += [print_c_function(item, name=f"f{index}"), *(f"#undef {name}" for name in C.helpers)]
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
        lines += [print_r(item), f'cat(sprintf("%.17g", rep_len(predict_time({inputs}), {ROWS})), "\\n")']
    return r_values(lines, folder)


def in_sqlite(expressions, points, folder):
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("SELECT LN(2.0), POWER(2.0, 0.5)")
    except sqlite3.OperationalError:
        pytest.skip("needs SQLite with mathematical functions")
    return queried(connection, expressions, points)


def in_duckdb(expressions, points, folder):
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb, which is not installed")
    return queried(duckdb.connect(), expressions, points)


def queried(connection, expressions, points):
    connection.execute("CREATE TABLE runs (x DOUBLE, y DOUBLE, z DOUBLE)")
    rows = [list(map(float, row)) for row in zip(*points.values(), strict=True)]
    connection.executemany("INSERT INTO runs VALUES (?, ?, ?)", rows)
    for item in expressions:
        found = connection.execute(print_sql(item)).fetchall()
        yield [np.nan if row[-1] is None else row[-1] for row in found]


def onnx_values(content, inputs):
    """The only output of a model, by the reference evaluator; nan is a value here."""
    onnx = pytest.importorskip("onnx", reason="needs onnx, which is not installed")
    from onnx.reference import ReferenceEvaluator

    with np.errstate(all="ignore"):
        found = ReferenceEvaluator(onnx.load_from_string(content)).run(None, inputs)[0]
    assert found.dtype == np.float64
    return found


def in_onnx(expressions, points, folder):
    for item in expressions:
        values = onnx_values(print_onnx(item), {name: points[name] for name in variables(item)})
        yield np.broadcast_to(values, ROWS)


ARRAYS = ("numpy_function", "torch_function", "jax_function")
LANGUAGES = {
    "Python": in_python,
    **{name: over_arrays(name) for name in ARRAYS},
    "JavaScript": in_javascript,
    "C": in_c,
    "R": in_r,
    "SQLite": in_sqlite,
    "DuckDB": in_duckdb,
    "ONNX": in_onnx,
}
SLOW = ("C", "R", "SQLite", "DuckDB", "ONNX")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "language", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in LANGUAGES]
)
def test_printed_forms_compute_the_same(language, many_expressions, points, judge, tmp_path):
    found = LANGUAGES[language](many_expressions, points, tmp_path)
    compared = [judge(item, values) for item, values in zip(many_expressions, found, strict=True)]
    valid, invalid = np.sum(compared, axis=0)
    assert valid > 5000 and invalid > 3500


def test_a_missing_feature_is_invalid_in_javascript(law):
    assert np.isnan(javascript_values([print_javascript(law)], [{"batch": 1}])).all()


@pytest.mark.slow
def test_names_are_inert_in_r(nasty_laws, tmp_path):
    programs = []
    for nasty in nasty_laws:
        label = "".join(f"\\U{ord(character):08x}" for character in nasty.features[0].name)
        call = f'cat(predict_time(2, 3, "{label}"), predict_time(2, 3), predict_time(2, 3, "none"), "\\n")'
        programs += [print_r(nasty), call]
    assert r_values(programs, tmp_path) == [[11, 7, 7]] * len(nasty_laws)


def test_a_function_of_python_has_a_name_a_header_and_labels(law):
    source = print_python_function(law, name="seconds")
    assert "# batch [sample] images per iteration, in training 1 to 256" in source
    seconds = loaded(source).seconds
    assert seconds(macs=1e9, batch=32, peak=1e13, traffic=1e9, bandwidth=5e11) == law.predict(
        {"macs": [1e9], "batch": [32], "peak": [1e13], "traffic": [1e9], "bandwidth": [5e11]}
    )
    assert math.isnan(seconds(math.inf, 32, 1e13, 1e9, 5e11))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("language", ARRAYS)
@pytest.mark.parametrize(
    "text", ["x + 1 / 0", "(1 / 0) ^ 0 * x", "max(log(-1), x)", "x * 1e308 * (1e308 * 10)"]
)
def test_constants_that_are_not_finite(text, language):
    assert np.isnan(array_function(language, parse_text(text))(np.array([2.0]))).all()


def test_gradients_pass_through_torch():
    torch = pytest.importorskip("torch")
    x = torch.tensor([3.0], requires_grad=True)
    loaded(print_torch_function(parse_text("x^2 * max(y, 1)"))).predict(x, 2.0).backward()
    assert x.grad.tolist() == [12.0]
