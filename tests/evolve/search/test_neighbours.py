import numpy as np
import pytest
from trainlaw.evolve.search.neighbours import FIRST_EXPONENT, neighbours, terms
from trainlaw.evolve.search.trees import from_expression, to_expression
from trainlaw.formulas import evaluate, parse_text, to_text
from trainlaw.formulas.algebra.tidying import merged

START = "(2 * compute_s + 3 * memory_s) * ratio^(-0.5) + 4 * launch_s"


@pytest.fixture
def around(typed_problem):
    """A function that gives the neighbours of a formula, as expressions."""

    def found(text):
        grammar = typed_problem.grammar
        return [
            to_expression(tree) for tree in neighbours(from_expression(parse_text(text), grammar), grammar)
        ]

    return found


def is_among(expressions, text, problem):
    """Whether one of the expressions has the values of the text on all rows."""
    names = [spec.name for spec in problem.features]
    columns = dict(zip(names, problem.columns, strict=True))
    wanted, _ = evaluate(parse_text(text), columns)
    return any(
        np.allclose(evaluate(expression, columns)[0], wanted, rtol=1e-12) for expression in expressions
    )


@pytest.mark.parametrize(
    "text",
    [
        # A term leaves a factor, stays alone with it, or comes under it.
        "2 * compute_s * ratio^(-0.5) + 3 * memory_s + 4 * launch_s",
        "3 * memory_s * ratio^(-0.5) + 2 * compute_s + 4 * launch_s",
        "(2 * compute_s + 3 * memory_s + 4 * launch_s) * ratio^(-0.5)",
        # A term or a factor less.
        "2 * compute_s + 3 * memory_s + 4 * launch_s",
        "2 * compute_s * ratio^(-0.5) + 4 * launch_s",
        "(2 * compute_s + 3 * memory_s) * ratio^(-0.5)",
        # Another operation.
        "max((2 * compute_s + 3 * memory_s) * ratio^(-0.5), 4 * launch_s)",
        "max(2 * compute_s, 3 * memory_s) * ratio^(-0.5) + 4 * launch_s",
        # A factor more, of one term and of all.
        f"(2 * compute_s + 3 * memory_s) * ratio^(-0.5) + 4 * launch_s * ratio^{FIRST_EXPONENT}",
        f"((2 * compute_s + 3 * memory_s) * ratio^(-0.5) + 4 * launch_s) * exp({FIRST_EXPONENT} * wide)",
    ],
)
def test_neighbours_differ_in_one_term_factor_or_operation(text, around, typed_problem):
    assert is_among(around(START), text, typed_problem)


def test_terms_are_added_once_per_sum_and_leaves_exchanged(around):
    texts = [to_text(merged(expression), 3) for expression in around("2 * compute_s + 3 * memory_s")]
    assert sum("launch_s" in text and "compute_s" in text and "memory_s" in text for text in texts) == 1
    assert sum("launch_s" in text and "compute_s" not in text for text in texts) == 1


def test_every_neighbour_is_a_whole_tree_of_the_type_of_the_target(typed_problem):
    grammar = typed_problem.grammar
    found = list(neighbours(from_expression(parse_text(START), grammar), grammar))
    assert len(found) > 50
    for tree in found:
        wanted = [grammar.target]
        for node in tree:
            assert node.ret is wanted.pop()
            wanted += reversed(node.args if node.arity else [])
        assert not wanted


def test_the_terms_of_nested_sums(typed_problem):
    tree = from_expression(parse_text("compute_s + (memory_s + 2 * launch_s)"), typed_problem.grammar)
    assert [[node.feature for node in part] for part in terms(tree, 0)] == [
        ["compute_s"],
        ["memory_s"],
        ["launch_s"],
    ]
    assert [[node.feature for node in part] for part in terms(tree, 1)] == [["compute_s"]]
