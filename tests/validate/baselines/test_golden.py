"""Predictions of every baseline that is fitted without chance, as they were when its errors were published.

The closed forms consist of constants that were fitted or recalled once: no other test sees the fifth digit.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from trainlaw.datasets import load
from trainlaw.validate.baselines import baseline

GOLDEN = Path(__file__).parent / "golden.csv"
ROWS = 12
RUN = ("null_compute", "roofline", "cf9", "nnls_path")
MULTI_GPU = ("perfect_scaling", "ring_scaling", "mg13")
MEASURED = ("layer_roofline", "layer_matrix_product")


@pytest.fixture(scope="module")
def rows_of(few_runs):
    """Features, seconds, groups and labels by table."""
    several = load("multi")
    several = several.where(several.frame["single_gpu_time_s"].notna().to_numpy())
    labels = several.labels().assign(algorithm=several.frame["algorithm"].astype(str))
    X = several.features().assign(single_gpu_time_s=several.frame["single_gpu_time_s"].astype(float))
    layers = load("cde-layers")
    layers = layers.where(np.arange(len(layers)) % 200 == 0)
    return {
        RUN: (few_runs.X, few_runs.seconds, few_runs.labels, "gpu_group"),
        MULTI_GPU: (X, several.seconds, labels, "gpu_group"),
        MEASURED: (layers.features(), layers.seconds, layers.labels(), "gpu_group"),
    }


def predictions(name, X, seconds, labels, key):
    """Seconds predicted for some rows of the table that the baseline is fitted to, shape (ROWS,)."""
    estimator = baseline(name).make()
    X = X.reset_index(drop=True)
    fitted = estimator.fit(X, np.asarray(seconds), labels[key].to_numpy(dtype=str))
    chosen = np.linspace(0, len(X) - 1, ROWS).astype(int)
    return np.asarray(fitted.predict(X.iloc[chosen]))


@pytest.mark.parametrize("name", [*RUN, *MULTI_GPU, *MEASURED])
def test_predictions_equal_the_golden_ones(name, rows_of, overwrite_golden):
    (given,) = [table for names, table in rows_of.items() if name in names]
    found = predictions(name, *given)
    if overwrite_golden:
        kept = pd.read_csv(GOLDEN) if GOLDEN.is_file() else pd.DataFrame()
        kept.assign(**{name: found}).to_csv(GOLDEN, index=False, lineterminator="\n", float_format="%.9g")
    golden = pd.read_csv(GOLDEN)[name].to_numpy()
    # Iterative fits end within their tolerance, which other versions of numpy reach by other roundings.
    assert found == pytest.approx(golden, rel=1e-4)
