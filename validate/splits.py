"""Splits of runs into training and test rows, always by whole groups.

Repeats of a configuration belong to one group, so they are never in both parts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd
from trainlaw.formulas.errors import InputError, check_name

# Least share of the groups held out by "train on the past, test on the future".
_NEWEST_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class Split:
    """One fold of a study.

    Parameters
    ----------
    name : str
        Title of the held-out part, unique within a study.
    train, test : array_like, shape (n_train,) and (n_test,)
        Row positions, disjoint and not empty; stored sorted, int64.
    held_out : tuple of str
        Group labels that occur in `test` and must not occur in `train`.

    Raises
    ------
    InputError
        If a part is empty or the parts overlap.
    """

    name: str
    train: np.ndarray
    test: np.ndarray
    held_out: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check the row positions and make them read-only."""
        for field in ("train", "test"):
            rows = np.unique(np.asarray(getattr(self, field), dtype=np.int64))
            rows.setflags(write=False)
            object.__setattr__(self, field, rows)
            if not len(rows):
                raise InputError(f"split {self.name!r}: expected at least one {field} row, got none")
        shared = np.intersect1d(self.train, self.test)
        if len(shared):
            raise InputError(
                f"split {self.name!r}: {len(shared)} rows are in training and in test, first {shared[0]}"
            )


def _labels(groups: npt.ArrayLike, what: str) -> np.ndarray:
    labels = np.asarray(groups, dtype=object)
    if labels.ndim != 1 or not len(labels):
        raise InputError(f"expected one {what} label per run, shape (n_runs,), got shape {labels.shape}")
    if any(label is None or label != label or label == "" for label in labels):  # noqa: PLR0124 (nan)
        raise InputError(f"every run needs a {what} label; drop the runs without one or name their group")
    return labels.astype(str)


def _two_labels(groups: npt.ArrayLike, others: npt.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    first, second = _labels(groups, "group"), _labels(others, "group")
    if len(first) != len(second):
        raise InputError(f"expected two labels per run, got {len(first)} and {len(second)}")
    return first, second


def _split(name: str, test: np.ndarray, held_out: Sequence[str]) -> Split:
    return Split(str(name), np.flatnonzero(~test), np.flatnonzero(test), tuple(str(key) for key in held_out))


def leave_one_group_out(groups: npt.ArrayLike) -> tuple[Split, ...]:
    """Return one split per group, in order of the labels.

    Parameters
    ----------
    groups : array_like, shape (n_runs,)
        Group label of each run.

    Returns
    -------
    tuple of Split
        Each holds out one group.

    Raises
    ------
    InputError
        If there are fewer than two groups or a label is missing.

    Examples
    --------
    >>> [(s.name, s.test.tolist()) for s in leave_one_group_out(["V100", "T4", "T4"])]
    [('T4', [1, 2]), ('V100', [0])]
    """
    labels = _labels(groups, "group")
    names = np.unique(labels)
    if len(names) < 2:
        raise InputError(f"expected at least two groups to hold one out, got only {names[0]!r}")
    return tuple(_split(name, labels == name, (name,)) for name in names)


def grouped_k_fold(groups: npt.ArrayLike, k: int, seed: int = 0) -> tuple[Split, ...]:
    """Return `k` splits, each of which holds out whole groups.

    Groups are assigned in turn, the largest first. Folds therefore have equal numbers of groups, up to one,
    and the large groups are in different folds. To balance rows instead can train on a few large groups and
    test on all small ones at once.

    Parameters
    ----------
    groups : array_like, shape (n_runs,)
        Group label of each run.
    k : int
        Number of folds, from 2 to the number of groups.
    seed : int
        Order of groups of equal size.

    Returns
    -------
    tuple of Split
        Every group is held out once.

    Raises
    ------
    InputError
        If `k` is out of range or a label is missing.

    Examples
    --------
    >>> [s.held_out for s in grouped_k_fold(["a", "a", "a", "b", "c"], k=2)]
    [('a', 'b'), ('c',)]
    """
    labels = _labels(groups, "group")
    names, sizes = np.unique(labels, return_counts=True)
    if not 2 <= k <= len(names):
        raise InputError(f"expected 2 to {len(names)} folds for {len(names)} groups, got {k}")
    shuffled = np.random.default_rng(seed).permutation(len(names))
    # Ties in size are broken by the seed, so that folds do not depend on the order of names.
    dealt = names[shuffled[np.argsort(-sizes[shuffled], kind="stable")]]
    folds = [sorted(dealt[first::k].tolist()) for first in range(k)]
    return tuple(
        _split(f"fold {number} of {k}", np.isin(labels, fold), fold)
        for number, fold in enumerate(folds, start=1)
    )


def pairs_of_folds(groups: npt.ArrayLike, others: npt.ArrayLike, k: int, seed: int = 0) -> tuple[Split, ...]:
    """Return one split per pair of a part of the groups and a part of the others, each in `k` parts.

    Test rows have a label of each part, training rows of neither; pairs without test or training rows are
    omitted. groups, others : for example GPU groups and base CNNs, (n_runs,). k : number of parts of each,
    fewer where there are fewer labels. seed : as for `grouped_k_fold`.

    >>> found = pairs_of_folds(["T4", "T4", "V100"], ["vgg", "lenet", "lenet"], k=2)
    >>> [(s.held_out, s.train.tolist(), s.test.tolist()) for s in found]
    [(('T4', 'vgg'), [2], [0]), (('V100', 'lenet'), [0], [2])]
    """
    first, second = _two_labels(groups, others)
    splits = []
    for one in grouped_k_fold(first, min(k, len(np.unique(first))), seed):
        for other in grouped_k_fold(second, min(k, len(np.unique(second))), seed):
            test = np.intersect1d(one.test, other.test)
            train = np.intersect1d(one.train, other.train)
            if len(test) and len(train):
                keys = *np.unique(first[test]).tolist(), *np.unique(second[test]).tolist()
                splits.append(Split(f"{one.name} + {other.name}", train, test, keys))
    return tuple(splits)


def leave_pairs_out(groups: npt.ArrayLike, others: npt.ArrayLike) -> tuple[Split, ...]:
    """Return one split per pair of labels that occurs; both labels are unknown to the fit.

    groups, others : for example GPU groups and base CNNs, shape (n_runs,). Test rows have both labels,
    training rows have neither; rows with one of them are in neither part. Pairs without training rows are
    omitted.

    >>> [(s.name, s.train.tolist()) for s in leave_pairs_out(["T4", "T4", "V100"], ["vgg", "lenet", "lenet"])]
    [('T4 + vgg', [2]), ('V100 + lenet', [0])]
    """
    first, second = _two_labels(groups, others)
    splits = []
    for group, other in sorted(set(zip(first.tolist(), second.tolist(), strict=True))):
        train = np.flatnonzero((first != group) & (second != other))
        if len(train):
            test = np.flatnonzero((first == group) & (second == other))
            splits.append(Split(f"{group} + {other}", train, test, (group, other)))
    return tuple(splits)


def newest_gpus_out(groups: npt.ArrayLike, years: npt.ArrayLike) -> tuple[Split, ...]:
    """Return one split: train on the past, test on the newest GPUs, at least a quarter of the groups.

    years : release year of the GPU of each run, shape (n_runs,); the newest of a group counts. InputError if
    all GPUs are of one year or a year is missing.
    """
    labels = _labels(groups, "group")
    # One chip can be sold on GPUs of several years; the newest counts, so that no group is in both parts.
    newest = pd.Series(np.asarray(years, dtype=float)).groupby(labels).max()
    if newest.isna().any():
        raise InputError(f"expected a year for every group, got none for {newest.index[newest.isna()][0]!r}")
    later = np.unique(newest)[1:]
    if not len(later):
        raise InputError("expected GPUs of at least two years, to train on the past and test on the future")
    enough = [year for year in later if (newest >= year).mean() >= _NEWEST_SHARE]
    first = max(enough, default=later[0])
    future = newest.index[newest >= first]
    return (_split(f"from {first:g} on", np.isin(labels, future), list(future)),)


def listed_splits(groups: npt.ArrayLike, lists: Mapping[str, Sequence[str]]) -> tuple[Split, ...]:
    """Return one split per list of groups to hold out, in the order of `lists`.

    groups : label of each run, (n_runs,). lists : the labels that each split holds out, by its name.
    UnknownNameError for a label that does not occur.
    """
    labels = _labels(groups, "group")
    known = np.unique(labels).tolist()
    for held_out in lists.values():
        for name in held_out:
            check_name("group", name, known)
    return tuple(_split(name, np.isin(labels, list(keys)), list(keys)) for name, keys in lists.items())


def evaluated_splits(
    splits: Iterable[Split], labels: pd.DataFrame, evaluated: np.ndarray
) -> tuple[Split, ...]:
    """Restrict each split's test set to evaluated rows, bool (n_runs,); drop splits left empty.

    labels : (n_runs, n_labels). A key that no evaluated row has is not named.
    """
    kept = []
    for split in splits:
        test = split.test[evaluated[split.test]]
        if len(test):
            found = set(labels.iloc[test].to_numpy(dtype=str).ravel())
            keys = tuple(key for key in split.held_out if key in found)
            kept.append(replace(split, test=test, held_out=keys))
    return tuple(kept)


#: Kinds of held-out groups, by the name that the user writes: functions from labels of runs to splits.
SCHEMES: Mapping[str, Callable[[pd.DataFrame], tuple[Split, ...]]] = {
    "gpu": lambda labels: leave_one_group_out(labels["gpu_group"]),
    "gpu-5-fold": lambda labels: grouped_k_fold(labels["gpu_group"], min(5, labels["gpu_group"].nunique())),
    "cnn": lambda labels: leave_one_group_out(labels["cnn_base"]),
    "cnn-family": lambda labels: leave_one_group_out(labels["cnn_family"]),
    "both": lambda labels: leave_pairs_out(labels["gpu_group"], labels["cnn_base"]),
    "source": lambda labels: leave_one_group_out(labels["source"]),
    "harness": lambda labels: leave_one_group_out(labels["harness"]),
    "generation": lambda labels: leave_one_group_out(labels["generation"]),
    "threads": lambda labels: leave_one_group_out(labels["threads"]),
    "newest": lambda labels: newest_gpus_out(labels["gpu_group"], labels["gpu_year"].astype(float)),
}


def splits_by_name(name: str, labels: pd.DataFrame) -> tuple[Split, ...]:
    """Return the splits of a named scheme.

    name : a key of `SCHEMES`, such as "gpu" or "cnn"; UnknownNameError for another. labels : text, (n_runs,
    n_labels); InputError where they lack the column of the scheme.
    """
    check_name("split", name, SCHEMES)
    try:
        return SCHEMES[name](labels)
    except KeyError as missing:
        raise InputError(
            f"split {name!r} needs the label column {missing}, got {list(labels.columns)}"
        ) from None
