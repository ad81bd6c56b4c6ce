"""First formulas without units: sums of products of simple functions, found one term after another.

A law of textbooks is often such a sum, perhaps in an exponential or a reciprocal. Of many products those that
go best with what is left are tried as the next term (matching pursuit: Mallat and Zhang, 1993), each sum is
fitted with all its constants, and the shortest descriptions are kept. The search begins with these.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.machine.arrays import SQUARES, make_rows
from trainlaw.evolve.search.description import LEAST_LOSS, code_length, formula_length
from trainlaw.evolve.search.individuals import Individual
from trainlaw.evolve.search.problem import Problem
from trainlaw.evolve.search.trees import nodes_of, to_expression
from trainlaw.formulas import Apply, Constant, Expression, evaluate, parse_text, tidy
from trainlaw.formulas.algebra.expression import nodes
from trainlaw.formulas.algebra.text import quote_name
from trainlaw.formulas.algebra.tidying import fold_constants

# Functions of a feature x, and those of a multiple of it, whose size is scanned: a fit finds the nearest
# minimum only, a quarter of a turn away. Exponents and turns are those over the range of the feature.
_PLAIN = ("{x}", "square({x})", "sqrt({x})", "log({x})", "1 / {x}", "1 / square({x})", "sin({x})", "cos({x})")
_SCANNED = {
    "exp": (-4.0, -2.0, -1.0, 1.0, 2.0, 4.0),
    **dict.fromkeys(("sin", "cos"), tuple(0.5 * math.pi * quarters for quarters in range(1, 17))),
}
# Rows on which products are compared, and functions that are multiplied: all pairs take 27 MB.
_MOST_ROWS, _MOST_FUNCTIONS = 300, 150
# A search of fewer formulas is over sooner.
_LEAST_EVALUATIONS = 1_000
# Products that are tried as the next term of a sum, sums that are kept, terms of a sum, and steps of a fit.
_TRIED, _KEPT, _MOST_TERMS, _STEPS = 10, 6, 5, 20
# What may be around a sum, and what the sum then has to be.
_AROUND: Mapping[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "": np.positive,
    "exp": np.log,
    "div": np.reciprocal,
}


@dataclass(frozen=True)
class _Products:
    """Products of functions, their values, float32 (n_products, n_rows), and lengths, nats (n_products,)."""

    expressions: list[Expression]
    values: NDArray[np.float32]
    lengths: NDArray[np.float64]

    @cached_property
    def unit(self) -> NDArray[np.float32]:
        """The values with mean 0 and length 1."""
        centred = self.values - self.values.mean(axis=1, keepdims=True)
        return np.asarray(centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-30))

    def best(self, rest: NDArray[np.float64], count: int) -> "_Products":
        """Return those by which the description of the rest of a target, (n_rows,), is shortest."""
        part = (self.unit @ (rest / max(float(np.linalg.norm(rest)), 1e-300)).astype(np.float32)).astype(
            np.float64
        )
        left = 0.5 * rest.size * np.log(np.maximum(1.0 - np.nan_to_num(part) ** 2, 1e-6))
        places = np.argsort(left + self.lengths, kind="stable")[:count]
        return _Products([self.expressions[i] for i in places], self.values[places], self.lengths[places])

    def times(self, others: "_Products") -> "_Products":
        """Return the product of each with each of the others."""
        return _Products(
            [_times(one, other) for one in self.expressions for other in others.expressions],
            np.vstack([others.values * row for row in self.values]),
            np.add.outer(self.lengths, others.lengths).ravel(),
        )

    def weighted(self, rest: NDArray[np.float64]) -> Iterator[Expression]:
        """Yield each with the weight that fits the rest of a target, (n_rows,), best."""
        for expression, values in zip(self.expressions, self.values.astype(np.float64), strict=True):
            centred = values - values.mean()
            weight = float(centred @ rest) / max(float(centred @ centred), 1e-300)
            yield _times(Constant(weight), expression)


def _times(one: Expression, other: Expression) -> Expression:
    return Apply("mul", (one, other))


def first_sums(problem: Problem) -> list[Individual]:
    """Return fitted sums of few terms, also in an exponential or a reciprocal; none where units are types."""
    settings, rows = problem.settings, problem.rows
    is_plain = not settings.typed and rows.robust == SQUARES and not rows.logarithmic
    is_long = settings.evaluations is None or settings.evaluations >= _LEAST_EVALUATIONS
    is_free = not problem.structure.demands_any and {"add", "mul"} <= {*settings.offered}
    if not (is_plain and is_long and is_free):
        return []
    picked = np.arange(0, rows.target.size, -(-rows.target.size // _MOST_ROWS))
    columns, y = rows.columns[:, picked], rows.target[picked]
    case = np.zeros(y.size, np.int64)
    few = make_rows(columns, y, rows.scale[picked], rows.weight[picked], case, logarithmic=False)
    named = dict(zip([spec.name for spec in problem.features], columns, strict=True))
    small = replace(problem, rows=few, all_rows=None)
    found: list[Individual] = []
    # What overflows somewhere is not valid, and goes with nothing.
    with np.errstate(all="ignore"):
        functions = _functions(named, small)
        search = _Pursuit(small, named, y, functions, functions.times(functions))
        for around in _AROUND:
            is_possible = not around or (around in settings.offered and np.all(y > 0.0))
            if is_possible and not any(tree.loss < LEAST_LOSS for tree in found):
                found += search.sums(around)
    return found


def _functions(columns: Mapping[str, NDArray[np.float64]], problem: Problem) -> _Products:
    """Return functions of single features, (n_rows,) each: of all features the simplest first."""
    usable = dict(islice(_usable(columns, problem.settings.offered), _MOST_FUNCTIONS))
    lengths = np.array([formula_length(each, problem) for each in usable])
    return _Products([*usable], np.array([*usable.values()], np.float32), lengths)


def _usable(
    columns: Mapping[str, NDArray[np.float64]], offered: Collection[str]
) -> Iterator[tuple[Expression, NDArray[np.float64]]]:
    """Yield the functions that the operators allow and that are valid on every row, with their values."""
    scanned = [(wave, size) for wave, sizes in _SCANNED.items() for size in sizes]
    for text in (*_PLAIN, *(f"{wave}({size!r} / {{span}} * {{x}})" for wave, size in scanned)):
        for name, column in columns.items():
            span = float(np.ptp(column)) or 1.0
            expression = fold_constants(parse_text(text.format(x=quote_name(name), span=repr(span))))
            values, valid = evaluate(expression, columns)
            used = {node.operator for node in nodes(expression) if isinstance(node, Apply)}
            if np.all(valid) and used <= {*offered}:
                yield expression, values


@dataclass(frozen=True)
class _Pursuit:
    """The rows of a pursuit, and what its terms are made of; y : target, (n_rows,)."""

    problem: Problem
    columns: Mapping[str, NDArray[np.float64]]
    y: NDArray[np.float64]
    functions: _Products
    products: _Products

    def sums(self, around: str) -> list[Individual]:
        """Return fitted sums of one term and more, each inside the operator `around` unless that is empty."""
        target = _AROUND[around](self.y)
        kept: list[Expression] = [Constant(float(target.mean()))]
        rests, found, shortest = [target - target.mean()], [], math.inf
        for _ in range(_MOST_TERMS):
            grown = [
                tidy(Apply("add", (whole, term)))
                for whole, rest in zip(kept, rests, strict=True)
                for term in self._terms(rest)
            ]
            best = self._fitted([_inside(around, whole) for whole in grown])
            if not best or best[0][0] >= shortest or self.problem.machine.fits_end:
                break
            shortest = best[0][0]
            found += [tree for _, tree in best]
            wholes = [to_expression(tree) for _, tree in best]
            if best[0][1].loss < LEAST_LOSS:
                break
            kept = [whole.arguments[-1] if around and isinstance(whole, Apply) else whole for whole in wholes]
            rests = [target - _AROUND[around](evaluate(whole, self.columns)[0]) for whole in wholes]
        return found

    def _terms(self, rest: NDArray[np.float64]) -> Iterator[Expression]:
        """Yield products of up to three functions with weights, those that go best with the rest."""
        pairs = self.products.best(rest, _TRIED)
        for found in (self.functions, pairs, pairs.times(self.functions)):
            yield from found.best(rest, _TRIED).weighted(rest)

    def _fitted(self, wholes: list[Expression]) -> list[tuple[float, Individual]]:
        """Return the fitted formulas of the shortest codes, with these, shortest first."""
        problem = self.problem
        made = (nodes_of(whole, problem.grammar.target, problem.grammar) for whole in wholes)
        trees = [Individual(tree) for tree in made if tree and len(tree) <= problem.settings.node_limit]
        fitted = [tree for tree in problem.fit(trees, _STEPS, start=False) if math.isfinite(tree.loss)]
        # The same formula in another order has the same loss.
        different = {f"{tree.loss:.6g}": tree for tree in reversed(fitted)}.values()
        found = [(code_length([tree.loss], to_expression(tree), problem), tree) for tree in different]
        return sorted(found, key=itemgetter(0))[:_KEPT]


def _inside(around: str, whole: Expression) -> Expression:
    """Return a sum inside an operator: e to its power, or 1 over it."""
    arguments = (Constant(1.0), whole) if around == "div" else (whole,)
    return Apply(around, arguments) if around else whole
