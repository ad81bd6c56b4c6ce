"""Every row of the operator table against every question; a new row is picked up without an edit."""

import math

import numpy as np
import pytest
import sympy
from trainlaw.formulas import OPERATORS, evaluate, parse_text
from trainlaw.formulas.algebra.intervals import Interval

from ...rows import each_row

ROWS = list(OPERATORS.values())
each_operator = each_row("row", ROWS)
GRID = np.array([-1e3, -2.5, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0, 3.7, 50.0])


def arguments(row):
    """All pairs (or single values) of the grid, one array per argument."""
    return [grid.ravel() for grid in np.meshgrid(*[GRID] * row.arity)]


@each_operator
def test_row_is_complete(row):
    assert OPERATORS[row.name] is row and row.cost >= 1
    assert len(row.partials) == len(row.monotonicity) == row.arity and {*row.monotonicity} <= {-1, 0, 1}
    assert row.interval is not None or 0 not in row.monotonicity
    assert len(row.unit_rule.exponents) == (row.arity if row.unit_rule.kind == "product" else 0)


@each_operator
def test_scalar_text_is_the_function(row):
    code = compile(row.scalar, row.name, "eval")
    with np.errstate(all="ignore"):
        expected = row.function(*arguments(row))
    for values, goal in zip(zip(*arguments(row), strict=True), expected, strict=True):
        try:
            value = eval(code, {"math": math}, dict(zip("ab", map(float, values), strict=False)))
        except (ArithmeticError, ValueError):
            value = math.nan
        assert value == pytest.approx(goal, rel=1e-14, abs=1e-300) or not np.isfinite(goal)


@each_operator
def test_partials_agree_with_differences(row):
    places = [np.where(np.abs(column) < 1e-9, 0.01, column) + 0.013 for column in arguments(row)]
    apart = np.ones(len(places[0]), dtype=bool) if row.arity == 1 else np.abs(places[0] - places[1]) > 0.1
    for index, text in enumerate(row.partials):
        slope, valid = evaluate(parse_text(text), dict(zip("ab", places, strict=False)))
        steps = [
            1e-6 * np.maximum(1, np.abs(column)) * (place == index) for place, column in enumerate(places)
        ]
        with np.errstate(all="ignore"):
            above = row.function(*(column + step for column, step in zip(places, steps, strict=True)))
            below = row.function(*(column - step for column, step in zip(places, steps, strict=True)))
            difference = (above - below) / (2 * steps[index])
        usable = valid & np.isfinite(difference) & apart & (np.abs(above) < 1e12)
        assert usable.sum() >= 4
        np.testing.assert_allclose(slope[usable], difference[usable], rtol=1e-4, atol=1e-5)


@each_operator
def test_sympy_form_is_the_function(row):
    symbols = sympy.symbols("a b", positive=True)[: row.arity]
    form = row.sympy_form(sympy, *symbols)
    for values in [(0.7, 1.9), (2.2, 0.4)]:
        value = form.subs(dict(zip(symbols, values, strict=False)))
        assert float(value) == pytest.approx(float(row.function(*values[: row.arity])), rel=1e-12)


@each_operator
def test_definition_is_the_function(row):
    if row.definition is None:  # every language then has a form for it: tests/formulas/printers/test_all.py
        return
    values, _ = evaluate(parse_text(row.definition), dict(zip("ab", arguments(row), strict=False)))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(values, row.function(*arguments(row)), rtol=1e-14)


@each_operator
def test_monotonicity_is_true(row):
    for index, direction in enumerate(row.monotonicity):
        raised = [column + (place == index) * 0.7 for place, column in enumerate(arguments(row))]
        with np.errstate(all="ignore"):
            change = row.function(*raised) - row.function(*arguments(row))
        assert np.all(direction * change[np.isfinite(change)] >= 0)


@each_operator
def test_interval_encloses_and_total_is_true(row):
    generator = np.random.default_rng(3)
    lows = [generator.choice(GRID, 400) for _ in range(row.arity)]
    highs = [low + generator.choice([0.0, 0.5, 1.0, 4.0, 1e3], 400) for low in lows]
    ranges = np.stack([lows, highs], axis=2).tolist()
    with np.errstate(all="ignore"):
        boxes = [row.enclose(*(Interval(*ends) for ends in box)) for box in zip(*ranges, strict=True)]
        found_low, found_high, total = map(np.array, zip(*boxes, strict=True))
        for _ in range(40):
            shares = [generator.choice([0.0, 1.0, 0.5, generator.random()], 400) for _ in range(row.arity)]
            points = [
                low + share * (high - low) for low, high, share in zip(lows, highs, shares, strict=True)
            ]
            values = row.function(*points)
            valid = np.isfinite(values)
            assert np.all((values >= found_low)[valid]) and np.all((values <= found_high)[valid])
            assert np.all(valid[total])
    assert total.any()


def test_costs_are_fixed_as_they_decide_what_is_simple():
    costs = {
        1: {"add", "sub", "mul", "neg", "abs", "square"},
        2: {"div", "inv", "sqrt", "cbrt", "cube", "min", "max", "step"},
        3: {"exp", "log", "pow", "sin", "cos", "tanh"},
    }
    assert {name: OPERATORS[name].cost for names in costs.values() for name in names} == {
        name: cost for cost, names in costs.items() for name in names
    }
