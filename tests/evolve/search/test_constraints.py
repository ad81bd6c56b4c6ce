from dataclasses import replace

import pytest
from trainlaw.evolve import Constraint, FormulaRegressor, SearchSettings
from trainlaw.evolve.search.constraints import is_kept, keeps_constraints
from trainlaw.evolve.search.trees import from_expression
from trainlaw.formulas import Elasticities, parse_text, variables

QUICK = SearchSettings(evaluations=250, population=40, max_nodes=11)
BOX = {"work_s": (0.5, 2.0), "ratio": (0.1, 1.0), "shift": (-1.0, 1.0)}


@pytest.mark.parametrize(
    ("constraint", "text", "kept"),
    [
        (Constraint("nonnegative"), "work_s * ratio", True),
        (Constraint("nonnegative"), "work_s + shift", False),
        (Constraint("nonnegative"), "shift^2", True),
        (Constraint("rising", "work_s"), "2 * work_s + ratio", True),
        (Constraint("rising", "work_s"), "ratio / work_s", False),
        (Constraint("falling", "work_s"), "ratio / work_s", True),
        (Constraint("falling", "ratio"), "work_s * ratio^-0.5", True),
        (Constraint("falling", "ratio"), "work_s * ratio^0.5", False),
        # A feature that does not occur neither rises nor falls.
        (Constraint("rising", "other"), "work_s", True),
        # Not valid everywhere in the box, so nothing is proved.
        (Constraint("nonnegative"), "work_s / shift^2", False),
    ],
)
def test_a_constraint_is_kept_where_it_is_proved(constraint, text, kept):
    expression = parse_text(text)
    box = {name: BOX[name] for name in variables(expression)}
    assert is_kept(constraint, expression, box) == kept


def test_all_constraints_have_to_be_kept(typed_problem, typed_with):
    rising, falling = Constraint("rising", "compute_s"), Constraint("falling", "compute_s")
    tree = from_expression(parse_text("compute_s + memory_s"), typed_problem.grammar)
    assert keeps_constraints(tree, typed_problem)
    assert keeps_constraints(tree, typed_with(constraints=(rising,)))
    assert not keeps_constraints(tree, typed_with(constraints=(rising, falling)))


def searched(rows, specs, *constraints):
    columns, y, groups = rows
    settings = replace(QUICK, constraints=constraints)
    return FormulaRegressor(specs.features, specs.target, settings).fit(columns, y, groups)


def test_constraints_are_proved_for_all_that_is_offered(typed_rows, specs):
    bound = searched(typed_rows, specs, Constraint("rising", "compute_s"), Constraint("falling", "ratio"))
    used = [item for item in bound.candidates_ if "ratio" in variables(item.expression)]
    assert len(used) > 0 and len(bound.candidates_) > 2
    for candidate in used:
        assert Elasticities(candidate.expression, bound.formula_.ranges).monotone("ratio", -1).proved


def test_an_impossible_constraint_leaves_nothing(typed_rows, specs):
    estimator = searched(
        typed_rows, specs, Constraint("falling", "compute_s"), Constraint("rising", "compute_s")
    )
    assert all("compute_s" not in variables(item.expression) for item in estimator.candidates_)
