"""Formulas as files."""

import json
import os
from typing import Any, NoReturn

from trainlaw.formulas.errors import InputError
from trainlaw.formulas.files import read_text, write_text_atomically
from trainlaw.formulas.formula import Formula


def save_formula(formula: Formula, path: str | os.PathLike[str]) -> None:
    """Write a formula as a JSON file, whole or not at all; the same formula gives the same bytes.

    Parameters
    ----------
    formula : Formula
        The formula.
    path : str or path-like
        File to write; an existing one is replaced.

    Raises
    ------
    InputError
        If a field is not plain, finite JSON, or the file cannot be written.
    """
    try:
        text = json.dumps(formula.to_json(), indent=1, allow_nan=False, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"expected plain, finite JSON in the formula's fields: {error}") from None
    write_text_atomically(path, text + "\n")


def load_formula(path: str | os.PathLike[str]) -> Formula:
    """Return the formula in a file that `save_formula` wrote.

    Parameters
    ----------
    path : str or path-like
        File to read; it may come from anyone.

    Returns
    -------
    Formula
        The formula.

    Raises
    ------
    InputError
        If the file is too large, no JSON, or has a wrong field; the message names the file.
    UnknownNameError
        If an operator is unknown.
    """
    text = read_text(path)
    try:
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except RecursionError:
        raise InputError(f"expected a formula in {path}, got JSON that is nested too deeply") from None
    except InputError as error:
        raise InputError(f"{error} (in {path})") from None
    except ValueError as error:
        raise InputError(f"expected JSON in {path}: {error}") from None
    try:
        return Formula.from_json(value)
    except (InputError, LookupError, ValueError) as error:
        raise type(error)(f"{error} (in {path})") from None


def _refuse_constant(name: str) -> NoReturn:
    raise InputError(f"expected finite numbers, got {name}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InputError("expected each field once in a JSON object, got one twice")
    return found
