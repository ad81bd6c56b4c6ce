import numpy as np
import pandas as pd
import pytest
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.formulas import InputError

SMALL = SearchSettings(evaluations=250, population=40, max_nodes=15, polish_steps=10)


def test_columns_are_picked_by_name(typed_rows, specs):
    columns, y, groups = typed_rows
    names = [spec.name for spec in specs.features]
    table = pd.DataFrame(columns, columns=names)
    shuffled = table[names[::-1]].assign(other=1.0)
    by_array = FormulaRegressor(specs.features, specs.target, SMALL).fit(columns, y, groups)
    by_name = FormulaRegressor(specs.features, specs.target, SMALL).fit(shuffled, y, groups)
    assert by_array.formula_ == by_name.formula_
    np.testing.assert_array_equal(by_array.predict(columns), by_name.predict(shuffled))


def test_the_formula_knows_its_ranges_and_provenance(typed_rows, specs):
    columns, y, groups = typed_rows
    formula = FormulaRegressor(specs.features, specs.target, SMALL).fit(columns, y, groups).formula_
    assert formula.ranges["ratio"] == (columns[:, 3].min(), columns[:, 3].max())
    assert formula.provenance["settings"]["random_seed"] == 0


@pytest.mark.parametrize(
    "loss", ["log_ratio", "huber_log", "relative_squares", "absolute_percentage", "squares"]
)
def test_every_loss_leads_to_a_law(typed_rows, loss, specs):
    columns, y, groups = typed_rows
    settings = SearchSettings(evaluations=1500, population=60, loss=loss)
    estimator = FormulaRegressor(specs.features, specs.target, settings).fit(columns, y, groups)
    assert np.median(np.abs(estimator.predict(columns) / y - 1.0)) < 0.2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y, g: (X[:, :2], y, g), "column"),
        (lambda X, y, g: (X, y[:-1], g), "target"),
        (lambda X, y, g: (X, -y, g), "positive"),
        (lambda X, y, g: (X * np.nan, y, g), "finite"),
        (lambda X, y, g: (X, y, g[:-1]), "group labels"),
    ],
)
def test_bad_tables_are_one_clear_error(typed_rows, change, message, specs):
    estimator = FormulaRegressor(
        specs.features, specs.target, SearchSettings(evaluations=10, loss="log_ratio")
    )
    with pytest.raises(InputError, match=message):
        estimator.fit(*change(*typed_rows))


def test_weights_of_nothing_leave_rows_out(typed_rows, specs):
    columns, y, groups = typed_rows
    spoilt = y.copy()
    spoilt[::4] *= 100.0
    weight = np.ones_like(y)
    weight[::4] = 0.0
    estimator = FormulaRegressor(
        specs.features, specs.target, SearchSettings(evaluations=1500, population=60)
    )
    estimator.fit(columns, spoilt, groups, sample_weight=weight)
    assert np.median(np.abs(estimator.predict(columns) / y - 1.0)) < 0.1


def test_scikit_learn_accepts_the_estimator():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    settings = SearchSettings(evaluations=60, population=20, max_nodes=9, polish_steps=5)
    checks.check_estimator(FormulaRegressor(settings=settings), on_skip=None)
