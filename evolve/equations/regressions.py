"""Regressions on many columns at once: which one, two or more of them explain a target best."""

import numpy as np
from numpy.typing import NDArray

# A column with a smaller share outside the others, or a pair with a smaller determinant, adds only rounding.
LEAST_SHARE = 1e-5
LEAST_DETERMINANT = 1e-7
# Pairs that are extended by further columns, and the extensions of each that are kept.
EXTENDED = 16
KEPT_EACH = 2

Chosen = tuple[int, ...]
# A subset with the share of the target's squares that it leaves.
Scored = tuple[Chosen, float]


def best_subsets(
    columns: NDArray[np.float64], target: NDArray[np.float64], base: NDArray[np.float64], keep: int, most: int
) -> list[Scored]:
    """Return the subsets of columns whose linear combinations, with the base, leave least of the target.

    columns : (n_columns, n_rows). target : (n_rows,). base : (n_base, n_rows), always in the fit; may be
    empty. keep : subsets of each size. most : largest size; all pairs are compared, larger ones extend them.
    Each subset comes with the share that it leaves of what the base leaves.

    >>> table = np.array([[1.0, 2.0, 4.0], [0.0, 1.0, 0.0]])
    >>> best_subsets(table, np.array([2.0, 4.0, 8.0]), np.empty((0, 3)), keep=1, most=1)
    [((0,), 0.0)]
    """
    left, wanted = _without(columns, target, base)
    size = np.sqrt(np.sum(left**2, axis=1))
    usable = np.flatnonzero(size > LEAST_SHARE * np.sqrt(np.sum(columns**2, axis=1)) + 1e-200)
    total = float(wanted @ wanted)
    if usable.size == 0 or total == 0.0:
        return []
    left = left[usable] / size[usable, None]
    along = left @ wanted
    found: list[Scored] = [
        ((int(i),), float(along[i] ** 2)) for i in np.argsort(-(along**2), kind="stable")[:keep]
    ]
    if most > 1 and usable.size > 1:
        longer = _best_pairs(left, along, max(keep, EXTENDED))
        found += longer[:keep]
        for _ in range(2, most):
            longer = _extended(left, wanted, [chosen for chosen, _ in longer[:EXTENDED]])
            found += longer[:keep]
    return [(tuple(int(usable[i]) for i in chosen), max(0.0, 1.0 - gain / total)) for chosen, gain in found]


def _without(
    columns: NDArray[np.float64], target: NDArray[np.float64], base: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return columns and target without their parts along the rows of `base`."""
    if base.shape[0] == 0:
        return columns, target
    along = np.linalg.qr(base.T)[0]
    return columns - (columns @ along) @ along.T, target - along @ (along.T @ target)


def _best_pairs(left: NDArray[np.float64], along: NDArray[np.float64], keep: int) -> list[Scored]:
    """Return the pairs of unit columns that explain most; `along` are their products with the target."""
    products = left @ left.T
    determinant = 1.0 - products**2
    np.fill_diagonal(determinant, 0.0)
    explained = along[:, None] ** 2 + along**2 - 2.0 * np.outer(along, along) * products
    with np.errstate(all="ignore"):
        gain = np.where(determinant > LEAST_DETERMINANT, explained / determinant, -np.inf)
    gain[np.tril_indices(along.size)] = -np.inf
    flat = gain.ravel()
    keep = min(keep, flat.size)
    best = np.argpartition(-flat, keep - 1)[:keep]
    best = best[np.argsort(-flat[best], kind="stable")]
    return [
        (divmod(int(place), along.size), float(flat[place])) for place in best if np.isfinite(flat[place])
    ]


def _extended(left: NDArray[np.float64], wanted: NDArray[np.float64], subsets: list[Chosen]) -> list[Scored]:
    """Return the subsets with one more column each and what they explain, the best first, no two alike."""
    found: dict[Chosen, float] = {}
    total = float(wanted @ wanted)
    for chosen in subsets:
        rest, target = _without(left, wanted, left[list(chosen)])
        size = np.sum(rest**2, axis=1)
        with np.errstate(all="ignore"):
            gain = np.where(size > LEAST_DETERMINANT, (rest @ target) ** 2 / size, -np.inf)
        before = total - float(target @ target)
        for place in np.argsort(-gain, kind="stable")[:KEPT_EACH]:
            if np.isfinite(gain[place]):
                found[tuple(sorted((*chosen, int(place))))] = before + float(gain[place])
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


def coefficients(columns: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the least-squares coefficients (n_columns,) of columns (n_columns, n_rows)."""
    size = np.sqrt(np.sum(columns**2, axis=1))
    size[size == 0.0] = 1.0
    found: NDArray[np.float64] = np.linalg.lstsq((columns / size[:, None]).T, target, rcond=None)[0] / size
    return found
