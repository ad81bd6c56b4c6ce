from dataclasses import replace

import numpy as np
import pytest
from trainlaw.evolve import Bracket, Factor, FormulaRegressor, SearchSettings
from trainlaw.evolve.brackets import EXPONENT_DEVIATION, bracket_types, check_holes
from trainlaw.evolve.leaves import Leaf
from trainlaw.evolve.machine.arrays import CONSTANT, VARIABLE, WEIGHTED
from trainlaw.evolve.search.individuals import Individual
from trainlaw.evolve.search.islands import advance, start_island
from trainlaw.evolve.search.problem import make_problem
from trainlaw.evolve.search.trees import held_constants, to_expression
from trainlaw.evolve.settings import EXPONENTIAL, WEIGHT_DEVIATION
from trainlaw.formulas import (
    DIMENSIONLESS,
    SECOND,
    Apply,
    Constant,
    FeatureSpec,
    InputError,
    UnknownNameError,
    Variable,
    evaluate,
    infer_unit,
    parse_text,
    to_text,
    variables,
)
from trainlaw.formulas.algebra.expression import nodes

NAMES = ("product_s", "memory_s", "rare_s", "host_s", "floor_s", "copy_s", "clock", "vendor", "same")
SPECS = tuple(
    FeatureSpec(name, name, SECOND if name.endswith("_s") else DIMENSIONLESS, name) for name in NAMES
)
TARGET = FeatureSpec("time_s", "t", SECOND, "time of one iteration")
CLOCK = Factor("clock", -1.0, 0.0, expected=-0.4)
VENDOR = Factor("vendor", 0.0, 2.0, expected=0.7, kind=EXPONENTIAL)
DEVICE = Bracket(
    "hole_device",
    (("product_s", 1.0), ("memory_s", 5.0), ("rare_s", 7.0)),
    (CLOCK, VENDOR, Factor("same", 0.0, 1.0, expected=0.5)),
    ("product_s", "clock", "same"),
)
HOST = Bracket("hole_host", (("host_s", 0.9),), (), ("host_s",))
COPY = Bracket("hole_copy", (("copy_s", 4.0),))
TEMPLATE = parse_text("max(max(hole_device, hole_host), floor_s) + hole_copy")
SETTINGS = SearchSettings(
    evaluations=80, population=20, template=TEMPLATE, brackets=(DEVICE, HOST, COPY), max_nodes=60
)
PLACES = {name: place for place, name in enumerate(NAMES)}


@pytest.fixture
def accepts_device(bracket_problem):
    """A function that says whether the template is accepted with some nodes as the device's bracket."""
    grammar, structure = bracket_problem.grammar, bracket_problem.structure

    def accepts(body):
        tree = []
        for node in structure.template:
            bracket = grammar.brackets.get(node.name)
            fill = body if node.name == "hole_device" else bracket.least() if bracket else [node]
            tree += fill
        return structure.accepts(tree)

    return accepts


@pytest.fixture
def parts(bracket_problem):
    """The nodes of the device's bracket: sum, product, its terms, and the powers of clock and vendor."""
    device = bracket_problem.grammar.brackets["hole_device"]
    return device.add, device.scale, *device.terms, *device.powers


@pytest.fixture
def bracket_rows():
    """Columns (150, 9), seconds of a planted law within the brackets (150,), and labels of five groups."""
    generator = np.random.default_rng(3)
    columns = np.zeros((150, len(NAMES)))
    for name in ("product_s", "memory_s", "host_s", "copy_s"):
        columns[:, PLACES[name]] = 10.0 ** generator.uniform(-3, 0, 150)
    columns[:, PLACES["floor_s"]] = 1e-4
    columns[:, PLACES["clock"]] = generator.uniform(0.5, 1.0, 150)
    columns[:, PLACES["vendor"]] = np.arange(150) % 5 == 4
    columns[:, PLACES["same"]] = 1.0
    product, memory, _, host, _, copy, clock, vendor, _ = columns.T
    device = clock**-0.6 * (1.4 * product + np.exp(0.9 * vendor) * 4.0 * memory)
    law = np.maximum(device, 1.1 * host) + 3.0 * copy
    return columns, law * np.exp(0.02 * generator.standard_normal(150)), (np.arange(150) % 5).astype(str)


@pytest.fixture
def bracket_problem(bracket_rows):
    columns, y, groups = bracket_rows
    return make_problem(columns, y, SPECS, TARGET, SETTINGS, groups=groups)


@pytest.fixture
def device(bracket_rows):
    """The types of the bracket of the device."""
    return bracket_types(DEVICE, PLACES, bracket_rows[0].T, 2e-3)


@pytest.fixture
def fitted(bracket_rows):
    """A function that fits the rows with some settings."""

    def fit(**settings):
        estimator = FormulaRegressor(SPECS, TARGET, replace(SETTINGS, **settings))
        return estimator.fit(*bracket_rows)

    return fit


def features_of(tree):
    return [node.feature for node in tree if isinstance(node, Leaf) and node.feature]


def evolved_trees(problem, generations=4):
    island = advance(start_island(problem, 0), problem, generations)
    return [*island.population, *island.archive.values()]


def powers_in(expression):
    """Return (base, exponent) of every power of a variable in an expression."""
    return [
        (base.name, exponent.value)
        for base, exponent in (
            node.arguments for node in nodes(expression) if isinstance(node, Apply) and node.operator == "pow"
        )
        if isinstance(base, Variable) and isinstance(exponent, Constant)
    ]


def polished(problem, tree):
    """Return the tree with its constants fitted until they converge."""
    (found,) = problem.fit([tree], 200, start=False)
    return found


def constant_of(tree, name):
    (leaf,) = [leaf for leaf in tree if leaf.name == name]
    return leaf.constant


def test_terms_are_weighted_and_start_at_their_expected_constants(device):
    assert [leaf.feature for leaf in device.terms] == ["product_s", "memory_s", "rare_s"]
    for leaf, (name, expected) in zip(device.terms, DEVICE.terms, strict=True):
        assert leaf.token == WEIGHTED + 256 * PLACES[name]
        assert (leaf.constant, leaf.start, leaf.rule.centre) == (expected, expected, expected)
        # Required work never comes for nothing.
        least = 0.1 * expected if name in DEVICE.required else 0.0
        assert (leaf.rule.lower, leaf.rule.upper, leaf.rule.scaling) == (least, np.inf, True)
        assert leaf.rule.pull == pytest.approx(2e-3 / (WEIGHT_DEVIATION * expected) ** 2)


def test_a_power_has_a_base_and_a_bounded_exponent_and_an_exponential_one_leaf(device):
    (power, base, exponent), (exponential, logarithm) = device.powers
    assert (power.name, exponential.name) == ("pow", "exp")
    assert (base.token & 255, exponent.token & 255, logarithm.token & 255) == (VARIABLE, CONSTANT, WEIGHTED)
    for leaf, factor in ((exponent, CLOCK), (logarithm, VENDOR)):
        assert (leaf.rule.lower, leaf.rule.upper, leaf.rule.centre) == (
            factor.low,
            factor.high,
            factor.expected,
        )
        assert leaf.rule.pull == pytest.approx(2e-3 / EXPONENT_DEVIATION**2)


def test_a_factor_that_never_changes_is_left_out_even_where_it_is_required(device):
    assert all("same" not in features_of(power) for power in device.powers)
    assert device.required == {"product_s", "clock"}


def test_without_a_factor_nothing_can_be_scaled(bracket_rows):
    host = bracket_types(HOST, PLACES, bracket_rows[0].T, 2e-3)
    assert {node.name for node in host.nodes()} == {"add", "weighted_host_s"}


@pytest.mark.parametrize(
    "bracket",
    [
        replace(DEVICE, terms=(("prodct_s", 1.0),), required=()),
        replace(DEVICE, factors=(replace(CLOCK, feature="clok"),), required=()),
    ],
)
def test_unknown_features_of_a_bracket_are_named(bracket, bracket_rows):
    with pytest.raises(UnknownNameError, match=r"feature of the bracket 'hole_device'.*did you mean"):
        bracket_types(bracket, PLACES, bracket_rows[0].T, 2e-3)


def test_random_trees_keep_what_is_required_and_vary_otherwise(device, drawing):
    trees = [features_of(device.grow(drawing, 24)) for _ in range(100)]
    assert all({"product_s", "clock"} <= set(tree) for tree in trees)
    assert {name for tree in trees for name in tree} == {"product_s", "memory_s", "rare_s", "clock", "vendor"}
    assert len({tuple(tree) for tree in trees}) > 5
    assert all(len(set(tree)) == len(tree) for tree in trees)


def test_random_trees_of_a_small_bracket_have_few_constants(bracket_rows, drawing):
    free = bracket_types(replace(DEVICE, required=()), PLACES, bracket_rows[0].T, 2e-3)
    sizes = [len(held_constants(Individual(free.grow(drawing, 2)))) for _ in range(100)]
    assert set(sizes) == {1, 2}
    assert max(len(held_constants(Individual(free.grow(drawing, 24)))) for _ in range(100)) == 5


def test_a_bracket_without_required_terms_is_never_empty(bracket_rows, drawing):
    free = bracket_types(replace(DEVICE, required=()), PLACES, bracket_rows[0].T, 2e-3)
    assert all(
        {*features_of(free.grow(drawing, 24))} & {"product_s", "memory_s", "rare_s"} for _ in range(100)
    )


def test_the_whole_bracket_has_all_terms_and_factors_at_their_expected_constants(device):
    tree = Individual(device.whole())
    assert sorted(features_of(tree)) == ["clock", "memory_s", "product_s", "rare_s", "vendor"]
    columns = {"product_s": 2.0, "memory_s": 3.0, "rare_s": 5.0, "clock": 0.25, "vendor": 1.0}
    values, _ = evaluate(to_expression(tree), {name: np.array([value]) for name, value in columns.items()})
    assert values.item() == pytest.approx((2.0 + 15.0 + 35.0) * 0.25**-0.4 * np.exp(0.7))


def test_a_term_occurs_once(accepts_device, parts):
    add, scale, product, memory, _, clock, _ = parts
    assert accepts_device([scale, add, product, memory, *clock])
    assert not accepts_device([scale, add, product, product, *clock])
    assert not accepts_device([scale, add, product, add, memory, product.holding(2.0), *clock])


def test_a_factor_occurs_once_on_the_way_to_a_term(accepts_device, parts):
    add, scale, product, memory, rare, clock, vendor = parts
    scaled = [scale, memory, *vendor]
    assert accepts_device([scale, add, scale, product, *vendor, *scaled, *clock])
    assert accepts_device([scale, scale, product, *clock, *vendor])
    assert not accepts_device([scale, scale, scale, product, *clock, *vendor, *clock])
    assert not accepts_device([scale, scale, add, product, *scaled, *vendor, *clock])
    # The factors of one side of a sum do not concern the other.
    assert accepts_device([scale, add, product, add, *scaled, scale, rare, *vendor, *clock])


@pytest.mark.parametrize(
    ("brackets", "message"),
    [
        ((DEVICE, HOST), "a bracket for the hole 'hole_copy'"),
        ((DEVICE, HOST, COPY, replace(COPY, hole="hole_more")), "a hole for the bracket 'hole_more'"),
        ((DEVICE, HOST, COPY, replace(COPY, required=("copy_s",))), "one bracket per hole"),
    ],
)
def test_holes_and_brackets_belong_together(brackets, message, bracket_rows):
    with pytest.raises(InputError, match=message):
        check_holes(brackets, ("hole_device", "hole_host", "hole_copy"))
    columns, y, groups = bracket_rows
    with pytest.raises(InputError, match=message):
        make_problem(columns, y, SPECS, TARGET, replace(SETTINGS, brackets=brackets), groups=groups)


def test_the_first_generation_contains_everything_at_once(bracket_problem):
    whole = bracket_problem.structure.whole()
    assert bracket_problem.structure.accepts(whole)
    # `same` never changes.
    assert set(variables(to_expression(whole))) == set(NAMES) - {"same"}
    archived = start_island(bracket_problem, 0).archive.values()
    assert any(set(features_of(tree)) == set(NAMES) - {"same"} for tree in archived)


def test_every_evolved_tree_follows_template_and_brackets(bracket_problem):
    units = {spec.name: spec.unit for spec in SPECS}
    totals = {own.total for own in bracket_problem.structure.brackets}
    trees = evolved_trees(bracket_problem)
    assert len({str(tree) for tree in trees}) >= 10
    for tree in trees:
        assert bracket_problem.structure.accepts(tree)
        assert {"product_s", "clock", "host_s", "floor_s"} <= set(features_of(tree))
        terms = [node.feature for node in tree if node.name.startswith("weighted_") and node.ret in totals]
        assert len(set(terms)) == len(terms)
        assert infer_unit(to_expression(tree), units) == SECOND


def test_most_variations_leave_the_template(bracket_problem, drawing, child_of):
    grammar, structure = bracket_problem.grammar, bracket_problem.structure
    parents = [structure.filled(drawing, 24) for _ in range(20)]
    children = [child_of(*drawing.sample(parents, 2), grammar, 60, drawing) for _ in range(300)]
    assert not any(node.token < 0 for child in children for node in child)
    assert np.mean([structure.accepts(child) for child in children]) > 0.5


def test_bounds_hold_where_the_rows_ask_for_more(bracket_rows):
    columns, _, groups = bracket_rows
    y = columns[:, PLACES["product_s"]] * columns[:, PLACES["clock"]] ** -3.0
    settings = replace(
        SETTINGS, evaluations=40, template=parse_text("hole_device + floor_s"), brackets=(DEVICE,)
    )
    found = FormulaRegressor(SPECS, TARGET, settings).fit(columns, y, groups)
    fast, slow = np.ones((2, len(NAMES)))
    slow[PLACES["clock"]] = 0.5
    fast[PLACES["floor_s"]] = slow[PLACES["floor_s"]] = 0.0
    predicted = found.predict(np.array([fast, slow]))
    assert predicted[1] / predicted[0] == pytest.approx(2.0)


def test_a_planted_law_is_recovered(fitted, bracket_rows):
    columns, y, _ = bracket_rows
    found = fitted(prior_weight=1e-6)
    predicted = found.predict(columns)
    assert np.mean(np.abs(np.log(predicted / y))) < 0.03
    powers = dict(powers_in(found.formula_.expression))
    assert powers["clock"] == pytest.approx(-0.6, abs=0.05)
    text = to_text(found.formula_.expression)
    assert text.count("max(") == 2 and "floor_s" in text


def test_constants_that_no_row_determines_keep_their_expected_value(bracket_rows):
    """`rare_s` is 0 on all rows: its weight is the prior's, whatever it starts from."""
    columns, y, groups = bracket_rows
    problem = make_problem(columns, y, SPECS, TARGET, SETTINGS, groups=groups)
    whole = problem.structure.whole()
    moved = Individual([leaf.holding(0.3) if leaf.name == "weighted_rare_s" else leaf for leaf in whole])
    assert constant_of(polished(problem, moved), "weighted_rare_s") == pytest.approx(7.0, rel=1e-3)


@pytest.mark.parametrize(("weight", "low", "high"), [(1e-9, 1.2, 1.5), (1e4, 0.99, 1.01)])
def test_a_prior_with_more_weight_keeps_constants_nearer_to_it(weight, low, high, bracket_rows):
    columns, y, groups = bracket_rows
    settings = replace(SETTINGS, prior_weight=weight)
    problem = make_problem(columns, y, SPECS, TARGET, settings, groups=groups)
    found = polished(problem, problem.structure.whole())
    assert low < constant_of(found, "weighted_product_s") < high


def test_a_required_factor_multiplies_all_of_its_sum(accepts_device, parts):
    # `product_s * clock^c + memory_s` keeps the factor, but not on the whole.
    add, scale, product, memory, _, clock, vendor = parts
    assert accepts_device([scale, add, product, memory, *clock])
    assert accepts_device([scale, scale, add, product, memory, *clock, *vendor])
    assert not accepts_device([add, scale, product, *clock, memory])
    assert not accepts_device([add, product, memory])
