from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.formulas import DIMENSIONLESS, SECOND, Unit
from trainlaw.formulas.algebra.units import BASES

POWERS = sorted(
    {Fraction(top, bottom) for bottom in range(1, 5) for top in range(-3 * bottom, 3 * bottom + 1)}
)
units = st.builds(Unit, st.tuples(*[st.sampled_from(POWERS)] * len(BASES)))


@given(units)
def test_text_reads_back(unit):
    assert Unit.parse(str(unit)) == unit


@given(units, units)
def test_product_and_quotient_are_inverse(one, other):
    assert one * other / other == one
    assert (one * one) ** Fraction(1, 2) == one


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("FLOP/s", "FLOP/s"),
        ("1", "1"),
        ("1/s", "1/s"),
        ("s*s", "s^2"),
        ("B/(element*s)", "B/(s*element)"),
        ("s^(1/2)", "s^(1/2)"),
        ("s^-1", "1/s"),
        (" FLOP / MAC ", "FLOP/MAC"),
        ("USD/s/s", "USD/s^2"),
    ],
)
def test_reads(text, written):
    assert str(Unit.parse(text)) == written


def test_constants():
    assert DIMENSIONLESS.is_dimensionless and not SECOND.is_dimensionless
    assert len({SECOND, Unit.parse("s"), SECOND * DIMENSIONLESS}) == 1
