"""The shipped data files: each is registered by name and sha256, and checked whenever it is read."""

import csv
import gzip
import hashlib
import io
import json
import lzma
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal

import pandas as pd
from trainlaw.formulas.errors import InputError, check_name

# From pandas 3.1 on, read_csv is exact by default and warns about the option that older versions need.
_IS_EXACT = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
FLOAT_PRECISION: Literal["round_trip"] | None = None if _IS_EXACT else "round_trip"
_FOLDER = "trainlaw.datasets.data"


@cache
def registered_files() -> Mapping[str, str]:
    """Return the sha256 of each shipped data file, by file name."""
    text = files(_FOLDER).joinpath("registry.json").read_text(encoding="utf-8")
    return MappingProxyType(json.loads(text))


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table as dictionaries by column name."""
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def read_data_file(name: str) -> bytes:
    """Return the bytes of the shipped data file `name`.

    Raises UnknownNameError for an unregistered name, InputError for a missing or altered file.
    """
    check_name("data file", name, registered_files())
    try:
        data = files(_FOLDER).joinpath(name).read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot read the shipped data file {name}: {error.strerror}; install trainlaw again"
        ) from None
    found, expected = hashlib.sha256(data).hexdigest(), registered_files()[name]
    if found != expected:
        raise InputError(
            f"the shipped data file {name} was altered: expected sha256 {expected[:12]}..., "
            f"got {found[:12]}...; install trainlaw again"
        )
    return data


def _unpacked(name: str) -> bytes:
    data = read_data_file(name)
    if name.endswith(".xz"):
        return lzma.decompress(data)
    return gzip.decompress(data) if name.endswith(".gz") else data


def read_data_table(name: str, text_columns: tuple[str, ...] = ()) -> pd.DataFrame:
    """Return the shipped CSV table `name` as a new frame; an empty cell is a missing value.

    `text_columns` hold text even where it looks like a number (a version such as 1.10).

    Raises the errors of `read_data_file`.
    """
    # "none" is a value in the schemas, so only an empty cell means missing.
    return pd.read_csv(
        io.BytesIO(_unpacked(name)),
        keep_default_na=False,
        na_values=[""],
        dtype=dict.fromkeys(text_columns, str),
        float_precision=FLOAT_PRECISION,
    )


def read_data_rows(name: str) -> list[dict[str, str]]:
    """Return the rows of the shipped CSV table `name` as text by column, without their empty cells.

    Several times faster than `read_data_table` with `records`. Raises the errors of `read_data_file`.
    """
    rows = csv.DictReader(io.StringIO(_unpacked(name).decode("utf-8"), newline=""))
    return [{column: value for column, value in row.items() if value} for row in rows]
