"""No baseline may know a secret that only the held-out key tells."""

import hashlib

import numpy as np
import pytest
from trainlaw.validate import BASELINES, Split, assert_blind, grouped_k_fold, run_study
from trainlaw.validate.splits import leave_pairs_out


def secret_times(keys, salt=0):
    """Seconds that are a hash of the row's key, over two decades, with 5 % noise; shape (n_runs,)."""
    digests = [hashlib.sha256(f"{salt} {key}".encode()).digest()[:8] for key in keys]
    shares = np.array([int.from_bytes(digest, "big") / 2**64 for digest in digests])
    return 10.0 ** (2.0 * shares - 2.0) * np.random.default_rng(salt).normal(1.0, 0.05, len(shares))


def mean_log_error(result, name):
    return float(np.abs(np.log(result.predicted_s(name) / result.measured_s)).mean())


def splits_and_keys(runs, scheme):
    columns = {"gpu": "gpu_group", "cnn": "cnn_base", "source": "source", "generation": "generation"}
    if scheme != "both":
        keys = runs.labels[columns[scheme]].to_numpy(dtype=str)
        return grouped_k_fold(keys, 2), keys
    gpus, cnns = (runs.labels[name].to_numpy(dtype=str) for name in ("gpu_group", "cnn_base"))
    return leave_pairs_out(gpus, cnns)[::50], np.char.add(gpus, cnns)


class MedianTime:
    """The null model of a secret: one constant for all."""

    def fit(self, X, y, groups):
        self.seconds_ = float(np.exp(np.median(np.log(y))))
        return self

    def predict(self, X):
        return np.full(len(X), self.seconds_)


# A hash of few labels agrees with some feature by chance, here by up to a quarter over three hashes; a leak
# of the key would leave less than a third of the error, as the next test shows.
@pytest.mark.parametrize("scheme", ["gpu", "cnn", "both", "source", "generation"])
def test_a_hash_of_the_held_out_key_cannot_be_predicted(few_runs, scheme):
    splits, keys = splits_and_keys(few_runs, scheme)
    errors = {name: 0.0 for name in ("median", *BASELINES)}
    for salt in range(3):
        seconds = secret_times(keys, salt)
        result = run_study(few_runs.X, seconds, few_runs.labels, splits, {"median": MedianTime, **BASELINES})
        for name in errors:
            errors[name] += mean_log_error(result, name)
    assert {name: error for name, error in errors.items() if error < 0.7 * errors["median"]} == {}


def test_the_hash_is_learnt_where_rows_are_split_at_random(few_runs):
    """The test above can fail: a split that leaks the key gives the secret away."""
    keys = few_runs.labels["gpu_group"].to_numpy(dtype=str)
    rows = np.random.default_rng(0).permutation(len(keys))
    seconds = secret_times(keys)
    leaky = Split("rows", rows[40:], rows[:40], ())
    factories = {"median": MedianTime, "gradient_boosting": BASELINES["gradient_boosting"]}
    result = run_study(few_runs.X, seconds, few_runs.labels, [leaky], factories)
    assert mean_log_error(result, "gradient_boosting") < 0.3 * mean_log_error(result, "median")


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_is_blind_to_the_held_out_rows(few_runs, name):
    def procedure(X, seconds, labels, split):
        groups = labels["gpu_group"].to_numpy(dtype=str)[split.train]
        fitted = BASELINES[name]().fit(X.iloc[split.train], seconds[split.train], groups)
        return fitted.predict(X.iloc[split.test])

    split = grouped_k_fold(few_runs.labels["gpu_group"], 4)[0]
    assert_blind(procedure, few_runs.X, few_runs.seconds, few_runs.labels, split)
