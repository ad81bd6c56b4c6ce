"""CNNs as tables of layers, CSV or JSON: one row per layer, columns named after the fields of `Layer`."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, fields
from typing import Any

from trainlaw.datasets.cnns.graph import MAX_LAYERS, Cnn, Layer
from trainlaw.datasets.cnns.readers.foreign import cnn_name_from_file, foreign_faults
from trainlaw.formulas.errors import InputError, shown
from trainlaw.formulas.files.text_files import MAX_TEXT_BYTES, opened_csv, read_json

_FIELDS = {field.name: field for field in fields(Layer)}
_REQUIRED = tuple(
    name for name, field in _FIELDS.items() if field.default is MISSING and name not in {"name", "inputs"}
)
# A name beginning with one of = + - @ would be a formula in a spreadsheet.
_NAME = re.compile(r"[\w./:][\w./: -]{0,199}")
# Longer numbers are not sizes, and Python would take long to parse them.
_DIGITS = re.compile(r"\d{1,12}")


def read_layer_table(path: str | os.PathLike[str]) -> Cnn:
    """Read a CNN from a table of layers, JSON for the suffix .json, else CSV.

    Columns are the fields of `Layer`; those with a default, and `name`, may be omitted. `inputs` are
    positions or names of earlier layers, separated by spaces (in JSON: a list); without them a layer reads
    the one before it. JSON is a list of rows, or an object with `layers` and optional `name`, `base`,
    `family`. InputError for a file that is not such a table, or whose layers do not form a graph.
    """
    with foreign_faults(str(path)):
        if str(path).lower().endswith(".json"):
            facts, layers = _json_rows(read_json(path))
            return cnn_from_records(layers, cnn_name_from_file(path), facts)
        with opened_csv(path, MAX_TEXT_BYTES, MAX_LAYERS) as (names, rows):
            layers = [dict(zip(names, row, strict=True)) for _, row in rows]
        return cnn_from_records(layers, cnn_name_from_file(path))


def layer_records(cnn: Cnn) -> list[dict[str, Any]]:
    """Return the fields of each layer of a CNN by name; `inputs` are positions."""
    return [{**asdict(layer), "inputs": list(layer.inputs)} for layer in cnn.layers]


def cnn_from_records(
    rows: Iterable[Mapping[str, Any]], name: str, facts: Mapping[str, Any] | None = None
) -> Cnn:
    """Build a CNN from the fields of each layer, as in `read_layer_table`.

    name : of the CNN, unless `facts` holds one. facts : `name`, `base` and `family`. InputError for a field
    that is missing or wrong, or layers that do not form a graph.
    """
    layers: list[Layer] = []
    positions: dict[str, int] = {}
    for row in rows:
        with foreign_faults(f"layer {len(layers)}"):
            layer = _layer(row, len(layers), positions)
        if layer.name in positions:
            raise InputError(f"expected each layer name once, got {shown(layer.name)} twice")
        positions[layer.name] = len(layers)
        layers.append(layer)
        if len(layers) > MAX_LAYERS:
            raise InputError(f"expected at most {MAX_LAYERS} layers")
    if not layers:
        raise InputError("expected at least one layer")
    facts = facts or {}
    name = _name(facts.get("name", name))
    base = _name(facts.get("base", name))
    family = _name(facts.get("family", base))
    return Cnn(name, base, family, layers[0].out_height, layers[-1].out_channels, tuple(layers))


def _layer(row: Mapping[str, Any], position: int, positions: Mapping[str, int]) -> Layer:
    unknown = [key for key in row if key not in _FIELDS]
    missing = [key for key in _REQUIRED if row.get(key) in (None, "")]
    if unknown or missing:
        raise InputError(
            f"expected columns {', '.join(_FIELDS)}; unknown: {shown(unknown)}, empty: {missing}"
        )
    kind = str(row["kind"])
    given = {key: _integer(key, row[key]) for key in row if key in _NUMBERS and row[key] not in (None, "")}
    name = _name(row.get("name") or f"{kind}_{position}")
    inputs = row.get("inputs")
    if inputs in (None, "", []):
        sources = [] if kind == "input" else [position - 1]
    else:
        entries = inputs.split() if isinstance(inputs, str) else inputs
        sources = [
            positions[str(entry)] if str(entry) in positions else _integer("inputs", entry)
            for entry in entries
        ]
    return Layer(name=name, kind=kind, inputs=tuple(sources), **given)


_NUMBERS = frozenset(_FIELDS) - {"name", "kind", "inputs"}


def _integer(key: str, value: Any) -> int:
    # Spreadsheets and pandas write whole numbers as 3.0 where a column has gaps.
    text = str(value).strip().removesuffix(".0")
    if isinstance(value, bool) or not _DIGITS.fullmatch(text):
        raise InputError(f"expected a whole number from 0 as {key}, got {shown(value)}")
    return int(text)


def _name(value: Any) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise InputError(f"expected a name of letters, digits, '_', '.', '/' or ':', got {shown(value)}")
    return value


def _json_rows(content: Any) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    facts = content if isinstance(content, Mapping) else {}
    rows = facts.get("layers") if facts else content
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise InputError("expected a list of layers, each an object")
    return facts, rows
