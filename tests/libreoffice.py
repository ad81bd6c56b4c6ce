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
# Of cells that LibreOffice computes in threads, some may be read before they are there.
_ONE_THREAD = (
    '<item oor:path="/org.openoffice.Office.Calc/Formula/Calculation">'
    '<prop oor:name="UseThreadedCalculationForFormulaGroups" oor:op="fuse"><value>false</value></prop></item>'
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


def recalculated(files: Mapping[str, bytes], folder: Path, mode: int = ALWAYS) -> dict[str, object]:
    """Return books of values, by file name, of workbooks that LibreOffice has loaded and saved.

    A start takes a second, so all workbooks of a test, or of several, are best computed in one. The folder
    holds LibreOffice's settings for the next call, too.
    """
    profile = folder / f"profile-{mode}" / "user"
    if not profile.exists():
        profile.mkdir(parents=True)
        items = _ONE_THREAD + "".join(_ITEM.format(kind=kind, mode=mode) for kind in ("OOXML", "ODF"))
        (profile / "registrymodifications.xcu").write_text(_PROFILE.format(items))
    source, target = folder / f"in-{mode}", folder / f"out-{mode}"
    for path in (source, target):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
    for name, data in files.items():
        (source / name).write_bytes(data)
    home = f"-env:UserInstallation=file://{profile.parent}"
    command = [SOFFICE, home, "--headless", "--convert-to", "xlsx", "--outdir", target, *source.iterdir()]
    subprocess.run([str(part) for part in command], check=True, capture_output=True, timeout=600)
    return {name: read_book(target / f"{name.rpartition('.')[0]}.xlsx") for name in files}
