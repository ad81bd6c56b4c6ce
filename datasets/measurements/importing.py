"""Import users' runs and layers: check each cell, then build a table like the built-in ones."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from trainlaw.datasets.cnns.catalog import CnnCounts, keyed_cnn_counts
from trainlaw.datasets.cnns.names import cnn_name
from trainlaw.datasets.files.checks import MAX_FAULTS, known_names, typed_frame, value_faults
from trainlaw.datasets.files.columns import Column
from trainlaw.datasets.files.faults import Fault, merged_faults, refuse
from trainlaw.datasets.files.mapping import absence_faults, column_faults, renamed
from trainlaw.datasets.files.table_files import read_table_file
from trainlaw.datasets.hardware.collectives import EVEN, gpus_of_nodes
from trainlaw.datasets.hardware.gpus import Gpu, GpuCatalog, built_in_gpus
from trainlaw.datasets.hardware.links import find_link
from trainlaw.datasets.hardware.possible import (
    MOST_GPUS_PER_NODE,
    has_precision,
    impossible_setup,
    impossible_software,
)
from trainlaw.datasets.measurements.copies import copy_faults, target_faults
from trainlaw.datasets.measurements.layers import LAYER_COLUMNS, LayerTable
from trainlaw.datasets.measurements.runs import RUN_COLUMNS, RUN_FILE_COLUMNS, RunTable, with_defaults
from trainlaw.datasets.tables.joins import Facts, numbered
from trainlaw.formulas.errors import InputError, TrainlawError, UnknownNameError

# A CNN whose counts are not shipped is built and counted, about 10 ms each.
MAX_CNNS = 2_000


def import_runs(
    path: str | os.PathLike[str],
    columns: Mapping[str, str] | None = None,
    gpus: GpuCatalog | None = None,
    cnns: Iterable[CnnCounts] = (),
    *,
    ignored: Iterable[str] = (),
) -> RunTable:
    """Return the runs in a CSV, Excel or Parquet file as a run table; repeats of a configuration are kept.

    `columns` maps names of the runs schema to those in the file, such as {"time_s": "latency_ms"}; a name
    that states another unit of time is converted. `gpus` are the known GPUs (None: the shipped ones), `cnns`
    custom CNNs, by name. `ignored` are columns that are neither of the schema nor of the profiler. Raises
    FaultsError with a fault per cell and per other column, InputError when the file is not a table.
    """
    name = Path(path).name
    table = renamed(read_table_file(path, text_columns=_texts(RUN_COLUMNS)), columns or {}, RUN_COLUMNS)
    unread = tuple(ignored)
    known = (*RUN_FILE_COLUMNS, *(columns or {}).values(), *unread)
    needless = [column for column in unread if column not in table or column in RUN_FILE_COLUMNS]
    advice = "a column of the file that is no measurement: leave it out of --ignore"
    refuse(name, [Fault(None, column, None, advice) for column in needless])
    faults = column_faults(
        table, RUN_COLUMNS, known, "remove it, or read the file with `trainlaw data import`"
    )
    refuse(name, faults)
    return runs_from_frame(table, name, gpus, cnns)


def runs_from_frame(
    table: pd.DataFrame, name: str, gpus: GpuCatalog | None = None, cnns: Iterable[CnnCounts] = ()
) -> RunTable:
    """Return the runs in a frame with the columns of the runs schema as a run table.

    Raises FaultsError as `import_runs`.
    """
    refuse(name, absence_faults(table, RUN_COLUMNS))
    catalog, custom = gpus or built_in_gpus(), {facts.cnn: facts for facts in cnns}
    typed, faults = _checked(table, RUN_COLUMNS, name)
    runs, unknown = _named(with_defaults(typed), catalog, custom)
    refuse(name, merged_faults(faults, unknown))
    runs, faults = _sized(runs.assign(precision=_precisions(runs, catalog)), custom)
    refuse(name, faults + _contradictions(runs, catalog) + copy_faults(runs) + target_faults(runs))
    return RunTable(name, _with_integers(runs, RUN_COLUMNS), Facts(catalog, tuple(custom.values())))


def _named(
    runs: pd.DataFrame, catalog: GpuCatalog, custom: Mapping[str, CnnCounts]
) -> tuple[pd.DataFrame, list[Fault]]:
    """Return the runs with canonical names of GPUs, CNNs and links, and a fault per unknown name."""
    faults: list[Fault] = []
    pooled = set(runs["cnn"][runs["pool"] != 0].dropna())
    names = {
        "gpu": lambda text: catalog.find(text).gpu,
        "cnn": lambda text: text if text in custom else _cnn_name(text, text in pooled),
        "link": lambda text: find_link(text).link,
        "network": lambda text: find_link(text).link,
    }
    return runs.assign(
        **{column: known_names(runs[column], known, faults) for column, known in names.items()}
    ), faults


def _precisions(runs: pd.DataFrame, gpus: GpuCatalog) -> pd.Series:
    """Return the precision of each run: where it is that by default, of its framework and version."""
    software = runs.loc[runs["precision"] == "default", ["gpu", "framework", "framework_version"]]
    found = [
        gpus.find(gpu).precision_by_default(str(framework), str(version))
        for gpu, framework, version in software.itertuples(index=False, name=None)
    ]
    return pd.Series(found, software.index, dtype=object).combine_first(runs["precision"])


def _cnn_name(text: str, is_pooled: bool) -> str:
    """Return the canonical name of a CNN; runs that are not pooled may name one without counts."""
    try:
        return cnn_name(text)
    except UnknownNameError:
        if is_pooled:
            raise
        return text


def _sized(runs: pd.DataFrame, custom: Mapping[str, CnnCounts]) -> tuple[pd.DataFrame, list[Fault]]:
    """Return the runs with the usual sizes and classes where none are given, and a fault per bad size."""
    faults: list[Fault] = []
    key = ["cnn", "input_size_px", "n_classes"]
    code, first = numbered(runs[name] for name in key)
    if len(first) > MAX_CNNS:
        wanted = f"at most {MAX_CNNS} different CNNs and sizes"
        return runs, [Fault(None, "cnn", len(first), wanted)]
    sizes = runs[key[1:]].to_numpy(dtype=np.float64)[first]
    for place, (row, cnn) in enumerate(zip(first, runs["cnn"].to_numpy()[first], strict=True)):
        try:
            given = tuple(None if np.isnan(value) else int(value) for value in sizes[place])
            facts = _custom_at(custom[cnn], *given) if cnn in custom else keyed_cnn_counts(cnn, *given)
            sizes[place] = facts.input_size_px, facts.n_classes
        except TrainlawError as error:
            # Only a run that is not pooled gets here with an unknown name: nothing but its sizes is known.
            if isinstance(error, UnknownNameError) and None not in given:
                continue
            expected = f"a size at which it can be built ({error})"
            faults.append(Fault(int(row) + 1, "input_size_px", sizes[place, 0], expected))
    return runs.assign(**dict(zip(key[1:], sizes[code].T, strict=True))), faults


def _custom_at(facts: CnnCounts, input_size_px: int | None, n_classes: int | None) -> CnnCounts:
    if input_size_px not in (None, facts.input_size_px) or n_classes not in (None, facts.n_classes):
        raise InputError(f"{facts.cnn} has {facts.input_size_px} px and {facts.n_classes} classes")
    return facts


def _contradictions(runs: pd.DataFrame, gpus: GpuCatalog) -> list[Fault]:
    """Return a fault per cell that contradicts another column of its row."""
    many, several = runs["n_gpus"] > runs["n_nodes"], runs["n_nodes"] > 1
    even = runs["allocation"] == EVEN
    unlinked, unconnected = _without_links(runs, gpus)
    rules = (
        (
            "precision",
            _lacks(runs, gpus, has_precision, "precision"),
            "a precision that the GPU has; PyTorch computes in fp32 on it",
        ),
        (
            "compilation",
            _lacks(runs, gpus, _has_software, "compilation", "tuned"),
            "kernels that the GPU has",
        ),
        ("n_gpus", runs["n_gpus"] > MOST_GPUS_PER_NODE * runs["n_nodes"], "at most 16 GPUs per node"),
        ("link", unlinked, "a link between the GPUs of a node, which the GPU has"),
        ("network", unconnected, "a fabric between nodes"),
        ("n_gpus", even & (runs["n_gpus"] % runs["n_nodes"] != 0), "a multiple of n_nodes, or an allocation"),
        ("allocation", ~_is_allocated(runs), "the GPUs of each node, such as 4+2+1: n_gpus in all"),
        ("link", many & (runs["link"] == "none"), "a link where a node has several GPUs"),
        ("network", several & (runs["network"] == "none"), "a fabric where there are several nodes"),
        ("algorithm", (runs["n_gpus"] > 1) & (runs["algorithm"] == "none"), "an algorithm for several GPUs"),
        ("time_min_s", runs["time_min_s"] > runs["time_s"] * (1 + 1e-9), "at most time_s"),
        ("time_max_s", runs["time_max_s"] < runs["time_s"] * (1 - 1e-9), "at least time_s"),
    )
    return [
        Fault(int(row) + 1, column, runs[column].iloc[row], expected)
        for column, wrong, expected in rules
        for row in np.flatnonzero(wrong.to_numpy(dtype=bool))[:MAX_FAULTS]
    ]


def _has_software(gpu: Gpu, compilation: str, tuned: float) -> bool:
    return not impossible_software(gpu, compilation, tuned == 1)


def _lacks(
    runs: pd.DataFrame, gpus: GpuCatalog, has: Callable[..., bool], *columns: str
) -> "pd.Series[bool]":
    """Return which runs have what their GPU has not, (n_runs,); `has` is asked once per different setup."""
    setups = list(zip(runs["gpu"], *(runs[column] for column in columns), strict=True))
    lacking = {setup for setup in set(setups) if not has(gpus.find(setup[0]), *setup[1:])}
    return pd.Series([setup in lacking for setup in setups])


def _given(name: str) -> str | None:
    return None if name == "none" else name


def _without_links(runs: pd.DataFrame, gpus: GpuCatalog) -> tuple[pd.Series, pd.Series]:
    """Return which runs, bool (n_runs,), name a link or a fabric with which `predict` refuses their GPU."""
    per_node = np.minimum(np.ceil(runs["n_gpus"] / runs["n_nodes"]), MOST_GPUS_PER_NODE)
    columns = pd.DataFrame({name: runs[name] for name in ("gpu", "link", "network", "n_nodes")})
    columns = columns.assign(per_node=per_node).fillna("none")
    reasons = {}
    for setup in columns.drop_duplicates().itertuples(index=False, name=None):
        gpu, link, fabric, n_nodes, each = setup
        asked = ((_given(link), None), (None, _given(fabric)))
        reasons[setup] = [
            impossible_setup(gpus.find(gpu), None, *pair, per_node=int(each), n_nodes=int(n_nodes)) != ""
            for pair in asked
        ]
    found = np.array([reasons[own] for own in columns.itertuples(index=False, name=None)], dtype=bool)
    return pd.Series(found[:, 0], runs.index), pd.Series(found[:, 1], runs.index)


def _is_allocated(runs: pd.DataFrame) -> pd.Series:
    """Return whether each run's allocation is even or lists its GPUs and nodes; bool, (n_runs,)."""

    def fits(text: object, n_gpus: float, n_nodes: float) -> bool:
        try:
            parts = gpus_of_nodes(str(text))
        except InputError:
            return False
        return (sum(parts), len(parts)) == (n_gpus, n_nodes)

    fitting = (runs["allocation"] == EVEN).to_numpy(dtype=bool, copy=True)
    listed = runs.loc[~fitting, ["allocation", "n_gpus", "n_nodes"]]
    fitting[~fitting] = [fits(*row) for row in listed.itertuples(index=False, name=None)]
    return pd.Series(fitting, index=runs.index)


def _texts(columns: Iterable[Column]) -> list[str]:
    return [column.name for column in columns if column.kind == "text"]


def _with_integers(table: pd.DataFrame, columns: Iterable[Column]) -> pd.DataFrame:
    """Return a table whose faults were refused, with whole numbers in the columns that always hold one."""
    whole = [column.name for column in columns if column.kind == "integer" and not column.may_be_empty]
    return table.astype(dict.fromkeys(whole, "int64"))


def _checked(table: pd.DataFrame, columns: Sequence[Column], name: str) -> tuple[pd.DataFrame, list[Fault]]:
    """Return the known columns of a table, and a fault per cell; refuse one without rows."""
    if table.empty:
        refuse(name, [Fault(None, "", None, "at least one row below the column names")])
    typed, faults = typed_frame(table, columns)
    return typed, merged_faults(faults, value_faults(typed, columns))


def import_layers(path: str | os.PathLike[str], gpus: GpuCatalog | None = None) -> LayerTable:
    """Return the layers in a CSV, Excel or Parquet file in the layers schema.

    gpus : known GPUs, None for the shipped ones. Raises FaultsError with one fault per cell and per column
    that is not of the schema, InputError when the file is not a table.
    """
    name, catalog = Path(path).name, gpus or built_in_gpus()
    table = read_table_file(path, text_columns=_texts(LAYER_COLUMNS))
    refuse(name, column_faults(table, LAYER_COLUMNS, [column.name for column in LAYER_COLUMNS], "remove it"))
    typed, faults = _checked(table, LAYER_COLUMNS, name)
    unknown: list[Fault] = []
    names = known_names(typed["gpu"], lambda text: catalog.find(text).gpu, unknown)
    refuse(name, merged_faults(faults, unknown))
    return LayerTable(name, _with_integers(typed.assign(gpu=names), LAYER_COLUMNS), Facts(catalog, ()))
