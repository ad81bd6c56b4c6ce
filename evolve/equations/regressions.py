"""Regressions on many columns at once: which one, two or more of them explain a target best."""

import numpy as np
from numpy.typing import NDArray

# A column with a smaller share outside the others, or a pair with a smaller determinant, adds only rounding.
LEAST_SHARE = 1e-5
LEAST_DETERMINANT = 1e-7
# Pairs that are extended by further columns, and the extensions of each that are kept.
EXTENDED = 16
KEPT_EACH = 2
# Columns whose pairs with all others are compared at once: what they need stays in the second-level cache.
PAIRS_AT_ONCE = 64

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
    size = np.sqrt(_squares(left))
    usable = np.flatnonzero(size > LEAST_SHARE * np.sqrt(_squares(columns)) + 1e-200)
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


def _squares(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of the squares of each column, (n_columns,), without an array of all squares."""
    found: NDArray[np.float64] = np.einsum("ij,ij->i", columns, columns)
    return found


def _best_pairs(left: NDArray[np.float64], along: NDArray[np.float64], keep: int) -> list[Scored]:
    """Return the pairs of unit columns that explain most; `along` are their products with the target."""
    found: list[Scored] = []
    for begin in range(0, along.size, PAIRS_AT_ONCE):
        own, others = along[begin : begin + PAIRS_AT_ONCE, None], along[begin:]
        products = left[begin : begin + PAIRS_AT_ONCE] @ left[begin:].T
        with np.errstate(all="ignore"):
            # The same as (a^2 + b^2 - 2 a b p) / (1 - p^2), from what b explains of the rest.
            rest = others - own * products
            np.multiply(products, -products, out=products)
            products += 1.0
            gain = rest * rest / products
        gain += own**2
        gain[products <= LEAST_DETERMINANT] = -np.inf
        gain[np.tril_indices(own.size, m=others.size)] = -np.inf
        flat = gain.ravel()
        best = np.argpartition(-flat, keep - 1)[:keep] if keep < flat.size else np.arange(flat.size)
        for place in best[np.isfinite(flat[best])].tolist():
            first, second = divmod(place, others.size)
            found.append(((begin + first, begin + second), float(flat[place])))
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:keep]


def _extended(left: NDArray[np.float64], wanted: NDArray[np.float64], subsets: list[Chosen]) -> list[Scored]:
    """Return the subsets of unit columns with one more each and what they explain, the best first."""
    if not subsets:
        return []
    found: dict[Chosen, float] = {}
    along = np.linalg.qr(left[np.array(subsets)].transpose(0, 2, 1))[0].transpose(0, 2, 1)
    explained = along @ wanted
    rests = wanted - np.einsum("ij,ijk->ik", explained, along)
    shares = (left @ along.reshape(-1, wanted.size).T).reshape(-1, *explained.shape)
    sizes = 1.0 - np.einsum("nij,nij->ni", shares, shares)
    with np.errstate(all="ignore"):
        gains = np.where(sizes > LEAST_DETERMINANT, (left @ rests.T) ** 2 / sizes, -np.inf).T
    for chosen, gain, before in zip(subsets, gains, np.sum(explained**2, axis=1).tolist(), strict=True):
        for place in np.argsort(-gain, kind="stable")[:KEPT_EACH]:
            if np.isfinite(gain[place]):
                found[tuple(sorted((*chosen, int(place))))] = before + float(gain[place])
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


def coefficients(columns: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the least-squares coefficients (n_columns,) of columns (n_columns, n_rows)."""
    size = np.sqrt(_squares(columns))
    size[size == 0.0] = 1.0
    found: NDArray[np.float64] = np.linalg.lstsq((columns / size[:, None]).T, target, rcond=None)[0] / size
    return found
