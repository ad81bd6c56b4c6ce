import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.app.formula_terms import (
    median_shares,
    plain_expression,
    term_values,
    terms,
    with_named_constants,
)
from trainlaw.datasets import TARGET, feature_specs, load
from trainlaw.formulas import (
    DIMENSIONLESS,
    Apply,
    Constant,
    FeatureSpec,
    Formula,
    GroupedConstant,
    Variable,
    evaluate,
    parse_text,
    to_text,
)

leaves = st.one_of(st.floats(0.5, 4).map(Constant), st.sampled_from("abc").map(Variable))
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["add", "sub", "mul", "div", "max"]), inner, inner).map(
            lambda t: Apply(t[0], t[1:])
        ),
        inner.map(lambda e: Apply("neg", (e,))),
    ),
    max_leaves=12,
)
POINT = {"a": np.array([1.3]), "b": np.array([0.7]), "c": np.array([2.9])}


@given(expressions)
def test_terms_add_up_to_the_expression(expression):
    whole, valid = evaluate(expression, POINT)
    parts = [evaluate(term, POINT) for term in terms(expression)]
    if valid[0]:
        assert all(ok[0] for _, ok in parts)
        size = sum(abs(value[0]) for value, _ in parts)
        assert abs(sum(value[0] for value, _ in parts) - whole[0]) <= 1e-12 * max(size, 1e-300)


def test_products_of_sums_are_written_out_but_not_without_end():
    assert [to_text(term) for term in terms(parse_text("(a + b) * (c - 1)"))] == [
        "a * c",
        "a * -1",
        "b * c",
        "b * -1",
    ]
    many = parse_text("(" + " + ".join("abcabcabc") + ") * (" + " + ".join("abcabcabc") + ")")
    assert len(terms(many)) == 1


def test_constants_get_names_units_and_keep_their_values(formula):
    named, constants = with_named_constants(formula)
    values = {constant.name: np.array([constant.value]) for constant in constants}
    columns = dict(load("default").features([spec.name for spec in formula.features]).iloc[:1])
    given_values = evaluate(named, {**{k: v.to_numpy() for k, v in columns.items()}, **values})[0]
    assert given_values[0] == formula.predict(columns)[0]
    assert str(constants[0].unit) == "1"
    assert len({constant.name for constant in constants}) == len(constants)


def test_formula_that_mixes_units_still_has_named_constants():
    mixed = Formula(parse_text("2 * (macs + params)"), feature_specs(["macs", "params"]), TARGET)
    assert [constant.unit for constant in with_named_constants(mixed)[1]] == [None]


def test_name_of_a_constant_does_not_hide_a_feature():
    spec = FeatureSpec("constant_1", "c", DIMENSIONLESS, "a feature with a bad name")
    named, constants = with_named_constants(Formula(parse_text("2 * constant_1"), (spec,), spec))
    assert constants[0].name == "constant_2"
    assert to_text(named) == "constant_2 * constant_1"


def test_grouped_constant_takes_its_default():
    spec = FeatureSpec("x", "x", DIMENSIONLESS, "x")
    grouped = GroupedConstant("C[harness]", "harness", {"tf": 1.2}, 1.05)
    assert (
        to_text(plain_expression(Formula(parse_text("C[harness] * x"), (spec,), spec, (grouped,))))
        == "1.05 * x"
    )


def test_shares_add_up(formula):
    columns = load("default").features([spec.name for spec in formula.features])
    values = term_values(formula, {name: columns[name].to_numpy() for name in columns})
    np.testing.assert_allclose(values.sum(axis=0), formula.predict(columns), rtol=1e-12)
    shares = median_shares(formula, {name: columns[name].to_numpy() for name in columns})
    assert len(shares) == len(values)
    assert all(0 <= share <= 1 for share in shares)
    assert sum(shares) == pytest.approx(1, abs=0.35)
