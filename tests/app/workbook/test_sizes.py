"""Images of any size in the workbook, recalculated by force in LibreOffice, equal `trainlaw predict`."""

import random
from io import BytesIO

import pytest
from trainlaw.app.models.builtin import BUILT_IN, formula_named
from trainlaw.app.models.user_formula import read_formula
from trainlaw.app.sheets.xlsx import xlsx_bytes
from trainlaw.app.workbook.book import PREFIX_OF_PASSES, workbook_plan
from trainlaw.app.workbook.sizes import RULES, SHAPES, SIDES
from trainlaw.datasets import cnn_table
from trainlaw.datasets.cnns.any_size import any_size
from trainlaw.formulas import load_formula
from trainlaw.formulas.scopes import FORWARD

from ...libreoffice import needs_libreoffice, read_book
from ..questions import questions, questions_of_passes
from ..test_same_answers import Answer, answers_of, by_workbook, check_same
from ..test_same_passes import in_one_epoch
from .test_book import built_in_plan, small_plan
from .test_questions import LIVE, OF_PASSES

COUNT = 16
# A last incomplete window, sides that must be equal, classes that decide on kernels, images too small.
KNOTTY = ("googlenet", "resnet50_v1d", "squeezenet1_1", "alexnet_torch")


def at_other_sizes(drawn):
    """The questions at sizes of which most are not listed."""
    choose = random.Random(9)
    found = []
    for number, one in enumerate(drawn):
        knotty = {"cnn": KNOTTY[number // 6 % len(KNOTTY)], "classes": 1000} if number % 6 == 0 else {}
        size = choose.choice([choose.randint(1, 90), choose.randint(64, 400), choose.randint(300, 1200)])
        classes = choose.choice([1000, 1000, 31, 7, 400])
        asked = {**one, **knotty, "pixels": size, "classes": classes}
        found.append(one if any_size(asked["cnn"]) is None else asked)
    return found


@pytest.mark.slow
def test_no_cnn_has_more_sides_or_shapes_than_the_sheet_has_room_for():
    rules = [rule for name in set(cnn_table()["cnn"]) if (rule := any_size(name))]
    assert max(len(rule.sides) for rule in rules) <= SIDES
    assert max(len(rule.shapes) for rule in rules) <= SHAPES


@needs_libreoffice
def test_training_at_any_size_equals_the_command(tmp_path):
    asked = at_other_sizes(questions(random.Random(31), COUNT))
    expected = answers_of(load_formula(BUILT_IN), asked)
    found = by_workbook(asked, expected, tmp_path, None, (*LIVE, "Image size"))
    assert sum(isinstance(answer, Answer) for answer in found) > COUNT / 2
    check_same("workbook", asked, found, expected)


@needs_libreoffice
def test_forward_passes_at_any_size_equal_the_command(tmp_path):
    asked = at_other_sizes(questions_of_passes(random.Random(35), COUNT))
    expected = [in_one_epoch(one) for one in answers_of(formula_named(FORWARD), asked)]
    found = by_workbook(asked, expected, tmp_path, None, (*OF_PASSES, "Forward image size"), PREFIX_OF_PASSES)
    check_same("workbook", asked, found, expected)


@pytest.mark.slow
def test_stored_counts_of_the_first_choice_are_those_of_sheet_cnns():
    book = read_book(BytesIO(xlsx_bytes(small_plan(built_in_plan()))))
    rows = list(book["CNNs"].iter_rows(values_only=True))
    heads = next(row for row in rows if row[0] == "name")
    listed = dict(
        zip(heads, next(row for row in rows if row[0] == "resnet50, 224 px, 1000 classes"), strict=True)
    )
    counted = {
        row[13]: row[14] for row in book["Image size"].iter_rows(min_row=7, values_only=True) if row[13]
    }
    assert counted == {name: listed[name] for name in counted}
    assert len(counted) > 20


@pytest.mark.slow
def test_a_formula_of_other_counts_has_listed_sizes_only():
    law = read_formula("1e-3 * depth + 1e-12 * macs", "run")
    assert RULES not in [sheet.name for sheet in workbook_plan(law).sheets]
