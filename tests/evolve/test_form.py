"""The fit of a given form: its priors, bounds and robust loss."""

from dataclasses import replace

import numpy as np
import pytest
from trainlaw.evolve import Bracket, Factor
from trainlaw.evolve.form import fitted, form_of
from trainlaw.evolve.settings import EXPONENTIAL
from trainlaw.formulas import InputError, evaluate, parse_text, to_text
from trainlaw.formulas.algebra.expression import constants

CLOCK = Factor("clock", -1.0, 0.0, expected=-0.4)
VENDOR = Factor("vendor", 0.0, 2.0, expected=0.7, kind=EXPONENTIAL)
DEVICE = Bracket(
    "hole_device",
    (("product_s", 1.0), ("memory_s", 5.0), ("rare_s", 7.0)),
    (CLOCK, VENDOR, Factor("same", 0.0, 1.0, expected=0.5)),
)
COPY = Bracket("hole_copy", (("copy_s", 4.0),))
TEMPLATE = parse_text("max(hole_device, host_s) + hole_copy")
GROUPS = np.arange(150) % 5


@pytest.fixture(scope="module")
def columns():
    generator = np.random.default_rng(3)
    times = {
        name: 10.0 ** generator.uniform(-3, 0, 150) for name in ("product_s", "memory_s", "copy_s", "host_s")
    }
    numbers = {"clock": generator.uniform(0.5, 1.0, 150), "vendor": (GROUPS == 4) * 1.0, "same": np.ones(150)}
    return {**times, "rare_s": np.zeros(150), **numbers}


@pytest.fixture(scope="module")
def law(columns):
    device = (1.4 * columns["product_s"] + 4.0 * columns["memory_s"]) * columns["clock"] ** -0.6
    return np.maximum(device * np.exp(0.9 * columns["vendor"]), columns["host_s"]) + 3.0 * columns["copy_s"]


def fit(columns, y, weights=None, prior_weight=2e-3):
    form = form_of(TEMPLATE, (DEVICE, COPY), columns, prior_weight)
    return fitted(form, columns, y, GROUPS, weights, loss_width=0.25)


def test_a_form_is_its_template_with_filled_holes(columns):
    form = form_of(TEMPLATE, (DEVICE, COPY), columns, 2e-3)
    # A factor that never changes is left out.
    assert len(form.rules) == 6 and not any("same" in name for name in form.rules)
    weight, exponent = (
        form.rules["hole_device weight of memory_s"],
        form.rules["hole_device exponent of clock"],
    )
    assert (weight.lower, weight.upper, weight.scaling, weight.centre) == (0.5, np.inf, True, 5.0)
    assert weight.pull == pytest.approx(2e-3 / (1.5 * 5.0) ** 2)
    assert (exponent.lower, exponent.upper, exponent.centre) == (-1.0, 0.0, -0.4)
    assert exponent.pull == pytest.approx(2e-3 / 0.3**2)


def test_a_planted_law_is_found_and_what_no_row_determines_keeps_its_prior(columns, law):
    expression, loss = fit(columns, law, prior_weight=1e-7)
    assert loss < 1e-6
    product, memory, rare, clock, vendor, copy = constants(expression)
    assert (product, memory, copy) == pytest.approx((1.4, 4.0, 3.0), rel=1e-2)
    assert (abs(clock), vendor) == pytest.approx((0.6, 0.9), abs=0.01)
    # The factor that precedes the fit moves it, the prior pulls it back.
    assert rare == pytest.approx(7.0, rel=1e-3)
    values, valid = evaluate(expression, columns)
    np.testing.assert_allclose(values, law, rtol=1e-2)
    assert valid.all()


def test_constants_stay_within_their_bounds(columns, law):
    expression, _ = fit(columns, law * columns["clock"] ** -2.0)
    assert "/ clock" in to_text(expression)
    unused = {**columns, "memory_s": columns["memory_s"] * 1e4}
    least = form_of(TEMPLATE, (replace(DEVICE, factors=()), COPY), unused, 1e-9)
    expression, _ = fitted(least, unused, law, GROUPS, loss_width=0.25)
    assert 0.5 in constants(expression)


def test_few_outliers_hardly_move_the_constants_and_weights_count(columns, law):
    wrong = law.copy()
    wrong[::30] *= 50.0
    assert constants(fit(columns, wrong)[0])[0] == pytest.approx(1.4, rel=0.1)
    weights = np.where(np.arange(150) % 30, 1.0, 1e-12)
    assert constants(fit(columns, wrong, weights)[0])[0] == pytest.approx(1.4, rel=0.05)


def test_a_form_without_a_valid_value_is_refused(columns, law):
    with pytest.raises(InputError, match="positive, finite time"):
        fit({**columns, "copy_s": np.full(150, -1e3)}, law)
    with pytest.raises(InputError, match="features and holes, got the constant 2"):
        fitted(
            form_of(parse_text("2 * hole_copy"), (COPY,), columns, 1.0), columns, law, GROUPS, loss_width=1.0
        )
