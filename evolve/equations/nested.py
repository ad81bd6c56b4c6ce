"""Functions of a fitted multiple of a quantity: exp(c * u), sqrt(1 + c * u), sin(c * u), ...

For each quantity, function and c of a grid, the other constants of a sum are linear and solved for (variable
projection, Golub and Pereyra, 1973); the best are refined by Gauss-Newton steps in c.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray
from trainlaw.evolve.equations.library import Quantity, apply, key_of
from trainlaw.evolve.equations.regressions import coefficients
from trainlaw.formulas import Apply, Constant, Expression, evaluate, parse_text, substitute
from trainlaw.formulas.algebra.expression import count_nodes, nodes

# Rows on which the grid is compared.
GRID_ROWS = 100
# Functions that are refined, in multiples of those that are wanted.
REFINED = 3
# Atoms up to which the arguments contain waves of one times another.
WAVED = 4
# Gauss-Newton steps, and halvings of a step that does not help.
MOST_STEPS, MOST_HALVINGS = 12, 4
# How often functions of one sum are refined in turn.
TURNS = 4
# Multiples c * max|u| of the grid, of waves and of other functions.
WAVING = np.linspace(0.5, 20.0, 60)
GROWING = np.array([s * v for s in (1.0, -1.0) for v in (0.3, 0.7, 0.95, 1.6, 3.0, 6.0, 12.0, 25.0)])
# Pull towards zero of normalised coefficients, against columns that are nearly the same.
RIDGE = 1e-10
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Form:
    """A function of z = c * u; of a product, the logarithm of its size is fitted."""

    expression: Expression
    slope: Expression
    logarithmic: bool = False
    operators: frozenset[str] = field(init=False)
    grid: Values = field(init=False)

    def __post_init__(self) -> None:
        """Find the operators, and the grid that they need."""
        used = frozenset(node.operator for node in nodes(self.expression) if isinstance(node, Apply))
        object.__setattr__(self, "operators", used)
        object.__setattr__(self, "grid", WAVING if used & {"sin", "cos"} else GROWING)

    def values(self, z: Values) -> Values:
        """Return the values that are fitted, of the shape of `z`; not finite where there are none."""
        found = evaluate(self.expression, {"z": z.ravel()})[0].reshape(z.shape)
        return np.log(np.abs(found)) if self.logarithmic else found

    def slopes(self, z: Values) -> Values:
        """Return their derivatives with respect to z (n_rows,)."""
        found = evaluate(self.slope, {"z": z})[0]
        return found / evaluate(self.expression, {"z": z})[0] if self.logarithmic else found


# Functions that are terms of a sum, and those that are factors of a product, each with its derivative.
TERMS = tuple(
    Form(parse_text(text), parse_text(slope))
    for text, slope in (
        ("exp(z)", "exp(z)"),
        ("1 / (1 + z)", "-1 / square(1 + z)"),
        ("sqrt(1 + z)", "0.5 / sqrt(1 + z)"),
        ("1 / sqrt(1 + z)", "-0.5 / (sqrt(1 + z) * (1 + z))"),
        ("log(1 + z)", "1 / (1 + z)"),
        ("sin(z)", "cos(z)"),
        ("cos(z)", "0 - sin(z)"),
    )
)
FACTORS = tuple(
    Form(parse_text(text), parse_text(slope), logarithmic=True)
    for text, slope in (
        ("exp(z)", "exp(z)"),
        ("exp(z) - 1", "exp(z)"),
        ("exp(z) + 1", "exp(z)"),
        ("1 + z", "1 + 0 * z"),
        ("sin(z)", "cos(z)"),
        ("cos(z)", "0 - sin(z)"),
    )
)


@dataclass(frozen=True)
class Nested:
    """A function of c * u, u a quantity."""

    form: Form
    argument: Quantity
    c: float

    @property
    def z(self) -> Values:
        """Values of c * u, (n_rows,)."""
        return self.c * self.argument.values

    def fitted_values(self) -> Values:
        """Return what is fitted, (n_rows,)."""
        return self.form.values(self.z)

    def quantity(self) -> Quantity:
        """Return its expression and the values of that."""
        inner = Apply("mul", (Constant(self.c), self.argument.expression))
        expression = _signed(substitute(self.form.expression, {"z": inner}))
        values = evaluate(self.form.expression, {"z": self.z})[0]
        return Quantity(expression, values, count_nodes(expression))


def _signed(expression: Expression) -> Expression:
    """Return the expression with 1 + (-c) * u as 1 - c * u."""
    if not isinstance(expression, Apply):
        return expression
    parts = tuple(map(_signed, expression.arguments))
    last = parts[-1]
    if expression.operator == "add" and isinstance(last, Apply) and last.operator == "mul":
        factor, other = last.arguments
        if isinstance(factor, Constant) and factor.value < 0.0:
            return Apply("sub", (parts[0], Apply("mul", (Constant(-factor.value), other))))
    return Apply(expression.operator, parts)


def multiplied(function: Quantity, other: Quantity) -> Quantity:
    """Return the product; what is 1 over something divides."""
    whole = function.expression
    if isinstance(whole, Apply) and whole.operator == "div":
        expression = Apply("div", (other.expression, whole.arguments[1]))
        return Quantity(expression, function.values * other.values, function.size + other.size - 1)
    return apply("mul", other, function)


def arguments_of(atoms: Sequence[Quantity], known: frozenset[str]) -> list[Quantity]:
    """Return quotients of products of the atoms, their sums and squares, simple ones first."""
    found: dict[bytes, Quantity] = {}
    for candidate in _arguments(atoms, known):
        key = key_of(candidate.values)
        if key is not None:
            found.setdefault(key, candidate)
    return list(found.values())


def _arguments(atoms: Sequence[Quantity], known: frozenset[str]) -> Iterator[Quantity]:
    def squares(items: Sequence[Quantity]) -> list[Quantity]:
        return [apply("square", item) for item in items] if "square" in known else []

    products = [apply("mul", *pair) for pair in combinations(atoms, 2)]
    monomials = [*products, *(apply("div", *pair) for pair in permutations(atoms, 2))]
    uneven = [apply("div", one, square) for one in atoms for square in squares(atoms)]
    sums = [apply(name, *pair) for name in ("sub", "add") for pair in combinations(atoms, 2)]
    for items in (list(atoms), monomials, sums):
        yield from items
        yield from squares(items)
    yield from uneven
    if len(atoms) <= WAVED:
        yield from (
            apply("mul", atom, apply(wave, other))
            for wave in ("cos", "sin")
            if wave in known
            for atom, other in permutations(atoms, 2)
        )
    triples = [apply("mul", first, second) for first in products for second in atoms]
    triples += [apply("div", first, second) for first in products for second in atoms]
    triples += [apply("div", second, first) for first in products for second in atoms]
    yield from triples
    yield from squares(triples)


class Grid:
    """Each form of each argument at each c of its grid, computed once for several targets."""

    def __init__(
        self, arguments: Sequence[Quantity], forms: Sequence[Form], known: frozenset[str], end: float
    ) -> None:
        """Keep the arguments and the forms that need no other operators; end : of `time.monotonic`."""
        self.arguments, self.end = arguments, end
        self.forms = [form for form in forms if form.operators <= known]
        self._functions: dict[int, tuple[Values, Values]] = {}

    def _of_form(self, place: int, rows: slice) -> tuple[Values, Values]:
        """Return the multiples (n_arguments, n_grid) and the values (n_arguments * n_grid, n_rows)."""
        if place not in self._functions:
            values = np.array([argument.values[rows] for argument in self.arguments])
            multiples = self.forms[place].grid / np.abs(values).max(axis=1, keepdims=True)
            functions = self.forms[place].values(multiples[:, :, None] * values[:, None, :])
            self._functions[place] = multiples, functions.reshape(multiples.size, -1)
        return self._functions[place]

    def best(
        self, wanted: Values, always: Values, times: Values, amount: int, others: Sequence[Nested] = ()
    ) -> list[Nested]:
        """Return the functions that, with fitted constants, leave least of `wanted` (n_rows,), best first.

        always, times : (k, n_rows), what is added to a sum whatever the function, and what the function is
        multiplied by, each with a coefficient. others : further functions, which are always in the sum.
        """
        rows = slice(None, None, -(-wanted.size // GRID_ROWS))
        fixed = np.vstack([always, *(times * other.fitted_values() for other in others)])
        found: list[tuple[float, Nested]] = []
        for place, form in enumerate(self.forms):
            if not self.arguments or time.monotonic() > self.end:
                break
            multiples, functions = self._of_form(place, rows)
            left = _shares_left(wanted[rows], fixed[:, rows], times[:, rows], functions)
            left = left.reshape(multiples.shape)
            for number, best in enumerate(np.argmin(left, axis=1).tolist()):
                argument = self.arguments[number]
                if all(other.form is not form or other.argument is not argument for other in others):
                    nested = Nested(form, argument, float(multiples[number, best]))
                    found.append((float(left[number, best]), nested))
        found.sort(key=lambda pair: pair[0])
        refined = [refine(wanted, fixed, times, nested) for _, nested in found[: REFINED * amount]]
        return [nested for _, nested in sorted(refined, key=lambda pair: pair[0])[:amount]]


def _shares_left(wanted: Values, always: Values, times: Values, functions: Values) -> Values:
    """Return the share of the squares that each of the `functions` (n, n_rows) leaves.

    From normal equations, which are exact enough to compare; columns of a function that is not finite or
    nearly fixed leave everything.
    """
    sound = np.all(np.isfinite(functions), axis=1) & (np.abs(functions).max(axis=1) < 1e30)
    functions = np.where(sound[:, None], functions, 0.0)
    along = np.linalg.qr(always.T)[0].T
    rest, moving = wanted - (along @ wanted) @ along, times.shape[0]
    squares = (times[:, None] * times).reshape(-1, wanted.size)
    normal = (functions**2 @ squares.T).reshape(-1, moving, moving)
    crossed = (times[:, None] * along).reshape(-1, wanted.size)
    parts = (functions @ crossed.T).reshape(-1, moving, along.shape[0])
    size = np.sqrt(np.einsum("nii->ni", normal)) + 1e-300
    normal -= parts @ parts.transpose(0, 2, 1)
    normal /= size[:, :, None] * size[:, None, :]
    normal += (RIDGE + (~sound)[:, None, None]) * np.eye(moving)
    right = (functions @ (times * rest).T) / size
    solved = np.linalg.solve(normal, right[:, :, None])[:, :, 0]
    left: Values = 1.0 - np.sum(solved * right, axis=1) / float(wanted @ wanted)
    return np.where(sound, left, np.inf)


def refine(wanted: Values, always: Values, times: Values, nested: Nested) -> tuple[float, Nested]:
    """Return the share that is left and the function after Gauss-Newton steps in c."""
    left, slope = _residual(wanted, always, times, nested)
    for _ in range(MOST_STEPS):
        size = float(slope @ slope)
        step = float(slope @ left) / size if size > 0.0 else 0.0
        for _ in range(MOST_HALVINGS):
            trial = Nested(nested.form, nested.argument, nested.c + step)
            now, its_slope = _residual(wanted, always, times, trial)
            if now @ now < left @ left:
                break
            step *= 0.5
        else:
            break
        nested, left, slope = trial, now, its_slope
        if abs(step) < 1e-13 * abs(nested.c):
            break
    return float(left @ left), nested


def refine_in_turn(wanted: Values, always: Values, times: Values, several: list[Nested]) -> list[Nested]:
    """Return the functions of one sum, each refined with the others, some times in turn."""
    for place in TURNS * [*range(len(several))]:
        others = [other.fitted_values() for i, other in enumerate(several) if i != place]
        fixed = np.vstack([always, *(times * values for values in others)])
        several[place] = refine(wanted, fixed, times, several[place])[1]
    return several


def _residual(wanted: Values, always: Values, times: Values, nested: Nested) -> tuple[Values, Values]:
    """Return what is left of `wanted`, and the slope in c of what is fitted, outside the fit's columns."""
    values = nested.fitted_values()
    table = np.vstack([always, times * values])
    if not np.all(np.isfinite(table)):
        return np.full_like(wanted, 1e150), np.zeros_like(wanted)
    fitted = coefficients(table, wanted)
    slope = (fitted[always.shape[0] :] @ times) * nested.form.slopes(nested.z) * nested.argument.values
    if not np.all(np.isfinite(slope)):
        return np.full_like(wanted, 1e150), np.zeros_like(wanted)
    return wanted - fitted @ table, slope - coefficients(table, slope) @ table
