"""Columns by name and group weights."""

import pandas as pd
import pytest
from trainlaw.formulas import InputError
from trainlaw.validate.baselines.inputs import class_weights, columns, group_weights


def test_columns_are_a_copy_in_the_order_of_the_names():
    X = pd.DataFrame({"a": [1, 2], "b": [3.0, 4.0]})
    table = columns(X, ["b", "a"], "test")
    assert table.tolist() == [[3.0, 1.0], [4.0, 2.0]]
    table[:] = 0.0
    assert X["b"].tolist() == [3.0, 4.0]
    with pytest.raises(InputError, match="test needs the features c, d, which are not among the 2 given"):
        columns(X, ["a", "c", "d"], "test")


def test_a_group_of_many_rows_has_more_weight_but_less_per_row():
    weights = group_weights(["a"] * 16 + ["b"])
    assert weights.mean() == pytest.approx(1.0)
    assert weights[-1] / weights[0] == pytest.approx(16**0.35)


def test_a_class_of_precisions_with_more_rows_weighs_less_per_row_and_more_in_all():
    X = pd.DataFrame(
        {"bytes_per_element": [4.0] * 90 + [2.0] * 10, "is_tensor_precision": [0.0] * 90 + [1.0] * 10}
    )
    weights = class_weights(X.iloc[::-1])[::-1]
    assert weights[-1] / weights[0] == pytest.approx(9**0.35)
    assert weights.mean() == pytest.approx(1.0)
    assert weights[:90].sum() > weights[90:].sum()
    # Equal bytes, with and without tensor cores, are two classes.
    X["bytes_per_element"] = 4.0
    assert class_weights(X) == pytest.approx(weights)
