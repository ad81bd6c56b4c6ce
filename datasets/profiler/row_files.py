"""A CSV file that grows by whole rows: a killed program loses at most the row that it was about to write."""

import csv
import io
import os
from collections.abc import Callable, Iterable, Mapping
from math import isnan
from pathlib import Path

from trainlaw.formulas.errors import InputError
from trainlaw.formulas.files import read_text, write_bytes_atomically, write_text_atomically

_MAX_BYTES = 512 * 2**20


class RowFile:
    """Rows of named columns in a CSV file.

    The file appears with its header when the first row comes. Rows that come together are one write, forced
    to the disk before `append` or `extend` returns. A torn last line, as after a power cut, is cut off.
    """

    def __init__(self, path: str | os.PathLike[str], columns: Iterable[str]) -> None:
        """The rows of `path`; raises InputError where that file has other columns."""
        self.path = Path(path)
        self.columns = tuple(columns)
        self._rows = self._read()

    @property
    def rows(self) -> list[dict[str, str]]:
        """The rows as texts by column, empty where there is nothing."""
        return [dict(row) for row in self._rows]

    def append(self, row: Mapping[str, object]) -> None:
        """Add a row; columns that `row` lacks stay empty. Raises InputError for other columns, OSError."""
        self.extend((row,))

    def extend(self, rows: Iterable[Mapping[str, object]]) -> None:
        """Add rows together, as `append` adds one."""
        added = [self._cells(row) for row in rows]
        if not self.path.exists():
            write_text_atomically(self.path, _line(self.columns))
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, "".join(_line(cells.values()) for cells in added).encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self._rows += added

    def keep(self, is_wanted: Callable[[Mapping[str, str]], bool]) -> None:
        """Drop the rows (texts by column) that are not wanted."""
        kept = [row for row in self._rows if is_wanted(row)]
        if len(kept) < len(self._rows):
            lines = [_line(self.columns), *(_line(row.values()) for row in kept)]
            write_text_atomically(self.path, "".join(lines))
            self._rows = kept

    def _cells(self, row: Mapping[str, object]) -> dict[str, str]:
        strange = row.keys() - set(self.columns)
        if strange:
            raise InputError(f"{self.path}: expected the columns of the file, got {sorted(strange)}")
        return {name: _cell(row.get(name)) for name in self.columns}

    def _read(self) -> list[dict[str, str]]:
        if not self.path.exists():
            return []
        text = read_text(self.path, _MAX_BYTES)
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            write_bytes_atomically(self.path, whole.encode())
        reader = csv.DictReader(io.StringIO(whole, newline=""))
        if tuple(reader.fieldnames or ()) != self.columns:
            raise InputError(
                f"expected a file that this command wrote, got {self.path} with other columns; "
                "choose another --out"
            )
        return [{name: row[name] or "" for name in self.columns} for row in reader]


def _line(cells: Iterable[str]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def _cell(value: object) -> str:
    """A number as its shortest exact text, nothing for None and nan; texts on one line."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    return repr(float(value)) if isinstance(value, float) else " ".join(str(value).split())
