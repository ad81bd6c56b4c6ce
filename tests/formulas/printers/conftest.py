"""Random expressions and points that every printed form is run on, and the judge of what comes out."""

import numpy as np
import pytest
from trainlaw.formulas import (
    Apply,
    FeatureSpec,
    Formula,
    GroupedConstant,
    Unit,
    Variable,
    evaluate,
    to_text,
    variables,
)
from trainlaw.formulas.algebra.expression import nodes
from trainlaw.formulas.proofs.enclosure import enclose

RELATIVE = 1e-9
#: A compiler that takes no warning, and whose programs end where they leave an array.
COMPILE = "gcc -std=c99 -O2 -Wall -Wextra -Werror -fsanitize=address,undefined".split()

NASTY = [
    "=1+1",
    "+x",
    "-x",
    "@x",
    "'\"`",
    "</script><b>",
    "*/ int x; /*",
    "-- ; DROP TABLE runs",
    "\\end{x} $ % & _ ^",
    "a\nb\r\u2028c",
    "]]>",
    "${x}",
    "{a}",
    "__import__('os')",
    "\\",
    "#",
    "for",
    "\u03c1",
    "",
    " ",
    "x" * 200,
]


@pytest.fixture(scope="session")
def nasty_laws():
    """Formulas of hostile names."""
    return [nasty(name) for name in NASTY if name]


def bare(expression):
    """A formula whose features and target have no unit and no meaning."""
    features = tuple(FeatureSpec(name, name, Unit(), "") for name in variables(expression))
    return Formula(expression, features, FeatureSpec("value", "y", Unit(), ""))


def nasty(name):
    """A formula in which everything that a user names is called so."""
    one = Unit()
    other, constant = name + "2", name + "3"
    expression = Apply("add", (Apply("mul", (Variable(name), Variable(other))), Variable(constant)))
    return Formula(
        expression,
        (FeatureSpec(name, name, one, name, name), FeatureSpec(other, "b", one, "")),
        FeatureSpec(name, name, one, name),
        (GroupedConstant(constant, name, {name: 5.0, "other": 7.0}, 1.0),),
        {name: (0, 1)},
        {name: name},
        {name: [name]},
    )


@pytest.fixture(scope="session")
def points():
    """Points of all sizes and signs, edge cases among them: float64, shape (60,) per name."""
    generator = np.random.default_rng(7)
    edges = [0.0, 1.0, -1.0, 0.5, -2.0, 1e-300, 1e300, 710.0, -745.0, 2.5]
    found = {}
    for name in "xyz":
        ordinary = generator.normal(size=30) * 10.0 ** generator.integers(-3, 4, size=30)
        values = np.concatenate([generator.permutation(edges), generator.uniform(0.1, 9, 20), ordinary])
        # Fifteen digits, as many as the file of a workbook keeps.
        found[name] = np.array([float(f"{value:.15g}") for value in values])
    return found


@pytest.fixture(scope="session")
def expressions(random_expressions):
    """Random expressions over all operators."""
    return random_expressions(100, seed=21)


@pytest.fixture(scope="session")
def many_expressions(random_expressions):
    """Five hundred random expressions over all operators, for the languages that are quick to run."""
    return random_expressions(500, seed=22)


@pytest.fixture(scope="session")
def judge(points):
    """A function that checks the values of one printed form (nan = invalid) and counts them."""

    def check(expression, printed, ignored=False):
        values, valid = evaluate(expression, points)
        printed = np.asarray(printed, dtype=float)
        sure = valid == np.isfinite(printed)
        if not sure.all():
            sure |= _at_an_edge(expression, points, valid)
        with np.errstate(all="ignore"):
            close = np.abs(values - printed) <= RELATIVE * np.abs(values)
        both = valid & np.isfinite(printed)
        for place in np.flatnonzero(both & ~close).tolist():
            # Where rounding is amplified no two libraries agree: then both keep to the rigorous bounds.
            ends = {name: (float(column[place]),) * 2 for name, column in points.items()}
            low, high, _ = enclose(expression, ends)
            close[place] = low <= printed[place] <= high
        wrong = (~sure | (both & ~close)) & ~np.broadcast_to(ignored, valid.shape)
        first = int(np.argmax(wrong))
        place = {name: column[first] for name, column in points.items()}
        assert not wrong.any(), (
            f"{to_text(expression)} at {place}: {values[first]} {valid[first]}, got {printed[first]}"
        )
        return int(both.sum()), int((~valid & ~np.isfinite(printed)).sum())

    return check


def _at_an_edge(expression, points, valid):
    """Where a change in the last place of an input, or of an almost whole exponent, changes validity."""
    generator = np.random.default_rng(0)
    edge = np.zeros(len(valid), dtype=bool)
    for node in nodes(expression):
        if isinstance(node, Apply) and node.operator == "pow":
            exponent = evaluate(node.arguments[1], points)[0]
            with np.errstate(all="ignore"):
                off = np.abs(exponent - np.rint(exponent))
            edge |= (off > 0) & (off < 1e-14 * np.abs(exponent))
    for _ in range(12):
        moved = {
            name: column * (1 + generator.integers(-3, 4, column.size) * 2**-52)
            for name, column in points.items()
        }
        edge |= evaluate(expression, moved)[1] != valid
    return edge
