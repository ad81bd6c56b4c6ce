"""The search for the formula of one pair of GPUs."""

from dataclasses import replace

import numpy as np
import pytest
from trainlaw.datasets import load
from trainlaw.formulas import evaluate
from trainlaw.validate import leave_one_group_out

from tools.builtin.pairs import (
    PAIR_FORMULA_FEATURES,
    PAIR_SETTINGS,
    ProfileSearch,
    held_out_predictions,
    nonnegative_sum,
)

from ..validate.blind import assert_blind

QUICK = replace(PAIR_SETTINGS, evaluations=100)


@pytest.fixture(scope="module")
def pair():
    return load("profet-pairs").where(anchor_gpu="T4", target_gpu="K80")


def test_nonnegative_sum_finds_planted_constants():
    random = np.random.default_rng(3)
    X = load("profet-pairs").features(["conv_forward_s", "dense_s", "pool_s"]).iloc[::7] + 1e-4
    y = (3.0 * X["conv_forward_s"] + 0.5 * X["pool_s"]).to_numpy(copy=True)
    y[::20] *= random.uniform(2.0, 5.0, len(y[::20]))  # one in twenty is wrong by far
    found = nonnegative_sum(X, y, list(X))
    ones = {name: np.ones(1) for name in X}
    apart = {name: evaluate(found, {**{n: np.zeros(1) for n in X}, name: ones[name]})[0][0] for name in X}
    assert apart == pytest.approx({"conv_forward_s": 3.0, "dense_s": 0.0, "pool_s": 0.5}, rel=0.05, abs=0.05)


def test_law_of_a_pair_is_a_mean_of_two_and_predicts_what_it_says(pair):
    X = pair.features(PAIR_FORMULA_FEATURES)
    fitted = ProfileSearch(settings=QUICK).fit(X, pair.seconds, np.zeros(len(X)))
    law = fitted.formula_
    assert law.expression.operator == "sqrt" and law.target.name == "time_s"
    by_hand = law.predict({spec.name: X[spec.name].to_numpy() for spec in law.used_features})
    assert (by_hand == fitted.predict(X)).all()
    assert np.mean(np.abs(by_hand / pair.seconds - 1)) < 0.1
    again = ProfileSearch(settings=QUICK).fit(X, pair.seconds, np.zeros(len(X))).formula_
    assert again.text(None) == law.text(None)


def test_law_of_a_pair_is_blind_to_what_is_held_out(pair):
    labels = pair.labels()
    X, split = pair.features(PAIR_FORMULA_FEATURES), leave_one_group_out(labels["cnn_base"])[3]

    def procedure(X, seconds, labels, split):
        law = ProfileSearch(settings=QUICK).fit(
            X.iloc[split.train], seconds[split.train], np.zeros(len(split.train))
        )
        return law.predict(X.iloc[split.test])

    assert_blind(procedure, X, pair.seconds, labels, split)


def test_each_architecture_is_predicted_by_models_that_did_not_see_it(pair):
    few = pair.where(cnn=["vgg11_profet", "vgg16_profet", "resnet18_preact", "lenet5"])
    result = held_out_predictions(few)
    assert len(result.predictions) == len(few) and np.isfinite(result.predicted_s("trainlaw")).all()
    assert set(result.predictions["pair"]) == {"T4 to K80"}
