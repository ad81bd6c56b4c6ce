"""The splits and platforms of a study, from its definition and the labels of its runs."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from trainlaw.app.studies.definition import StudyDefinition
from trainlaw.app.studies.kinds import CNN_FOLDS, GPU_FOLDS, OWN_LIST
from trainlaw.formulas import InputError
from trainlaw.formulas.errors import unknown_name
from trainlaw.formulas.files import read_toml
from trainlaw.validate import Split, grouped_k_fold, listed_splits, splits_by_name


def defined_splits(definition: StudyDefinition, labels: pd.DataFrame, name: str) -> tuple[Split, ...]:
    """Return what the definition holds out; `labels` as `study_labels` gives them, `name` is the table's.

    InputError where there is nothing to hold out, UnknownNameError for a label of the own list that does not
    occur.
    """
    unit = unit_of_exchange(definition)
    groups, what = labels[unit].nunique(), "GPU" if unit == "gpu_group" else "CNN"
    if groups < 2:
        advice = "; on one GPU hold out CNNs: --split cnn" if what == "GPU" else ""
        raise InputError(
            f"{name}: expected runs on at least two kinds of {what}, to hold one out; got {groups}{advice}"
        )
    if definition.split in (GPU_FOLDS, CNN_FOLDS):
        keys = labels["gpu_group" if definition.split == GPU_FOLDS else "cnn_base"]
        return grouped_k_fold(keys, min(definition.folds, keys.nunique()), definition.seed)
    if definition.split == OWN_LIST:
        return _listed(Path(definition.held_out), labels)
    return splits_by_name(definition.split, labels)


def evaluated_splits(
    splits: Iterable[Split], evaluated: np.ndarray | None, labels: pd.DataFrame
) -> tuple[Split, ...]:
    """Restrict each split's test set to evaluated rows, bool (n_rows,); drop splits left empty.

    None : all rows are evaluated. labels : of all rows, text; a key that no evaluated row has is not named.
    """
    if evaluated is None:
        return tuple(splits)
    kept = []
    for split in splits:
        test = split.test[evaluated[split.test]]
        if len(test):
            found = set(labels.iloc[test].to_numpy(dtype=str).ravel())
            keys = tuple(key for key in split.held_out if key in found)
            kept.append(replace(split, test=test, held_out=keys))
    return tuple(kept)


def _listed(path: Path, labels: pd.DataFrame) -> tuple[Split, ...]:
    """Return the splits of a person's own list: `label = "gpu"` and `[held_out]` with the names of each."""
    value = read_toml(path)
    for entry in value:
        if entry not in ("label", "held_out"):
            raise unknown_name(f"entry of {path}", entry, ("label", "held_out"))
    label, lists = value.get("label", "gpu_group"), value.get("held_out")
    if label not in labels.columns:
        raise unknown_name(f"label of {path}", str(label), labels.columns)
    if not isinstance(lists, dict) or not lists:
        raise InputError(f'{path}: expected [held_out] with lines such as "new cards" = ["T4", "A40"]')
    for name, keys in lists.items():
        if not isinstance(keys, list) or not keys or not all(isinstance(key, str) for key in keys):
            raise InputError(f"{path}: held_out, {name}: expected a list of texts that is not empty")
    return listed_splits(labels[label].to_numpy(dtype=str), lists)


def unit_of_exchange(definition: StudyDefinition) -> str:
    """Return the label column of the groups that a split holds out whole, for intervals."""
    return {CNN_FOLDS: "cnn_base", "cnn": "cnn_base", "cnn-family": "cnn_base"}.get(
        definition.split, "gpu_group"
    )


def platforms_of(labels: pd.DataFrame, by: str) -> np.ndarray:
    """Return the platform of each run, text, shape (n_runs,); InputError where there is only one."""
    values = labels[by].to_numpy(dtype=str)
    if len(np.unique(values)) < 2:
        raise InputError(f"by {by}: expected runs on at least two, got only {str(values[0])!r}")
    return values
