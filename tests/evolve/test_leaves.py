import numpy as np
import pytest
from trainlaw.evolve.grammar import make_grammar
from trainlaw.evolve.leaves import Leaf, Rule, draw, within
from trainlaw.evolve.machine.arrays import CONSTANT, VARIABLE, WEIGHTED
from trainlaw.evolve.settings import SearchSettings


def leaves_of(grammar, feature, ret=None):
    kinds = grammar.primitive_set.terminals.values() if ret is None else [grammar.leaves(ret)]
    return [leaf for leaves in kinds for leaf in leaves if leaf.feature == feature]


def facts(leaf):
    return leaf.token, leaf.constant, leaf.start, leaf.rule


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


def test_drawn_constants_spread_by_half_a_logarithm_or_by_one(drawing):
    positive = Leaf(CONSTANT, int, None, "number", constant=1.0, rule=Rule(0.0, np.inf), start=3.0)
    logs = np.log([draw(positive, drawing).constant / 3.0 for _ in range(2000)])
    assert (np.mean(logs), np.std(logs)) == pytest.approx((0.0, 0.5), abs=0.05)
    free = Leaf(CONSTANT, int, None, "number", constant=1.0, rule=Rule(), start=3.0)
    values = [draw(free, drawing).constant - 3.0 for _ in range(2000)]
    assert (np.mean(values), np.std(values)) == pytest.approx((0.0, 1.0), abs=0.1)


def test_every_constant_starts_and_is_pulled_as_documented(made_grammar, typed_rows):
    columns, y, _ = typed_rows
    grammar = made_grammar()
    ratio, typical, usual = VARIABLE + 256 * 3, np.median(y / columns[:, 0]), np.median(y)
    weighted = WEIGHTED + 256 * 3
    assert [facts(leaf) for leaf in leaves_of(grammar, "compute_s")] == [
        (WEIGHTED, 1.0, typical, Rule(0.0, scaling=True, pull=pytest.approx(1e-7 / typical**2)))
    ]
    assert [facts(leaf) for leaf in leaves_of(grammar, "ratio", grammar.number)] == [
        (ratio, None, np.median(columns[:, 3]), Rule()),
        (weighted, 1.0, 1.0, Rule(0.0, pull=1e-3)),
    ]
    for kind, expected in (
        (grammar.logarithm, (weighted, 1.0, 0.0, Rule(pull=1e-3))),
        (grammar.exponent, (CONSTANT, 1.0, 1.0, Rule(-2.0, 2.0, pull=1e-3))),
    ):
        assert (
            facts(next(leaf for leaf in grammar.leaves(kind) if leaf.feature in (None, "ratio"))) == expected
        )
    assert facts(grammar.free_constant(grammar.number)) == (CONSTANT, 1.0, 1.0, Rule(0.0, pull=1e-3))
    pull = pytest.approx(1e-7 / (0.1 * usual) ** 2)
    overhead = CONSTANT, 1.0, pytest.approx(0.1 * usual), Rule(0.0, scaling=True, pull=pull)
    assert facts(grammar.free_constant(grammar.target)) == overhead


def test_negative_constants_are_free_where_asked_for_and_always_without_units(made_grammar):
    signed = made_grammar(nonnegative=False)
    (amount,), (_, weight) = leaves_of(signed, "memory_s"), leaves_of(signed, "ratio", signed.number)
    free = [signed.free_constant(kind) for kind in (signed.number, signed.target)]
    assert {leaf.rule.lower for leaf in (amount, weight, *free)} == {-np.inf}
    untyped = made_grammar(typed=False)
    weights = [leaf for leaf in leaves_of(untyped, "ratio") if leaf.constant is not None]
    assert {leaf.rule for leaf in (*weights, untyped.free_constant(untyped.number))} == {Rule()}


def test_rates_have_no_weight_and_amounts_of_another_unit_start_at_one(specs):
    columns = np.full((len(specs.raw), 9), 7.0) + np.arange(9)
    grammar = make_grammar(specs.raw, specs.target, columns, np.ones(9), SearchSettings())
    assert [leaf.token & 255 for leaf in leaves_of(grammar, "peak")] == [VARIABLE]
    assert [facts(leaf) for leaf in leaves_of(grammar, "work")] == [
        (WEIGHTED, 1.0, 1.0, Rule(0.0, scaling=True, pull=1e-7))
    ]


@pytest.mark.parametrize(
    ("column", "y", "start"),
    [
        ([0.0] * 3 + [2.0, 4.0] + [1.0] * 5, [1.0] * 3 + [6.0, 12.0] + [0.0] * 5, 3.0),
        ([1.0] * 5, [-1.0] * 5, 1.0),
    ],
)
def test_typical_shares_are_of_rows_where_both_are_positive(specs, column, y, start):
    columns = np.array([column, np.ones(len(y)), np.ones(len(y))])
    grammar = make_grammar(specs.features[:3], specs.target, columns, np.array(y), SearchSettings())
    assert [leaf.start for leaf in leaves_of(grammar, "compute_s")] == [start]


def test_shares_begin_without_their_shift_and_stay_positive_on_the_training_rows(made_grammar, typed_rows):
    ratio = typed_rows[0][:, 3]
    shares = made_grammar().shares
    share, pull = shares["ratio"], pytest.approx(1e-7 / np.median(ratio) ** 2)
    assert facts(share.amount) == (CONSTANT, 0.0, 0.0, Rule(-ratio.min(), pull=pull))
    # Where it may occur anywhere, half of the smallest value is kept.
    assert facts(share.near_amount) == (CONSTANT, 0.0, 0.0, Rule(-0.5 * ratio.min(), pull=pull))
    assert share.shifted.token == share.whole.token == VARIABLE + 256 * 3
    assert share.whole.start == np.median(ratio)
    assert "wide" not in shares


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("work", (0.5, 1.5), (0.5, 1.5, 1.5)),
        ("work", (-9.0, 1.5), (0.0, 1.5, 1.5)),
        ("work", (0.5, np.inf), (0.5, np.inf, 99.0)),
        ("work", (100.0, 200.0), (100.0, 200.0, 100.0)),
        ("weighted_work", (0.0, 1.0), (0.0, np.inf, 99.0)),
    ],
)
def test_ranges_of_the_user_narrow_those_of_the_rule(name, given, expected):
    leaf = Leaf(WEIGHTED, int, "work", "weighted_work", constant=1.0, rule=Rule(0.0), start=99.0)
    narrowed = within(leaf, {name: given})
    assert (narrowed.rule.lower, narrowed.rule.upper, narrowed.start) == expected


def test_ranges_concern_kinds_of_constants_and_only_numbers(drawing):
    number = Leaf(CONSTANT, int, None, "number", constant=1.0, rule=Rule(0.0, 9.0), start=1.0)
    assert within(number, {"number": (2.0, 99.0)}).rule == Rule(2.0, 9.0)
    bare = Leaf(VARIABLE, int, "work", "work", start=99.0)
    assert within(bare, {"work": (0.0, 1.0)}).start == 99.0
    assert draw(bare, drawing) is bare
