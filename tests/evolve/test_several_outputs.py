import numpy as np
import pandas as pd
import pytest
from trainlaw.evolve import FormulaRegressor, FormulaRegressors
from trainlaw.formulas import SECOND, FeatureSpec, InputError

X = np.random.default_rng(0).uniform(1.0, 2.0, (60, 2))
Y = np.column_stack([X[:, 0] * X[:, 1], X[:, 0] / X[:, 1]])
ONE = FormulaRegressor(evaluations=300, population=40)


def test_each_target_gets_the_formula_of_a_search_of_its_own():
    both = FormulaRegressors(ONE).fit(
        X, pd.DataFrame(Y, columns=["area", "ratio"]), sample_weight=np.ones(60)
    )
    alone = FormulaRegressor(evaluations=300, population=40).fit(X, Y[:, 1])
    np.testing.assert_array_equal(both.predict(X)[:, 1], alone.predict(X))
    assert both.equations_.target.unique().tolist() == ["area", "ratio"]
    assert both.equations_.is_chosen.sum() == 2
    assert not hasattr(ONE, "formula_")


def test_targets_have_units_and_their_number_is_checked():
    seconds = [FeatureSpec(name, name, SECOND, name) for name in ("forward_s", "backward_s")]
    assert FormulaRegressors(ONE, seconds).fit(X, Y).estimators_[1].formula_.target == seconds[1]
    with pytest.raises(InputError, match="expected a table of 2 targets, got shape"):
        FormulaRegressors(ONE, seconds).fit(X, Y[:, :1])
    with pytest.raises(InputError, match="expected a table of several targets, got shape"):
        FormulaRegressors(ONE).fit(X, Y[:, 0])
    with pytest.raises(Exception, match="not fitted"):
        FormulaRegressors(ONE).predict(X)
