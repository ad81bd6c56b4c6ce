import gc

import numpy as np
import pytest
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.search.candidates import Candidate, choose, round_exact
from trainlaw.evolve.search.islands import start_island, step
from trainlaw.evolve.search.loop import run, start_state
from trainlaw.evolve.search.selection import epsilon_lexicase, survivors
from trainlaw.evolve.search.trees import from_expression, to_expression
from trainlaw.evolve.search.variation import Individual, simpler_trees
from trainlaw.formulas import Constant, InputError, UnknownNameError, evaluate, parse_text, to_text, variables
from trainlaw.formulas.expression import count_nodes

QUICK = SearchSettings(evaluations=1500, population=60)


def fitted(rows, specs, settings=QUICK, **arguments):
    columns, y, groups = rows
    return FormulaRegressor(specs.features, specs.target, settings, **arguments).fit(columns, y, groups)


def test_lexicase_takes_the_best_of_some_case_and_never_the_worst_of_all():
    cases = np.array([[0.0, 1.0], [1.0, 0.0], [5.0, 5.0], [0.1, 0.9]])
    picks = epsilon_lexicase(cases, 200, np.random.default_rng(0))
    assert set(picks.tolist()) >= {0, 1}
    assert 2 not in picks


def test_survivors_are_not_dominated_and_not_alike():
    pool = []
    for score, complexity in ((1.0, 1), (0.5, 3), (0.5, 3), (0.9, 5), (0.1, 9)):
        tree = Individual([])
        tree.score, tree.complexity = score, complexity
        pool.append(tree)
    kept = survivors(pool, 3)
    assert sorted((tree.score, tree.complexity) for tree in kept) == [(0.1, 9), (0.5, 3), (1.0, 1)]


def test_a_planted_law_is_found(typed_rows, specs):
    estimator = fitted(typed_rows, specs, SearchSettings(evaluations=6000, population=100))
    predicted = estimator.predict(typed_rows[0])
    assert np.median(np.abs(predicted / typed_rows[1] - 1.0)) < 0.025
    assert {"compute_s", "memory_s", "launch_s"} <= set(variables(estimator.formula_.expression))


def test_the_front_falls_and_carries_held_out_losses(typed_rows, specs):
    front = fitted(typed_rows, specs).front_
    assert len(front) > 2
    assert all(member.validation_loss is not None and member.validation_loss > 0.0 for member in front)


def test_same_seed_same_result_for_any_number_of_threads(typed_rows, specs):
    texts = {
        fitted(typed_rows, specs, SearchSettings(evaluations=900, population=60, threads=n)).formula_.text(
            None
        )
        for n in (1, 2, 1)
    }
    assert len(texts) == 1


def test_another_seed_takes_another_way(typed_rows, specs):
    first, second = (
        fitted(typed_rows, specs, SearchSettings(evaluations=400, population=60, random_seed=n))
        for n in (0, 1)
    )
    assert first.front_.to_rows() != second.front_.to_rows()


def test_islands_exchange(typed_rows, specs):
    settings = SearchSettings(evaluations=1200, population=40, islands=2, migration_interval=3)
    estimator = fitted(typed_rows, specs, settings)
    assert estimator.front_[-1].loss < 0.01


def test_interrupting_keeps_what_was_found(typed_rows, specs):
    calls = []

    def interrupt(progress):
        calls.append(progress)
        if len(calls) == 3:
            raise KeyboardInterrupt

    estimator = fitted(
        typed_rows, specs, SearchSettings(evaluations=10**9, population=40), progress=interrupt
    )
    assert len(calls) == 3
    assert calls[0].seconds_left > 0.0
    assert len(estimator.front_) > 0


def test_a_seed_is_in_the_first_generation(typed_rows, typed_problem, specs):
    law = parse_text("(2 * compute_s + 0.5 * memory_s) * ratio^(-0.5) + 3 * launch_s")
    estimator = fitted(typed_rows, specs, SearchSettings(evaluations=1, population=4, seeds=(law,)))
    assert estimator.front_[-1].loss < 0.001


def test_required_features_are_in_every_candidate(typed_rows, specs):
    settings = SearchSettings(evaluations=1500, population=60, required_features=("wide",))
    for candidate in fitted(typed_rows, specs, settings).candidates_:
        assert "wide" in to_text(candidate.expression)


def test_seconds_end_a_search(typed_problem):
    from dataclasses import replace

    settings = replace(typed_problem.settings, evaluations=None, limit_seconds=0.2)
    state = run(start_state(typed_problem), replace(typed_problem, settings=settings))
    assert 0.2 <= state.seconds < 3.0


def test_a_step_tells_its_generation(untyped_problem):
    island = start_island(untyped_problem, 0)
    step(island, untyped_problem)
    assert island.generation == 1
    assert island.evaluations > untyped_problem.settings.population // 2


def test_simpler_neighbours_are_smaller(typed_problem):
    tree = from_expression(parse_text("(2 * compute_s + memory_s) * ratio + launch_s"), typed_problem.grammar)
    neighbours = [
        to_text(to_expression(simpler), 2) for simpler in simpler_trees(tree, typed_problem.grammar)
    ]
    assert "(2 * compute_s + memory_s) * ratio" in neighbours
    assert "2 * compute_s * ratio + launch_s" in neighbours


def test_exact_laws_get_round_constants():
    x = np.linspace(1.0, 2.0, 50)

    def loss(expression):
        return float(np.mean((evaluate(expression, {"x": x})[0] - 2.0 * x) ** 2))

    rounded, left = round_exact(parse_text("2.0000000001 * x + 0.00000000001"), loss, 1e-3)
    assert to_text(rounded) == "2 * x + 0"
    assert left == 0.0


def candidates():
    held_out = ([4.0, 4.2, 3.8], [1.1, 1.0, 0.95], [1.0, 0.9, 1.1])
    return [Candidate(Constant(1.0), 4.0 - i, i + 1, np.array(losses)) for i, losses in enumerate(held_out)]


@pytest.mark.parametrize(
    ("rule", "complexity"),
    [("validation", 3), ("one_standard_error", 2), ("loss", 3), ("description_length", 3)],
)
def test_rules_choose(rule, complexity):
    assert choose(candidates(), rule, 100).complexity == complexity


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"operators": ("add", "plus")}, UnknownNameError),
        ({"loss": "l2"}, UnknownNameError),
        ({"choice": "best"}, UnknownNameError),
        ({"evaluations": None}, InputError),
        ({"population": 1}, InputError),
        ({"max_nodes": 500}, InputError),
    ],
)
def test_settings_that_make_no_sense_are_refused(arguments, error):
    with pytest.raises(error):
        SearchSettings(**arguments)


def test_what_is_left_open_depends_on_units_and_groups():
    open_ones = SearchSettings().resolved(grouped=True)
    assert (open_ones.max_nodes, open_ones.choice) == (60, "one_standard_error")
    untyped = SearchSettings(typed=False).resolved(grouped=False)
    assert (untyped.max_nodes, untyped.choice) == (30, "description_length")
    given = SearchSettings(typed=False, max_nodes=44, choice="loss")
    assert given.resolved(grouped=False) == given


def test_without_groups_noise_does_not_lengthen_the_law():
    generator = np.random.default_rng(3)
    X = generator.uniform(1.0, 5.0, (300, 3))
    truth = X[:, 0] * X[:, 1] / X[:, 2]
    y = truth + 0.01 * np.std(truth) * generator.standard_normal(300)
    settings = SearchSettings(evaluations=4_000, typed=False, population=100)
    found = FormulaRegressor(settings=settings).fit(X, y)
    longest = max(count_nodes(scored.formula.expression) for scored in found.front_)
    assert longest > 2 * count_nodes(found.formula_.expression)
    assert np.mean((found.predict(X) - truth) ** 2) < 1e-5 * np.var(truth)


@pytest.mark.parametrize("running", [True, False])
def test_a_search_leaves_the_collector_of_cycles_as_it_was(typed_rows, specs, running):
    before = gc.isenabled()
    try:
        (gc.enable if running else gc.disable)()
        fitted(typed_rows, specs, SearchSettings(evaluations=200, population=20))
        assert gc.isenabled() is running
    finally:
        (gc.enable if before else gc.disable)()


def test_a_run_that_was_killed_goes_on_as_the_same_run(typed_rows, specs, tmp_path):
    place = tmp_path / "state.json"
    whole = fitted(typed_rows, specs, SearchSettings(evaluations=900, population=40))
    kept = SearchSettings(evaluations=900, population=40, checkpoint=str(place), checkpoint_seconds=0.0)

    class KilledError(Exception):
        pass

    def kill(progress):
        if progress.evaluations > 400:
            raise KilledError

    with pytest.raises(KilledError):
        fitted(typed_rows, specs, kept, progress=kill)
    resumed = fitted(typed_rows, specs, kept)
    assert resumed.front_.to_rows() == whole.front_.to_rows()
    assert resumed.evaluations_ == whole.evaluations_


@pytest.mark.parametrize("text", ["", "{}", "[1, 2]", "no JSON"])
def test_a_broken_checkpoint_is_refused(typed_rows, specs, tmp_path, text):
    place = tmp_path / "state.json"
    place.write_text(text)
    with pytest.raises(InputError, match="checkpoint"):
        fitted(typed_rows, specs, SearchSettings(evaluations=50, population=40, checkpoint=str(place)))


def test_a_checkpoint_of_another_search_is_refused(typed_rows, specs, tmp_path):
    place = str(tmp_path / "state.json")
    fitted(typed_rows, specs, SearchSettings(evaluations=50, population=40, checkpoint=place))
    with pytest.raises(InputError, match="other data or settings"):
        fitted(typed_rows, specs, SearchSettings(evaluations=50, population=41, checkpoint=place))
