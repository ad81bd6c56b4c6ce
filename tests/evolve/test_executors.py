import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace

import pytest
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.executors import advance_on, island_json
from trainlaw.evolve.search.islands import advance, start_island
from trainlaw.evolve.search.problem import make_problem


@pytest.fixture
def arguments(typed_rows, specs):
    columns, y, groups = typed_rows
    return {
        "X": columns,
        "y": y,
        "features": specs.features,
        "target": specs.target,
        "settings": SearchSettings(population=40, threads=3),
        "groups": groups,
    }


class Here:
    """An executor that does the work where it is asked, after a round through pickle."""

    def map(self, function, /, *arguments):
        return [function(*pickle.loads(pickle.dumps(given))) for given in zip(*arguments, strict=True)]


def test_islands_come_back_as_if_advanced_here(arguments):
    problem = make_problem(**arguments)
    islands = [start_island(problem, number) for number in range(2)]
    together = advance_on(Here(), problem, arguments)
    found = together(islands, 2, 1e9)
    # What was sent stays as it was.
    assert [island.generation for island in islands] == [0, 0]
    for number, island in enumerate(found):
        expected = advance(start_island(problem, number), problem, 2)
        assert island_json(island) == island_json(expected)


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_islands_on_an_executor_find_the_same(kind, typed_rows, specs):
    columns, y, groups = typed_rows
    settings = SearchSettings(evaluations=600, population=40, islands=3, migration_interval=4)
    here = FormulaRegressor(specs.features, specs.target, settings).fit(columns, y, groups)
    with kind(2) as executor:
        there = FormulaRegressor(specs.features, specs.target, settings, executor=executor)
        there.fit(columns, y, groups)
    assert [item.expression for item in there.candidates_] == [item.expression for item in here.candidates_]
    assert replace(there.formula_, provenance={}) == replace(here.formula_, provenance={})
