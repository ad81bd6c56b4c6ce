"""The fit of a given form: sums of weighted terms times factors, in the holes of a template.

A template such as `max(hole_device, hole_host) + hole_copy` fixes how parts of a formula combine. A bracket
defines the content of one hole: a sum of weighted amounts in the target's unit times powers and exponentials
of pure numbers. There is no quotient, no product of two amounts and no negative weight, so that the formula
is positive, and falls or rises with a quantity as the bounds of the exponents say.

Each constant has a prior: the value that hardware and algorithms suggest. A constant that no row determines
keeps it.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray
from trainlaw.evolve.leaves import Rule
from trainlaw.evolve.machine.arrays import (
    CONSTANT,
    GROUP_LIMIT,
    SOFT_L1,
    VARIABLE,
    WEIGHTED,
    Programs,
    make_rows,
)
from trainlaw.evolve.machine.batch import Machine
from trainlaw.evolve.machine.kernels import OPERATOR_CODES
from trainlaw.evolve.settings import POWER, Factor
from trainlaw.formulas import Apply, Constant, Expression, InputError, Variable, substitute, tidy

#: Standard deviations of the priors: of a weight, as a share of its expected value, and of an exponent.
WEIGHT_DEVIATION, EXPONENT_DEVIATION = 1.5, 0.3
# Least weight over the expected one: work that exists never comes for nothing.
LEAST_SHARE = 0.1
# Each row is weighted by (rows in its group) ** -power: between all rows alike, 0, and all groups, 1.
GROUP_WEIGHT_POWER = 0.35
# Steps of the fit, and the share of the loss that the last one gains: coarsely from the expected constants,
# then to the end with fresh damping.
STEPS = ((5, 1e-4), (60, 1e-9))


@dataclass(frozen=True)
class Bracket:
    """The terms and factors of one hole of a template.

    Parameters
    ----------
    hole : str
        Name of the hole in the template.
    terms : tuple of (str, float)
        Features in the target's unit that are added, with the weight expected of each.
    factors : tuple of Factor
        Factors that multiply the sum.
    deviation : float
        Standard deviation of the prior of a weight, as a share of its expected value.

    Raises
    ------
    InputError
        If there is no term, or an expected weight or the deviation is not positive.

    Examples
    --------
    >>> Bracket("hole_copy", (("input_copy_s", 4.0),)).terms
    (('input_copy_s', 4.0),)
    """

    hole: str
    terms: tuple[tuple[str, float], ...]
    factors: tuple[Factor, ...] = ()
    deviation: float = WEIGHT_DEVIATION

    def __post_init__(self) -> None:
        """Check the values that a fit would otherwise divide by."""
        if not self.terms:
            raise InputError(f"expected at least one term in the bracket {self.hole!r}, got none")
        for name, value in (("a deviation", self.deviation), *self.terms):
            if not 0.0 < value < math.inf:
                raise InputError(f"expected {name} above 0 in {self.hole!r}, got {value}")


@dataclass(frozen=True)
class GivenForm:
    """A formula whose constants are to be fitted.

    expression : constants are variables. rules : how each constant is fitted, by its variable; `centre` is
    its expected value.
    """

    expression: Expression
    rules: Mapping[str, Rule]


def form_of(
    template: Expression,
    brackets: Iterable[Bracket],
    columns: Mapping[str, NDArray[np.float64]],
    prior_weight: float,
) -> GivenForm:
    """Return the template with its holes filled, and the priors of its constants.

    columns : values of each feature, (n_rows,); a factor whose feature never changes is left out.
    prior_weight : weight of a squared deviation of one standard deviation, against the mean loss of the rows.
    """
    rules: dict[str, Rule] = {}
    parts: dict[str, Expression] = {}
    for bracket in brackets:
        terms = []
        for name, expected in bracket.terms:
            pull = prior_weight / (bracket.deviation * expected) ** 2
            weight = f"{bracket.hole} weight of {name}"
            rules[weight] = Rule(LEAST_SHARE * expected, scaling=True, pull=pull, centre=expected)
            terms.append(Apply("mul", (Variable(weight), Variable(name))))
        part: Expression = reduce(lambda left, right: Apply("add", (left, right)), terms)
        for factor in bracket.factors:
            if np.ptp(columns[factor.feature]) > 0.0:
                exponent = f"{bracket.hole} exponent of {factor.feature}"
                pull = prior_weight / EXPONENT_DEVIATION**2
                rules[exponent] = Rule(factor.low, factor.high, pull=pull, centre=factor.expected)
                part = Apply("mul", (part, _raised(factor, Variable(exponent))))
        parts[bracket.hole] = part
    return GivenForm(substitute(template, parts), rules)


def _raised(factor: Factor, exponent: Variable) -> Expression:
    """Return a factor with this exponent."""
    feature = Variable(factor.feature)
    if factor.kind == POWER:
        return Apply("pow", (feature, exponent))
    return Apply("exp", (Apply("mul", (exponent, feature)),))


def fitted(
    form: GivenForm,
    columns: Mapping[str, NDArray[np.float64]],
    y: NDArray[np.float64],
    groups: ArrayLike,
    weights: NDArray[np.float64] | None = None,
    *,
    loss_width: float,
) -> tuple[Expression, float]:
    """Return the form with fitted constants, and its loss: soft L1 of logarithms, without the priors.

    columns : of each feature, (n_rows,). y, positive, groups and weights : (n_rows,). loss_width : residual
    at which the loss changes from quadratic to linear. Raises InputError where the expected constants give a
    value that is not valid.
    """
    places = {name: place for place, name in enumerate(columns)}
    nodes = list(_program(form.expression, places, form.rules))
    held = [name for _, name in nodes if name]
    lower, upper, scaling, pull, centre = np.array([form.rules[name] for name in held]).T.copy()
    programs = Programs(
        np.array([token for token, _ in nodes]),
        np.array([0, len(nodes)]),
        centre,
        lower,
        upper,
        scaling > 0.0,
        pull,
        centre,
        np.array([0, len(held)]),
    )
    group = np.unique(np.asarray(groups), return_inverse=True)[1]
    weight = np.ones(y.size) if weights is None else weights
    weight = weight * np.bincount(group, weights=weight)[group] ** -GROUP_WEIGHT_POWER
    table = np.array(list(columns.values()), np.float64)
    # Of many groups, some are one: they only order the rows.
    case = np.unique(group % GROUP_LIMIT, return_inverse=True)[1]
    rows = make_rows(table, y, 1.0 / y, weight, case, logarithmic=True, robust=SOFT_L1, width=loss_width)
    machine = Machine()
    for steps, least_gain in STEPS:
        rescales = steps == STEPS[0][0]
        result = machine.fit(programs, rows, steps=steps, least_gain=least_gain, rescales=rescales)
        programs = programs._replace(theta=result.theta)
    if not math.isfinite(result.losses[0]):
        raise InputError("expected a form with a positive, finite time on every row, got none")
    found = {name: Constant(value) for name, value in zip(held, programs.theta.tolist(), strict=True)}
    return tidy(substitute(form.expression, found)), float(result.losses[0])


def _program(
    node: Expression, places: Mapping[str, int], rules: Mapping[str, Rule]
) -> Iterator[tuple[int, str]]:
    """Yield the token of each node in prefix order, and its constant, "" where it has none."""
    if isinstance(node, Apply):
        first, *others = node.arguments
        if node.operator == "mul" and isinstance(first, Variable) and first.name in rules:
            (feature,) = (other.name for other in others if isinstance(other, Variable))
            yield WEIGHTED + 256 * places[feature], first.name
            return
        yield OPERATOR_CODES[node.operator], ""
        for argument in node.arguments:
            yield from _program(argument, places, rules)
    elif isinstance(node, Variable) and node.name in rules:
        yield CONSTANT, node.name
    elif isinstance(node, Variable):
        yield VARIABLE + 256 * places[node.name], ""
    else:
        raise InputError(f"expected a template of features and holes, got the constant {node.value:g}")
