from trainlaw.formulas.files.codec import anything, every, finite_number, optional, record, text

BOX = record({"a": text}, {"b": optional(finite_number, 7.0)}, closed=True)


def test_an_object_has_its_entries_and_no_other():
    assert BOX({"a": "x", "b": None}, "a box") == {"a": "x", "b": 7.0}
    assert BOX({"a": "x"}, "a box") == {"a": "x"}
    assert record({"a": text})({"a": "x", "c": [1]}, "a box") == {"a": "x", "c": [1]}


def test_numbers_become_floats():
    assert [finite_number(value, "here") for value in (0, -1.5, 2**1023)] == [0.0, -1.5, 2.0**1023]
    assert isinstance(finite_number(3, "here"), float)
    assert every(anything)({"x": [None]}, "here") == {"x": [None]}
