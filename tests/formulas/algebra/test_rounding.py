import numpy as np
import pytest
from trainlaw.formulas import RowSums, constants, evaluate, parse_text, round_constants, to_text
from trainlaw.formulas.algebra.tidying import rounded

GENERATOR = np.random.default_rng(2)
COLUMNS = {name: GENERATOR.uniform(1, 10, 200) for name in "xy"}


def mape(expression, target):
    return 100 * np.mean(np.abs(evaluate(expression, COLUMNS)[0] / target - 1))


def test_fewest_digits_within_the_limit():
    formula = parse_text("1.23456789 * x + 0.000123456789 * y + 2.98765")
    target = evaluate(formula, COLUMNS)[0] * GENERATOR.lognormal(0, 0.05, 200)
    result = round_constants(formula, COLUMNS, target, limit_points=0.1)
    assert result.rounded_error_percent <= result.exact_error_percent + 0.1
    assert result.exact_error_percent == mape(formula, target)
    assert result.rounded_error_percent == mape(result.expression, target)
    # The term that hardly counts keeps one digit.
    assert constants(result.expression)[1] == 0.0001
    assert len(to_text(result.expression)) < 30


def test_zero_limit_keeps_the_values():
    formula = parse_text("0.1 * x + 0.30000000000000004 * y")
    target = evaluate(formula, COLUMNS)[0]
    assert round_constants(formula, COLUMNS, target, 0.0).expression == formula


def test_invalid_rounding_is_refused():
    formula = parse_text("1 / (1.04 - 1) * x")
    target = evaluate(formula, COLUMNS)[0]
    assert constants(round_constants(formula, COLUMNS, target, 1.0).expression)[1] != 1.0


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (123456.0, 1, 1e5),
        (123456.0, 3, 1.23e5),
        (-0.00129, 2, -0.0013),
        (0.0, 1, 0.0),
        (9.96, 2, 10.0),
        (1e300, 1, 1e300),
    ],
)
def test_rounded(value, digits, expected):
    assert rounded(value, digits) == expected


def test_a_rounding_that_costs_nothing_is_taken_even_without_a_margin():
    # Any digits of the second constant give the same error: the limit itself is allowed.
    formula = parse_text("3 * x + 0 * 1.2345 * y")
    target = 3.5 * COLUMNS["x"]
    result = round_constants(formula, COLUMNS, target, 0.0)
    assert constants(result.expression) == (3.0, 0.0, 1.0)
    assert result.rounded_error_percent == result.exact_error_percent > 0.0


@pytest.mark.parametrize(
    ("limit", "expected"),
    # Errors of 1.2345678 rounded to 1, 2, 3 and 4 digits: 19.0, 2.8, 0.37 and 0.0055 percentage points.
    [
        (20.0, 1.0),
        (18.9, 1.2),
        (2.9, 1.2),
        (2.7, 1.23),
        (0.38, 1.23),
        (0.36, 1.235),
        (0.036, 1.235),
        (0.034, 1.2346),
    ],
)
def test_the_limit_decides_on_each_digit(limit, expected):
    formula = parse_text("1.2345678 * x")
    target = evaluate(formula, COLUMNS)[0]
    assert constants(round_constants(formula, COLUMNS, target, limit).expression) == (expected,)


@pytest.mark.parametrize(("first", "second"), [(1.234, 5.6), (1.23, 5.0), (5.6, 1.234)])
def test_each_constant_loses_all_digits_but_those_it_needs(first, second):
    formula = parse_text(f"{first!r} * x + {second!r} * y")
    target = evaluate(formula, COLUMNS)[0]
    result = round_constants(parse_text(f"{first!r} * x + {second!r} * y"), COLUMNS, target, 1e-6)
    assert constants(result.expression) == (first, second)
    noisy = parse_text(f"{first + 1e-9!r} * x + {second - 1e-9!r} * y")
    assert constants(round_constants(noisy, COLUMNS, target, 1e-6).expression) == (first, second)


def test_a_formula_without_constants_stays():
    result = round_constants(parse_text("x"), COLUMNS, 2.0 * COLUMNS["x"])
    assert to_text(result.expression) == "x"
    assert result.exact_error_percent == result.rounded_error_percent == 50.0


def test_errors_of_sums_are_those_of_the_observations():
    # Per row the rounding errs by up to 3 %; in the sum of both rows it cancels.
    columns = {"x": np.array([1.0, 1.0]), "y": np.array([1.0, -1.0])}
    sums = RowSums(np.array([0, 2]), np.array([0, 1]), np.array([1.0, 1.0]))
    formula = parse_text("2 * x + 0.123 * y")
    result = round_constants(formula, columns, np.array([4.0]), 1e-9, sums)
    assert result.exact_error_percent == 0.0
    assert constants(result.expression) == (2.0, 0.1)
    plain = round_constants(formula, columns, evaluate(formula, columns)[0], 1e-9)
    assert constants(plain.expression) == (2.0, 0.123)


def test_the_limit_counts_from_the_error_of_the_exact_constants():
    formula = parse_text("1.2345678 * x")
    target = 1.1 * evaluate(formula, COLUMNS)[0]
    # 9.1 % too low before; 1.2 is 11.6 % too low, 2.5 points more.
    assert constants(round_constants(formula, COLUMNS, target, 2.6).expression) == (1.2,)
    assert constants(round_constants(formula, COLUMNS, target, 2.5).expression) == (1.23,)
    result = round_constants(formula, COLUMNS, target, 2.6)
    assert result.exact_error_percent == pytest.approx(100 * (1 - 1 / 1.1))


def test_rounding_makes_times_neither_longer_nor_shorter():
    """The mean absolute percentage error of noisy times is least below their mean: it would choose 0.9."""
    random = np.random.default_rng(0)
    x = random.uniform(1.0, 2.0, 500)
    target = 0.94 * x * np.exp(random.normal(0.0, 0.3, x.size))
    short = round_constants(parse_text("0.94 * x"), {"x": x}, target)
    assert to_text(short.expression) == "0.94 * x"
