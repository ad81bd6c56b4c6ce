"""Users' own layers, as `trainlaw profile --layers` measures them: checked, then a layer table."""

import os
from pathlib import Path

from trainlaw.datasets.files.checks import known_names, typed_frame, value_faults
from trainlaw.datasets.files.faults import Fault, merged_faults, refuse
from trainlaw.datasets.files.mapping import absence_faults
from trainlaw.datasets.files.table_files import read_table_file
from trainlaw.datasets.hardware.gpus import GpuCatalog, built_in_gpus
from trainlaw.datasets.measurements.layer_schema import LAYER_COLUMNS
from trainlaw.datasets.measurements.layer_tables import LayerTable
from trainlaw.datasets.tables.run_columns import Facts

_TEXTS = tuple(column.name for column in LAYER_COLUMNS if column.kind == "text")
_INTEGERS = tuple(
    column.name for column in LAYER_COLUMNS if column.kind == "integer" and not column.may_be_empty
)


def import_layers(path: str | os.PathLike[str], gpus: GpuCatalog | None = None) -> LayerTable:
    """Return the layers in a CSV, Excel or Parquet file with the columns of the layers schema; others go.

    gpus : known cards, None for the shipped ones. Raises FaultsError, with one fault per cell, InputError
    when the file is no table.
    """
    name, catalog = Path(path).name, gpus or built_in_gpus()
    table = read_table_file(path, text_columns=_TEXTS)
    refuse(name, absence_faults(table, LAYER_COLUMNS))
    if table.empty:
        refuse(name, [Fault(None, "", None, "at least one row below the column names")])
    typed, faults = typed_frame(table, LAYER_COLUMNS)
    faults = merged_faults(faults, value_faults(typed, LAYER_COLUMNS))
    unknown: list[Fault] = []
    cards = known_names(typed["gpu"], lambda text: catalog.find(text).gpu, unknown)
    refuse(name, merged_faults(faults, unknown))
    layers = typed.assign(gpu=cards).astype(dict.fromkeys(_INTEGERS, "int64"))
    return LayerTable(name, layers, Facts(catalog, ()))
