import numpy as np
from trainlaw.formulas import constants, evaluate, parse_text, round_constants, to_text
from trainlaw.formulas.tidying import rounded

GENERATOR = np.random.default_rng(2)
COLUMNS = {name: GENERATOR.uniform(1, 10, 200) for name in "xy"}


def mape(expression, target):
    return 100 * np.mean(np.abs(evaluate(expression, COLUMNS)[0] / target - 1))


def test_fewest_digits_within_the_limit():
    law = parse_text("1.23456789 * x + 0.000123456789 * y + 2.98765")
    target = evaluate(law, COLUMNS)[0] * GENERATOR.lognormal(0, 0.05, 200)
    result = round_constants(law, COLUMNS, target, limit_points=0.1)
    assert result.rounded_error_percent <= result.exact_error_percent + 0.1
    assert result.exact_error_percent == mape(law, target)
    assert result.rounded_error_percent == mape(result.expression, target)
    # The term that hardly counts keeps one digit.
    assert constants(result.expression)[1] == 0.0001
    assert len(to_text(result.expression)) < 30


def test_no_digit_more_than_needed():
    law = parse_text("1.23456789 * x")
    target = evaluate(law, COLUMNS)[0]
    digits = [
        len(to_text(round_constants(law, COLUMNS, target, limit).expression)) for limit in (10, 1, 0.1, 1e-6)
    ]
    assert digits == sorted(digits) and digits[0] < digits[-1]
    assert to_text(round_constants(law, COLUMNS, target, 10).expression) == "1.2 * x"


def test_zero_limit_keeps_the_values():
    law = parse_text("0.1 * x + 0.30000000000000004 * y")
    target = evaluate(law, COLUMNS)[0]
    assert round_constants(law, COLUMNS, target, 0.0).expression == law


def test_invalid_rounding_is_refused():
    law = parse_text("1 / (1.04 - 1) * x")
    target = evaluate(law, COLUMNS)[0]
    assert constants(round_constants(law, COLUMNS, target, 1.0).expression)[1] != 1.0


def test_rounded():
    assert [rounded(123456.0, digits) for digits in (1, 2, 3)] == [1e5, 1.2e5, 1.23e5]
    assert rounded(-0.00129, 2) == -0.0013
