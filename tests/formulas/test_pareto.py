import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.formulas import InputError, ParetoFront, ScoredFormula, UnknownNameError


@given(points=st.lists(st.tuples(st.floats(0, 10), st.integers(1, 8))))
def test_front_is_what_nothing_beats(points):
    front = ParetoFront.of(ScoredFormula(None, loss, complexity) for loss, complexity in points)
    kept = {(member.loss, member.complexity) for member in front}
    for loss, complexity in points:
        beaten = any(a <= loss and b <= complexity and (a, b) != (loss, complexity) for a, b in points)
        assert ((loss, complexity) in kept) == (not beaten)


def test_order_is_checked(law):
    good, worse = ScoredFormula(law, 1.0, 3), ScoredFormula(law, 2.0, 5)
    with pytest.raises(InputError, match="rising complexity"):
        ParetoFront((good, worse))
    assert (
        len(ParetoFront.of([good, worse, ScoredFormula(law, math.nan, 1), ScoredFormula(law, math.inf, 1)]))
        == 1
    )


def test_choose(law):
    front = ParetoFront.of(
        [ScoredFormula(law, 3.0, 1), ScoredFormula(law, 2.0, 2, 5.0), ScoredFormula(law, 1.0, 3, 9.0)]
    )
    assert front.choose().complexity == 2 and front.choose("loss").complexity == 3
    assert ParetoFront.of([ScoredFormula(law, 3.0, 1), ScoredFormula(law, 2.0, 2)]).choose().complexity == 2
    with pytest.raises(UnknownNameError, match="did you mean 'validation'"):
        front.choose("validate")
    with pytest.raises(InputError, match="at least one"):
        ParetoFront(()).choose()


def test_rows(law):
    front = ParetoFront.of([ScoredFormula(law, 3.0, 1)])
    (row,) = front.to_rows()
    assert row == {"complexity": 1, "loss": 3.0, "validation_loss": None, "formula": law.text(None)}
    assert front[0].loss == 3.0
