import math
import types

import numpy as np
from trainlaw.formulas import variables
from trainlaw.formulas.printers import print_python_function


def load(source):
    module = types.ModuleType("printed")
    exec(compile(source, "printed", "exec"), module.__dict__)
    return module


def run(source, names, points, count=60):
    function = load(source).predict
    return [function(*(float(points[name][row]) for name in names)) for row in range(count)]


def test_printed_functions_compute_the_same(many_expressions, points, judge):
    compared = [
        judge(item, run(print_python_function(item), variables(item), points)) for item in many_expressions
    ]
    valid, invalid = np.sum(compared, axis=0)
    assert valid > 5000 and invalid > 3500


def test_formula_with_labels_and_header(law):
    source = print_python_function(law, name="seconds")
    assert "# batch [sample] images per iteration, in training 1 to 256" in source
    for part in (
        "# held-out error, macro_mape_percent: 15.5",
        "# origin, data_sha256: ab12",
        "printed by trainlaw",
    ):
        assert part in source
    seconds = load(source).seconds
    assert seconds(macs=1e9, batch=32, peak=1e13, traffic=1e9, bandwidth=5e11) == law.predict(
        {"macs": [1e9], "batch": [32], "peak": [1e13], "traffic": [1e9], "bandwidth": [5e11]}
    )
    assert math.isnan(seconds(math.inf, 32, 1e13, 1e9, 5e11))
