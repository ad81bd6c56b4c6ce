import json
import multiprocessing
import os
import subprocess
import sys
from io import StringIO
from types import SimpleNamespace

import numpy as np
import pytest
from trainlaw.formulas import complexity, evaluate, parse_text, simplify, substitute, to_text
from trainlaw.formulas.algebra import simplification, sympy_worker
from trainlaw.formulas.algebra.json_form import from_json, to_json
from trainlaw.formulas.algebra.simplification import agree, simplify_all

POSITIVE = {name: np.random.default_rng(seed).uniform(0.1, 9, 50) for seed, name in enumerate("abcxyz")}
KNOWN = {
    "(x * y + x * z) / x": "y + z",
    "sin(x)^2 + cos(x)^2": "1",
    "2 * (x + 1) + 3": "5 + 2 * x",
    "(a * x * y + b * x * y^2) / (x * (a + b * y)) + exp(a) * exp(b)": "y + exp(a + b)",
    "exp(2 * log(x))": "square(x)",
}


def test_known_and_the_same_in_any_company():
    found = simplify_all([parse_text(text) for text in KNOWN], POSITIVE)
    assert [to_text(item) for item in found] == list(KNOWN.values())
    assert [simplify(parse_text(text), POSITIVE) for text in list(KNOWN)[:2]] == found[:2]


def test_keeps_values_and_is_no_more_complex(random_expressions):
    expressions = random_expressions(30, seed=11)
    points = {name: np.random.default_rng(seed).normal(size=80) * 3 for seed, name in enumerate("xyz")}
    for before, after in zip(expressions, simplify_all(expressions, points), strict=True):
        assert complexity(after) <= complexity(before)
        values, valid = evaluate(before, points)
        others, others_valid = evaluate(after, points)
        assert np.all(others_valid[valid])
        np.testing.assert_allclose(others[valid], values[valid], rtol=1.0001e-9, atol=0)


def test_a_rewrite_that_takes_too_many_calls_ends_and_own_rules_remain():
    slow = parse_text("(x * y + x * z) / x + x * y * 0")
    found = simplify(slow, POSITIVE, calls=1000)
    assert agree(slow, found, POSITIVE)
    assert complexity(parse_text("y + z")) < complexity(found) < complexity(slow)


def test_no_child_process_where_nothing_can_be_found(monkeypatch):
    def refuse(*arguments, **settings):
        raise AssertionError("started")

    monkeypatch.setattr(subprocess, "run", refuse)
    assert to_text(simplify(parse_text("1.5 * a + 2.5 * b / c + 3 + 0 * x"))) == "1.5 * a + 2.5 * b / c + 3"


def test_own_rules_remain_where_no_interpreter_starts(monkeypatch):
    monkeypatch.setattr(sys, "executable", os.devnull)
    assert to_text(simplify(parse_text("x * x + exp(x) / exp(x)"))) == "square(x) + 1"


def test_valid_nowhere_is_left_alone():
    expression = parse_text("log(x - x - 1) + 1")
    assert simplify(expression) == expression


@pytest.mark.parametrize(
    "columns",
    [{"x": np.array([-3.0, -1.0])}, {"x": np.array([-1.0, 2.0])}, {"x": np.array([np.nan, np.inf])}],
)
def test_any_columns(columns):
    expression = parse_text("sqrt(x * x) + sqrt(x^2)")
    assert complexity(simplify(expression, columns)) <= complexity(expression)


def test_sign_of_a_root_is_kept():
    columns = {"x": np.array([-3.0, 2.0])}
    found = simplify(parse_text("sqrt(x * x) * exp(x) / exp(x)"), columns)
    assert evaluate(found, columns)[0].tolist() == [3, 2]


def test_inside_a_spawned_worker_process():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply_async(simplify, (parse_text("(x * y + x * z) / x"), None)).get(timeout=300)
    assert to_text(found) == "y + z"


def test_calls_are_counted_and_end():
    calls = sympy_worker._CountedCalls(1000)

    def endless():
        while True:
            len(())

    assert calls.run(endless) is None and calls.left < 0
    assert sympy_worker._CountedCalls(1000).run(lambda: 5) == 5
    assert sympy_worker._CountedCalls(1000).run(lambda: 1 / 0) is None
    assert sys.getprofile() is None


def test_the_worker_answers_line_by_line():
    request = {"expressions": [to_json(parse_text("(x * y + 1.5 * x) / x"))], "positive": ["x"]}
    request |= {"calls": 2_000_000, "parent": os.getppid()}
    sink = StringIO()
    sympy_worker.main(StringIO(json.dumps(request)), sink)
    answers = [json.loads(line) for line in sink.getvalue().splitlines()]
    assert [0, ["add", "y", 1.5]] in answers or [0, ["add", 1.5, "y"]] in answers
    assert all(
        complexity(from_json(item)) <= complexity(parse_text("(x * y + 1.5 * x) / x")) for _, item in answers
    )


def test_numbers_are_taken_out_and_put_back():
    masked, values = sympy_worker._without_numbers(parse_text("x ^ 0.48 - -0.48 * y + 2 * `#`"))
    assert [constant.value for constant in values.values()] == [0.48]
    assert substitute(masked, values) == parse_text("x ^ 0.48 - -(0.48) * y + 2 * `#`")


WHOLE = b'[0, ["add", "x", "y"]]\n'


@pytest.mark.parametrize(
    ("output", "found"), [(b"", []), (WHOLE, ["x + y"]), (WHOLE + b"[", ["x + y"]), (WHOLE[:-1], [])]
)
def test_a_line_that_was_cut_off_by_a_killed_worker_is_left_out(output, found, monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *command, **options: SimpleNamespace(stdout=output))
    answers = simplification._ask_sympy([parse_text("x + y")], [], 1000)
    assert [to_text(candidate) for _, candidate in answers] == found
