import math

import numpy as np
import pytest
from trainlaw.formulas import Variable, parse_text
from trainlaw.formulas.algebra.evaluation import evaluate
from trainlaw.formulas.algebra.expression import Apply
from trainlaw.formulas.algebra.operators import OPERATORS
from trainlaw.formulas.algebra.scalars import scalar_function

VALUES = (-2.5, -0.0, 0.0, 0.3, 7.0, 1e200, math.inf, math.nan)


@pytest.mark.parametrize("name", OPERATORS)
def test_a_number_has_the_value_of_a_column(name):
    places = "xy"[: OPERATORS[name].arity]
    form = Apply(name, tuple(map(Variable, places)))
    for x in VALUES:
        for y in VALUES:
            point = {"x": x, "y": y}
            # Two rows, since one row is evaluated as a number.
            values, valid = evaluate(form, {place: np.full(2, point[place]) for place in places})
            found = scalar_function(form)(point)
            assert found == values[0] if valid[0] else math.isnan(found)


@pytest.mark.parametrize(
    "text", ["1 / exp(1000 * x)", "min(log(0 - x), 1)", "2 ^ (1 / (x - x))", "max(1e308 * 10, x)"]
)
def test_a_part_that_is_not_finite_is_not_hidden(text):
    assert math.isnan(scalar_function(parse_text(text))({"x": 1.0}))


def test_a_deep_tree_is_left_to_columns():
    form = Variable("x")
    for _ in range(2000):
        form = Apply("neg", (form,))
    assert scalar_function(form) is None
    assert evaluate(form, {"x": np.array([3.0])})[0].tolist() == [3.0]
