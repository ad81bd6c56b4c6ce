import numpy as np
import pytest
from trainlaw.evolve.grammar import MOST_UNITS, make_grammar, type_unit
from trainlaw.evolve.search.trees import to_expression
from trainlaw.evolve.search.variation import Individual
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import DIMENSIONLESS, FeatureSpec, Unit, infer_unit, variables
from trainlaw.formulas.algebra.expression import depth


def test_grown_trees_have_the_unit_of_the_target(typed_problem, drawing, specs):
    units = {spec.name: spec.unit for spec in typed_problem.features}
    grammar = typed_problem.grammar
    for _ in range(150):
        tree = Individual(grammar.grow(grammar.target, 5, drawing))
        assert infer_unit(to_expression(tree), units) in (specs.target.unit, None)


def test_raw_quantities_meet_only_where_time_comes_out(drawing, specs):
    columns = np.abs(np.random.default_rng(0).normal(5.0, 1.0, (len(specs.raw), 20)))
    grammar = make_grammar(specs.raw, specs.target, columns, np.ones(20), SearchSettings())
    stand_in = {spec.name: type_unit(spec.unit) for spec in specs.raw}
    found = set()
    for _ in range(300):
        expression = to_expression(Individual(grammar.grow(grammar.target, 4, drawing)))
        found.add(variables(expression))
        assert infer_unit(expression, stand_in) in (specs.target.unit, None)
    assert any({"work", "peak"} <= set(names) for names in found)
    assert any({"bytes", "bandwidth"} <= set(names) for names in found)


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("MAC/sample", "FLOP"),
        ("element", "B"),
        ("sample", "1"),
        ("B/s", "B/s"),
        ("MAC^2*element/s", "FLOP^2*B/s"),
    ],
)
def test_units_that_differ_by_a_constant_are_one_type(unit, expected):
    assert type_unit(Unit.parse(unit)) == Unit.parse(expected)


def test_no_way_to_the_target_leaves_a_constant(specs):
    feature = (FeatureSpec("price", "p", Unit.parse("USD"), "price"),)
    settings = SearchSettings(operators=("add",))
    grammar = make_grammar(feature, specs.target, np.ones((1, 5)), np.ones(5), settings)
    assert [leaf.feature for leaf in grammar.leaves(grammar.target)] == [None]


def test_numbers_that_never_change_are_left_out_and_times_stay(typed_rows, specs):
    columns, y = typed_rows[0].copy(), typed_rows[1]
    columns[:, [0, 4]] = 0.5
    grammar = make_grammar(specs.features, specs.target, columns.T, y, SearchSettings())
    assert "wide" not in {leaf.feature for leaf in grammar.leaves(grammar.number)}
    assert grammar.silent == {"wide": 0.5}
    assert "compute_s" in {leaf.feature for leaf in grammar.leaves(grammar.target)}


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_grown_trees_are_no_deeper_than_asked(typed_problem, drawing, limit):
    grammar = typed_problem.grammar
    for _ in range(100):
        tree = Individual(grammar.grow(grammar.target, limit, drawing))
        assert tree.height < limit


def test_trees_grow_as_deep_as_their_type_needs(specs, drawing):
    # A time of work and rate needs a quotient, even where a leaf is asked for.
    columns = np.abs(np.random.default_rng(0).normal(5.0, 1.0, (2, 20)))
    grammar = make_grammar(specs.raw[:2], specs.target, columns, np.ones(20), SearchSettings())
    flop = next(cls for cls in grammar.least_depth if cls.__name__ == "FLOP")
    assert grammar.least_depth[flop] == 1
    assert all(
        depth(to_expression(Individual(grammar.grow(grammar.target, 1, drawing)))) <= 2 for _ in range(20)
    )


def test_exponentials_never_nest(typed_problem, drawing):
    grammar = typed_problem.grammar
    for _ in range(300):
        tree = Individual(grammar.grow(grammar.number, 6, drawing))
        for place, node in enumerate(tree):
            if node.name == "exp":
                inside = tree[tree.searchSubtree(place)][1:]
                assert "exp" not in [other.name for other in inside]


def test_operations_are_found_by_their_signature(typed_problem):
    grammar = typed_problem.grammar
    time, number = grammar.target, grammar.number
    assert grammar.operation("mul", time, time, number).name == "mul"
    # One order suffices, and two times have no product here.
    assert grammar.operation("mul", time, number, time) is None
    assert grammar.operation("mul", time, time, time) is None
    assert grammar.operation("add", time, time, time).args == [time, time]
    assert grammar.operation("add", *[grammar.exponent] * 3) is None


def test_types_without_a_constant_say_so(typed_problem):
    grammar = typed_problem.grammar
    assert grammar.free_constant(grammar.number).name == "number"
    assert grammar.free_constant(grammar.target).name == "overhead"
    assert grammar.free_constant(grammar.logarithm) is None


def test_positive_features_are_positive_on_every_row(typed_problem):
    assert typed_problem.grammar.positive == {"compute_s", "memory_s", "launch_s", "ratio"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, True),
        ({"nonnegative": False}, False),
        ({"typed": False}, False),
        ({"operators": ("add", "sub")}, False),
        ({"operators": ("add", "max")}, True),
    ],
)
def test_sums_of_nonnegative_terms_are_known_to_be_so(made_grammar, settings, expected):
    assert made_grammar(**settings).only_positive == expected


def test_there_are_few_intermediate_units(specs):
    units = ["FLOP", "B", "FLOP/s", "B/s", "sample/s", "USD", "USD/s", "B/FLOP", "s/B"]
    features = tuple(FeatureSpec(f"x{i}", "x", Unit.parse(unit), "") for i, unit in enumerate(units))
    columns = np.random.default_rng(0).uniform(1.0, 2.0, (len(units), 9))
    grammar = make_grammar(features, specs.target, columns, np.ones(9), SearchSettings())
    known = {type_unit(spec.unit) for spec in features} | {specs.target.unit, DIMENSIONLESS}
    # The types of shares have names with a space.
    types = {cls.__name__ for cls in grammar.least_depth if " " not in cls.__name__}
    types -= {"exponent", "logarithm", "share"}
    assert {str(unit) for unit in known} <= types
    assert len(types) - len(known) == 17 < MOST_UNITS
