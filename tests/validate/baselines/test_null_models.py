"""Null models: the median ratio to one column."""

import numpy as np
import pandas as pd
import pytest
from trainlaw.formulas import InputError
from trainlaw.validate.baselines.null_models import ScaledColumn


def test_the_factor_is_the_median_ratio():
    X = pd.DataFrame({"ideal_s": [1.0, 2.0, 4.0]})
    fitted = ScaledColumn("ideal_s").fit(X, np.array([2.0, 6.0, 400.0]), np.zeros(3))
    assert fitted.scale_ == 3.0
    assert fitted.predict(X).tolist() == [3.0, 6.0, 12.0]


def test_a_missing_column_is_named():
    with pytest.raises(InputError, match="null model needs the features ideal_s"):
        ScaledColumn("ideal_s").fit(pd.DataFrame({"x": [1.0]}), np.ones(1), np.zeros(1))
