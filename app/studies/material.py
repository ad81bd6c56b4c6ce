"""The parts of a table that a study uses, each read once: rows, splits, platforms, baselines, rates."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from trainlaw.app.inputs.study_definition import StudyDefinition
from trainlaw.app.studies.kinds import STUDY_KINDS
from trainlaw.app.studies.kinds.kind import BOTH_FOLDS, CNN_FOLDS, GPU_FOLDS, OWN_LIST, StudyKind, StudyRows
from trainlaw.datasets import RunTable, built_in_gpus
from trainlaw.datasets.tables.measured_table import MeasuredTable
from trainlaw.formulas import InputError
from trainlaw.formulas.errors import check_name
from trainlaw.formulas.files.codec import every, listed, record, text
from trainlaw.formulas.files.text_files import read_toml
from trainlaw.validate import EstimatorFactory, Split, grouped_k_fold
from trainlaw.validate.error_table import BY_CNN, BY_GPU
from trainlaw.validate.measured_rates import MeasuredRates, read_rates
from trainlaw.validate.splits import evaluated_splits, listed_splits, pairs_of_folds, splits_by_name

# A file of what is held out: the groups of each split, and whose label names them.
_LISTS = record({"held_out": every(listed(text))}, {"label": text}, closed=True)
_LEAST_GENERATIONS = 4  # held out whole, so that their errors say something about a new one


@dataclass(frozen=True)
class Material:
    """What a study works on.

    generations : splits that hold out generations of GPUs whole, for the interval of a GPU of a new one; none
    if these are few. platforms : of each row, by the labels of `definition.by`. absent : baselines that
    cannot run here, with the package to install.
    """

    definition: StudyDefinition
    kind: StudyKind[Any]
    table: MeasuredTable
    rows: StudyRows
    splits: tuple[Split, ...]
    generations: tuple[Split, ...]
    platforms: Mapping[str, np.ndarray]
    baselines: Mapping[str, EstimatorFactory]
    absent: Mapping[str, str]
    rates: tuple[MeasuredRates, ...]


def material_of(table: MeasuredTable, definition: StudyDefinition, kind: StudyKind[Any]) -> Material:
    """Return what a study of `table` works on; InputError where it cannot be split as defined."""
    rows = kind.rows(table)
    labels, found = rows.labels, defined_splits(definition, rows.labels, table.name)
    has_generations = kind.has_levels and definition.unit == BY_GPU and "layout" in labels
    has_generations = has_generations and labels["generation"].nunique() >= _LEAST_GENERATIONS
    generations = splits_by_name("generation", labels) if has_generations else ()
    if rows.evaluated is not None:
        found, generations = (evaluated_splits(each, labels, rows.evaluated) for each in (found, generations))
    platforms = {label: platforms_of(rows.labels, label) for label in definition.by}
    gpus = table.facts.gpus if isinstance(table, RunTable) else built_in_gpus()
    rates = read_rates(Path(definition.rates), gpus) if definition.rates else ()
    present, absent = kind.available_baselines(definition.against)
    return Material(definition, kind, table, rows, found, generations, platforms, present, absent, rates)


def searched_material(table: MeasuredTable, definition: StudyDefinition) -> Material:
    """Return what a study that searches works on; the fallback kind, with its defaults, if rows do not fit.

    Errors as of `material_of`.
    """
    kind = STUDY_KINDS[definition.of]
    material = material_of(table, definition, kind)
    if kind.fits is None or kind.fits(material.rows):
        return material
    other = STUDY_KINDS[kind.otherwise]
    defaults = {**asdict(StudyDefinition()), **other.defaults}
    changed = {
        name: defaults[name] for name, value in kind.defaults.items() if getattr(definition, name) == value
    }
    return replace(material, kind=other, definition=replace(definition, of=other.name, **changed))


def defined_splits(definition: StudyDefinition, labels: pd.DataFrame, name: str) -> tuple[Split, ...]:
    """Return what the definition holds out; `labels` as `study_labels` gives them, `name` is the table's.

    InputError where there is nothing to hold out, UnknownNameError for an unknown label in the list.
    """
    groups, what = labels[definition.unit].nunique(), "GPU" if definition.unit == BY_GPU else "CNN"
    if groups < 2:
        advice = "; on one GPU hold out CNNs: --split cnn" if what == "GPU" else ""
        raise InputError(
            f"{name}: expected runs on at least two kinds of {what}, to hold one out; got {groups}{advice}"
        )
    if definition.split == OWN_LIST:
        label, lists = _read_list(Path(definition.held_out), labels)
        return listed_splits(labels[label].to_numpy(dtype=str), lists)
    if definition.split in (GPU_FOLDS, CNN_FOLDS):
        keys = labels[definition.unit]
        return grouped_k_fold(keys, min(definition.folds, keys.nunique()), definition.seed)
    if definition.split == BOTH_FOLDS:
        return pairs_of_folds(labels[BY_GPU], labels[BY_CNN], definition.folds, definition.seed)
    return splits_by_name(definition.split, labels)


def _read_list(path: Path, labels: pd.DataFrame) -> tuple[str, dict[str, list[str]]]:
    """Return the label and the groups of each split in a file: `label = "gpu"` and `[held_out]`."""
    value = _LISTS(read_toml(path), str(path))
    label, lists = value.get("label", "gpu_group"), value["held_out"]
    check_name(f"label of {path}", label, labels.columns)
    if not lists or not all(lists.values()):
        raise InputError(f'{path}: expected [held_out] with lines such as "new GPUs" = ["T4", "A40"]')
    return label, lists


def platforms_of(labels: pd.DataFrame, by: str) -> np.ndarray:
    """Return the platform of each run, text, shape (n_runs,); InputError where there is only one."""
    values = labels[by].to_numpy(dtype=str)
    if len(np.unique(values)) < 2:
        raise InputError(f"--by {by}: need at least two values, found only {str(values[0])!r}")
    return values
