import numpy as np
import pandas as pd
import pytest
from trainlaw.datasets.files.checks import MAX_FAULTS, known_names, typed_frame, value_faults
from trainlaw.datasets.files.columns import MAX_TEXT_LENGTH, Column
from trainlaw.datasets.files.faults import Fault, FaultsError, merged_faults, refuse
from trainlaw.formulas.errors import InputError

COUNT = Column("count", "integer", "a count", low=1, high=10)
TIME = Column("time_s", "number", "time", "s", low=0.5, high=2.0, may_be_empty=True)
NAME = Column("name", "text", "a name")
KIND = Column("kind", "text", "a kind", allowed=("a", "b"))


def faulty_rows(column, values):
    return [fault.row for fault in value_faults(pd.DataFrame({column.name: values}), [column])]


def test_bounds_belong_to_the_values():
    assert faulty_rows(TIME, [0.5, 2.0, 0.499, 2.001]) == [3, 4]
    assert faulty_rows(COUNT, [1.0, 10.0, 0.0, 11.0, 2.5]) == [3, 4, 5]


def test_only_columns_that_say_so_may_be_empty():
    assert faulty_rows(TIME, [np.nan]) == []
    (fault,) = value_faults(pd.DataFrame({"count": [2.0, np.nan]}), [COUNT])
    assert (fault.row, fault.value) == (2, None)
    assert str(fault).endswith("expected a whole number from 1 to 10, got an empty cell")


@pytest.mark.parametrize(
    "text", ["=1", "+1", "-1", "@a", " =1", "", " ", "a\nb", "x" * (MAX_TEXT_LENGTH + 1)]
)
def test_texts_that_a_spreadsheet_would_run_are_faults(text):
    assert faulty_rows(NAME, ["fine", text, "a=b", "x" * MAX_TEXT_LENGTH]) == [2]


def test_listed_texts_are_the_only_ones():
    assert faulty_rows(KIND, ["a", "c", "b", "A"]) == [2, 4]


def test_as_many_faults_are_listed_as_are_readable():
    few = value_faults(pd.DataFrame({"count": [0.0] * MAX_FAULTS}), [COUNT])
    assert [fault.row for fault in few] == list(range(1, MAX_FAULTS + 1))
    many = value_faults(pd.DataFrame({"count": [0.0] * (MAX_FAULTS + 1)}), [COUNT])
    assert many[:-1] == few
    assert many[-1].row is None and many[-1].expected.endswith("more such rows follow")


def test_numbers_are_numbers_and_texts_are_texts():
    frame = pd.DataFrame({"count": ["3", "x", None], "name": [1.5, "a", None], "other": [1, 2, 3]})
    typed, faults = typed_frame(frame, [COUNT, NAME])
    assert list(typed.columns) == ["count", "name"]
    assert typed["count"].dtype == np.float64 and typed["count"][0] == 3.0
    assert typed["name"].tolist()[:2] == ["1.5", "a"] and pd.isna(typed["name"][2])
    # An empty cell is not a wrong number.
    assert [(fault.row, fault.value) for fault in faults] == [(2, "x")]


def test_numbers_of_hundreds_of_digits_are_faults_not_errors():
    typed, faults = typed_frame(pd.DataFrame({"count": [10**400, 2]}, dtype=object), [COUNT])
    assert np.isnan(typed["count"][0]) and typed["count"][1] == 2.0
    assert [fault.row for fault in faults] == [1]


def in_lower_case(text):
    if text.isdigit():
        raise InputError("unknown name: try a word")
    return text.lower()


def test_names_become_canonical_and_unknown_ones_are_a_fault_each():
    faults = []
    texts = pd.Series(["A", None, "7", "b", "7"], name="gpu")
    assert known_names(texts, in_lower_case, faults).fillna("").tolist() == ["a", "", "", "b", ""]
    # The first row of a name stands for all of its rows.
    assert faults == [Fault(3, "gpu", "7", "a known name (try a word)")]


def test_the_search_for_near_names_ends_after_the_faults_that_are_listed():
    faults = []
    known_names(pd.Series([str(number) for number in range(100)], name="gpu"), in_lower_case, faults)
    assert len(faults) == MAX_FAULTS + 1


def test_faults_are_sorted_and_the_first_is_shown():
    faults = [Fault(2, "b", 1, "x"), Fault(None, "z", None, "y"), Fault(2, "a", 1, "x")]
    with pytest.raises(FaultsError) as caught:
        refuse("folder/runs.csv", faults)
    assert [(fault.row, fault.column) for fault in caught.value.faults] == [(None, "z"), (2, "a"), (2, "b")]
    assert str(caught.value) == "runs.csv: column z: expected y (and 2 more faults)"
    assert refuse("runs.csv", []) is None
    with pytest.raises(FaultsError, match=r"got 1$"):
        refuse("runs.csv", faults[:1])
    with pytest.raises(FaultsError, match=r"\(and 1 more faults\)$"):
        refuse("runs.csv", faults[:2])


@pytest.mark.parametrize("heading", ["two\nlines", "\x1b[2J", "x" * 5000], ids=["break", "escape", "long"])
def test_any_heading_gives_a_fault_of_one_short_line(heading):
    text = str(Fault(1, heading, 0, "y"))
    assert text.isprintable() and len(text) < 200
    assert text.startswith(f"row 1, column {heading[:2]!r}"[:-1])


def test_a_cell_has_one_fault():
    first, other, same = Fault(1, "a", 0, "x"), Fault(1, "b", 0, "x"), Fault(1, "a", 0, "y")
    assert merged_faults([first], [same, other]) == [first, other]
    assert str(Fault(None, "", None, "a table")) == "expected a table"


def test_what_is_expected_names_only_the_bounds_that_there_are():
    assert Column("x", "number", "x", low=1).expected == "a number from 1"
    assert Column("x", "integer", "x", high=9).expected == "a whole number to 9"
    assert KIND.expected == "one of a, b"
    assert NAME.expected.startswith("text of 1 to 300 printable characters")
