"""The devices of this machine that the GPU table lacks, as a file in the GPU schema beside the runs."""

import csv
import io
import os
from collections.abc import Mapping
from math import isnan
from pathlib import Path

from trainlaw.datasets.hardware.gpu_schema import GPU_COLUMNS
from trainlaw.formulas.errors import InputError
from trainlaw.formulas.files import read_csv, write_text_atomically

_COLUMNS = tuple(column.name for column in GPU_COLUMNS)


class MachineFile:
    """Rows of the GPU schema by name of the device, in `<runs>-machine.csv`."""

    def __init__(self, runs: str | os.PathLike[str]) -> None:
        """Read the file beside the runs, if there is one; InputError where it is another's."""
        place = Path(runs)
        self.path = place.with_name(f"{place.stem}-machine.csv")
        self._rows: dict[str, dict[str, str]] = {}
        if self.path.exists():
            header, rows = read_csv(self.path)
            if "gpu" not in header:
                raise InputError(f"expected a file in the GPU schema, got {self.path} without a column gpu")
            self._rows = {row["gpu"]: row for row in rows}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the devices in the file."""
        return tuple(self._rows)

    def add(self, row: Mapping[str, object]) -> None:
        """Add a device, in place of one of the same name, and write the file."""
        cells = {name: "" if _is_unknown(value) else str(value) for name, value in row.items()}
        self._rows[cells["gpu"]] = cells
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, _COLUMNS, restval="", extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(self._rows.values())
        write_text_atomically(self.path, text.getvalue())


def _is_unknown(value: object) -> bool:
    return value is None or (isinstance(value, float) and isnan(value))
