"""Files of other programs: read within limits, and faults told in one line."""

import importlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from trainlaw.formulas.errors import InputError, MissingDependencyError, TrainlawError, shown
from trainlaw.formulas.files import read_text

# Python needs up to 25 bytes for a byte of JSON.
MAX_TEXT_BYTES = 16 * 2**20


@contextmanager
def faults_of(origin: str) -> Iterator[None]:
    """Turn what a malformed file of another program can raise into an `InputError` that names `origin`.

    A foreign file can be wrong in as many ways as there are lines that read it, so the kinds of error that
    wrong values cause are caught here, once, instead of at each of those lines.
    """
    try:
        yield
    except MissingDependencyError:
        raise
    except TrainlawError as error:
        text = str(error)
        raise InputError(text if origin in text else f"{origin}: {text}") from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        kind = type(error).__name__
        raise InputError(
            f"{origin}: a value is not what its place expects ({kind}: {shown(str(error))})"
        ) from None


def read_json(path: str | os.PathLike[str]) -> Any:
    """The content of a JSON file; raises `InputError` when it cannot be read, is too large or no JSON."""
    text = read_some_text(path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"expected JSON in {path}, got something else at {place} ({error.msg})") from None


def read_some_text(path: str | os.PathLike[str]) -> str:
    """The text of a file that is not empty; raises `InputError` when it cannot be read or is too large."""
    # Spreadsheets write a byte order mark.
    text = read_text(path, MAX_TEXT_BYTES).removeprefix("\ufeff")
    if not text:
        raise InputError(f"expected a network in {path}, got an empty file")
    return text


def optional_package(name: str, extra: str) -> ModuleType:
    """An optional package, imported when it is first needed.

    Raises `MissingDependencyError`, which names the extra of trainlaw that brings it.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        message = f"this needs the package {name}: pip install 'trainlaw[{extra}]'"
        raise MissingDependencyError(message) from None


def name_of_file(path: str | os.PathLike[str]) -> str:
    """A network's name made from a file name: letters, digits, dots, dashes and underscores."""
    # A name goes into tables, pages and workbooks: nothing there may read it as a path or a formula.
    return re.sub(r"[^\w.-]+", "_", Path(path).stem).strip("._-")[:100] or "network"
