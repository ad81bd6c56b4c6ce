from hypothesis import given
from hypothesis import strategies as st
from trainlaw.app.text.csv import inert
from trainlaw.app.text.numbers import show_number, show_seconds
from trainlaw.app.text.tables import text_table, wrapped_list

cells = st.text(st.characters(blacklist_categories=("C", "Z")), max_size=12)


@given(st.lists(st.tuples(cells, cells), max_size=6))
def test_table_has_a_line_per_row_and_aligned_columns(rows):
    lines = text_table(["first", "second"], rows, indent="").split("\n")
    assert len(lines) == len(rows) + 1
    width = max([len("first"), *(len(row[0]) for row in rows)])
    assert all(line[width : width + 2].strip() == "" for line in lines)


def test_numbers_align_right_and_words_left():
    table = text_table(["name", "time"], [["a", "5 ms"], ["longer", "120 ms"], ["c", "-"]], indent="")
    assert table.splitlines()[1] == "a         5 ms"
    assert text_table(["n"], [["25 GPUs in 17 groups"], ["x"]], indent="").splitlines()[2] == "x"


@given(st.floats(1e-8, 1e8))
def test_shown_seconds_are_right_to_three_digits(seconds):
    number, unit = show_seconds(seconds).split(" ")
    shown = float(number.replace(",", "")) * {"s": 1.0, "ms": 1e-3, "µs": 1e-6}[unit]
    assert abs(shown - seconds) <= 0.00501 * seconds


@given(st.floats(-1e300, 1e300))
def test_shown_number_reads_back(value):
    assert abs(float(show_number(value).replace(",", "")) - value) <= 0.00501 * abs(value)


def test_list_is_wrapped_without_losing_a_name():
    names = [f"name{number}" for number in range(40)]
    text = wrapped_list(names, width=30)
    assert max(map(len, text.splitlines())) <= 30
    assert text.replace("\n", " ").replace(",", "").split() == names


def test_full_width_signs_begin_no_formula():
    wide = [chr(ord(sign) + 0xFEE0) for sign in "=+-@"]
    assert [inert(f"{sign}1") for sign in wide] == [f"'{sign}1" for sign in wide]
