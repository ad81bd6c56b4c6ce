import gzip
import io
import sys
import zipfile

import pytest
from trainlaw.datasets.files import table_files
from trainlaw.datasets.files.table_files import read_table_file
from trainlaw.formulas.errors import InputError, MissingDependencyError


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
    with pytest.raises(InputError, match="the limit is 10"):
        read_table_file(write("a,b\n1,2\n3,4\n"))


@pytest.mark.parametrize("name", ["broken.xlsx", "broken.parquet", "broken.csv.gz"])
@pytest.mark.parametrize(
    "content", [b"PK\x03\x04" + bytes(100), b"PAR1" + bytes(50) + b"PAR1", b"\x1f\x8b\x08\x00" + bytes(9)]
)
def test_broken_files_are_one_clear_line(write, name, content):
    if not name.endswith(".gz"):
        pytest.importorskip({"broken.xlsx": "openpyxl", "broken.parquet": "pyarrow"}[name])
    with pytest.raises(InputError, match="is not a") as caught:
        read_table_file(write(content, name))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "package"), [("t.xlsx", "openpyxl"), ("t.parquet", "pyarrow")])
def test_a_missing_package_is_named_with_its_extra(write, monkeypatch, name, package):
    for module in [module for module in sys.modules if module.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=rf"{package}.*trainlaw\[data\]"):
        read_table_file(write("x", name))


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
