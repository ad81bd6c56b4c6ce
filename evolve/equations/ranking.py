"""Rank the columns of a wide table: which of them the target depends on, alone or together with others.

Forward selection: a polynomial in the columns chosen so far is fitted, and what it leaves is tested against
every other column, alone and times each chosen one. A weak column stands out once the strong ones are
explained. Columns that the target does not depend on pass a test only by chance, whose level is stated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

# Probability that any column passes a step by chance.
CHANCE = 1e-3
# Rows that are tested: with 1,000, a column that explains 3 % of what is left stands out of 2,000.
MOST_ROWS = 1000
# Polynomials per column, degrees 1 to 3: a wave over more than a period still shows in one of them.
DEGREE = 3
# Largest share of the rows that columns of the joint polynomial may take, its degree, and columns chosen.
MOST_SHARE, MOST_DEGREE, MOST_CHOSEN = 0.25, 8, 12
# A column is idle if without it the polynomial leaves at most this multiple; one more column of noise takes
# degrees of freedom from the others, so that less is left without it.
IDLE = 1.05
# Below this share of the target's squares only rounding is left.
ROUNDING = 1e-18
# Columns whose pairs are tested at once: 2,000 of them take 32 MB.
PAIRS_AT_ONCE = 500
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Ranking:
    """Columns from the most to the least relevant.

    order : (n_columns,). scores : (n_columns,), standard deviations above chance of each column, by column.
    chosen : how many of the first the tests found relevant.
    """

    order: tuple[int, ...]
    scores: tuple[float, ...]
    chosen: int

    @property
    def relevant(self) -> tuple[int, ...]:
        """The columns that the tests found relevant."""
        return self.order[: self.chosen]


def rank_columns(columns: Values, y: Values, most: int = MOST_CHOSEN) -> Ranking:
    """Return the ranking of `columns` (n_columns, n_rows) for the target `y` (n_rows,).

    most : columns that are chosen at most.

    >>> table = np.random.default_rng(0).uniform(1.0, 2.0, (30, 500))
    >>> rank_columns(table, table[7] / table[3]).order[:2]
    (3, 7)
    """
    rows = slice(None, None, -(-y.size // MOST_ROWS))
    basis = _basis(columns[:, rows])
    wanted = y[rows] - y[rows].mean()
    total, left = float(wanted @ wanted), wanted
    found = np.zeros(columns.shape[0])
    chosen: list[int] = []
    while len(chosen) < most and float(left @ left) > ROUNDING * total:
        scores = _scores(basis, left, chosen)
        best = int(np.argmax(scores))
        if scores[best] < _threshold(columns.shape[0] * (1 + len(chosen))):
            best, score = _best_of_pairs(basis[0], left, chosen)
            if best < 0:
                break
            scores[best] = score
        found[best] = scores[best]
        chosen.append(best)
        left = _left(basis, wanted, chosen)
    chosen = _without_idle(basis, wanted, chosen)
    # The others keep their score against what the chosen leave: runners-up come first.
    rest = _scores(basis, left if float(left @ left) > ROUNDING * total else wanted, chosen)
    others = [int(i) for i in np.argsort(-rest, kind="stable") if int(i) not in set(chosen)]
    found[others] = rest[others]
    return Ranking((*chosen, *others), tuple(found.tolist()), len(chosen))


def _basis(columns: Values) -> Values:
    """Return a polynomial per degree and column, (DEGREE, n_columns, n_rows), orthonormal, without mean."""
    low, high = columns.min(axis=1, keepdims=True), columns.max(axis=1, keepdims=True)
    wide = (low > 0.0) & (high > 20.0 * np.maximum(low, 1e-300))
    with np.errstate(all="ignore"):
        mapped = np.where(wide, np.log(np.maximum(columns, 1e-300)), columns)
    mapped = (mapped - mapped.mean(axis=1, keepdims=True)) / (mapped.std(axis=1, keepdims=True) + 1e-300)
    basis = np.empty((DEGREE, *columns.shape))
    for degree in range(DEGREE):
        part = mapped ** (degree + 1)
        part -= part.mean(axis=1, keepdims=True)
        for before in basis[:degree]:
            part -= before * np.sum(before * part, axis=1, keepdims=True)
        size = np.sqrt(np.sum(part**2, axis=1, keepdims=True))
        basis[degree] = np.where(size > 1e-9 * np.sqrt(columns.shape[1]), part / (size + 1e-300), 0.0)
    return basis


def _scores(basis: Values, left: Values, chosen: Sequence[int]) -> Values:
    """Return the best score of each column: alone, and times each chosen one; 0 for the chosen."""
    unit = left / np.sqrt(float(left @ left))
    count = left.size
    best = _deviations(count * np.sum((basis @ unit) ** 2, axis=0), DEGREE)
    for other in chosen:
        gained = np.zeros(best.size)
        for first in basis[:2]:
            for second in basis[:2, other]:
                # Both have a mean square of 1 / n, and products of independent ones 1 / n of that.
                gained += (first @ (unit * second)) ** 2 * count**2
        best = np.maximum(best, _deviations(gained, 4))
    best[list(chosen)] = 0.0
    return best


def _best_of_pairs(lines: Values, left: Values, chosen: Sequence[int]) -> tuple[int, float]:
    """Return the first column of the best pair that acts only together, -1 if none does, and its score."""
    unit = left / np.sqrt(float(left @ left))
    amount, best, place = lines.shape[0], 0.0, -1
    for begin in range(0, amount, PAIRS_AT_ONCE):
        some = lines[begin : begin + PAIRS_AT_ONCE]
        gained = ((some * unit) @ lines.T) ** 2
        gained[np.arange(some.shape[0]), begin + np.arange(some.shape[0])] = 0.0
        gained[:, list(chosen)] = 0.0
        highest = int(np.argmax(gained))
        if gained.flat[highest] > best:
            best, place = float(gained.flat[highest]), begin + highest // amount
    score = float(_deviations(np.array([best * left.size**2]), 1)[0])
    if score < _threshold(amount**2) or place in chosen:
        return -1, 0.0
    return place, score


def _left(basis: Values, wanted: Values, chosen: Sequence[int]) -> Values:
    """Return what a polynomial in the chosen columns leaves of the target."""
    count, amount = wanted.size, len(chosen)
    room = int(MOST_SHARE * count)
    degree = max((d for d in range(1, MOST_DEGREE + 1) if comb(amount + d, d) <= room), default=1)
    lines = [basis[0, i] * np.sqrt(count) for i in chosen]
    terms = [
        np.prod([lines[i] for i in powers], axis=0)
        for order in range(1, degree + 1)
        for powers in combinations_with_replacement(range(amount), order)
    ]
    table = np.array([np.ones(count), *terms, *(basis[d, i] for d in (1, 2) for i in chosen if degree < 3)])
    along = np.linalg.qr(table.T)[0]
    left: Values = wanted - along @ (along.T @ wanted)
    return left


def _without_idle(basis: Values, wanted: Values, chosen: Sequence[int]) -> list[int]:
    """Return the chosen columns without those that the fit does not need."""
    kept = list(chosen)
    for column in reversed(chosen):
        others = [other for other in kept if other != column]
        if others:
            left, without = (float(np.sum(_left(basis, wanted, own) ** 2)) for own in (kept, others))
            if without <= IDLE * left:
                kept = others
    return kept


def _deviations(squares: Values, freedom: int) -> Values:
    """Return sums of `freedom` squared normal numbers as standard deviations (Wilson and Hilferty, 1931)."""
    spread = 2.0 / (9.0 * freedom)
    scores: Values = (np.cbrt(squares / freedom) - (1.0 - spread)) / np.sqrt(spread)
    return scores


def _threshold(tests: int) -> float:
    """Return the score that none of this many tests exceeds by chance."""
    return NormalDist().inv_cdf(1.0 - CHANCE / tests)
