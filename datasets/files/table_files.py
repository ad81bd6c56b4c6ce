"""Read untrusted CSV, Excel and Parquet tables within limits; refuse anything else with a one-line error."""

import csv
import gzip
import os
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
from trainlaw.datasets.files.storage import FLOAT_PRECISION
from trainlaw.formulas.errors import InputError, TrainlawError, given_twice, optional_package, shown
from trainlaw.formulas.files.text_files import opened_file

# Limits of an untrusted file. A million rows, Excel's most, fit; a line of 40 columns takes about 500 bytes.
MAX_BYTES = 128 * 2**20
MAX_LINE_BYTES = 2**18
MAX_COLUMNS = 500
MAX_ROWS = 1_100_000
MAX_CELLS = 50_000_000  # 400 MB of numbers; the widest table has 40 columns
MAX_EMPTY_ROWS = 10_000  # below a table, where spreadsheets keep formats
MAX_LINE_CELLS = 5_000  # ten times the columns: spreadsheets write empty cells behind a table
_SEPARATORS = ",;\t"
_SEPARATOR_BYTES = tuple(separator.encode() for separator in _SEPARATORS)


def read_table_file(path: str | os.PathLike[str], text_columns: Iterable[str] = ()) -> pd.DataFrame:
    """Return the table in a file, one frame column per header cell; an empty cell is a missing value.

    The suffix determines the format: .csv, .tsv, .txt (each also with .gz), .xlsx or .parquet. `text_columns`
    are kept as text even where they look like numbers. Raises InputError when the file is not such a table,
    MissingDependencyError when the package that reads it is not installed.
    """
    place = Path(path)
    endings = [ending.lower() for ending in place.suffixes[-2:]]
    kind = endings[0] if len(endings) == 2 and endings[1] == ".gz" else "".join(endings[-1:])
    if kind not in _READERS:
        raise InputError(f"expected a table in {place} ({', '.join(_READERS)}), got the suffix {shown(kind)}")
    check_size(place, MAX_BYTES)
    table = _READERS[kind](place, tuple(text_columns))
    if len(table.columns) > MAX_COLUMNS or len(table) > MAX_ROWS:
        raise InputError(
            f"expected at most {MAX_COLUMNS} columns and {MAX_ROWS} rows in {place}, got {table.shape}"
        )
    return table


def check_size(place: Path, limit_bytes: int) -> None:
    """Raise InputError where `place` is no file, is empty or larger than a limit."""
    with opened_file(place, limit_bytes) as file:
        if not file.read(1):
            raise InputError(f"expected a table in {place}, got an empty file")


def _read_csv(place: Path, text_columns: tuple[str, ...]) -> pd.DataFrame:
    zipped = place.suffix.lower() == ".gz"
    header, encoding = _scanned_header(place, zipped)
    separator = max(_SEPARATORS, key=header.count)
    with read_as(place, "a CSV table"), warnings.catch_warnings():
        names = next(csv.reader([header], delimiter=separator), [])
        _check_names(names, place)
        # pandas only warns where a row has more cells than there are names.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.read_csv(
            place,
            sep=separator,
            encoding=encoding,
            compression="gzip" if zipped else None,
            dtype=dict.fromkeys(set(names) & set(text_columns), str),
            keep_default_na=False,
            na_values=[""],
            index_col=False,
            low_memory=False,
            float_precision=FLOAT_PRECISION,
        )


def _scanned_header(place: Path, zipped: bool) -> tuple[str, str]:
    """Return the first line of a text file and its encoding after checking the length of every line.

    The parser's time grows with the square of the cells in a line, and a small .gz file can unpack to a huge
    one.
    """
    unpacked, first = 0, b""
    with read_as(place, "a CSV table in UTF-8 or UTF-16"):
        with opened_file(place, MAX_BYTES) as packed, gzip.open(packed) if zipped else packed as file:
            for number, line in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES + 1), b""), start=1):
                first = first or line
                unpacked += len(line)
                most_cells = max(map(line.count, _SEPARATOR_BYTES)) if len(line) > MAX_LINE_CELLS else 0
                if len(line) > MAX_LINE_BYTES or most_cells > MAX_LINE_CELLS:
                    raise InputError(f"{place} is not a CSV table: line {number} is too long")
                if unpacked > MAX_BYTES:
                    raise InputError(f"expected at most {MAX_BYTES} bytes unpacked from {place}, got more")
        encoding = "utf-16" if first[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        # A newline in UTF-16 is two bytes, of which a line in bytes ends between.
        text = first.decode(encoding, "ignore" if encoding == "utf-16" else "strict")
    if "\x00" in text:
        raise InputError(f"{place} is not a CSV table: its first line holds bytes that are not text")
    # A lone carriage return ends a line too.
    return text.replace("\r", "\n").partition("\n")[0], encoding


def _check_names(names: list[str], place: Path) -> None:
    if not names or not all(name.strip() for name in names):
        raise InputError(f"expected a name for each column in the first line of {place}, got {shown(names)}")
    if len(names) > MAX_COLUMNS:
        raise InputError(f"expected at most {MAX_COLUMNS} columns in {place}, got {len(names)}")
    twice = given_twice(names)
    if twice:
        raise InputError(f"expected each column once in {place}, got {shown(twice[0])} more than once")


@contextmanager
def excel_book(place: Path, max_bytes: int) -> Iterator[Any]:
    """Open an Excel workbook to read its values; max_bytes : of the unpacked file.

    Raises InputError for a file that is larger or no such workbook, MissingDependencyError.
    """
    openpyxl = optional_package("openpyxl", "data")
    with read_as(place, "an Excel table"):
        with zipfile.ZipFile(place) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > max_bytes:
            raise InputError(f"expected at most {max_bytes} bytes unpacked from {place}, got {unpacked}")
        book = openpyxl.load_workbook(place, read_only=True, data_only=True)
        yield book
        book.close()


def _read_excel(place: Path, text_columns: tuple[str, ...]) -> pd.DataFrame:
    with excel_book(place, MAX_BYTES) as book:
        cells = pd.DataFrame(list(_filled_rows(excel_rows(book.worksheets[0]), place)), dtype=object)
    # A column without a name and without a value is space between others.
    used = cells.dropna(axis="columns", how="all")
    names = ["" if pd.isna(name) else str(name) for row in used[:1].to_numpy() for name in row]
    _check_names(names, place)
    frame = used[1:].set_axis(names, axis="columns").reset_index(drop=True)
    texts = [name for name in names if name in text_columns]
    return frame.assign(**{name: frame[name].map(str, na_action="ignore") for name in texts})


def excel_rows(sheet: Any) -> Iterator[Sequence[object]]:
    """Yield the rows of a sheet that openpyxl reads row by row, each up to its last filled cell."""
    # With a width that is asked for, or that the file states, openpyxl fills each row up to it.
    sheet.reset_dimensions()
    return (trimmed(row[:MAX_COLUMNS]) for row in sheet.iter_rows(values_only=True))


def trimmed(row: Sequence[object]) -> Sequence[object]:
    """Return the cells of a row up to the last filled one.

    >>> trimmed(("T4", None, 3, None, None))
    ('T4', None, 3)
    """
    width = len(row)
    while width and row[width - 1] is None:
        width -= 1
    return row[:width]


def _filled_rows(rows: Iterable[Sequence[object]], place: Path) -> Iterator[Sequence[object]]:
    """Yield the rows with a filled cell; one stray cell makes a sheet of a million empty rows, 20 us each."""
    empty = 0
    for row in islice(rows, MAX_ROWS):
        empty = 0 if row else empty + 1
        if empty > MAX_EMPTY_ROWS:
            raise InputError(
                f"expected at most {MAX_EMPTY_ROWS} consecutive empty rows in {place}: delete them"
            )
        if row:
            yield row


def _read_parquet(place: Path, text_columns: tuple[str, ...]) -> pd.DataFrame:
    parquet = optional_package("pyarrow.parquet", "data")
    with read_as(place, "a Parquet table"):
        with parquet.ParquetFile(place) as file:
            texts = _checked_columns(file, place)
        # Texts stay in their dictionary until it is known how large they are without it.
        with parquet.ParquetFile(place, read_dictionary=texts) as file:
            table = _with_texts(file.read(), place)
        # Texts that are none would fail wherever they are first looked at.
        table.validate(full=True)
        frame: pd.DataFrame = table.to_pandas()
    _check_names([str(name) for name in frame.columns], place)
    return frame.reset_index(drop=True)


def _checked_columns(file: Any, place: Path) -> list[str]:
    """Return the names of the text columns of an open Parquet file; InputError where it is too large to read.

    What a few bytes of a column unpack to is bounded by its metadata; in one encoding of texts it is not.
    """
    metadata, schema = file.metadata, file.schema_arrow
    rows, columns = metadata.num_rows, metadata.num_columns
    if rows > MAX_ROWS or columns > MAX_COLUMNS or rows * columns > MAX_CELLS:
        raise InputError(
            f"expected at most {MAX_ROWS} rows, {MAX_COLUMNS} columns and {MAX_CELLS} cells in {place}, got "
            f"{rows} rows of {columns} columns"
        )
    for name, kind in zip(schema.names, schema.types, strict=True):
        if kind.num_fields or str(kind).endswith("_view"):
            raise InputError(
                f"expected numbers and texts in {place}, got {kind} in column {shown(name)}"[:300]
            )
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    chunks = [group.column(number) for group in groups for number in range(columns)]
    unpacked = sum(chunk.total_uncompressed_size for chunk in chunks)
    if unpacked > MAX_BYTES or any("DELTA_BYTE_ARRAY" in chunk.encodings for chunk in chunks):
        raise InputError(f"expected at most {MAX_BYTES} bytes unpacked from {place}, got {unpacked} or more")
    kinds = ("string", "large_string", "binary", "large_binary")
    return [name for name, kind in zip(schema.names, schema.types, strict=True) if str(kind) in kinds]


def _with_texts(table: Any, place: Path) -> Any:
    """Return a table of pyarrow with texts in place of dictionaries; InputError where they are too long."""
    compute, unpacked = optional_package("pyarrow.compute", "data"), 0
    for number, (column, field) in enumerate(zip(table.columns, table.schema, strict=True)):
        if not hasattr(field.type, "value_type"):
            continue
        for chunk in column.chunks:
            if "string" in str(chunk.dictionary.type) or "binary" in str(chunk.dictionary.type):
                lengths = compute.binary_length(chunk.dictionary).take(chunk.indices)
                unpacked += compute.sum(lengths).as_py() or 0
        if unpacked > MAX_BYTES:
            raise InputError(
                f"expected at most {MAX_BYTES} bytes unpacked from {place}, got {unpacked} or more"
            )
        plain = column.cast(field.type.value_type)
        table = table.set_column(number, field.name, plain)
    return table


@contextmanager
def read_as(place: Path, kind: str) -> Iterator[None]:
    """Raise InputError, that `place` is not of the kind, where what follows cannot read it."""
    try:
        yield
    except TrainlawError:
        raise
    except pd.errors.ParserWarning:
        raise InputError(f"{place} is not {kind}: its first row has more cells than names") from None
    # Of a broken file, packages pass on whatever their zip, XML, CSV and number parsers raise.
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{place} is not {kind}: {reason}") from None


_READERS: Mapping[str, Callable[[Path, tuple[str, ...]], pd.DataFrame]] = {
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".txt": _read_csv,
    ".xlsx": _read_excel,
    ".parquet": _read_parquet,
}
