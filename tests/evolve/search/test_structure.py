from dataclasses import replace

import pytest
from trainlaw.evolve import FormulaRegressor, SearchSettings
from trainlaw.evolve.search.islands import advance, start_island
from trainlaw.evolve.search.problem import make_problem
from trainlaw.evolve.search.structure import make_structure
from trainlaw.formulas import InputError, parse_text, to_text

from ..conftest import tree_of

QUICK = SearchSettings(evaluations=900, population=60)


def problem_with(rows, specs, **settings):
    columns, y, groups = rows
    return make_problem(columns, y, specs.features, specs.target, replace(QUICK, **settings), groups=groups)


def test_only_the_holes_of_a_template_evolve(typed_rows, specs):
    columns, y, groups = typed_rows
    settings = replace(QUICK, template=parse_text("max(2 * compute_s, hole_1) + hole_2 * launch_s"))
    estimator = FormulaRegressor(specs.features, specs.target, settings).fit(columns, y, groups)
    for candidate in estimator.candidates_:
        text = to_text(candidate.expression)
        assert "max(" in text and "compute_s" in text and "launch_s" in text


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("max(3 * compute_s, memory_s) + launch_s * ratio", True),
        ("max(3 * compute_s, memory_s + compute_s) + launch_s * exp(ratio)", True),
        ("max(memory_s, compute_s) + launch_s * ratio", False),
        ("max(3 * compute_s, memory_s) + memory_s * ratio", False),
        ("max(3 * compute_s, memory_s)", False),
        ("max(3 * compute_s, memory_s) + launch_s * ratio + memory_s", False),
    ],
)
def test_trees_follow_the_template_outside_its_holes(typed_rows, specs, text, accepted):
    problem = problem_with(
        typed_rows, specs, template=parse_text("max(2 * compute_s, hole_1) + hole_2 * launch_s")
    )
    structure = make_structure(problem.settings, problem.grammar)
    tree = tree_of(text, problem)
    template = [node.name for node in structure.template]
    assert template[0] == "add" and "hole_1" in template
    assert structure.accepts(tree) == accepted


def test_filled_templates_are_accepted(typed_rows, specs, drawing):
    problem = problem_with(typed_rows, specs, template=parse_text("max(2 * compute_s, hole)"))
    for _ in range(50):
        filled = problem.structure.filled(drawing)
        assert problem.structure.accepts(filled)
        assert all(node.token >= 0 for node in filled)


@pytest.mark.parametrize("text", ["2 * compute_s", "hole + bandwidth", "hole + sin(ratio)"])
def test_templates_without_a_hole_or_out_of_the_grammar_are_refused(text, typed_rows, specs):
    with pytest.raises(InputError, match="template"):
        problem_with(typed_rows, specs, template=parse_text(text))


def test_nesting_limits_hold_everywhere(typed_rows, specs):
    limited = problem_with(typed_rows, specs, nesting_limits=(("add", "add", 0), ("max", "add", 0)))
    island = advance(start_island(limited, 0), limited, 5)
    assert all(limited.structure.accepts(tree) for tree in island.population)
    free = problem_with(typed_rows, specs)
    others = advance(start_island(free, 0), free, 5).population
    assert not all(limited.structure.accepts(tree) for tree in others)


@pytest.mark.parametrize(
    ("limit", "text", "accepted"),
    [
        (("max", "add", 0), "max(compute_s + memory_s, launch_s)", False),
        (("max", "add", 0), "max(compute_s, memory_s) + launch_s", True),
        (("max", "add", 1), "max(compute_s + memory_s, launch_s)", True),
        (("max", "add", 1), "max(compute_s + memory_s, launch_s + memory_s)", False),
        (("add", "add", 0), "compute_s + memory_s", True),
        (("add", "add", 0), "compute_s + memory_s + launch_s", False),
    ],
)
def test_operators_nest_at_most_as_often_as_allowed(typed_rows, specs, limit, text, accepted):
    problem = problem_with(typed_rows, specs, nesting_limits=(limit,))
    assert problem.structure.accepts(tree_of(text, problem)) == accepted


def test_without_demands_every_tree_is_accepted(typed_problem):
    assert typed_problem.structure.accepts(tree_of("compute_s", typed_problem))


def test_constants_stay_in_the_ranges_given(typed_rows, specs):
    ranges = (("compute_s", 0.5, 1.5), ("exponent", -0.25, 0.25), ("overhead", 0.0, 1e-6))
    problem = problem_with(typed_rows, specs, constant_ranges=ranges)
    island = advance(start_island(problem, 1), problem, 12)
    trees = [*island.population, *island.archive.values()]
    leaves = [leaf for tree in trees for leaf in tree if leaf.constant is not None]
    weights = [leaf.constant for leaf in leaves if leaf.name == "weighted_compute_s"]
    exponents = [leaf.constant for leaf in leaves if leaf.name == "exponent"]
    assert len(weights) > 5 and all(0.5 <= weight <= 1.5 for weight in weights)
    assert len(exponents) > 2 and all(abs(exponent) <= 0.25 for exponent in exponents)
