import types

import numpy as np
import pytest
from trainlaw.formulas import parse_text, variables
from trainlaw.formulas.printers import print_numpy_function


def load(source):
    module = types.ModuleType("printed")
    exec(compile(source, "printed", "exec"), module.__dict__)
    return module.predict


def test_printed_functions_compute_the_same(many_expressions, points, judge):
    compared = []
    for item in many_expressions:
        values = load(print_numpy_function(item))(*(points[name] for name in variables(item)))
        compared.append(judge(item, np.broadcast_to(values, 60)))
    assert np.sum(compared, axis=0)[0] > 5000


@pytest.mark.parametrize(
    "text", ["x + 1 / 0", "(1 / 0) ^ 0 * x", "max(log(-1), x)", "x * 1e308 * (1e308 * 10)"]
)
def test_constants_that_are_not_finite(text):
    assert np.isnan(load(print_numpy_function(parse_text(text)))(np.array([2.0]))).all()
