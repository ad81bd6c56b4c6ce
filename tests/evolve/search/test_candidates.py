import math
from dataclasses import replace

import numpy as np
import pytest
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.search.candidates import (
    EXACT_LOSS,
    MOST_CANDIDATES,
    finish,
    held_out_losses,
    is_sound,
    make_front,
    squares_loss,
    values_of,
)
from trainlaw.evolve.search.individuals import Fitness, Individual
from trainlaw.evolve.search.loop import run, start_state
from trainlaw.evolve.search.trees import from_expression
from trainlaw.formulas import Formula, complexity, constants, parse_text, to_text


@pytest.fixture
def finished(typed_with):
    problem = typed_with(evaluations=700)
    return problem, finish(run(start_state(problem), problem), problem)


def test_candidates_are_sorted_and_valid_on_every_training_row(finished):
    problem, found = finished
    assert [item.complexity for item in found] == sorted(item.complexity for item in found)
    assert len(found) > 3
    for item in found:
        assert np.all(values_of(item.expression, problem)[1])
        assert item.complexity == complexity(item.expression)
        assert item.held_out.shape == (6,)


def test_the_front_has_the_candidates_that_nothing_simpler_beats(finished, specs):
    problem, found = finished
    template = Formula(found[0].expression, specs.features, specs.target, ranges=problem.box, scope="run")
    front = make_front(found, template)
    assert {member.formula.expression for member in front} <= {item.expression for item in found}
    assert front[-1].loss == min(item.loss for item in found)
    assert all(member.formula.ranges == problem.box for member in front)


def test_powers_of_squares_of_positive_features_need_no_magnitude(typed_problem):
    state = start_state(typed_problem)
    state.islands[0].archive = {}
    tree = from_expression(parse_text("compute_s * (ratio * ratio)^(-0.25)"), typed_problem.grammar)
    (state.islands[0].archive["loss", 7],) = typed_problem.fit([tree], 5)
    (found,) = finish(state, typed_problem)
    text = to_text(found.expression, 3)
    assert "ratio^" in text and "abs" not in text
    values, _ = values_of(found.expression, typed_problem)
    columns = dict(zip(("compute_s", "memory_s", "launch_s", "ratio"), typed_problem.columns, strict=False))
    (weight, exponent) = (value for value in constants(found.expression))
    assert values == pytest.approx(weight * columns["compute_s"] / columns["ratio"] ** abs(exponent))


def test_too_many_candidates_are_thinned_evenly(typed_problem):
    state = start_state(typed_problem)
    tree = from_expression(parse_text("compute_s"), typed_problem.grammar)
    archive = {}
    for number in range(150):
        loss = 1000.0 - number
        archive["loss", number] = Individual(list(tree), Fitness(loss, (), loss, number))
    state.islands[0].archive = archive
    assert 0.5 * MOST_CANDIDATES < len(finish(state, typed_problem)) <= MOST_CANDIDATES + 1


def test_held_out_losses_are_those_of_refits(typed_problem):
    tree = from_expression(parse_text("compute_s + memory_s"), typed_problem.grammar)
    (losses,) = held_out_losses([tree], typed_problem, 30)
    for group in range(6):
        skip = np.array([group])
        assert losses[group] == typed_problem.fit([tree], 30, start=False, skip=skip)[0].cases[group]


def test_of_many_rows_only_formulas_near_the_best_are_refitted(typed_problem, monkeypatch):
    problem = typed_problem
    state = run(start_state(problem), replace(problem, settings=replace(problem.settings, evaluations=1500)))
    trees = sorted(state.front("score"), key=lambda tree: tree.complexity)
    trees = problem.fit(trees, 60, start=False)
    whole = held_out_losses(trees, problem, 60)
    refits = []
    fit = type(problem).fit
    monkeypatch.setattr(
        type(problem),
        "fit",
        lambda self, *a, skip=None, **b: refits.append(skip) or fit(self, *a, skip=skip, **b),
    )
    monkeypatch.setattr("trainlaw.evolve.search.candidates.REFITTED_ROWS", 100)
    raced = held_out_losses(trees, problem, 60)
    again = sum(len(skip) for skip in refits if skip is not None) // 6
    assert 0 < again < len(trees) / 2
    same = [np.array_equal(one, other) for one, other in zip(raced, whole, strict=True)]
    assert sum(same) >= again
    assert same[int(np.argmin([losses.mean() for losses in whole]))]
    np.testing.assert_allclose(raced, whole, rtol=0.5)


def test_one_group_has_no_held_out_loss_but_its_own(typed_rows, specs, typed_problem):
    single = replace(typed_problem, rows=typed_problem.rows._replace(group_weight=np.ones(1)))
    tree = from_expression(parse_text("compute_s"), typed_problem.grammar)
    tree.fitness = Fitness(3.5)
    assert [losses.tolist() for losses in held_out_losses([tree], single, 5)] == [[3.5]]


def test_the_loss_of_an_expression_is_the_weighted_mean_square(typed_problem):
    expression = parse_text("2 * compute_s + 0.5 * memory_s + launch_s")
    values, _ = values_of(expression, typed_problem)
    residuals = np.log(values[typed_problem.order]) - typed_problem.rows.target
    expected = np.sum(typed_problem.rows.weight * residuals**2)
    assert squares_loss(expression, typed_problem) == pytest.approx(expected)
    for invalid in ("compute_s - 9", "log(compute_s - 9)"):
        assert squares_loss(parse_text(invalid), typed_problem) == math.inf


def test_what_the_machine_skips_the_printed_formula_may_not(untyped_problem):
    # 1 / exp(huge) is 0 for the machine; its infinite part is invalid in print.
    grammar = untyped_problem.grammar
    assert is_sound(from_expression(parse_text("1 / exp(a)"), grammar), untyped_problem)
    assert not is_sound(from_expression(parse_text("1 / exp(1000 * a)"), grammar), untyped_problem)


def test_an_exact_formula_is_found_with_round_constants():
    generator = np.random.default_rng(0)
    X = generator.uniform(1.0, 3.0, (80, 2))
    settings = SearchSettings(evaluations=1500, population=60)
    estimator = FormulaRegressor(settings=settings).fit(X, 2.5 * X[:, 0] + 4.0)
    assert estimator.formula_.text(None) in ("4 + 2.5 * x0", "2.5 * x0 + 4")
    assert estimator.formula_.provenance["training_loss"] < EXACT_LOSS


def test_without_groups_noise_does_not_lengthen_the_formula():
    generator = np.random.default_rng(3)
    X = generator.uniform(1.0, 5.0, (300, 3))
    truth = X[:, 0] * X[:, 1] / X[:, 2]
    y = truth + 0.01 * np.std(truth) * generator.standard_normal(300)
    settings = SearchSettings(evaluations=20_000, typed=False)
    found = FormulaRegressor(settings=settings).fit(X, y)
    longest = max(complexity(scored.formula.expression) for scored in found.front_)
    assert longest > 2 * complexity(found.formula_.expression)
    assert np.mean((found.predict(X) - truth) ** 2) < 1e-5 * np.var(truth)
