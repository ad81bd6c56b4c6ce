import numpy as np
import pytest
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.equations.ranking import rank_columns
from trainlaw.formulas import InputError, variables

COLUMNS = np.random.default_rng(3).uniform(1.0, 5.0, (200, 1000))
A, B, C = COLUMNS[[11, 70, 150]]


@pytest.mark.parametrize(
    ("y", "relevant"),
    [
        (A * B / C, {11, 70, 150}),
        (A * np.exp(-B / C), {11, 70, 150}),
        # Neither factor matters alone.
        ((A - A.mean()) * (B - B.mean()), {11, 70}),
        (np.random.default_rng(0).standard_normal(1000), set()),
    ],
)
def test_the_relevant_columns_are_found_among_many(y, relevant):
    ranking = rank_columns(COLUMNS, y)
    assert set(ranking.order[: ranking.chosen]) == relevant
    assert sorted(ranking.order) == list(range(200))
    # The others follow, the more relevant first.
    rest = [ranking.scores[i] for i in ranking.order[ranking.chosen :]]
    assert rest == sorted(rest, reverse=True)


def test_a_search_over_many_columns_states_the_relevant_ones_and_finds_the_formula():
    settings = SearchSettings(evaluations=3_000, population=100)
    search = FormulaRegressor(settings=settings).fit(COLUMNS.T, A * B / C)
    assert set(search.ranking_) == {"x11", "x70", "x150"}
    assert set(search.formula_.provenance["relevant_features"]) == set(search.ranking_)
    assert search.formula_.provenance["training_loss"] < 1e-20


def test_only_the_selected_columns_occur():
    settings = SearchSettings(evaluations=600, population=60, select_features=2)
    search = FormulaRegressor(settings=settings).fit(COLUMNS[:20].T, A + 0.1 * COLUMNS[5] + 0.01 * COLUMNS[9])
    assert {name for one in search.candidates_ for name in variables(one.expression)} <= {"x11", "x5"}
    with pytest.raises(InputError, match="select_features"):
        SearchSettings(select_features=0)
