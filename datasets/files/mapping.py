"""Match a user's names with those of the schemas: columns by an explicit mapping, with the unit in a name."""

import re
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from functools import lru_cache

import pandas as pd
from trainlaw.datasets.files.columns import Column
from trainlaw.datasets.files.faults import Fault, plain_name
from trainlaw.formulas.errors import InputError, check_name, unknown_name


def joined_name(text: str) -> str:
    """Return `text` in lower case, without separators except between two digits, where they carry meaning.

    >>> joined_name("ResNet-50"), joined_name("RegNet_X_1.6GF")
    ('resnet50', 'regnetx1_6gf')
    """
    words = re.sub(r"[\s\-_,./]+", "_", text.lower()).strip("_")
    return re.sub(r"(?<=\D)_|_(?=\D)", "", words)


# "precison" is "precision" (0.94), "source_url" is not "source" (0.75).
_LIKENESS = 0.9
# Suffixes of names whose times are not in seconds.
_SECONDS_PER: Mapping[str, float] = {"_ms": 1e-3, "_us": 1e-6, "_ns": 1e-9, "_min": 60.0, "_h": 3600.0}
_NEAR_NAMES: Mapping[str, tuple[str, ...]] = {
    "gpu": ("device", "gpu_name", "card", "accelerator"),
    "cnn": ("model", "network", "net", "arch", "architecture"),
    "batch_per_gpu": ("batch", "batch_size", "bs", "batchsize"),
    "time_s": ("time", "step_time", "iteration_time", "latency", "duration", "seconds", "median_s"),
    "input_size_px": ("input_size", "image_size", "img_size", "resolution", "pixels", "px"),
    "n_classes": ("num_classes", "classes"),
    "n_gpus": ("num_gpus", "gpus", "gpu_count", "ngpus", "world_size", "devices"),
    "n_nodes": ("nodes", "num_nodes"),
    "network": ("fabric", "interconnect"),
    "precision": ("dtype", "amp", "fp16", "mixed_precision"),
    "layout": ("memory_format", "channels_last", "data_format"),
    "compilation": ("compile", "compiler"),
}


def renamed(table: pd.DataFrame, mapping: Mapping[str, str], columns: Iterable[Column]) -> pd.DataFrame:
    """Return `table` with the columns of `mapping` (schema name -> name in the file) renamed to the schema.

    Where the name in the file ends in another unit of time (`_ms`, `_us`, ...), its numbers become seconds.
    Raises UnknownNameError for a name that the schema lacks, InputError for one that the file lacks.
    """
    known = [column.name for column in columns]
    result = table
    for ours, theirs in mapping.items():
        check_name("column of the schema", ours, known)
        if theirs not in table:
            raise InputError(f"the mapping {ours}={theirs} names a column that is not in the file")
        factor = _factor(theirs) if ours.endswith("_s") else 1.0
        values = table[theirs]
        result = result.assign(
            **{ours: values if factor == 1.0 else pd.to_numeric(values, errors="coerce") * factor}
        )
    return result


def _factor(name: str) -> float:
    return next((factor for ending, factor in _SECONDS_PER.items() if name.endswith(ending)), 1.0)


def column_faults(
    table: pd.DataFrame, columns: Iterable[Column], known: Iterable[str], advice: str
) -> list[Fault]:
    """Return a fault per required column that `table` lacks, and per column of it that is not `known`.

    advice : remedy for a column that is not needed.
    """
    faults, ours = absence_faults(table, columns), list(known)
    named = {fault.column for fault in faults}
    # The cells of a column that is not known would be ignored.
    return faults + [
        Fault(None, name, None, f"a known column ({near_columns(name, ours)}); {advice}")
        for name in map(str, table)
        if name not in ours and name not in named
    ]


def near_columns(name: str, known: Iterable[str]) -> str:
    """Return which of the `known` columns an unknown one may be.

    >>> near_columns("amp", ["precision", "layout"])
    "did you mean 'precision'?"
    """
    ours = list(known)
    meant = next((column for column, theirs in _NEAR_NAMES.items() if name.lower() in theirs), "")
    if meant in ours:
        return f"did you mean {meant!r}?"
    return str(unknown_name("column", name, ours)).partition(": ")[2]


def absence_faults(table: pd.DataFrame, columns: Iterable[Column]) -> list[Fault]:
    """Return a fault per required column that `table` lacks, or has in another unit or spelling."""
    faults = []
    for column in columns:
        if column.name in table:
            continue
        converted = _in_another_unit(column, table)
        if converted:
            mapped = f"{column.name}={converted}"
            advice = f"seconds in {column.name}; map it with {mapped}, which converts the unit"
            faults.append(Fault(None, converted, None, advice))
        near = "" if converted else _near_name(column.name, table)
        if column.default is None and not converted:
            advice = f"; map it with {column.name}={plain_name(near)}" if near else ""
            faults.append(Fault(None, column.name, None, f"this column ({column.meaning}){advice}"))
        elif near:
            # Without this fault the default would be used silently, such as the usual input size of the CNN.
            advice = (
                f"the name {column.name} for {column.meaning}; map it with {column.name}={plain_name(near)}"
            )
            faults.append(Fault(None, near, None, advice))
    return faults


def _in_another_unit(column: Column, table: pd.DataFrame) -> str:
    if column.unit != "s":
        return ""
    stem = column.name.removesuffix("_s")
    return next((stem + ending for ending in _SECONDS_PER if stem + ending in table), "")


def _near_name(name: str, table: pd.DataFrame) -> str:
    candidates = _NEAR_NAMES.get(name, ())
    for theirs in map(str, table.columns):
        stem = theirs.lower()
        for ending in _SECONDS_PER:
            stem = stem.removesuffix(ending)
        if stem in candidates or _is_misspelt(theirs.lower(), name):
            return theirs
    return ""


@lru_cache(maxsize=10_000)
def _is_misspelt(theirs: str, name: str) -> bool:
    return SequenceMatcher(None, theirs, name).ratio() > _LIKENESS
