import pytest
from trainlaw.formulas import InputError
from trainlaw.formulas.files.json_fields import JsonFields, finite_number, number_pair


def test_only_an_object_has_fields():
    with pytest.raises(InputError, match="expected a JSON object for a box, got"):
        JsonFields([("a", 1)], "box")


def test_a_field_is_there_and_of_its_type():
    fields = JsonFields({"a": 1}, "box")
    assert fields.take("a", int) == 1
    with pytest.raises(InputError, match="expected str as 'a' of a box, got 1"):
        fields.take("a", str)
    with pytest.raises(InputError, match="expected the field 'b' in a box, it is missing"):
        fields.take("b", int)


def test_an_absent_field_may_have_a_value_but_not_another_type():
    fields = JsonFields({"a": "x"}, "box")
    assert (fields.take_optional("a", str, "y"), fields.take_optional("b", str, "y")) == ("x", "y")
    with pytest.raises(InputError, match="expected int"):
        fields.take_optional("a", int, 0)


def test_null_is_a_number_only_where_a_value_replaces_it():
    fields = JsonFields({"null": None, "two": 2}, "box")
    assert fields.take_number("null", 7.0) == 7.0
    assert fields.take_number("two", 7.0) == fields.take_number("two") == 2.0
    with pytest.raises(InputError, match="expected a finite number as null"):
        fields.take_number("null")


def test_unknown_fields_are_refused():
    fields = JsonFields({"a": 1, "c": 2, "b": 3}, "box")
    fields.take("a", int)
    with pytest.raises(InputError, match="expected no field 'b' in a box: remove it"):
        fields.finish()
    fields.take("b", int)
    fields.take_optional("c", int, 0)
    assert fields.finish() is None


def test_a_mapping_is_read_value_by_value_and_names_the_place():
    fields = JsonFields({"m": {"x": 1, "y": "z"}}, "box")
    assert fields.take_mapping("m", lambda value, place: (value, place)) == {
        "x": (1, "m['x']"),
        "y": ("z", "m['y']"),
    }
    with pytest.raises(InputError, match=r"expected a finite number as m\['y'\], got 'z'"):
        fields.take_mapping("m", finite_number)


@pytest.mark.parametrize("value", [True, None, "1", [1], float("nan"), float("inf"), -float("inf"), 2**1024])
def test_what_is_no_finite_number_is_refused(value):
    with pytest.raises(InputError, match="expected a finite number as here"):
        finite_number(value, "here")


def test_numbers_become_floats():
    assert [finite_number(value, "here") for value in (0, -1.5, 2**1023)] == [0.0, -1.5, 2.0**1023]
    assert isinstance(finite_number(3, "here"), float)
    assert number_pair([1, 2.5], "here") == (1.0, 2.5)


@pytest.mark.parametrize("value", [None, (1, 2), [1], [1, 2, 3], "12"])
def test_what_is_no_pair_is_refused(value):
    with pytest.raises(InputError, match=r"expected \[low, high\] as here"):
        number_pair(value, "here")
