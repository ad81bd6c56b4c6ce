import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.search.problem import make_problem
from trainlaw.evolve.search.trees import from_expression
from trainlaw.formulas import (
    Formula,
    InputError,
    parse_text,
    variables,
)

SMALL = SearchSettings(evaluations=250, population=40, max_nodes=15, polish_steps=10)


def fitted(rows, specs, settings=SMALL, **arguments):
    columns, y, groups = rows
    return FormulaRegressor(specs.features, specs.target, settings).fit(columns, y, groups, **arguments)


def test_the_front_falls_and_carries_held_out_losses(search):
    assert len(search.front_) > 2
    assert all(member.validation_loss > 0.0 for member in search.front_)


def test_the_seed_alone_and_no_number_of_threads_changes_the_result(typed_rows, specs):
    first, same, again, other = (
        fitted(typed_rows, specs, replace(SMALL, evaluations=600, threads=threads, random_seed=seed))
        for threads, seed in ((1, 0), (2, 0), (1, 0), (1, 1))
    )
    assert first.formula_.text(None) == same.formula_.text(None) == again.formula_.text(None)
    assert first.front_.to_rows() != other.front_.to_rows()


def test_columns_are_picked_by_name(typed_rows, specs, search):
    columns, y, groups = typed_rows
    names = [spec.name for spec in specs.features]
    shuffled = pd.DataFrame(columns, columns=names)[names[::-1]].assign(other=1.0)
    by_name = fitted((shuffled, y, groups), specs)
    assert search.formula_ == by_name.formula_
    np.testing.assert_array_equal(search.predict(columns), by_name.predict(shuffled))


def test_the_formula_knows_its_ranges_and_provenance(typed_rows, specs):
    columns, _, _ = typed_rows
    formula = fitted(typed_rows, specs).formula_
    assert formula.ranges["ratio"] == (columns[:, 3].min(), columns[:, 3].max())
    assert formula.provenance["settings"]["random_seed"] == 0
    # Provenance is plain JSON, so that the formula comes back from its file.
    assert Formula.from_json(json.loads(json.dumps(formula.to_json()))).expression == formula.expression


def test_seeds_and_templates_are_text_in_the_provenance(typed_rows, specs):
    settings = SearchSettings(
        evaluations=50,
        population=20,
        seeds=(parse_text("compute_s + 1"),),
        template=parse_text("hole + 2 * launch_s"),
    )
    with pytest.raises(InputError, match="seed"):
        fitted(typed_rows, specs, SearchSettings(evaluations=50, seeds=(parse_text("compute_s * launch_s"),)))
    stored = fitted(typed_rows, specs, settings).formula_.provenance["settings"]
    assert stored["seeds"] == ["compute_s + 1"]
    assert stored["template"] == "hole + 2 * launch_s"


@pytest.mark.parametrize(
    ("features", "scope", "expected"),
    [(True, None, "run"), (False, None, "custom"), (True, "multi_gpu", "multi_gpu")],
)
def test_the_scope_is_stored(typed_rows, specs, features, scope, expected):
    columns, y, groups = typed_rows
    arguments = (specs.features, specs.target) if features else (None, None)
    estimator = FormulaRegressor(*arguments, SMALL, scope=scope).fit(columns, y, groups)
    assert estimator.formula_.scope == expected


def test_a_share_such_as_one_less_than_n_over_n_can_be_written(specs):
    generator = np.random.default_rng(3)
    columns = np.column_stack([generator.uniform(0.1, 1.0, (90, 3)), 2.0 ** (np.arange(90) % 5), np.ones(90)])
    y = 2.0 * columns[:, 0] * (columns[:, 3] - 1.0) / columns[:, 3] + 0.5 * columns[:, 1]
    problem = make_problem(columns, y, specs.features, specs.target, SMALL)
    tree = from_expression(parse_text("compute_s * ((ratio - 0.9) / ratio) + memory_s"), problem.grammar)
    fitted_tree = problem.fit([tree], 200)[0]
    assert fitted_tree.loss < 1e-10
    assert -1.0 in [
        pytest.approx(node.constant, abs=1e-4) for node in fitted_tree if node.constant is not None
    ]


def test_a_search_that_the_limit_starves_says_how_few_formulas_it_tried():
    X = np.random.default_rng(0).uniform(1.0, 2.0, (150_000, 3))
    starved = FormulaRegressor(evaluations=None, limit_seconds=0.02, search_rows=10**9)
    with pytest.warns(UserWarning, match=r"the search tried \d+ formulas in 0.02 s, expected at least 300"):
        starved.fit(X, X[:, 0] * X[:, 1])
    assert starved.evaluations_ < 300


def _tried(name, seed):
    """Rows of a first try: columns (300, k), noisy target, and the law."""
    random = np.random.default_rng([seed, len(name)])
    noise = random.standard_normal(300)
    a, b, c = random.uniform(1.0, 5.0, (3, 300))
    angle, speed, mass, idle = a - 3.0, b, 2.0 * c, random.uniform(0.0, 1.0, 300)
    laws = {
        "cosine": ([angle, b - 3.0, c], 2.5 * np.cos(angle) + (b - 3.0) ** 2 / c, 0.0),
        "energy": ([mass, speed, idle], 0.5 * mass * speed**2, 0.01),
        "quotient": ([a, b, c], a * b / c, 0.01),
        "offset": ([a, b], 2.0 * a / b + 1.0, 0.05),
    }
    columns, law, share = laws[name]
    return np.column_stack(columns), law * (1.0 + share * noise), law


@pytest.mark.parametrize(
    ("name", "seed", "most"),
    [("cosine", 0, 1e-6), ("energy", 0, 0.01), ("quotient", 1, 0.01), ("offset", 2, 0.05)],
)
def test_a_first_try_with_default_settings_finds_the_law(name, seed, most):
    X, y, law = _tried(name, seed)
    found = FormulaRegressor().fit(X, y)
    assert np.max(np.abs(found.predict(X) - law)) < most * np.std(law)
    # An irrelevant column is left out, and nothing explodes where no row is.
    assert "x2" not in variables(found.formula_.expression) or name in ("cosine", "quotient")
    assert not next(own for own in found.candidates_ if own.expression == found.formula_.expression).explodes


@pytest.fixture(scope="module")
def search(typed_rows, specs):
    return fitted(typed_rows, specs)


def test_equations_are_the_front(search):
    table = search.equations_
    assert table["complexity"].tolist() == [member.complexity for member in search.front_]
    assert table["equation"].tolist() == [member.formula.text() for member in search.front_]
    (chosen,) = table[table["is_chosen"]]["equation"]
    assert chosen == search.formula_.text()


def test_a_fitted_search_survives_pickle_but_for_its_trees(search, typed_rows):
    again = pickle.loads(pickle.dumps(search))
    assert np.array_equal(again.predict(typed_rows[0]), search.predict(typed_rows[0]))
    assert vars(search).keys() - vars(again).keys() == {"hall_of_fame_"}


def test_a_position_selects_the_formula_everywhere(search, typed_rows):
    columns, last = typed_rows[0], len(search.front_) - 1
    simple, best = (search.predict(columns, index=index) for index in (0, last))
    assert not np.allclose(simple, best) and np.array_equal(best, search.predict(columns, index=-1))
    used = {spec.name for spec in search.front_[last].formula.used_features}
    assert {symbol.name for symbol in search.sympy(last).free_symbols} == used
    assert search.latex(last).partition(" = ")[2] and search.latex(last) != search.latex(0)
    assert search.latex() in {search.latex(index) for index in range(last + 1)}
    for index in (last + 1, -last - 2):
        with pytest.raises(InputError, match="position"):
            search.predict(columns, index=index)


def test_an_unfitted_estimator_has_nothing_to_show():
    for view in (lambda one: one.equations_, lambda one: one.latex(), lambda one: one.predict([[1.0]])):
        with pytest.raises((InputError, ValueError), match="not fitted"):
            view(FormulaRegressor())
