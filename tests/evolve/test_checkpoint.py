import json
from dataclasses import replace

import numpy as np
import pytest
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.checkpoint import fingerprint, island_from_json, island_json, load_state, save_state
from trainlaw.evolve.search.islands import advance, start_island
from trainlaw.evolve.search.loop import SearchState
from trainlaw.evolve.search.problem import make_problem
from trainlaw.evolve.search.trees import to_expression
from trainlaw.formulas import InputError


def fitted(rows, specs, settings, **arguments):
    columns, y, groups = rows
    return FormulaRegressor(specs.features, specs.target, settings, **arguments).fit(columns, y, groups)


@pytest.mark.parametrize("kind", ["typed_problem", "untyped_problem"])
def test_an_island_comes_back_as_it_was(kind, request):
    problem = request.getfixturevalue(kind)
    island = advance(start_island(problem, 0), problem, 3)
    content = json.loads(json.dumps(island_json(island, problem)))
    again = island_from_json(content, problem)
    assert json.loads(json.dumps(island_json(again, problem))) == content
    assert [to_expression(tree) for tree in again.population] == [
        to_expression(tree) for tree in island.population
    ]
    assert (again.evaluations, again.generation, again.barren) == (island.evaluations, 3, island.barren)


def test_an_island_read_back_advances_as_the_original(typed_problem):
    island = advance(start_island(typed_problem, 0), typed_problem, 2)
    again = island_from_json(json.loads(json.dumps(island_json(island, typed_problem))), typed_problem)
    first, second = (advance(item, typed_problem, 3) for item in (island, again))
    assert island_json(first, typed_problem) == island_json(second, typed_problem)


def test_an_individual_in_population_and_archive_is_written_once(typed_problem):
    island = start_island(typed_problem, 0)
    content = island_json(island, typed_problem)
    distinct = {id(tree) for tree in [*island.population, *island.archive.values()]}
    assert len(content["trees"]) == len(distinct) < len(content["population"]) + len(content["archive"])
    again = island_from_json(content, typed_problem)
    assert len({id(tree) for tree in [*again.population, *again.archive.values()]}) == len(distinct)


def test_a_state_comes_back_with_its_seconds(typed_problem, tmp_path):
    place = tmp_path / "state.json"
    save_state(SearchState([start_island(typed_problem, 0)], seconds=7.5), typed_problem, place)
    state = load_state(typed_problem, place)
    assert state.seconds == 7.5
    assert len(state.islands) == 1


@pytest.mark.parametrize(
    "settings", [{"evaluations": 9}, {"limit_seconds": 3.0}, {"threads": 4}, {"checkpoint": "x"}]
)
def test_budgets_and_threads_may_change_between_the_parts_of_a_run(typed_problem, typed_with, settings):
    assert fingerprint(typed_with(**settings)) == fingerprint(typed_problem)


@pytest.mark.parametrize(
    "settings", [{"population": 41}, {"random_seed": 1}, {"loss": "log_ratio"}, {"operators": ("add",)}]
)
def test_other_settings_make_another_run(typed_problem, typed_with, settings):
    assert fingerprint(typed_with(**settings)) != fingerprint(typed_problem)


def test_other_data_make_another_run(typed_rows, typed_problem, specs):
    columns, y, groups = typed_rows
    settings = SearchSettings(population=40)
    alike, other = (
        make_problem(columns, truth, specs.features, specs.target, settings, groups=groups)
        for truth in (y, np.nextafter(y, np.inf))
    )
    assert fingerprint(alike) == fingerprint(typed_problem) != fingerprint(other)


def test_a_run_that_was_killed_resumes_as_the_same_run(typed_rows, specs, tmp_path):
    place = tmp_path / "state.json"
    whole = fitted(typed_rows, specs, SearchSettings(evaluations=600, population=40))
    kept = SearchSettings(evaluations=600, population=40, checkpoint=str(place), checkpoint_seconds=0.0)

    class KilledError(Exception):
        pass

    def kill(progress):
        if progress.evaluations > 300:
            raise KilledError

    with pytest.raises(KilledError):
        fitted(typed_rows, specs, kept, progress=kill)
    resumed = fitted(typed_rows, specs, kept)
    assert resumed.front_.to_rows() == whole.front_.to_rows()
    assert resumed.evaluations_ == whole.evaluations_


@pytest.mark.parametrize("text", ["", "{}", "[1, 2]", "no JSON", '{"fingerprint": 1}'])
def test_a_broken_checkpoint_is_refused(typed_problem, tmp_path, text):
    place = tmp_path / "state.json"
    place.write_text(text)
    with pytest.raises(InputError, match="checkpoint"):
        load_state(typed_problem, place)


def test_a_checkpoint_with_a_hole_is_refused(typed_problem, tmp_path):
    place = tmp_path / "state.json"
    save_state(SearchState([start_island(typed_problem, 0)]), typed_problem, place)
    content = json.loads(place.read_text())
    del content["islands"][0]["trees"][-1]
    place.write_text(json.dumps(content))
    with pytest.raises(InputError, match="checkpoint"):
        load_state(typed_problem, place)


def test_a_checkpoint_of_another_search_is_refused(typed_rows, specs, tmp_path):
    place = str(tmp_path / "state.json")
    fitted(typed_rows, specs, SearchSettings(evaluations=50, population=40, checkpoint=place))
    with pytest.raises(InputError, match="other data or settings"):
        fitted(typed_rows, specs, SearchSettings(evaluations=50, population=41, checkpoint=place))


def test_a_checkpoint_with_other_numbers_of_nodes_is_refused(typed_problem, tmp_path):
    path = tmp_path / "state.json"
    save_state(SearchState([start_island(typed_problem, 0)]), typed_problem, path)
    assert load_state(typed_problem, path).generation == 0
    first, *_, last = typed_problem.grammar.nodes
    first.kind, last.kind = last.kind, first.kind
    other = replace(typed_problem, grammar=replace(typed_problem.grammar))
    with pytest.raises(InputError, match="other data or settings"):
        load_state(other, path)
