"""Tests of structure before a search: which features are mere factors, and which act only together.

Each test asks whether a quantity depends on one more coordinate: a polynomial in the coordinates with it
must fit clearly better than one without it (the F test). What holds leaves fewer and larger quantities.
Source of the idea: Udrescu and Tegmark, "AI Feynman", 2020, there with a neural network as the smooth fit.
"""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement
from math import comb

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.equations.library import ONE, Quantity, apply
from trainlaw.formulas import Apply, Expression

# Exponents that are tried, simplest first.
EXPONENTS = (1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0)
# Below this ratio of variances an extra coordinate is noise; by chance it is near 1.
LEAST_RATIO = 1.7
# A quantity whose ratios exceed this on every second of the rows matters: the others are not looked at.
SURELY, COARSER = 4.0, 2
# Relative increase of sums of squares that keeps normal equations solvable.
RIDGE = 1e-9
# A share of the variance that is rounding.
ROUNDING = 1e-20
# Standard deviations of the noise of each pass, in those of the target.
ADDED_NOISE = (0.0, 0.005, 0.03)
# Columns of a polynomial, rows that are fitted, and features up to which there are tests.
MOST_COLUMNS = 130
MOST_ROWS = 600
MOST_ATOMS = 12
# Atoms up to which several are measured in units of one.
MOST_SCALED = 5


@dataclass(frozen=True)
class View:
    """A simpler problem: the target is `factor` times a function of the atoms.

    values : of that function, (n_rows,). factor : None for 1. scale : values of the factor, (n_rows,).
    """

    atoms: tuple[Quantity, ...]
    values: NDArray[np.float64]
    factor: Expression | None
    scale: NDArray[np.float64]


def simpler_views(
    atoms: Sequence[Quantity],
    y: NDArray[np.float64],
    generator: np.random.Generator,
    end: float = math.inf,
) -> list[View]:
    """Return the problem as it is, and as much simpler as the tests allow, on the rows as given.

    end : the time of `time.monotonic` from which on no further test begins.

    Without noise, what the polynomials miss passes for a dependence; further passes therefore add some.
    A view that holds by chance costs time only: all of them are screened.
    """
    whole = View(tuple(atoms), y, None, np.ones_like(y))
    if not 1 < len(atoms) <= MOST_ATOMS:
        return [whole]
    found = {_name(whole): whole}
    for size in ADDED_NOISE:
        noise = size * float(np.std(y)) * generator.standard_normal(y.size)
        for view in _chain(replace(whole, values=y + noise), end):
            found.setdefault(_name(view), view)
    return [replace(view, values=y / view.scale) for view in found.values()]


def _name(view: View) -> tuple[object, ...]:
    return view.factor, frozenset(atom.expression for atom in view.atoms)


def _chain(view: View, end: float) -> list[View]:
    """Return the first simpler view with fewer atoms, and the one with the fewest."""
    views = [view]
    for _ in range(len(view.atoms)):
        if time.monotonic() > end:
            break
        view = _peeled(views[-1])
        for simpler in (_joined, _scaled):
            if len(view.atoms) == len(views[-1].atoms):
                view = simpler(view, end)
        if len(view.atoms) == len(views[-1].atoms):
            break
        views.append(view)
    return [*views[1:2], *views[2:][-1:]]


def power(base: Expression, exponent: float) -> Expression | None:
    """Return a power as squares, roots and products; None for 0 or where these do not suffice."""
    if exponent < 0.0:
        positive = power(base, -exponent)
        return positive and Apply("div", (ONE, positive))
    whole, half = divmod(exponent, 1.0)
    if half not in (0.0, 0.5) or exponent > 6.0:
        return None
    parts: list[Expression] = [Apply("square", (base,))] * (int(whole) // 2)
    parts += [base] * (int(whole) % 2) + [Apply("sqrt", (base,))] * int(half == 0.5)
    return times(parts)


def times(parts: Sequence[Expression]) -> Expression | None:
    """Return the product of expressions, None for none."""
    total: Expression | None = None
    for part in parts:
        total = part if total is None else Apply("mul", (total, part))
    return total


def monomial(atoms: Sequence[Expression], exponents: Sequence[float]) -> Expression | None:
    """Return the product of powers as one quotient; None where all exponents are 0."""
    pairs = list(zip(atoms, exponents, strict=True))
    above = times([part for atom, e in pairs if e > 0.0 and (part := power(atom, e))])
    below = times([part for atom, e in pairs if e < 0.0 and (part := power(atom, -e))])
    if below is None:
        return above
    return Apply("div", (above or ONE, below))


def _peeled(view: View) -> View:
    """Return the view with every atom divided out that is a mere factor, a power."""
    exponents = [_exponent(view, place) for place in range(len(view.atoms))]
    if not any(exponents):
        return view
    # At least one atom stays: a function of nothing is a constant.
    kept = [atom for atom, exponent in zip(view.atoms, exponents, strict=True) if not exponent]
    if not kept:
        exponents[0], kept = 0.0, [view.atoms[0]]
    return _divided(replace(view, atoms=tuple(kept)), view.atoms, exponents)


def _divided(view: View, quantities: Sequence[Quantity], exponents: Sequence[float]) -> View:
    """Return the view with powers of quantities divided out of its target."""
    if not any(exponents):
        return view
    scale = np.prod(
        [item.values**e for item, e in zip(quantities, exponents, strict=True) if e], axis=0, initial=1.0
    )
    found = monomial([item.expression for item in quantities], exponents)
    factor = times([part for part in (view.factor, found) if part is not None])
    return View(view.atoms, view.values / scale, factor, view.scale * scale)


def _exponent(view: View, place: int) -> float:
    """Return the exponent with which one atom is a mere factor, or 0."""
    atom = view.atoms[place]
    if np.any(atom.values <= 0.0):
        return 0.0
    others = [other for i, other in enumerate(view.atoms) if i != place]
    divided = np.array([view.values / atom.values**exponent for exponent in EXPONENTS])
    ratios = _ratios(divided, others, atom)
    best = int(np.argmin(ratios))
    return EXPONENTS[best] if ratios[best] < LEAST_RATIO else 0.0


def _joined(view: View, end: float) -> View:
    """Return the view with two atoms that act only together replaced by one, the first such pair."""
    return (
        _simplest(
            (view, [*others, replace(together, size=1)], extra)
            for one, two in combinations(view.atoms, 2)
            for together, extra in _ways(one, two)
            for others in [[atom for atom in view.atoms if atom is not one and atom is not two]]
            if time.monotonic() < end
        )
        or view
    )


def _scaled(view: View, end: float) -> View:
    """Return the view with several atoms measured in units of another one, where that one then drops out."""
    if len(view.atoms) > MOST_SCALED:
        return view
    return (
        _simplest(
            (view, [*rest, *(replace(apply("div", atom, unit), size=1) for atom in chosen)], unit)
            for unit in view.atoms
            if np.all(unit.values > 0.0)
            for others in [[atom for atom in view.atoms if atom is not unit]]
            for amount in range(len(others), 1, -1)
            for chosen in combinations(others, amount)
            for rest in [[atom for atom in others if atom not in chosen]]
            if time.monotonic() < end
        )
        or view
    )


def _simplest(trials: Iterable[tuple[View, list[Quantity], Quantity]]) -> View | None:
    """Return the first view over other atoms that hold all that the target depends on, None if none do.

    A trial is a view, its new atoms, and an extra quantity that may still matter. Where it does in each, the
    best view of the target over a power of the extra quantity is returned.
    """
    best: tuple[float, View] | None = None
    for view, atoms, extra in trials:
        exponents = (0.0, *EXPONENTS) if np.all(extra.values > 0.0) else (0.0,)
        divided = np.array([view.values / extra.values**exponent for exponent in exponents])
        ratios = _ratios(divided, atoms, extra)
        place = 0 if ratios[0] < LEAST_RATIO else int(np.argmin(ratios))
        if ratios[place] < LEAST_RATIO and (place == 0 or best is None or ratios[place] < best[0]):
            simpler = replace(view, atoms=tuple(atoms))
            best = float(ratios[place]), _divided(simpler, [extra], [exponents[place]])
            if place == 0:
                break
    return best and best[1]


def _ways(one: Quantity, two: Quantity) -> list[tuple[Quantity, Quantity]]:
    """Return what two atoms may act as, each with a coordinate that would then not matter."""
    squares = apply("square", one), apply("square", two)
    ways = [
        (apply("sub", one, two), one),
        (apply("add", one, two), one),
        (apply("add", *squares), two),
        (apply("sub", *squares), two),
    ]
    if np.any(two.values <= 0.0):
        one, two = two, one
    if np.any(two.values <= 0.0):
        return ways
    squares = apply("square", one), apply("square", two)
    if np.any(one.values <= 0.0):
        return [(apply("div", one, two), two), (apply("mul", one, two), two), *ways]
    return [
        (apply("div", one, two), two),
        (apply("mul", one, two), two),
        *ways,
        (apply("div", squares[0], two), two),
        (apply("mul", squares[0], two), two),
        (apply("div", one, squares[1]), one),
        (apply("mul", one, squares[1]), one),
    ]


def _ratios(values: NDArray[np.float64], atoms: Sequence[Quantity], extra: Quantity) -> NDArray[np.float64]:
    """Return the F ratio of `extra` for each of the `values` (n, n_rows): near 1 where it does not matter."""
    step = -(-values.shape[1] // MOST_ROWS)
    coarse = slice(None, None, COARSER * step)
    count = len(atoms) + 1
    if values[0, coarse].size >= 2 * comb(count + _degree(count), count):
        found = _ratios_on(values, atoms, extra, coarse, _rough_parts)
        if found.min() > SURELY:
            return found
    return _ratios_on(values, atoms, extra, slice(None, None, step), _parts)


def _ratios_on(
    values: NDArray[np.float64], atoms: Sequence[Quantity], extra: Quantity, rows: slice,
    parts: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]],
) -> NDArray[np.float64]:  # fmt: skip
    """Return the F ratios on some rows, infinite where these are too few."""
    wanted = values[:, rows]
    coordinates = [atom.coordinate[rows] for atom in (*atoms, extra)]
    places = range(len(coordinates))
    powers: list[tuple[int, ...]] = [
        chosen
        for order in range(_degree(len(coordinates)) + 1)
        for chosen in combinations_with_replacement(places, order)
    ]
    if wanted.shape[1] < 2 * len(powers):
        return np.full(values.shape[0], np.inf)
    known: dict[tuple[int, ...], NDArray[np.float64]] = {(): np.ones_like(wanted[0])}
    for chosen in powers[1:]:
        known[chosen] = known[chosen[:-1]] * coordinates[chosen[-1]]
    last = places[-1]
    powers.sort(key=lambda chosen: last in chosen)
    fewer = sum(last not in chosen for chosen in powers)
    centred = wanted - wanted.mean(axis=1, keepdims=True)
    total = np.sum(centred**2, axis=1)
    part = parts(np.array([known[chosen] for chosen in powers]), centred) ** 2
    without = np.maximum(total - part[:, :fewer].sum(axis=1), 0.0)
    left = np.maximum(without - part[:, fewer:].sum(axis=1), 0.0)
    ratio = (part[:, fewer:].sum(axis=1) / (len(powers) - fewer)) / (
        left / (wanted.shape[1] - len(powers)) + 1e-300
    )
    return np.where(without <= ROUNDING * total, 0.0, ratio)


def _parts(table: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the parts of `wanted` (n, n_rows) along the orthonormalised rows of `table`, (n, n_columns)."""
    along: NDArray[np.float64] = wanted @ np.linalg.qr(table.T)[0]
    return along


def _rough_parts(table: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the same by normal equations, in a fraction of the time, to some digits."""
    squares = table @ table.T
    squares[np.diag_indices_from(squares)] *= 1.0 + RIDGE
    along: NDArray[np.float64] = np.linalg.solve(np.linalg.cholesky(squares), table @ wanted.T).T
    return along


def _degree(count: int) -> int:
    """Return the largest degree, at most 8, of a polynomial with few enough columns."""
    return max([d for d in range(2, 9) if comb(count + d, d) <= MOST_COLUMNS], default=2)
