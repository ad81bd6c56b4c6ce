"""Custom GPUs: rows of a file that add GPUs or correct known ones."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from trainlaw.datasets.files.checks import typed_frame, value_faults
from trainlaw.datasets.files.faults import Fault, FaultsError
from trainlaw.datasets.files.mapping import absence_faults
from trainlaw.datasets.files.storage import records
from trainlaw.datasets.files.table_files import read_table_file
from trainlaw.datasets.hardware.gpus import GPU_COLUMNS, Gpu, GpuCatalog, built_in_gpus, gpu_from_row
from trainlaw.formulas.errors import InputError, unknown_name

_NAMES = tuple(column.name for column in GPU_COLUMNS)
_TEXTS = tuple(column.name for column in GPU_COLUMNS if column.kind == "text")
_NEEDED = tuple(column for column in GPU_COLUMNS if column.default is None)
# A row that corrects a known GPU may leave all but the name empty.
_FILLED = tuple(replace(column, may_be_empty=column.name != "gpu") for column in GPU_COLUMNS)


def with_gpus(path: str | os.PathLike[str], gpus: GpuCatalog | None = None) -> GpuCatalog:
    """Return a catalog (None: the shipped one) extended by the GPUs in a file in the GPU schema.

    A row with the name of a known GPU corrects it: only its filled cells count. A row with a new name needs
    at least name, multiprocessors, lanes, boost clock, fp32 peak, memory and bandwidth. Raises FaultsError
    with one fault per cell, InputError when the file is not a table or has a column outside the schema.
    """
    name = Path(path).name
    table = read_table_file(path, text_columns=_TEXTS)
    catalog = gpus or built_in_gpus()
    if "gpu" not in table:
        raise FaultsError(name, tuple(absence_faults(table, GPU_COLUMNS[:1])))
    # A misspelt column would be ignored silently.
    for column in table:
        if str(column) not in _NAMES:
            raise InputError(f"{name}: {unknown_name('column of GPUs', str(column), _NAMES)}")
    typed, faults = typed_frame(table, GPU_COLUMNS)
    known = {gpu.gpu: gpu for gpu in catalog.gpus}
    new = typed[~typed["gpu"].isin(list(known))]
    faults += value_faults(typed, _FILLED) + _missing(new)
    if faults:
        raise FaultsError(name, tuple(sorted(set(faults), key=lambda fault: (fault.row or 0, fault.column))))
    for row in records(typed):
        catalog = catalog.with_gpu(_gpu(row, known.get(str(row["gpu"])), name))
    return catalog


def _missing(new: pd.DataFrame) -> list[Fault]:
    """Return a fault per required cell that a new GPU lacks."""
    present = new.reindex(columns=[column.name for column in _NEEDED])
    return [
        Fault(int(row) + 1, column.name, None, f"{column.expected} for a GPU that is not in the catalog")
        for column in _NEEDED
        for row in present.index[present[column.name].isna()]
    ]


def _gpu(row: dict[str, Any], known: Gpu | None, file: str) -> Gpu:
    filled = {name: value for name, value in row.items() if pd.notna(value)}
    source = str(filled.get("source", f"file {file}"))
    if known is None:
        assumed = _assumed(filled)
        gpu = gpu_from_row({**assumed, **filled, "source": source})
        return replace(
            gpu, sources={name: "derived: not in the file" for name in assumed if name not in filled}
        )
    gpu = gpu_from_row({"gpu": known.gpu, **filled, "source": source})
    given = {name: getattr(gpu, name) for name in filled if name != "source"}
    return replace(known, **given, sources={**known.sources, **dict.fromkeys(given, source)})


def _assumed(filled: dict[str, object]) -> dict[str, object]:
    """Return the values assumed for empty cells of a new GPU: the fp32 rate, and a separate group."""
    half = filled.get("peak_fp16_flop_per_s", filled["peak_fp32_flop_per_s"])
    return {
        "gpu_group": filled["gpu"],
        "peak_tf32_flop_per_s": filled["peak_fp32_flop_per_s"],
        "peak_fp16_flop_per_s": half,
        "peak_bf16_flop_per_s": half,
    }
