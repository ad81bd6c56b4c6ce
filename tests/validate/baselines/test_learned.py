"""Learned baselines: the missing package is named; scaling and bases do what they claim."""

import numpy as np
import pandas as pd
import pytest
from trainlaw.validate.baselines.learned import GradientBoosting


class Exact:
    """A base that knows the answer."""

    def fit(self, X, y, groups):
        return self

    def predict(self, X):
        return 3.0 * X["x"].to_numpy()


def test_boosting_on_an_exact_base_changes_nothing():
    pytest.importorskip("sklearn")
    X = pd.DataFrame({"x": np.geomspace(1e-3, 1.0, 80)})
    fitted = GradientBoosting(Exact).fit(X, 3.0 * X["x"].to_numpy(), np.zeros(80))
    assert fitted.predict(X) == pytest.approx(3.0 * X["x"].to_numpy(), rel=1e-9)
