"""Every formula that a built-in study produces, run in every language on fifty measured configurations."""

import ctypes
import json
import math
import shutil
import subprocess
import types

import numpy as np
import pytest
from trainlaw.app.models.builtin import BUILT_IN
from trainlaw.datasets import STUDY_FEATURES, TARGET, feature_specs, load
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.formulas import load_formula
from trainlaw.formulas.printers import (
    print_c_function,
    print_javascript,
    print_numpy_function,
    print_python_function,
)
from trainlaw.validate.baselines import baseline

pytestmark = pytest.mark.slow

ROWS = 50
STRICT = "gcc -std=c99 -O2 -Wall -Wextra -Werror".split()
CLOSE = {"rtol": 1e-9, "atol": 0.0}


@pytest.fixture(scope="module")
def rows():
    table = load("fp32-2026")
    chosen = np.linspace(0, len(table) - 1, ROWS).astype(int)
    return table.features().iloc[chosen].reset_index(drop=True)


@pytest.fixture(scope="module")
def laws(rows):
    """The shipped formula, a front, and every baseline that is a formula; with its values on the rows."""
    table = load("fp32-2026")
    X, seconds, labels = table.features(), table.seconds, table.labels()
    groups = labels["gpu_group"].to_numpy(dtype=str)
    settings = SearchSettings(evaluations=2_000, random_seed=3)
    search = FormulaRegressor(feature_specs(STUDY_FEATURES), TARGET, settings)
    search.fit(X[list(STUDY_FEATURES)], seconds, groups)
    found = [load_formula(BUILT_IN), search.formula_, *(member.formula for member in search.front_)]
    for name in ("roofline", "cf9"):
        found.append(baseline(name).make().fit(X, seconds, groups).formula_)
    assert len(found) > 8
    return [(law, law.predict(rows)) for law in found]


def columns_of(law, rows):
    return {spec.name: rows[spec.name].to_numpy() for spec in law.used_features}


def points_of(law, rows):
    """The features of each row; the front begins with a constant, which has none."""
    columns = columns_of(law, rows)
    return [tuple(float(column[row]) for column in columns.values()) for row in range(ROWS)]


def loaded(source):
    module = types.ModuleType("printed")
    exec(compile(source, "printed", "exec"), module.__dict__)
    return module.predict


def test_python_and_numpy(laws, rows):
    for law, truth in laws:
        columns = columns_of(law, rows)
        plain = loaded(print_python_function(law))
        np.testing.assert_allclose([plain(*point) for point in points_of(law, rows)], truth, **CLOSE)
        np.testing.assert_allclose(loaded(print_numpy_function(law))(*columns.values()), truth, **CLOSE)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node, which is not on the PATH")
def test_javascript(laws, rows):
    points = json.dumps(rows.fillna(0.0).to_dict("records"))
    sources = ",".join(f"(() => {{ {print_javascript(law)}\nreturn predict; }})()" for law, _ in laws)
    program = (
        f"const points = {points};console.log(JSON.stringify([{sources}].map(f => points.map(p => f(p)))))"
    )
    done = subprocess.run(["node", "-"], input=program, capture_output=True, text=True, check=True)
    for values, (_, truth) in zip(json.loads(done.stdout), laws, strict=True):
        np.testing.assert_allclose(values, truth, **CLOSE)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc, which is not on the PATH")
def test_c(laws, rows, tmp_path):
    for index, (law, truth) in enumerate(laws):
        source, library = tmp_path / f"{index}.c", tmp_path / f"{index}.so"
        source.write_text(print_c_function(law))
        command = [*STRICT, "-shared", "-fPIC", "-o", library, source, "-lm"]
        subprocess.run(command, check=True, capture_output=True)
        function, points = ctypes.CDLL(str(library)).predict, points_of(law, rows)
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * len(points[0])
        values = [function(*point) for point in points]
        np.testing.assert_allclose(values, truth, **CLOSE)


def test_values_are_times(laws):
    for _, truth in laws:
        assert all(math.isfinite(value) and value > 0 for value in truth)
