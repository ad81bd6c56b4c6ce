from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.formulas import OPERATORS, Apply, Unit, constants, infer_unit, parse_text
from trainlaw.formulas.algebra.unit_inference import constant_units, exact_fraction

from ...rows import each_row

UNITS = {
    "macs": Unit.parse("MAC"),
    "peak": Unit.parse("FLOP/s"),
    "size": Unit.parse("B"),
    "rate": Unit.parse("B/s"),
    "layers": Unit.parse("1"),
    "ratio": Unit.parse("1"),
    "time": Unit.parse("s"),
}


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("size / rate", "s"),
        ("size / rate + time", "s"),
        ("max(size / rate, time)", "s"),
        ("size ^ 0.5", "B^(1/2)"),
        ("sqrt(size * size)", "B"),
        ("cbrt(cube(rate))", "B/s"),
        ("time * exp(ratio)", "s"),
        ("step(size)", "1"),
        ("inv(rate) * square(size)", "s*B"),
        ("time * ratio ^ layers", "s"),
        ("time + 3", "s"),
        ("-abs(time)", "s"),
        ("peak ^ 0.48 * peak ^ 0.52", "FLOP/s"),
        ("log(size / (2 + size))", "1"),
        ("3 ^ ratio", "1"),
        ("(3 * size) ^ ratio", "1"),
        ("exp(3 * size)", "1"),
        ("min(4, 5) + time", "s"),
        ("sin(2) * tanh(ratio)", "1"),
    ],
)
def test_unit_follows(text, unit):
    assert infer_unit(parse_text(text), UNITS) == Unit.parse(unit)


@pytest.mark.parametrize("text", ["3", "3 * size", "3 * size + 4 * time", "max(2, 3)", "sqrt(2 * size)"])
def test_constants_leave_it_free(text):
    assert infer_unit(parse_text(text), UNITS) is None


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("6 * macs / peak", ["FLOP/MAC"]),
        ("2 * layers + 3", ["s", "s"]),
        ("2 + 3 * 4", ["s", None, None]),
        ("time * (1 + 2 * size)", ["1", "1/B"]),
        ("time * (size / 5) ^ 0.3", ["B", "1"]),
        ("max(2 * macs, 3 * size) + 4", ["s/MAC", "s/B", "s"]),
        ("2 * exp(-3 * size)", ["s", "1/B"]),
        ("time * 7 / (7 + layers)", ["1", "1"]),
    ],
)
def test_each_constant_gets_its_unit(text, units):
    found = constant_units(parse_text(text), UNITS, Unit.parse("s"))
    assert found == tuple(None if unit is None else Unit.parse(unit) for unit in units)


@given(st.from_type(Apply))
def test_without_units_nothing_conflicts(expression):
    pure = dict.fromkeys("xyz", Unit())
    assert infer_unit(expression, pure) in (None, Unit())
    units = constant_units(expression, pure, Unit())
    assert len(units) == len(constants(expression)) and set(units) <= {None, Unit()}


@each_row("name", OPERATORS)
def test_every_rule_answers(name):
    pure = {"a": Unit(), "b": Unit()}
    assert infer_unit(parse_text(f"{name}({', '.join('ab'[: OPERATORS[name].arity])})"), pure) == Unit()


def test_fractions_as_people_mean_them():
    assert exact_fraction(0.48) == Fraction(12, 25)
    assert exact_fraction(1 / 3) == Fraction(1, 3)
    assert exact_fraction(-2.0) == -2


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("square(2 * work)", "s^2", "s/FLOP"),
        ("sqrt(2 * work)", "s", "s^2/FLOP"),
        ("cube(2 * work)", "s", "s^(1/3)/FLOP"),
        ("work / square(2)", "s", "FLOP^(1/2)/s^(1/2)"),
        ("(2 * work)^2", "s^2", "s/FLOP"),
    ],
)
def test_constants_under_powers_get_the_root_of_the_unit(text, target, expected):
    units = constant_units(parse_text(text), {"work": Unit.parse("FLOP")}, Unit.parse(target))
    assert units[0] == Unit.parse(expected)
