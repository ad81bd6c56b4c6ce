"""Operations of a profile in groups of like names, so that few columns carry what many kernels took.

PROFET (Lee et al., IEEE BigData 2022) joins device operations by the Levenshtein distance of their names,
average linkage, cut at 6; so do we, with Levenshtein's recursion (1966) and Sokal and Michener's linkage
(1958).
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

_CUT = 6.0


def edit_distance(first: str, second: str) -> int:
    """Return how many letters must be put in, taken out or replaced to turn one text into the other.

    >>> edit_distance("MaxPool", "AvgPool")
    3
    """
    row = list(range(len(second) + 1))
    for position, letter in enumerate(first, start=1):
        above, row = row, [position]
        for index, other in enumerate(second, start=1):
            row.append(min(above[index] + 1, row[-1] + 1, above[index - 1] + (letter != other)))
    return row[-1]


@cache
def groups_of_names(names: tuple[str, ...], cut: float = _CUT) -> tuple[tuple[str, ...], ...]:
    """Return the names in groups whose mean distance, group to group, is above `cut`.

    >>> groups_of_names(("Relu", "Relu6", "Conv2DBackpropFilter"))
    (('Relu', 'Relu6'), ('Conv2DBackpropFilter',))
    """
    groups = [(name,) for name in names]
    distances = np.array([[edit_distance(one, other) for other in names] for one in names], dtype=float)
    np.fill_diagonal(distances, np.inf)
    while len(groups) > 1:
        first, second = sorted(divmod(int(np.argmin(distances)), len(groups)))
        if distances[first, second] > cut:
            break
        sizes = len(groups[first]), len(groups[second])
        merged = (distances[first] * sizes[0] + distances[second] * sizes[1]) / sum(sizes)
        distances[first], distances[:, first], distances[first, first] = merged, merged, np.inf
        distances = np.delete(np.delete(distances, second, 0), second, 1)
        groups[first] += groups.pop(second)
    return tuple(groups)


def grouped_profile(X: pd.DataFrame, names: Sequence[str] | None = None) -> np.ndarray:
    """Return the seconds of each group of device operations and of each host operation, (n_runs, n_groups).

    X : columns `device_<operation>_s` and `host_<operation>_s`, seconds of one step.
    """
    given = list(X.columns) if names is None else list(names)
    device = [name for name in given if name.startswith("device_")]
    host = [name for name in given if name.startswith("host_")]
    groups = groups_of_names(tuple(name[len("device_") : -len("_s")] for name in device))
    sums = [X[[f"device_{name}_s" for name in group]].sum(axis=1) for group in groups]
    return np.column_stack([*sums, *(X[name] for name in host)]).astype(float)
