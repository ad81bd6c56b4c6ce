import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainlaw.formulas import (
    Apply,
    Constant,
    InputError,
    Variable,
    complexity,
    constants,
    evaluate,
    parse_text,
    substitute,
    to_text,
    variables,
)
from trainlaw.formulas.algebra.expression import (
    MAX_DEPTH,
    MAX_NODES,
    additive_terms,
    check_size,
    count_nodes,
    depth,
    fold,
    with_constants,
)

expressions = st.from_type(Apply)


@given(expressions)
def test_fold_rebuilds(expression):
    rebuilt = fold(expression, lambda n: n, lambda n: n, lambda n, parts: Apply(n.operator, parts))
    assert rebuilt == expression and hash(rebuilt) == hash(expression)


@given(expressions)
def test_constants_go_out_and_in(expression):
    values = constants(expression)
    assert with_constants(expression, values) == expression
    doubled = with_constants(expression, [2.0] * len(values))
    assert constants(doubled) == (2.0,) * len(values)


def test_constants_are_in_prefix_order():
    expression = parse_text("1 + x * (2 - 3 / y) + max(4, 5)")
    assert constants(expression) == (1, 2, 3, 4, 5)
    assert to_text(with_constants(expression, [5, 4, 3, 2, 1])) == "5 + x * (4 - 3 / y) + max(2, 1)"


def test_questions():
    expression = parse_text("b * exp(a) + b^2")
    assert variables(expression) == ("a", "b")
    assert (count_nodes(expression), depth(expression)) == (8, 4)
    assert complexity(expression) == 1 + 1 + 3 + 3 + 4
    assert substitute(expression, {"b": Constant(3.0)}) == parse_text("3 * exp(a) + 3^2")


@given(expressions, st.randoms(use_true_random=False))
def test_additive_terms_sum_to_the_whole(expression, random):
    columns = {name: np.array([random.uniform(0.5, 2) for _ in range(5)]) for name in "xyz"}
    terms = [evaluate(term, columns)[0] for term in additive_terms(expression)]
    values, valid = evaluate(expression, columns)
    with np.errstate(all="ignore"):
        scale = np.sum(np.abs(terms), axis=0)
        close = np.abs(np.sum(terms, axis=0) - values) <= 1e-12 * scale
    assert np.all((close | ~np.isfinite(scale))[valid])


def test_additive_terms_carry_signs():
    terms = additive_terms(parse_text("x - (y - 2) + -z"))
    assert [to_text(term) for term in terms] == ["x", "-y", "2", "-z"]
    assert additive_terms(parse_text("x - 3"))[1] == Constant(-3.0)


def test_deep_trees_need_no_recursion():
    deep = Variable("x")
    for _ in range(50_000):
        deep = Apply("neg", (deep,))
    assert depth(deep) == 50_001
    with pytest.raises(InputError, match="at most"):
        check_size(deep)
    while isinstance(deep, Apply):  # unwound, as the interpreter would free it recursively
        deep = deep.arguments[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("x", 1), ("2", 1), ("exp(x)", 2), ("exp(2)", 2), ("x + exp(2)", 3), ("exp(x) + 2", 3)],
)
def test_depth_counts_the_nodes_of_the_longest_path(text, expected):
    assert depth(parse_text(text)) == expected


def balanced_sum(leaves):
    """A sum of as many variables, as flat as possible."""
    terms = [Variable("x")] * leaves
    while len(terms) > 1:
        pairs = [Apply("add", pair) for pair in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[2 * len(pairs) :]
    return terms[0]


def test_the_limit_of_nodes_is_allowed_and_one_more_is_not():
    full = Apply("neg", (balanced_sum(MAX_NODES // 2),))
    assert count_nodes(full) == MAX_NODES
    assert check_size(full) is full
    with pytest.raises(InputError, match=f"{MAX_NODES} nodes, got {MAX_NODES + 1}"):
        check_size(Apply("neg", (full,)))


def test_the_limit_of_levels_is_allowed_and_one_more_is_not():
    deep = Variable("x")
    for _ in range(MAX_DEPTH - 1):
        deep = Apply("neg", (deep,))
    assert check_size(deep) is deep
    with pytest.raises(InputError, match=f"{MAX_DEPTH} nested levels in a formula, got {MAX_DEPTH + 1}"):
        check_size(Apply("neg", (deep,)))
