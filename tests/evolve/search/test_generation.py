from random import seed

import numpy as np
import pytest
from deap import base, gp, tools
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.search.variation import move
from trainlaw.formulas import InputError

QUICK = SearchSettings(evaluations=700, population=40)


def own_toolbox(**operators):
    toolbox = base.Toolbox()
    for name, (function, options) in operators.items():
        toolbox.register(name, function, **options)
    return toolbox


@pytest.fixture
def fitted(typed_rows, specs):
    columns, y, groups = typed_rows

    def fit(toolbox=None):
        seed(0)  # of DEAP's operators
        return FormulaRegressor(specs.features, specs.target, QUICK, toolbox=toolbox).fit(columns, y, groups)

    return fit


def test_operators_of_deap_and_of_the_user_replace_those_of_the_search(fitted):
    seen = []

    def longer(tree, grammar, random):
        seen.append(len(tree))
        return (move("add_term", tree, grammar, random),)

    own = fitted(own_toolbox(mutate=(longer, {})))
    assert len(seen) > 100 and np.isfinite(own.predict(np.ones((1, 5)))).all()
    for toolbox in (
        own_toolbox(mate=(gp.cxOnePoint, {}), mutate=(gp.mutNodeReplacement, {})),
        own_toolbox(select=(tools.selTournament, {"tournsize": 3}), survive=(tools.selBest, {})),
    ):
        found = fitted(toolbox)
        assert found.formula_.provenance["training_loss"] < 0.2
        # Operators that make few new structures may end the search early.
        assert found.evaluations_ > 0.8 * QUICK.evaluations
    assert own.formula_.text() != fitted().formula_.text() or own.evaluations_ != fitted().evaluations_


def test_a_toolbox_without_an_operator_of_the_search_is_refused(fitted):
    with pytest.raises(InputError, match="mate, mutate, select, survive"):
        fitted(own_toolbox(evaluate=(len, {})))


def test_the_logbook_has_every_generation_and_the_hall_of_fame_the_best_trees(fitted):
    found = fitted()
    book = found.logbook_
    assert [*dict.fromkeys(book.select("gen"))] == list(range(1, found.generations_ + 1))
    assert sum(book.select("nevals")) < found.evaluations_
    assert all(best <= median for best, median in zip(*book.select("best", "median"), strict=True))
    assert "median" in str(book)
    values = [tree.fitness.values for tree in found.hall_of_fame_]
    assert len(values) > 3
    assert not any(
        one.fitness.dominates(two.fitness) for one in found.hall_of_fame_ for two in found.hall_of_fame_
    )
