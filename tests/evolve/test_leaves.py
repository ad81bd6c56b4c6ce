import numpy as np
import pytest
from trainlaw.evolve.grammar import make_grammar
from trainlaw.evolve.leaves import WEIGHT_PULL, Leaf, Rule, draw, within
from trainlaw.evolve.machine.arrays import CONSTANT, GROUPED, VARIABLE, WEIGHTED
from trainlaw.evolve.settings import SearchSettings
from trainlaw.formulas import SECOND


@pytest.fixture
def made(typed_rows, specs):
    """A function that makes the grammar of the typed rows for some settings."""
    columns, y, _ = typed_rows

    def make(levels=None, **settings):
        return make_grammar(
            specs.features, specs.target, columns.T, y, SearchSettings(**settings), levels=levels or {}
        )

    return make


def leaves_of(grammar, feature, ret=None):
    kinds = grammar.primitive_set.terminals.values() if ret is None else [grammar.leaves(ret)]
    return [leaf for leaves in kinds for leaf in leaves if leaf.feature == feature]


def test_a_leaf_holds_another_number_and_nothing_else_changes():
    leaf = Leaf(CONSTANT, int, None, "number", constant=1.0, rule=Rule(0.0, 5.0), start=2.0)
    other = leaf.holding(3.0)
    assert (leaf.constant, other.constant) == (1.0, 3.0)
    for name in ("token", "ret", "feature", "name", "rule", "start"):
        assert getattr(other, name) is getattr(leaf, name)
    assert other.value == "number"


@pytest.mark.parametrize(("lower", "upper"), [(0.0, np.inf), (-0.1, 0.1), (-np.inf, np.inf)])
def test_drawn_constants_keep_their_bounds(lower, upper, drawing):
    leaf = Leaf(CONSTANT, int, None, "number", constant=1.0, rule=Rule(lower, upper), start=0.05)
    values = [draw(leaf, drawing).constant for _ in range(200)]
    assert lower <= min(values) < max(values) <= upper
    # Around the starting value, on both sides.
    assert min(values) < 0.05 < max(values)


def test_leaves_without_a_number_of_their_own_are_not_drawn(drawing):
    bare = Leaf(VARIABLE, int, "x", "x")
    grouped = Leaf(GROUPED, int, "label", "C[label]", constant=(0.0, 0.0))
    assert draw(bare, drawing) is bare
    assert draw(grouped, drawing) is grouped


def test_times_have_a_weight_that_starts_at_their_typical_share(made, typed_rows):
    columns, y, _ = typed_rows
    (leaf,) = leaves_of(made(), "compute_s")
    assert leaf.token == WEIGHTED
    assert leaf.start == pytest.approx(np.median(y / columns[:, 0]))
    assert leaf.rule == Rule(0.0, np.inf, True, WEIGHT_PULL / leaf.start**2)


@pytest.mark.parametrize(("nonnegative", "least"), [(True, 0.0), (False, -np.inf)])
def test_weights_of_amounts_may_be_negative_only_if_asked_for(made, nonnegative, least):
    (leaf,) = leaves_of(made(nonnegative=nonnegative), "memory_s")
    assert leaf.rule.lower == least


def test_dimensionless_features_have_both_forms_and_one_in_exponentials(made):
    grammar = made()
    tokens = [leaf.token & 255 for leaf in leaves_of(grammar, "wide", grammar.number)]
    assert tokens == [VARIABLE, WEIGHTED]
    (logarithm,) = leaves_of(grammar, "wide", grammar.logarithm)
    assert logarithm.token & 255 == WEIGHTED
    assert (logarithm.rule.lower, logarithm.start) == (-np.inf, 0.0)


def test_rates_have_no_weight(specs):
    columns = np.full((len(specs.raw), 9), 2.0) + np.arange(9)
    grammar = make_grammar(specs.raw, specs.target, columns, np.ones(9), SearchSettings())
    assert [leaf.token & 255 for leaf in leaves_of(grammar, "peak")] == [VARIABLE]
    assert [leaf.token & 255 for leaf in leaves_of(grammar, "work")] == [WEIGHTED]


def test_the_overhead_starts_at_a_tenth_of_the_typical_target(made, typed_rows):
    grammar = made()
    (overhead,) = [leaf for leaf in grammar.leaves(grammar.target) if leaf.name == "overhead"]
    assert overhead.start == pytest.approx(0.1 * np.median(typed_rows[1]))
    assert overhead.rule.scaling


@pytest.mark.parametrize("limit", [0.5, 2.0])
def test_exponents_are_bounded(made, limit):
    grammar = made(exponent_limit=limit)
    (exponent,) = grammar.leaves(grammar.exponent)
    assert (exponent.rule.lower, exponent.rule.upper) == (-limit, limit)


def test_untyped_constants_are_free(specs, typed_rows):
    columns, y, _ = typed_rows
    grammar = make_grammar(specs.features, specs.target, columns.T, y, SearchSettings(typed=False))
    number = grammar.free_constant(grammar.number)
    assert (number.rule.lower, number.rule.upper, number.rule.pull) == (-np.inf, np.inf, 0.0)


def test_shares_stay_positive_on_the_training_rows(made, typed_rows):
    ratio = typed_rows[0][:, 3]
    share = made().shares["ratio"]
    assert share.amount.rule.lower == -ratio.min()
    # Where it may occur anywhere, half of the smallest value is kept.
    assert share.near_amount.rule.lower == -0.5 * ratio.min()
    assert share.whole.start == np.median(ratio)
    assert "wide" not in made().shares


def test_a_grouped_constant_has_a_number_per_level(made):
    grammar = made(levels={"harness": ("a", "b", "c")})
    (leaf,) = leaves_of(grammar, "harness")
    assert (leaf.token, leaf.constant, leaf.name) == (GROUPED + 256 * 5, (0.0, 0.0, 0.0), "C[harness]")
    assert leaf.rule.lower == -leaf.rule.upper


@pytest.mark.parametrize(
    ("given", "expected"),
    [((0.5, 1.5), (0.5, 1.5)), ((-9.0, 1.5), (0.0, 1.5)), ((0.5, np.inf), (0.5, np.inf))],
)
def test_ranges_of_the_user_narrow_those_of_the_rule(given, expected):
    leaf = Leaf(WEIGHTED, int, "work", "weighted_work", constant=1.0, rule=Rule(0.0), start=99.0)
    narrowed = within(leaf, {"work": given})
    assert (narrowed.rule.lower, narrowed.rule.upper) == expected
    assert expected[0] <= narrowed.start <= expected[1]


def test_ranges_do_not_concern_other_leaves():
    leaf = Leaf(WEIGHTED, int, "work", "weighted_work", constant=1.0, rule=Rule(0.0), start=99.0)
    assert within(leaf, {"bytes": (0.0, 1.0)}).start == 99.0


def test_a_target_that_is_never_positive_starts_at_one(specs):
    columns = np.ones((3, 5))
    grammar = make_grammar(specs.features[:3], specs.target, columns, -np.ones(5), SearchSettings())
    assert {leaf.start for leaf in leaves_of(grammar, "compute_s")} == {1.0}
    assert specs.target.unit == SECOND


def test_drawn_constants_spread_by_half_a_logarithm_or_by_one(drawing):
    positive = Leaf(CONSTANT, int, None, "number", constant=1.0, rule=Rule(0.0, np.inf), start=3.0)
    logs = np.log([draw(positive, drawing).constant / 3.0 for _ in range(2000)])
    assert (np.mean(logs), np.std(logs)) == pytest.approx((0.0, 0.5), abs=0.05)
    free = Leaf(CONSTANT, int, None, "number", constant=1.0, rule=Rule(-np.inf, np.inf), start=3.0)
    values = [draw(free, drawing).constant - 3.0 for _ in range(2000)]
    assert (np.mean(values), np.std(values)) == pytest.approx((0.0, 1.0), abs=0.1)


def fitted(leaf):
    return leaf.constant, leaf.start, leaf.rule


def test_every_constant_starts_and_is_pulled_as_documented(made, typed_rows):
    columns, y, _ = typed_rows
    grammar = made(shrinkage=0.02)
    plain, weight = leaves_of(grammar, "ratio", grammar.number)
    assert (plain.token, weight.token) == (VARIABLE + 256 * 3, WEIGHTED + 256 * 3)
    assert (plain.constant, plain.start) == (None, np.median(columns[:, 3]))
    assert fitted(weight) == (1.0, 1.0, Rule(0.0, np.inf, pull=0.02))
    (logarithm,) = leaves_of(grammar, "ratio", grammar.logarithm)
    assert fitted(logarithm) == (1.0, 0.0, Rule(pull=0.02))
    (exponent,) = grammar.leaves(grammar.exponent)
    assert fitted(exponent) == (1.0, 1.0, Rule(-2.0, 2.0, pull=0.02))
    number = grammar.free_constant(grammar.number)
    assert fitted(number) == (1.0, 1.0, Rule(0.0, np.inf, pull=0.02))
    (overhead,) = [leaf for leaf in grammar.leaves(grammar.target) if leaf.name == "overhead"]
    start = 0.1 * np.median(y)
    assert overhead.constant == 1.0
    assert overhead.rule == Rule(0.0, np.inf, scaling=True, pull=pytest.approx(1e-7 / start**2))
    assert {leaf.token for leaf in (exponent, number, overhead)} == {CONSTANT}


def test_negative_constants_are_free_where_asked_for_and_always_without_units(made, specs, typed_rows):
    signed = made(nonnegative=False)
    _, weight = leaves_of(signed, "ratio", signed.number)
    overhead = next(leaf for leaf in signed.leaves(signed.target) if leaf.name == "overhead")
    free = signed.free_constant(signed.number)
    assert {leaf.rule.lower for leaf in (weight, overhead, free)} == {-np.inf}
    columns, y, _ = typed_rows
    untyped = make_grammar(specs.features, specs.target, columns.T, y, SearchSettings(typed=False))
    weights = [leaf for leaf in leaves_of(untyped, "ratio") if leaf.constant is not None]
    assert {leaf.rule for leaf in weights} == {Rule()}


def test_amounts_of_another_unit_start_at_one(specs):
    columns = np.full((len(specs.raw), 9), 7.0) + np.arange(9)
    grammar = make_grammar(specs.raw, specs.target, columns, np.ones(9), SearchSettings())
    (leaf,) = leaves_of(grammar, "work")
    assert fitted(leaf) == (1.0, 1.0, Rule(0.0, np.inf, scaling=True, pull=1e-7))


def test_typical_shares_are_of_rows_where_both_are_positive(specs):
    columns = np.array([[0.0, 0.0, 0.0, 2.0, 4.0, 1.0, 1.0, 1.0, 1.0, 1.0], np.ones(10), np.ones(10)])
    y = np.array([1.0, 1.0, 1.0, 6.0, 12.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    grammar = make_grammar(specs.features[:3], specs.target, columns, y, SearchSettings())
    (leaf,) = leaves_of(grammar, "compute_s")
    assert leaf.start == 3.0


def test_a_share_begins_without_its_shift(made, typed_rows):
    ratio = typed_rows[0][:, 3]
    share = made().shares["ratio"]
    pull = pytest.approx(1e-7 / np.median(ratio) ** 2)
    assert fitted(share.amount) == (0.0, 0.0, Rule(-ratio.min(), pull=pull))
    assert fitted(share.near_amount) == (0.0, 0.0, Rule(-0.5 * ratio.min(), pull=pull))
    assert share.shifted.token == share.whole.token == VARIABLE + 256 * 3
    assert share.amount.token == share.near_amount.token == CONSTANT


def test_a_grouped_constant_is_a_factor_of_at_most_e_cubed(made):
    (leaf,) = leaves_of(made(levels={"harness": ("a", "b")}, group_shrinkage=0.04), "harness")
    assert leaf.rule == Rule(-3.0, 3.0, pull=0.04)


@pytest.mark.parametrize("constant", [None, (0.0, 0.0)])
def test_ranges_do_not_concern_leaves_without_a_number_of_their_own(constant):
    leaf = Leaf(VARIABLE, int, "work", "work", constant=constant, start=99.0)
    assert within(leaf, {"work": (0.0, 1.0)}).start == 99.0


def test_ranges_of_kinds_of_constants_and_starts_below_them():
    leaf = Leaf(CONSTANT, int, None, "number", constant=1.0, rule=Rule(0.0, 9.0), start=1.0)
    narrowed = within(leaf, {"number": (2.0, 99.0)})
    assert (narrowed.rule.lower, narrowed.rule.upper, narrowed.start) == (2.0, 9.0, 2.0)
