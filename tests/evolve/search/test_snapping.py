import numpy as np
import pytest
from trainlaw.evolve.search.snapping import round_numbers, simple_numbers, snapped
from trainlaw.formulas import constants, evaluate, parse_text, to_text

X = np.random.default_rng(0).uniform(1.0, 3.0, 500)
COST = np.log(500) / 500
NOISE = np.random.default_rng(1).standard_normal(500)


def loss_against(y):
    return lambda expression: float(np.mean((evaluate(expression, {"x": X})[0] - y) ** 2))


@pytest.mark.parametrize(
    ("text", "y", "expected"),
    [
        ("0.0002 + 1.0001 * exp(0.50003 * x)", np.exp(0.5 * X) + 0.01 * NOISE, "0 + 1 * exp(0.5 * x)"),
        # What the rows determine stays.
        ("1.02 * x + 0.3", 1.02 * X + 0.3, "1.02 * x + 0.3"),
        ("1.017 * x", 1.017 * X + 0.001 * NOISE, "1.017 * x"),
    ],
)
def test_simple_numbers_replace_what_the_rows_do_not_tell_apart(text, y, expected):
    found = snapped(parse_text(text), loss_against(y), simple_numbers, COST, is_each=True)
    assert to_text(found[0]) == expected


def test_each_replacement_may_cost_what_a_constant_does():
    def loss_of(expression):
        return 1.01 ** sum(value in (0.0, 1.0) for value in constants(expression))

    formula = parse_text("1.04 * x + 1.03")
    assert to_text(snapped(formula, loss_of, simple_numbers, COST, is_each=True)[0]) == "0 * x + 0"
    assert to_text(snapped(formula, loss_of, simple_numbers, COST)[0]) == "0 * x + 1.03"


def test_stops_in_time():
    late = snapped(
        parse_text("2.0001 * x"), loss_against(2.0 * X), simple_numbers, COST, is_late=lambda: True
    )
    assert to_text(late[0]) == "2.0001 * x"


@pytest.mark.parametrize(
    ("text", "truth", "expected"),
    [
        ("2.0000000001 * x + 0.00000000001", 2.0 * X, "2 * x + 0"),
        ("0.4999999999 * x", 0.5 * X, "0.5 * x"),
        ("1.2500000001 * x", 1.25 * X, "1.25 * x"),
        # More digits than are tried.
        ("1.2345 * x", 1.2345 * X, "1.2345 * x"),
        # A rounding that costs more than the tolerance.
        ("2.04 * x", 2.04 * X - np.sin(40.0 * X), "2.04 * x"),
    ],
)
def test_exact_formulas_get_round_constants_and_their_loss(text, truth, expected):
    rounded, left = snapped(parse_text(text), loss_against(truth), round_numbers, 1e-4)
    assert to_text(rounded) == expected
    assert left == loss_against(truth)(rounded)


def test_the_fewest_digits_are_tried_first():
    # 0 is as good as 1.04 within the tolerance.
    assert to_text(snapped(parse_text("1.04 * x"), lambda expression: 1.0, round_numbers, 1e-3)[0]) == "0 * x"
