"""A check of whole procedures: their predictions depend on no row that is held out."""

import numpy as np


def assert_blind(procedure, X, seconds, labels, split):
    """Raise AssertionError where a prediction changes when held-out rows are replaced by nonsense.

    The procedure, a function of the features, seconds and labels of all runs and the split, runs twice. In
    the second run, the times and labels of all test rows and the features of every second test row are
    nonsense; the predictions for the other test rows must stay the same.
    """
    random = np.random.default_rng(0)
    kept, spoiled = split.test[::2], split.test[1::2]
    other_X, other_seconds, other_labels = X.astype(float), seconds.copy(), labels.astype(object)
    factors = random.uniform(2.0, 9.0, (len(spoiled), X.shape[1]))
    other_X.iloc[spoiled] = other_X.iloc[spoiled] * factors + 1.0
    other_seconds[split.test] = seconds[split.test] * random.uniform(2.0, 9.0, len(split.test))
    other_labels.iloc[split.test] = "nonsense"
    first = procedure(X.copy(), seconds.copy(), labels.copy(), split)
    second = procedure(other_X, other_seconds, other_labels, split)
    where = np.isin(split.test, kept)
    same = np.allclose(first[where], second[where], rtol=1e-9, atol=0.0, equal_nan=True)
    assert same, "predictions move when held-out rows are replaced by nonsense"
