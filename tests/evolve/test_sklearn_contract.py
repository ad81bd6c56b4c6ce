import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.sklearn_contract import (
    feature_matrix,
    generic_features,
    not_fitted,
    target_vector,
    weight_vector,
)
from trainlaw.formulas import InputError, UnknownNameError

SMALL = SearchSettings(evaluations=60, population=20, max_nodes=9, polish_steps=5)


def test_scikit_learn_accepts_the_estimator():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    least = SearchSettings(evaluations=30, population=10, max_nodes=9, polish_steps=2)
    checks.check_estimator(FormulaRegressor(settings=least), on_skip=None)


def test_parameters_are_those_of_the_constructor(specs):
    estimator = FormulaRegressor(specs.features, specs.target, SMALL)
    assert estimator.get_params()["settings"] is SMALL
    names = {"features", "target", "settings", "progress", "scope", "toolbox"}
    assert set(estimator.get_params()) == names
    assert estimator.set_params(settings=None, target=None) is estimator
    assert estimator.get_params()["settings"] is None


def test_estimators_are_cloned_by_scikit_learn(specs):
    base = pytest.importorskip("sklearn.base")
    estimator = FormulaRegressor(specs.features, specs.target, SMALL)
    assert base.clone(estimator).get_params() == estimator.get_params()
    assert base.is_regressor(estimator)


def test_the_repr_shows_what_was_given():
    assert repr(FormulaRegressor()) == "FormulaRegressor()"
    assert repr(FormulaRegressor(scope="custom")) == "FormulaRegressor(scope='custom')"


class Line(FormulaRegressor):
    """Predicts twice the first column."""

    def predict(self, X):
        return 2.0 * np.asarray(X)[:, 0]


@pytest.mark.parametrize("weight", [None, np.arange(1.0, 21.0)])
def test_the_score_is_that_of_scikit_learn(weight):
    metrics = pytest.importorskip("sklearn.metrics")
    generator = np.random.default_rng(0)
    X = generator.uniform(1.0, 2.0, (20, 1))
    y = 2.0 * X[:, 0] + generator.normal(0.0, 0.2, 20)
    expected = metrics.r2_score(y, 2.0 * X[:, 0], sample_weight=weight)
    assert Line().score(X, y, weight) == pytest.approx(expected)


def test_the_score_of_a_constant_target_is_one_only_where_exact():
    X = np.ones((3, 1))
    assert Line().score(X, np.full(3, 2.0)) == 1.0
    assert Line().score(X, np.full(3, 5.0)) == 0.0


def test_only_a_fitted_estimator_is_fitted(typed_rows, specs):
    columns, y, groups = typed_rows
    estimator = FormulaRegressor(specs.features, specs.target, SMALL)
    assert not estimator.__sklearn_is_fitted__()
    assert estimator.fit(columns, y, groups).__sklearn_is_fitted__()


def test_sparse_matrices_are_refused(specs):
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        feature_matrix(sparse.eye(5).tocsr(), specs.features, fitting=True)


def test_columns_of_a_frame_are_picked_by_name(specs):
    names = [spec.name for spec in specs.features]
    table = pd.DataFrame(np.arange(10.0).reshape(2, 5), columns=names)
    shuffled = table[names[::-1]].assign(other=1.0)
    np.testing.assert_array_equal(feature_matrix(shuffled, specs.features, fitting=True), table.to_numpy())
    with pytest.raises(InputError, match="without compute_s"):
        feature_matrix(shuffled.drop(columns="compute_s"), specs.features, fitting=True)


@pytest.mark.parametrize("fitting", [True, False])
def test_a_frame_of_other_names_is_refused_and_one_without_names_is_not(specs, fitting):
    table = pd.DataFrame(np.ones((2, 5)), columns=list("abcde"))
    with pytest.raises(InputError, match="a table without compute_s, memory_s"):
        feature_matrix(table, specs.features, fitting=fitting)
    assert feature_matrix(pd.DataFrame(np.ones((2, 5))), specs.features, fitting=fitting).shape == (2, 5)


def test_an_estimator_fitted_to_a_frame_takes_its_columns_by_name():
    table = pd.DataFrame(np.random.default_rng(0).uniform(1.0, 2.0, (30, 2)), columns=["mass", "speed"])
    y = 2.0 * table["mass"]
    found = FormulaRegressor(settings=SMALL).fit(table, y)
    np.testing.assert_allclose(found.predict(table[["speed", "mass"]]), found.predict(table))
    with pytest.raises(InputError, match="without mass"):
        found.predict(table.rename(columns={"mass": "weight"}))
    unnamed = FormulaRegressor(settings=SMALL).fit(table.to_numpy(), y)
    np.testing.assert_allclose(unnamed.predict(table), found.predict(table))


def test_columns_are_taken_by_name_even_if_named_as_those_of_an_array():
    X = np.random.default_rng(0).uniform(1.0, 2.0, (30, 2))
    named = FormulaRegressor(settings=SMALL).fit(pd.DataFrame(X, columns=["x0", "x1"]), 2.0 * X[:, 0])
    with pytest.raises(InputError, match="without x0, x1"):
        named.predict(pd.DataFrame(X, columns=["a", "b"]))
    numbered = pd.DataFrame(X, columns=["a", 1])
    found = FormulaRegressor(settings=SMALL).fit(numbered, 2.0 * X[:, 0])
    np.testing.assert_array_equal(found.predict(numbered[[1, "a"]]), found.predict(numbered))
    # Fitted again to an array, it takes any two columns.
    found.fit(X, 2.0 * X[:, 0])
    assert not hasattr(found, "feature_names_in_")


def test_a_column_vector_is_a_target_with_a_warning():
    with pytest.warns(match="column-vector"):
        assert target_vector(np.ones((3, 1)), 3).shape == (3,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert target_vector(np.ones(3), 3).shape == (3,)


def test_a_single_positive_weight_suffices():
    assert weight_vector([0, 0, 1], 3).tolist() == [0.0, 0.0, 1.0]


def test_features_without_specs_are_named_as_in_the_frame():
    assert [spec.name for spec in generic_features(np.ones((2, 3)), 3)] == ["x0", "x1", "x2"]
    assert [spec.name for spec in generic_features(pd.DataFrame({"a": [1], 7: [2]}), 2)] == ["a", "7"]


def test_errors_are_of_scikit_learn_only_where_it_is_installed(monkeypatch):
    exceptions = pytest.importorskip("sklearn.exceptions")
    assert isinstance(not_fitted(FormulaRegressor()), exceptions.NotFittedError)
    monkeypatch.setitem(sys.modules, "sklearn.exceptions", None)
    assert isinstance(not_fitted(FormulaRegressor()), InputError)
    with pytest.warns(UserWarning, match="column-vector"):
        target_vector(np.ones((3, 1)), 3)


def test_scikit_learn_is_told_what_kind_of_estimator_it_is():
    tags = FormulaRegressor().__sklearn_tags__()
    assert tags.estimator_type == "regressor"
    assert tags.target_tags.required and tags.regressor_tags.poor_score
    # Same seed, same formula.
    assert tags.non_deterministic is False


@pytest.mark.parametrize("prefix", ["", "settings__"])
def test_settings_are_searched_over_by_their_fields(prefix, typed_rows, specs):
    selection = pytest.importorskip("sklearn.model_selection")
    columns, y, _ = typed_rows
    base = FormulaRegressor(specs.features, specs.target, SMALL).set_params(**{f"{prefix}evaluations": 80})
    grid = selection.GridSearchCV(base, {f"{prefix}max_nodes": [3, 15]}, cv=2, error_score="raise")
    grid.fit(columns, y)
    assert grid.best_params_ == {f"{prefix}max_nodes": 15}
    assert grid.best_estimator_.settings.max_nodes == 15 and base.settings.max_nodes == SMALL.max_nodes
    named = FormulaRegressor().set_params(settings=SMALL, **{f"{prefix}random_seed": 3})
    assert named.settings == replace(SMALL, random_seed=3)
    with pytest.raises(UnknownNameError, match="'max_node'"):
        base.set_params(settings__max_node=3)
    with pytest.raises(InputError, match="scope"):
        base.set_params(scope__x=3)
