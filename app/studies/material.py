"""What a study works on: its kind, rows, splits and baselines."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from trainlaw.app.studies.definition import StudyDefinition
from trainlaw.app.studies.kinds import STUDY_KINDS, StudyKind, StudyRows
from trainlaw.app.studies.splits import platforms_of, study_splits
from trainlaw.datasets import RunTable, built_in_gpus
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.validate import (
    EstimatorFactory,
    MeasuredRates,
    Split,
    read_rates,
)
from trainlaw.validate.measured_rates import check_rates


@dataclass(frozen=True)
class Material:
    """What a study works on: its kind, rows, splits, baselines (and those absent), and achieved rates."""

    definition: StudyDefinition
    kind: StudyKind[Any]
    table: MeasuredTable
    rows: StudyRows
    splits: tuple[Split, ...]
    baselines: Mapping[str, EstimatorFactory]
    absent: Mapping[str, str]
    rates: tuple[MeasuredRates, ...]


def material_of(table: MeasuredTable, definition: StudyDefinition, kind: StudyKind[Any]) -> Material:
    """Return what a study of `table` works on; InputError where it cannot be split as defined."""
    rows = kind.rows(table)
    splits = study_splits(definition, rows, table.name)
    for label in definition.by:
        platforms_of(rows.labels, label)
    rates = read_rates(Path(definition.rates)) if definition.rates else ()
    check_rates(rates, table.facts.gpus if isinstance(table, RunTable) else built_in_gpus())
    present, absent = kind.available_baselines(definition.against)
    return Material(definition, kind, table, rows, splits, present, absent, rates)


def searchable(material: Material) -> Material:
    """The material, with the fallback kind if the rows do not fit; unset options take its defaults."""
    kind, definition = material.kind, material.definition
    if kind.fits is None or kind.fits(material.rows):
        return material
    other = STUDY_KINDS[kind.otherwise]
    defaults = {**asdict(StudyDefinition()), **other.defaults}
    changed = {
        name: defaults[name] for name, value in kind.defaults.items() if getattr(definition, name) == value
    }
    return replace(material, kind=other, definition=replace(definition, of=other.name, **changed))
