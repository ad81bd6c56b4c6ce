import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.formulas import InputError, ParetoFront, ScoredFormula
from trainlaw.formulas.printers.latex import latex_equation


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


def test_rows(law):
    front = ParetoFront.of([ScoredFormula(law, 3.0, 1)])
    (row,) = front.to_rows()
    assert row == {"complexity": 1, "loss": 3.0, "validation_loss": None, "formula": law.text(None)}
    assert front[0].loss == 3.0


def test_fronts_and_formulas_show_themselves(law):
    front = ParetoFront.of([ScoredFormula(law, 3.0, 1), ScoredFormula(law, 1.0, 7, 2.5)])
    assert repr(front) == "<ParetoFront of 2 formulas: complexity 1 to 7, loss 3 to 1>"
    assert repr(ParetoFront(())) == "<ParetoFront of no formulas>"
    assert front._repr_html_().count("<tr>") == 3 and "<td>2.5</td>" in front._repr_html_()
    assert law.target.name in repr(law) and str(law.target.unit) in repr(law) and len(repr(law)) < 140
    equation = law._repr_latex_()
    assert equation.startswith("$") and equation.endswith("$") and latex_equation(law) in equation
    assert front._repr_latex_().count(latex_equation(law)) == 2
    spec = replace(law.features[0], meaning="<b>&")
    shown = replace(law, features=(spec, *law.features[1:]))._repr_html_()
    assert "<b>" not in shown
    assert all(f"<td>{spec.name}</td>" in shown for spec in law.used_features)
