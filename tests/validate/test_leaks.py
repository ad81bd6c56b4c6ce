"""No baseline may know a secret that follows from the held-out key alone."""

import hashlib

import numpy as np
import pytest
from trainlaw.datasets import load
from trainlaw.validate import Split, grouped_k_fold, run_study
from trainlaw.validate.baselines import baselines_for
from trainlaw.validate.baselines.null_models import median_time
from trainlaw.validate.splits import leave_pairs_out, splits_by_name

from .blind import assert_blind

BASELINES = baselines_for("run")


def secret_times(keys, salt=0):
    """Seconds that are a hash of the row's key, over two decades, with 5 % noise; shape (n_runs,)."""
    digests = [hashlib.sha256(f"{salt} {key}".encode()).digest()[:8] for key in keys]
    shares = np.array([int.from_bytes(digest, "big") / 2**64 for digest in digests])
    return 10.0 ** (2.0 * shares - 2.0) * np.random.default_rng(salt).normal(1.0, 0.05, len(shares))


def mean_log_error(result, name):
    return float(np.abs(np.log(result.predicted_s(name) / result.measured_s)).mean())


def splits_and_keys(runs, scheme):
    columns = {
        "gpu": "gpu_group",
        "cnn": "cnn_base",
        "cnn-family": "cnn_family",
        "source": "source",
        "harness": "harness",
        "generation": "generation",
    }
    if scheme == "newest":
        return splits_by_name(scheme, runs.labels), runs.labels["gpu_group"].to_numpy(dtype=str)
    if scheme != "both":
        keys = runs.labels[columns[scheme]].to_numpy(dtype=str)
        return grouped_k_fold(keys, 2), keys
    gpus, cnns = (runs.labels[name].to_numpy(dtype=str) for name in ("gpu_group", "cnn_base"))
    return leave_pairs_out(gpus, cnns)[::50], np.char.add(gpus, cnns)


# A hash of few labels agrees with some feature by chance, here by up to a quarter over three hashes; a leak
# of the key would leave less than a third of the error, as the next test shows.
@pytest.mark.parametrize("scheme", ["gpu", "cnn", "both", "source", "generation"])
def test_a_hash_of_the_held_out_key_cannot_be_predicted(few_runs, scheme):
    assert better_than_the_median(few_runs, scheme, BASELINES, range(3)) == {}


# With about ten labels chance does more, so more hashes are averaged, by the baselines that are quick to fit.
@pytest.mark.parametrize("scheme", ["cnn-family", "harness", "newest"])
def test_a_hash_of_few_labels_cannot_be_predicted(few_runs, scheme):
    slow = {"gradient_boosting", "nnls_path"}
    fitted = {name: BASELINES[name] for name in BASELINES if name not in slow}
    assert better_than_the_median(few_runs, scheme, fitted, range(6)) == {}


def better_than_the_median(runs, scheme, baselines, salts):
    """Baselines with less than 0.7 of the error of one constant for all, summed over hashes."""
    splits, keys = splits_and_keys(runs, scheme)
    errors = {name: 0.0 for name in ("median", *baselines)}
    for salt in salts:
        seconds = secret_times(keys, salt)
        result = run_study(runs.X, seconds, runs.labels, splits, {"median": median_time, **baselines})
        for name in errors:
            errors[name] += mean_log_error(result, name)
    return {name: error for name, error in errors.items() if error < 0.7 * errors["median"]}


def test_the_hash_is_learnt_where_rows_are_split_at_random(few_runs):
    """The test above can fail: a split that leaks the key gives the secret away."""
    keys = few_runs.labels["gpu_group"].to_numpy(dtype=str)
    rows = np.random.default_rng(0).permutation(len(keys))
    leaky = Split("rows", rows[40:], rows[:40], ())
    factories = {"median": median_time, "gradient_boosting": BASELINES["gradient_boosting"]}
    # As many hashes as in the test above: the error of one depends on few labels.
    results = [
        run_study(few_runs.X, secret_times(keys, salt), few_runs.labels, [leaky], factories)
        for salt in range(3)
    ]
    median, boosted = (sum(mean_log_error(result, name) for result in results) for name in factories)
    assert boosted < 0.3 * median


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_is_blind_to_the_held_out_rows(few_runs, name):
    def procedure(X, seconds, labels, split):
        groups = labels["gpu_group"].to_numpy(dtype=str)[split.train]
        fitted = BASELINES[name]().fit(X.iloc[split.train], seconds[split.train], groups)
        return fitted.predict(X.iloc[split.test])

    split = grouped_k_fold(few_runs.labels["gpu_group"], 4)[0]
    assert_blind(procedure, few_runs.X, few_runs.seconds, few_runs.labels, split)


def as_runs(X, seconds, labels):
    return X.reset_index(drop=True), np.asarray(seconds), labels.reset_index(drop=True)


def other_tables():
    """Runs on several GPUs and layers, a few hundred rows each, with the baselines of each."""
    several = load("multi")
    several = several.where(several.frame["single_gpu_time_s"].notna().to_numpy())
    labels = several.labels().assign(algorithm=several.frame["algorithm"].astype(str))
    X = several.features().assign(single_gpu_time_s=several.frame["single_gpu_time_s"].astype(float))
    yield baselines_for("multi_gpu"), as_runs(X, several.seconds, labels), "gpu_group"
    layers = load("cde-layers")
    layers = layers.where(np.arange(len(layers)) % 100 == 0)
    yield (
        baselines_for("measured_layer"),
        as_runs(layers.features(), layers.seconds, layers.labels()),
        "gpu_group",
    )


def test_the_other_baselines_are_blind_to_the_held_out_rows():
    for baselines, (X, seconds, labels), held_out in other_tables():
        split = grouped_k_fold(labels[held_out], 3)[0]
        for factory in baselines.values():

            def procedure(X, seconds, labels, split, factory=factory, groups=labels[held_out]):
                train = groups.to_numpy(dtype=str)[split.train]
                return (
                    factory()
                    .fit(X.iloc[split.train], seconds[split.train], train)
                    .predict(X.iloc[split.test])
                )

            assert_blind(procedure, X, seconds, labels, split)
