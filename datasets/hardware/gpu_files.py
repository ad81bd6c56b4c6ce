"""Custom GPUs: rows of a file that add GPUs or correct known ones."""

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from trainlaw.datasets.files.checks import typed_frame, value_faults
from trainlaw.datasets.files.faults import Fault, FaultsError, merged_faults, refuse
from trainlaw.datasets.files.mapping import absence_faults
from trainlaw.datasets.files.storage import records
from trainlaw.datasets.files.table_files import read_table_file
from trainlaw.datasets.hardware.gpus import (
    GPU_COLUMNS,
    Gpu,
    GpuCatalog,
    built_in_gpus,
    gpu_from_row,
    name_key,
)
from trainlaw.formulas.errors import unknown_name

_PREFIXES = {
    "": 1.0,
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
}
# How data sheets write the units of the GPU schema.
_SPELLINGS = {
    "FLOP/s": r"flops?(?:/s(?:ec)?)?",
    "B/s": r"b(?:yte)?s?/s(?:ec)?|bps",
    "B": r"b(?:ytes?)?",
    "Hz": "hz",
    "W": r"w(?:atts?)?",
}
_QUANTITY = re.compile(
    r"([-+]?[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?)\s*([kKMGTP]i?)?([A-Za-z/]+)"
)


def si_number(text: str, unit: str) -> float:
    """Return the number of a text with a prefix and `unit` in that unit; nan where it is another text.

    >>> si_number("150 TFLOPS", "FLOP/s"), si_number("900 GB/s", "B/s"), si_number("24 GB", "Hz")
    (150000000000000.0, 900000000000.0, nan)
    """
    match = _QUANTITY.fullmatch(text.strip()) if len(text) < 60 else None
    if match is None or unit not in _SPELLINGS:
        return math.nan
    number, prefix, written = match.groups()
    # "Gbit/s" and "Gb/s" are bits.
    if not re.fullmatch(_SPELLINGS[unit], written, re.IGNORECASE) or (unit == "B/s" and written[:1] == "b"):
        return math.nan
    return float(number.replace("_", "")) * _PREFIXES[prefix or ""]


_NAMES = tuple(column.name for column in GPU_COLUMNS)
_TEXTS = tuple(column.name for column in GPU_COLUMNS if column.kind == "text")
_NEEDED = tuple(column for column in GPU_COLUMNS if column.default is None)
# A row that corrects a known GPU may leave all but the name empty.
_MOST_LISTED = 8
# Rates per clock and multiprocessor differ little within a compute capability; data sheets double them with
# sparsity.
_MATRIX_RATES = (
    "peak_fp32_flop_per_s",
    "peak_tf32_flop_per_s",
    "peak_fp16_flop_per_s",
    "peak_bf16_flop_per_s",
    "tensor_fp16_flop_per_s",
)
_16_BIT_RATES = _MATRIX_RATES[2:]
_MOST_OF_KIN = 1.5  # times the highest rate per multiprocessor and cycle of its architecture
# Amounts per multiprocessor, which show the architecture where the file does not state it.
_OF_ARCHITECTURE = (
    "core_count",
    "peak_fp32_flop_per_s",
    "bandwidth_byte_per_s",
    "memory_bytes",
    "l2_bytes",
    "tdp_w",
)
# Specifications that identify a GPU: a correction changes them by at most this factor.
_CORRECTED = (*_OF_ARCHITECTURE[:4], "sm_count", "boost_clock_hz")
_MOST_CORRECTED = 1.5
_NO_CAPABILITY = 30.0  # 75 stands for 7.5, so that every precision would seem to be there
_ASSUMED = "derived: not in the file"
# What empty cells of a new GPU count as, and what that is worth: the times of four CNNs on the shipped GPUs,
# each without the specification, against those with it, in the precisions that it matters to.
_ASSUMPTIONS: Mapping[str, str] = {
    "vendor": "counts as NVIDIA's: times on one of AMD are 26 % too short, at most 36",
    "base_clock_hz": "counts as the boost clock: times are 3 % too short, at most 25",
    "comparable_fp32_flop_per_s": "counts as the fp32 peak: where that counts two operations per lane and "
    "clock, or lanes for integers, times are 19 % too short, at most 31",
    "peak_tf32_flop_per_s": "counts as the fp32 peak: with tensor cores times in tf32 are 15 % too long, at "
    "most 93",
    "peak_fp16_flop_per_s": "counts as the fp32 peak: with tensor cores times in 16 bits are 26 % too long, "
    "at most 127",
    "l2_bytes": "counts as of {kin}, per multiprocessor: times are up to 6 % off",
    "l1_bytes_per_sm": "counts as of {kin}: half of it would make times up to 46 % longer",
    "last_level_cache_bytes": "counts as none: with one, as on RDNA 2 and later, times are 12 % too long, at "
    "most 30",
}
_OF_KIN = ("l1_bytes_per_sm", "l2_bytes")
_FILLED = tuple(replace(column, may_be_empty=column.name != "gpu") for column in GPU_COLUMNS)


def with_gpus(path: str | os.PathLike[str]) -> GpuCatalog:
    """Return the shipped catalog extended by the GPUs in a file in the GPU schema.

    A row with the name of a known GPU corrects it: only its filled cells count. A row with a new name needs
    at least name, multiprocessors, lanes, boost clock, fp32 peak, memory and bandwidth. Numbers are in SI
    units or have their unit, such as "150 TFLOP/s" and "24 GB". Raises FaultsError with one fault per cell
    and column outside the schema, InputError when the file is not a table.
    """
    name = Path(path).name
    table = read_table_file(path, text_columns=_TEXTS)
    catalog = built_in_gpus()
    if "gpu" not in table:
        raise FaultsError(name, tuple(absence_faults(table, GPU_COLUMNS[:1])))
    typed, faults = typed_frame(_in_si_units(table), GPU_COLUMNS)
    known = {gpu.gpu: gpu for gpu in catalog.gpus}
    new = typed[~typed["gpu"].isin(list(known))]
    faults = merged_faults(faults, value_faults(typed, _FILLED))
    faults += _unknown_columns(table) + _missing(new, faults) + _repeated(typed["gpu"])
    if faults:
        ordered = sorted(set(faults), key=lambda fault: (fault.row or 0, fault.column))
        advice = "`trainlaw gpus template` prints the columns, those that are needed first"
        raise FaultsError(name, tuple(ordered), listed=_MOST_LISTED, advice=advice)
    found = [_gpu(row, known.get(str(row["gpu"])), name) for row in records(typed)]
    refuse(name, [fault for number, gpu in enumerate(found, 1) for fault in _strange(number, gpu)])
    refuse(name, _taken(found, catalog))
    return catalog.with_gpus(found)


def assumptions(gpu: Gpu) -> tuple[str, ...]:
    """Return a sentence per specification that a GPU of a file does not state: the assumption, its worth.

    None for a shipped GPU, corrected or not.
    """
    if gpu.gpu in {known.gpu for known in built_in_gpus().gpus} or gpu.device != "GPU":
        return ()
    kin = _kin(gpu).gpu
    absent = [
        name
        for name in _ASSUMPTIONS
        if gpu.sources.get(name) == _ASSUMED or pd.isna(getattr(gpu, name)) or getattr(gpu, name) == ""
    ]
    return tuple(f"{name} is not stated and {_ASSUMPTIONS[name].replace('{kin}', kin)}" for name in absent)


def _taken(found: Sequence[Gpu], catalog: GpuCatalog) -> list[Fault]:
    """Return a fault per name of another GPU, and per correction that makes another GPU of a known one."""
    names = {name_key(name): gpu for gpu in catalog.gpus for name in (*gpu.aliases, gpu.gpu)}
    faults = []
    for row, gpu in enumerate(found, 1):
        for column, texts in (("gpu", (gpu.gpu,)), ("aliases", gpu.aliases)):
            for text in texts:
                known = names.get(name_key(text))
                if known is not None and known.gpu != gpu.gpu:
                    faults.append(Fault(row, column, text, f"another name, or {known.gpu} to correct it"))
        known = names.get(name_key(gpu.gpu))
        if known is None or known.gpu != gpu.gpu:
            continue
        for column in _CORRECTED:
            ours, value = known.number(column), gpu.number(column)
            # Comparisons with an unknown value, nan, are false.
            if value > _MOST_CORRECTED * ours or value < ours / _MOST_CORRECTED:
                said = f"about {ours:.4g}, as {gpu.gpu} has, or another name for a GPU that differs so much"
                faults.append(Fault(row, column, value, said))
    return faults


def _strange(row: int, gpu: Gpu) -> Iterator[Fault]:
    """Yield a fault for numbers that contradict each other, which shows a wrong unit or column."""
    rate, bandwidth, cores = gpu.peak_fp32_flop_per_s, gpu.bandwidth_byte_per_s, gpu.core_count
    lane_cycles, cycles = cores * gpu.boost_clock_hz, _cycles(gpu)
    # Lanes that issue two operations at once are AMD's.
    most_of_lanes = (8 if gpu.vendor == "AMD" else 3) * lane_cycles
    # The last cache of a server's processor may be half a GB where a virtual machine has little memory.
    most_cache = gpu.memory_bytes / (8 if gpu.device == "CPU" else 100)
    # Half of the least and twice the greatest ratio of all shipped GPUs and processors.
    for column, value, least, most, of in (
        ("bandwidth_byte_per_s", bandwidth, rate / 230, rate / 3.4, "B/s for this fp32 rate"),
        ("peak_fp32_flop_per_s", rate, lane_cycles / 2, most_of_lanes, "FLOP/s for these lanes and clock"),
        ("core_count", cores, 4 * gpu.sm_count, 400 * gpu.sm_count, "lanes for these multiprocessors"),
        ("l2_bytes", gpu.l2_bytes, 1e3, most_cache, "B for this memory"),
        (
            "last_level_cache_bytes",
            gpu.last_level_cache_bytes,
            gpu.l2_bytes,
            gpu.memory_bytes / 50,
            "B for this second level and memory",
        ),
        ("l1_bytes_per_sm", gpu.l1_bytes_per_sm, 4e3, 2**20, "B of one multiprocessor"),
        ("tensor_fp16_flop_per_s", gpu.tensor_fp16_flop_per_s, rate, 66 * rate, "FLOP/s for this fp32 rate"),
        ("memory_bytes", gpu.memory_bytes, bandwidth / 250, 100 * bandwidth, "B for this bandwidth"),
    ):
        # Comparisons with an unknown value, nan, are false.
        if (0 < value < least or value > most) and gpu.sources.get(column) != _ASSUMED:
            yield Fault(row, column, value, f"{least:.2g} to {most:.2g} {of}")
    if gpu.compute_capability and not gpu.capability < _NO_CAPABILITY:
        yield Fault(row, "compute_capability", gpu.compute_capability, "a compute capability such as 7.5")
    alike, kin = _alike(gpu)
    for column in _MATRIX_RATES:
        rates = [_matrix_rate(one, column) / _cycles(one) for one in alike]
        most = _MOST_OF_KIN * cycles * max(rates, default=math.inf)
        if gpu.number(column) > most and gpu.sources.get(column) != _ASSUMED:
            said = f"at most {most:.2g} FLOP/s without sparsity, as {kin}"
            yield Fault(row, column, gpu.number(column), said)


def _cycles(gpu: Gpu) -> float:
    return gpu.sm_count * gpu.boost_clock_hz


def _matrix_rate(gpu: Gpu, column: str) -> float:
    """Return the rate in a column; of 16-bit floats the fastest, as accumulation halves it on some GPUs."""
    rates = [gpu.number(name) for name in (_16_BIT_RATES if column in _16_BIT_RATES else (column,))]
    return max(rate for rate in rates if not math.isnan(rate))


def _has_matrix_units(gpu: Gpu) -> bool:
    return gpu.tensor_fp16_flop_per_s > gpu.peak_fp32_flop_per_s


def _alike(gpu: Gpu) -> tuple[list[Gpu], str]:
    """Return shipped GPUs of about the same architecture, and why these.

    They have its compute capability, or are the two with the most similar multiprocessors: of its
    generation, or of all that have matrix units as it has where the file states neither.
    """
    known = [one for one in built_in_gpus().gpus if one.device == gpu.device]
    capability, generation = gpu.compute_capability, gpu.generation.lower()
    of_capability = [one for one in known if capability and one.compute_capability == capability]
    if of_capability:
        return of_capability, f"other GPUs of compute capability {capability}"
    # "Ada" is "Ada Lovelace".
    of_generation = [one for one in known if generation and one.generation.lower().startswith(generation)]
    if (capability or generation) and not of_generation:
        return [], ""
    candidates = of_generation or [one for one in known if _has_matrix_units(one) == _has_matrix_units(gpu)]
    similar = _most_similar(gpu, candidates)
    names = " and ".join(one.gpu for one in similar)
    return similar, f"{names}, the most similar known GPUs (or give compute_capability or generation)"


def _most_similar(gpu: Gpu, candidates: Sequence[Gpu]) -> list[Gpu]:
    """Return the two candidates with the most similar multiprocessors."""
    apart = np.abs(np.array([_architecture(one) for one in candidates]) - _architecture(gpu))
    # A specification that one of both does not state counts as a factor of 2.
    distances = np.where(np.isnan(apart), math.log(2), apart).sum(axis=1)
    return [candidates[place] for place in np.argsort(distances, kind="stable")[:2]]


def _kin(gpu: Gpu) -> Gpu:
    """Return the most similar shipped GPU of about the same architecture, of any where none is known."""
    known = [one for one in built_in_gpus().gpus if one.device == gpu.device]
    return _most_similar(gpu, _alike(gpu)[0] or known)[0]


def _architecture(gpu: Gpu) -> np.ndarray:
    """Return logarithms of the amounts per multiprocessor, nan where they are not known."""
    amounts = [gpu.number(name) / gpu.sm_count for name in _OF_ARCHITECTURE]
    return np.log([amount if amount > 0 else math.nan for amount in (*amounts, gpu.l1_bytes_per_sm)])


def _in_si_units(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with numbers that have a unit, such as 24 GB, in the unit of their column."""
    for column in GPU_COLUMNS:
        if column.name in table and column.unit and not is_numeric_dtype(table[column.name]):
            cells = [_in_si_unit(cell, column.unit) for cell in table[column.name]]
            table = table.assign(**{column.name: pd.Series(cells, index=table.index, dtype=object)})
    return table


def _in_si_unit(cell: object, unit: str) -> object:
    number = si_number(cell, unit) if isinstance(cell, str) else math.nan
    return cell if math.isnan(number) else number


def _unknown_columns(table: pd.DataFrame) -> list[Fault]:
    """Return a fault for the columns outside the schema: a misspelt one would be ignored silently."""
    unknown = [name for name in map(str, table.columns) if name not in _NAMES]
    if not unknown:
        return []
    advice = str(unknown_name("column of GPUs", unknown[0], _NAMES)).partition(": ")[2]
    return [Fault(None, "", ", ".join(unknown), f"columns of the GPU schema ({advice})")]


def _repeated(names: pd.Series) -> list[Fault]:
    """Return a fault per row with the GPU of a row above: only one of both would count."""
    again = (names.duplicated() & names.notna()).to_numpy()
    return [Fault(int(row) + 1, "gpu", names.iloc[row], "each GPU once") for row in np.flatnonzero(again)]


def _missing(new: pd.DataFrame, faults: Sequence[Fault]) -> list[Fault]:
    """Return a fault per new GPU that lacks required cells, apart from cells that have a fault already."""
    seen = {(fault.row, fault.column) for fault in faults}
    left: dict[int, list[str]] = {}
    for column in _NEEDED:
        absent = new[column.name].isna() if column.name in new else pd.Series(True, new.index)
        for row in (int(place) + 1 for place in new.index[absent]):
            if (row, column.name) not in seen:
                left.setdefault(row, []).append(column.name)
    needed = "a value for a GPU that is not in the catalog"
    return [Fault(row, ", ".join(names), None, needed) for row, names in left.items()]


def _gpu(row: dict[str, Any], known: Gpu | None, file: str) -> Gpu:
    filled = {name: value for name, value in row.items() if pd.notna(value)}
    source = str(filled.get("source", f"file {file}"))
    if known is None:
        assumed = _assumed(filled)
        assumed |= _of_kin(gpu_from_row({**assumed, **filled}))
        gpu = gpu_from_row({**assumed, **filled, "source": source})
        return replace(gpu, sources={name: _ASSUMED for name in assumed if name not in filled})
    gpu = gpu_from_row({"gpu": known.gpu, **filled, "source": source})
    given = {name: getattr(gpu, name) for name in filled if name != "source"}
    return replace(known, **given, sources={**known.sources, **dict.fromkeys(given, source)})


def _of_kin(gpu: Gpu) -> dict[str, object]:
    """Return the caches of a GPU that does not state them, as the most similar shipped GPU has them."""
    if gpu.device != "GPU" or not any(math.isnan(gpu.number(name)) for name in _OF_KIN):
        return {}
    kin = _kin(gpu)
    return {"l1_bytes_per_sm": kin.l1_bytes_per_sm, "l2_bytes": kin.l2_bytes / kin.sm_count * gpu.sm_count}


def _assumed(filled: dict[str, object]) -> dict[str, object]:
    """Return the values assumed for empty cells of a new GPU: the fp32 rate, and a separate group."""
    half = filled.get("peak_fp16_flop_per_s", filled["peak_fp32_flop_per_s"])
    return {
        "gpu_group": filled["gpu"],
        "peak_tf32_flop_per_s": filled["peak_fp32_flop_per_s"],
        "peak_fp16_flop_per_s": half,
        "peak_bf16_flop_per_s": half,
    }
