import math

import pytest
from trainlaw.datasets.files.numbers import decimal_marks, number_of


@pytest.mark.parametrize(
    ("text", "mark", "value"),
    [
        ("12.5", ".", 12.5),
        ("12,5", ",", 12.5),
        ("1.234,5", ",", 1234.5),
        ("1,234.5", ".", 1234.5),
        ("1'234.5", ".", 1234.5),
        ("1\u202f234,5", ",", 1234.5),
        ("1.234.567", ",", 1234567.0),
        ("0,125", ",", 0.125),
        ("0.125", ".", 0.125),
        ("1234.567", ".", 1234.567),
        ("-3,2e-2", ",", -0.032),
    ],
)
def test_a_number_shows_its_decimal_mark(text, mark, value):
    assert decimal_marks([text]) == {mark}
    assert number_of(text, mark) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "marks"), [("1,234", {"?,"}), ("1.234", {"?."}), ("12", set()), ("x", set())]
)
def test_three_digits_behind_a_mark_may_mean_either(text, marks):
    assert decimal_marks([text]) == marks


@pytest.mark.parametrize(
    ("text", "decimal"),
    [
        ("12,5", "."),
        ("1.5", ","),
        ("1,23,456", "."),
        ("1.2.3", "."),
        ("12 ms", "."),
        ("nan", "."),
        ("1e999", "."),
    ],
)
def test_what_does_not_fit_is_no_number(text, decimal):
    assert math.isnan(number_of(text, decimal))
