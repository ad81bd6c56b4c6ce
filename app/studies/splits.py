"""The splits of a study and its errors across platforms, from its definition and labels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from trainlaw.app.studies.clusters import Place
from trainlaw.app.studies.definition import StudyDefinition
from trainlaw.app.studies.kinds import BOTH_FOLDS, CNN_FOLDS, GPU_FOLDS, OWN_LIST, StudyKind, StudyRows
from trainlaw.formulas import Formula, InputError
from trainlaw.formulas.errors import unknown_name
from trainlaw.formulas.files.text_files import read_toml
from trainlaw.validate import (
    EstimatorFactory,
    RefittedFormula,
    Split,
    cross_platform,
    grouped_k_fold,
    listed_splits,
    pairs_of_folds,
    splits_by_name,
)
from trainlaw.validate.held_out_errors import BY_CNN, BY_GPU, OURS
from trainlaw.validate.journal import Journal

SEARCHED_PER_PLATFORM = f"{OURS}, searched per platform"


def study_splits(definition: StudyDefinition, rows: StudyRows, name: str) -> tuple[Split, ...]:
    """Return what the definition holds out of the evaluated rows of a study; raises as `defined_splits`."""
    return evaluated_splits(defined_splits(definition, rows.labels, name), rows.evaluated, rows.labels)


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
    if definition.split in (GPU_FOLDS, CNN_FOLDS):
        keys = labels[definition.unit]
        return grouped_k_fold(keys, min(definition.folds, keys.nunique()), definition.seed)
    if definition.split == BOTH_FOLDS:
        return pairs_of_folds(labels[BY_GPU], labels[BY_CNN], definition.folds, definition.seed)
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
    """Return the splits of a list in a file: `label = "gpu"` and `[held_out]` with the names of each."""
    value = read_toml(path)
    for entry in value:
        if entry not in ("label", "held_out"):
            raise unknown_name(f"entry of {path}", entry, ("label", "held_out"))
    label, lists = value.get("label", "gpu_group"), value.get("held_out")
    if not isinstance(label, str) or label not in labels.columns:
        raise unknown_name(f"label of {path}", str(label), labels.columns)
    if not isinstance(lists, dict) or not lists:
        raise InputError(f'{path}: expected [held_out] with lines such as "new GPUs" = ["T4", "A40"]')
    for name, keys in lists.items():
        if not isinstance(keys, list) or not keys or not all(isinstance(key, str) for key in keys):
            raise InputError(f"{path}: held_out, {name}: expected a list of texts that is not empty")
    return listed_splits(labels[label].to_numpy(dtype=str), lists)


def platforms_of(labels: pd.DataFrame, by: str) -> np.ndarray:
    """Return the platform of each run, text, shape (n_runs,); InputError where there is only one."""
    values = labels[by].to_numpy(dtype=str)
    if len(np.unique(values)) < 2:
        raise InputError(f"--by {by}: need at least two values, found only {str(values[0])!r}")
    return values


def platform_matrices(
    formula: Formula,
    kind: StudyKind[Any],
    rows: StudyRows,
    by: Sequence[str],
    search: EstimatorFactory | None = None,
    *,
    place: Place | None = None,
    journal: Journal | None = None,
) -> dict[str, pd.DataFrame]:
    """Return one matrix of errors per label in `by`, as `cross_platform` gives it.

    formula : its constants are fitted again on each platform. kind : of the study, for its platform
    baselines. rows : all runs. search : makes the estimator to rerun the search on each platform, or None.
    place : where the fits run; None for this process. journal : where their outcomes are kept, if at all.
    The formula's form was found on all platforms together; only a rerun search is blind to the others.
    """
    estimators: Mapping[str, EstimatorFactory] = {
        OURS: partial(RefittedFormula, formula),
        **{name: kind.baselines[name] for name in kind.platform_baselines},
        **({SEARCHED_PER_PLATFORM: search} if search else {}),
    }
    where = place or Place()
    return {
        name: cross_platform(
            rows.X,
            rows.seconds,
            rows.labels,
            platforms_of(rows.labels, name),
            estimators,
            journal=journal,
            **where,
        )
        for name in by
    }
