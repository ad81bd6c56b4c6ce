"""Workbooks as LibreOffice computes them, whatever values are stored in their cells."""

import shutil
import subprocess
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

import pytest

SOFFICE = shutil.which("soffice")
# Mode 0 is "always"; without it LibreOffice shows the stored values and a check proves nothing.
ALWAYS, NEVER = 0, 1
_ITEM = (
    '<item oor:path="/org.openoffice.Office.Calc/Formula/Load">'
    '<prop oor:name="{kind}RecalcMode" oor:op="fuse"><value>{mode}</value></prop></item>'
)
_PROFILE = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<oor:items xmlns:oor="http://openoffice.org/2001/registry">{}</oor:items>'
)


def needs_libreoffice(test: Callable) -> Callable:
    """Mark a test as slow, and skip it where LibreOffice is not installed."""
    absent = pytest.mark.skipif(SOFFICE is None, reason="LibreOffice (soffice) is not installed")
    return pytest.mark.slow(absent(test))


def read_book(file: Path | BinaryIO, values: bool = True) -> object:
    """Return a workbook: its stored values, or its formulas."""
    openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl, which is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # openpyxl says that it drops bars inside cells
        return openpyxl.load_workbook(file, data_only=values)


class Recalculated(Mapping):
    """Books of values, by file name, of workbooks that LibreOffice has loaded and saved.

    A start takes a second, so all workbooks of a file of tests are best computed in one; each is read when a
    test asks for it.
    """

    def __init__(self, files: Mapping[str, bytes], folder: Path, mode: int = ALWAYS) -> None:
        profile, source, self._target = folder / "profile" / "user", folder / "in", folder / "out"
        for path in (profile, source, self._target):
            path.mkdir(parents=True)
        items = "".join(_ITEM.format(kind=kind, mode=mode) for kind in ("OOXML", "ODF"))
        (profile / "registrymodifications.xcu").write_text(_PROFILE.format(items))
        for name, data in files.items():
            (source / name).write_bytes(data)
        self._names = tuple(files)
        home = f"-env:UserInstallation=file://{profile.parent}"
        command = [SOFFICE, home, "--headless", "--convert-to", "xlsx", "--outdir", self._target]
        command += [source / name for name in files]
        subprocess.run([str(part) for part in command], check=True, capture_output=True, timeout=300)

    def __getitem__(self, name: str) -> object:
        return read_book(self._target / name)

    def __iter__(self) -> object:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
