"""Shared fixtures: a small table with a known formula of its times, and the built-in runs."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from trainlaw import datasets

settings.register_profile("validate", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("validate")


def as_study(table: datasets.RunTable) -> SimpleNamespace:
    labels = table.labels()
    labels["gpu_year"] = [str(table.facts.gpus.find(name).year) for name in labels["gpu"]]
    return SimpleNamespace(X=table.features(), seconds=table.seconds, labels=labels)


def take(runs: SimpleNamespace, rows: np.ndarray) -> SimpleNamespace:
    labels = runs.labels.iloc[rows].reset_index(drop=True)
    return SimpleNamespace(
        X=runs.X.iloc[rows].reset_index(drop=True), seconds=runs.seconds[rows], labels=labels
    )


@pytest.fixture(scope="session")
def runs():
    """All built-in single-GPU fp32 runs: X (1730, k), seconds (1730,), labels."""
    return as_study(datasets.load("fp32-2026"))


@pytest.fixture(scope="session")
def few_runs(runs):
    """At most 12 runs of each GPU group, drawn with a fixed seed."""
    random = np.random.default_rng(3)
    groups = runs.labels["gpu_group"].to_numpy(dtype=str)
    rows = [random.permutation(np.flatnonzero(groups == name))[:12] for name in np.unique(groups)]
    return take(runs, np.sort(np.concatenate(rows)))


@pytest.fixture
def toy():
    """Five GPUs x three CNNs x two batches with time 2 x compute_s and 1 % of noise."""
    rows = [(gpu, cnn, batch) for gpu in range(5) for cnn in range(3) for batch in (8, 16)]
    gpu, cnn, batch = np.array(rows).T
    random = np.random.default_rng(0)
    compute = batch * (cnn + 1.0) / (gpu + 1.0) * random.uniform(0.9, 1.1, len(rows))
    seconds = 2.0 * compute * random.normal(1.0, 0.01, len(rows))
    X = pd.DataFrame({"compute_s": compute, "batch_per_gpu": batch.astype(float), "macs": cnn + 1.0})
    labels = pd.DataFrame(
        {
            "gpu_group": [f"gpu{index}" for index in gpu],
            "cnn_base": [f"cnn{index}" for index in cnn],
            "cnn": [f"cnn{index}" for index in cnn],
            "harness": ["bench A" if index % 2 else "bench B" for index in gpu],
        }
    )
    return SimpleNamespace(X=X, seconds=seconds, labels=labels)
