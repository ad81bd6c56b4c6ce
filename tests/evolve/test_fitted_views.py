"""What a fitted search shows and keeps."""

import json
import pickle
import sys

import numpy as np
import pytest
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.formulas import InputError, MissingDependencyError, UnknownNameError

SMALL = SearchSettings(evaluations=250, population=40, max_nodes=15, polish_steps=10)


@pytest.fixture(scope="module")
def fitted(typed_rows, specs):
    columns, y, groups = typed_rows
    return FormulaRegressor(specs.features, specs.target, SMALL).fit(columns, y, groups)


def test_equations_are_the_front(fitted):
    table = fitted.equations_
    assert table["complexity"].tolist() == [member.complexity for member in fitted.front_]
    assert table["equation"].tolist() == [member.formula.text() for member in fitted.front_]
    (chosen,) = table[table["is_chosen"]]["equation"]
    assert chosen == fitted.formula_.text()


def test_a_fitted_search_survives_pickle_but_for_its_trees(fitted, typed_rows):
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(typed_rows[0]), fitted.predict(typed_rows[0]))
    assert vars(fitted).keys() - vars(again).keys() == {"hall_of_fame_"}


def test_a_position_selects_the_formula_everywhere(fitted, typed_rows):
    columns, last = typed_rows[0], len(fitted.front_) - 1
    simple, best = (fitted.predict(columns, index=index) for index in (0, last))
    assert not np.allclose(simple, best) and np.array_equal(best, fitted.predict(columns, index=-1))
    used = {spec.name for spec in fitted.front_[last].formula.used_features}
    assert {symbol.name for symbol in fitted.sympy(last).free_symbols} == used
    assert fitted.latex(last).partition(" = ")[2] and fitted.latex(last) != fitted.latex(0)
    assert fitted.latex() in {fitted.latex(index) for index in range(last + 1)}
    for index in (last + 1, -last - 2):
        with pytest.raises(InputError, match="position"):
            fitted.predict(columns, index=index)


def test_saved_estimators_predict_the_same(fitted, typed_rows, specs, tmp_path):
    fitted.save(tmp_path / "law.json")
    again = FormulaRegressor.load(tmp_path / "law.json")
    assert np.array_equal(again.predict(typed_rows[0]), fitted.predict(typed_rows[0]))
    assert again.front_.to_rows() == fitted.front_.to_rows() and again.features == specs.features
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "law.json").read_bytes()


@pytest.mark.parametrize("change", ["[", {"format": "x"}, {"front": 3}, {"more": 1}, {"evaluations": None}])
def test_other_files_are_refused(change, fitted, tmp_path):
    fitted.save(tmp_path / "law.json")
    text = change
    if isinstance(change, dict):
        text = json.dumps(json.loads((tmp_path / "law.json").read_text()) | change)
    (tmp_path / "law.json").write_text(text)
    with pytest.raises(InputError, match=r"law\.json"):
        FormulaRegressor.load(tmp_path / "law.json")


@pytest.mark.slow
def test_plots_show_the_front_and_the_predictions(fitted, typed_rows):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    front = fitted.plot_front(figure.subplots())
    assert front.lines[0].get_xdata().tolist() == [member.complexity for member in fitted.front_]
    assert front.get_yscale() == "log" and len(front.lines) == 2
    points = fitted.plot_predictions(*typed_rows[:2], figure.subplots())
    assert np.array_equal(points.lines[0].get_ydata(), fitted.predict(typed_rows[0]))
    assert points.get_xlabel() == "measured [s]"


def test_without_matplotlib_the_error_says_how_to_get_it(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'trainlaw\[plots\]'"):
        fitted.plot_front()


def test_an_unfitted_estimator_has_nothing_to_show():
    for view in (lambda one: one.equations_, lambda one: one.latex(), lambda one: one.save("x")):
        with pytest.raises((InputError, ValueError), match="not fitted"):
            view(FormulaRegressor())


@pytest.mark.slow
def test_settings_are_searched_over_by_their_fields(typed_rows, specs):
    selection = pytest.importorskip("sklearn.model_selection")
    columns, y, _ = typed_rows
    base = FormulaRegressor(specs.features, specs.target, SMALL).set_params(settings__evaluations=80)
    grid = selection.GridSearchCV(base, {"settings__max_nodes": [3, 15]}, cv=2, error_score="raise")
    grid.fit(columns, y)
    assert grid.best_params_ == {"settings__max_nodes": 15}
    assert grid.best_estimator_.settings.max_nodes == 15 and base.settings.max_nodes == SMALL.max_nodes
    assert FormulaRegressor().set_params(settings__random_seed=3).settings == SearchSettings(random_seed=3)
    with pytest.raises(UnknownNameError, match="'max_node'"):
        base.set_params(settings__max_node=3)
    with pytest.raises(InputError, match="scope"):
        base.set_params(scope__x=3)
