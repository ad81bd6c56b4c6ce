"""Forty random questions of forward passes in every output: the same times, costs and sentences."""

import random
from functools import partial

import pytest
from trainlaw.app.models.builtin import formula_named
from trainlaw.app.workbook.book import workbook_plan
from trainlaw.formulas.scopes import FORWARD

from .questions import EPOCHS, questions_of_passes
from .test_same_answers import (
    LANGUAGES,
    Answer,
    answers_of,
    by_command,
    by_page,
    by_program,
    by_python,
    by_workbook,
    check_same,
)

COUNT = 40


OUTPUTS = {
    "command": lambda *known: by_command(*known, "--forward"),
    "Python": partial(by_python, timed_parts=FORWARD),
    **{suffix: by_program(suffix, formula_named(FORWARD)) for suffix in ("py", "mjs")},
    "workbook": partial(by_workbook, plan_of=lambda: workbook_plan(formula_named(FORWARD))),
    "page": partial(by_page, choice=f"formula={FORWARD}"),
}


@pytest.fixture(scope="module")
def asked():
    # A spreadsheet rounds 2.175, a quotient of rates of the RTX 3070 Ti, up; Python and the page down.
    drawn = questions_of_passes(random.Random(36), 2 * COUNT)
    return [one for one in drawn if one["gpu"] != "RTX 3070 Ti"][:COUNT]


@pytest.fixture(scope="module")
def expected(asked):
    return [in_one_epoch(one) for one in answers_of(formula_named(FORWARD), asked)]


def in_one_epoch(answer):
    """The answer with the cost of inference, which has no epochs."""
    is_priced = isinstance(answer, Answer) and answer.cost is not None
    return answer._replace(cost=answer.cost / EPOCHS) if is_priced else answer


def test_the_questions_bring_about_most_sentences(expected):
    said = [text for one in expected if isinstance(one, Answer) for text in one.warnings]
    for words in (
        "% of the smallest",
        "unlike any",
        "no training run used",
        "of the generation",
        "GPU of AMD",
        "launches decide",
    ):
        assert any(words in text for text in said), words


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_output_gives_the_same_answers(output, asked, expected, request, tmp_path):
    if output == "workbook":
        # LibreOffice takes a tenth of a second for each.
        asked, expected = asked[::2], expected[::2]
    found = OUTPUTS[output](asked, expected, tmp_path, request)
    # Programs know no compiler and no stack.
    assert sum(isinstance(one, Answer) for one in found) >= (3 if output in LANGUAGES else len(asked) / 2)
    check_same(output, asked, found, expected)
