"""Files of other programs: read within limits, and faults told in one line."""

import importlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from trainlaw.formulas.errors import InputError, MissingDependencyError, TrainlawError, shown

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
        raise InputError(text if text.startswith(origin) else f"{origin}: {text}") from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        kind = type(error).__name__
        raise InputError(
            f"{origin}: a value is not what its place expects ({kind}: {shown(str(error))})"
        ) from None


def read_bytes(path: str | os.PathLike[str], limit_bytes: int) -> bytes:
    """The bytes of a file; raises `InputError` when it cannot be read, is empty, or exceeds `limit_bytes`."""
    goal = Path(path)
    try:
        size = goal.stat().st_size
        if size > limit_bytes:
            raise InputError(f"expected at most {limit_bytes} bytes in {goal}, got {size}")
        data = goal.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read {goal}: {reason}") from None
    if not data:
        raise InputError(f"expected a network in {goal}, got an empty file")
    return data


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
    return re.sub(r"[^\w.-]+", "_", Path(path).stem).strip("._-")[:100] or "network"
