"""Screening before an untyped search: which short expressions, linearly combined, give the target.

Each view of the problem is tried under transformations of the target (a reciprocal, a square, a
logarithm): as a sum of quantities of the library, and as a product of powers. The best of each size are the
search's first individuals, and what they are made of is offered to its mutations.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from trainlaw.evolve.equations.library import ONE, Quantity, apply, make_library
from trainlaw.evolve.equations.nested import (
    FACTORS,
    TERMS,
    Grid,
    Nested,
    arguments_of,
    multiplied,
    refine_in_turn,
)
from trainlaw.evolve.equations.regressions import best_subsets, coefficients
from trainlaw.evolve.equations.separability import View, monomial, simpler_views
from trainlaw.formulas import Apply, Constant, Expression, tidy
from trainlaw.formulas.algebra.expression import count_nodes, nodes

# Rows on which combinations are compared; the search itself uses all.
MOST_ROWS = 300
# With fewer rows, some sum of four quantities fits by chance.
LEAST_ROWS = 50
# Quantities in the library of a view, in sums of it, and in products.
LIBRARY, SUMMED, MULTIPLIED = 5000, 700, 700
# Quantities that functions of a fitted multiple are taken of, functions in sums and in a product, the first
# transformations that are tried with them, and atoms up to which they are multiplied by pairs of atoms.
ARGUMENTS, NESTED, FACTORED, NESTING, PAIRED = 60, 4, 3, 4, 4
# Terms of the longest sum, and how many sums of each length are kept.
MOST_TERMS, KEPT = 4, 12
# Views that are screened, those of fewest atoms, and those with functions of fitted multiples: not the
# problem as it is, where there is a simpler one.
MOST_VIEWS, NESTED_VIEWS = 4, 2
# Individuals and building blocks that are handed over.
MOST_SEEDS, MOST_BLOCKS = 100, 150
# Numbers that coefficients are rounded to where the fit hardly suffers.
ROUND = np.array([s * v for v in (1.0, 2.0, 0.5, 3.0, 4.0, 0.25, 1.5, 1.0 / 3.0) for s in (1.0, -1.0)])
WORSE = 1.03
# Sums that leave more, in multiples of the least of as many terms, are not looked at.
WORTH = 3.0
# Shares are differences from one, so that smaller ones are alike.
ROUNDING = 1e-14
# A quantity of which a smaller share of the squares is no constant explains only rounding.
LEAST_SHARE = 1e-14
# Below this loss only rounding is left, and no other view is tried.
EXACT = 1e-22
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Screened:
    """What screening hands over: first individuals, the best of each size, and building blocks."""

    seeds: tuple[Expression, ...] = ()
    blocks: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class Transformation:
    """A function of the target that may be a sum of simple quantities.

    undo : from that sum back to the target. free : whether a factor of the sum is a factor of the target.
    """

    operators: tuple[str, ...]
    forward: Callable[[Values], Values]
    slope: Callable[[Values], Values]
    inverse: Callable[[Values], Values]
    undo: Callable[[Expression], Expression]
    free: bool = True


def _of(*operators: str) -> Callable[[Expression], Expression]:
    """Return the function that applies operators of one argument, "div" as a reciprocal, in this order."""

    def undo(expression: Expression) -> Expression:
        for name in operators:
            expression = Apply(name, (ONE, expression) if name == "div" else (expression,))
        return expression

    return undo


IDENTITY = Transformation((), lambda y: y, np.ones_like, lambda u: u, _of())
TRANSFORMATIONS = (
    IDENTITY,
    Transformation(("div",), lambda y: 1 / y, lambda y: 1 / y**2, lambda u: 1 / u, _of("div")),
    Transformation(("sqrt",), np.square, lambda y: 2 * y, np.sqrt, _of("sqrt")),
    Transformation(
        ("sqrt", "div"), lambda y: y**-2.0, lambda y: 2 / y**3, lambda u: u**-0.5, _of("sqrt", "div")
    ),
    Transformation(("square",), np.sqrt, lambda y: 0.5 * y**-0.5, np.square, _of("square")),
    Transformation(("exp",), np.log, lambda y: 1 / y, np.exp, _of("exp"), free=False),
    Transformation(("log",), np.exp, np.exp, np.log, _of("log"), free=False),
)


@dataclass(frozen=True)
class Found:
    """A combination: the share of the target's variance that it leaves, its size, and what it is made of."""

    loss: float
    size: int
    expression: Expression
    parts: tuple[Expression, ...]


def screen(  # noqa: PLR0917 (as the settings of a search are listed)
    atoms: Sequence[Quantity],
    y: Values,
    operators: Iterable[str],
    share: float = 1.0,
    seed: int = 0,
    seconds: float = math.inf,
) -> Screened:
    """Return the best short combinations of the atoms for the target `y` (n_rows,).

    share : of the quantities of the library, for small budgets. seed : of the noise of the structure tests.
    seconds : what is found by then is returned soon after.
    """
    end = time.monotonic() + seconds
    known = frozenset(operators)
    if share <= 0.0 or not atoms or not {"add", "sub", "mul", "div"} <= known:
        return Screened()
    if y.size < LEAST_ROWS or np.ptp(y) == 0.0:
        return Screened()
    found: list[Found] = []
    limits: dict[int, float] = {}
    # Tables this small are slower with threads, a hundred times so on a busy machine, and their number would
    # change the last digits.
    with threadpool_limits(1), np.errstate(all="ignore"):
        views = simpler_views(atoms, y, np.random.default_rng(seed), end)
        simple_first = sorted(views, key=lambda view: len(view.atoms))[:MOST_VIEWS]
        for place, view in enumerate(simple_first):
            is_simpler = len(view.atoms) < len(atoms) or len(views) == 1
            nests = is_simpler and place < NESTED_VIEWS
            for combinations in _of_view(_thinned(view), known, share, limits, end, nests=nests):
                found += combinations
                if time.monotonic() > end or any(combination.loss < EXACT for combination in found):
                    return _best(found, known)
    return _best(found, known)


def _thinned(view: View) -> View:
    """Return the view on at most `MOST_ROWS` of its rows."""
    rows = slice(None, None, -(-view.values.size // MOST_ROWS))
    atoms = tuple(Quantity(atom.expression, atom.values[rows], atom.size) for atom in view.atoms)
    return View(atoms, view.values[rows], view.factor, view.scale[rows])


def _of_view(
    view: View, known: frozenset[str], share: float, limits: dict[int, float], end: float, *, nests: bool
) -> Iterator[list[Found]]:
    """Yield the combinations of one view, by kind."""
    library = make_library(view.atoms, known, max(len(view.atoms), int(share * LIBRARY)), end)
    values = np.array([item.values for item in library])
    yield list(_products(view, library, values, known, max(4, int(share * MULTIPLIED))))
    for how in TRANSFORMATIONS:
        if known >= set(how.operators):
            yield list(_sums(view, library, values, how, most=max(4, int(share * SUMMED)), limits=limits))
    if nests:
        arguments = arguments_of(view.atoms, known)[: max(1, int(share * ARGUMENTS))]
        yield list(_nested_products(view, Grid(arguments, FACTORS, known, end), known))
        grid = Grid(arguments, TERMS, known, end)
        for how in TRANSFORMATIONS[:NESTING]:
            if known >= set(how.operators):
                yield list(_nested_sums(view, grid, known, how, limits))


def _nested_sums(
    view: View, grid: Grid, known: frozenset[str], how: Transformation, limits: dict[int, float]
) -> Iterator[Found]:
    """Yield the best sums of atoms, their powers, and functions of fitted multiples times these."""
    weighted = _weighted(view, how)
    if weighted is None:
        return
    wanted, weight = weighted
    atoms = view.atoms
    squares = [apply("square", atom) for atom in atoms if "square" in known]
    several = [apply("mul", *pair) for pair in combinations(atoms, 2)] if len(atoms) <= PAIRED else []
    roots = [apply("sqrt", atom) for atom in atoms if "sqrt" in known and np.all(atom.values > 0.0)]
    several += roots if len(atoms) < PAIRED else []
    one = np.ones_like(weight)
    always = np.array([one, *(item.values for item in (*atoms, *squares))]) * weight
    times = np.array([one, *(item.values for item in (*atoms, *several))]) * weight
    found = grid.best(wanted * weight, always, times, NESTED)
    functions = [nested.quantity() for nested in found]
    products = [multiplied(function, item) for function in functions for item in (*atoms, *several)]
    library = [*functions, *atoms, *squares, *roots, *products]
    values = np.array([item.values for item in library])
    yield from _sums(view, library, values, how, most=len(library), limits=limits)


def _nested_products(view: View, grid: Grid, known: frozenset[str]) -> Iterator[Found]:
    """Yield the best products of powers of atoms and of functions of fitted multiples, one after another."""
    if np.any(view.values == 0.0):
        return
    weight = np.abs(view.values * view.scale)
    target = np.log(np.abs(view.values)) * weight
    logs = [np.log(np.abs(atom.values)) for atom in view.atoms if np.all(atom.values != 0.0)]
    always = np.array([np.ones_like(weight), *logs]) * weight
    chosen: list[Nested] = []
    for _ in range(FACTORED):
        chosen += grid.best(target, always, weight[None], NESTED, chosen)[:1]
        chosen = refine_in_turn(target, always, weight[None], chosen)
        functions = [nested.quantity() for nested in chosen]
        values = np.array([item.values for item in functions])
        yield from _products(view, functions, values, known, len(functions), terms=FACTORED)


def _sums(
    view: View,
    library: Sequence[Quantity],
    values: Values,
    how: Transformation,
    *,
    most: int,
    limits: dict[int, float],
) -> Iterator[Found]:
    """Yield the best sums of quantities for the transformed target.

    limits : by number of terms, the least share left so far, updated in place.
    """
    weighted = _weighted(view, how)
    if weighted is None:
        return
    wanted, weight = weighted
    columns, target, base = values * weight, wanted * weight, weight[None]
    if len(library) > most:
        rough = _explained(columns, target, base)
        rough[: most // 3] = np.inf
        kept = np.sort(np.argsort(-rough, kind="stable")[:most])
        library, values, columns = [library[i] for i in kept], values[kept], columns[kept]
    for chosen, left in best_subsets(columns, target, base, KEPT, MOST_TERMS):
        limits[len(chosen)] = min(limits.get(len(chosen), np.inf), left)
        if left <= WORTH * limits[len(chosen)] + ROUNDING:
            parts = [library[i] for i in chosen]
            for offset in (False, True):
                if not (offset and how is IDENTITY and view.factor is None):
                    yield from _fitted(view, parts, how, wanted, weight, offset=offset)


def _weighted(view: View, how: Transformation) -> tuple[Values, Values] | None:
    """Return the transformed target and the weights of the rows, None where it is not finite.

    So weighted, the squares that are left are to first order those of the target itself.
    """
    wanted, slope = how.forward(view.values), np.abs(how.slope(view.values))
    weight = np.abs(view.scale) / np.maximum(slope, 0.03 * np.median(slope))
    sound = np.all(np.isfinite(wanted)) and np.all(np.isfinite(weight))
    return (wanted, weight) if sound else None


def _explained(columns: Values, target: Values, base: Values) -> Values:
    """Return the share of the target along each column, (n_columns,), without the parts along `base`."""
    along = base[0] / np.sqrt(np.sum(base[0] ** 2))
    parts, squares = columns @ along, np.einsum("ij,ij->i", columns, columns)
    left = squares - parts**2
    explained: Values = (columns @ (target - along * (along @ target))) ** 2 / (left + 1e-300)
    return np.where(left > LEAST_SHARE * squares, explained, 0.0)


def _fitted(
    view: View,
    terms: Sequence[Quantity],
    how: Transformation,
    wanted: Values,
    weight: Values,
    *,
    offset: bool,
) -> Iterator[Found]:
    """Yield a sum with its fitted coefficients, and with round ones where that costs nothing."""
    parts = [term.values for term in terms] + [np.ones_like(wanted)] * offset
    table = np.array(parts)
    fitted = coefficients(table * weight, wanted * weight)
    largest = float(np.abs(fitted[0]))
    if how.free and largest > 0.0:
        # The factor belongs to the whole formula, whose slope the search fits.
        fitted = fitted / largest
    expressions = [term.expression for term in terms] + [ONE] * offset
    exact = _assessed(view, how, table, fitted, expressions)
    against = 9.0 * (fitted[:, None] * ROUND < 0.0)
    near = ROUND[np.argmin(np.abs(np.log(np.abs(fitted[:, None] / ROUND))) + against, axis=1)]
    rounded = _assessed(view, how, table, near, expressions)
    yield exact
    if rounded.loss <= WORSE * exact.loss + 1e-20:
        yield rounded


def _assessed(
    view: View, how: Transformation, table: Values, fitted: Values, expressions: Sequence[Expression]
) -> Found:
    """Return the formula of a sum, and the share of the target's variance that it leaves."""
    inner = how.inverse(fitted @ table)
    whole = how.undo(_sum(expressions, fitted.tolist()))
    if view.factor is not None:
        whole = _times(view.factor, whole)
    return Found(_loss(view, inner), count_nodes(whole), whole, (*expressions, whole))


def _times(factor: Expression, whole: Expression) -> Expression:
    """Return the product, with as few divisions as possible."""
    if isinstance(factor, Apply) and factor.operator == "div":
        above, below = factor.arguments
        if isinstance(whole, Apply) and whole.operator == "div" and whole.arguments[0] == ONE:
            return Apply("div", (above, Apply("mul", (below, whole.arguments[1]))))
        return Apply("div", (whole if above == ONE else Apply("mul", (above, whole)), below))
    if isinstance(whole, Apply) and whole.operator == "div" and whole.arguments[0] == ONE:
        return Apply("div", (factor, whole.arguments[1]))
    return Apply("mul", (factor, whole))


def _sum(expressions: Sequence[Expression], weights: Sequence[float]) -> Expression:
    """Return the weighted sum; the first positive term leads."""
    pairs = sorted(zip(weights, expressions, strict=True), key=lambda pair: pair[0] < 0.0)
    total: Expression | None = None
    for weight, expression in pairs:
        size = abs(weight)
        term = (
            expression
            if size == 1.0
            else Constant(size)
            if expression == ONE
            else Apply("mul", (Constant(size), expression))
        )
        if total is None:
            total = term if weight > 0.0 else Apply("sub", (Constant(0.0), term))
        else:
            total = Apply("add" if weight > 0.0 else "sub", (total, term))
    return total or ONE


def _loss(view: View, inner: Values) -> float:
    """Return the share of the variance that is left with offset and slope fitted, infinite if not finite."""
    predicted, y = inner * view.scale, view.values * view.scale
    if not np.all(np.isfinite(predicted)):
        return np.inf
    off, wanted = predicted - predicted.mean(), y - y.mean()
    size = float(off @ off)
    left = wanted - off * (float(off @ wanted) / size if size > 0.0 else 0.0)
    return float(left @ left) / float(wanted @ wanted)


def _products(
    view: View,
    library: Sequence[Quantity],
    values: Values,
    known: frozenset[str],
    most: int,
    *,
    terms: int = 2,
) -> Iterator[Found]:
    """Yield the best products of powers of the atoms and of up to some quantities of the library."""
    if not {"square", "sqrt"} <= known or np.any(view.values == 0.0):
        return
    weight = np.abs(view.values * view.scale)
    target = np.log(np.abs(view.values)) * weight
    nowhere_zero = [atom for atom in view.atoms if np.all(atom.values != 0.0)]
    sizes = np.abs([atom.values for atom in nowhere_zero]).reshape(len(nowhere_zero), weight.size)
    logs = np.log(sizes)
    base = np.vstack([np.ones_like(weight), logs]) * weight
    usable = [i for i, item in enumerate(library) if np.all(np.abs(item.values) > 1e-9)][: 4 * most]
    columns = np.log(np.abs(values[usable]).reshape(len(usable), weight.size)) * weight
    subsets = best_subsets(columns[:most], target, base, KEPT, terms) if usable else []
    for chosen, _ in [((), 0.0), *subsets]:
        chosen_items = [library[usable[i]] for i in chosen]
        table = np.vstack([base, columns[list(chosen)]]) if chosen else base
        exponents = np.round(2.0 * coefficients(table, target)[1:]) / 2.0
        factors = [*nowhere_zero, *chosen_items]
        if not np.any(exponents) or np.any(np.abs(exponents) > 6.0):
            continue
        whole = monomial([item.expression for item in factors], exponents.tolist())
        inner = np.prod([item.values**e for item, e in zip(factors, exponents, strict=True) if e], axis=0)
        whole = whole if view.factor is None else _times(view.factor, whole or ONE)
        if whole is not None:
            yield Found(
                _loss(view, inner), count_nodes(whole), whole, tuple(t.expression for t in chosen_items)
            )


def _shorter(expression: Expression, known: frozenset[str]) -> Expression:
    """Return the tidied expression, where that is shorter and needs no other operators."""
    short = tidy(expression)
    used = {node.operator for node in nodes(short) if isinstance(node, Apply)}
    return short if used <= known and count_nodes(short) < count_nodes(expression) else expression


def _best(found: Iterable[Found], known: frozenset[str]) -> Screened:
    """Return the best few of each size as seeds, and the parts of the best of all as blocks."""
    usable = sorted(
        (item for item in found if np.isfinite(item.loss)), key=lambda item: (item.loss, item.size)
    )
    seeds: dict[Expression, int] = {}
    counts: dict[int, int] = {}
    blocks: dict[Expression, None] = {}
    for item in usable:
        if counts.get(item.size, 0) < 5 and len(seeds) < MOST_SEEDS:
            counts[item.size] = counts.get(item.size, 0) + 1
            seeds.setdefault(_shorter(item.expression, known), item.size)
        for part in item.parts:
            if len(blocks) < MOST_BLOCKS and isinstance(part, Apply) and count_nodes(part) <= 12:
                blocks.setdefault(part)
    return Screened(tuple(seeds), tuple(blocks))
