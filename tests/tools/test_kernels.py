import ast
from pathlib import Path

from trainlaw.evolve.machine import kernels
from trainlaw.evolve.machine.arrays import FIRST_OPERATOR, WEIGHTED
from trainlaw.formulas import OPERATORS

from tools.kernels import KERNELS_PATH, VECTOR_FORMS, kernels_text, operator_codes

from ..rows import each_row


def test_checked_in_kernels_are_those_of_the_table():
    written = ast.parse(Path(kernels.__file__).read_text(encoding="utf-8"))
    assert ast.dump(written) == ast.dump(ast.parse(kernels_text()))
    assert Path(kernels.__file__).parts[-3:] == KERNELS_PATH.parts


def test_codes_begin_after_the_leaves():
    codes = operator_codes()
    assert min(codes.values()) == FIRST_OPERATOR > WEIGHTED
    assert kernels.OPERATOR_CODES == codes
    # A code has to fit into the lower eight bits of a token.
    assert max(codes.values()) < 256


def test_codes_follow_the_order_of_the_table():
    assert list(operator_codes()) == list(OPERATORS)
    assert list(operator_codes().values()) == list(range(FIRST_OPERATOR, FIRST_OPERATOR + len(OPERATORS)))


@each_row("name", OPERATORS)
def test_arity_is_that_of_the_table(name):
    assert kernels.is_binary.py_func(operator_codes()[name]) == (OPERATORS[name].arity == 2)


def test_leaves_are_not_binary():
    assert not any(kernels.is_binary.py_func(code) for code in range(FIRST_OPERATOR))


def test_vector_forms_replace_functions_that_have_no_vector_instruction():
    assert set(VECTOR_FORMS) <= set(OPERATORS)
    text = kernels_text()
    for name in ("math.exp(", "math.log(", "math.sin(", "math.pow("):
        assert name not in text
