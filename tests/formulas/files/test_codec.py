import pytest
from trainlaw.formulas import InputError
from trainlaw.formulas.files.codec import (
    anything,
    every,
    finite_number,
    flag,
    listed,
    optional,
    record,
    text,
    whole,
)

BOX = record({"a": text}, {"b": optional(finite_number, 7.0)}, closed=True)


def test_an_object_has_its_entries_and_no_other():
    assert BOX({"a": "x", "b": None}, "a box") == {"a": "x", "b": 7.0}
    assert BOX({"a": "x"}, "a box") == {"a": "x"}
    assert record({"a": text})({"a": "x", "c": [1]}, "a box") == {"a": "x", "c": [1]}


@pytest.mark.parametrize(
    ("codec", "value", "message"),
    [
        (BOX, [("a", 1)], "expected a JSON object as a box, got"),
        (BOX, {"a": 1}, "expected a text as a box, a, got 1"),
        (BOX, {"b": 1}, "expected the entry 'a' in a box, it is missing"),
        (BOX, {"a": "x", "d": 1, "c": 2}, "expected no entry 'c' in a box: remove it"),
        (BOX, {"a": "x", "b": "1"}, "expected a finite number as a box, b, got '1'"),
        (every(finite_number), {"x": 1, "y": "z"}, "expected a finite number as a box, 'y', got 'z'"),
        (listed(whole, 2), [1], r"expected a list of 2 as a box, got \[1\]"),
        (listed(whole), [True], "expected a whole number from 0 as a box, got True"),
        (flag, 1, "expected true or false as a box, got 1"),
    ],
)
def test_anything_else_is_refused_with_its_place(codec, value, message):
    with pytest.raises(InputError, match=message):
        codec(value, "a box")


@pytest.mark.parametrize("value", [True, None, "1", [1], float("nan"), float("inf"), -float("inf"), 2**1024])
def test_what_is_no_finite_number_is_refused(value):
    with pytest.raises(InputError, match="expected a finite number as here"):
        finite_number(value, "here")


def test_numbers_become_floats():
    assert [finite_number(value, "here") for value in (0, -1.5, 2**1023)] == [0.0, -1.5, 2.0**1023]
    assert isinstance(finite_number(3, "here"), float)
    assert every(anything)({"x": [None]}, "here") == {"x": [None]}
