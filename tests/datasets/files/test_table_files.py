import gzip
import io
import zipfile

import pandas
import pytest
from trainlaw.datasets.files import table_files
from trainlaw.datasets.files.grids import read_sheets
from trainlaw.datasets.files.table_files import read_table_file
from trainlaw.formulas.errors import InputError


def test_a_gzip_bomb_is_refused_before_it_is_unpacked(write, monkeypatch):
    monkeypatch.setattr(table_files, "MAX_BYTES", 1_000_000)
    bomb = gzip.compress(b"a,b\n" + b"1,2\n" * 1_000_000)
    assert len(bomb) < 10_000
    with pytest.raises(InputError, match="unpacked"):
        read_table_file(write(bomb, "bomb.csv.gz"))


def test_an_excel_bomb_is_refused_before_it_is_unpacked(write, monkeypatch):
    pytest.importorskip("openpyxl")
    monkeypatch.setattr(table_files, "MAX_BYTES", 1_000_000)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 10_000_000)
    with pytest.raises(InputError, match="unpacked"):
        read_table_file(write(packed.getvalue(), "bomb.xlsx"))


def test_a_file_that_is_too_large_is_refused_unread(write, monkeypatch):
    monkeypatch.setattr(table_files, "MAX_BYTES", 10)
    with pytest.raises(InputError, match="at most 10 bytes"):
        read_table_file(write("a,b\n1,2\n3,4\n"))


def test_empty_rows_of_a_sheet_are_skipped(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["gpu", "version"])
    book.active.append([None, None])
    book.active.append(["T4", 1.5])
    book.save(tmp_path / "sheet.xlsx")
    table = read_table_file(tmp_path / "sheet.xlsx", text_columns=["version"])
    assert table.to_numpy().tolist() == [["T4", "1.5"]]


def test_a_far_cell_does_not_make_a_million_rows(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["gpu"])
    book.active.cell(row=1_000_000, column=1, value="T4")
    book.save(tmp_path / "sheet.xlsx")
    with pytest.raises(InputError, match="empty rows"):
        read_table_file(tmp_path / "sheet.xlsx")


def test_cells_are_read_as_they_are(write):
    table = read_table_file(write("a,b,c\nnone,NA,\nnan,1.50,2\n"), text_columns=["b"])
    assert table["a"].tolist() == ["none", "nan"]
    assert table["b"].tolist() == ["NA", "1.50"]
    assert table["c"].isna().tolist() == [True, False]


def test_floats_are_exact(write):
    values = [0.1, 1 / 3, 2.2250738585072014e-308, 123456789.12345679, 5e-324]
    table = read_table_file(write("t\n" + "\n".join(map(repr, values)) + "\n"))
    assert table["t"].tolist() == values


@pytest.fixture
def limits(monkeypatch):
    """Sets limits of the reader for one test."""

    def set_limits(**values):
        for name, value in values.items():
            monkeypatch.setattr(table_files, name, value)

    return set_limits


def test_a_file_of_the_largest_size_is_read(write, limits):
    limits(MAX_BYTES=8)
    assert read_table_file(write("a,b\n1,2\n"))["b"].tolist() == [2]
    with pytest.raises(InputError, match=r"at most 8 bytes in .*, got 9"):
        read_table_file(write("a,b\n1,23\n"))
    with pytest.raises(InputError, match="got an empty file"):
        read_table_file(write(""))


def test_a_zipped_file_may_unpack_to_the_largest_size(write, limits):
    packed = gzip.compress(b"a\n" + b"1\n" * 60)
    limits(MAX_BYTES=122)
    assert len(read_table_file(write(packed, "t.csv.gz"))) == 60
    limits(MAX_BYTES=121)
    with pytest.raises(InputError, match="at most 121 bytes unpacked"):
        read_table_file(write(packed, "t.csv.gz"))


def test_as_many_rows_and_columns_as_allowed_are_read(write, limits):
    limits(MAX_ROWS=2, MAX_COLUMNS=2)
    assert read_table_file(write("a,b\n1,2\n3,4\n")).shape == (2, 2)
    with pytest.raises(InputError, match="at most 2 columns and 2 rows"):
        read_table_file(write("a,b\n1,2\n3,4\n5,6\n"))
    with pytest.raises(InputError, match=r"at most 2 columns in .*, got 3"):
        read_table_file(write("a,b,c\n1,2,3\n"))


def test_a_parquet_table_is_measured_before_it_is_read(tmp_path, limits):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    pandas.DataFrame({"a": [1, 2], "b": [3, 4]}).to_parquet(path)
    limits(MAX_ROWS=2, MAX_COLUMNS=2)
    assert read_table_file(path).to_numpy().tolist() == [[1, 3], [2, 4]]
    limits(MAX_ROWS=1)
    with pytest.raises(InputError, match=r"at most 1 rows, .* got 2"):
        read_table_file(path)
    limits(MAX_ROWS=2, MAX_COLUMNS=1)
    with pytest.raises(InputError, match="2 columns"):
        read_table_file(path)


def test_lines_may_be_long_but_not_endless(write, limits):
    limits(MAX_LINE_BYTES=12, MAX_LINE_CELLS=3)
    assert read_table_file(write("a,b,c,d\n1,2,3,4\n")).shape == (1, 4)
    assert read_table_file(write("abcdefghijk\n1\n")).shape == (1, 1)
    for text in ("abcdefghijkl\n1\n", "a;b;c;d;e\n1;2;3;4;5\n"):
        with pytest.raises(InputError, match="line 1 is too long"):
            read_table_file(write(text))
    with pytest.raises(InputError, match="line 2 is too long"):
        read_table_file(write("a\n1234567890123\n"))


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_separator_is_that_of_the_header(write, separator):
    table = read_table_file(write(f"a{separator}b\n1{separator}2\n", "t.TXT"))
    assert table.to_dict("list") == {"a": [1], "b": [2]}


def test_as_many_empty_rows_as_allowed_are_skipped(tmp_path, limits):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["gpu"])
    book.active.cell(row=5, column=1, value="T4")
    book.active.cell(row=9, column=1, value="K80")
    book.save(tmp_path / "sheet.xlsx")
    limits(MAX_EMPTY_ROWS=3)
    assert read_table_file(tmp_path / "sheet.xlsx")["gpu"].tolist() == ["T4", "K80"]
    limits(MAX_EMPTY_ROWS=2)
    with pytest.raises(InputError, match="at most 2 consecutive empty rows"):
        read_table_file(tmp_path / "sheet.xlsx")


def test_an_encrypted_table_is_refused_by_one_line(tmp_path):
    place = tmp_path / "runs.ods"
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr("content.xml", "<x/>")
    content = bytearray(place.read_bytes())
    # The flag of encryption, in the local header and in the directory.
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    place.write_bytes(content)
    with pytest.raises(InputError, match=r"runs\.ods is not an OpenDocument table: .*encrypted"):
        read_sheets(place)
