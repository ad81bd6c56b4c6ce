import math

import numpy as np
import pytest
from trainlaw.formulas import evaluate, parse_text, variables
from trainlaw.formulas.algebra.intervals import Interval
from trainlaw.formulas.proofs.elasticities import Elasticities, _quotient, _undecided

BOX = {
    "w": (0.0, 1e12),
    "x": (0.0, 9.0),
    "c": (1.0, 2.0),
    "B": (1e11, 4e12),
    "P": (1e12, 1e15),
    "f": (1e9, 3e9),
    "q": (0.0, 1.0),
    "z": (-1.0, 1.0),
}


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("w", 1, 1),
        ("7 * w / B", 1, 1),
        ("w^2 / B * w", 3, 3),
        ("w + 3 * B", 0, 1),
        ("w / (w + c)", 0, 1),
        ("w * w / (w + c)", 1, 2),
        ("max(w, c) + w^0.5", 0, 1),
        ("min(w / c, 1)^-0.8", -0.8, 0),
        ("(P / 2e13)^0.3 * w / P", 1, 1),
        ("exp(0.7 * q) * w", 1, 1),
        ("exp(-x)", 0, 0),
        ("sqrt(w * w)", 1, 1),
        ("(w^3 + c^3)^0.5", 0, 1.5),
        ("3 * c", 0, 0),
        ("max((w + c) - w, 0)", 0, 0),
        ("tanh(w)", 0, 1),
    ],
)
def test_elasticity_in_one_variable(text, low, high):
    found = Elasticities(parse_text(text), {**BOX, "w": (0.0, 100.0)}).elasticity({"w": 1})
    assert found == pytest.approx((low, high), rel=1e-9, abs=1e-9)


def test_several_variables_move_together():
    law = Elasticities(parse_text("(P / 2e13)^0.3 * (f / 1e9)^0.5 * w / P"), BOX)
    assert law.elasticity({"P": 1, "f": 1}) == pytest.approx((-0.2, -0.2))
    assert law.elasticity({"P": 1, "f": 2}) == pytest.approx((0.3, 0.3))
    assert law.monotone({"P": 1, "f": 1}, -1).proved and not law.monotone({"P": 1, "f": 2}, -1).proved


@pytest.mark.parametrize(
    ("text", "name", "direction"),
    [
        ("max(6 * w / P + x * w / B, x * 1e-4) + x", "w", 1),
        ("max(6 * w / P, w / B) + x", "P", -1),
        ("w / B * (1 + 5 * w / (w + c)) / 6", "w", 1),
        ("w / B * (1 + 5 * w / (w + c)) / 6", "c", -1),
        ("min(c * x, 2)^-0.8 * w", "x", -1),
        ("w * exp(q)", "q", 1),
        ("w * c^x", "x", 1),
        ("c^-x", "x", -1),
        ("w * (1 - exp(-x))", "x", 1),
        ("log(1 + x) * w", "x", 1),
        ("w * step(x - 3)", "x", 1),
        ("x + 2 * w - w", "w", 1),
        ("w - z", "w", 1),
        ("3 - 1 / c", "c", 1),
        ("abs(z) * w", "w", 1),
        ("w", "x", 1),
        ("w", "x", -1),
    ],
)
def test_proved(text, name, direction):
    box = {**BOX, "x": (1.0, 9.0)} if "^-" in text else BOX
    proof = Elasticities(parse_text(text), box).monotone(name, direction)
    assert proof.proved and proof.blame == ()


@pytest.mark.parametrize(
    ("text", "name", "direction", "blamed"),
    [
        ("x * exp(-x) + x", "x", 1, "x * exp(-x): elasticity -8 to 1"),
        ("w / B + max(w - 2 * x, 0)", "x", 1, "w - 2 * x: elasticity"),
        ("w / P * x", "P", 1, "elasticity -1 to -1"),
        ("3 * (w / B + 1) / (w + c) + w", "w", 1, "3 * (w / B + 1) / (w + c): elasticity -1 to 1"),
        ("(P / 1e13)^1.2 * w / P", "P", -1, "elasticity 0.2 to 0.2"),
        ("x + sin(x)", "x", 1, "sin(x): elasticity"),
        ("1 / x", "x", -1, "not defined everywhere"),
        ("z", "z", 1, "z may be negative"),
        ("w * z", "w", 1, "elasticity -inf to inf"),
        ("step(3 - x)", "x", 1, "step(3 - x)"),
    ],
)
def test_not_proved_and_what_is_to_blame(text, name, direction, blamed):
    proof = Elasticities(parse_text(text), BOX).monotone(name, direction)
    assert not proof.proved
    assert any(blamed in reason for reason in proof.blame), proof.blame


def test_flags_are_tried_at_0_and_1():
    dual = parse_text("w * (1 + (1 - q) * (P / B - 1)) / P")
    assert not Elasticities(dual, BOX).monotone("P", -1).proved
    assert Elasticities(dual, BOX, ["q"]).monotone("P", -1).proved
    assert not Elasticities(dual, BOX, ["q"]).monotone("P", 1).proved
    assert Elasticities(parse_text("q * q - q + x"), BOX, ["q"]).nonnegative


def test_signs():
    assert Elasticities(parse_text("w / B + max(w - x, 0)"), BOX).nonnegative
    assert not Elasticities(parse_text("w / B - 0.001"), BOX).nonnegative
    assert not Elasticities(parse_text("log(x)"), {"x": (0, 1)}).nonnegative


def test_no_bound_is_contradicted_by_samples(random_expressions):
    generator = np.random.default_rng(3)
    proved = bounded = 0
    for expression in random_expressions(300, seed=7):
        box = {name: (low := float(generator.choice([0, 0.1, 1])), low + 3.0) for name in "xyz"}
        points = {name: generator.uniform(*ends, size=500) for name, ends in box.items()}
        law = Elasticities(expression, box)
        with np.errstate(all="ignore"):
            values, _ = evaluate(expression, points)
        if law.nonnegative:
            assert np.all(values >= -1e-12)
        for name in variables(expression):
            raised = {
                **points,
                name: points[name] + generator.uniform(size=500) * (box[name][1] - points[name]),
            }
            with np.errstate(all="ignore"):
                rise = evaluate(expression, raised)[0] - values
            scale = 1e-9 * (1 + np.nanmax(np.abs(values), initial=0.0))
            for direction in (1, -1):
                if law.monotone(name, direction).proved:
                    proved += 1
                    assert np.all(direction * rise >= -scale)
            low, high = law.elasticity({name: 1})
            if law.nonnegative and np.isfinite(low + high) and box[name][0] > 0:
                bounded += 1
                with np.errstate(all="ignore"):
                    ratio = np.log1p(rise / values) / np.log(raised[name] / points[name])
                sane = np.isfinite(ratio) & (raised[name] > 1.01 * points[name]) & (values > 1e-6)
                assert np.all((ratio[sane] >= low - 1e-6) & (ratio[sane] <= high + 1e-6))
    assert proved > 60 and bounded > 20


def test_a_law_of_many_terms_is_proved():
    terms = [f"{index} * (P / 2e13)^0.3 * w / P + w / B * w / (w + {index} * c)" for index in range(1, 25)]
    law = parse_text(f"max({' + '.join(terms)}, x * 1e-4)")
    proofs = Elasticities(law, BOX)
    assert proofs.nonnegative and proofs.monotone("w").proved and proofs.monotone("P", -1).proved


def test_quotients_are_by_values_that_are_never_negative():
    def quotient(slope, value):
        return _quotient(Interval(*slope), Interval(*value))[:2]

    assert quotient((1.0, 2.0), (-1.0, 4.0)) == (-math.inf, math.inf)
    assert quotient((1.0, 2.0), (0.5, 4.0)) == pytest.approx((0.25, 4.0))
    assert quotient((1.0, 2.0), (0.0, math.inf)) == (0.0, math.inf)
    low, high = quotient((1.0, 1.0), (3.0, 3.0))
    assert low < 1 / 3 < high


@pytest.mark.parametrize(
    ("operator", "inner", "kept"),
    [
        ("max", [(2, 3), (1, 2)], [0]),
        ("max", [(1, 2), (2, 3)], [1]),
        ("max", [(1, 3), (2, 4)], [0, 1]),
        ("min", [(2, 3), (1, 2)], [1]),
        ("min", [(1, 2), (2, 3)], [0]),
        ("min", [(1, 3), (2, 4)], [0, 1]),
    ],
)
def test_arguments_of_an_extremum_that_can_be_its_value(operator, inner, kept):
    assert _undecided(operator, [Interval(*ends) for ends in inner]) == kept


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("abs(w)", 1, 1),
        ("inv(1 + w) * (1 + w)", 0, 0),
        ("inv(w)", -1, -1),
        ("sqrt(w)", 0.5, 0.5),
        ("cbrt(w)", 1 / 3, 1 / 3),
        ("square(w)", 2, 2),
        ("cube(w)", 3, 3),
        ("tanh(w)", 0, 1),
        ("w^c", 1, 2),
        ("c^w", 0, 3 * math.log(2)),
        ("exp(w)", 1, 3),
        ("2^w", math.log(2), 3 * math.log(2)),
    ],
)
def test_elasticity_of_each_operator(text, low, high):
    found = Elasticities(parse_text(text), {"w": (1.0, 3.0), "c": (1.0, 2.0)}).elasticity({"w": 1})
    assert found == pytest.approx((low, high), rel=2e-3, abs=1e-9)


def test_long_terms_are_cut():
    law = parse_text("sin(" + " + ".join(f"{index}.5 * x^{index}" for index in range(2, 30)) + ")")
    (blamed,) = Elasticities(law, BOX).monotone("x").blame
    assert blamed[160:].startswith("...: elasticity") and len(blamed.partition("...")[0]) == 160
