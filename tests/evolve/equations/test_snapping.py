import numpy as np
from trainlaw.evolve.equations.snapping import snapped
from trainlaw.formulas import evaluate, parse_text, to_text

X = np.random.default_rng(0).uniform(1.0, 3.0, 500)


def loss_against(y):
    def loss_of(expression):
        return float(np.mean((evaluate(expression, {"x": X})[0] - y) ** 2))

    return loss_of


def snap(text, y):
    return to_text(snapped(parse_text(text), loss_against(y), 500)[0])


def test_replaces_what_the_rows_do_not_tell_apart():
    noise = 0.01 * np.random.default_rng(1).standard_normal(500)
    assert snap("0.0002 + 1.0001 * exp(0.50003 * x)", np.exp(0.5 * X) + noise) == "0 + 1 * exp(0.5 * x)"


def test_keeps_what_the_rows_determine():
    assert snap("1.02 * x + 0.3", 1.02 * X + 0.3) == "1.02 * x + 0.3"
    noise = 0.001 * np.random.default_rng(1).standard_normal(500)
    assert snap("1.017 * x", 1.017 * X + noise) == "1.017 * x"


def test_stops_in_time():
    late = snapped(parse_text("2.0001 * x"), loss_against(2.0 * X), 500, lambda: True)
    assert to_text(late[0]) == "2.0001 * x"
