"""CSV files that the profiler writes: rows that survive a killed program, and the devices of this machine."""

import os
from collections.abc import Iterable, Mapping
from math import isnan
from pathlib import Path

from trainlaw.datasets.hardware.gpus import GPU_COLUMNS
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.files.text_files import (
    append_text,
    csv_rows,
    csv_text,
    read_text,
    write_text_atomically,
)

_MAX_BYTES = 512 * 2**20


class RowFile:
    """Rows of named columns in a CSV file.

    The file is created with its header when the first row is added. Each row is one write, flushed to disk
    before `append` returns. An incomplete last line, as after a power cut, is removed.
    """

    def __init__(self, path: str | os.PathLike[str], columns: Iterable[str]) -> None:
        """Read the rows of `path`; raises InputError if that file has other columns."""
        self.path = Path(path)
        self.columns = tuple(columns)
        self._rows = self._read()

    @property
    def rows(self) -> list[dict[str, str]]:
        """The rows as texts by column, "" for empty cells."""
        return [dict(row) for row in self._rows]

    def append(self, row: Mapping[str, object]) -> None:
        """Append a row; columns that `row` lacks stay empty. Raises InputError for other columns, OSError."""
        added = self._cells(row)
        header = csv_text(self.columns, ())
        if not self.path.exists():
            write_text_atomically(self.path, header)
        append_text(self.path, csv_text(self.columns, [added]).removeprefix(header))
        self._rows.append(added)

    def put(self, row: Mapping[str, object], *key: str) -> None:
        """Put a row in place of the one with the same cells in the columns `key`, and write the file."""
        added = self._cells(row)
        others = [other for other in self._rows if any(other[name] != added[name] for name in key)]
        self._rows = [*others, added]
        write_text_atomically(self.path, csv_text(self.columns, self._rows))

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
            write_text_atomically(self.path, whole)
        header, *rows = csv_rows(whole, self.path, ",") or [[]]
        if tuple(header) != self.columns or any(len(row) != len(header) for row in rows):
            raise InputError(
                f"expected a file that this command wrote, got {self.path} with other columns; "
                "choose another --out"
            )
        return [dict(zip(self.columns, row, strict=True)) for row in rows]


def _cell(value: object) -> str:
    """Format a number as its shortest exact text, None and nan as "", and texts on one line."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    return repr(float(value)) if isinstance(value, float) else " ".join(str(value).split())


def sibling(runs: str | os.PathLike[str], ending: str) -> Path:
    """Return the path of a further file next to that of the runs: its name with an ending before .csv.

    >>> sibling("runs.csv", "machine").name
    'runs-machine.csv'
    """
    place = Path(runs)
    return place.with_name(f"{place.stem}-{ending}.csv")


class MachineFile(RowFile):
    """Rows of the GPU schema, one for each device, in `<runs>-machine.csv`."""

    def __init__(self, runs: str | os.PathLike[str]) -> None:
        """Read the file next to the runs, if there is one; InputError if it is not in the GPU schema."""
        super().__init__(sibling(runs, "machine"), (column.name for column in GPU_COLUMNS))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the devices in the file."""
        return tuple(row["gpu"] for row in self.rows)

    def add(self, row: Mapping[str, object]) -> None:
        """Add a device, replacing one of the same name, and write the file."""
        self.put(row, "gpu")
