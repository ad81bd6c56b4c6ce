import math
import time
from dataclasses import replace

import numpy as np
import pytest
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.search.description import code_length
from trainlaw.evolve.search.individuals import forest_of
from trainlaw.evolve.search.islands import receive
from trainlaw.evolve.search.loop import REFINED_SHARE, search_seconds, start_state
from trainlaw.evolve.search.problem import make_problem
from trainlaw.evolve.search.refinement import refine, tree_length
from trainlaw.evolve.search.trees import from_expression, structure_keys
from trainlaw.formulas import parse_text, variables

# The formula of the typed rows, and forms that differ from it in factors, terms and an operation.
LAW = "(2 * compute_s + 0.5 * memory_s) * ratio^(-0.5) + 3 * launch_s"
WRONG = (
    "(2 * compute_s + 0.5 * memory_s + 3 * launch_s) * ratio^(-0.1)",
    "2 * compute_s * ratio^(-0.5) + 0.5 * memory_s + 3 * launch_s",
    "max(2 * compute_s, 0.5 * memory_s) * ratio^(-0.5) + 3 * launch_s",
    "2 * compute_s + 3 * launch_s",
)


@pytest.fixture
def begun(typed_rows, specs):
    """A function that gives a problem and a state whose archive holds only the fitted forms."""

    def make(*forms, evaluations=50_000, **settings):
        columns, y, groups = typed_rows
        options = {
            "choice": "description_length",
            "held_out_selection": False,
            "population": 40,
            "islands": 1,
            **settings,
        }
        problem = make_problem(
            columns, y, specs.features, specs.target, SearchSettings(**options), groups=groups
        )
        state = start_state(problem)
        island = state.islands[0]
        island.archive = {}
        trees = [from_expression(parse_text(form), problem.grammar) for form in forms]
        receive(island, problem, problem.fit(trees, 30), False)
        island.evaluations = evaluations
        return problem, state

    return make


def key_of(text, problem):
    tree = from_expression(parse_text(text), problem.grammar)
    return structure_keys(forest_of([tree], problem.grammar))[0]


@pytest.mark.parametrize("form", WRONG)
def test_the_law_is_found_from_forms_near_it(form, begun):
    problem, state = begun(form)
    found = refine(state, problem)
    assert structure_keys(forest_of(found[:1], problem.grammar))[0] == key_of(LAW, problem)
    assert found[0].loss < 1.2 * 0.02**2


def test_the_shortest_code_comes_first_and_what_is_found_is_archived(begun):
    problem, state = begun(WRONG[0])
    found = refine(state, problem)
    lengths = [tree_length(tree, problem) for tree in found]
    assert lengths == sorted(lengths)
    assert len(found) == len({tree.complexity for tree in found}) > 5
    assert min(tree.loss for tree in state.islands[0].archive.values()) <= found[0].loss


def test_a_share_of_the_work_is_not_exceeded(begun):
    problem, state = begun(WRONG[0], evaluations=1_000)
    refine(state, problem)
    assert 0 < state.evaluations - 1_000 <= REFINED_SHARE * 1_000


def test_searches_with_another_choice_are_not_refined(begun):
    problem, state = begun(WRONG[0], choice="one_standard_error")
    assert refine(state, problem) == []
    assert state.evaluations == 50_000


@pytest.mark.slow
def test_required_features_stay(begun):
    problem, state = begun(WRONG[0] + " + 0.1 * wide * launch_s", required_features=("wide",))
    found = refine(state, problem)
    assert found
    assert all("wide" in {node.feature for node in tree} for tree in found)


def test_it_ends_with_the_time(begun):
    problem, state = begun(WRONG[0])
    with problem.machine.until(time.monotonic() - 1.0):
        time.sleep(0.05)
        found = refine(state, problem)
    assert len(found) == 1
    assert state.evaluations == 50_000


def test_an_interrupt_keeps_what_was_found(begun, monkeypatch):
    problem, state = begun(WRONG[0])

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(problem), "fit", interrupt)
    assert len(refine(state, problem)) == 1


def test_a_time_limit_leaves_time_to_refine(begun):
    problem, state = begun(WRONG[0], limit_seconds=100.0, evaluations=10_000)
    state.seconds = 20.0
    left = search_seconds(state, problem, refined=True) - search_seconds(state, problem)
    assert left == pytest.approx(REFINED_SHARE * 20.0)
    other = replace(problem, settings=replace(problem.settings, choice="validation"))
    assert search_seconds(state, other) == search_seconds(state, other, refined=True)


def test_the_code_length_is_that_of_its_definition(begun):
    problem, _ = begun(WRONG[0])
    # 120 rows; six operators, a number or a feature, of which there are five.
    expected = 60 * math.log(0.01) + 7 * math.log(8) + 2 * math.log(5) + math.log(120) + math.log(10)
    assert code_length([0.1, 0.001], 7, 2, [-1.0, 0.1], problem) == pytest.approx(expected, rel=1e-3)


def test_rows_of_unequal_weight_say_less(typed_rows, specs):
    columns, y, _ = typed_rows
    even = make_problem(columns, y, specs.features, specs.target, SearchSettings())
    assert even.effective_rows == pytest.approx(y.size)
    weight = np.where(np.arange(y.size) < 60, 3.0, 1.0)
    uneven = make_problem(columns, y, specs.features, specs.target, SearchSettings(), sample_weight=weight)
    assert uneven.effective_rows == pytest.approx(weight.sum() ** 2 / np.sum(weight**2))


@pytest.mark.slow
def test_a_short_search_chooses_the_law(typed_rows, specs):
    columns, y, groups = typed_rows
    settings = SearchSettings(
        evaluations=6_000, population=100, choice="description_length", held_out_selection=False
    )
    found = FormulaRegressor(specs.features, specs.target, settings).fit(columns, y, groups)
    assert set(variables(found.formula_.expression)) == {"compute_s", "memory_s", "launch_s", "ratio"}
    truth = (2.0 * columns[:, 0] + 0.5 * columns[:, 1]) * columns[:, 3] ** -0.5 + 3.0 * columns[:, 2]
    assert np.max(np.abs(found.predict(columns) / truth - 1.0)) < 0.03
