"""Lookup tables of workbook, page and programs by the choices of a user: GPUs, CNNs, precisions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from math import isfinite

from trainlaw.datasets import built_in_gpus, cnn_table
from trainlaw.datasets.cnns.catalog import CnnCounts, keyed_cnn_counts
from trainlaw.datasets.cnns.memory import MEMORY_COLUMNS, bytes_per_parameter
from trainlaw.datasets.cnns.names import cnn_names, names_of_cnns
from trainlaw.datasets.cnns.zoo import zoo_entry
from trainlaw.datasets.hardware.gpus import NUMBER_COLUMNS
from trainlaw.datasets.hardware.instances import instances_by_name
from trainlaw.datasets.hardware.precisions import PRECISIONS
from trainlaw.datasets.measurements.runs import STACKS
from trainlaw.datasets.naming import naming_rules
from trainlaw.formulas import Formula
from trainlaw.validate.formula_intervals import intervals_of
from trainlaw.validate.run_classes import run_class

#: Bytes per learned element, by precision: without an optimizer, and what momentum adds.
OF_PRECISION = ("least_bytes_per_param", "momentum_bytes_per_param")


def gpu_rows() -> dict[str, dict[str, str | float]]:
    """Return the specifications of every GPU whose peak rate and bandwidth are known; nan where unknown."""
    rows: dict[str, dict[str, str | float]] = {}
    for gpu in built_in_gpus().gpus:
        if gpu.peak_fp32_flop_per_s > 0 and gpu.bandwidth_byte_per_s > 0:
            numbers = {name: gpu.number(name) for name in NUMBER_COLUMNS}
            texts = {"default_precision": gpu.default_precision, "source": gpu.source, "remark": gpu.remark}
            texts["device"] = gpu.device
            rows[gpu.gpu] = {"vendor": gpu.vendor, "generation": gpu.generation, **numbers, **texts}
    return rows


def cnn_label(cnn: str, input_size_px: int, n_classes: int) -> str:
    """Return the label of a CNN in a drop-down list.

    >>> cnn_label("resnet50", 224, 1000)
    'resnet50, 224 px, 1000 classes'
    """
    return f"{cnn}, {input_size_px} px, {n_classes} classes"


def usual_labels() -> dict[str, str]:
    """Return the label of each CNN at its usual size and classes."""
    sizes = {name: zoo_entry(name) for name in cnn_names()}
    return {name: cnn_label(name, one.input_size_px, one.n_classes) for name, one in sizes.items()}


@dataclass(frozen=True)
class NameTables:
    """What programs and the page need of a kind of names, as `NameIndex` has it.

    exact : further texts by name. keys, loose : a key and its names each. instances : GPU, number, link,
    fabric, price of a GPU for an hour.
    """

    kind: str
    rules: Mapping[str, list[tuple[str, str]]]
    exact: Mapping[str, list[str]]
    keys: list[list[str]]
    loose: list[list[str]]
    sizes: Mapping[str, float]
    instances: Mapping[str, tuple[str, int, str, str, float]]


def name_tables(kind: str) -> NameTables:
    """Return the tables of a kind, "GPU" or "CNN"."""
    index = built_in_gpus().names if kind == "GPU" else names_of_cnns()
    exact: dict[str, list[str]] = {}
    for text, name in index.exact.items():
        exact.setdefault(name, []).extend([text] if text != name else [])
    return NameTables(
        kind,
        naming_rules(kind),
        exact,
        [[key, *names] for key, names in index.keys.items()],
        [[key, *names] for key, names in index.loose.items()],
        {name: size for name, size in index.sizes.items() if isfinite(size)},
        {
            name: (
                one.gpu,
                one.gpus_per_node,
                one.link,
                one.fabric,
                one.price_usd_per_hour / one.gpus_per_node,
            )
            for name, one in instances_by_name().items()
            if name in index.instances
        },
    )


def cnn_rows() -> dict[str, dict[str, str | float]]:
    """Return names and counts per image and forward pass of CNNs by label, each at its usual size too."""
    table = cnn_table()
    rows = [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
    rows += [cnn_row(keyed_cnn_counts(name)) for name in dict.fromkeys(table["cnn"])]
    # The first of equal labels keeps its place.
    return {cnn_label(row["cnn"], row["input_size_px"], row["n_classes"]): row for row in rows}


def cnn_row(cnn: CnnCounts) -> dict[str, str | float]:
    """Return names and counts of a CNN as `cnn_rows` has them."""
    memory = {column: getattr(cnn.memory, column) for column in MEMORY_COLUMNS}
    known = {**vars(cnn), **cnn.counts, **memory}
    return {name: known[name] for name in _cnn_columns()}


@cache
def _cnn_columns() -> tuple[str, ...]:
    return tuple(map(str, cnn_table()))


def precision_rows() -> dict[str, dict[str, str | float]]:
    """Return by precision bytes per element, use of tensor cores, the GPU's column of peak rates, and bytes
    per learned element: least, and what momentum adds.
    """
    return {
        row.precision: {
            "bytes_per_element": row.bytes_per_element,
            "is_tensor_precision": float(row.precision != "fp32"),
            "has_fp32_dense": float(row.has_fp32_dense),
            "peak_column": row.peak_column,
            **dict(zip(OF_PRECISION, map(float, bytes_per_parameter(row.precision)), strict=True)),
        }
        for row in PRECISIONS.values()
        if row.precision != "unknown"
    }


def interval_rows(
    formula: Formula, stacks: Iterable[str] = STACKS
) -> dict[str, dict[str, dict[str, list[float | None]]]]:
    """Return by vendor, precision and stack the factor of the interval for known generations and for others.

    None where there is no interval.
    """
    intervals = intervals_of(formula)
    vendors = sorted({gpu.vendor for gpu in built_in_gpus().gpus})

    def factors(*setup: str) -> list[float | None]:
        kind = run_class(*setup)
        found = (one.factor(kind) for one in (intervals.known, intervals.new))
        return [factor if isfinite(factor) else None for factor in found]

    return {
        vendor: {
            precision: {stack: factors(precision, stack, vendor) for stack in stacks}
            for precision in precision_rows()
        }
        for vendor in vendors
    }
